// The mean cross-entropy of a linear layer's outputs, for a decoder into a large vocabulary: the
// logits [M,V] are never held whole, only a block of their rows at a time.
//
//   z = x W^T + b    p = softmax(z)    L = -1/M sum_m log p_m[label_m]     x [M,H]  W [V,H]  b [V]
//   dz = (p - onehot(label)) dL/M    dx = dz W    dW = dz^T x    db = sum of dz's rows
//
// dL is one number, so the forward computes the gradients, block by block, as if dL were M; the
// backward multiplies them by dL / M.
#include <algorithm>

#include "engine/gemm.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/mean_of.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

// z holds x W^T. Computes the loss of each row, and overwrites z with p - onehot(label).
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
    real *p = z + row * ld, *out = loss + row;
    const real l = cross_entropy_row(team, V, [=](int i) { return p[i] + b[i]; }, label, p);
    team.sync();                                    // another lane wrote p[label]
    team.each(1, [=](int) {
      p[label] -= 1;
      *out = l;
    });
  }
};

struct ScaleBy {
  const real* dL;
  real inverse_batch;
  HD void operator()(real gradient, real& scaled) const {
    scaled = dL[0] * inverse_batch * gradient;
  }
};

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Indices& labels) {
  const int64_t M = x.rows(), H = x.cols(), V = weight.rows();
  MB_CHECK(H == weight.cols() && V == bias.size() && M == labels.size() && M > 0,
           "linear_cross_entropy: x {}, weight {}, bias {} and {} labels do not fit", x.shape(),
           weight.shape(), bias.shape(), labels.size());
  for (const int32_t label : labels)
    MB_CHECK(label >= 0 && label < V, "linear_cross_entropy: label {} is outside of 0..{}", label,
             V - 1);

  const Device device = x.device();
  const auto gradient_of = [](const Tensor& t) {
    return will_record(t) ? Tensor(t.shape(), t.device()) : Tensor();
  };
  const Tensor dx = gradient_of(x), dW = gradient_of(weight), db = gradient_of(bias);
  const int64_t block = std::min<int64_t>(M, 512);            // products of fewer rows are slower
  const int64_t ld = (V + 15) / 16 * 16;                      // products are faster on aligned rows
  const Tensor z({block, ld}, device), losses({M}, device);
  for (int64_t first = 0; first < M; first += block) {
    const int64_t m = std::min(block, M - first);
    const real* x_block = x.data() + first * H;
    const real beta = first == 0 ? 0 : 1;     // the first block overwrites dW, later ones add to it
    gemm(device, Transpose::nt, {m, V, H, x_block, H, weight.data(), H, z.data(), ld}, 1, 0);
    launch_rows(device, m, m * V,
                LossOfRows{.z = z.data(), .bias = bias.data(),
                           .labels = labels.data(device) + first, .loss = losses.data() + first,
                           .V = int(V), .ld = ld});
    if (dx) {
      real* dx_block = dx.data() + first * H;
      gemm(device, Transpose::nn, {m, H, V, z.data(), ld, weight.data(), H, dx_block, H}, 1, 0);
    }
    if (dW) gemm(device, Transpose::tn, {V, H, m, z.data(), ld, x_block, H, dW.data(), H}, 1, beta);
    if (db)
      launch_column_sums(device, m, V, 1, nullptr, {db.data(), first > 0}, Element{z.data(), ld});
  }
  const Tensor L = mean_of(losses);
  return record("linear_cross_entropy", L, {x, weight, bias}, [=](const Tensor& dL, Grads& g) {
    const Tensor as_if_M[] = {dx, dW, db};
    for (int i = 0; i < 3; ++i)
      g(i, [&](Sink gradient) {
        launch_map(device, as_if_M[i].size(), ScaleBy{dL.data(), real(1) / real(M)},
                   as_if_M[i].data(), Target(gradient));
      });
  });
}

}  // namespace minbert
