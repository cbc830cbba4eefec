// LoRA: the weights of the encoder are frozen, and what they lack is learnt as a product of two thin matrices.
//
//   Paper      Hu et al. 2021, LoRA: Low-Rank Adaptation of Large Language Models, eq. 3
//   Equations  h = W x + α/r B A x, here of W_q and W_v, as in most of the paper's experiments (sec. 5.1)
//   Shapes     W [H,H], frozen   A [r,H]   B [H,r]   x, h [T,H]   r: the rank, here 8; α = 16
//   Starts as  the pre-trained network: A is random, B = 0
//   Ends as    a plain BERT with W + α/r B A in the place of W, which costs nothing more (sec. 4.1)
#include <memory>

#include "recipe.h"

using namespace minbert;

constexpr int64_t r = 8;
constexpr double alpha = 16;

struct LowRank : Module {
  Tensor A, B;                                      // [r,H], [H,r]
  explicit LowRank(int64_t H)
      : A(parameter("A", {r, H}, Init::random)), B(parameter("B", {H, r}, Init::zeros)) {}
  Tensor operator()(const Tensor& x) const {        // [T,H] -> [T,H]
    return alpha / double(r) * matmul_nt(matmul_nt(x, A), B);
  }
  Tensor product() const { return alpha / double(r) * matmul(B, A); }                  // [H,H]
};

struct Lora : Module {
  std::vector<std::unique_ptr<LowRank>> query, value;       // of each layer
  explicit Lora(const BertConfig& config) {
    for (int i = 0; i < config.num_hidden_layers; ++i)
      for (const auto& [list, name] : {std::pair(&query, "query"), std::pair(&value, "value")}) {
        list->push_back(std::make_unique<LowRank>(config.hidden_size));
        child(formatted("layer.{}.{}", i, name), *list->back());
      }
  }
};

struct LoraBert {
  Model& model;
  const Lora& lora;
  Tensor linear_of(const std::string& name, const Tensor& x) const {       // W x + b
    return linear(x, model.parameters.value(name + ".weight"), model.parameters.value(name + ".bias"));
  }
  Tensor logits(const Batch& batch) const {
    const BertModel& bert = model.network.bert();
    Tensor x = bert.embeddings().forward(batch);                           // [T,H]
    for (int i = 0; i < bert.config().num_hidden_layers; ++i) {
      const BertLayer& layer = bert.layer(i);
      const std::string name = formatted("bert.encoder.layer.{}.attention.", i);
      const Tensor q = linear_of(name + "self.query", x) + (*lora.query[size_t(i)])(x);
      const Tensor k = linear_of(name + "self.key", x);
      const Tensor v = linear_of(name + "self.value", x) + (*lora.value[size_t(i)])(x);
      const Tensor context = attention(q, k, v, batch, bert.config().num_attention_heads);
      const Tensor a = layer.attention_norm()(x + linear_of(name + "output.dense", context), batch);
      x = layer.output_norm()(a + layer.feed(a, batch), batch);
    }
    return logits_of(model, x, batch);
  }
  // W becomes W + α/r B A.
  void merge() const {
    for (size_t i = 0; i < lora.query.size(); ++i)
      for (const auto& [low_rank, name] : {std::pair(&lora.query[i], "query"), std::pair(&lora.value[i], "value")}) {
        const Tensor& W = model.parameters.value(formatted("bert.encoder.layer.{}.attention.self.{}.weight", i, name));
        W.copy_from((W + (*low_rank)->product()).values());
      }
  }
};

int main(int argc, char** argv) {
  return run_recipe("lora", argc, argv, [](uint64_t seed) {
    const TaskSets quora = read_sets("quora");
    Model model = Model::from_pretrained(mini_bert, {quora.task}, {.seed = seed, .head_dropout = 0.1});
    model.parameters.set_trainable([](const std::string& name) { return name.starts_with("heads."); });
    Lora lora(model.network.bert().config());
    const Parameters low_rank(lora, {.seed = seed});
    const LoraBert bert = {model, lora};
    const Logits logits = [&](const Batch& batch) { return bert.logits(batch); };
    const Batch batch = labeled(quora.dev, Indices::range(0, 16), {0}).batch;
    const auto difference = [&] {                   // of the logits from those of the plain BERT
      const NoGrad no_tape;
      model.network.train(false);
      const double d = largest_difference(logits(batch), model.network.forward(batch, 0));
      model.network.train();
      return d;
    };
    const std::vector<real> W = model.parameters.value("bert.encoder.layer.0.attention.self.query.weight").values();

    expect("largest difference of a logit from BERT's, B = 0", difference(), 0, 1e-5);
    std::cout << formatted("{} of {} numbers learn\n", low_rank.trainable() + model.parameters.trainable(),
                           low_rank.count() + model.parameters.count());
    Optimizer of_head(model.parameters, {}), of_lora(low_rank, {});
    train(quora, logits, [&](double eta) { of_head.step(eta), of_lora.step(eta); }, 3e-3, seed);
    MB_CHECK(model.parameters.value("bert.encoder.layer.0.attention.self.query.weight").values() == W,
             "a frozen weight has moved");
    expect("the same when it has learnt", difference(), 0.1, 100);
    model.network.train(false);
    expect("Quora accuracy", dev_score(quora, logits), 0.9, 0.97);

    bert.merge();
    const NoGrad no_tape;
    expect("Quora accuracy of the plain BERT with W + 2 B A",
           scores(quora.task, quora.dev, predict(model.network, quora.task, quora.dev))[0].value_or(0), 0.9, 0.97);
  });
}
