// What a trained model scores with more, with less and with other task parameters.
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "papers/cln/cln.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

const Numbers lambdas = {0, 0.5, 1, 2, 4, 8, 16};
constexpr size_t switch_rows = 1000;                // of each dev set, at most

// γ_t and β_t of every norm, as they were learnt, and in the model whatever is set.
class TaskParameters {
 public:
  explicit TaskParameters(const Parameters& parameters) {
    for (const Parameter& p : parameters.items())
      if (p.name.ends_with(".task_weight") || p.name.ends_with(".task_bias")) all_.push_back({p.value,
                                                                                              p.value.values()});
  }
  ~TaskParameters() { set(1); }
  TaskParameters(const TaskParameters&) = delete;
  TaskParameters& operator=(const TaskParameters&) = delete;

  size_t norms() const { return all_.size() / 2; }
  // λ times the rows of each task, or of the task `shift` after it; without: of this norm none.
  void set(double lambda, size_t shift = 0, std::optional<size_t> without = {}) const {
    for (size_t i = 0; i < all_.size(); ++i) {
      const auto& [value, learnt] = all_[i];
      const size_t H = size_t(value.cols());
      const double factor = without && *without == i / 2 ? 0 : lambda;
      std::vector<real> rows(learnt.size());
      for (size_t e = 0; e < rows.size(); ++e)
        rows[e] = real(factor * double(learnt[(e + shift * H) % rows.size()]));
      value.copy_from(rows);
    }
  }

 private:
  std::vector<std::pair<Tensor, std::vector<real>>> all_;     // γ_t and β_t of a norm stand together
};

Dataset evenly(const Dataset& all, size_t most) {
  Dataset some{all.file, {}, 0};
  const size_t n = all.examples.size(), rows = std::min(n, most);
  for (size_t i = 0; i < rows; ++i) some.examples.push_back(all.examples[i * n / rows]);
  return some;
}

std::optional<double> mean_of(const ClnRuns& runs, const Json& switched, DevRows rows) {
  return mean_of_tasks(runs.tasks(), [&](const Task& task) { return switched[task.name]; }, rows);
}

// The λ whose mean is the largest on the first half of the dev rows.
Json chosen(const ClnRuns& runs, const Json& all) {
  Json best;
  double most = -INFINITY;
  for (const Json& one : all.items()) {
    if (one["what"].string() != "λ") continue;
    const double mean = mean_of(runs, one, DevRows::first_half).value_or(-INFINITY);
    if (mean > most) most = mean, best = one;
  }
  return best;
}

Json with_lambda(const Json& all, double lambda) {
  for (const Json& one : all.items())
    if (one["what"].string() == "λ" && one["at"].number() == lambda) return one;
  return {};
}

struct SwitchRow {
  std::string what, title;
  double at = 0;
};
std::vector<SwitchRow> rows_of_lambda() {
  std::vector<SwitchRow> rows;
  for (const double lambda : lambdas) rows.push_back({"λ", "λ = " + float_text(lambda), lambda});
  rows.push_back({"another task's", "another task's rows"});
  return rows;
}

// All scores of one task that count, x 100.
Numbers scores_at(const ClnRuns& runs, const Task& task, const SwitchRow& row) {
  Numbers all;
  for (const int seed : runs.document.seeds())
    for (const Json& one : runs.result(cln_norms[1], seed)["switch"].items())
      if (one["what"].string() == row.what && one["at"].number() == row.at)
        if (const auto score = sound_dev_score(one[task.name], first_dev_sets({task})[0])) all.push_back(100 * *score);
  return all;
}

LongTable judged_values(const ClnRuns& runs) {
  LongTable judged({"what", "task", "seed", "score"});
  for (const int seed : runs.document.seeds()) {
    const Json all = runs.result(cln_norms[1], seed)["switch"];
    const auto add = [&](const std::string& what, const Json& one) {
      for (const DevSet& set : first_dev_sets(runs.tasks()))
        judged(what, set.task.name, seed) = sound_dev_score(one[set.task.name], set, DevRows::second_half);
    };
    for (const Json& one : all.items())
      if (one["what"].string() == "another task's") add("another task's", one);
      else if (one["what"].string() == "λ") add("λ = " + float_text(one["at"].number()), one);
    if (const Json best = chosen(runs, all); best.is_object()) add("λ chosen", best);
  }
  return judged;
}

// The task's scores by λ
Panel panel_of(const ClnRuns& runs, const Task& task) {
  Panel panel{.title = task.title, .x_label = "λ", .y_label = "dev score, x 100"};
  Curve curve{.title = task.title, .style = Curve::Style::line_and_points};
  for (size_t i = 0; i < lambdas.size(); ++i) {
    add_mean(curve, double(i), scores_at(runs, task, {"λ", "", lambdas[i]}));
    panel.x_names.push_back(float_text(lambdas[i]));
  }
  panel.curves = {curve};
  return panel;
}

