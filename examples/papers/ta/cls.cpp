// The dimensions of [CLS] before fine-tuning: their means, their deviations, and what they say of
// the classes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "minbert/ops.h"
#include "papers/encoded_set.h"
#include "papers/statistics/class_moments.h"
#include "papers/ta/task_adaptation.h"

namespace minbert {
namespace {

template <class Condition>
double share_of(const Numbers& values, const Condition& condition) {
  return double(std::ranges::count_if(values, condition)) / double(values.size());
}
double share_within(const Numbers& means) {         // [TA fig.2]
  return share_of(means, [](double m) { return std::abs(m) <= 0.5; });
}

// What one pass over the training set says of each dimension: the mean of h^l, deviation and score of h.
Json moments_result(const TaOptions& o, const Task& task) {
  EncodedSet set(o, task, Split::train, ClsPlace::pooled);
  const int classes = task.kind == TaskKind::regression ? 1 : task.classes();
  const auto [hl, h] = set.cls(set.all());
  Numbers labels;
  for (const Example& example : set.data().examples) labels.push_back(classes == 1 ? 0 : example.label);
  const ClassMoments of_all = class_moments(h, labels, classes);
  const auto first = size_t(std::ranges::max_element(of_all.deviation) - of_all.deviation.begin());
  const auto of_rows = [&](const std::vector<int32_t>& rows, int) {
    Numbers some;
    for (const int32_t row : rows) some.push_back(labels[size_t(row)]);
    const ClassMoments of_h = class_moments(index_select(h, rows), some, classes);
    Statistics all = deviation_statistics(of_h.score, of_h.deviation, first);
    all["share within .5"] = share_within(class_moments(index_select(hl, rows), some, classes).mean);
    return all;
  };
  return Json::object({{"mean", Json::array_of(class_moments(hl, labels, classes).mean)},
                       {"std", Json::array_of(of_all.deviation)},
                       {"score", Json::array_of(of_all.score)},
                       {"samples", resampled(h.rows(), {o.resamples(), uint64_t(o.seed), task.name}, of_rows)}});
}

Run moments_run(const TaRuns& ta, const Task& task) {
  Run run = ta.document.run_on(task, "moments", 1,
                               {{"resamples", std::to_string(ta.o.resamples())}, {"seed", std::to_string(ta.o.seed)}},
                               [o = ta.o, task](const std::string&) { return moments_result(o, task); });
  run.version = 3;                                  // 3: three lists
  return run;
}
// A statistic of the rows as they are, and of the rows drawn again
Numbers samples(const TaRuns& ta, const Task& task, const std::string& name) {
  return ta.document.result(moments_run(ta, task))["samples"][name].numbers();
}
// Evidence of such statistics, beside constants that claims compare them with
struct SampleEvidence {
  const TaRuns& ta;
  LongTable table = LongTable({"task", "what", "sample", "value"});
  void add(const Task& task, const std::string& name) { add_samples(table, {task.name, name},
                                                                    samples(ta, task, name)); }
};
// "mean" [H] of h^l; "std" or "score" of h
Numbers moments(const TaRuns& ta, const Task& task, const char* what) {
  return ta.document.result(moments_run(ta, task))[what].numbers();
}

bool is_finite(double v) { return std::isfinite(v); }

// Why a task has no Fisher score at all; "": it has one.
std::string no_score(const TaRuns& ta, const Task& task) {
  if (task.kind == TaskKind::regression)
    return task.title + " is a regression: without classes there is no Fisher score";
  if (std::ranges::any_of(moments(ta, task, "score"), is_finite)) return "";
  return task.title +
         ": no dimension has a Fisher score: the rows that were read are of one class, or [CLS] is "
         "the same for all of a class";
}
// The tasks that have one. The report says of the others why not.
std::vector<Task> tasks_with_score(const TaRuns& ta, ItemReport& report) {
  std::vector<Task> tasks;
  for (const Task& task : ta.document.tasks())
    if (const std::string why = no_score(ta, task); why.empty())
      tasks.push_back(task);
    else
      report.differs(why);
  return tasks;
}

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

Panel bars(const Task& task, const char* x_label, const char* y_label, const Numbers& y) {
  return {.title = task.title,
          .x_label = x_label,
          .y_label = y_label,
          .curves = {numbered("", y, 0, Curve::Style::bars)}};
}

// [TA fig.2]
void fig2(const TaRuns& ta, ItemReport& report) {
  LongTable table({"task", "dimension", "mean"});
  SampleEvidence evidence{ta};
  const auto draw_means = [&](const Task& task) {
    const Numbers mean = moments(ta, task, "mean");
    for (int j = 0; const double m : mean) table(task.name, j++) = m;
    evidence.add(task, "share within .5");
    return bars(task, "dimension of h^l", "mean", mean);
  };
  report.figure("For each task, the mean of every dimension of h^l as a bar", ta.document.tasks(),
                draw_means, {.columns = 2, .shared_y = true});
  const auto describe_means = [&](const std::string& row, const Task& task) {
    const Numbers mean = moments(ta, task, "mean");
    const auto largest = std::ranges::max_element(mean, {}, [](double m) { return std::abs(m); });
    if (row == "largest") return fixed(*largest, 2);
    return row == "its dimension" ? std::to_string(largest - mean.begin())
                                  : percent(share_within(mean));
  };
  report.table("Mean of a dimension of h^l over the training set", "",
               Names{"within -.5 .. .5", "largest", "its dimension"}, ta.document.tasks(),
               describe_means);
  report.csv(table);
  report.judge_by(evidence.table, {100, 1, "%"});
}

// [TA eq.1]
void eq1(const TaRuns& ta, ItemReport& report) {
  tasks_with_score(ta, report);
  LongTable table({"task", "dimension", "score"});
  for (const Task& task : ta.document.tasks())
    for (int j = 0; const double F : moments(ta, task, "score"))
      table(task.name, j++) = finite(F);
  report.table("Fisher score of a dimension of h", "",
               Names{"highest", "its dimension", "median", "no score: constant within every class"},
               ta.document.tasks(),
               [&](const std::string& row, const Task& task) -> std::string {
                 const Numbers score = moments(ta, task, "score"),
                               defined = table.values({{"task", task.name}});
                 if (!no_score(ta, task).empty()) return "undefined";
                 const double highest = std::ranges::max(defined);
                 if (row == "highest") return fixed(highest, 4);
                 if (row == "its dimension")
                   return std::to_string(std::ranges::find(score, highest) - score.begin());
                 if (row == "median") return fixed(median(defined), 4);
                 return formatted("{} of {} dimensions", score.size() - defined.size(),
                                  score.size());
               });
  report.csv(table);
}

// The dimensions that have a score, the highest first
std::vector<size_t> by_score(const Numbers& score) {
  std::vector<size_t> order(score.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::erase_if(order, [&](size_t j) { return !std::isfinite(score[j]); });
  std::ranges::stable_sort(order, std::greater(), [&](size_t j) { return score[j]; });
  return order;
}

// The document's three types (sec.3.3), by a rule of ours.
std::string type_of(double correlation, double small) {
  return correlation >= 0.3 ? "3" : small >= 0.5 ? "1" : "2";
}

// [TA fig.3]
void fig3(const TaRuns& ta, ItemReport& report) {
  LongTable table({"task", "rank", "dimension", "score", "std"});
  SampleEvidence evidence{ta};
  const std::vector<Task> tasks = tasks_with_score(ta, report);
  const Names statistics = {"rank correlation", "small", "large and important", "largest variance by the next",
                            "its score", "median score"};
  const auto draw_deviations = [&](const Task& task) {
    const Numbers score = moments(ta, task, "score"), sigma = moments(ta, task, "std");
    Numbers ranked;
    for (const size_t j : by_score(score)) {
      table(task.name, ranked.size(), j, score[j]) = sigma[j];
      ranked.push_back(sigma[j]);
    }
    for (const std::string& name : statistics) evidence.add(task, name);
    return bars(task, "dimension of h, ordered by Fisher score", "standard deviation", ranked);
  };
  report.figure(
      "For each task, the standard deviation of every dimension of h; the dimension with the "
      "highest Fisher score stands left",
      tasks, draw_deviations, {.columns = 2, .shared_y = true});
  const auto describe_type = [&](const std::string& row, const Task& task) -> ItemReport::Cell {
    const auto value = [&](const std::string& what) { return samples(ta, task, what)[0]; };
    if (row != "type" && !is_finite(value(row))) return {"", "undefined"};
    if (row == "small" || row == "large and important") return {"", percent(value(row))};
    if (row != "type") return {"", fixed(value(row), row == "its rank by score" ? 0 : 2)};
    ItemReport::Cell cell{"", type_of(value("rank correlation"), value("small"))};
    for (const double type : report.printed().values({{"task", task.name}}))
      cell.printed = fixed(type, 0);
    return cell;
  };
  report.table("Which of the document's three types a data set is", "",
               Names{"rank correlation", "small", "type", "large and important",
                     "largest variance by the next", "its rank by score"},
               tasks, describe_type);
  report.csv(table);
  report.judge_by(evidence.table);
}

}  // namespace

// Whether large variances are of important dimensions [TA sec.3.3]: of the tenth of the dimensions
// that vary most, the share that is in the tenth with the highest scores; and of dimension `first`, which varies most
// in all rows, its variance beside that of the next one, and its score beside the median.
Statistics deviation_statistics(const Numbers& score, const Numbers& sigma, size_t first) {
  const std::vector<size_t> order = by_score(score);
  if (order.empty()) return {};
  Numbers ranked_score, ranked;                     // in the order of the scores, which falls
  for (const size_t j : order) ranked_score.push_back(score[j]), ranked.push_back(sigma[j]);
  std::vector<size_t> by_sigma(ranked.size());
  std::iota(by_sigma.begin(), by_sigma.end(), size_t(0));
  std::ranges::stable_sort(by_sigma, std::greater(), [&](size_t rank) { return ranked[rank]; });
  const size_t tenth = std::max<size_t>(1, ranked.size() / 10);
  const auto important = std::count_if(by_sigma.begin(), by_sigma.begin() + int64_t(tenth),
                                       [=](size_t rank) { return rank < tenth; });
  double largest = 0, next = 0;                     // of all, and of all but the first
  for (size_t j = 0; j < sigma.size(); ++j) {
    largest = std::max(largest, sigma[j]);
    if (j != first) next = std::max(next, sigma[j]);
  }
  const auto rank = std::ranges::find(order, first);
  return {{"rank correlation", spearman(ranked_score, ranked).value_or(NAN)},
          {"small", share_of(sigma, [=](double s) { return s < largest / 10; })},
          {"large and important", double(important) / double(tenth)},
          {"largest variance by the next", std::pow(sigma[first] / next, 2)},
          {"its score", score[first]},
          {"median score", median(ranked_score)},
          {"its rank by score", rank == order.end() ? NAN : double(rank - order.begin() + 1)}};
}

std::vector<Item> ta_cls_items(const TaRuns& ta) {
  const RunGrid runs(std::bind_front(moments_run, ta), ta.document.tasks());
  return {
      {"fig2", runs, std::bind_front(fig2, ta)},
      {"eq1", runs, std::bind_front(eq1, ta)},
      {"fig3", runs, std::bind_front(fig3, ta)}};
}

}  // namespace minbert
