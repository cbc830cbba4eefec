// Losses, each the mean over the batch, and the cosine similarity that siamese heads use.
// Plain: cross_entropy, binary_cross_entropy, squared_error in examples/plain_bert.cpp
#include <algorithm>

#include "engine/gemm.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/binary.h"
#include "ops/mean_of_row.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

void check_labels(const char* name, const Indices& labels, int64_t classes) {
  for (const int32_t label : labels)
    MB_CHECK(label >= 0 && label < classes, "{}: label {} is outside of 0..{}", name, label,
             classes - 1);
}

Tensor mean_of(const Tensor& losses) {
  const Tensor mean(Shape{}, losses.device());
  launch_rows({losses.device(), 1, losses.size()}, RowMean{}, losses, mean);
  return mean;
}

// L = -1/B sum_b log p_b[label_b],  p = softmax(logits)   dL/dlogit_bc = (p_bc - [c = label_b]) / B
struct CrossEntropy {
  template <class Team>
  HD void operator()(Team team, int classes, const real* logits, int32_t label, real* p,
                     real* loss) const {
    const auto logit = [=](int i) { return logits[i]; };
    const real l = cross_entropy_row(team, classes, logit, label, p);               // [CLN losses]
    team.each(1, [=](int) { *loss = l; });
  }
};
struct CrossEntropyBackward {
  real inverse_batch;
  template <class Team>
  HD void operator()(Team team, int classes, const real* p, int32_t label, const real* dc,
                     Target dx) const {
    const real w = *dc * inverse_batch;
    team.each(classes, [=](int i) { dx(i, w * (p[i] - real(i == label))); });
  }
};

// L = 1/B sum_b l(x_b, t_b), where l is f, dl/dx is da, and dl/dt is db (binary.h).

// l = -t log s(x) - (1-t) log(1-s(x)), s the sigmoid;   dl/dx = s(x) - t          dl/dt = -x
// without overflow: l = max(x,0) - x t + log(1 + exp(-|x|))
struct BinaryCrossEntropy {
  HD static real f(real x, real t) {
    return (x > 0 ? x : real(0)) - x * t + std::log1p(std::exp(x > 0 ? -x : x));    // [CLN losses]
  }
  HD static real da(real x, real t) { return 1 / (1 + std::exp(-x)) - t; }
  HD static real db(real x, real) { return -x; }
};
// l = (x-t)^2               dl/dx = 2 (x-t)          dl/dt = 2 (t-x)
struct SquaredError {
  HD static real f(real x, real t) { return (x - t) * (x - t); }                    // [CLN losses]
  HD static real da(real x, real t) { return 2 * (x - t); }
  HD static real db(real x, real t) { return 2 * (t - x); }
};

template <class L>
Tensor mean_loss(const char* name, const Tensor& x, const Tensor& t,
                 SourceLine formula = SourceLine::current()) {
  MB_CHECK(x.size() == t.size() && x.size() > 0, "{}: {} predictions and {} targets", name,
           x.shape(), t.shape());
  return mean(binary<L>(name, x, t.reshape(x.shape()), formula));
}

// c = u.v / (|u| |v|), each norm at least eps
// dL/du = dc (v/(|u||v|) - c u/|u|^2), the second term only where |u| > eps; dL/dv likewise
struct Cosine {
  template <class Team>
  HD void operator()(Team team, int n, const real* u, const real* v, real* c) const {
    const real uv = team.sum(n, [=](int i) { return u[i] * v[i]; });
    const real uu = team.sum(n, [=](int i) { return u[i] * u[i]; });
    const real vv = team.sum(n, [=](int i) { return v[i] * v[i]; });
    team.each(1, [=](int) { *c = uv / (norm(uu) * norm(vv)); });
  }
  HD static real norm(real squares) {
    const real root = std::sqrt(squares);
    return root > real(1e-8) ? root : real(1e-8);
  }
};
struct CosineBackward {                       // the gradient of u; that of v with u and v exchanged
  template <class Team>
  HD void operator()(Team team, int n, const real* u, const real* v, const real* c, const real* dc,
                     Target du) const {
    const real uu = team.sum(n, [=](int i) { return u[i] * u[i]; });
    const real vv = team.sum(n, [=](int i) { return v[i] * v[i]; });
    const real nu = Cosine::norm(uu), nv = Cosine::norm(vv), d = *dc;
    // A norm of eps is constant
    const real along = nu > std::sqrt(uu) ? real(0) : *c / (nu * nu);
    team.each(n, [=](int i) { du(i, d * (v[i] / (nu * nv) - along * u[i])); });
  }
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Indices& labels) {
  const int64_t B = logits.rows(), C = logits.cols();
  MB_CHECK(labels.size() == B && B > 0, "cross_entropy: logits {} and {} labels", logits.shape(),
           labels.size());
  check_labels("cross_entropy", labels, C);
  const Tensor p(logits.shape(), logits.device()), each({B, 1}, logits.device());
  launch_rows(logits, CrossEntropy{}, logits, labels, p, each);
  return record("cross_entropy", mean_of(each), {logits}, [p, labels](const Tensor& dc, Grads& g) {
    const real inverse_batch = real(1) / real(p.rows());
    g(0, [&](Sink dx) { launch_rows(p, CrossEntropyBackward{inverse_batch}, p, labels, dc, dx); });
  });
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets) {
  return mean_loss<BinaryCrossEntropy>("binary_cross_entropy_with_logits", logits, targets);
}
Tensor mse_loss(const Tensor& prediction, const Tensor& target) {
  return mean_loss<SquaredError>("mse_loss", prediction, target);
}

