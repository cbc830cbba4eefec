// glibc's vector mathematics for `omp simd` loops, without -ffast-math: 10 to 14 times the scalar rate for exp
// and erf.
//
// g++ uses vector versions only of functions that carry this pragma, and glibc declares it only under -ffast-math.
// Where .build/probe finds the library (x86-64, glibc >= 2.35), the build links -lmvec and defines MINBERT_VECTOR_MATH.
#pragma once

#include <cmath>

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
