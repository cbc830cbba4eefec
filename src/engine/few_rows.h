// Products of few rows, on the CPU, without a copy of the other matrix (few_rows.cpp).
#pragma once

#include "engine/gemm.h"

namespace minbert {

// Whether it is faster than OpenBLAS (tests/bench/README.md).
inline bool has_few_rows(const Product& p) { return p.m > 0 && p.m <= 256 && p.n >= 96 && p.k >= 128; }

// C = A B^T, or C += A B^T: A [m,k], B [n,k], C [m,n]. The same sums whatever the number of threads.
void gemm_nt_few_rows(const Product& product, bool add);

}  // namespace minbert