// The scores where one norm has no γ_t and β_t, by the norm
Panel panel_of_norms(const ClnRuns& runs) {
  Panel panel{.title = "γ_t = β_t = 0 in one norm", .x_label = "norm: 0 the embeddings', then two a layer",
              .y_label = "dev score, x 100"};
  int64_t norms = 0;
  for (const Json& one : runs.result(cln_norms[1], runs.o.seed)["switch"].items())
    norms += one["what"].string() == "without";
  for (const Task& task : runs.tasks()) {
    Curve curve{.title = task.title, .style = Curve::Style::line_and_points};
    for (int64_t norm = 0; norm < norms; ++norm)
      add_mean(curve, double(norm), scores_at(runs, task, {"without", "", double(norm)}));
    panel.curves.push_back(curve);
  }
  return panel;
}

// Which λ one half of the dev rows chooses, and what it scores on the other
void show_chosen(const ClnRuns& runs, ItemReport& report) {
  const auto text = [](const std::optional<double>& mean) { return mean ? fixed(100 * *mean, 2) : "undefined"; };
  report.table("λ that one half of the dev rows chooses, and the mean of the tasks on the other half, x 100", "seed",
               runs.document.seeds(), Names{"chosen λ", "with it", "λ = 1"}, [&](int seed, const std::string& column) {
                 const Json all = runs.result(cln_norms[1], seed)["switch"], best = chosen(runs, all);
                 if (!best.is_object()) return std::string("undefined");
                 if (column == "chosen λ") return float_text(best["at"].number());
                 return text(mean_of(runs, column == "with it" ? best : with_lambda(all, 1),
                                           DevRows::second_half));
               });
}

// [CLN switch]
void show_switch(const ClnRuns& runs, ItemReport& report) {
  LongTable table({"what", "at", "task", "seed", "score"});
  for (const int seed : runs.document.seeds())
    for (const Json& one : runs.result(cln_norms[1], seed)["switch"].items())
      for (const DevSet& set : first_dev_sets(runs.tasks()))
        table(one["what"].string(), float_text(one["at"].number()), set.task.name, seed) =
            sound_dev_score(one[set.task.name], set);
  report.csv(table);
  report.judge_by(judged_values(runs), points);
  show_yardsticks(runs.document, runs.tasks(), report, {100, 2}, 0.5, switch_rows);
  report.table("Dev scores, x 100, of the models with conditional LayerNorm", "γ_t and β_t times λ", rows_of_lambda(),
               runs.tasks(), [&](const SwitchRow& row, const Task& task) {
                 return defined_text(scores_at(runs, task, row), size_t(runs.o.seeds), 2);
               });
  show_chosen(runs, report);
  report.figure("Each task's dev score with λγ_t and λβ_t in place of γ_t and β_t: 0 takes them away, 1 is the "
                "model as it was trained; mean and deviation over the seeds",
                runs.tasks(), std::bind_front(panel_of, runs), {.columns = 3});
  report.figure({.title = "", .panels = {panel_of_norms(runs)}}, "The same where one norm alone has no γ_t and β_t",
                "norms");
}

}  // namespace

Json switched(TrainedModel& trained, const std::vector<TaskData>& data) {
  const TaskParameters task_parameters(trained.model.parameters);
  std::vector<std::vector<Dataset>> dev;
  for (const TaskData& d : data) {
    dev.emplace_back();
    for (const Dataset& set : d.dev) dev.back().push_back(evenly(set, switch_rows));
  }
  Json::Array all;
  const auto add = [&](const char* what, double at) {
    Json one = Json::object({{"what", what}, {"at", at}});
    for (size_t i = 0; i < data.size(); ++i)
      one.set(data[i].task.name, dev_scores(data[i].task, dev[i],
                                            predict(trained.model.network, data[i].task, dev[i])));
    all.push_back(one);
  };
  for (const double lambda : lambdas) {
    task_parameters.set(lambda);
    add("λ", lambda);
  }
  task_parameters.set(1, 1);
  add("another task's", 0);
  for (size_t norm = 0; norm < task_parameters.norms(); ++norm) {
    task_parameters.set(1, 0, norm);
    add("without", double(norm));
  }
  return Json::array(all);
}

Item switch_item(const ClnRuns& runs) {
  return {"switch", both(yardstick_runs(runs.document, runs.tasks()), [runs] { return runs.all(); }),
          std::bind_front(show_switch, runs)};
}

}  // namespace minbert
