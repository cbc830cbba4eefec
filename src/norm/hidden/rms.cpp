// RMSNorm: every token divided by its root mean square.
//
//   Paper       Zhang & Sennrich, Root Mean Square Layer Normalization, 2019, eq. 4
//   Equation    y = x / RMS(x) ⊙ g          RMS(x) = √(1/H Σ x_i² + ε)
//   Shapes      x, y [T,H]   g [H], here "weight"
//   Starts as   g = 1, or a LayerNorm checkpoint's weight; its bias finds no use
//   Deviations  the paper writes no ε; it stands where LayerNorm has it
#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

class RmsNorm : public Norm {
 public:
  RmsNorm(int64_t hidden, double eps)
      : eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)) {}

  Tensor forward(const ResidualSum& x, const Batch&) const override {
    const Scope scope(path());
    return rms_norm(x, *weight_, eps_);
  }
  Tensor composed(const Tensor& x, const Batch&) const override {
    return mul(mul(x, inverse_root_composed(mean_rows(square(x)), eps_)), *weight_);
  }

 private:
  double eps_;
  Tensor* weight_;
};

}  // namespace

std::unique_ptr<Norm> make_rms(const NormOptions& o) { return std::make_unique<RmsNorm>(o.hidden, layer_eps(o)); }

}  // namespace minbert
