// The mean cross-entropy of a linear layer's outputs, for a decoder whose V words are many: the logits [M,V] are never
// held, only a block of their rows at a time.
//
//   z = x W^T + b    p = softmax(z)    L = -1/M sum_m log p_m[label_m]                    x [M,H]  W [V,H]  b [V]
//   dz = (p - onehot(label)) dL/M    dx = dz W    dW = dz^T x    db = sum of dz's rows
//
// A block's dz is multiplied into the gradients at once: they are linear in dL, so the forward keeps them for dL = M
// and the backward scales them.
#include <algorithm>

#include "engine/gemm.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/mean_of.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

// From x W^T in z's place: the loss of each row, and p - onehot(label) in z's place.
struct LossOfRows {
  real* z;
  const real* bias;
  const int32_t* labels;
  real* loss;
  int V;
  int64_t ld;                                       // from one row of z to the next
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int label = labels[row];
    const real* b = bias;
    real *p = z + row * ld, *to = loss + row;
    const real l = cross_entropy_row(team, V, [=](int i) { return p[i] + b[i]; }, label, p);
    team.sync();                                    // p[label] is another lane's
    team.each(1, [=](int) { p[label] -= 1, to[0] = l; });
  }
};

struct ScaleBy {
  const real* dc;
  real inverse_batch;
  HD void operator()(real gradient, real& to) const { to = dc[0] * inverse_batch * gradient; }
};

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Indices& labels) {
  const int64_t M = x.rows(), H = x.cols(), V = weight.rows();
  MB_CHECK(H == weight.cols() && V == bias.size() && M == labels.size() && M > 0,
           "linear_cross_entropy: x {}, weight {}, bias {} and {} labels do not fit", x.shape(), weight.shape(),
           bias.shape(), labels.size());
  for (const int32_t label : labels)
    MB_CHECK(label >= 0 && label < V, "linear_cross_entropy: label {} is outside of 0..{}", label, V - 1);

  const Device device = x.device();
  const auto gradient_of = [](const Tensor& t) { return will_record(t) ? Tensor(t.shape(), t.device()) : Tensor(); };
  const Tensor dx = gradient_of(x), dW = gradient_of(weight), db = gradient_of(bias);
  const int64_t block = std::min<int64_t>(M, 512);                     // with fewer the products lose their rate
  const int64_t ld = (V + 15) / 16 * 16;                               // rows of z begin where products like it
  const Tensor z({block, ld}, device), losses({M}, device);
  for (int64_t at = 0; at < M; at += block) {
    const int64_t m = std::min(block, M - at);
    const real* x_at = x.data() + at * H;
    const real beta = at > 0;                       // dW and db gather over the blocks, in their order
    gemm(device, Transpose::nt, {m, V, H, x_at, H, weight.data(), H, z.data(), ld}, 1, 0);
    launch_rows(device, m, m * V,
                LossOfRows{z.data(), bias.data(), labels.data(device) + at, losses.data() + at, int(V), ld});
    if (dx) gemm(device, Transpose::nn, {m, H, V, z.data(), ld, weight.data(), H, dx.data() + at * H, H}, 1, 0);
    if (dW) gemm(device, Transpose::tn, {V, H, m, z.data(), ld, x_at, H, dW.data(), H}, 1, beta);
    if (db) launch_column_sums(device, m, V, 1, nullptr, {db.data(), at > 0}, Element{z.data(), ld});
  }
  return record("linear_cross_entropy", mean_of(losses), {x, weight, bias}, [=](const Tensor& dc, Grads& g) {
    const Tensor gradients[] = {dx, dW, db};
    for (int i = 0; i < 3; ++i)
      g(i, [&](Sink to) {
        launch_map(device, to.to.size(), ScaleBy{dc.data(), real(1) / real(M)}, gradients[i].data(), Target(to));
      });
  });
}

}  // namespace minbert
