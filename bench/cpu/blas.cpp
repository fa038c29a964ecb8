#include "cpu/blas.h"

#include <cstring>
#include <dlfcn.h>

#include <fmt/format.h>

namespace tang::bench_cpu {
namespace {

// The C interface of the BLAS, as its reference declares it.
enum : int { row_major = 101, plain = 111, transposed = 112 };
using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                       float, float*, int);
using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int,
                       double, double*, int);
using Sgemv = void (*)(int, int, int, int, float, const float*, int, const float*, int, float,
                       float*, int);

struct Blas {
  std::string name;
  Sgemm sgemm = nullptr;
  Dgemm dgemm = nullptr;
  Sgemv sgemv = nullptr;
  std::function<void(int)> set_threads;
};

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void* open_blas(Blas& blas, const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  blas.sgemm = find<Sgemm>(library, "cblas_sgemm");
  blas.dgemm = find<Dgemm>(library, "cblas_dgemm");
  blas.sgemv = find<Sgemv>(library, "cblas_sgemv");
  return blas.sgemm && blas.dgemm && blas.sgemv ? library : nullptr;
}

std::optional<Blas> open_openblas() {
  Blas blas;
  void* library = open_blas(blas, "libopenblas.so.0");
  if (library == nullptr) return std::nullopt;
  const auto config = find<char* (*)()>(library, "openblas_get_config");
  const auto threads = find<void (*)(int)>(library, "openblas_set_num_threads");
  if (!config || !threads) return std::nullopt;
  const std::string text = config();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH …"
  blas.name = text.substr(0, text.find(' ', text.find(' ') + 1));
  blas.set_threads = threads;
  return blas;
}

std::optional<Blas> open_blis() {
  Blas blas;
  void* library = open_blas(blas, "libblis.so.4");
  if (library == nullptr) return std::nullopt;
  const auto version = find<const char* (*)()>(library, "bli_info_get_version_str");
  const auto threads = find<void (*)(int64_t)>(library, "bli_thread_set_num_threads");
  if (!version || !threads) return std::nullopt;
  blas.name = fmt::format("BLIS {}", version());
  blas.set_threads = threads;
  return blas;
}

const std::optional<Blas>& openblas() {
  static const std::optional<Blas> blas = open_openblas();
  return blas;
}
const std::optional<Blas>& blis() {
  static const std::optional<Blas> blas = open_blis();
  return blas;
}

// What a gemm is told of a product: extents as int, leading dimensions, operands of one matrix.
struct Shape {
  explicit Shape(const Product& p)
      : m(static_cast<int>(p.m)),
        n(static_cast<int>(p.n)),
        k(static_cast<int>(p.k)),
        a(p.transpose_a ? transposed : plain),
        b(p.transpose_b ? transposed : plain),
        lda(p.transpose_a ? m : k),
        ldb(p.transpose_b ? k : n) {}
  int m, n, k, a, b, lda, ldb;
};

// The product by one call: gemv where one side is a vector, which any caller would use.
void multiply(const Blas& blas, const Shape& s, const float* a, const float* b, float* c) {
  const auto matrix = [&](int layout, int rows, int columns, const float* m, const float* x) {
    // A matrix given transposed lies in memory as [columns, rows].
    const bool flipped = layout == transposed;
    blas.sgemv(row_major, layout, flipped ? columns : rows, flipped ? rows : columns, 1, m,
               flipped ? rows : columns, x, 1, 0, c, 1);
  };
  if (s.n == 1)
    matrix(s.a, s.m, s.k, a, b);
  else if (s.m == 1)  // c = Bᵀ a
    matrix(s.b == plain ? transposed : plain, s.n, s.k, b, a);
  else
    blas.sgemm(row_major, s.a, s.b, s.m, s.n, s.k, 1, a, s.lda, b, s.ldb, 0, c, s.n);
}

Peer blas_peer(const Blas& blas, const Product& p) {
  return {blas.name, [&blas, p](const Inputs& in, int threads) {
            const float *a = data(in[0]), *b = data(in[1]);
            auto out = floats(p.batch * p.m * p.n);
            float* c = data(*out);
            const Shape s(p);
            auto call = [&blas, p, s, a, b, c] {
              for (int64_t k = 0; k < p.batch; ++k)
                multiply(blas, s, a + k * p.m * p.k, b + k * p.k * p.n, c + k * p.m * p.n);
            };
            blas.set_threads(threads);
            return Outcome<std::unique_ptr<Contender>>(local(call, out));
          }};
}

}  // namespace

std::vector<Peer> blas_peers(const Product& p) {
  std::vector<Peer> peers;
  for (const std::optional<Blas>* blas : {&openblas(), &blis()})
    if (*blas) peers.push_back(blas_peer(**blas, p));
  return peers;
}

Outcome<std::vector<double>> product_in_f64(const Product& p, const Inputs& inputs) {
  if (!openblas()) return tl::unexpected<std::string>("no OpenBLAS for the reference");
  const std::vector<double> a(data(inputs[0]), data(inputs[0]) + p.batch * p.m * p.k);
  const std::vector<double> b(data(inputs[1]), data(inputs[1]) + p.batch * p.k * p.n);
  std::vector<double> c(static_cast<size_t>(p.batch * p.m * p.n));
  const Shape s(p);
  for (int64_t k = 0; k < p.batch; ++k)
    openblas()->dgemm(row_major, s.a, s.b, s.m, s.n, s.k, 1, a.data() + k * p.m * p.k, s.lda,
                      b.data() + k * p.k * p.n, s.ldb, 0, c.data() + k * p.m * p.n, s.n);
  return c;
}

}  // namespace tang::bench_cpu
