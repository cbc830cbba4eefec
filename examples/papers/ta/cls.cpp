// The dimensions of [CLS] before fine-tuning: their means, their deviations, and what they say of the classes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/class_moments.h"
#include "papers/encoded_set.h"
#include "papers/ta/task_adaptation.h"

namespace minbert {
namespace {

// What one pass over the training set says of a dimension of h^l, and of h.
struct Dimensions {
  std::vector<double> mean, std, score;             // [H]; score: NaN where it is undefined
};

Json json_of(const ClassMoments& moments) {
  std::vector<double> score;
  for (const std::optional<double>& F : moments.fisher_score()) score.push_back(F.value_or(NAN));
  return Json::object().set("mean", Json::array_of(moments.mean())).set("std", Json::array_of(moments.deviation()))
      .set("score", Json::array_of(score));
}

Json measure(const TaskAdaptationOptions& o, const Task& task) {
  EncodedSet set(o, task, Split::train, Pooler::needed);
  const int64_t H = set.config().hidden_size;
  const int classes = task.kind == TaskKind::regression ? 1 : int(task.high) + 1;
  ClassMoments hl(H, classes), h(H, classes);
  set.for_each_batch([&](const Batch& batch, std::span<const int32_t> examples) {
    const BertOutput encoded = set.bert().forward(batch, cls_rows);
    std::vector<double> labels = minbert::labels(set.data(), examples);
    if (classes == 1) labels.assign(labels.size(), 0);
    hl.add(cls_at(cls_place::pre_pooler, encoded, set.data(), examples), labels);
    h.add(cls_at(place_in(set.config(), cls_place::pooled), encoded, set.data(), examples), labels);
  });
  return Json::object().set("hl", json_of(hl)).set("h", json_of(h));
}

class ClsItems {
 public:
  ClsItems(Document& document, const TaskAdaptationOptions& options) : document_(document), o_(options) {}
  std::vector<Run> measurements() const;
  void fig2(ItemReport& report) const;
  void eq1(ItemReport& report) const;
  void fig3(ItemReport& report) const;

