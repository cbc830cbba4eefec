// A norm of one's own, with an operation and a backward of one's own: rows are divided by their range.
//
//   Paper       Banner et al. 2018, Scalable Methods for 8-bit Training of Neural Networks, sec. 3: Range BN
//   Equation    y = (x - μ) / (C(H) range(x) + ε) ⊙ γ + β     range(x) = max_i x_i - min_i x_i
//   Shapes      x, y [T,H]   μ, range [T,1]   γ, β [H]
//   Gradient    of range: +1 for the largest element, -1 for the smallest, 0 for the others
//   Starts as   a LayerNorm's γ and β: C(H) range(x) is about σ where the x_i are normal
//   Deviations  in the paper a range is that of a channel over the batch, here of a token over its channels, as
//               LayerNorm has it; C is half of the paper's 1/√(2 ln n), which is 2σ at most; ε is added
//
// To have a norm everywhere, in --norm, in checkpoints and in the tests of all norms: src/README.md, How to add.
#include <memory>

#include "recipe.h"

using namespace minbert;

// [T,H] -> [T,1]. On the CPU alone: data() are numbers that the host reads.
Tensor range_rows(const Tensor& x) {
  const int64_t T = x.rows(), H = x.cols();
  const Tensor y({T, 1});
  std::vector<int64_t> largest, smallest;           // where they stand in x
  for (int64_t t = 0; t < T; ++t) {
    const real* row = x.data() + t * H;
    const auto [low, high] = std::minmax_element(row, row + H);
    smallest.push_back(low - x.data());
    largest.push_back(high - x.data());
    y.data()[t] = *high - *low;
  }
  return record("range_rows", y, {x}, [T, H, largest, smallest](const Tensor& dc, Grads& g) {
    g(0, [&](Sink dx) {
      if (!dx.add) std::fill_n(dx.tensor.data(), T * H, real(0));
      for (int64_t t = 0; t < T; ++t) {
        dx.tensor.data()[largest[size_t(t)]] += dc.data()[t];
        dx.tensor.data()[smallest[size_t(t)]] -= dc.data()[t];
      }
    });
  });
}

struct RangeNorm : Norm {
  Tensor gamma, beta;                               // [H]
  explicit RangeNorm(int64_t H)
      : gamma(parameter("weight", {H}, Init::ones, Decay::no)), beta(parameter("bias", {H}, Init::zeros, Decay::no)) {}

  Tensor forward(const Tensor& x, const Batch&) const override {
    const double C = 1 / (2 * std::sqrt(2 * std::log(double(x.cols()))));
    const Tensor centered = x - mean_rows(x);                                          // [T,H]
    return centered / (C * range_rows(x) + 1e-6) * gamma + beta;
  }
};

// Two norms in each layer, with γ and β of the LayerNorms that they replace
struct RangeNorms : Module {
  std::vector<std::unique_ptr<RangeNorm>> attention, output;
  explicit RangeNorms(const BertConfig& config) {
    for (int i = 0; i < config.num_hidden_layers; ++i)
      for (const auto& [list, name] : {std::pair(&attention, "attention.output"), std::pair(&output, "output")}) {
        list->push_back(std::make_unique<RangeNorm>(config.hidden_size));
        child(formatted("bert.encoder.layer.{}.{}.LayerNorm", i, name), *list->back());
      }
  }
};

// a = N₁(x + A(x))     y = N₂(a + F(a)), without dropout, as data/mini/bert has it
Tensor logits(const Model& model, const RangeNorms& norms, const Batch& batch) {
  const BertModel& bert = model.network.bert();
  Tensor x = bert.embeddings().forward(batch);                                         // [T,H]
  for (int i = 0; i < bert.config().num_hidden_layers; ++i) {
    const BertLayer& layer = bert.layer(i);
    const Tensor a = (*norms.attention[size_t(i)])(x + layer.attend(x, batch));
    x = (*norms.output[size_t(i)])(a + layer.feed(a, batch));
  }
  return logits_of(model, x, batch);
}

int main(int argc, char** argv) {
  return run_recipe("own_norm", argc, argv, [](uint64_t seed) {
    const Tensor row = Tensor::from({1, 4}, {1, 2, 3, 6});
    MB_CHECK(range_rows(row).item() == 5, "the range of 1 2 3 6 is 5");
    // In float a difference quotient has three digits: enough to find a sign, a factor or an element that is wrong.
    const Tensor x = Tensor::randn({3, 6}, 1);
    RangeNorm norm(6);
    const Parameters of_norm(norm, {});
    expect("gradient beside finite differences, relative error", gradient_error([&] { return norm(x); }, {x}), 0, 0.02);

    const TaskSets quora = read_sets("quora");
    Model model = Model::from_pretrained(mini_bert, {quora.task}, {.seed = seed, .head_dropout = 0.1});
    RangeNorms norms(model.network.bert().config());
    const Parameters of_norms(norms, {});
    for (const Parameter& p : of_norms.items()) p.value.copy_from(model.parameters.value(p.name).values());
    const Logits of_batch = [&](const Batch& batch) { return logits(model, norms, batch); };
    Optimizer adamw(model.parameters, {}), adamw_norms(of_norms, {});
    train(quora, of_batch, [&](double eta) { adamw.step(eta), adamw_norms.step(eta); }, 3e-4, seed);
    model.network.train(false);
    expect("Quora accuracy with RangeNorm", dev_score(quora, of_batch), 0.88, 0.97);
  });
}
