// Checks a backward against its forward, by finite differences (src/engine/gradient_error.cpp); the bound is 1e-6.
// Within 2h of its inputs f must be smooth: tests keep them well away from kinks.
//
// The cotangent c is random because with ones the gradients of softmax and LayerNorm vanish and any bug
// passes. The differences need double; the float build checks everything else: that a second contribution is
// added, and that an input which needs no gradient gets none and changes nothing for the others.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "minbert/autograd.h"
#include "minbert/ops.h"
#include "minbert/random.h"
#include "shown.h"

namespace minbert::test {

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

inline constexpr bool is_double = sizeof(real) == sizeof(double);
inline real tolerance(double in_float, double in_double) { return real(is_double ? in_double : in_float); }

// Random values, the same whenever the name is: N(0, deviation), moved at least `gap` away from 0.
inline Tensor normal(const std::string& name, Shape shape, double deviation = 1, double gap = 0) {
  Random random(1, "test/" + name);
  std::vector<real> values(size_t(shape.size()));
  for (real& v : values) {
    const double z = deviation * random.normal();
    v = real(z < 0 ? z - gap : z + gap);
  }
  return Tensor::from(shape, values);
}
inline Tensor uniform(const std::string& name, Shape shape, double low, double high) {
  Random random(1, "test/" + name);
  std::vector<real> values(size_t(shape.size()));
  for (real& v : values) v = real(low + (high - low) * random.uniform());
  return Tensor::from(shape, values);
}

inline double largest(const std::vector<real>& values) {
  double m = 0;
  for (const real v : values) m = std::isnan(v) ? INFINITY : std::max(m, std::abs(double(v)));
  return m;
}

// max |a - b| / max(floor, max|a|, max|b|), infinite where a size differs or a value is not a number
inline double difference(const std::vector<real>& a, const std::vector<real>& b, double floor = 1e-3) {
  if (a.size() != b.size()) return INFINITY;
  std::vector<real> d(a.size());
  for (size_t i = 0; i < a.size(); ++i) d[i] = a[i] - b[i];
  return largest(d) / std::max({floor, largest(a), largest(b)});
}

inline std::vector<std::vector<real>> take_gradients(const Inputs& inputs) {
  std::vector<std::vector<real>> gradients;
  for (const Tensor& x : inputs) {
    gradients.push_back(x.grad() ? x.grad().values() : std::vector<real>());
    x.zero_grad();
  }
  return gradients;
}

// The parameter's gradient is what is said: d sum(p * g) / dp = g.
inline void give_gradient(const Tensor& parameter, const std::vector<real>& gradient) {
  backward(sum(mul(parameter, Tensor::from(parameter.shape(), gradient))));
}

// The gradient of every input, with a random cotangent, and behind them the result.
inline std::vector<std::vector<real>> values_and_gradients(Inputs inputs, const Function& f) {
  for (Tensor& x : inputs) x.set_requires_grad(true);
  const Tensor y = scale(f(inputs), 1);             // a norm may return x itself, which is not on the tape
  backward(y, normal("cotangent", y.shape()));
  auto list = take_gradients(inputs);
  list.push_back(y.values());
  return list;
}

// f, with the same dropout masks each time.
inline Function with_fixed_masks(const Function& f) {
  return [f, clock = DropoutClock::current()](const Inputs& inputs) {
    DropoutClock::current() = clock;
    return f(inputs);
  };
}

// f's result must depend on nothing but the inputs' values. It may read them elsewhere: a module's parameters. It must
// depend on each of them, since a constant's gradient and differences agree, too: both are 0. some_are_flat: on one of
// them at least; a key's bias, for instance, changes no softmax.
inline constexpr bool some_are_flat = true;
inline void gradcheck(const std::string& name, Inputs inputs, const Function& function, bool flat = false) {
  INFO(name);
  const Function f = with_fixed_masks(function);
  for (Tensor& x : inputs) x.set_requires_grad(true);
  const Tensor y = f(inputs), cotangent = normal("cotangent/" + name, y.shape());
  backward(y, cotangent);
  const auto gradients = take_gradients(inputs);

  size_t constant = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    INFO("input " << i);
    CHECK(gradients[i].size() == size_t(inputs[i].size()));
    if (is_double) CHECK(gradient_error([&] { return f(inputs); }, {inputs[i]}) < 1e-6);
    if (largest(gradients[i]) < 1e-8) ++constant;
  }
  if (is_double) CHECK(constant <= (flat ? inputs.size() - 1 : 0));
  take_gradients(inputs);                           // each call left those of the other inputs

  // Twice the function is twice the gradient: the first backward overwrites, the second adds. (The float tolerance
  // is for gradients that are nothing but rounding, such as that of a key's bias.)
  backward(f(inputs), cotangent);
  backward(f(inputs), cotangent);
  const auto twice = take_gradients(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    INFO("accumulated, input " << i);
    std::vector<real> doubled = gradients[i];
    for (real& v : doubled) v *= 2;
    CHECK(difference(twice[i], doubled) < tolerance(1e-4, 1e-13));
  }

  // A frozen input gets no gradient, and the others get what they got before.
  for (size_t frozen = 0; frozen < inputs.size(); ++frozen) {
    INFO("frozen input " << frozen);
    inputs[frozen].set_requires_grad(false);
    const Tensor again = f(inputs);
    if (inputs.size() == 1) CHECK(tape_length() == 0);
    else backward(again, cotangent);
    const auto others = take_gradients(inputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (i == frozen) CHECK(others[i].empty());
      else CHECK(difference(others[i], gradients[i]) < tolerance(1e-4, 1e-13));
    inputs[frozen].set_requires_grad(true);
  }
}

}  // namespace minbert::test
