// Feature extraction: the encoder frozen, its layers' [CLS] combined by learned weights.
//
//   Paper     Efficient Task Adaptation with Normalization                               [TA sec.1]
//   Equation  f = γ Σ_l s_l h^(l)     s = softmax(w)     logits = W dropout(f) + b
//   Shapes    h^(l) [B,H] of layer l = 0 .. L, the embeddings first  w [L+1]  γ [1]  W [C,H]  b [C]
//   Choices   the document says "a linear combination of all layers, where the weights are
//             learnable"; softmax and scale are ours, as in ELMo (Peters et al. 2018, eq. 1)
//   Features  every sentence is encoded once, (L+1) H numbers of 4 bytes that stay in memory (SST-2
//             with BERT-base: 2.7 GB); then the head alone is trained. MNLI and QNLI, which would
//             take up to 16 GB, are left out
#include <iostream>

#include "engine/text.h"
#include "files/progress.h"
#include "minbert/metrics.h"
#include "minbert/model.h"
#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "papers/encoded_set.h"
#include "papers/ta/task_adaptation.h"
#include "train/batches.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

class LayerMixture : public Module {
 public:
  LayerMixture(int64_t layers, int64_t hidden, int outputs)
      : w_(parameter("w", {1, layers}, Init::zeros, Decay::no)),
        gamma_(parameter("gamma", {1, 1}, Init::ones, Decay::no)),
        head_(hidden, outputs),
        dropout_(0.1) {
    child("head", head_);
    child("dropout", dropout_);
  }
  Tensor forward(const Tensor& h, int64_t rows) const {  // h [L+1, B H] -> [B,C]
    const Tensor f = matmul(softmax(w_) * gamma_, h);  // [1, B H]  [TA sec.1]
    return head_(dropout_(f.reshape({rows, h.cols() / rows})));
  }
  std::vector<real> weights() const { return softmax(w_.detach()).values(); }  // [L+1] s

 private:
  Tensor w_, gamma_;
  Linear head_;
  Dropout dropout_;
};

// h^(l) of every example of a set.
struct Features {
  std::string file;
  std::vector<std::vector<real>> layers;  // [L+1] of [N,H]
  Numbers labels;
  int64_t H = 0;
  size_t rows() const { return labels.size(); }
  Tensor select(std::span<const int32_t> examples) const {  // [L+1, B H]
    std::vector<real> all;
    for (const std::vector<real>& layer : layers)
      for (const int32_t e : examples)
        all.insert(all.end(), layer.begin() + e * H, layer.begin() + (e + 1) * H);
    return Tensor::from({int64_t(layers.size()), int64_t(examples.size()) * H}, all);
  }
};

// The hidden states of [CLS] after the embeddings and after every layer: L+1 tensors [B,H]
Features features_of(const TaOptions& o, const Task& task, Split split) {
  EncodedSet set(o, task, split, ClsPlace::pre_pooler);
  Features features;
  features.file = set.data().file;
  features.H = set.config().hidden_size;
  features.layers.resize(size_t(set.config().num_hidden_layers) + 1);
  const size_t numbers = set.data().examples.size() * size_t(features.H);
  for (std::vector<real>& layer : features.layers) layer.reserve(numbers);
  std::cerr << formatted("features of {} sentences: {} MB\n", set.data().examples.size(),
                         numbers * features.layers.size() * sizeof(real) / 1000000);
  set.for_each_batch(set.all(), [&](const Batch& batch, std::span<const int32_t> examples) {
    const std::vector<Tensor> states = cls_of_layers(set.bert(), batch);
    for (size_t l = 0; l < states.size(); ++l) {
      const std::vector<real> values = states[l].values();
      features.layers[l].insert(features.layers[l].end(), values.begin(), values.end());
    }
    for (const double label : labeled(set.data(), examples).labels) features.labels.push_back(label);
  });
  return features;
}

Numbers predictions_on(const LayerMixture& mixture, const Task& task, const Features& dev) {
  Predictions predictions;
  for_each_batch("predicting " + dev.file, dev.rows(), [&](std::span<const int32_t> some) {
    read_logits(task, dev.file, mixture.forward(dev.select(some), int64_t(some.size())), predictions);
  });
  return predictions.values;
}

Json extract(const TaOptions& o, const Task& task) {
  const Features train = features_of(o, task, Split::train), dev = features_of(o, task, Split::dev);
  Json result = Json::object();
  for (int seed = o.seed; seed < o.seed + o.seeds; ++seed) {
    LayerMixture mixture(int64_t(train.layers.size()), train.H, task.outputs());
    Parameters parameters(mixture, {.seed = uint64_t(seed)});
    Optimizer optimizer(parameters, {.weight_decay = 0.01});
    DropoutClock::current() = {.seed = uint64_t(seed)};
    const std::vector<TaskSize> size = {{task.name, int64_t(train.rows())}};
    std::optional<double> best, sound;
    std::vector<real> weights = mixture.weights();
    Progress progress(formatted("{}: feature extraction, seed {}", task.title, seed),
                      o.head_epochs);
    for (int epoch = 0; epoch < o.head_epochs; ++epoch) {
      mixture.train(true);
      const std::vector<TaskBatch> batches =
          epoch_batches(size, epoch, {.batch = o.batch, .seed = uint64_t(seed)});
      int64_t step = epoch * int64_t(batches.size());
      for (const TaskBatch& batch : batches) {
        Numbers labels;
        for (const int32_t e : batch.examples) labels.push_back(train.labels[size_t(e)]);
        backward(task_loss(
            task, mixture.forward(train.select(batch.examples), int64_t(batch.examples.size())),
            labels));
        const int64_t steps = int64_t(batches.size()) * o.head_epochs;
        optimizer.step(o.head_lr * schedule_factor(Schedule::linear, step++, steps, 0.06));
      }
      mixture.train(false);
      const Numbers predicted = predictions_on(mixture, task, dev);
      const auto now = scores(task, predicted, dev.labels)[0];
      if (now && (!best || *now > *best)) {
        best = now;
        sound = collapse_warning(task, predicted).empty() ? now : std::nullopt;
        weights = mixture.weights();
      }
      progress.update(epoch + 1);
      check_interrupt();
    }
    result.set(std::to_string(seed),
               Json::object({{"score", best ? Json(*best) : Json()},
                             {"sound", sound ? Json(*sound) : Json()},
                             {"weights", Json::array_of({weights.begin(), weights.end()})}}));
  }
  return result;
}

