// Operations element by element. A function is a struct with its formula f and its derivative: df(x) where it is
// written in the input, df_of_y(y) where it is written in the result; the tape keeps whichever of the two is
// needed.
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/gelu.h"

namespace minbert {
namespace {

// y = f(x)        dL/dx = dy f'(x)
template <class F>
struct Forward {
  HD void operator()(real x, real& y) const { y = F::f(x); }
};
template <class F>
constexpr bool keeps_y = requires { F::df_of_y(real(0)); };
template <class F>
struct BackwardOf {
  HD void operator()(real kept, real dy, real& dx) const {
    if constexpr (keeps_y<F>) dx = dy * F::df_of_y(kept);
    else dx = dy * F::df(kept);
  }
};

template <class F>
Tensor elementwise(const char* name, const Tensor& x) {
  Tensor y(x.shape(), x.device());
  launch_map(x.device(), x.size(), Forward<F>{}, x.data(), Target(y));
  const Tensor kept = keeps_y<F> ? y : x;
  return record(name, y, {x}, [kept](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      launch_map(dy.device(), dy.size(), BackwardOf<F>{}, kept.data(), dy.data(), Target(dx));
    });
  });
}

struct Relu {
  HD static real f(real x) { return x < 0 ? real(0) : x; }         // a NaN stays one
  HD static real df_of_y(real y) { return y > 0 ? real(1) : real(0); }
};
struct Tanh {
  HD static real f(real x) { return std::tanh(x); }
  HD static real df_of_y(real y) { return 1 - y * y; }
};
struct Sigmoid {
  HD static real f(real x) { return 1 / (1 + std::exp(-x)); }
  HD static real df_of_y(real y) { return y * (1 - y); }
};
struct Abs {
  HD static real f(real x) { return x < 0 ? -x : x; }
  HD static real df(real x) { return real(x > 0) - real(x < 0); }
};
struct Exp {
  HD static real f(real x) { return std::exp(x); }
  HD static real df_of_y(real y) { return y; }
};
struct Log {
  HD static real f(real x) { return std::log(x); }
  HD static real df(real x) { return 1 / x; }
};
struct Square {
  HD static real f(real x) { return x * x; }
  HD static real df(real x) { return 2 * x; }
};
struct Sqrt {
  HD static real f(real x) { return std::sqrt(x); }
  HD static real df_of_y(real y) { return real(0.5) / y; }
};

// y = factor x        dL/dx = factor dy
struct Scale {
  real factor;
  HD void operator()(real x, real& y) const { y = factor * x; }
};

}  // namespace

Tensor relu(const Tensor& x) { return elementwise<Relu>("relu", x); }
Tensor gelu(const Tensor& x) { return elementwise<Gelu>("gelu", x); }
Tensor tanh(const Tensor& x) { return elementwise<Tanh>("tanh", x); }
Tensor sigmoid(const Tensor& x) { return elementwise<Sigmoid>("sigmoid", x); }
Tensor abs(const Tensor& x) { return elementwise<Abs>("abs", x); }
Tensor exp(const Tensor& x) { return elementwise<Exp>("exp", x); }
Tensor log(const Tensor& x) { return elementwise<Log>("log", x); }
Tensor square(const Tensor& x) { return elementwise<Square>("square", x); }
Tensor sqrt(const Tensor& x) { return elementwise<Sqrt>("sqrt", x); }

Tensor scale(const Tensor& x, real factor) {
  Tensor y(x.shape(), x.device());
  launch_map(x.device(), x.size(), Scale{factor}, x.data(), Target(y));
  return record("scale", y, {x}, [factor](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      launch_map(dy.device(), dy.size(), Scale{factor}, dy.data(), Target(dx));
    });
  });
}

}  // namespace minbert
