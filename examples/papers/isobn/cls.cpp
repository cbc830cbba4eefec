// IsoBN's figures and tables of [CLS]: its deviations, its correlations, and the share of the variance that the first
// directions have, before and behind a normalization.
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "papers/encoded_set.h"
#include "papers/isobn/isobn.h"

namespace minbert {
namespace {

class ClsItems {
 public:
  ClsItems(Document& document, const IsoBnOptions& options) : document_(document), o_(options) {
    o_.cls_norm_at = place_in(BertConfig::load(model_folder(options.model) + "/config.json"), options.cls_norm_at);
  }
  std::vector<Run> measurements() const;
  void deviations(ItemReport& report) const;
  void fig1(ItemReport& report) const;
  void correlated(ItemReport& report) const;
  void fig2(ItemReport& report) const;
  void fig3(ItemReport& report) const;
  void tab2(ItemReport& report, const std::vector<std::string>& norms) const;
  void fig4(ItemReport& report) const;

 private:
  Run measurement(const Task& task) const;
  Json measured(const Task& task) const { return document_.study().result(measurement(task)); }
  Matrix correlations(const Task& task, const std::vector<double>& order) const;
  LongTable deviation_table() const;
  std::string place() const {
    return o_.cls_norm_at == cls_place::pooled ? "[CLS] behind the pooler's tanh" : "[CLS] before the pooler";
  }

  Document& document_;
  IsoBnOptions o_;
};

Run ClsItems::measurement(const Task& task) const {
  Run run{"cls-" + task.name, document_.inputs(task), {}, 1};
  run.options["cls-norm-at"] = o_.cls_norm_at;
  run.options["ev"] = "tab2,eq3,eq5,alg1";          // a result that lacks one of them is another run's
  run.work = [o = o_, task](const std::string& folder) { return measure_cls(o, task, folder); };
  return run;
}

std::vector<Run> ClsItems::measurements() const {
  std::vector<Run> runs;
  for (const Task& task : document_.tasks()) runs.push_back(measurement(task));
  return runs;
}

// |ρ|, with the dimensions in this order.
Matrix ClsItems::correlations(const Task& task, const std::vector<double>& order) const {
  const std::vector<real> rho =
      SafeTensors(document_.study().folder(measurement(task)) + "/correlation.safetensors").read("rho");
  Matrix matrix;
  for (const double i : order) {
    matrix.emplace_back();
    for (const double j : order) matrix.back().push_back(std::abs(double(rho[size_t(i) * order.size() + size_t(j)])));
  }
  return matrix;
}

LongTable ClsItems::deviation_table() const {
  LongTable table({"task", "dimension", "std"});
  for (const Task& task : document_.tasks())
    for (size_t i = 0; const double sigma : measured(task)["std"].numbers())
      table.add({task.name, std::to_string(i++)}, sigma);
  return table;
}

// [IsoBN sec.2.1]
void ClsItems::deviations(ItemReport& report) const {
  std::vector<std::string> columns = {""};
  std::vector<ItemReport::TableRow> rows = {{"least", {}}, {"median", {}}, {"most", {}}, {"constant dimensions", {}}};
  for (const Task& task : document_.tasks()) {
    const std::vector<double> sigma = measured(task)["std"].numbers();
    columns.push_back(task.title);
    const auto [least, most] = std::minmax_element(sigma.begin(), sigma.end());
    rows[0].cells.push_back({"", formatted("{}", *least)});
    rows[1].cells.push_back({"", formatted("{}", median(sigma))});
    rows[2].cells.push_back({"", formatted("{}", *most)});
    rows[3].cells.push_back({"", formatted("{} of {}", std::count(sigma.begin(), sigma.end(), 0.0), sigma.size())});
  }
  report.csv(deviation_table());
  report.table("Standard deviation of a dimension", columns, rows);
  report.caption(place());
}

// [IsoBN fig.1]
void ClsItems::fig1(ItemReport& report) const {
  Figure figure{.title = "", .columns = 2};
  for (const Task& task : document_.tasks()) {
    Panel panel{.title = task.title, .x_label = "standard deviation", .y_label = "dimensions", .log_x = true};
    panel.curves.push_back(histogram("", measured(task)["std"].numbers(), 30, true));
    figure.panels.push_back(panel);
  }
  report.csv(deviation_table());
  report.figure(figure, "For each task, the number of dimensions by their standard deviation, on a logarithmic axis");
  report.caption(place());
}

// [IsoBN sec.2.2]
void ClsItems::correlated(ItemReport& report) const {
  LongTable table({"task", "measure", "value"});
  std::vector<std::string> columns = {""};
  std::vector<ItemReport::TableRow> rows = {{"dimensions with 2 or more others above .8", {}}, {"pairs above .8", {}}};
  for (const Task& task : document_.tasks()) {
    const Json result = measured(task);
    const std::vector<double> order = result["order"].numbers();
    const Matrix rho = correlations(task, order);
    double above = 0;
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = 0; j < order.size(); ++j) above += i != j && rho[i][j] > 0.8;
    const double share = above / (double(order.size()) * double(order.size() - 1));
    table.add({task.name, "dimensions"}, double(result["alike"].integer()));
    table.add({task.name, "pairs"}, share);
    columns.push_back(task.title);
    rows[0].cells.push_back({"", formatted("{} of {}", result["alike"].integer(), order.size())});
    rows[1].cells.push_back({"", fixed(100 * share, 1) + " %"});
  }
  report.csv(std::move(table));
  report.table("Correlated dimensions", columns, rows);
  report.caption(place());
  report.differs("the document shows its matrices and gives no numbers; these are ours");
}

// [IsoBN fig.2]
void ClsItems::fig2(ItemReport& report) const {
  LongTable table({"task", "row", "dimension", "column", "value"});
  Figure figure{.title = "", .columns = 2};
  for (const Task& task : document_.tasks()) {
    const std::vector<double> order = measured(task)["order"].numbers();
    const Matrix rho = correlations(task, order);
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = 0; j < order.size(); ++j)
        table.add({task.name, std::to_string(i), std::to_string(int(order[i])), std::to_string(j)}, rho[i][j]);
    Panel panel{.title = task.title, .x_label = "dimension, in the order of the clustering", .y_label = "dimension"};
    panel.heat = {.values = rho, .min = 0, .max = 1};
    figure.panels.push_back(panel);
  }
  report.csv(std::move(table));
  report.figure(figure, "For each task, the absolute correlation of every two dimensions: white 0, dark 1");
  report.caption(place() + "; ordered by average linkage on 1 - |rho|");
}

