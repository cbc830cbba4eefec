// Matrix products: on the CPU by OpenBLAS or, of few rows, by gemm/small_gemm.cpp, or under
// --matmul bf16 by gemm/bf16_gemm.cpp; on the GPU by cuBLAS (cublas.cpp).
#include "engine/gemm.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>

#include "engine/cuda.h"
#include "engine/gemm/bf16_gemm.h"
#include "engine/gemm/small_gemm.h"
#include "engine/parallel.h"
#include "engine/process.h"
#include "engine/profile.h"

namespace minbert {
namespace {

void cblas_gemm(Transpose form, const Product& p, real alpha, real beta) {
  const CBLAS_TRANSPOSE ta = form == Transpose::tn ? CblasTrans : CblasNoTrans;
  const CBLAS_TRANSPOSE tb = form == Transpose::nt ? CblasTrans : CblasNoTrans;
  const auto n = [](int64_t v) { return blasint(v); };
#ifdef MINBERT_DOUBLE
  cblas_dgemm
#else
  cblas_sgemm
#endif
      (CblasRowMajor, ta, tb, n(p.m), n(p.n), n(p.k), alpha, p.a, n(p.lda), p.b, n(p.ldb), beta,
       p.c, n(p.ldc));
}

bool in_bf16(const Product& p) {
  return matmul_precision() == Precision::bf16 && gains_by_bf16(p);
}

double flops_of(const Product& p) { return 2.0 * double(p.m) * double(p.n) * double(p.k); }

// The product of two whole tensors; c is still nullptr.
Product product_of(Transpose form, const Tensor& a, const Tensor& b) {
  const bool ta = form == Transpose::tn, tb = form == Transpose::nt;
  const int64_t m = ta ? a.cols() : a.rows(), k = ta ? a.rows() : a.cols();
  const int64_t n = tb ? b.rows() : b.cols(), k_of_b = tb ? b.cols() : b.rows();
  MB_CHECK(k == k_of_b, "{}: inner sizes differ: a {} and b {}",
           tb ? "matmul_nt" : ta ? "matmul_tn" : "matmul", a.shape(), b.shape());
  return {m, n, k, a.data(), a.cols(), b.data(), b.cols(), nullptr, n};
}

void multiply(Transpose form, const Tensor& a, const Tensor& b, const Sink& c) {
  Product p = product_of(form, a, b);
  MB_CHECK(c.tensor.size() == p.m * p.n, "a product of [{}, {}] does not fit into {}", p.m, p.n,
           c.tensor.shape());
  p.c = c.tensor.data();
  gemm(c.tensor.device(), form, p, 1, c.add ? 1 : 0);
}

Tensor multiply(Transpose form, const Tensor& a, const Tensor& b) {
  const Product p = product_of(form, a, b);
  const Tensor c({p.m, p.n}, a.device());
  multiply(form, a, b, {c, false});
  return c;
}

}  // namespace

// Products in bf16, or of few rows of A, have code of their own. Else each thread computes some
// rows of C, or some columns where there are more of them. OpenBLAS's own threads wait for each
// other after every block; these never do (on 2 cores up to 1.3 times faster).
void gemm(Device device, Transpose form, const Product& whole, real alpha, real beta) {
  if (device == Device::cuda) {
    profile_flops(flops_of(whole));
    return cuda::gemm(form, whole, alpha, beta);
  }
  const bool sets_or_adds = beta == 0 || beta == 1;
  if (sets_or_adds && in_bf16(whole)) {
    profile_flops(flops_of(whole));
    return gemm_bf16(form, whole, alpha, beta != 0);
  }
  if (sets_or_adds && alpha == 1 && form == Transpose::nt && has_few_rows(whole)) {
    profile_flops(flops_of(whole));
    return gemm_nt_few_rows(whole, beta != 0);
  }
  const bool by_rows = whole.m >= whole.n;
  const int64_t length = by_rows ? whole.m : whole.n, threads = omp_get_max_threads();
  // The kernels' own blocks have 16 rows.
  const int64_t step = ((length + threads - 1) / threads + 15) / 16 * 16;
  std::vector<Product> parts;
  for (int64_t begin = 0; begin < length; begin += step) {
    Product part = whole;
    (by_rows ? part.m : part.n) = std::min(step, length - begin);
    if (by_rows) part.a += form == Transpose::tn ? begin : begin * whole.lda;
    else part.b += form == Transpose::nt ? begin * whole.ldb : begin;
    part.c += by_rows ? begin * whole.ldc : begin;
    parts.push_back(part);
  }
  gemm_batch(device, form, parts, alpha, beta);
}

// Inside the parallel loop the OpenMP build of OpenBLAS runs each product on the calling thread
// alone.
void gemm_batch(Device device, Transpose form, const std::vector<Product>& products, real alpha,
                real beta) {
  double flops = 0;
  for (const Product& p : products) flops += flops_of(p);
  profile_flops(flops);
  if (device == Device::cuda) return cuda::gemm_batch(form, products, alpha, beta);
  prepare_openblas();
  const bool sets_or_adds = beta == 0 || beta == 1;
  const auto multiply = [&](size_t i) {
    const Product& p = products[i];
    if (sets_or_adds && in_bf16(p)) gemm_bf16(form, p, alpha, beta != 0);
    else if (p.m > 0 && p.n > 0) cblas_gemm(form, p, alpha, beta);
  };
  if (omp_in_parallel()) {      // a region of one thread inside of it would cost half a microsecond
    for (size_t i = 0; i < products.size(); ++i) multiply(i);
    return;
  }
  parallel_each(products.size(), multiply, flops < 5e5);
}

bool gemm_nt_with_bias(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& c) {
  Product p = product_of(Transpose::nt, a, b);
  p.c = c.data();
  if (c.device() == Device::cuda) {
    if (!cuda::gemm_with_bias(p, bias.data())) return false;
  } else {
    if (!in_bf16(p)) return false;
    gemm_bf16(Transpose::nt, p, 1, false, bias.data());
  }
  profile_flops(flops_of(p));
  return true;
}

Tensor gemm_nn(const Tensor& a, const Tensor& b) { return multiply(Transpose::nn, a, b); }
Tensor gemm_nt(const Tensor& a, const Tensor& b) { return multiply(Transpose::nt, a, b); }
Tensor gemm_tn(const Tensor& a, const Tensor& b) { return multiply(Transpose::tn, a, b); }
void gemm_nn(const Tensor& a, const Tensor& b, const Sink& c) { multiply(Transpose::nn, a, b, c); }
void gemm_nt(const Tensor& a, const Tensor& b, const Sink& c) { multiply(Transpose::nt, a, b, c); }
void gemm_tn(const Tensor& a, const Tensor& b, const Sink& c) { multiply(Transpose::tn, a, b, c); }

}  // namespace minbert
