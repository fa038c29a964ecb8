// Integers of 32 bits; those of 64 are made of the same text by words: int, uint, _i32, I32, U32.
// They wrap; div and mod round towards minus infinity, and a divisor 0 gives 0.

TANG_FN int tang_add_i32(int a, int b) { return I32(U32(a) + U32(b)); }

TANG_FN int tang_sub_i32(int a, int b) { return I32(U32(a) - U32(b)); }

TANG_FN int tang_mul_i32(int a, int b) { return I32(U32(a) * U32(b)); }

TANG_FN int tang_neg_i32(int a) { return I32(U32(0) - U32(a)); }

TANG_FN int tang_abs_i32(int a) { return tang_select_i32(a < I32(0), tang_neg_i32(a), a); }

TANG_FN int tang_relu_i32(int a) { return tang_select_i32(a < I32(0), I32(0), a); }

TANG_FN int tang_floor_i32(int a) { return a; }

TANG_FN int tang_max_i32(int a, int b) { return tang_select_i32(a < b, b, a); }

TANG_FN int tang_min_i32(int a, int b) { return tang_select_i32(b < a, b, a); }

TANG_FN int tang_div_i32(int a, int b) {
  if (b == I32(0)) {
    return I32(0);
  }
  if (b == I32(-1)) {
    return tang_neg_i32(a);
  }
  const int q = a / b;
  const bool down = ((a - q * b) != I32(0)) && ((a < I32(0)) != (b < I32(0)));
  return q - tang_select_i32(down, I32(1), I32(0));
}

TANG_FN int tang_mod_i32(int a, int b) {
  if ((b == I32(0)) || (b == I32(-1))) {
    return I32(0);
  }
  const int r = a - (a / b) * b;
  return r + tang_select_i32((r != I32(0)) && ((a < I32(0)) != (b < I32(0))), b, I32(0));
}

// Of numbers that are not negative.
TANG_FN int tang_quotient_i32(int a, int b) {
  if (b == I32(0)) {
    return I32(0);
  }
  return a / b;
}

TANG_FN int tang_remainder_i32(int a, int b) {
  if (b == I32(0)) {
    return I32(0);
  }
  return a % b;
}

TANG_FN int tang_clamp_i32(int x, int low, int high) {
  return tang_max_i32(low, tang_min_i32(x, high));
}

// Iterations of a loop.
TANG_FN int tang_trips_i32(int begin, int end, int step) {
  if (end <= begin) {
    return I32(0);
  }
  return (end - begin - I32(1)) / step + I32(1);
}
