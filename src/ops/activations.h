// The functions between the two matrices of a feed-forward network, with their derivatives.
#pragma once

#include "engine/launch.h"

namespace minbert {

// y = f(x), element by element
template <class F>
struct Activate {
  F function;
  const real* x;
  real* y;
  HD void operator()(int64_t i) const { y[i] = function.f(x[i]); }
};

// GELU(x) = x Phi(x)                                             Hendrycks & Gimpel 2016, sec. 2
// d/dx    = Phi(x) + x phi(x)
struct Gelu {
  HD static real Phi(real x) {
    return real(0.5) * (1 + std::erf(x * real(0.70710678118654752440)));
  }
  HD static real phi(real x) { return real(0.39894228040143267794) * std::exp(real(-0.5) * x * x); }
  HD static real f(real x) { return x * Phi(x); }
  HD static real df(real x) { return Phi(x) + x * phi(x); }
};

// GELU(x) ≈ x/2 (1 + tanh u)     u = √(2/π) (x + 0.044715 x³)
struct GeluNew {
  HD static real u(real x) { return real(0.7978845608028654) * (x + real(0.044715) * x * x * x); }
  HD static real f(real x) { return real(0.5) * x * (1 + std::tanh(u(x))); }
  HD static real df(real x) {
    const real t = std::tanh(u(x)), du = real(0.7978845608028654) * (1 + real(0.134145) * x * x);
    return real(0.5) * (1 + t) + real(0.5) * x * (1 - t * t) * du;
  }
};

struct Relu {
  HD static real f(real x) { return x < 0 ? real(0) : x; }         // a NaN stays one
  HD static real df(real x) { return x > 0 ? real(1) : real(0); }
  HD static real df_of_y(real y) { return df(y); }
};

}  // namespace minbert
