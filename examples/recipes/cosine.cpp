// A cosine as the head of STS: the two sentences are encoded apart, and their angle is the similarity.
//
//   Paper      Reimers & Gurevych 2019, Sentence-BERT, sec. 3: mean pooling, and the regression objective
//   Equations  u = 1/L Σ_t x_t     y = 5 cos(u, v) = 5 u·v / (|u| |v|)     L = (y - label)²
//   Shapes     x_t [H], the last hidden states of the first sentence's L tokens; u, v [B,H]; y [B,1]
//
// The library's siamese head has the cosine, too, as one of 3H + 1 numbers that a new matrix weighs; this one has
// nothing to learn, so that the encoder does from the first step. A negative cosine counts as a similarity under 0.
#include "recipe.h"

using namespace minbert;

Tensor similarity(const Tensor& u, const Tensor& v) { return 5 * cosine_similarity(u, v); }         // [B,1]

int main(int argc, char** argv) {
  return run_recipe("cosine", argc, argv, [](uint64_t seed) {
    const TaskSets sts = read_sets("sts", Pairs::siamese);
    const BertConfig saved = BertConfig::load(mini_bert + "/config.json");
    BertConfig config = saved;
    config.tasks = {"sts"};
    config.pairs = Pairs::siamese;
    config.pool = Pool::mean;
    const auto learn = [&](bool cosine) {
      Model model(config, seed, false, heads_of({sts.task}), 0.1);
      load_weights(mini_bert, model.parameters, &saved);
      const Logits logits = [&](const Batch& batch) {
        if (!cosine) return model.network.forward(batch, 0);
        const auto [u, v] = pairs_in(model.network.bert().pooled(batch, Pool::mean));
        return similarity(u, v);
      };
      Optimizer adamw(model.parameters, {});
      train(sts, logits, [&](double eta) { adamw.step(eta); }, 3e-4, seed);
      model.network.train(false);
      return dev_score(sts, logits);
    };

    const Tensor u = Tensor::randn({1, 8}, 1), v = Tensor::randn({1, 8}, 2);
    const double y = double(similarity(u, v).item()), by_hand = 5 * cosine_by_hand(u.values(), v.values());
    expect("the similarity of two random rows, less that by hand", y - by_hand, -1e-5, 1e-5);

    expect("STS Pearson, the library's siamese head", learn(false), 0.25, 0.75);
    expect("STS Pearson, 5 cos(u, v)", learn(true), 0.7, 0.9);
  });
}
