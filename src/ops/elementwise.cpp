// Operations on each element. A function is a struct with its formula f and its derivative, as a
// function of the input, df(x), or of the result, df_of_y(y); the tape keeps only the one of x and
// y that it needs.
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/activations.h"

namespace minbert {
namespace {

template <class F>
constexpr bool keeps_y = requires(F f) { f.df_of_y(real(0)); };
// dL/dx = dy f'(x)
template <class F>
struct BackwardOf {
  F function;
  const real *kept, *dy;
  Target dx;
  HD void operator()(int64_t i) const {
    if constexpr (keeps_y<F>) dx(i, dy[i] * function.df_of_y(kept[i]));
    else dx(i, dy[i] * function.df(kept[i]));
  }
};

template <class F>
Tensor elementwise(const char* name, const Tensor& x, F function = {},
                   SourceLine formula = SourceLine::current()) {
  Tensor y(x.shape(), x.device());
  launch_elements(x.device(), x.size(), Activate<F>{function, x.data(), y.data()});
  const Tensor kept = keeps_y<F> ? y : x;
  return record(name, y, {x}, [kept, function](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      const BackwardOf<F> backward{function, kept.data(), dy.data(), dx};
      launch_elements(dy.device(), dy.size(), backward);
    });
  }, formula);
}

// The pooler's [TA sec.2], whose gradient is a part of [TA sec.3.1]
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

struct Sign {
  HD static real f(real x) { return x > 0 ? real(1) : x < 0 ? real(-1) : x; }
  HD static real df(real) { return 0; }
};

// Functions with a number c
struct Scale {
  real c;
  HD real f(real x) const { return c * x; }
  HD real df_of_y(real) const { return c; }
};
struct Shift {
  real c;
  HD real f(real x) const { return x + c; }
  HD real df_of_y(real) const { return 1; }
};
struct Pow {
  real c;
  HD real f(real x) const { return std::pow(c < 0 ? nan_if_infinite(x) : x, c); }
  HD real df(real x) const { return c * std::pow(x, c - 1); }
};
struct Clamp {
  real low, high;
  HD real f(real x) const { return x < low ? low : x > high ? high : x; }
  HD real df(real x) const { return x < low || x > high ? real(0) : real(1); }
};

}  // namespace

Tensor relu(const Tensor& x) { return elementwise<Relu>("relu", x); }
Tensor gelu(const Tensor& x) { return elementwise<Gelu>("gelu", x); }
Tensor gelu_new(const Tensor& x) { return elementwise<GeluNew>("gelu_new", x); }
Tensor tanh(const Tensor& x) { return elementwise<Tanh>("tanh", x); }
Tensor sigmoid(const Tensor& x) { return elementwise<Sigmoid>("sigmoid", x); }
Tensor abs(const Tensor& x) { return elementwise<Abs>("abs", x); }
Tensor exp(const Tensor& x) { return elementwise<Exp>("exp", x); }
Tensor log(const Tensor& x) { return elementwise<Log>("log", x); }
Tensor square(const Tensor& x) { return elementwise<Square>("square", x); }
Tensor sqrt(const Tensor& x) { return elementwise<Sqrt>("sqrt", x); }
Tensor sign(const Tensor& x) { return elementwise<Sign>("sign", x); }
Tensor scale(const Tensor& x, double factor) {
  return elementwise("scale", x, Scale{real(factor)});
}
Tensor shift(const Tensor& x, double number) {
  return elementwise("shift", x, Shift{real(number)});
}
Tensor pow(const Tensor& x, double exponent) { return elementwise("pow", x, Pow{real(exponent)}); }
Tensor clamp(const Tensor& x, double low, double high) {
  return elementwise("clamp", x, Clamp{real(low), real(high)});
}

}  // namespace minbert
