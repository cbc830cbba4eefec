// Training of one small encoder by plain SGD, without a warm-up [NT training].
#include <algorithm>
#include <cmath>

#include "minbert/metrics.h"
#include "minbert/optimizer.h"
#include "papers/nt/transformer_norms.h"
#include "runs/recorder.h"
#include "train/batches.h"
#include "train/interrupt.h"

namespace minbert {

NtModel new_network(const NtOptions& o, const NtData& data, const NtSetup& setup) {
  return {nt_config(o, setup, data.tokenizer), uint64_t(setup.seed), true, data.task.outputs(),
          setup.read_by(o) == NtRead::mean};
}

std::vector<TaskBatch> batches_of(const NtOptions& o, const NtData& data, int seed, int epoch) {
  const std::vector<TaskSize> size = {{data.task.name, int64_t(data.train.examples.size())}};
  return epoch_batches(size, epoch, {.batch = o.batch, .seed = uint64_t(seed)});
}

namespace {

// The mean loss on dev, and the share of its sentences that are right.
std::pair<double, double> on_dev(NtModel& model, const NtData& data) {
  model.network.train(false);
  const double N = double(data.dev.examples.size());
  double loss = 0, right = 0;
  const auto add = [&](std::span<const int32_t> examples) {
    const Tensor logits = model.network.forward(labeled(data.dev, examples).batch);
    const Indices classes = classes_of(data.dev, examples);
    loss += double(cross_entropy(logits, classes).item()) * double(examples.size());
    const Indices likeliest = argmax(logits);
    for (int64_t i = 0; i < logits.rows(); ++i) right += likeliest[i] == classes[i];
  };
  for_each_batch("predicting " + data.dev.file, data.dev.examples.size(), add);
  return {loss / N, right / N};
}

// A network that learns, and what is measured on the way [NT training].
class Training {
 public:
  Training(const NtOptions& o, const NtData& data, const NtSetup& setup, int measure_every,
           const std::string& record_in)
      : o_(o), data_(data), setup_(setup), measure_every_(measure_every), model_(new_network(o, data, setup)),
        optimizer_(model_.parameters, {.kind = OptimizerKind::sgd}) {
    if (!record_in.empty()) recorder_.emplace(record_in, Names());
    const std::vector<TaskBatch> first_epoch = batches_of(o, data, setup.seed, 0);
    MB_CHECK(first_epoch.size() > 1,
             "--batch {}: the {} training sentences are one batch, whose loss has no standard error; "
             "give a smaller --batch",
             o.batch, data.train.examples.size());
    fixed_batch_ = labeled(data.train, first_epoch[0].examples).batch;
    fixed_classes_ = classes_of(data.train, first_epoch[0].examples);
    beginning_ = std::max<size_t>(2, first_epoch.size() / 10);
  }

  Json result() {
    Json::Array epochs;
    while (epochs.size() < size_t(o_.epochs) && finite_) epochs.push_back(epoch(int(epochs.size())));
    return Json::object({{"first", Json::object({{"mean", first_.mean},
                                                 {"deviation", first_.deviation},
                                                 {"batches", int64_t(beginning_)}})},
                         {"epochs", Json::array(epochs)},
                         {"steps", Json::array_of(steps_)},
                         {"loss", Json::array_of(loss_changes_)},
                         {"gradient", Json::array_of(gradient_changes_)},
                         {"entropy", data_.entropy},
                         {"left_finite", finite_ ? Json() : Json(int64_t(epochs.size()))}});
  }

 private:
  Json epoch(int number) {
    Numbers losses;
    for (const TaskBatch& batch : batches_of(o_, data_, setup_.seed, number)) {
      check_interrupt();
      losses.push_back(step(batch.examples));
      if (!finite_) break;
    }
    clear_tape();
    if (number == 0) {
      const size_t n = std::min(beginning_, losses.size());
      first_ = summarize({losses.begin(), losses.begin() + int64_t(n)});
    }
    const Summary loss = summarize(losses);
    auto [dev_loss, dev_accuracy] = finite_ ? on_dev(model_, data_) : std::pair<double, double>(NAN, NAN);
    if (!std::isfinite(dev_loss)) dev_accuracy = NAN;  // the last step left the finite
    return Json::object({{"mean", loss.mean},
                         {"deviation", loss.deviation},
                         {"batches", int64_t(losses.size())},
                         {"dev_loss", dev_loss},
                         {"dev_accuracy", dev_accuracy}});
  }

  double step(std::span<const int32_t> examples) {
    model_.network.train();
    if (measure_every_ > 0 && step_ % measure_every_ == 0) {
      const LossChange change = loss_change(model_, fixed_batch_, fixed_classes_, setup_.lr);
      steps_.push_back(double(step_));
      loss_changes_.push_back(change.loss);
      gradient_changes_.push_back(change.gradient);
    }
    const bool records = recorder_ && step_ % o_.record == 0;
    if (records) recorder_->before_step(step_, "", model_.network, model_.parameters);
    const Tensor loss = cross_entropy(model_.network.forward(labeled(data_.train, examples).batch),
                                      classes_of(data_.train, examples));
    const double value = double(loss.item());
    finite_ = std::isfinite(value);
    if (!finite_) return value;
    backward(loss);
    if (records) recorder_->after_backward();
    optimizer_.step(setup_.lr);                                     // [NT training]
    ++step_;
    return value;
  }

  const NtOptions& o_;
  const NtData& data_;
  const NtSetup& setup_;
  int measure_every_;
  NtModel model_;
  Optimizer optimizer_;
  std::optional<Recorder> recorder_;
  Batch fixed_batch_;                               // of fig5 and fig6
  Indices fixed_classes_;
  // What the last epoch is compared with: the first epoch's first batches, since its mean is of all
  // that it learns, and its deviation is the larger the more that is.
  size_t beginning_ = 0;
  Summary first_;
  Numbers steps_, loss_changes_, gradient_changes_;
  int64_t step_ = 0;
  bool finite_ = true;
};

}  // namespace

Json train_nt(const NtOptions& o, const NtData& data, const NtSetup& setup, int measure_every,
              const std::string& record_in) {
  return Training(o, data, setup, measure_every, record_in).result();
}

// [NT fig.2] [NT fig.3]
double first_gradient(const NtOptions& o, const NtData& data, const NtSetup& setup) {
  NtModel model = new_network(o, data, setup);
  Optimizer optimizer(model.parameters, {.kind = OptimizerKind::sgd});
  model.network.train();
  Numbers norms;
  for (const TaskBatch& batch : batches_of(o, data, setup.seed, 0)) {
    if (norms.size() == 8) break;
    backward(cross_entropy(model.network.forward(labeled(data.train, batch.examples).batch),
                           classes_of(data.train, batch.examples)));
    optimizer.clip(0);
    norms.push_back(optimizer.gradient_norm());                   // ‖∇L(W)‖
    model.parameters.zero_grad();
  }
  return summarize(norms).mean;
}

}  // namespace minbert
