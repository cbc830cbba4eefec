// Norms where numbers are hard, against PyTorch's, and PowerNorm against its recurrences.
#include <doctest/doctest.h>

#include <algorithm>

#include "golden_file.h"
#include "lone_norm.h"
#include "minbert/safetensors.h"
#include "threads.h"

namespace minbert::test {
namespace {

// Adding a constant to every element of x changes nothing, in training or in evaluation: the norm subtracts a mean of
// x itself. It is found out where that is easy, about 0.
bool shift_invariant(const NormEntry& entry, bool training) {
  const auto y = [&](double shift) {
    const Lone lone(entry.name);
    lone.norm->train(training);
    return (*lone.norm)(normal("x", {8, 6}) + shift, three_sentences({1})).values();
  };
  return difference(y(0), y(0.75)) < tolerance(1e-4, 1e-12);
}

// Its default is layer_norm_eps of config.json, a number of its own, or it has none.
const NormOption* option(const NormEntry& entry, const std::string& name) {
  const auto found = std::ranges::find(entry.options, name, &NormOption::name);
  return found == entry.options.end() ? nullptr : &*found;
}

// y of a new norm, with γ = 1 and β = 0, or with this γ
Tensor result_of(const std::string& name, const Tensor& x, const Tensor& gamma = {}) {
  const auto norm = norms().make(name, {x.cols()});
  const Parameters parameters(*norm, {});
  if (gamma) parameters.value("weight").copy_from(gamma.values());
  return (*norm)(x);
}

// The norm's equation for x = (1, 2, 3, 6), with γ = (1, 2, 1, .5) and β = (1, 0, 2, -1), where it has them
std::vector<real> value_by_hand(const std::string& name) {
  const Lone lone(name, {4});
  for (const Parameter& p : lone.parameters.items())
    p.value.copy_from(p.name == "weight" ? std::vector<real>{1, 2, 1, real(.5)} : std::vector<real>{1, 0, 2, -1});
  return lone.norm->composed(Tensor::from({1, 4}, std::vector<real>{1, 2, 3, 6}), {}).values();
}

Tensor step_of(const SafeTensors& file, const std::string& name, int64_t step) {
  const std::vector<int64_t>& s = file.entry(name).shape;                            // [S,N,H]
  return Tensor::from({s[1], s[2]}, {file.read(name).data() + step * s[1] * s[2], size_t(s[1] * s[2])});
}

}  // namespace

TEST_CASE("norm: three steps of training, and evaluation behind them, are PyTorch's") {
  const SafeTensors file(golden_file("norms.safetensors"));                          // of golden/norms.py
  const Batch batch = pack(sentences({4, 3, 6}));
  for (const std::string name : {"layer", "batch", "group", "group-sentence", "instance"}) {
    INFO(name);
    Lone lone(name, {8}, 2);
    for (const char* parameter : {"weight", "bias"}) lone.find(parameter).copy_from(file.read(parameter));
    if (name == "batch") lone.find("running_mean").copy_from(std::vector<real>(8, 0)),
        lone.find("running_var").copy_from(std::vector<real>(8, 1));
    const real close = tolerance(3e-6, 1e-7);       // the file's rounding to float32; and ours
    const auto check_step = [&](int64_t step, const std::string& y_name, const std::string& dx_name) {
      const Tensor x = step_of(file, "x", step).set_requires_grad(true);
      const Tensor y = (*lone.norm)(x, batch);
      backward(y, step_of(file, "dy", step));
      const auto expected = [&](const std::string& n) {
        return n.ends_with("_eval") ? file.read(name + n) : step_of(file, name + n, step).values();
      };
      CHECK(difference(y.values(), expected(y_name)) < close);
      CHECK(difference(x.grad().values(), expected(dx_name)) < close);
    };
    lone.norm->train();
    for (int64_t step = 0; step < 3; ++step) check_step(step, ".y", ".dx");
    for (const std::string parameter : {"weight", "bias"})
      CHECK(difference(lone.find(parameter.c_str()).grad().values(), file.read(name + ".d." + parameter)) < close);
    for (const Parameter& b : lone.parameters.buffers())
      CHECK(difference(b.value.values(), file.read(name + "." + b.name)) < close);
    lone.norm->train(false);
    check_step(2, ".y_eval", ".dx_eval");
  }
}

TEST_CASE("norm: PowerNorm follows its algorithm, written as plain loops, over 25 steps") {
  constexpr int H = 5, T = 7;
  for (const double momentum : {0.1, 0.4}) {
    Lone lone(formatted("power:momentum={}", momentum), {H});
    lone.norm->train();
    const double alpha = 1 - momentum, eps = 1e-5;
    std::vector<double> psi2, nu;
    for (const real v : lone.find("running_psi2").values()) psi2.push_back(double(v));
    for (const real v : lone.find("running_nu").values()) nu.push_back(double(v));
    const std::vector<real> gamma = lone.find("weight").values(), beta = lone.find("bias").values();
    const Batch batch = pack(sentences({3, 4}));
    for (int step = 0; step < 25; ++step) {
      INFO("step " << step);
      const Tensor x = normal(formatted("power x{}", step), {T, H}, 1 + 0.2 * step).set_requires_grad(true),
          dy = normal(formatted("power dy{}", step), {T, H});
      const Tensor y = (*lone.norm)(x, batch);
      const std::vector<real> kept_y = y.values();
      lone.parameters.zero_grad();
      backward(y, dy);

      std::vector<real> expected_y(T * H), expected_dx(T * H), d_gamma(H), d_beta(H), new_psi2(H), new_nu(H);
      for (size_t i = 0; i < H; ++i) {
        const double psi = std::sqrt(psi2[i] + eps);
        double Gamma = 0, Lambda = 0, psi2_of_batch = 0;
        for (size_t t = 0; t < T; ++t) {
          const size_t at = t * H + i;
          const double value = double(x.data()[at]), xhat = value / psi,
                       e = double(gamma[i]) * double(dy.data()[at]);
          expected_y[at] = real(double(gamma[i]) * xhat + double(beta[i]));
          expected_dx[at] = real((e - nu[i] * xhat) / psi);
          Gamma += xhat * xhat / T, Lambda += e * xhat / T, psi2_of_batch += value * value / T;
          d_gamma[i] += real(double(dy.data()[at]) * xhat), d_beta[i] += dy.data()[at];
        }
        psi2[i] = alpha * psi2[i] + (1 - alpha) * psi2_of_batch;
        nu[i] = nu[i] * (1 - (1 - alpha) * Gamma) + (1 - alpha) * Lambda;
        new_psi2[i] = real(psi2[i]), new_nu[i] = real(nu[i]);
      }
      const real close = tolerance(2e-5, 1e-12);
      CHECK(difference(kept_y, expected_y) < close);
      CHECK(difference(x.grad().values(), expected_dx) < close);
      CHECK(difference(lone.find("weight").grad().values(), d_gamma) < close);
      CHECK(difference(lone.find("bias").grad().values(), d_beta) < close);
      CHECK(difference(lone.find("running_psi2").values(), new_psi2) < close);
      CHECK(difference(lone.find("running_nu").values(), new_nu) < close);
    }
  }
}

// x = (1, 2, 3, 6) has mean x² = 12.5, μ = 3 and σ² = 3.5: with ε the roots are 5 and 2.
TEST_CASE("norm: RMSNorm's value by hand") {
  CHECK(difference(value_by_hand("rms:eps=12.5"), {real(.2), real(.8), real(.6), real(.6)}) < 1e-6);
}

TEST_CASE("norm: the values of variance-only and of LayerNorm's equation by hand") {
  CHECK(difference(value_by_hand("variance-only:eps=.5"), {real(1.5), 2, real(3.5), real(.5)}) < 1e-6);
  CHECK(difference(value_by_hand("layer:eps=.5"), {0, -1, 2, real(-.25)}) < 1e-6);
}

// μ = 3, σ² = 3.5, mean x² = 12.5
TEST_CASE("norm: one row of each norm of a row by itself, number by number") {
  const Tensor x = Tensor::from({1, 4}, std::vector<real>{1, 2, 3, 6});
  for (const auto& [name, shift, divisor] :
       {std::tuple("layer", 3., std::sqrt(3.5)), {"layer-simple", 3., std::sqrt(3.5)},
        {"group:groups=1,eps=0", 3., std::sqrt(3.5)}, {"variance-only", 0., std::sqrt(3.5)},
        {"rms", 0., std::sqrt(12.5)}}) {
    INFO(std::string(name));
    const std::vector<real> y = result_of(name, x).values();
    for (size_t i = 0; i < 4; ++i)
      CHECK(double(y[i]) == doctest::Approx((double(x.data()[i]) - shift) / divisor).epsilon(1e-5));
  }
}

TEST_CASE("norm: eps, momentum and groups are what the options say") {
  const Batch batch = pack(sentences({4}));
  const Tensor x = normal("x", {4, 6}, 1e-4);
  for (const NormEntry& entry : norms().entries) {
    INFO(std::string(entry.name));
    const auto apply = [&](const std::string& norm, double of_config) {
      return (*Lone(norm, {6, 3, of_config}).norm)(x, batch).values();
    };
    const std::string name = entry.name, grouped = in_groups(name, 3);
    const std::string with_eps = grouped + (contains(grouped, ":") ? "," : ":") + "eps=1e-2";
    const NormOption* eps = option(entry, "eps");
    CHECK((apply(name, 1e-12) != apply(name, 1e-3)) == (eps && eps->in_config));
    if (eps) CHECK(apply(name, 1e-3) != (*Lone(with_eps, {6, 3}, 0).norm)(x, batch).values());
  }
  const Lone batch_norm("batch:momentum=0.25", {6});
  const std::vector<real> before = batch_norm.find("running_mean").values(), now = mean_columns(x).values();
  batch_norm.norm->train();
  (*batch_norm.norm)(x, batch);
  for (size_t i = 0; i < 6; ++i)
    CHECK(double(batch_norm.find("running_mean").data()[i]) ==
          doctest::Approx(0.75 * double(before[i]) + 0.25 * double(now[i])));
}

TEST_CASE("norm: a batch of one row is its own mean, and moves the running variance by its biased one") {
  const auto norm = norms().make("batch", {6, 0, 1e-12});
  const Parameters parameters(*norm, {});
  norm->train();
  const Tensor x = normal("x", {1, 6});
  CHECK(largest((*norm)(x, pack(sentences({1}))).values()) == 0);
  for (int64_t i = 0; i < 6; ++i) {
    CHECK(parameters.value("running_var").data()[i] == real(0.9));
    CHECK(parameters.value("running_mean").data()[i] == doctest::Approx(0.1 * double(x.data()[i])));
  }
}

// At 1449 a unit of float is 1.2e-4, so that the mean is right to 1.5e-4 of a deviation of 0.4, and no better.
TEST_CASE("norm: a huge mean does not harm the variance about it") {
  std::vector<real> values, deviations;             // their differences are exact
  for (const real d : normal("huge", {24, 128}, 0.4).values()) {
    values.push_back(real(float(1449 + d)));
    deviations.push_back(values.back() - 1449);
  }
  const Tensor x = Tensor::from({24, 128}, values), small = Tensor::from({24, 128}, deviations);
  const Batch batch = pack(sentences({4, 20}), {1});
  for (const NormEntry& entry : norms().entries) {
    INFO(std::string(entry.name));
    const Lone a(entry.name, {128, 3}, 8), b(entry.name, {128, 3}, 8);
    a.norm->train(), b.norm->train();
    const std::vector<real> y = (*a.norm)(x, batch).values();
    if (shift_invariant(entry, true))
      CHECK(difference(y, (*b.norm)(small, batch).values()) < tolerance(3e-4, 1e-11));
    CHECK(std::isfinite(largest(y)));
  }
  // variance-only: x / sigma, with the sigma of the deviations
  const Tensor y = result_of("variance-only", x), z = result_of("layer", small);
  const double sigma = double(x.data()[0] - x.data()[1]) / double(y.data()[0] - y.data()[1]),
      expected = double(small.data()[0] - small.data()[1]) / double(z.data()[0] - z.data()[1]);
  CHECK(sigma == doctest::Approx(expected).epsilon(double(tolerance(1e-3, 1e-9))));
}

TEST_CASE("norm: constant input and dead channels give finite results and gradients, and nothing where nothing is") {
  const Batch batch = pack(sentences({3, 1, 4}), {1});
  std::vector<real> dead = normal("dead", {8, 32}).values();
  for (size_t row = 0; row < 8; ++row) dead[row * 32 + 5] = 0;
  for (const NormEntry& entry : norms().entries)
    for (const bool training : {true, false})
      for (const bool constant : {true, false}) {
        INFO(std::string(entry.name) << ", training " << training << ", constant " << constant);
        const auto norm = norms().make(entry.name, {32, 3, 1e-12});
        const Parameters parameters(*norm, {});
        norm->train(training);
        const bool own_mean = shift_invariant(entry, training);
        Tensor x = constant ? Tensor::full({8, 32}, real(10.1f)) : Tensor::from({8, 32}, dead);
        x.set_requires_grad(true);
        for (int step = 0; step < 3; ++step) {
          x.zero_grad();
          const Tensor y = scale((*norm)(x, batch), 1);
          backward(y, normal("c", {8, 32}));
          CHECK(std::isfinite(largest(y.values())));
          CHECK(std::isfinite(largest(x.grad().values())));
          if (constant && own_mean) CHECK(largest(y.values()) < tolerance(1e-6, 1e-6));
          if (!constant && has_statistics(entry))
            for (int64_t row = 0; row < 8; ++row) CHECK(y.data()[row * 32 + 5] == 0);
        }
      }
}

// dL/dx_i = r (e_i - (x_i - mu) r mean(e x r))
TEST_CASE("norm: variance-only's gradient is right where the mean is 30000 deviations") {
  const int64_t T = 8, H = 256;
  std::vector<real> values = normal("variance-only x", {T, H}).values();
  for (real& v : values) v = real(float(v + 30000));
  Tensor x = Tensor::from({T, H}, values);
  const Tensor gain = normal("variance-only gain", {H}), dy = normal("variance-only dy", {T, H});
  backward(result_of("variance-only", x.set_requires_grad(true), gain), dy);
  const std::vector<real> g = gain.values(), d = dy.values();
  std::vector<real> expected;
  for (size_t row = 0; row < values.size(); row += size_t(H)) {
    double mu = 0, s2 = 0, mean_ex = 0;
    for (size_t i = 0; i < size_t(H); ++i) mu += double(values[row + i]) / double(H);
    for (size_t i = 0; i < size_t(H); ++i) s2 += std::pow(double(values[row + i]) - mu, 2) / double(H);
    const double r = 1 / std::sqrt(s2 + 1e-12);
    const auto e = [&](size_t i) { return double(d[row + i]) * double(g[i]); };
    for (size_t i = 0; i < size_t(H); ++i) mean_ex += e(i) * double(values[row + i]) * r / double(H);
    for (size_t i = 0; i < size_t(H); ++i)
      expected.push_back(real(r * (e(i) - (double(values[row + i]) - mu) * r * mean_ex)));
  }
  CHECK(difference(x.grad().values(), expected) < tolerance(1e-5, 1e-10));
}

TEST_CASE("norm: what is its own mean has a gradient of 0, and not its rounding") {
  const Batch one = pack(sentences({1})), alone = pack(sentences({1, 1, 1})), together = pack(sentences({3}));
  for (const auto& [name, batch] : {std::pair("batch", one), {"instance", alone}, {"group-sentence", alone},
                                    {"group", together}}) {
    INFO(std::string(name));
    const Lone lone(name, {6}, 6);            // each channel is a group
    lone.norm->train();
    Tensor x = normal("x", {batch.tokens(), 6});
    backward(scale((*lone.norm)(x.set_requires_grad(true), batch), 1), normal("dy", x.shape()));
    CHECK(largest(x.grad().values()) == 0);
  }
}

TEST_CASE("norm: results, gradients and statistics do not depend on the number of threads") {
  const Batch batch = pack(sentences({100, 1, 300, 299}), {0, 2, 1, 1});
  for (const NormEntry& entry : norms().entries) {
    INFO(std::string(entry.name));
    on_threads([&] {
      const Lone lone(entry.name, {64, 3}, 16);
      lone.norm->train();
      Inputs inputs = lone.inputs(batch, normal("x", {700, 64}));
      for (Tensor& t : inputs) t.set_requires_grad(true);
      const Tensor y = scale((*lone.norm)(inputs[0], batch), 1);
      backward(y, normal("c", {700, 64}));
      auto all = take_gradients(inputs);
      all.push_back(y.values());
      for (const Parameter& b : lone.parameters.buffers()) all.push_back(b.value.values());
      return all;
    });
  }
}

TEST_CASE("norm: a constant row gives beta, however small epsilon is") {
  const Tensor x = Tensor::full({1, 768}, real(10.1f)), gamma = Tensor::full({768}, 1),
      beta = normal("beta", {768});
  CHECK(difference(layer_norm(x, gamma, beta, 1e-12).values(), beta.values(), 1) < 1e-6);
  // Where all dy γ are equal, dx is 0: not the rounding of that product, which a fused multiply-add leaves, over √ε.
  const Tensor four = Tensor::full({2, 4}, real(10.1f)).set_requires_grad(true);
  const Tensor equal = Tensor::full({4}, real(0.3f)), zero = Tensor::zeros({4});
  backward(layer_norm(four, equal, zero, 1e-12), Tensor::full({2, 4}, real(0.1f)));
  CHECK(largest(four.grad().values()) == 0);
}

TEST_CASE("norm: a row whose squares overflow is NaN, and no other row") {
  const real huge = 4 * std::sqrt(std::numeric_limits<real>::max());
  const Tensor x = Tensor::from({2, 4}, std::vector<real>{huge, -huge, huge, -huge, 1, -1, 1, -1});
  for (const std::string name : {"layer", "layer-simple", "variance-only", "rms", "group:groups=2,eps=1e-12"})
    for (size_t i = 0; i < 8; ++i) {
      INFO(name);
      const double value = double(result_of(name, x).values()[i]);
      if (i < 4) CHECK(std::isnan(value));
      else CHECK(value == doctest::Approx(i % 2 ? -1 : 1));
    }
}

// E[x^2] - E[x]^2 would be a multiple of 1/4 here: 1449^2 needs 22 bits, and float has 24.
TEST_CASE("norm: a small variance about a large mean is right") {
  std::vector<real> values;
  for (int i = 0; i < 768; ++i) values.push_back(real(1449 + (i % 2 ? 0.5 : -0.5) * std::sqrt(4 * 0.1667)));
  double mean = 0, variance = 0;                    // of the values as they are stored
  for (const real v : values) mean += double(v) / 768;
  for (const real v : values) variance += (double(v) - mean) * (double(v) - mean) / 768;
  CHECK(variance == doctest::Approx(0.1667).epsilon(1e-3));
  const Tensor y = layer_norm(Tensor::from({1, 768}, values), Tensor::full({768}, 1), Tensor::zeros({768}),
      1e-12);
  for (size_t i = 0; i < 768; ++i)
    CHECK(double(y.data()[i]) ==
        doctest::Approx((double(values[i]) - mean) / std::sqrt(variance)).epsilon(1e-4));
}

}  // namespace minbert::test
