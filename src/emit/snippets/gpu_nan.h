// By bits, where a compiler may take comparisons for granted that NaN makes false.

TANG_FN bool tang_nan_f32(float x) { return (tang_bits(x) & 0x7fffffffu) > 0x7f800000u; }
