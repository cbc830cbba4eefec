// IsoBN's figures and tables of [CLS]: its deviations, its correlations, and the share of the
// variance that the first directions have, before and after a normalization.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/names.h"
#include "engine/text.h"
#include "papers/encoded_set.h"
#include "papers/isobn/isobn.h"
#include "papers/statistics/resampling.h"

namespace minbert {

std::vector<Task> studied_tasks(const Document& document, const IsoBnOptions& o) {
  if (o.tasks_given) return document.tasks();
  std::vector<Task> of_document;
  for (const char* name : {"mrpc", "rte", "cola", "stsb"})
    for (const Task& task : document.tasks())
      if (task.name == name) of_document.push_back(task);
  return of_document.empty() ? document.tasks() : of_document;
}

IsoBnOptions with_place(IsoBnOptions o) {
  const BertConfig config = BertConfig::load(model_folder(o.model) + "/config.json");
  o.cls_norm_at = place_in(config, o.cls_norm_at);
  return o;
}

Run cls_run(Document& document, const IsoBnOptions& o, const Task& task) {
  return document.run_on(
      task, "cls", 1,
      // a result that lacks one of these is another run's
      {{"cls-norm-at", name_of(o.cls_norm_at)}, {"ev", "tab2,eq3,eq5,alg1"}, {"of classes", "largest"},
       {"resamples", std::to_string(o.resamples())}, {"seed", std::to_string(o.seed)}},
      [o, task](const std::string& folder) { return cls_result(o, task, folder); });
}

namespace {

// What one pass over each task's training set found (cls_pass.cpp).
struct ClsResults {
  Document& document;
  IsoBnOptions o;

