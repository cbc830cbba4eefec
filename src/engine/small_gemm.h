// Products that are too small for OpenBLAS, on the CPU: one matrix is copied, the other read in place (small_gemm.cpp).
#pragma once

#include "engine/gemm.h"

namespace minbert {

// Whether these are faster than OpenBLAS: measured on Zen 4 with AVX-512, for few rows also on Zen 3 with AVX2
// (tests/bench/README.md), nowhere else.
inline bool has_few_rows(const Product& p) { return p.m > 0 && p.m <= 256 && p.n >= 96 && p.k >= 128; }
bool is_small(Transpose form, const Product& product);

// C = A B^T, or C += A B^T: A [m,k], B [n,k], C [m,n]. The same sums whatever the number of threads.
void gemm_nt_few_rows(const Product& product, bool add);

// C = alpha op(A) op(B), or C += that, on this thread. `next`: the matrices of a product to come, or nullptr; they are
// fetched meanwhile.
void gemm_small(Transpose form, const Product& product, real alpha, bool add, const Product* next);

}  // namespace minbert
