// Arithmetic of kernels: vectorised functions, and formulas whose plain form hides an overflow or
// an error.
//
// In `omp simd` loops glibc's vector functions make exp and erf 10 to 14 times faster, without
// -ffast-math. g++ uses them only for functions that carry this pragma, and glibc declares it only
// under -ffast-math. Where .build/probe finds the library (x86-64, glibc >= 2.35), the build links
// -lmvec and defines MINBERT_VECTOR_MATH.
#pragma once

#include <cmath>

#include "minbert/random.h"
#include "minbert/tensor.h"

#if defined(MINBERT_VECTOR_MATH) && !defined(__CUDA_ARCH__)
extern "C" {
#pragma omp declare simd notinbranch
float expf(float) noexcept;
#pragma omp declare simd notinbranch
float logf(float) noexcept;
#pragma omp declare simd notinbranch
float tanhf(float) noexcept;
#pragma omp declare simd notinbranch
float erff(float) noexcept;
#pragma omp declare simd notinbranch
double exp(double) noexcept;
#pragma omp declare simd notinbranch
double log(double) noexcept;
#pragma omp declare simd notinbranch
double tanh(double) noexcept;
#pragma omp declare simd notinbranch
double erf(double) noexcept;
}
#endif

namespace minbert {

// v, but NaN where v is infinite: 1/√∞ is 0, so an overflowed variance would go unnoticed.
HD inline real nan_if_infinite(real v) { return v + (v - v); }

// a b, rounded. The compiler may turn a b - c into one fma, which rounds once: where c is the same
// rounded product, the result would be its rounding error instead of 0. The sum with 0 prevents
// that.
HD inline real product(real a, real b) { return a * b + real(0); }

}  // namespace minbert
