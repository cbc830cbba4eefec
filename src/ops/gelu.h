// GELU(x) = x Phi(x)                                             Hendrycks & Gimpel 2016, sec. 2
// d/dx    = Phi(x) + x phi(x)
#pragma once

#include "engine/launch.h"

namespace minbert {

struct Gelu {
  HD static real Phi(real x) {
    return real(0.5) * (1 + std::erf(x * real(0.70710678118654752440)));
  }
  HD static real phi(real x) { return real(0.39894228040143267794) * std::exp(real(-0.5) * x * x); }
  HD static real f(real x) { return x * Phi(x); }
  HD static real df(real x) { return Phi(x) + x * phi(x); }
  HD void operator()(real x, real& y) const { y = f(x); }
};

}  // namespace minbert
