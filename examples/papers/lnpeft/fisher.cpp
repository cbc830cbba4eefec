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
                               runs.document.result(runs.fisher(task, runs.o.seed))["examples"].integer()));
  return formatted("examples of the training set, drawn by each of {}: {}", counted(runs.o.seeds, "seed"),
                   joined(counts));
}

// The components by the sums of their shares over the tasks, the largest first; after rank and sum
// the share of each task.
void rank_table(const LnPeftRuns& runs, ItemReport& report, const LongTable& evidence) {
  Names columns = {"mean over the seeds", "rank", "sum"};
  std::map<std::string, double> sums;
  for (const Task& task : runs.tasks()) columns.push_back(task.title);
  for (const std::string& component : layer_components())
    for (const double share : evidence.values({{"component", component}})) sums[component] += share / runs.o.seeds;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [component, sum] : sums) order.push_back({sum, component});
  std::ranges::sort(order, std::greater());
  std::vector<ItemReport::TableRow> rows;
  for (const auto& [sum, component] : order) {
    rows.push_back({component, {{"", std::to_string(rows.size() + 1)}, {"", fixed(sum, 3)}}});
    for (const double rank : report.printed().values({{"component", component}}))
      rows.back().cells[0].printed = std::to_string(int(rank));
    for (const Task& task : runs.tasks())
      rows.back().cells.push_back(
          {"", mean_text(evidence.values({{"task", task.name}, {"component", component}}), 3)});
  }
  report.table("Mean Fisher information of the components before fine-tuning, each task's divided "
               "by its sum",
               columns, rows);
}

// [LN-PEFT tab.1] [LN-PEFT eq.2]
void tab1(const LnPeftRuns& runs, ItemReport& report) {
  LongTable table({"task", "component", "seed", "mean", "normalized"}),
      evidence({"task", "component", "seed", "normalized"});
  for (const int seed : runs.document.seeds()) {
    std::map<std::string, double> sums;             // over the tasks, by which the document ranks
    for (const Task& task : runs.tasks()) {
      const Json means = runs.document.result(runs.fisher(task, seed))["eq2"];
      for (const auto& [component, share] : normalized(means)) {
        table(task.name, component, seed, float_text(means[component].number())) = share;
        evidence(task.name, component, seed) = share;
        sums[component] += share;
      }
    }
    const auto add_largest = [&](const std::string& name, const auto& counts) {
      std::pair<double, std::string> largest{-1, ""};
      for (const auto& [component, sum] : sums)
        if (counts(component)) largest = std::max(largest, {sum, component});
      for (const Task& task : runs.tasks())
        evidence(task.name, name, seed) = evidence.values(
            {{"task", task.name}, {"component", largest.second}, {"seed", std::to_string(seed)}})[0];
    };
    add_largest("the largest other", [](const std::string& name) { return name != "output.LayerNorm"; });
    add_largest("the largest without a LayerNorm",
                [](const std::string& name) { return name.find("LayerNorm") == name.npos; });
  }
  report.csv(table);
  report.judge_by(evidence, {.digits = 3});
  rank_table(runs, report, evidence);
  report.caption(examples_of(runs));
}

// LayerNorm's F: its sum in each layer, of weights and of biases, and the share of the whole that a part has: one of
// these, a kind, or half of the layers; the middle layer is in no half.
struct LayerSums {
  LongTable sums = LongTable({"task", "layer", "kind", "seed", "value"}),
            shares = LongTable({"task", "part", "seed", "share"});
  int layers = 0;
  void add(const std::string& task, int seed, const ElementValues& F) {
    layers = int(F.size()) / 2;
    double total = 0;
    std::map<std::string, double> parts;
    for (const auto& [name, values] : F) {
      const auto site = layer_site(name);
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      const int middle = 2 * site->layer + 1 - layers;            // below 0: in the first half
      sums(task, site->layer + 1, site->kind, seed) = sum;
      total += sum;
      parts[site->kind] += sum;
      parts[formatted("{} {}", site->kind, site->layer + 1)] = sum;
      if (middle != 0) parts[middle < 0 ? "first half" : "last half"] += sum;
    }
    for (const auto& [part, sum] : parts) shares(task, part, seed) = sum / total;
  }
};

// A heat map for each kind, layer x task; the claims compare the shares of a task's sum.
void show_layers(const LnPeftRuns& runs, ItemReport& report, const std::vector<Task>& tasks, const LayerSums& of,
                 const std::string& text) {
  const auto values = [&](const Task& task, const std::string& part) {
    return of.shares.values({{"task", task.name}, {"part", part}});
  };
  Figure figure{.columns = 2, .shared_colors = true};
  for (const std::string kind : {"weight", "bias"}) {
    Panel panel{.title = kind, .x_label = "task", .y_label = "layer"};
    for (const Task& task : tasks) panel.x_names.push_back(task.title);
    panel.heat.min = 0;
    for (int layer = of.layers; layer > 0; --layer) {                 // the last one on top
      panel.y_names.push_back(std::to_string(layer));
      Numbers& row = panel.heat.values.emplace_back();
      for (const Task& task : tasks) row.push_back(summarize(values(task, formatted("{} {}", kind, layer))).mean);
    }
    figure.panels.push_back(panel);
  }
  report.figure(figure, text);
  report.table("Shares of the sum, over the seeds", "", Names{"first half", "last half", "weight", "bias"}, tasks,
               [&](const std::string& part, const Task& task) {
                 const Numbers all = values(task, part);
                 return all.empty() ? "one layer" : mean_text(all, 3);
               });
  report.csv(of.sums);
  report.judge_by(of.shares, {.digits = 3});
  report.caption(examples_of(runs));
}

// [LN-PEFT fig.3]
void fig3(const LnPeftRuns& runs, ItemReport& report) {
  LayerSums of;
  for (const Task& task : runs.tasks())
    for (const int seed : runs.document.seeds()) of.add(task.name, seed, runs.norm_fisher(task, seed));
  show_layers(runs, report, runs.tasks(), of,
              "For each task, the Fisher information of LayerNorm in each layer: its sum, divided "
              "by the task's sum, of the weights and of the biases; the mean over the seeds");
}

// [LN-PEFT fig.4] [LN-PEFT sec.3.4]
void fig4(const LnPeftRuns& runs, ItemReport& report) {
  LayerSums of;
  Task global;
  global.name = global.title = "global";
  for (const int seed : runs.document.seeds()) {
    std::vector<ElementValues> all;
    for (const Task& task : runs.tasks()) all.push_back(runs.norm_fisher(task, seed));
    of.add(global.name, seed, normalized_sum(all));
  }
  show_layers(runs, report, {global}, of,
              "The global Fisher information of LayerNorm in each layer: the tasks', each divided "
              "by its sum, added; the mean over the seeds");
}

}  // namespace

std::vector<Item> lnpeft_fisher_items(const LnPeftRuns& runs) {
  const RunGrid fishers(std::bind_front(&LnPeftRuns::fisher, runs), runs.tasks(), runs.document.seeds());
  return {
      {"tab1", fishers, std::bind_front(tab1, runs)},
      {"fig3", fishers, std::bind_front(fig3, runs)},
      {"fig4", fishers, std::bind_front(fig4, runs)}};
}

}  // namespace minbert
