// Lion: an optimizer of one's own. Every weight moves by the same length, and a gradient only says which way.
//
//   Paper      Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, alg. 2
//   Equations  u = sign(β₁ m + (1-β₁) g)     θ ← θ - η (u + λ θ)     m ← β₂ m + (1-β₂) g
//   Letters    θ a parameter, g its gradient, m its moment, all of one shape; η learning rate, λ weight decay
//
// The paper's advice: η 3 to 10 times smaller than AdamW's, and λ as many times larger.
#include <cmath>
#include <map>

#include "recipe.h"

using namespace minbert;

struct Lion {
  const Parameters& parameters;
  double beta1 = 0.9, beta2 = 0.99, lambda = 0;
  std::map<std::string, Tensor> m = {};

  void step(double eta) {
    const NoGrad no_tape;
    for (const auto& [name, theta, init, decay] : parameters.items()) {
      const Tensor g = theta.grad();
      if (!g) continue;                             // backward() did not reach it
      if (!m[name]) m[name] = Tensor::zeros(theta.shape());
      const Tensor u = sign(beta1 * m[name] + (1 - beta1) * g);
      const double wd = decay == Decay::yes ? lambda : 0;          // none for biases and norms
      theta.copy_from((theta - eta * (u + wd * theta)).values());
      m[name] = beta2 * m[name] + (1 - beta2) * g;
    }
    parameters.zero_grad();
  }
};

// Three steps of one weight by hand; in the second the moment outweighs a gradient of the other sign:
//   η = .1   λ = .5   θ = 1
//   g = 2     u = sign(.2) = 1            θ = 1 - .1 (1 + .5) = .85                 m = .02
//   g = -.1   u = sign(.018 - .01) = 1    θ = .85 - .1 (1 + .425) = .7075           m = .0188
//   g = -1    u = sign(.01692 - .1) = -1  θ = .7075 - .1 (-1 + .35375) = .772125
void check_by_hand() {
  struct One : Module {
    One() { parameter("theta", {1}, Init::ones); }
  } one;
  const Parameters parameters(one, {});
  const Tensor theta = parameters.value("theta");
  Lion lion = {.parameters = parameters, .lambda = 0.5};
  const double gradients[] = {2, -0.1, -1}, by_hand[] = {0.85, 0.7075, 0.772125};
  for (int k = 0; k < 3; ++k) {
    backward(theta * gradients[k]);
    lion.step(0.1);
    MB_CHECK(std::abs(double(theta.item()) - by_hand[k]) < 1e-6, "step {}: theta is {}, and not {}", k + 1,
             theta.item(), by_hand[k]);
  }
}

int main(int argc, char** argv) {
  return run_recipe("lion", argc, argv, [](uint64_t seed) {
    check_by_hand();
    const TaskSets quora = read_sets("quora");
    const auto learn = [&](bool with_lion) {
      Model model = Model::from_pretrained(mini_bert, {quora.task}, {.seed = seed, .head_dropout = 0.1});
      const Logits logits = [&](const Batch& batch) { return model.network.forward(batch, 0); };
      Lion lion = {.parameters = model.parameters, .lambda = 0.1};
      Optimizer adamw(model.parameters, {.kind = OptimizerKind::adamw, .weight_decay = 0.01});
      if (with_lion) train(quora, logits, [&](double eta) { lion.step(eta); }, 1e-4, seed);
      else train(quora, logits, [&](double eta) { adamw.step(eta); }, 3e-4, seed);
      model.network.train(false);
      return dev_score(quora, logits);
    };
    expect("Quora accuracy, AdamW", learn(false), 0.88, 0.97);
    expect("Quora accuracy, Lion", learn(true), 0.88, 0.97);
  });
}