// [IsoBN fig.3]
void ClsItems::fig3(ItemReport& report) const {
  const Task& task = document_.tasks().front();
  const std::vector<double> order = measured(task)["order"].numbers(), cluster = measured(task)["cluster"].numbers();
  const Matrix real_one = correlations(task, order);
  Matrix diagonal = real_one, blocks = real_one;
  LongTable table({"assumption", "row", "column", "value"});
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = 0; j < order.size(); ++j) {
      diagonal[i][j] = i == j;
      blocks[i][j] = cluster[size_t(order[i])] == cluster[size_t(order[j])];
    }
  Figure figure{.title = "", .columns = 3};
  const std::vector<std::pair<const char*, const Matrix*>> kinds = {
      {"batch normalization", &diagonal}, {"IsoBN", &blocks}, {"real", &real_one}};
  for (const auto& [name, matrix] : kinds) {
    figure.panels.push_back({.title = name, .x_label = "dimension", .y_label = "dimension"});
    figure.panels.back().heat = {.values = *matrix, .min = 0, .max = 1};
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = 0; j < order.size(); ++j)
        table.add({name, std::to_string(i), std::to_string(j)}, (*matrix)[i][j]);
  }
  report.csv(std::move(table));
  report.figure(figure, "The absolute correlations that batch normalization assumes (a diagonal), that IsoBN assumes "
                        "(blocks of ones), and the real ones");
  report.caption(place() + "; " + task.title + "; blocks: clusters by average linkage up to the distance .2");
  report.differs("the document draws a sketch; these are the correlations of " + task.title);
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// [IsoBN tab.2] [IsoBN eq.9]
void ClsItems::tab2(ItemReport& report, const std::vector<std::string>& norms) const {
  LongTable table({"task", "norm", "k", "value"});
  std::vector<std::string> columns = {"EV_1 / EV_2 / EV_3"};
  for (const Task& task : document_.tasks()) columns.push_back(task.title);
  std::vector<ItemReport::TableRow> rows;
  for (const std::string& norm : norms) {
    rows.push_back({norm, {}});
    for (const Task& task : document_.tasks()) {
      const std::vector<double> ev = measured(task)["ev"][norm].numbers();
      std::string ours, printed;
      for (size_t k = 1; k <= std::min<size_t>(3, ev.size()); ++k) {
        const std::string separator = k > 1 ? " / " : "";
        table.add({task.name, norm, std::to_string(k)}, ev[k - 1]);
        ours += separator + fixed(ev[k - 1], 2);
        for (const double v : report.printed().rows().empty() ? std::vector<double>()
                              : report.printed().values({{"model", document_.printed_model()}, {"task", task.name},
                                                         {"norm", norm}, {"k", std::to_string(k)}}))
          printed += separator + fixed(v, 2);
      }
      rows.back().cells.push_back({printed, ours});
    }
  }
  report.csv(std::move(table));
  report.table("Explained variance of [CLS], centered", columns, rows);
  report.caption(place() + ", centered; the statistics of a norm are those of the whole training set");
  if (has(norms, "batch"))
    report.differs("batch normalization adds 1e-5 to the variance, which counts where dimensions hardly vary");
  if (has(norms, "whitening")) report.differs("whitening is ours: the document names it as what IsoBN approximates");
  if (has(norms, "paper"))
    report.differs("ours, paper and authors have moving statistics instead, after one pass in batches of 64, at "
                   "beta 1: src/norm/cls/README.md says where they part");
}

