// SimCSE: sentence vectors without labels. A sentence is encoded twice, and dropout alone makes the two differ.
//
//   Paper      Gao et al. 2021, SimCSE, sec. 3, eq. 4
//   Equations  l_i = -log exp(cos(h_i, h'_i)/τ) / Σ_j exp(cos(h_i, h'_j)/τ)     τ = 0.05
//   Shapes     h, h' [N,H]: [CLS] of the N sentences of a batch, under two dropout masks of p = .1
//
// With a = h/|h| and b = h'/|h'| the cosines are a bᵀ [N,N], and the loss is the cross-entropy of its rows, where row
// i has the label i. The other sentences of the batch push, the sentence itself pulls.
// Deviation: the paper trains with one more layer above [CLS], and drops it afterwards; here there is none.
#include <set>

#include "recipe.h"

using namespace minbert;

constexpr double tau = 0.05;

Tensor unit_rows(const Tensor& x) { return x / sqrt(sum_rows(square(x))); }            // [N,H]

Tensor contrastive_loss(const Tensor& h, const Tensor& h2) {
  const Tensor cosines = matmul_nt(unit_rows(h), unit_rows(h2));           // [N,N]
  return cross_entropy(cosines / tau, Indices::range(0, h.rows()));        // []
}

// The same as the definition says it
double by_hand(const Tensor& h, const Tensor& h2) {
  const auto cosine = [&](int64_t i, int64_t j) { return cosine_by_hand(h[i].values(), h2[j].values()); };
  double loss = 0;
  for (int64_t i = 0; i < h.rows(); ++i) {
    double sum = 0;
    for (int64_t j = 0; j < h.rows(); ++j) sum += std::exp(cosine(i, j) / tau);
    loss -= std::log(std::exp(cosine(i, i) / tau) / sum) / double(h.rows());
  }
  return loss;
}

int main(int argc, char** argv) {
  return run_recipe("simcse", argc, argv, [](uint64_t seed) {
    const Tensor h = Tensor::randn({5, 8}, 1), h2 = h + 0.3 * Tensor::randn({5, 8}, 2);
    expect("the loss of random rows, less that by hand", double(contrastive_loss(h, h2).item()) - by_hand(h, h2),
           -1e-5, 1e-5);

    const TaskSets sts = read_sets("sts", Pairs::siamese);
    const BertConfig saved = BertConfig::load(mini_bert + "/config.json");
    BertConfig config = saved;
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1;
    config.tasks = {"sts"};
    Model model(config, seed, false, heads_of({sts.task}), 0.0);           // its head is not used
    load_weights(mini_bert, model.parameters, &saved);
    const auto cls = [&](const Batch& batch) { return model.network.bert().pooled(batch, Pool::cls); };
    const Logits similarity = [&](const Batch& batch) {                    // [B,1]
      const auto [u, v] = pairs_in(cls(batch));
      return 5 * cosine_similarity(u, v);
    };
    const auto score = [&] {
      model.network.train(false);
      const double pearson = dev_score(sts, similarity);
      model.network.train();
      return pearson;
    };
    const double before = score();
    expect("STS Pearson of the cosines before", before, 0.6, 0.72);

    std::set<std::vector<int32_t>> seen;            // a sentence that is twice in a batch would push itself
    std::vector<Sequence> sentences;
    for (const Example& example : sts.train.examples)
      for (const Sequence& sentence : example.inputs)
        if (seen.insert(sentence.ids).second) sentences.push_back(sentence);
    Optimizer adamw(model.parameters, {});
    const TaskSize size = {"sentences", int64_t(sentences.size())};
    const auto batches = epoch_batches({&size, 1}, 0, {.batch = 32, .seed = seed});
    double first = 0, last = 0;                     // the mean loss of the first and of the last ten steps
    const size_t steps = std::min<size_t>(100, batches.size());
    for (size_t k = 0; k < steps; ++k) {
      std::vector<Sequence> twice;
      for (int time = 0; time < 2; ++time)
        for (const int32_t i : batches[k].examples) twice.push_back(sentences[size_t(i)]);
      const Tensor x = cls(pack(twice));            // [2N,H]
      const int64_t N = x.rows() / 2;
      const Tensor loss = contrastive_loss(slice_rows(x, 0, N), slice_rows(x, N, 2 * N));
      if (k < 10) first += double(loss.item()) / 10;
      if (k + 10 >= steps) last += double(loss.item()) / 10;
      backward(loss);
      adamw.step(1e-4 * (1 - double(k) / double(steps)));
    }
    expect("loss, first ten steps", first, 1.5, 3);
    expect("loss, last ten steps", last, 0.5, 1.5);
    expect("STS Pearson of the cosines after", score(), before, 0.8);
  });
}
