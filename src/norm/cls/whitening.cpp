// Whitening of [CLS] (ZCA): makes dimensions uncorrelated with variance 1, and changes them least.
//
//   Paper       IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization, sec. 3.1
//   Equation    ĥ = Σ^(-1/2) (h - μ)                                                  [IsoBN eq.1]
//   Shapes      h, ĥ [B,H]   μ [H]   Σ, Σ^(-1/2) [H,H], symmetric
//   Statistics  one pass over the training set with the pre-trained encoder, then constant
//   Gradients   dL/dh = dL/dĥ Σ^(-1/2): a linear map
//   Deviations  Σ is shrunk first, to (1-l) Σ + l tr(Σ)/H I, since that of [CLS] is ill-conditioned
//               and its inverse would be noise. For a set of equal rows, Σ = 0 and ĥ = h - μ.
#include <cmath>

#include "engine/gemm.h"
#include "engine/lapack.h"
#include "norm/cls/covariance.h"
#include "norm/cls/fitted.h"

namespace minbert {

struct Whitening : FittedNorm {
  explicit Whitening(const NormOptions& o)
      : FittedNorm("whitening", o), shrinkage_(o.number("shrinkage")),
        mean_(statistic("mean")),
        matrix_(buffer("matrix", Tensor::zeros({hidden_, hidden_}))), set_(hidden_) {}

  // ĥ = Σ^(-1/2) (h - μ)
  Tensor normalize(const Tensor& h) const override {
    return matmul_nt(h - mean_, matrix_);                                         // [IsoBN eq.1]
  }
  void add(const Tensor& h) override { set_.add(h); }

  // Σ = sum_k λ_k v_k v_kᵀ. The shrunk Σ has the same v_k, and Σ^(-1/2) = UᵀU with the rows
  // u_k = λ_k^(-1/4) v_k.
  void finish() override {
    const size_t H = size_t(hidden_);
    const SymmetricEigen Sigma = symmetric_eigen(set_.matrix(), int(H), true);
    double trace = 0;
    for (const double lambda : Sigma.values) trace += std::max(0.0, lambda);
    std::vector<real> U(H * H);
    for (size_t k = 0; k < H; ++k) {
      const double lambda =
          (1 - shrinkage_) * std::max(0.0, Sigma.values[k]) + shrinkage_ * trace / double(H);
      for (size_t i = 0; i < H; ++i)
        U[k * H + i] = real(Sigma.vectors[k * H + i] * (lambda > 0 ? std::pow(lambda, -0.25) : 1));
    }
    const Tensor u = Tensor::from({hidden_, hidden_}, U);
    const ExactProducts exact;
    gemm_tn(u, u, {matrix_, false});
    mean_.copy_from(std::vector<real>(set_.mean().begin(), set_.mean().end()));
    set_ = Covariance(hidden_);
  }

  double shrinkage_;
  Tensor mean_, matrix_;                            // [H], [H,H] Σ^(-1/2)
  Covariance set_;
};

const NormEntry cls_whitening = {
    .name = "whitening",
    .formula = "Σ^(-1/2)(h-μ)",
    .paper = "[IsoBN eq.1]",
    .over = "the training set",
    .statistics = one_pass,
    .place = ClsPlace::pooled,
    .options = {{"shrinkage", "0.01", 1e-30, 1}},
    .make = new_norm<Whitening>,
};

}  // namespace minbert
