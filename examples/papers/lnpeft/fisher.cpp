// LN-PEFT's Fisher information: of the components, and of LayerNorm layer by layer.
#include <algorithm>

#include "engine/names.h"
#include "engine/text.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

// The components' means of a task, divided by their sum.
std::map<std::string, double> normalized(const Json& means) {
  std::map<std::string, double> shares;
  double sum = 0;
  for (const auto& [component, mean] : means.members()) sum += mean.number();
  for (const auto& [component, mean] : means.members()) shares[component] = mean.number() / sum;
  return shares;
}

std::string examples_of(const LnPeftRuns& runs) {
  Names counts;
  for (const Task& task : runs.tasks())
    counts.push_back(formatted("{} {}", task.title,
                               runs.document.result(runs.fisher(task))["examples"].integer()));
  return "examples of the training set, drawn by the seed: " + joined(counts);
}

// The components by the sums of their shares over the tasks, the largest first; after rank and sum
// the share of each task.
void rank_table(const LnPeftRuns& runs, ItemReport& report, const LongTable& evidence) {
  Names columns = {"", "rank", "sum"};
  std::map<std::string, double> sums;
  for (const Task& task : runs.tasks()) columns.push_back(task.title);
  for (const std::string& component : layer_components())
    for (const double share : evidence.values({{"component", component}})) sums[component] += share;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [component, sum] : sums) order.push_back({sum, component});
  std::ranges::sort(order, std::greater());
  std::vector<ItemReport::TableRow> rows;
  for (const auto& [sum, component] : order) {
    rows.push_back({component, {{"", std::to_string(rows.size() + 1)}, {"", fixed(sum, 3)}}});
    for (const double rank : report.printed().values({{"component", component}}))
      rows.back().cells[0].printed = std::to_string(int(rank));
    for (const double share : evidence.values({{"component", component}}))
      rows.back().cells.push_back({"", fixed(share, 3)});
  }
  report.table("Mean Fisher information of the components before fine-tuning, each task's divided "
               "by its sum",
               columns, rows);
}

// [LN-PEFT tab.1] [LN-PEFT eq.2]
void tab1(const LnPeftRuns& runs, ItemReport& report) {
  LongTable table({"task", "component", "mean", "normalized"}),
      evidence({"task", "component", "normalized"});
  for (const Task& task : runs.tasks()) {
    const Json means = runs.document.result(runs.fisher(task))["eq2"];
    double other = 0, dense = 0;
    for (const auto& [component, share] : normalized(means)) {
      table(task.name, component, float_text(means[component].number())) = share;
      evidence(task.name, component) = share;
      if (component != "output.LayerNorm") other = std::max(other, share);
      if (component.find("LayerNorm") == component.npos) dense = std::max(dense, share);
    }
    evidence(task.name, "the largest other") = other;
    evidence(task.name, "the largest without a LayerNorm") = dense;
  }
  report.csv(table);
  report.judge_by(evidence, {.digits = 3});
  rank_table(runs, report, evidence);
  report.caption(examples_of(runs));
}

struct LayerSums {  // of LayerNorm's F
  std::map<std::string, Numbers> by_kind;  // kind -> [layers]
  double total = 0;
};
LayerSums layer_sums(const ElementValues& F) {
  LayerSums sums;
  for (const auto& [name, values] : F) {
    const auto site = layer_site(name);
    Numbers& layers = sums.by_kind[site->kind];
    layers.resize(std::max(layers.size(), size_t(site->layer) + 1));
    for (const double v : values) {
      layers[size_t(site->layer)] += v;
      sums.total += v;
    }
  }
  return sums;
}

struct TitledSums {
  std::string task, title;
  LayerSums sums;
};

// A heat map for each kind, layer x task; the claims compare the shares of a task's sum.
void show_layers(const LnPeftRuns& runs, ItemReport& report, const std::vector<TitledSums>& all,
                 const std::string& text) {
  LongTable table({"task", "layer", "kind", "value"}), evidence({"task", "part", "share"});
  double largest = 0;                               // both panels have one scale
  for (const TitledSums& one : all)
    for (const auto& [kind, layers] : one.sums.by_kind)
      largest = std::max(largest, std::ranges::max(layers) / one.sums.total);
  report.figure(text, Names{"weight", "bias"}, [&](const std::string& kind) {
    Panel panel{.title = kind, .x_label = "task", .y_label = "layer", .heat = {.min = 0, .max = largest}};
    for (const TitledSums& one : all) {
      const Numbers& layers = one.sums.by_kind.at(kind);
      panel.x_names.push_back(one.title);
      panel.heat.values.resize(layers.size());
      panel.y_names.resize(layers.size());
      for (size_t i = 0; i < layers.size(); ++i) {
        const size_t row = layers.size() - 1 - i;  // the last layer on top
        panel.y_names[row] = std::to_string(i + 1);
        panel.heat.values[row].push_back(layers[i] / one.sums.total);
        table(one.task, i + 1, kind) = layers[i];
      }
    }
    return panel;
  });
  for (const TitledSums& one : all) {
    std::map<std::string, double> parts;
    for (const auto& [kind, layers] : one.sums.by_kind)
      for (size_t i = 0; i < layers.size(); ++i) {
        parts[kind] += layers[i] / one.sums.total;
        if (2 * i + 1 != layers.size())  // the middle layer is in no half
          parts[2 * i + 1 < layers.size() ? "first half" : "last half"] +=
              layers[i] / one.sums.total;
      }
    for (const auto& [part, share] : parts) evidence(one.task, part) = share;
  }
  report.csv(table);
  report.judge_by(evidence, {.digits = 3});
  report.caption(examples_of(runs));
}

// [LN-PEFT fig.3]
void fig3(const LnPeftRuns& runs, ItemReport& report) {
  std::vector<TitledSums> all;
  for (const Task& task : runs.tasks())
    all.push_back({task.name, task.title, layer_sums(runs.norm_fisher(task))});
  show_layers(runs, report, all,
              "For each task, the Fisher information of LayerNorm in each layer: its sum, divided "
              "by the task's sum, of the weights and of the biases");
}

// [LN-PEFT fig.4] [LN-PEFT sec.3.4]
void fig4(const LnPeftRuns& runs, ItemReport& report) {
  std::vector<ElementValues> all;
  for (const Task& task : runs.tasks()) all.push_back(runs.norm_fisher(task));
  show_layers(runs, report, {{"global", "global", layer_sums(normalized_sum(all))}},
              "The global Fisher information of LayerNorm in each layer: the tasks', each divided "
              "by its sum, added");
}

}  // namespace

std::vector<Item> lnpeft_fisher_items(const LnPeftRuns& runs) {
  const RunGrid fishers(std::bind_front(&LnPeftRuns::fisher, runs), runs.tasks());
  return {
      {"tab1", fishers, std::bind_front(tab1, runs)},
      {"fig3", fishers, std::bind_front(fig3, runs)},
      {"fig4", fishers, std::bind_front(fig4, runs)}};
}

}  // namespace minbert