 private:
  Run measurement(const Task& task) const;
  Dimensions measured(const Task& task, const std::string& where) const;
  std::string no_score(const Task& task) const;
  Document& document_;
  TaskAdaptationOptions o_;
};

Run ClsItems::measurement(const Task& task) const {
  Run run{"moments-" + task.name, document_.inputs(task), {}, 1};
  run.work = [o = o_, task](const std::string&) { return measure(o, task); };
  return run;
}

std::vector<Run> ClsItems::measurements() const {
  std::vector<Run> runs;
  for (const Task& task : document_.tasks()) runs.push_back(measurement(task));
  return runs;
}

Dimensions ClsItems::measured(const Task& task, const std::string& where) const {
  const Json result = document_.study().result(measurement(task))[where];
  return {result["mean"].numbers(), result["std"].numbers(), result["score"].numbers()};
}

// Why a task has no Fisher score at all; "": it has one.
std::string ClsItems::no_score(const Task& task) const {
  if (task.kind == TaskKind::regression)
    return task.title + " is a regression: without classes there is no Fisher score";
  const std::vector<double> score = measured(task, "h").score;
  if (std::ranges::any_of(score, [](double F) { return std::isfinite(F); })) return "";
  return task.title + ": no dimension has a Fisher score: the rows that were read are of one class, or [CLS] is the "
                      "same for all of a class";
}

// [TA fig.2]
void ClsItems::fig2(ItemReport& report) const {
  LongTable table({"task", "dimension", "mean"}), judged({"task", "what", "value"});
  Figure figure{.title = "", .columns = 2};
  std::vector<std::string> columns = {""};
  std::vector<ItemReport::TableRow> rows = {{"within -.5 .. .5", {}}, {"largest", {}}, {"its dimension", {}}};
  for (const Task& task : document_.tasks()) {
    const std::vector<double> mean = measured(task, "hl").mean;
    Curve bars{.title = "", .style = Curve::Style::bars};
    for (size_t j = 0; j < mean.size(); ++j) {
      table.add({task.name, std::to_string(j)}, mean[j]);
      bars.x.push_back(double(j));
      bars.y.push_back(mean[j]);
    }
    figure.panels.push_back({.title = task.title, .x_label = "dimension of h^l", .y_label = "mean", .curves = {bars}});
    const auto within = std::ranges::count_if(mean, [](double m) { return std::abs(m) <= 0.5; });
    const auto largest = std::ranges::max_element(mean, {}, [](double m) { return std::abs(m); });
    const double share = double(within) / double(mean.size());
    judged.add({task.name, "share within .5"}, share);
    judged.add({task.name, "half"}, 0.5);
    columns.push_back(task.title);
    rows[0].cells.push_back({"", fixed(100 * share, 1) + " %"});
    rows[1].cells.push_back({"", fixed(*largest, 2)});
    rows[2].cells.push_back({"", std::to_string(largest - mean.begin())});
  }
  report.csv(std::move(table));
  report.judge_by(std::move(judged));
  report.table("Mean of a dimension of h^l over the training set", columns, rows);
  report.figure(figure, "For each task, the mean of every dimension of h^l as a bar");
}

// [TA eq.1]
void ClsItems::eq1(ItemReport& report) const {
  LongTable table({"task", "dimension", "score"});
  std::vector<std::string> columns = {""};
  std::vector<ItemReport::TableRow> rows = {{"highest", {}}, {"its dimension", {}}, {"median", {}}, {"undefined", {}}};
  for (const Task& task : document_.tasks()) {
    const std::vector<double> score = measured(task, "h").score;
    std::vector<double> defined;
    for (size_t j = 0; j < score.size(); ++j) {
      table.add({task.name, std::to_string(j)}, finite(score[j]));
      if (std::isfinite(score[j])) defined.push_back(score[j]);
    }
    columns.push_back(task.title);
    if (const std::string why = no_score(task); !why.empty()) {
      for (ItemReport::TableRow& row : rows) row.cells.push_back({"", "undefined"});
      report.differs(why);
      continue;
    }
    const double highest = *std::ranges::max_element(defined);
    rows[0].cells.push_back({"", fixed(highest, 4)});
    rows[1].cells.push_back({"", std::to_string(std::ranges::find(score, highest) - score.begin())});
    rows[2].cells.push_back({"", fixed(median(defined), 4)});
    rows[3].cells.push_back({"", formatted("{} of {} dimensions", score.size() - defined.size(), score.size())});
  }
  report.csv(std::move(table));
  report.table("Fisher score of a dimension of h", columns, rows);
  report.caption("undefined: the dimension is constant within every class");
}

// The document's three types (sec.3.3), by a rule of ours.
std::string type_of(double correlation, double small) { return correlation >= 0.3 ? "3" : small >= 0.5 ? "1" : "2"; }

// [TA fig.3]
void ClsItems::fig3(ItemReport& report) const {
  LongTable table({"task", "rank", "dimension", "score", "std"}), judged({"task", "what", "value"});
  Figure figure{.title = "", .columns = 2};
  std::vector<std::string> columns = {""};
  std::vector<ItemReport::TableRow> rows = {{"rank correlation", {}}, {"small", {}}, {"type", {}}};
  for (const Task& task : document_.tasks()) {
    if (const std::string why = no_score(task); !why.empty()) {
      report.differs(why);
      continue;
    }
    const Dimensions h = measured(task, "h");
    std::vector<size_t> order(h.std.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::erase_if(order, [&](size_t j) { return !std::isfinite(h.score[j]); });
    std::ranges::stable_sort(order, std::greater(), [&](size_t j) { return h.score[j]; });
    Curve bars{.title = "", .style = Curve::Style::bars};
    std::vector<double> score, sigma;
    for (const size_t j : order) {
      table.add({task.name, std::to_string(score.size()), std::to_string(j), formatted("{}", h.score[j])}, h.std[j]);
      bars.x.push_back(double(score.size()));
      bars.y.push_back(h.std[j]);
      score.push_back(h.score[j]);
      sigma.push_back(h.std[j]);
    }
    figure.panels.push_back({.title = task.title, .x_label = "dimension of h, ordered by Fisher score",
                             .y_label = "standard deviation", .curves = {bars}});
    const double largest = *std::ranges::max_element(h.std), correlation = spearman(score, sigma).value_or(0);
    const auto below = std::ranges::count_if(h.std, [&](double s) { return s < largest / 10; });
    const double small = double(below) / double(h.std.size());
    judged.add({task.name, "rank correlation"}, correlation);
    judged.add({task.name, "zero"}, 0);
    judged.add({task.name, "share of small deviations"}, small);
    judged.add({task.name, "half"}, 0.5);
    columns.push_back(task.title);
    rows[0].cells.push_back({"", fixed(correlation, 2)});
    rows[1].cells.push_back({"", fixed(100 * small, 1) + " %"});
    rows[2].cells.push_back({"", type_of(correlation, small)});
  }
  report.csv(std::move(table));
  report.judge_by(std::move(judged));
  report.table("Which of the document's three types a data set is", columns, rows);
  report.figure(figure, "For each task, the standard deviation of every dimension of h; the dimension with the highest "
                        "Fisher score stands left");
  report.caption("rank correlation: of score and deviation; small: the share of the dimensions with a deviation under "
                 "a tenth of the largest. Type 3, what varies more tells more: a rank correlation of .3 or more; else "
                 "type 1, few dimensions vary: half or more are small; else type 2, all vary, whatever they tell");
  report.differs("the document names the types by eye; the numbers and the rule are ours");
}

}  // namespace

std::vector<Item> ta_cls_items(Document& document, const TaskAdaptationOptions& options) {
  const auto items = std::make_shared<ClsItems>(document, options);
  const auto runs = [items] { return items->measurements(); };
  return {{"fig2", "Mean of every dimension of h^l", runs, [=](ItemReport& r) { items->fig2(r); }},
          {"eq1", "Fisher score of every dimension of h", runs, [=](ItemReport& r) { items->eq1(r); }},
          {"fig3", "Deviation of every dimension of h, ordered by Fisher score", runs,
           [=](ItemReport& r) { items->fig3(r); }}};
}

}  // namespace minbert
