// Mean and covariance of a set: one matrix product for each batch, merged in double.
#include "norm/cls/covariance.h"

#include "engine/gemm.h"

namespace minbert {

Covariance::Covariance(int64_t hidden)
    : hidden_(hidden), mean_(size_t(hidden)), S_(size_t(hidden * hidden)) {}

void Covariance::add(const Tensor& x) {
  MB_CHECK(x.cols() == hidden_, "covariance: a batch {} for a set of {} dimensions", x.shape(),
           hidden_);
  const size_t H = size_t(hidden_);
  const double n_a = double(rows_), n_b = double(x.rows()), n = n_a + n_b;
  std::vector<real> values = x.values();
  std::vector<double> mu(values.begin(), values.begin() + hidden_), delta(H);
  for (size_t k = 0; k < values.size(); ++k)
    delta[k % H] += (double(values[k]) - double(values[k % H])) / n_b;
  for (size_t i = 0; i < H; ++i) {
    mu[i] += delta[i];                              // exact where nothing varies
    delta[i] = mu[i] - mean_[i];
  }
  for (size_t k = 0; k < values.size(); ++k) values[k] = real(double(values[k]) - mu[k % H]);
  const Tensor centered = Tensor::from(x.shape(), values);
  const ExactProducts exact;
  const std::vector<real> S_b = gemm_tn(centered, centered).values();
  for (size_t i = 0; i < H; ++i)
    for (size_t j = 0; j < H; ++j)
      S_[i * H + j] += double(S_b[i * H + j]) + delta[i] * delta[j] * n_a * n_b / n;
  for (size_t i = 0; i < H; ++i) mean_[i] += delta[i] * n_b / n;
  rows_ += x.rows();
}

std::vector<double> Covariance::matrix() const {
  std::vector<double> Sigma = S_;
  for (double& s : Sigma) s /= double(rows_);
  return Sigma;
}

}  // namespace minbert
