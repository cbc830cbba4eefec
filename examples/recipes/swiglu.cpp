// SwiGLU: a gate in the feed-forward network, put into a BERT that was pre-trained without one.
//
//   Paper      Shazeer 2020, GLU Variants Improve Transformer, eq. 6
//   Equations  F(u) = W₂ (SiLU(W₁ u) ⊙ V u)     SiLU(z) = z σ(z)     beside BERT's F(u) = W₂ GELU(W₁ u)
//   Shapes     u [T,H]   W₁, V [I,H]   W₂ [H,I]; every matrix has a bias here, as in BERT, the paper's have none
//   Starts as  the pre-trained network, nearly. V = 0 and its bias 1 open every gate, and as
//                  GELU(z) ≈ z σ(1.702 z) = SiLU(1.702 z) / 1.702        Hendrycks & Gimpel 2016, sec. 2
//              W₁ is multiplied by 1.702 and W₂ divided by it.
//
// The paper trains from new weights, and takes 2/3 of I, so that there are as many as without a gate. Here they grow by
// a third of a layer's.
#include <memory>

#include "recipe.h"

using namespace minbert;

constexpr double sharp = 1.702;

Tensor silu(const Tensor& z) { return z * sigmoid(z); }

struct Gates : Module {
  std::vector<std::unique_ptr<Linear>> V;           // of each layer: [I,H]
  explicit Gates(const BertConfig& config) {
    for (int i = 0; i < config.num_hidden_layers; ++i) {
      V.push_back(std::make_unique<Linear>(config.hidden_size, config.intermediate_size, Init::zeros));
      child(formatted("layer.{}.gate", i), *V.back());
    }
  }
};

struct SwigluBert {
  Model& model;
  const Gates& gates;
  const Tensor& weight(int layer, const char* name) const {
    return model.parameters.value(formatted("bert.encoder.layer.{}.{}", layer, name));
  }

  Tensor feed(int layer, const Tensor& u) const {
    const Tensor z = linear(u, weight(layer, "intermediate.dense.weight"), weight(layer, "intermediate.dense.bias"));
    const Tensor gate = (*gates.V[size_t(layer)])(u);                                            // [T,I]
    return linear(silu(z) * gate, weight(layer, "output.dense.weight"), weight(layer, "output.dense.bias"));
  }

  // a = N₁(x + A(x))     y = N₂(a + F(a)), without dropout, as data/mini/bert has it
  Tensor logits(const Batch& batch) const {
    const BertModel& bert = model.network.bert();
    Tensor x = bert.embeddings().forward(batch);                                                 // [T,H]
    for (int i = 0; i < bert.config().num_hidden_layers; ++i) {
      const BertLayer& layer = bert.layer(i);
      const Tensor a = layer.attention_norm()(x + layer.attend(x, batch), batch);
      x = layer.output_norm()(a + feed(i, a), batch);
    }
    return logits_of(model, x, batch);
  }

  // Opens the gates, and turns the network's GELU into SiLU.
  void begin(const Parameters& of_gates) const {
    const auto scale_by = [](const Tensor& t, double factor) { t.copy_from((t.detach() * factor).values()); };
    for (int i = 0; i < int(gates.V.size()); ++i) {
      const Tensor& open = of_gates.value(formatted("layer.{}.gate.bias", i));
      open.copy_from(std::vector<real>(size_t(open.size()), 1));
      scale_by(weight(i, "intermediate.dense.weight"), sharp);
      scale_by(weight(i, "intermediate.dense.bias"), sharp);
      scale_by(weight(i, "output.dense.weight"), 1 / sharp);
    }
  }
};

int main(int argc, char** argv) {
  return run_recipe("swiglu", argc, argv, [](uint64_t seed) {
    const TaskSets quora = read_sets("quora");
    Model model = Model::from_pretrained(mini_bert, {quora.task}, {.seed = seed, .head_dropout = 0.1});
    Gates gates(model.network.bert().config());
    const Parameters of_gates(gates, {});
    const SwigluBert bert = {model, gates};
    const Logits logits = [&](const Batch& batch) { return bert.logits(batch); };

    const Batch batch = labeled(quora.dev, Indices::range(0, 16), {0}).batch;
    model.network.train(false);
    const Tensor before = model.network.forward(batch, 0).detach();
    bert.begin(of_gates);
    const Tensor after = logits(batch).detach();
    clear_tape();
    expect("largest difference of a logit from BERT's", largest_difference(before, after), 0, 0.05);

    model.network.train();
    Optimizer adamw(model.parameters, {}), of_V(of_gates, {});
    train(quora, logits, [&](double eta) { adamw.step(eta), of_V.step(eta); }, 3e-4, seed);
    model.network.train(false);
    expect("Quora accuracy with SwiGLU", dev_score(quora, logits), 0.9, 0.97);
    expect("mean |V|, which began as 0", mean(abs(gates.V[0]->weight())).item(), 1e-4, 0.1);
  });
}
