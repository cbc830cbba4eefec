// Products of few rows on the CPU: one matrix is copied, the other read in place (small_gemm.cpp).
#pragma once

#include "engine/gemm.h"

namespace minbert {

// Whether this is faster than OpenBLAS: measured on Zen 4 with AVX-512, also on Zen 3 with AVX2
// (tests/bench/README.md), nowhere else.
inline bool has_few_rows(const Product& p) {
  return p.m > 0 && p.m <= 256 && p.n >= 96 && p.k >= 128;
}

// C = A B^T, or C += A B^T: A [m,k], B [n,k], C [m,n]. The same sums whatever the number of
// threads.
void gemm_nt_few_rows(const Product& product, bool add);

}  // namespace minbert
