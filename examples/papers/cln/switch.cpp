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

std::string name_of_lambda(double lambda) { return "λ = " + float_text(lambda); }
Names names_of_lambdas() {
  Names all;
  for (const double lambda : lambdas) all.push_back(name_of_lambda(lambda));
  return all;
}

// The scores that count, on these dev rows. what: "λ = 2", "another task's", or "without 3", the norm
LongTable scores_of(const ClnRuns& runs, DevRows rows) {
  LongTable table({"what", "task", "seed", "score"});
  for (const int seed : runs.document.seeds())
    for (const Json& one : runs.result(cln_norms[1], seed)["switch"].items()) {
      std::string what = one["what"].string();
      if (what == "λ") what = name_of_lambda(one["at"].number());
      if (what == "without") what += formatted(" {}", one["at"].number());
      for (const DevSet& set : first_dev_sets(runs.tasks()))
        table(what, set.task.name, seed) = sound_dev_score(one[set.task.name], set, rows);
    }
  return table;
}

// A seed's mean over the tasks; none where one has no score
std::optional<double> mean_of(const ClnRuns& runs, const LongTable& scores, const std::string& what, int seed) {
  const Numbers all = scores.values({{"what", what}, {"seed", std::to_string(seed)}});
  return all.size() == runs.tasks().size() ? std::optional(summarize(all).mean) : std::nullopt;
}

// The λ whose mean is the largest, by the scores on the first half of the dev rows
std::string chosen(const ClnRuns& runs, const LongTable& scores, int seed) {
  const std::string best = std::ranges::max(names_of_lambdas(), {}, [&](const std::string& what) {
    return mean_of(runs, scores, what, seed).value_or(-INFINITY);
  });
  return mean_of(runs, scores, best, seed) ? best : "undefined";
}

// For the claims: on the second half of the dev rows, and also with the λ that the first one chooses
LongTable judged_values(const ClnRuns& runs, const LongTable& first_half) {
  const LongTable scores = scores_of(runs, DevRows::second_half);
  LongTable judged(scores.columns());
  for (const LongTable::Row& row : scores.rows())
    if (!row.keys[0].starts_with("without")) judged.add(row.keys, row.value);
  for (const int seed : runs.document.seeds()) {
    const LongTable with_it =
        scores.only({{"what", chosen(runs, first_half, seed)}, {"seed", std::to_string(seed)}});
    for (const LongTable::Row& row : with_it.rows()) judged("λ chosen", row.keys[1], seed) = row.value;
  }
  return judged;
}

// Of one task, x 100
Numbers scores_at(const LongTable& scores, const Task& task, const std::string& what) {
  Numbers all = scores.values({{"what", what}, {"task", task.name}});
  for (double& score : all) score *= points.factor;
  return all;
}
Curve curve_of(const LongTable& scores, const Task& task, const Names& whats) {
  Curve curve{.title = task.title, .style = Curve::Style::line_and_points};
  for (size_t i = 0; i < whats.size(); ++i) add_mean(curve, double(i), scores_at(scores, task, whats[i]));
  return curve;
}

// [CLN switch]
void show_switch(const ClnRuns& runs, ItemReport& report) {
  const LongTable table = scores_of(runs, DevRows::all), first_half = scores_of(runs, DevRows::first_half),
                  judged = judged_values(runs, first_half);
  report.csv(table);
  report.judge_by(judged, points);
  show_yardsticks(runs.document, runs.tasks(), report, {100, 2}, 0.5, switch_rows);
  Names rows = names_of_lambdas();
  rows.push_back("another task's");
  report.table("Dev scores, x 100, of the models with conditional LayerNorm", "γ_t and β_t times λ", rows,
               runs.tasks(), [&](const std::string& what, const Task& task) {
                 return defined_text(scores_at(table, task, what), size_t(runs.o.seeds), 2);
               });
  report.table("λ that one half of the dev rows chooses, and the mean of the tasks on the other half, x 100", "seed",
               runs.document.seeds(), Names{"chosen", "λ chosen", "λ = 1"}, [&](int seed, const std::string& column) {
                 if (column == "chosen") return chosen(runs, first_half, seed);
                 const auto mean = mean_of(runs, judged, column, seed);
                 return mean ? fixed(100 * *mean, 2) : "undefined";
               });
  report.figure("Each task's dev score with λγ_t and λβ_t in place of γ_t and β_t: 0 takes them away, 1 is the "
                "model as it was trained; mean and deviation over the seeds",
                runs.tasks(), [&](const Task& task) {
                  Names numbers;
                  for (const double lambda : lambdas) numbers.push_back(float_text(lambda));
                  return Panel{.title = task.title, .x_label = "λ", .y_label = "dev score, x 100",
                               .curves = {curve_of(table, task, names_of_lambdas())}, .x_names = numbers};
                }, {.columns = 3});
  Names without;                                    // norm by norm
  for (const Json& gain : runs.result(cln_norms[1], runs.o.seed)["gains"].items())
    if (gain["task"].string() == runs.tasks()[0].name) without.push_back(formatted("without {}", without.size()));
  Panel of_norms{.title = "γ_t = β_t = 0 in one norm", .x_label = "norm: 0 the embeddings', then two a layer",
                 .y_label = "dev score, x 100"};
  for (const Task& task : runs.tasks()) of_norms.curves.push_back(curve_of(table, task, without));
  report.figure({.title = "", .panels = {of_norms}}, "The same where one norm alone has no γ_t and β_t", "norms");
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
