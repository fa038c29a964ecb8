// The high word of a product.
TANG_FN uint tang_high_product(uint a, uint b) {
  const uint low = (a & 0xffffu) * (b & 0xffffu);
  const uint middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  const uint other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}
