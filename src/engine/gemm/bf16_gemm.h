// Matrix products in bf16 on the CPU (bf16_gemm.cpp). None in a build in double.
#pragma once

#include "engine/gemm.h"

namespace minbert {

// What this build and this processor have for them: "AMX", "AVX512-BF16" or "" for nothing.
const std::string& bf16_instructions();

// Whether this is faster than the product in fp32, with those instructions.
bool gains_by_bf16(const Product& product);

// C = alpha op(A) op(B), to which C itself is added, or `bias` [n] on each row, or nothing. Each
// number of A and B is rounded to bf16, to the nearest, and products are summed in float. Where
// numbers, products and sums are 0 or of a size from 2^-126 to below bf16's largest,
// |error| <= (2^-7 + 2^-16 + k 2^-23) sum |alpha a b|, and float's rounding where C or bias is
// added; smaller ones count as 0 with instructions. The same sums whatever the number of threads.
// Only after bf16_instructions() has asked for them.
void gemm_bf16(Transpose form, const Product& product, real alpha, bool add,
               const real* bias = nullptr);
// By a plain loop, on any processor: for tests.
void gemm_bf16_plain(Transpose form, const Product& product, real alpha, bool add,
                     const real* bias = nullptr);

}  // namespace minbert
