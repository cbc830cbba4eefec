// One training step with each kind of normalization, drawn from the tape: where forward and
// backward change.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "engine/tape.h"
#include "engine/text.h"
#include "minbert/model.h"
#include "minbert/trainer.h"
#include "papers/encoded_set.h"
#include "papers/statistics/sizes.h"
#include "papers/ta/task_adaptation.h"
#include "report/svg.h"

namespace minbert {
namespace {

using Operations = std::vector<Trace::Operation>;

// One step of the real model without dropout, from [CLS] on: index_select takes [CLS] from the last
// hidden states.
Operations trace_step(const TaOptions& o, const Task& task, const TaMethod& method) {
  const std::string folder = model_folder(o.model);
  const BertConfig saved = BertConfig::load(folder + "/config.json");
  BertConfig config = saved;
  config.cls_norm = method.cls_norm;
  config.cls_norm_at = config.cls_norm == "none" ? ClsPlace::per_method : o.cls_norm_at;
  config.tasks = {task.name};
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0;
  Model model(config, uint64_t(o.seed), true, heads_of({task}), 0.0);
  require_pooler(load_weights(folder, model.parameters, &saved), saved, o.model);
  BertModel& bert = model.network.bert();
  bert.normalize_gradients(method.grad_norm, o.cls_norm_at);
  const Tokenizer tokenizer = tokenizer_of(folder, config);
  DatasetOptions reading = o.dataset_options(config.max_tokens());
  reading.limit = 32;
  const Dataset data = read_set(o.data, task, Split::train, 0, tokenizer, reading, std::cerr);
  std::vector<int32_t> all(data.examples.size());
  std::iota(all.begin(), all.end(), 0);
  const auto [batch, labels] = labeled(data, all, {0});
  if (bert.cls_norm().wants_set()) {
    bert.cls_norm().fit(bert.cls_before_norm(batch));
    bert.cls_norm().finish_fit();
  }
  model.network.train(true);
  const Trace trace;
  backward(task_loss(task, model.network.forward(batch, 0), labels));
  const Operations& steps = trace.operations();
  size_t cls = steps.size() - 1;
  while (steps[cls].name != "index_select" || steps[cls].module != "bert") --cls;
  return {steps.begin() + int64_t(cls), steps.end()};
}

// For each operation from [CLS] on, how far its result and the gradient of that are from those of
// the step without a method. An operation that the method adds has no counterpart there; it is
// compared with the operation before it, whose result the next one would read without the method.
Json compared(const Operations& steps, const Operations& plain) {
  Json::Array all;
  const Trace::Operation* before = nullptr;  // [CLS] itself is the first operation of both
  for (const Trace::Operation& step : steps) {
    const auto same = std::ranges::find_if(plain, [&](const Trace::Operation& other) {
      return other.name == step.name && other.module == step.module;
    });
    if (same != plain.end()) before = &*same;
    all.push_back(Json::object({
        {"name", step.name},
        {"module", step.module},
        {"forward", relative_distance(step.result, before->result)},
        {"backward", relative_distance(step.result.grad(), before->result.grad())},
        {"added", same == plain.end()}}));
  }
  return Json::array(all);
}

// How unequal the gradients of the dimensions are: the deviation of mean |g| over the dimensions of
// [CLS], by its mean. At the operation that gradient normalization stands behind, by the steps with it.
double inequality(const Operations& steps, const Operations& normalized) {
  size_t place = 0;
  while (normalized[place + 1].name != "normalize_gradient") ++place;
  const Tensor g = steps[place].result.grad();
  const std::vector<real> all = g.values();
  const size_t H = size_t(g.cols());
  Numbers mu(H);
  for (size_t k = 0; k < all.size(); ++k) mu[k % H] += std::abs(double(all[k]));
  double mean = 0, variance = 0;
  for (const double m : mu) mean += m / double(H);
  for (const double m : mu) variance += (m - mean) * (m - mean) / double(H);
  return std::sqrt(variance) / mean;
}

// Rounding moves the last bits of a sum; a method moves much more.
bool changed(double difference) { return !(difference < 1e-4); }
std::string shown(double difference) {
  return changed(difference) ? fixed(100 * difference, difference < 0.01 ? 2 : 0) + " %" : "same";
}

// A column of boxes, one for each operation; beside each an arrow down for its result and one up
// for the gradient.
class StepDrawing {
 public:
  void column(const std::string& title, const Json::Array& steps) {
    svg_.text(width_ + 110, 20, title, {.weight = "bold"});
    double y = 34;
    for (const Json& s : steps) {
      svg_.box(width_ + 28, y, 164, 38, s["added"].boolean() ? "#fff2cc" : "#fff", "#444", 5);
      svg_.text(width_ + 110, y + 16, s["name"].string(), {.weight = "bold"});
      svg_.text(width_ + 110, y + 31, s["module"].string(), {.size = 10});
      arrow(width_ + 70, y + 38, y + 78, s["forward"].number());
      arrow(width_ + 150, y + 78, y + 38, s["backward"].number());
      y += 80;
    }
    height_ = std::max(height_, y + 8);
    width_ += 230;
  }
  std::string picture() const { return svg_.picture(width_, height_); }

