// IsoBN: its presets against the paper's equations in plain loops; what gamma and the rescaling mean.
#include <doctest/doctest.h>

#include <algorithm>

#include "cls_set.h"

namespace minbert::test {
namespace {

// Alg. 1 with eq. 4, 6, 7 and 8 in double, as each preset reads them.
struct IsoBnByHand {
  std::string preset;
  size_t H;
  Vector Sigma = Vector(H * H), sigma = Vector(H);
  bool first = true;

  void update(const Tensor& h) {
    const size_t m = size_t(h.rows());
    Vector mu(H), Sigma_B(H * H);
    for (size_t b = 0; b < m; ++b)
      for (size_t i = 0; i < H; ++i) mu[i] += double(h.data()[b * H + i]) / double(m);
    for (size_t b = 0; b < m; ++b)
      for (size_t i = 0; i < H; ++i)
        for (size_t j = 0; j < H; ++j)
          Sigma_B[i * H + j] +=
              (double(h.data()[b * H + i]) - mu[i]) * (double(h.data()[b * H + j]) - mu[j]) / double(m);
    const double alpha = preset == "paper" ? 0.95 : preset == "ours" && first ? 1 : 0.05;
    for (size_t k = 0; k < H * H; ++k) Sigma[k] += alpha * (Sigma_B[k] - Sigma[k]);
    for (size_t i = 0; i < H; ++i) {
      sigma[i] += alpha * (std::sqrt(Sigma_B[i * H + i]) - sigma[i]);
      if (preset == "ours") sigma[i] = std::sqrt(Sigma[i * H + i]);
    }
    first = false;
  }
  Vector theta_bar() const {
    const double eps = preset == "authors" ? 1e-3 : 0.1;
    Vector theta(H);
    double E = 0, after = 0;
    for (size_t i = 0; i < H; ++i) {
      double gamma = 0;
      for (size_t j = 0; j < H; ++j) {
        double rho = sigma[i] > 0 && sigma[j] > 0 ? Sigma[i * H + j] / (sigma[i] * sigma[j]) : 0;
        if (preset == "authors") rho = std::clamp(rho, -1.0, 1.0);
        gamma += rho * rho / (preset == "authors" ? double(H) : 1);
      }
      theta[i] = 1 / std::sqrt(sigma[i] * gamma + eps);
      const double variance = preset == "authors" ? Sigma[i * H + i] : sigma[i] * sigma[i];
      E += variance, after += variance * theta[i] * theta[i];
    }
    if (preset == "authors") after += 1e-3;
    for (double& t : theta) t *= preset == "paper" ? E / after : std::sqrt(E / after);
    return theta;
  }
};

void check_scaled(const Tensor& y, const Vector& theta, const Tensor& h, double epsilon) {
  std::vector<real> expected;
  for (int64_t k = 0; k < h.size(); ++k)
    expected.push_back(real(theta[size_t(k % h.cols())] * double(h.data()[k])));
  CHECK(difference(y.values(), expected) < epsilon);
}

}  // namespace

TEST_CASE("cls norm: IsoBN's presets equal the paper's recurrences as plain loops, over 24 steps [IsoBN alg.1]") {
  for (const IsoBatchNorm::Preset& preset : IsoBatchNorm::presets())
    for (const auto& [H, m] : {std::pair<int64_t, int64_t>(9, 5), {768, 16}}) {
      INFO(preset.name << ", H " << H);
      const auto norm = make_cls_norm("iso-bn", {.hidden = H, .preset = preset.name});
      IsoBnByHand by_hand{preset.name, size_t(H)};
      for (int step = 0; step < (H > 100 ? 3 : 24); ++step) {
        Tensor h = embeddings(format("step {}", step), m, H);
        const Tensor dy = normal(format("dy {}", step), h.shape());
        norm->train();
        by_hand.update(h);
        const Vector theta = by_hand.theta_bar();
        const Tensor y = norm->forward(h.set_requires_grad(true));
        check_scaled(y, theta, h, tolerance(3e-5, 1e-10));
        backward(y, dy);
        check_scaled(h.grad(), theta, dy, tolerance(3e-5, 1e-10));               // and no gradient through theta
        norm->train(false);                         // evaluation uses the moving statistics and leaves them alone
        const auto before = buffers_of(*norm);
        check_scaled(norm->forward(dy), theta, dy, tolerance(3e-5, 1e-10));
        CHECK(buffers_of(*norm) == before);
      }
    }
}

TEST_CASE("cls norm: gamma is the size of a group of equals [IsoBN eq.3], and variance is kept [IsoBN eq.7]") {
  const Tensor a = normal("a", {400, 1}), b = normal("b", {400, 1});
  std::vector<real> x;                              // three doubles of a (one of them with its sign turned), one b
  for (int64_t row = 0; row < 400; ++row)
    for (const real v : {a.data()[row], -a.data()[row], a.data()[row], b.data()[row]}) x.push_back(v);
  const Tensor h = Tensor::from({400, 4}, x);
  const auto norm = make_cls_norm("iso-bn", {.hidden = 4, .eps = 1e-6, .beta = 1});
  norm->train();
  const Tensor y = norm->forward(h);
  // theta = 1/(sigma gamma): gamma is 3 for the three and 1 for b, up to the chance correlation of a and b
  const double ratio = double(y.data()[3] / h.data()[3]) / double(y.data()[0] / h.data()[0]);
  CHECK(ratio == doctest::Approx(3).epsilon(0.15));
  Vector variances[2] = {Vector(4), Vector(4)};
  for (const int k : {0, 1})
    for (int64_t i = 0; i < 4; ++i) {
      const real* v = (k ? y : h).data() + i;
      double mean = 0;
      for (int64_t row = 0; row < 400; ++row) mean += double(v[4 * row]) / 400;
      for (int64_t row = 0; row < 400; ++row) variances[k][size_t(i)] += std::pow(double(v[4 * row]) - mean, 2) / 400;
    }
  const auto sum = [](const Vector& v) { return v[0] + v[1] + v[2] + v[3]; };
  CHECK(sum(variances[1]) == doctest::Approx(sum(variances[0])).epsilon(1e-4));
}

}  // namespace minbert::test
