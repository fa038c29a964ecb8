fn tang_float(bits: u32) -> f32 { return bitcast<f32>(bits); }

fn tang_select_i32(c: bool, a: i32, b: i32) -> i32 { return select(b, a, c); }

fn tang_select_u32(c: bool, a: u32, b: u32) -> u32 { return select(b, a, c); }

fn tang_select_i64(c: bool, a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, c); }

fn tang_select_f32(c: bool, a: f32, b: f32) -> f32 { return select(b, a, c); }