  std::vector<Task> tasks() const { return studied_tasks(document, o); }
  Run run(const Task& task) const { return cls_run(document, o, task); }
  Json result(const Task& task) const { return document.result(run(task)); }
  Numbers sigma(const Task& task) const { return result(task)["std"].numbers(); }
  Numbers order(const Task& task) const { return result(task)["order"].numbers(); }
  // A statistic of the rows as they are, and of the rows drawn again
  Numbers samples(const Task& task, const std::string& name) const {
    return result(task)["samples"][name].numbers();
  }
  // |ρ|, its dimensions in the order of the clustering
  Matrix rho(const Task& task) const {
    const SafeTensors file(document.folder(run(task)) + "/correlation.safetensors");
    const std::vector<real> all = file.read("rho");
    const Numbers dimensions = order(task);
    Matrix matrix;
    for (const double i : dimensions)
      for (matrix.emplace_back(); const double j : dimensions)
        matrix.back().push_back(std::abs(double(all[size_t(i) * dimensions.size() + size_t(j)])));
    return matrix;
  }
  LongTable deviations() const {
    LongTable table({"task", "dimension", "std"});
    for (const Task& task : tasks())
      for (int i = 0; const double s : sigma(task)) table(task.name, i++) = s;
    return table;
  }
  // The first EV_k of a task after a norm, in a table of task, norm and k, too
  Numbers explained(LongTable& table, const Task& task, const std::string& norm,
                    size_t most) const {
    Numbers ev = result(task)["ev"][norm].numbers();
    ev.resize(std::min(ev.size(), most));
    for (int k = 1; const double value : ev) table(task.name, norm, k++) = value;
    return ev;
  }
};

Panel heat(const std::string& title, const Matrix& rho, const char* x_label) {
  return {.title = title,
          .x_label = x_label,
          .y_label = "dimension",
          .heat = {.values = rho, .min = 0, .max = 1}};
}

// [IsoBN sec.2.1]
void sec21(const ClsResults& cls, ItemReport& report) {
  report.csv(cls.deviations());
  LongTable evidence({"task", "what", "sample", "value"});
  const auto statistic_text = [&](const std::string& row, const Task& task) {
    const Numbers s = cls.sigma(task);
    if (row == "between .01 and 1") {
      const Numbers shares = cls.samples(task, row);
      add_samples(evidence, {task.name, row}, shares);
      return formatted("{} of {}", fixed(shares[0] * double(s.size()), 0), s.size());
    }
    if (row == "constant dimensions")
      return formatted("{} of {}", std::ranges::count(s, 0.0), s.size());
    return significant(row == "median"  ? median(s)
                       : row == "least" ? std::ranges::min(s)
                                        : std::ranges::max(s));
  };
  report.table("Standard deviation of a dimension", "",
               Names{"least", "median", "most", "constant dimensions", "between .01 and 1"},
               cls.tasks(), statistic_text);
  report.judge_by(evidence, {100, 1, "%"});
}

// [IsoBN fig.1]
void fig1(const ClsResults& cls, ItemReport& report) {
  report.csv(cls.deviations());
  const Numbers all = cls.deviations().values({});
  report.figure(
      "For each task, the number of dimensions by their standard deviation, on a logarithmic axis",
      cls.tasks(), [&](const Task& task) {
        const Numbers sigma = cls.sigma(task);
        const auto zeros = std::ranges::count(sigma, 0.0);              // which a logarithm cannot show
        return Panel{.title = task.title,
                     .x_label = formatted("standard deviation{}", zeros ? formatted("   at 0: {}", zeros) : ""),
                     .y_label = "dimensions",
                     .log_x = true,
                     .curves = {log_histogram(sigma, 30, all)}};
      },
      {.columns = 2, .shared_x = true, .shared_y = true});
}

// [IsoBN sec.2.2]
void sec22(const ClsResults& cls, ItemReport& report) {
  LongTable table({"task", "measure", "value"}), evidence({"task", "what", "sample", "value"});
  const auto correlated_share = [&](const std::string& row, const Task& task) {
    const double H = double(cls.order(task).size());
    if (row == "in the largest cluster") {
      const Numbers shares = cls.samples(task, row);
      table(task.name, row) = shares[0];
      add_samples(evidence, {task.name, row}, shares);
      return formatted("{} of {}", fixed(shares[0] * H, 0), H);
    }
    double above = 0, dimensions = 0;
    for (size_t i = 0; const Numbers& rho : cls.rho(task)) {
      const auto others = std::ranges::count_if(rho, [](double r) { return r > 0.8; }) - (rho[i++] > 0.8);
      above += double(others), dimensions += others >= 2;
    }
    const double share = above / (H * (H - 1));
    if (row == "pairs above .8") table(task.name, "pairs") = share;
    else table(task.name, "dimensions") = dimensions;
    return row == "pairs above .8" ? fixed(100 * share, 1) + " %" : formatted("{} of {}", dimensions, H);
  };
  report.table("Correlated dimensions", "",
               Names{"dimensions with 2 or more others above .8", "pairs above .8",
                     "in the largest cluster"},
               cls.tasks(), correlated_share);
  report.csv(table);
  report.judge_by(evidence, {100, 1, "%"});
}

// [IsoBN fig.2]
void fig2(const ClsResults& cls, ItemReport& report) {
  LongTable table({"task", "row", "dimension", "column", "value"});
  report.figure("For each task, the absolute correlation of every two dimensions: white 0, dark 1",
                cls.tasks(), [&](const Task& task) {
                  const Matrix rho = cls.rho(task);
                  for (size_t i = 0; const double dimension : cls.order(task)) {
                    for (size_t j = 0; const double r : rho[i])
                      table(task.name, i, int(dimension), j++) = r;
                    ++i;
                  }
                  return heat(task.title, rho, "dimension, in the order of the clustering");
                });
  report.csv(table);
}

// [IsoBN fig.3]
void fig3(const ClsResults& cls, ItemReport& report) {
  const Task task = cls.tasks().front();
  const Numbers order = cls.order(task), cluster = cls.result(task)["cluster"].numbers();
  const Matrix real_one = cls.rho(task);
  Matrix diagonal = real_one, blocks = real_one;
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = 0; j < order.size(); ++j) {
      diagonal[i][j] = i == j;
      blocks[i][j] = cluster[size_t(order[i])] == cluster[size_t(order[j])];
    }
  const std::vector<std::pair<std::string, Matrix>> kinds = {
      {"batch normalization", diagonal}, {"IsoBN", blocks}, {"real", real_one}};
  LongTable table({"assumption", "row", "column", "value"});
  const auto draw_kind = [&](const auto& kind) {
    for (size_t i = 0; const Numbers& row : kind.second) {
      for (size_t j = 0; const double r : row) table(kind.first, i, j++) = r;
      ++i;
    }
    return heat(kind.first, kind.second, "dimension");
  };
  report.figure(
      "The absolute correlations that batch normalization assumes (a diagonal), that IsoBN assumes "
      "(blocks of ones), and the real ones",
      kinds, draw_kind, {.columns = 3});
  report.csv(table);
  report.caption(task.title);
}

// [IsoBN tab.2] [IsoBN eq.9]
void tab2(const ClsResults& cls, ItemReport& report, const Names& norms) {
  LongTable table({"task", "norm", "k", "value"});
  const auto text_of = [](const Numbers& values) {
    Names texts;
    for (const double v : values) texts.push_back(fixed(v, 2));
    return joined(texts, " / ");
  };
  // A task, or all of them: the mean
  struct TaskGroup {
    std::string title;
    std::vector<Task> tasks;
  };
  std::vector<TaskGroup> groups;
  for (const Task& task : cls.tasks()) groups.push_back({task.title, {task}});
  if (groups.size() > 1) groups.push_back({"mean", cls.tasks()});
  for (const std::string& norm : norms)
    for (const Task& task : cls.tasks()) cls.explained(table, task, norm, 3);
  const auto mean_of = [&](const LongTable& values, const TaskGroup& group, LongTable::Where where) {
    Numbers means;
    for (const char* k : {"1", "2", "3"}) {
      where["k"] = k;
      Numbers all;
      for (const Task& task : group.tasks) {
        where["task"] = task.name;
        for (const double v : values.values(where)) all.push_back(v);
      }
      if (!all.empty()) means.push_back(summarize(all).mean);
    }
    return text_of(means);
  };
  const auto explained_cell = [&](const std::string& norm, const TaskGroup& group) {
    const std::string ours = mean_of(table, group, {{"norm", norm}});
    if (report.printed().rows().empty()) return ItemReport::Cell{"", ours};
    return ItemReport::Cell{mean_of(report.printed(), group,
                                    {{"norm", norm}, {"model", cls.document.printed_model()}}), ours};
  };
  report.table("Explained variance of [CLS], centered", "EV_1 / EV_2 / EV_3", norms, groups,
               explained_cell);
  report.csv(table);
  LongTable evidence({"task", "norm", "k", "sample", "value"});
  for (const char* norm : {"none", "batch", "iso-bn"})
    for (const Task& task : cls.tasks())
      for (const char* k : {"1", "2", "3"})
        add_samples(evidence, {task.name, norm, k}, cls.samples(task, formatted("{} EV_{}", norm, k)));
  report.judge_by(evidence, {.digits = 3});
}

// [IsoBN eq.5] [IsoBN sec.3.3]: its scale (σγ)⁻¹ is small, its result, whose deviation is 1/γ, near 0
void eq5(const ClsResults& cls, ItemReport& report) {
  tab2(cls, report, {"none", "eq5"});
  LongTable scales({"task", "what", "value"}), evidence({"task", "what", "sample", "value"});
  const auto median_text = [&](const std::string& row, const Task& task) {
    const Numbers medians = cls.samples(task, row);
    add_samples(evidence, {task.name, row}, medians);
    return fixed(*(scales(task.name, row) = medians[0]), 4);
  };
  report.table("The scale of eq.5, the median over the dimensions that vary, without ε", "",
               Names{"(σγ)⁻¹", "deviation of h", "deviation of (h-μ)/(σγ)"}, cls.tasks(), median_text);
  report.csv(scales, "scale");
  report.judge_by(evidence);
}

// [IsoBN fig.4]
void fig4(const ClsResults& cls, ItemReport& report) {
  const Names norms = {"none", "batch", "iso-bn"};
  LongTable table({"task", "norm", "k", "value"}), evidence({"task", "norm", "sample", "value"});
  report.figure(
      "EV_k over k, without a norm, with batch normalization and with IsoBN, for each task",
      cls.tasks(), [&](const Task& task) {
        Panel panel{.title = task.title, .x_label = "k", .y_label = "EV_k"};
        for (const std::string& norm : norms) {
          const Numbers ev = cls.explained(table, task, norm, most_k(cls.order(task).size()));
          panel.curves.push_back(numbered(norm, ev, 1));
          add_samples(evidence, {task.name, norm}, cls.samples(task, norm + " EV"));
        }
        return panel;
      },
      {.columns = 2, .shared_y = true});
  report.csv(table);
  report.judge_by(evidence, {.digits = 3});
}

}  // namespace

std::vector<Item> isobn_cls_items(Document& document, const IsoBnOptions& options) {
  const ClsResults cls{document, with_place(options)};
  const RunGrid runs(std::bind_front(&ClsResults::run, cls), cls.tasks());
  const auto item = [&](const char* name, const auto& show) {
    const auto show_item = [cls, show](ItemReport& report) {
      report.caption(cls.o.cls_norm_at == ClsPlace::pooled ? "[CLS] after the pooler's tanh"
                                                          : "[CLS] before the pooler");
      show(cls, report);
    };
    return Item{name, runs, show_item};
  };
  const auto variances = [&](const char* name, const Names& norms) {
    return item(name, [norms](const ClsResults& all, ItemReport& report) { tab2(all, report, norms); });
  };
  return {
      item("sec2.1", sec21),
      item("fig1", fig1),
      item("sec2.2", sec22),
      item("fig2", fig2),
      item("fig3", fig3),
      variances("eq3", {"none", "eq3"}),
      item("eq5", eq5),
      variances("alg1", {"none", "iso-bn", "ours", "paper", "authors"}),
      variances("tab2", {"none", "batch", "iso-bn", "whitening"}),
      item("fig4", fig4)};
}

}  // namespace minbert
