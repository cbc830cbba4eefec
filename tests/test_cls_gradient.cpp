// Gradients of [CLS]: their normalization, and what Efficient Task Adaptation says of the last two layers.
#include <doctest/doctest.h>

#include "cls_set.h"
#include "minbert/bert.h"
#include "tiny_bert.h"

namespace minbert::test {

TEST_CASE("cls norm: gradient normalization is the paper's, as plain loops [TA sec.4.3]") {
  const int64_t B = 7, H = 11;
  Tensor h = normal("h", {B, H});
  for (const double alpha : {0.0, 0.5, 1.0})
    for (const double size : {1.0, 1e-30}) {        // g carries the loss's 1/B and may be of any size: eps is relative
      std::vector<real> g = embeddings("g", B, H).values();
      for (real& v : g) v = real(double(v) * size);
      const Tensor y = normalize_gradient(h.set_requires_grad(true), alpha);
      CHECK(y.values() == h.values());
      backward(scale(y, 1), Tensor::from({B, H}, g));
      const std::vector<real> got = h.grad().values();
      h.zero_grad();
      Vector mu(size_t(H), 0), after(size_t(H), 0);
      double theta = 0;
      for (int64_t k = 0; k < B * H; ++k) mu[size_t(k % H)] += std::abs(double(g[size_t(k)])) / double(B);
      for (const double m : mu) theta += m / double(H);
      std::vector<real> expected;
      for (int64_t k = 0; k < B * H; ++k) {
        const double gamma = std::pow(theta / (mu[size_t(k % H)] + 1e-5 * theta), alpha);
        expected.push_back(real(double(g[size_t(k)]) * gamma));
        after[size_t(k % H)] += std::abs(double(got[size_t(k)])) / double(B);
      }
      CHECK(difference(got, expected, size * 1e-3) < tolerance(1e-5, 1e-12));
      if (alpha == 0) CHECK(difference(got, g, size * 1e-3) == 0);
      for (const double m : after)                  // all dimensions alike
        if (alpha == 1) CHECK(m == doctest::Approx(theta).epsilon(1e-3));
    }
  // A dimension without a gradient keeps none, and a gradient of zeros stays one. A second use adds.
  std::vector<real> g(size_t(B * H), 0);
  const Tensor zero = normalize_gradient(h, 0.5);
  backward(zero, Tensor::from({B, H}, g));
  CHECK(largest(h.grad().values()) == 0);
  for (int64_t row = 0; row < B; ++row) g[size_t(row * H)] = real(row + 1);
  h.zero_grad();
  backward(normalize_gradient(h, 0.5), Tensor::from({B, H}, g));
  const std::vector<real> once = h.grad().values();
  CHECK(once[0] > 0);
  for (size_t k = 0; k < once.size(); ++k)
    if (k % size_t(H)) CHECK(once[k] == 0);
  backward(normalize_gradient(h, 0.5), Tensor::from({B, H}, g));
  CHECK(difference(h.grad().values(), add(Tensor::from({B, H}, once), Tensor::from({B, H}, once)).values()) < 1e-6);
  CHECK_THROWS_AS(normalize_gradient(h, -1), Error);
}

TEST_CASE("cls norm: a model normalizes the gradient that comes out of the norm of [CLS], not the one that goes in") {
  BertConfig config = tiny_config("layer", 16);
  BertModel plain(config);
  config.cls_norm = "batch";
  BertModel model(config);
  const Parameters of_plain(plain, {}), of_model(model, {});
  for (const Parameter& p : of_plain.items()) of_model.value(p.name).copy_from(p.value.values());
  model.normalize_gradients(1, ClsPlace::pooled);
  const auto norm = cls_norms().make("batch", {16});
  const Parameters of_norm(*norm, {});
  const Batch batch = pack(sentences({5, 2, 7, 3}));
  const Tensor dy = normal("dy", {4, 16});
  backward(model.forward(batch).pooler_output, dy);
  backward((*norm)(normalize_gradient(plain.forward(batch).pooler_output, 1), batch), dy);
  for (const char* name : {"pooler.dense.weight", "pooler.dense.bias"}) {
    INFO(name);
    const std::vector<real> expected = of_plain.value(name).grad().values();
    CHECK(largest(expected) > 1e-3);
    CHECK(difference(of_model.value(name).grad().values(), expected) < tolerance(1e-4, 1e-11));
  }
}

TEST_CASE("cls norm: the closed-form gradients of the last two layers are autograd's [TA sec.3.1]") {
  const int64_t H = 5, C = 3;
  Tensor hl = normal("hl", {1, H}), Wf = normal("Wf", {H, H}), bf = normal("bf", {H}), Wc = normal("Wc", {C, H}),
         bc = normal("bc", {C});
  for (Tensor* t : {&hl, &Wf, &Wc}) t->set_requires_grad(true);
  const Tensor h = tanh(linear(hl, Wf, bf)), logits = linear(h, Wc, bc);
  h.retain_grad();
  backward(cross_entropy(logits, {1}));
  const Tensor y = softmax(logits.detach());
  std::vector<real> dh(size_t(H), 0), dWc, dhl(size_t(H), 0), dWf, inner;           // dL/d(W_f h^l + b_f) is `inner`
  for (int64_t c = 0; c < C; ++c)
    for (int64_t i = 0; i < H; ++i) {
      const real error = y.data()[c] - real(c == 1);                               // y - ŷ
      dh[size_t(i)] += error * Wc.data()[c * H + i];
      dWc.push_back(error * h.data()[i]);
    }
  for (int64_t i = 0; i < H; ++i) inner.push_back(dh[size_t(i)] * (1 - h.data()[i] * h.data()[i]));
  for (int64_t i = 0; i < H; ++i)
    for (int64_t j = 0; j < H; ++j) {
      dhl[size_t(j)] += inner[size_t(i)] * Wf.data()[i * H + j];
      dWf.push_back(inner[size_t(i)] * hl.data()[j]);
    }
  CHECK(difference(h.grad().values(), dh) < tolerance(1e-6, 1e-14));
  CHECK(difference(Wc.grad().values(), dWc) < tolerance(1e-6, 1e-14));
  CHECK(difference(hl.grad().values(), dhl) < tolerance(1e-6, 1e-14));
  CHECK(difference(Wf.grad().values(), dWf) < tolerance(1e-6, 1e-14));
}

TEST_CASE("cls norm: a useless large feature outweighs a telling small one, until z scales both [TA sec.3.1]") {
  // h_1 uniform on [0,1]; h_2 = 0.01 (y - ŷ), up to its sign all there is to know. All logits are 0 at first, and two
  // sentences in three are of class 0: E[y-ŷ] is not 0, and E|dL/dW_c1| = 0.5 E(y-ŷ), E|dL/dW_c2| = 0.01 E(y-ŷ)².
  const int64_t N = 600;
  const Tensor noise = uniform("noise", {N}, 0, 1);
  std::vector<real> x;
  std::vector<int32_t> labels;
  for (int64_t n = 0; n < N; ++n) {
    labels.push_back(n % 3 == 0);
    const real error = real(0.5) - real(labels.back());
    x.push_back(noise.data()[n]), x.push_back(real(0.01) * error);
  }
  const Tensor h = Tensor::from({N, 2}, x);
  const auto gradient = [&](const Tensor& features) {
    Tensor Wc = Tensor::zeros({2, 2});
    backward(cross_entropy(linear(features, Wc.set_requires_grad(true), Tensor::zeros({2})), labels));
    return Wc.grad().values();
  };
  const std::vector<real> plain = gradient(h), z = gradient((*fitted("z", 2, h))(h));
  CHECK(std::abs(plain[2]) == doctest::Approx(0.5 / 6).epsilon(0.1));              // E(y-ŷ) = 1/6
  CHECK(std::abs(plain[3]) == doctest::Approx(0.01 / 4).epsilon(0.01));            // E(y-ŷ)² = 1/4
  CHECK(std::abs(plain[2]) > 20 * std::abs(plain[3]));
  CHECK(std::abs(z[3]) > 5 * std::abs(z[2]));
}

TEST_CASE("cls norm: a large h^l saturates the tanh and its gradient vanishes; normalized, it does not") {
  const int64_t N = 20, H = 4;                      // [TA sec.3.1], the influence of h^l
  Tensor hl = normal("hl", {N, H});
  for (int64_t row = 0; row < N; ++row) hl.data()[row * H + 1] += 40;              // a dimension of very biased values
  const auto mean_slope = [&](const Tensor& x) {    // of 1 - h²
    double sum = 0;
    const Tensor h = tanh(linear(x, Tensor::full({1, H}, real(0.5)), Tensor::zeros({1})));
    for (const real v : h.values()) sum += 1 - double(v) * double(v);
    return sum / double(N);
  };
  CHECK(mean_slope(hl) < 1e-6);
  for (const std::string name : {"z", "min-max", "l2"}) CHECK(mean_slope((*fitted(name, H, hl))(hl)) > 0.3);
}

}  // namespace minbert::test
