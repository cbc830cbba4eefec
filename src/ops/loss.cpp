// Losses, each the mean over the batch, and the cosine similarity that siamese heads use.
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/mean_of.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

// L = -1/B sum_b log p_b[label_b],  p = softmax(logits)   dL/dlogit_bc = (p_bc - [c = label_b]) / B
struct CrossEntropy {
  const real* logits;
  const int32_t* labels;
  real *p, *loss;                                   // p [B,C], kept for the backward; loss [B]
  int classes;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int n = classes;
    const real* x = logits + row * n;
    real* out = loss + row;
    const real l = cross_entropy_row(
        team, n, [=](int i) { return x[i]; }, labels[row], p + row * n);
    team.each(1, [=](int) { *out = l; });
  }
};
struct CrossEntropyBackward {
  const real* p;
  const int32_t* labels;
  const real* dc;                                   // [] the loss's gradient
  real inverse_batch;
  Target dx;
  int classes;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int n = classes, label = labels[row];
    const real* y = p + row * n;
    const real w = dc[0] * inverse_batch;
    const Target result = dx;
    team.each(n, [=](int i) { result(row * n + i, w * (y[i] - real(i == label))); });
  }
};

// L = 1/B sum_b l(x_b, t_b)          dL/dx_b = dl/dx (x_b, t_b) / B

// l = -t log s(x) - (1-t) log(1-s(x)), without overflow: max(x,0) - x t + log(1 + exp(-|x|)), s the
// sigmoid
// dl/dx = s(x) - t          dl/dt = -x
struct BinaryCrossEntropy {
  HD static real f(real x, real t) {
    return (x > 0 ? x : real(0)) - x * t + std::log1p(std::exp(x > 0 ? -x : x));
  }
  HD static real dx(real x, real t) { return 1 / (1 + std::exp(-x)) - t; }
  HD static real dt(real x, real) { return -x; }
};
// l = (x-t)^2               dl/dx = 2 (x-t)          dl/dt = 2 (t-x)
struct SquaredError {
  HD static real f(real x, real t) { return (x - t) * (x - t); }
  HD static real dx(real x, real t) { return 2 * (x - t); }
  HD static real dt(real x, real t) { return 2 * (t - x); }
};

template <class L>
struct EachLoss {
  HD void operator()(real x, real t, real& loss) const { loss = L::f(x, t); }
};
template <class L, bool first>
struct EachLossBackward {
  const real* dc;
  real inverse_batch;
  HD void operator()(real x, real t, real& gradient) const {
    gradient = dc[0] * inverse_batch * (first ? L::dx(x, t) : L::dt(x, t));
  }
};

template <class L>
Tensor mean_loss(const char* name, const Tensor& x, const Tensor& t) {
  MB_CHECK(x.size() == t.size() && x.size() > 0, "{}: {} predictions and {} targets", name,
           x.shape(), t.shape());
  const Tensor each(x.shape(), x.device());
  launch_map(x.device(), x.size(), EachLoss<L>{}, x.data(), t.data(), Target(each));
  return record(name, mean_of(each), {x, t}, [x, t](const Tensor& dc, Grads& g) {
    const real w = real(1) / real(x.size());
    const EachLossBackward<L, true> to_x{dc.data(), w};
    const EachLossBackward<L, false> to_t{dc.data(), w};
    g(0, [&](Sink dx) { launch_map(x.device(), x.size(), to_x, x.data(), t.data(), Target(dx)); });
    g(1, [&](Sink dt) { launch_map(x.device(), x.size(), to_t, x.data(), t.data(), Target(dt)); });
  });
}

// c = u.v / (|u| |v|), each norm at least eps
// dL/du = dc (v/(|u||v|) - c u/|u|^2), the second term only where |u| > eps; dL/dv likewise
struct Cosine {
  const real *u, *v;
  int H;
  real* c;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const real *a = u + row * H, *b = v + row * H;
    const real uv = team.sum(H, [=](int i) { return a[i] * b[i]; });
    const real uu = team.sum(H, [=](int i) { return a[i] * a[i]; });
    const real vv = team.sum(H, [=](int i) { return b[i] * b[i]; });
    real* out = c + row;
    team.each(1, [=](int) { *out = uv / (norm(uu) * norm(vv)); });
  }
  HD static real norm(real squares) {
    const real n = std::sqrt(squares);
    return n > real(1e-8) ? n : real(1e-8);
  }
};
struct CosineBackward {                       // the gradient of u; that of v with u and v exchanged
  const real *u, *v, *c, *dc;
  int H;
  Target du;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const real *a = u + row * h, *b = v + row * h;
    const real uu = team.sum(h, [=](int i) { return a[i] * a[i]; });
    const real vv = team.sum(h, [=](int i) { return b[i] * b[i]; });
    const real nu = Cosine::norm(uu), nv = Cosine::norm(vv), d = dc[row];
    // A norm of eps is constant
    const real along = nu > std::sqrt(uu) ? real(0) : c[row] / (nu * nu);
    const Target result = du;
    team.each(h, [=](int i) { result(row * h + i, d * (b[i] / (nu * nv) - along * a[i])); });
  }
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Indices& labels) {
  const int64_t B = logits.rows(), C = logits.cols();
  MB_CHECK(labels.size() == B && B > 0, "cross_entropy: logits {} and {} labels", logits.shape(),
           labels.size());
  for (const int32_t label : labels)
    MB_CHECK(label >= 0 && label < C, "cross_entropy: label {} is outside of 0..{}", label, C - 1);
  const Tensor p(logits.shape(), logits.device()), each({B}, logits.device());
  launch_rows(logits, CrossEntropy{.logits = logits.data(), .labels = labels.data(logits.device()),
                                   .p = p.data(), .loss = each.data(), .classes = int(C)});
  const Tensor loss = mean_of(each);
  return record("cross_entropy", loss, {logits}, [p, labels](const Tensor& dc, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(p, CrossEntropyBackward{.p = p.data(), .labels = labels.data(p.device()),
                                          .dc = dc.data(),
                                          .inverse_batch = real(1) / real(p.rows()), .dx = dx,
                                          .classes = int(p.cols())});
    });
  });
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets) {
  return mean_loss<BinaryCrossEntropy>("binary_cross_entropy_with_logits", logits, targets);
}
Tensor mean_squared_error(const Tensor& prediction, const Tensor& target) {
  return mean_loss<SquaredError>("mean_squared_error", prediction, target);
}

Tensor cosine_similarity(const Tensor& u, const Tensor& v) {
  MB_CHECK(u.shape() == v.shape(), "cosine_similarity: u {} and v {}", u.shape(), v.shape());
  const int H = int(u.cols());
  const Tensor c({u.rows(), 1}, u.device());
  launch_rows(u, Cosine{u.data(), v.data(), H, c.data()});
  return record("cosine_similarity", c, {u, v}, [u, v, c, H](const Tensor& dc, Grads& g) {
    g(0, [&](Sink du) {
      launch_rows(u, CosineBackward{.u = u.data(), .v = v.data(), .c = c.data(), .dc = dc.data(),
                                    .H = H, .du = du});
    });
    g(1, [&](Sink dv) {
      launch_rows(u, CosineBackward{.u = v.data(), .v = u.data(), .c = c.data(), .dc = dc.data(),
                                    .H = H, .du = dv});
    });
  });
}

}  // namespace minbert
