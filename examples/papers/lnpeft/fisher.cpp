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
  std::vector<LayerSums> seeds = {};
};

// A part's shares of the sum, a value of each seed: of one layer, or of one kind, or of half of the
// layers; the middle layer is in no half.
LongTable shares_of(const LnPeftRuns& runs, const std::vector<TitledSums>& all) {
  LongTable shares({"task", "part", "seed", "share"});
  for (const TitledSums& one : all)
    for (size_t s = 0; s < one.seeds.size(); ++s) {
      std::map<std::string, double> parts;
      for (const auto& [kind, layers] : one.seeds[s].by_kind)
        for (size_t i = 0; i < layers.size(); ++i) {
          const double share = layers[i] / one.seeds[s].total;
          parts[kind] += share;
          parts[formatted("{} {}", kind, i + 1)] = share;
          if (2 * i + 1 != layers.size()) parts[2 * i + 1 < layers.size() ? "first half" : "last half"] += share;
        }
      for (const auto& [part, share] : parts) shares(one.task, part, runs.o.seed + int(s)) = share;
    }
  return shares;
}

// A heat map for each kind, layer x task; the claims compare the shares of a task's sum.
void show_layers(const LnPeftRuns& runs, ItemReport& report, const std::vector<TitledSums>& all,
                 const std::string& text) {
  LongTable table({"task", "layer", "kind", "seed", "value"});
  for (const TitledSums& one : all)
    for (size_t s = 0; s < one.seeds.size(); ++s)
      for (const auto& [kind, layers] : one.seeds[s].by_kind)
        for (size_t i = 0; i < layers.size(); ++i)
          table(one.task, i + 1, kind, runs.o.seed + int(s)) = layers[i];
  const LongTable shares = shares_of(runs, all);
  const auto mean_share = [&](const TitledSums& one, const std::string& part) {
    return summarize(shares.values({{"task", one.task}, {"part", part}})).mean;
  };
  const size_t layers = all[0].seeds[0].by_kind.begin()->second.size();
  Figure figure{.columns = 2, .shared_colors = true};
  for (const std::string kind : {"weight", "bias"}) {
    Panel panel{.title = kind, .x_label = "task", .y_label = "layer", .heat = {.values = Matrix(layers), .min = 0}};
    for (const TitledSums& one : all) panel.x_names.push_back(one.title);
    for (size_t layer = layers; layer > 0; --layer) {                 // the last one on top
      panel.y_names.push_back(std::to_string(layer));
      for (const TitledSums& one : all)
        panel.heat.values[layers - layer].push_back(mean_share(one, formatted("{} {}", kind, layer)));
    }
    figure.panels.push_back(panel);
  }
  report.figure(figure, text);
  report.table("Shares of the sum, over the seeds", "", Names{"first half", "last half", "weight", "bias"}, all,
               [&](const std::string& part, const TitledSums& one) {
                 const Numbers values = shares.values({{"task", one.task}, {"part", part}});
                 return values.empty() ? "one layer" : mean_text(values, 3);
               });
  report.csv(table);
  report.judge_by(shares, {.digits = 3});
  report.caption(examples_of(runs));
}

// [LN-PEFT fig.3]
void fig3(const LnPeftRuns& runs, ItemReport& report) {
  std::vector<TitledSums> all;
  for (const Task& task : runs.tasks()) {
    all.push_back({task.name, task.title});
    for (const int seed : runs.document.seeds())
      all.back().seeds.push_back(layer_sums(runs.norm_fisher(task, seed)));
  }
  show_layers(runs, report, all,
              "For each task, the Fisher information of LayerNorm in each layer: its sum, divided "
              "by the task's sum, of the weights and of the biases; the mean over the seeds");
}

// [LN-PEFT fig.4] [LN-PEFT sec.3.4]
void fig4(const LnPeftRuns& runs, ItemReport& report) {
  TitledSums global{"global", "global"};
  for (const int seed : runs.document.seeds()) {
    std::vector<ElementValues> all;
    for (const Task& task : runs.tasks()) all.push_back(runs.norm_fisher(task, seed));
    global.seeds.push_back(layer_sums(normalized_sum(all)));
  }
  show_layers(runs, report, {global},
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
