// Training of one small encoder by plain SGD, without a warm-up [NT training].
#include <algorithm>
#include <cmath>

#include "engine/clock.h"
#include "minbert/metrics.h"
#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "papers/nt/transformer_norms.h"
#include "train/batches.h"
#include "train/run_folder.h"

namespace minbert {
namespace {

std::vector<TaskBatch> batches_of(const NtOptions& o, const NtData& data, int seed, int epoch) {
  const std::vector<TaskSize> size = {{data.task.name, int64_t(data.train.examples.size())}};
  return epoch_batches(size, epoch, {.batch = o.batch, .seed = uint64_t(seed)});
}

NtModel new_model(const NtOptions& o, const NtData& data, const NtSetup& setup) {
  return {nt_config(o, setup, data.tokenizer), uint64_t(setup.seed), true, data.task.outputs()};
}

class Training {
 public:
  Training(const NtOptions& o, const NtData& data, const NtSetup& setup, int measure_every, const std::string& folder)
      : o_(o), data_(data), setup_(setup), measure_every_(measure_every), folder_(folder),
        model_(new_model(o, data, setup)), optimizer_(model_.parameters, {.kind = "sgd"}) {
    const std::vector<TaskBatch> batches = batches_of(o, data, setup.seed, 0);
    MB_CHECK(batches.size() > 1, "--batch {}: the {} training sentences are one batch, whose loss has no standard "
             "error; give a smaller --batch", o.batch, data.train.examples.size());
    const std::vector<int32_t>& first = batches[0].examples;
    fixed_batch_ = pack(inputs(data.train, first));
    fixed_classes_ = data.class_of(first);
    if (has_state(folder)) load();
  }

  Json go(const std::function<bool()>& stop) {
    try {
      while (epochs_.size() < size_t(o_.epochs) && !left_finite_) epoch(stop);
    } catch (const Interrupted&) {
      save();
      throw;
    }
    return record().set("entropy", data_.entropy).set("parameters", model_.parameters.count())
        .set("left_finite", left_finite_ ? Json(int64_t(epochs_.size())) : Json());
  }

 private:
  void epoch(const std::function<bool()>& stop) {
    const std::vector<TaskBatch> batches = batches_of(o_, data_, setup_.seed, int(epochs_.size()));
    for (; losses_.size() < batches.size() && !left_finite_; ) {
      if (stop()) throw Interrupted();
      step(batches[losses_.size()]);
    }
    const Summary loss = summarize(losses_);
    auto [dev_loss, dev_accuracy] = left_finite_ ? std::pair<double, double>(NAN, NAN) : on_dev();
    if (!std::isfinite(dev_loss)) dev_accuracy = NAN;           // the last step left the finite
    epochs_.push_back(Json::object().set("mean", loss.mean).set("deviation", loss.deviation)
                          .set("batches", int64_t(losses_.size())).set("dev_loss", dev_loss)
                          .set("dev_accuracy", dev_accuracy));
    losses_.clear();
  }

  void step(const TaskBatch& batch) {
    model_.network.train();
    if (measure_every_ > 0 && step_ % measure_every_ == 0) measure();
    const double start = now();
    const Batch input = pack(inputs(data_.train, batch.examples));
    const Tensor loss = cross_entropy(model_.network.forward(input), data_.class_of(batch.examples));
    losses_.push_back(double(loss.item()));
    left_finite_ = !std::isfinite(losses_.back());
    if (left_finite_) return clear_tape();
    backward(loss);
    optimizer_.step(setup_.lr);
    seconds_ += now() - start;
    tokens_ += input.tokens();
    ++step_;
  }

  void measure() {
    const LossChange change = loss_change(model_, fixed_batch_, fixed_classes_, setup_.lr);
    measured_at_.push_back(double(step_));
    loss_changes_.push_back(change.loss);
    gradient_changes_.push_back(change.gradient);
  }

  std::pair<double, double> on_dev() {              // mean loss, and the share of sentences that are right
    model_.network.train(false);
    const double N = double(data_.dev.examples.size());
    double loss = 0, right = 0;
    const auto add = [&](std::span<const int32_t> examples) {
      const Tensor logits = model_.network.forward(pack(inputs(data_.dev, examples)));
      const Numbers wanted = labels(data_.dev, examples);
      const std::vector<int32_t> classes(wanted.begin(), wanted.end());
      loss += double(cross_entropy(logits, classes).item()) * double(examples.size());
      const std::vector<real> y = logits.values();
      for (size_t i = 0; i < classes.size(); ++i) {
        const auto row = y.begin() + int64_t(i) * logits.cols();
        right += std::max_element(row, row + logits.cols()) - row == classes[i];
      }
    };
    for_each_batch("predicting " + data_.dev.file, data_.dev.examples.size(), add);
    return {loss / N, right / N};
  }

  // Weights that are no numbers cannot be loaded: the run goes on with an earlier state, if any, and diverges again.
  void save() {
    std::vector<real> room;
    for (const Parameter& p : model_.parameters.all())
      if (non_finite(p.value.on_host(room))) return;
    save_state(folder_, model_.parameters, optimizer_, record());
  }
  Json record() const {                             // of the state and of the result
    return Json::object().set("epochs", Json::array(epochs_)).set("losses", Json::array_of(losses_))
        .set("step", step_).set("seconds", seconds_).set("tokens", tokens_)
        .set("steps", Json::array_of(measured_at_)).set("loss", Json::array_of(loss_changes_))
        .set("gradient", Json::array_of(gradient_changes_));
  }
  void load() {
    const Json state = load_state(folder_, model_.parameters, optimizer_);
    epochs_ = state["epochs"].items();
    losses_ = state["losses"].numbers();
    step_ = state["step"].integer();
    seconds_ = state["seconds"].number();
    tokens_ = state["tokens"].integer();
    measured_at_ = state["steps"].numbers();
    loss_changes_ = state["loss"].numbers();
    gradient_changes_ = state["gradient"].numbers();
  }

  const NtOptions& o_;
  const NtData& data_;
  const NtSetup& setup_;
  int measure_every_;
  std::string folder_;
  NtModel model_;
  Optimizer optimizer_;
  Batch fixed_batch_;                               // of fig5 and fig6
  Indices fixed_classes_;
  Json::Array epochs_;
  Numbers losses_, measured_at_, loss_changes_, gradient_changes_;        // losses: of this epoch
  int64_t step_ = 0, tokens_ = 0;
  double seconds_ = 0;
  bool left_finite_ = false;
};

}  // namespace

Json train_nt(const NtOptions& o, const NtData& data, const NtSetup& setup, int measure_every,
              const std::string& folder, const std::function<bool()>& stop) {
  return Training(o, data, setup, measure_every, folder).go(stop);
}

// [NT fig.2] [NT fig.3]
double first_gradient(const NtOptions& o, const NtData& data, const NtSetup& setup) {
  NtModel model = new_model(o, data, setup);
  Optimizer optimizer(model.parameters, {.kind = "sgd"});
  model.network.train();
  Numbers norms;
  for (const TaskBatch& batch : batches_of(o, data, setup.seed, 0)) {
    if (norms.size() == 8) break;
    backward(cross_entropy(model.network.forward(pack(inputs(data.train, batch.examples))),
                           data.class_of(batch.examples)));
    optimizer.clip(0);
    norms.push_back(optimizer.gradient_norm());
    model.parameters.zero_grad();
  }
  return summarize(norms).mean;
}

}  // namespace minbert