Run extraction(const TaRuns& ta, const Task& task) {
  const TaOptions& o = ta.o;
  Run run = ta.document.run_on(task, "extraction", 1,
                               {{"metric", name_of(task.metrics[0])},
                                {"batch", std::to_string(o.batch)},
                                {"head-epochs", std::to_string(o.head_epochs)},
                                {"head-lr", formatted("{}", o.head_lr)},
                                {"seed", std::to_string(o.seed)},
                                {"seeds", std::to_string(o.seeds)}},
                               [o, task](const std::string&) { return extract(o, task); });
  run.version = 2;                                  // 2: whether a head gives every input one answer
  return run;
}

void weights(const TaRuns& ta, ItemReport& report) {
  LongTable table({"task", "seed", "layer", "weight"});
  report.figure(
      "For each task, the learned weight of every layer, its mean over the seeds and its deviation",
      ta.tasks(false), [&](const Task& task) {
        Panel panel{.title = task.title,
                    .x_label = "layer (0: embeddings)",
                    .y_label = "weight",
                    .curves = {{.title = "", .style = Curve::Style::bars}}};
        size_t layers = 0;
        for (const auto& [seed, run] : ta.document.result(extraction(ta, task)).members()) {
          const Numbers s = run["weights"].numbers();
          for (size_t l = 0; l < s.size(); ++l) table(task.name, seed, l) = s[l];
          layers = s.size();
        }
        for (size_t l = 0; l < layers; ++l)
          add_mean(panel.curves[0], double(l),
                   table.values({{"task", task.name}, {"layer", std::to_string(l)}}));
        return panel;
      });
  report.csv(table, "weights");
}

void show(const TaRuns& ta, ItemReport& report) {
  const Names methods = {"feature extraction", "fine-tuning"};
  const std::vector<DevSet> sets = first_dev_sets(ta.tasks(false));
  LongTable table({"task", "method", "seed", "score"}), evidence = table;
  const auto add_score = [&](const DevSet& set, int seed, const std::string& method) {
    const Json extracted = ta.document.result(extraction(ta, set.task))[std::to_string(seed)];
    const Run tuned = ta.fine_tuning(set.task, ta_methods[0], seed);
    const bool frozen = method == methods[0];
    table(set.task.name, method, seed) =
        frozen ? extracted["score"].number_if() : ta.document.score(tuned, set);
    evidence(set.task.name, method, seed) =
        frozen ? extracted["sound"].number_if() : ta.document.sound_score(tuned, set);
  };
  product(add_score, sets, ta.document.seeds(), methods);
  weights(ta, report);
  report.csv(table);
  report.judge_by(evidence, {100, 2, "points"});
  show_yardsticks(ta.document, ta.tasks(false), report);
  report.table("Dev scores x 100: the encoder frozen, and all of it trained", "mean±std",
               methods, sets, [&](const std::string& method, const DevSet& set) {
                 ItemReport::Cell cell;
                 const LongTable of_cell = table.only({{"task", set.task.name}, {"method", method}});
                 for (const LongTable::Row& row : of_cell.rows())
                   cell.points.push_back(100 * row.value.value_or(0));
                 const Summary s = summarize(cell.points);
                 cell.ours = fixed(s.mean, 2) + "±" + fixed(s.deviation, 2);
                 return cell;
               });
  report.caption(formatted("the head: {} epochs at lr {}, the best by the dev set",
                           ta.o.head_epochs, ta.o.head_lr));
}

}  // namespace

// h^(l) of the sum of [TA sec.1], for every l
std::vector<Tensor> cls_of_layers(const BertModel& bert, const Batch& batch) {
  const Indices first = std::vector<int32_t>(batch.offsets.begin(), batch.offsets.end() - 1);
  Tensor x = bert.embeddings().forward(batch);
  std::vector<Tensor> states = {index_select(x, first)};
  for (int l = 0; l < bert.config().num_hidden_layers; ++l) {
    x = bert.layer(l).forward(x, batch);
    states.push_back(index_select(x, first));
  }
  return states;
}

Item ta_extraction_item(const TaRuns& ta) {
  const RunGrid extractions([ta](const Task& task) { return extraction(ta, task); },
                            ta.tasks(false));
  const auto tune = [ta](const Task& task, int seed) {
    return ta.fine_tuning(task, ta_methods[0], seed);
  };
  const auto trained = both(extractions, RunGrid(tune, ta.tasks(false), ta.document.seeds()));
  return {"sec1", both(yardstick_runs(ta.document, ta.tasks(false)), trained), std::bind_front(show, ta)};
}

}  // namespace minbert
