// Matrix products: by OpenBLAS and cuBLAS, and by our own (gemm/) in three cases: few rows,
// bf16, batches of many sizes.
//
// The letters nn, nt, tn say how each operand is stored: n as it is multiplied, t transposed.
#pragma once

#include <vector>

#include "minbert/autograd.h"

namespace minbert {

// One product C = alpha op(A) op(B) + beta C of row-major matrices: op(A) [m,k], op(B) [k,n], C
// [m,n]. ld: elements from one row to the next.
struct Product {
  int64_t m, n, k;
  const real* a;
  int64_t lda;
  const real* b;
  int64_t ldb;
  real* c;
  int64_t ldc;
};
enum class Transpose { nn, nt, tn };
inline bool same_sizes(const Product& p, const Product& q) {
  return p.m == q.m && p.n == q.n && p.k == q.k && p.lda == q.lda && p.ldb == q.ldb &&
         p.ldc == q.ldc;
}

void gemm(Device device, Transpose form, const Product& product, real alpha, real beta);

// Many small products at once, such as one for each sentence and head: C_i = alpha op(A_i) op(B_i)
// + beta C_i.
void gemm_batch(Device device, Transpose form, const std::vector<Product>& products, real alpha,
                real beta);

// On whole tensors, all sizes but the last counted as rows. The first three return a new tensor.
// Error where the inner sizes or the result's size do not fit.
Tensor gemm_nn(const Tensor& a, const Tensor& b);                    // [m,k] [k,n] -> [m,n]
Tensor gemm_nt(const Tensor& a, const Tensor& b);                    // [m,k] [n,k] -> [m,n]
Tensor gemm_tn(const Tensor& a, const Tensor& b);                    // [k,m] [k,n] -> [m,n]
// c = a b^T + bias [n] on each row, in one kernel. false: there is none, and nothing was done.
bool gemm_nt_with_bias(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& c);
void gemm_nn(const Tensor& a, const Tensor& b, const Sink& c);
void gemm_nt(const Tensor& a, const Tensor& b, const Sink& c);
void gemm_tn(const Tensor& a, const Tensor& b, const Sink& c);

}  // namespace minbert
