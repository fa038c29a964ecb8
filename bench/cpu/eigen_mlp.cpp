#include <Eigen/Core>

#include <fmt/format.h>

#include "cpu/mlp.h"

namespace tang::bench_cpu {
namespace {

template <int n>
using Vector = Eigen::Matrix<float, n, 1>;
template <int rows, int columns>
using RowMajor = Eigen::Matrix<float, rows, columns, Eigen::RowMajor>;
template <int rows, int columns>
using ColumnMajor = Eigen::Matrix<float, rows, columns, Eigen::ColMajor>;

template <bool tanh, class Values>
auto activate(const Values& x) {
  if constexpr (tanh)
    return x.array().tanh().matrix();
  else
    return x.array().max(0.0f).matrix();
}

template <template <int, int> class Layout, int to, int from>
Layout<to, from> stored(const Input& w) {
  return Eigen::Map<const RowMajor<to, from>>(data(w));
}

// The network with all sizes known to the compiler.
template <template <int, int> class Layout, bool tanh, int i, int a, int b, int o>
struct Network {
  EIGEN_MAKE_ALIGNED_OPERATOR_NEW
  Network(const Inputs& in, float* out)
      : w1(stored<Layout, a, i>(in[1])),
        w2(stored<Layout, b, a>(in[3])),
        w3(stored<Layout, o, b>(in[5])),
        b1(Eigen::Map<const Vector<a>>(data(in[2]))),
        b2(Eigen::Map<const Vector<b>>(data(in[4]))),
        b3(Eigen::Map<const Vector<o>>(data(in[6]))),
        observation(data(in[0])),
        action(out) {}

  void run() {
    x1.noalias() = w1 * observation;
    x1 = activate<tanh>(x1 + b1);
    x2.noalias() = w2 * x1;
    x2 = activate<tanh>(x2 + b2);
    x3.noalias() = w3 * x2;
    action = x3 + b3;
  }

  Layout<a, i> w1;
  Layout<b, a> w2;
  Layout<o, b> w3;
  Vector<a> b1, x1;
  Vector<b> b2, x2;
  Vector<o> b3, x3;
  Eigen::Map<const Vector<i>> observation;
  Eigen::Map<Vector<o>> action;
};

template <template <int, int> class Layout, bool tanh, int i, int a, int b, int o>
Peer peer(const std::string& layout) {
  return {fmt::format("Eigen {}.{}.{} {}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                      EIGEN_MINOR_VERSION, layout),
          [](const Inputs& in, int) {
            auto out = floats(o);
            using Net = Network<Layout, tanh, i, a, b, o>;
            const std::shared_ptr<Net> net(new Net(in, data(*out)));
            return Outcome<std::unique_ptr<Contender>>(local([net] { net->run(); }, out));
          }};
}

template <bool tanh, int i, int a, int b, int o>
std::vector<Peer> peers() {
  return {peer<RowMajor, tanh, i, a, b, o>("rows"), peer<ColumnMajor, tanh, i, a, b, o>("columns")};
}

}  // namespace

std::vector<Peer> eigen_mlp(const Mlp& mlp) {
  using Widths = std::array<int64_t, 4>;
  if (mlp.widths == Widths{12, 256, 128, 4})
    return mlp.tanh ? peers<true, 12, 256, 128, 4>() : peers<false, 12, 256, 128, 4>();
  if (mlp.widths == Widths{48, 256, 128, 12})
    return mlp.tanh ? peers<true, 48, 256, 128, 12>() : peers<false, 48, 256, 128, 12>();
  return {};
}

}  // namespace tang::bench_cpu
