#define tang_select_i32(c, a, b) ((c) ? (a) : (b))

#define tang_select_u32(c, a, b) ((c) ? (a) : (b))

#define tang_select_i64(c, a, b) ((c) ? (a) : (b))

#define tang_select_f32(c, a, b) ((c) ? (a) : (b))

#define tang_select_f64(c, a, b) ((c) ? (a) : (b))

#define tang_nan_f64(x) isnan(x)

double tang_rint_f64(double x) {
  const double low = floor(x);
  const double rest = x - low;
  const bool odd = low - 2.0lf * floor(low * 0.5lf) != 0.0lf;
  return rest > 0.5lf || (rest == 0.5lf && odd) ? low + 1.0lf : low;
}

#define tang_quot_f64(a, b) ((a) / (b))