 private:
  void arrow(double x, double from, double to, double change) {
    const bool down = to > from;
    const char* color = changed(change) ? "#D55E00" : "#767676";
    svg_.stroke(point('M', x, from) + point('L', x, to), color, changed(change) ? 2.5 : 1.2);
    svg_.fill(point('M', x, to) + (down ? "l-5 -8h10z" : "l-5 8h10z"), color);
    svg_.text(down ? x - 8 : x + 8, (from + to) / 2 + 4, shown(change),
              {.size = 11, .anchor = down ? "end" : "start", .color = color});
  }
  Svg svg_;
  double width_ = 0, height_ = 0;
};

Run tracing(const TaRuns& ta) {
  const Task task = ta.document.tasks().front();
  const auto trace = [o = ta.o, task](const std::string&) {
    const Operations plain = trace_step(o, task, ta_methods[0]);
    Json result = Json::object(), unequal = Json::object();
    for (const TaMethod& method : ta_methods) {
      const Operations steps = trace_step(o, task, method);
      result.set(method.title, compared(steps, plain));
      if (method.grad_norm == 0) continue;
      unequal.set("0", inequality(plain, steps));
      unequal.set(formatted("{}", method.grad_norm), inequality(steps, steps));
    }
    return result.set("unequal", unequal);
  };
  return ta.document.run_on(
      task, "tape", 0.5,
      {{"seed", std::to_string(ta.o.seed)}, {"cls-norm-at", name_of(ta.o.cls_norm_at)}, {"unequal", "0,.5,1"}},
      trace);
}

// [TA fig.4] [TA sec.4.3]
void fig4(const TaRuns& ta, ItemReport& report) {
  const Json result = ta.document.result(tracing(ta));
  const Task& task = ta.document.tasks().front();
  LongTable table({"task", "method", "step", "operation", "module", "direction", "change"});
  // The largest change of an operation that both steps have
  LongTable evidence({"task", "method", "direction", "change"});
  for (const TaMethod& method : ta_methods)
    for (const char* direction : {"forward", "backward"}) {
      double largest = 0;
      for (size_t i = 0; const Json& s : result[method.title].items()) {
        const double change = s[direction].number();
        table(task.name, method.title, i++, s["name"].string(), s["module"].string(), direction) =
            change;
        if (!s["added"].boolean()) largest = std::max(largest, change);
      }
      evidence(task.name, method.title, direction) = largest;
    }
  for (const auto& [alpha, unequal] : result["unequal"].members())
    evidence(task.name, "alpha " + alpha, "unequal") = unequal.number();
  StepDrawing drawing;
  drawing.column("without", result["none"].items());
  drawing.column("embedding normalization (l2)", result["l2"].items());
  drawing.column("gradient normalization (α = 1)", result["gradient-1"].items());
  report.csv(table);
  report.judge_by(evidence);
  report.table("Gradient normalization of strength α: how unequal the dimensions' gradients are, the "
               "deviation of mean |g| over the dimensions by its mean", "α", Names{"0", "0.5", "1"},
               Names{"deviation / mean"}, [&](const std::string& alpha, const std::string&) {
                 return fixed(result["unequal"][alpha].number(), 4);
               });
  report.picture(
      drawing.picture(),
      "One step from [CLS] to the loss, without a method, with embedding normalization and with "
      "gradient normalization: the operations on the tape; left of each the change of its result, "
      "right of it the change of its gradient");
  report.caption(formatted("on 32 examples of {}, evenly spaced, without dropout", task.title));
}

}  // namespace

Item ta_tape_item(const TaRuns& ta) {
  return {"fig4", [ta] { return std::vector{tracing(ta)}; },
          std::bind_front(fig4, ta)};
}

}  // namespace minbert
