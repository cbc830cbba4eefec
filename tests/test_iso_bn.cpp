// IsoBN: its presets against the paper's equations in plain loops; what gamma and the rescaling mean.
#include <doctest/doctest.h>

#include <algorithm>

#include "cls_set.h"
#include "papers/isobn/isotropy.h"

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
    Vector theta_bar;
    for (const double t : theta) theta_bar.push_back(t * (preset == "paper" ? E / after : std::sqrt(E / after)));
    return theta_bar;
  }
};

void check_scaled(const Tensor& y, const Vector& theta_bar, const Tensor& h, double epsilon) {
  std::vector<real> expected;
  for (int64_t k = 0; k < h.size(); ++k)
    expected.push_back(real(theta_bar[size_t(k % h.cols())] * double(h.data()[k])));
  CHECK(difference(y.values(), expected) < epsilon);
}

}  // namespace

TEST_CASE("cls norm: IsoBN's presets equal the paper's recurrences as plain loops, over 24 steps [IsoBN alg.1]") {
  for (const std::string preset : {"ours", "paper", "authors"})
    for (const auto& [H, m] : {std::pair<int64_t, int64_t>(9, 5), {768, 16}}) {
      INFO(preset << ", H " << H);
      const auto norm = cls_norms().make("iso-bn:preset=" + preset, {H});
      IsoBnByHand by_hand{preset, size_t(H)};
      for (int step = 0; step < (H > 100 ? 3 : 24); ++step) {
        CAPTURE(step);
        Tensor h = embeddings(formatted("step {}", step), m, H);
        const Tensor dy = normal(formatted("dy {}", step), h.shape());
        norm->train();
        by_hand.update(h);
        const Vector theta_bar = by_hand.theta_bar();
        const Tensor y = (*norm)(h.set_requires_grad(true));
        check_scaled(y, theta_bar, h, tolerance(3e-5, 1e-10));
        backward(y, dy);
        check_scaled(h.grad(), theta_bar, dy, tolerance(3e-5, 1e-10));           // and no gradient through theta_bar
        norm->train(false);                         // evaluation uses the moving statistics and leaves them alone
        const auto before = buffers_of(*norm);
        check_scaled((*norm)(dy), theta_bar, dy, tolerance(3e-5, 1e-10));
        CHECK(buffers_of(*norm) == before);
      }
    }
}

TEST_CASE("cls norm: presets eq3 and eq5 divide by a group's size, hard [IsoBN eq.3] and soft [IsoBN eq.5]") {
  const Tensor set = normal("set", {50, 3});
  std::vector<real> x;                              // three of a kind (one with its sign turned), two of another, one
  for (int64_t row = 0; row < 50; ++row) {
    const real *v = set.data() + 3 * row, b = real(1 + 0.5 * double(v[1]));
    for (const real value : {v[0], -v[0], 2 * v[0], b, 3 * b, v[2]}) x.push_back(value);
  }
  const Tensor h = Tensor::from({50, 6}, x), dy = normal("dy", {50, 6});
  const Vector rho = pearson_matrix(covariance_of(h));
  struct Case {
    std::string options;
    Vector sizes;                                   // of each dimension's group; empty: gamma in their place
  };
  for (const auto& [options, sizes] : {Case{"eq3,correlated=0.9", {3, 3, 3, 2, 2, 1}},
                                       Case{"eq5", {}}}) {
    INFO(options);
    const auto norm = cls_norms().make("iso-bn:eps=0,preset=" + options, {6});
    norm->train();
    Tensor in = h.detach();
    const Tensor y = (*norm)(in.set_requires_grad(true));
    backward(y, dy);
    std::vector<real> expected_y(300), expected_dx(300);
    for (size_t i = 0; i < 6; ++i) {
      double mu = 0, variance = 0, gamma = 0;
      for (size_t b = 0; b < 50; ++b) mu += double(x[6 * b + i]) / 50;
      for (size_t b = 0; b < 50; ++b) variance += std::pow(double(x[6 * b + i]) - mu, 2) / 50;
      for (size_t j = 0; j < 6; ++j) gamma += rho[6 * i + j] * rho[6 * i + j];
      const double divisor = std::sqrt(variance) * (sizes.empty() ? gamma : sizes[i]);
      for (size_t b = 0; b < 50; ++b) {
        expected_y[6 * b + i] = real((double(x[6 * b + i]) - mu) / divisor);
        expected_dx[6 * b + i] = real(double(dy.data()[6 * b + i]) / divisor);
      }
    }
    CHECK(difference(y.values(), expected_y) < tolerance(3e-5, 1e-10));
    CHECK(difference(in.grad().values(), expected_dx) < tolerance(3e-5, 1e-10));
  }
}

TEST_CASE("cls norm: in preset eq3 a dimension that is like two others makes one group of all") {
  const Tensor ab = normal("ab", {400, 2});
  std::vector<real> x;                              // a, b and a + b, whose correlation with each is .7
  for (int64_t row = 0; row < 400; ++row) {
    const real *v = ab.data() + 2 * row;
    for (const real value : {v[0], v[1], v[0] + v[1]}) x.push_back(value);
  }
  const auto norm = cls_norms().make("iso-bn:eps=0,preset=eq3,correlated=0.5", {3});
  norm->train();
  const Tensor y = (*norm)(Tensor::from({400, 3}, x), {});
  for (const real variance : mean_rows(transpose(square(y))).values())
    CHECK(double(variance) == doctest::Approx(1.0 / 9).epsilon(1e-3));
}

TEST_CASE("cls norm: gamma is the size of a group of equals [IsoBN eq.3], and variance is kept [IsoBN eq.7]") {
  const Tensor a = normal("a", {400, 1}), b = normal("b", {400, 1});
  std::vector<real> x;                              // three doubles of a (one of them with its sign turned), one b
  for (int64_t row = 0; row < 400; ++row)
    for (const real v : {a.data()[row], -a.data()[row], a.data()[row], b.data()[row]}) x.push_back(v);
  const Tensor h = Tensor::from({400, 4}, x);
  const auto norm = cls_norms().make("iso-bn:eps=1e-6,beta=1", {4});
  norm->train();
  const Tensor y = (*norm)(h);
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
