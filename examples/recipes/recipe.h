// What the recipes share: the two sets of a task, an epoch of training, and a check of what came out.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <string>

#include "minbert/minbert.h"

namespace minbert {

inline const std::string mini = shipped("data/mini"), mini_bert = shipped("data/mini/bert");

struct TaskSets {
  Task task;
  Dataset train, dev;
};

inline TaskSets read_sets(const Task& task, Pairs pairs = Pairs::cross) {
  const Tokenizer tokenizer = Tokenizer::from_folder(mini_bert);
  const DatasetOptions options = {.max_length = 64, .pairs = pairs};
  return {task, read_set(mini, task, Split::train, 0, tokenizer, options, std::cerr),
          read_set(mini, task, Split::dev, 0, tokenizer, options, std::cerr)};
}
inline TaskSets read_sets(const std::string& name, Pairs pairs = Pairs::cross) {
  return read_sets(parse_tasks(name)[0], pairs);
}

using Logits = std::function<Tensor(const Batch& batch)>;        // -> [B,outputs]
using Step = std::function<void(double learning_rate)>;          // moves what learns, clears the gradients

// One epoch in batches of 16; the learning rate falls linearly from lr to 0.
inline void train(const TaskSets& sets, const Logits& logits, const Step& step, double lr, uint64_t seed) {
  const TaskSize size = {sets.task.name, int64_t(sets.train.examples.size())};
  const auto batches = epoch_batches({&size, 1}, 0, {.batch = 16, .seed = seed});
  for (size_t k = 0; k < batches.size(); ++k) {
    const auto [batch, labels] = labeled(sets.train, batches[k].examples, {0});
    backward(task_loss(sets.task, logits(batch), labels));
    step(lr * schedule_factor(Schedule::linear, int64_t(k), int64_t(batches.size()), 0));
  }
}

// The leading score on the dev set; one that is not defined counts 0.
inline double dev_score(const TaskSets& sets, const Logits& logits) {
  const NoGrad no_tape;
  Predictions predictions;
  for (int64_t n = int64_t(sets.dev.examples.size()), i = 0; i < n; i += 100) {
    const Batch batch = labeled(sets.dev, Indices::range(i, std::min(n, i + 100)), {0}).batch;
    read_logits(sets.task, sets.dev.file, logits(batch), predictions);
  }
  return scores(sets.task, sets.dev, predictions)[0].value_or(0);
}

// What the pooler and the head of the model's only task say of the last hidden states x [T,H]. -> [B,outputs]
inline Tensor logits_of(const Model& model, const Tensor& x, const Batch& batch) {
  const std::vector<int32_t> first(batch.offsets.begin(), batch.offsets.end() - 1);
  const Tensor& W = model.parameters.value("bert.pooler.dense.weight");    // [H,H]
  const Tensor& b = model.parameters.value("bert.pooler.dense.bias");      // [H]
  return model.network.logits(tanh(linear(index_select(x, first), W, b)), 0);
}

// The two texts of siamese pairs, which pack() lays down as u_0, v_0, u_1, v_1, ...
struct Pair {
  Tensor u, v;                                      // [B,H]
};
inline Pair pairs_in(const Tensor& pooled) {        // [2B,H]
  std::vector<int32_t> even, odd;
  for (int32_t row = 0; row < int32_t(pooled.rows()); row += 2) {
    even.push_back(row);
    odd.push_back(row + 1);
  }
  return {index_select(pooled, even), index_select(pooled, odd)};
}

// cos(a, b) of two rows, by its definition
inline double cosine_by_hand(const std::vector<real>& a, const std::vector<real>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double(a[i]) * double(b[i]);
    aa += double(a[i]) * double(a[i]);
    bb += double(b[i]) * double(b[i]);
  }
  return ab / std::sqrt(aa * bb);
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<real> difference = abs(a - b).values();
  return double(*std::ranges::max_element(difference));
}

// Prints a number beside the range in which it should be. Error where it is not.
inline void expect(const std::string& what, double value, double low, double high) {
  std::cout << formatted("{}: {}   (expected: {} to {})\n", what, value, low, high) << std::flush;
  MB_CHECK(low <= value && value <= high, "{} is {}, and not between {} and {}", what, value, low, high);
}

// main() of a recipe. Its only argument is a seed.
inline int run_recipe(const std::string& name, int argc, char** argv, const std::function<void(uint64_t seed)>& body) {
  return run_program(name, [&] {
    const uint64_t seed = argc > 1 ? std::stoull(argv[1]) : 11711;
    DropoutClock::current().seed = seed;
    body(seed);
    return 0;
  });
}

}  // namespace minbert