Tensor cosine_similarity(const Tensor& u, const Tensor& v) {
  MB_CHECK(u.shape() == v.shape(), "cosine_similarity: u {} and v {}", u.shape(), v.shape());
  const Tensor c({u.rows(), 1}, u.device());
  launch_rows(u, Cosine{}, u, v, c);
  return record("cosine_similarity", c, {u, v}, [u, v, c](const Tensor& dc, Grads& g) {
    g(0, [&](Sink du) { launch_rows(u, CosineBackward{}, u, v, c, dc, du); });
    g(1, [&](Sink dv) { launch_rows(u, CosineBackward{}, v, u, c, dc, dv); });
  });
}

// linear_cross_entropy is for a decoder into a large vocabulary: the logits z [M,V] are never held
// whole, only a block of their rows at a time.
//
//   z = x W^T + b    p = softmax(z)    L = -1/M sum_m log p_m[label_m]     x [M,H]  W [V,H]  b [V]
//   dz = (p - onehot(label)) dL/M    dx = dz W    dW = dz^T x    db = sum of dz's rows
//
// The forward computes the gradients, since a block's logits are gone when the backward comes. dL
// is one number and not known yet: they are computed for dL = M, and the backward multiplies them
// by dL / M.
namespace {

// z holds x W^T. Computes the loss of each row, and overwrites z with p - onehot(label).
struct LossOfRow {
  template <class Team>
  HD void operator()(Team team, int V, real* z, const real* bias, int32_t label,
                     real* loss) const {
    const auto logit = [=](int i) { return z[i] + bias[i]; };
    const real l = cross_entropy_row(team, V, logit, label, z);
    team.sync();                                    // another lane wrote z[label]
    team.each(1, [=](int) {
      z[label] -= 1;
      *loss = l;
    });
  }
};

struct ScaleBy {
  const real* dL;
  real inverse_batch;
  const real* gradient;
  Target scaled;
  HD void operator()(int64_t i) const { scaled(i, dL[0] * inverse_batch * gradient[i]); }
};

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Indices& labels) {
  const int64_t M = x.rows(), H = x.cols(), V = weight.rows();
  MB_CHECK(H == weight.cols() && V == bias.size() && M == labels.size() && M > 0,
           "linear_cross_entropy: x {}, weight {}, bias {} and {} labels do not fit", x.shape(),
           weight.shape(), bias.shape(), labels.size());
  check_labels("linear_cross_entropy", labels, V);
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
    launch_rows({device, m, V}, LossOfRow{}, RowView{z.data(), ld}, RowView{bias.data(), 0},
                IndexView{labels.data(device) + first}, RowView{losses.data() + first, 1});
    if (dx) {
      real* dx_block = dx.data() + first * H;
      gemm(device, Transpose::nn, {m, H, V, z.data(), ld, weight.data(), H, dx_block, H}, 1, 0);
    }
    if (dW) gemm(device, Transpose::tn, {V, H, m, z.data(), ld, x_block, H, dW.data(), H}, 1, beta);
    if (db)
      launch_column_sums({device, m, V}, {}, Sink{db, first > 0}, Element{}, RowView{z.data(), ld});
  }
  const Tensor L = mean_of(losses);
  return record("linear_cross_entropy", L, {x, weight, bias}, [=](const Tensor& dL, Grads& g) {
    const Tensor as_if_M[] = {dx, dW, db};
    for (int i = 0; i < 3; ++i)
      g(i, [&](Sink gradient) {
        launch_elements(device, as_if_M[i].size(),
                        ScaleBy{dL.data(), real(1) / real(M), as_if_M[i].data(), gradient});
      });
  });
}

}  // namespace minbert
