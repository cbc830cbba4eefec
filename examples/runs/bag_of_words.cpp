// Regression on bags of word pieces.
//
//   Features   n_a(w), how often piece w is in the text; for a pair (a, b) n_a(w), n_b(w),
//              |n_a(w) - n_b(w)| and min(n_a(w), n_b(w)), the last two also summed over all w
//   Output     y = W^T x + c     x [G V], the counts or their shares of the bag   W [G V,C]   c [C]
//   Sparse     x is never written down: a bag lists feature w n(w) times, and W^T x is the sum of
//              those rows of W.
#include "runs/bag_of_words.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "files/progress.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "minbert/trainer.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

class Regression : public Module {
 public:
  Regression(int64_t features, int outputs)
      : weight_(parameter("weight", {features, outputs}, Init::zeros)),
        bias_(parameter("bias", {outputs}, Init::zeros, Decay::no)) {}

  // mean_length 0: counts; else shares times it, the mean length of a bag, so that both have the
  // same scale.
  Tensor forward(const Batch& bags, double mean_length) const {
    const Tensor mean = mean_sentences(embedding(weight_, bags.ids), bags);
    std::vector<real> lengths;
    for (int64_t b = 0; b < bags.sentences(); ++b)
      lengths.push_back(mean_length > 0 ? real(mean_length)
                                        : real(bags.offsets[b + 1] - bags.offsets[b]));
    return mean * Tensor::from({bags.sentences(), 1}, lengths) + bias_;
  }

 private:
  Tensor weight_, bias_;
};

// The bag has [CLS] and [SEP] too, so that it is never empty; their counts are the same for every
// example. [PAD], which is in no text, stands for every piece.
Sequence bag_of(const Example& example, int V) {
  if (example.inputs.size() == 1) return example.inputs[0];
  std::map<int32_t, std::array<int, 2>> count;
  for (size_t side = 0; side < 2; ++side)
    for (const int32_t w : example.inputs[side].ids) ++count[w][side];
  Sequence bag;
  for (const auto& [w, n] : count) {
    const int apart = std::abs(n[0] - n[1]), shared = std::min(n[0], n[1]);
    bag.ids.insert(bag.ids.end(), size_t(n[0]), w);
    bag.ids.insert(bag.ids.end(), size_t(n[1]), V + w);
    for (const int32_t feature : {0, w}) {
      bag.ids.insert(bag.ids.end(), size_t(apart), 2 * V + feature);
      bag.ids.insert(bag.ids.end(), size_t(shared), 3 * V + feature);
    }
  }
  bag.segments.resize(bag.ids.size());
  return bag;
}

struct Bags {
  Bags(const Dataset& set, int vocabulary) : data(set) {
    for (const Example& e : set.examples) {
      bags.push_back(bag_of(e, vocabulary));
      mean_length += double(bags.back().ids.size()) / double(set.examples.size());
    }
  }
  const Dataset& data;
  std::vector<Sequence> bags;
  double mean_length = 0;
};

TaskScores scores_on(const std::vector<Bags>& sets, const Task& task, const Regression& model,
                     double mean_length) {
  const NoGrad no_tape;
  TaskScores all;
  for (const Bags& dev : sets) {
    Predictions predictions;
    read_logits(task, dev.data.file, model.forward(pack(dev.bags), mean_length), predictions);
    for (const std::optional<double>& score : scores(task, dev.data, predictions))
      all.push_back(score);
  }
  return all;
}

}  // namespace

BagSets read_bags(const std::string& folder, const Task& task, const Tokenizer& tokenizer,
                  DatasetOptions options, std::ostream& log) {
  options.pairs = Pairs::siamese;
  BagSets sets{read_set(folder, task, Split::train, 0, tokenizer, options, log), {}};
  for (size_t set = 0; set < task.sets.size(); ++set)
    sets.dev.push_back(read_set(folder, task, Split::dev, set, tokenizer, options, log));
  return sets;
}

BagResult bag_of_words(const Task& task, const BagSets& sets, int vocabulary, uint64_t seed) {
  constexpr int batch = 128, least_steps = 600, most_epochs = 60;
  constexpr double learning_rate = 0.02;
  const Bags learn(sets.train, vocabulary);
  std::vector<Bags> test;
  for (const Dataset& set : sets.dev) test.emplace_back(set, vocabulary);
  const int64_t rows = int64_t(sets.train.examples.size()), per_epoch = (rows + batch - 1) / batch;
  const int epochs = int(std::clamp<int64_t>(least_steps / per_epoch, 3, most_epochs));
  BagResult best;
  Progress progress(task.title + ": bags of words", 10 * epochs * per_epoch);
  int64_t done = 0;
  for (const bool mean : {false, true})
    for (const double decay : {0.01, 0.3, 1.0, 3.0, 10.0}) {
      const double mean_length = mean ? learn.mean_length : 0;
      Regression model(int64_t(vocabulary) * (task.is_pair() ? 4 : 1), task.outputs());
      Parameters parameters(model, {.seed = seed});
      Optimizer optimizer(parameters, {.weight_decay = decay});
      for (int epoch = 0; epoch < epochs; ++epoch) {
        const std::vector<TaskSize> size = {{task.name, rows}};
        int64_t step = epoch * per_epoch;
        for (const TaskBatch& s : epoch_batches(size, epoch, {.batch = batch, .seed = seed})) {
          std::vector<Sequence> bags;
          for (const int32_t e : s.examples) bags.push_back(learn.bags[size_t(e)]);
          const Tensor logits = model.forward(pack(bags), mean_length);
          backward(task_loss(task, logits, labeled(sets.train, s.examples).labels));
          optimizer.step(learning_rate * schedule_factor(Schedule::linear, step++, per_epoch * epochs, 0));
          progress.update(++done);
          check_interrupt();
        }
        const TaskScores now = scores_on(test, task, model, mean_length);
        if (now[0] && (best.dev.empty() || *now[0] > *best.dev[0]))
          best = {now, decay, mean, epoch + 1};
      }
    }
  return best;
}

}  // namespace minbert
