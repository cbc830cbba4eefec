// Training of one small encoder by plain SGD, without a warm-up [NT training].
#include <algorithm>
#include <cmath>

#include "minbert/metrics.h"
#include "minbert/optimizer.h"
#include "papers/nt/transformer_norms.h"
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

}  // namespace

Json train_nt(const NtOptions& o, const NtData& data, const NtSetup& setup, int measure_every) {
  NtModel model = new_network(o, data, setup);
  Optimizer optimizer(model.parameters, {.kind = OptimizerKind::sgd});
  const std::vector<TaskBatch> first_epoch = batches_of(o, data, setup.seed, 0);
  MB_CHECK(first_epoch.size() > 1,
           "--batch {}: the {} training sentences are one batch, whose loss has no standard error; "
           "give a smaller --batch",
           o.batch, data.train.examples.size());
  const std::vector<int32_t>& first = first_epoch[0].examples;
  const Batch fixed_batch = labeled(data.train, first).batch;  // of fig5 and fig6
  const Indices fixed_classes = classes_of(data.train, first);
  // What the last epoch is compared with: the first epoch's first batches, since its mean is of all
  // that it learns, and its deviation is the larger the more that is.
  const size_t beginning = std::max<size_t>(2, first_epoch.size() / 10);
  Summary first_losses;
  Json::Array epochs;
  Numbers steps, loss_changes, gradient_changes;
  int64_t step = 0;
  bool finite = true;
  while (epochs.size() < size_t(o.epochs) && finite) {
    Numbers losses;
    for (const TaskBatch& batch : batches_of(o, data, setup.seed, int(epochs.size()))) {
      check_interrupt();
      model.network.train();
      if (measure_every > 0 && step % measure_every == 0) {
        const LossChange change = loss_change(model, fixed_batch, fixed_classes, setup.lr);
        steps.push_back(double(step));
        loss_changes.push_back(change.loss);
        gradient_changes.push_back(change.gradient);
      }
      const Tensor loss =
          cross_entropy(model.network.forward(labeled(data.train, batch.examples).batch),
                        classes_of(data.train, batch.examples));
      losses.push_back(double(loss.item()));
      finite = std::isfinite(losses.back());
      if (!finite) break;
      backward(loss);
      optimizer.step(setup.lr);                                   // [NT training]
      ++step;
    }
    clear_tape();
    if (epochs.empty()) {
      const size_t n = std::min(beginning, losses.size());
      first_losses = summarize({losses.begin(), losses.begin() + int64_t(n)});
    }
    const Summary loss = summarize(losses);
    auto [dev_loss, dev_accuracy] =
        finite ? on_dev(model, data) : std::pair<double, double>(NAN, NAN);
    if (!std::isfinite(dev_loss)) dev_accuracy = NAN;  // the last step left the finite
    epochs.push_back(Json::object({{"mean", loss.mean},
                                   {"deviation", loss.deviation},
                                   {"batches", int64_t(losses.size())},
                                   {"dev_loss", dev_loss},
                                   {"dev_accuracy", dev_accuracy}}));
  }
  return Json::object({{"first", Json::object({{"mean", first_losses.mean},
                                               {"deviation", first_losses.deviation},
                                               {"batches", int64_t(beginning)}})},
                       {"epochs", Json::array(epochs)},
                       {"steps", Json::array_of(steps)},
                       {"loss", Json::array_of(loss_changes)},
                       {"gradient", Json::array_of(gradient_changes)},
                       {"entropy", data.entropy},
                       {"left_finite", finite ? Json() : Json(int64_t(epochs.size()))}});
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