// [IsoBN fig.4]
void ClsItems::fig4(ItemReport& report) const {
  LongTable table({"task", "norm", "k", "value"});
  Figure figure{.title = "", .columns = 2};
  for (const Task& task : document_.tasks()) {
    figure.panels.push_back({.title = task.title, .x_label = "k", .y_label = "EV_k"});
    for (const char* norm : {"none", "batch", "iso-bn"}) {
      const std::vector<double> ev = measured(task)["ev"][norm].numbers();
      Curve curve{.title = norm};
      for (size_t k = 1; k <= std::min<size_t>(ev.size(), ev.size() > 768 ? 200 : 50); ++k) {
        table.add({task.name, norm, std::to_string(k)}, ev[k - 1]);
        curve.x.push_back(double(k));
        curve.y.push_back(ev[k - 1]);
      }
      figure.panels.back().curves.push_back(curve);
    }
  }
  report.csv(std::move(table));
  report.caption(place());
  report.figure(figure, "EV_k over k, without a norm, with batch normalization and with IsoBN, for each task");
}

}  // namespace

std::vector<Item> isobn_cls_items(Document& document, const IsoBnOptions& options) {
  const auto items = std::make_shared<ClsItems>(document, options);
  const auto runs = [items] { return items->measurements(); };
  const auto variances = [items](std::vector<std::string> norms) {
    return [items, norms](ItemReport& report) { items->tab2(report, norms); };
  };
  return {{"sec2.1", "Standard deviations of the dimensions of [CLS]", runs,
           [=](ItemReport& r) { items->deviations(r); }},
          {"fig1", "Their distribution", runs, [=](ItemReport& r) { items->fig1(r); }},
          {"sec2.2", "Correlated dimensions of [CLS]", runs, [=](ItemReport& r) { items->correlated(r); }},
          {"fig2", "Correlations between the dimensions", runs, [=](ItemReport& r) { items->fig2(r); }},
          {"fig3", "What batch normalization and IsoBN assume", runs, [=](ItemReport& r) { items->fig3(r); }},
          {"eq3", "Hard groups, in tab.2's measure", runs, variances({"none", "eq3"})},
          {"eq5", "Soft groups, with the mean subtracted, in tab.2's measure", runs, variances({"none", "eq5"})},
          {"alg1", "Three readings of the algorithm, in tab.2's measure", runs,
           variances({"none", "iso-bn", "ours", "paper", "authors"})},
          {"tab2", "Explained variance of [CLS]", runs, variances({"none", "batch", "iso-bn", "whitening"})},
          {"fig4", "Explained variance of [CLS] for every k", runs, [=](ItemReport& r) { items->fig4(r); }}};
}

}  // namespace minbert
