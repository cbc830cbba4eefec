// Gradient normalization of [CLS]: nothing in the forward pass; backward, all dimensions get gradients of one size.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    μ_j = E|g_bj| over the batch   θ = mean of μ   γ_j = (θ / (μ_j + εθ))^α   g' = g ⊙ γ  [TA sec.4.3]
//   Shapes      h, g = dL/dh, g' [B,H]   μ, γ [H]
//   Strength    α = 1: all dimensions alike; α = 0: off
//   Deviations  ε is relative to θ, since g carries the loss's 1/B; the paper's ‖g‖₂ can only be of one number, |g_bj|:
//               of a whole row it would have no dimensions left. A gradient of zeros (θ = 0) stays as it is.
#include "engine/arithmetic.h"
#include "engine/launch.h"
#include "minbert/cls_norm.h"

namespace minbert {
namespace {

struct MeanSize {                                   // |g_bj| / B
  const real* g;
  int64_t cols;
  real rows;
  HD real operator()(int64_t row, int64_t col) const { return std::abs(g[row * cols + col]) / rows; }
};

// From μ to γ in the same place. (μ/θ + ε)^-α is the equation's, and does not underflow where θ is tiny.
struct Strength {
  real alpha, eps;
  int cols;
  real* gamma;
  template <class Team>
  HD void operator()(Team team, int64_t) const {
    const real a = alpha, e = eps;
    real* mu = gamma;
    const real theta = nan_if_infinite(team.sum(cols, [=](int j) { return mu[j]; }) / real(cols));
    team.sync();
    team.each(cols, [=](int j) { mu[j] = theta == 0 ? real(1) : std::pow(mu[j] / theta + e, -a); });
  }
};

struct Strengthened {
  const real *g, *gamma;
  int cols;
  Target dh;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const real *from = g + row * cols, *by = gamma;
    const int64_t begin = row * cols;
    const Target to = dh;
    team.each(cols, [=](int j) { to(begin + j, from[j] * by[j]); });
  }
};

}  // namespace

Tensor normalize_gradient(const Tensor& h, double alpha, double eps) {
  MB_CHECK(alpha >= 0 && eps > 0, "gradient normalization: alpha {} and eps {}; expected alpha >= 0 and eps > 0",
           alpha, eps);
  return record("normalize_gradient", h.detach(), {h}, [alpha, eps](const Tensor& g, Grads& grads) {
    grads(0, [&](Sink dh) {
      const int64_t B = g.rows(), H = g.cols();
      const Tensor gamma({H}, g.device());
      launch_column_sums(g.device(), B, H, 1, nullptr, gamma, MeanSize{g.data(), H, real(B)});
      launch_rows(g.device(), 1, H, Strength{real(alpha), real(eps), int(H), gamma.data()});
      launch_rows(g.device(), B, B * H,
                  Strengthened{g.data(), gamma.data(), int(H), dh});
    });
  });
}

}  // namespace minbert
