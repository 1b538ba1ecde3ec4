// The limits: what the same arithmetic costs without a tensor library around it.
// Owns: the table of raw loops and products, one for each instruction set level. Matrices are f32,
// row-major, dense. Must not know: Ingot.
#pragma once

namespace bench {

// C[m, n] = A B, by Eigen on the calling thread. A is [m, k], or [k, m] when it is transposed; B is
// [k, n], or [n, k].
struct Product {
  long m, n, k;
  bool a_transposed = false, b_transposed = false;
};

struct Limits {
  void (*add)(const float* a, const float* b, float* out, long n);
  // c[r, :] += row
  void (*add_row)(float* c, const float* row, long rows, long cols);
  void (*product)(const Product& p, const float* a, const float* b, float* c);
  // Rows [begin, end) of the same product.
  void (*product_rows)(const Product& p, const float* a, const float* b, float* c, long begin,
                       long end);
  // t = a * b + 1; t = t * sigmoid(t); out = tanh(t) * 0.5 + a, in one pass, with the exponential
  // as a polynomial, as one would write it by hand.
  void (*chain8)(const float* a, const float* b, float* out, long n);
};

// Of the level that the library uses.
const Limits& limits();

}  // namespace bench
