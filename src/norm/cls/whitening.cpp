// Whitening of [CLS]: dimensions of variance 1 that are not correlated, as near to the old ones as can be (ZCA).
//
//   Paper       IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization, sec. 3.1
//   Equation    ĥ = Σ^(-1/2) (h - μ)                                                               [IsoBN eq.1]
//   Shapes      h, ĥ [B,H]   μ [H]   Σ, Σ^(-1/2) [H,H], symmetric
//   Statistics  one pass over the training set with the pre-trained encoder, then constant
//   Gradients   dL/dh = dL/dĥ Σ^(-1/2): a linear map
//   Deviations  Σ is shrunk first, to (1-l) Σ + l tr(Σ)/H I: [CLS]'s own is ill-conditioned, its inverse noise.
//               A set of equal rows has no Σ to invert: h - μ.
#include <cmath>

#include "engine/gemm.h"
#include "engine/lapack.h"
#include "minbert/cls_norm.h"
#include "norm/cls/covariance.h"

namespace minbert {

Whitening::Whitening(int64_t hidden, double shrinkage)
    : FittedClsNorm("whitening", hidden), shrinkage_(shrinkage), mean_(&buffer("mean", Tensor::zeros({hidden}))),
      matrix_(&buffer("matrix", Tensor::zeros({hidden, hidden}))), set_(std::make_unique<Covariance>(hidden)) {
  MB_CHECK(0 < shrinkage && shrinkage <= 1, "whitening: a shrinkage of {}; expected more than 0 and at most 1",
           shrinkage);
}
Whitening::~Whitening() = default;

void Whitening::add(const Tensor& h) { set_->add(h); }

// Σ = sum_k λ_k v_k v_kᵀ, and so is every function of it: the shrunk Σ has the same v_k. Σ^(-1/2) = UᵀU with the
// rows u_k = λ_k^(-1/4) v_k.
void Whitening::finish() {
  const size_t H = size_t(hidden());
  const SymmetricEigen Sigma = symmetric_eigen(set_->matrix(), int(H), true);
  double trace = 0;
  for (const double lambda : Sigma.values) trace += std::max(0.0, lambda);
  std::vector<real> U(H * H);
  for (size_t k = 0; k < H; ++k) {
    const double lambda = (1 - shrinkage_) * std::max(0.0, Sigma.values[k]) + shrinkage_ * trace / double(H);
    for (size_t i = 0; i < H; ++i)
      U[k * H + i] = real(Sigma.vectors[k * H + i] * (lambda > 0 ? std::pow(lambda, -0.25) : 1));
  }
  const Tensor u = Tensor::from({hidden(), hidden()}, U);
  const ExactProducts exact;
  gemm_tn(u, u, {*matrix_, false});
  mean_->copy_from(std::vector<real>(set_->mean().begin(), set_->mean().end()));
  set_ = std::make_unique<Covariance>(hidden());
}

Tensor Whitening::normalize(const Tensor& h) const { return matmul_nt(sub(h, *mean_), *matrix_); }

}  // namespace minbert
