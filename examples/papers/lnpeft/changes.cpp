// What full fine-tuning changes, component by component.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/trainer.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

// D = 1/n Σ |C_fine - C_pre| = L_1 / n   L_0: elements that differ   L_1 = Σ |C_fine - C_pre|
struct Change {
  double n = 0, L0 = 0, L1 = 0;
  double D() const { return L1 / n; }                 // [LN-PEFT eq.1]
};

// The change of every component of every layer, weight and bias together, in the model's order.
Json changes(const Parameters& before, const Parameters& after) {
  std::map<std::pair<int, size_t>, Change> all;
  for (const Parameter& p : after.items()) {
    const auto site = layer_site(p.name);
    if (!site) continue;
    Change& change = all[{site->layer, index_of(site->component, layer_components(), "component")}];
    const std::vector<real> pre = before.value(p.name).values(), fine = p.value.values();
    for (size_t i = 0; i < fine.size(); ++i) {
      change.n += 1;
      change.L0 += fine[i] != pre[i];                                                 // [LN-PEFT eq.6]
      change.L1 += std::abs(double(fine[i]) - double(pre[i]));                        // [LN-PEFT eq.6]
    }
  }
  Json::Array list;
  for (const auto& [site, change] : all)
    list.push_back(Json::object({{"layer", site.first + 1},
                                 {"component", layer_components()[site.second]},
                                 {"n", change.n},
                                 {"D", change.D()},
                                 {"L0", change.L0},
                                 {"L1", change.L1}}));
  return Json::array(list);
}

// The L1 distance of two models over all components, divided by their size: D of all of them.
double distance(const Json& changes) {
  double n = 0, L1 = 0;
  for (const Json& change : changes.items()) {
    n += change["n"].number();
    L1 += change["L1"].number();
  }
  return L1 / n;
}

}  // namespace

Run LnPeftRuns::with_changes(Run run, const Task& task, bool of_layers) const {
  run.options["disabled"] = of_layers ? "whole, each layer" : "whole";
  run.work = [train = run.work, task, of_layers, options = o](const std::string& folder) {
    Json result = train(folder);
    const TrainedModel before(options.model);
    TrainedModel after(folder);
    const Dataset dev =
        read_set(options.data, task, Split::dev, 0, after.tokenizer,
                 options.dataset_options(after.config.max_length), std::cerr);
    const auto measure = [&](const std::string&) {
      const auto score = score_of(after.model.network, task, dev);
      return Json::object({{"score", score ? Json(*score) : Json()}});
    };
    const int layers = of_layers ? after.config.num_hidden_layers : 0;
    return result.set("changes", changes(before.model.parameters, after.model.parameters))
        .set("disabled", disabled(after.model.parameters, layers, measure));
  };
  return run;
}

OptionValues LnPeftRuns::model_alone() const {
  OptionValues options = document.inputs(tasks()[0]);
  std::erase_if(options, [](const auto& option) {
    return option.first.starts_with("data ") || option.first == "task";
  });
  return options;
}

Run LnPeftRuns::new_models(int seed) const {
  Run run{"new-models", model_alone(), [options = o, seed](const std::string&) {
            const TrainedModel before(options.model);
            const auto new_model = [&](int its_seed) {
              return Model(before.config, uint64_t(its_seed), true, heads_of(before.tasks), 0);
            };
            const Model one = new_model(seed), other = new_model(seed + 1000);   // of no other seed's pair
            const auto apart = [](const Model& a, const Model& b) {
              return distance(changes(a.parameters, b.parameters));
            };
            return Json::object({{"two random models", apart(one, other)}, {"pre-training", apart(one, before.model)}});
          }};
  run.options["seed"] = std::to_string(seed);
  return run;
}

namespace {

// D of every component, a value of each seed; and the largest of a layer but output.LayerNorm's.
LongTable component_changes(const LnPeftRuns& runs, ItemReport& report) {
  LongTable table({"task", "layer", "component", "seed", "n", "D", "L0", "L1"}),
      evidence({"task", "layer", "component", "seed", "D"});
  const auto add = [&](const Task& task, int seed) {
    std::map<std::string, double> largest_other;  // by layer
    for (const Json& change : runs.document.result(runs.tuned(task, seed))["changes"].items()) {
      const std::string layer = std::to_string(change["layer"].integer()), component = change["component"].string();
      const double D = change["D"].number();
      table(task.name, layer, component, seed, float_text(change["n"].number()), float_text(D),
            float_text(change["L0"].number())) = change["L1"].number();
      evidence(task.name, layer, component, seed) = D;
      if (component != "output.LayerNorm") largest_other[layer] = std::max(largest_other[layer], D);
    }
    for (const auto& [layer, D] : largest_other) evidence(task.name, layer, "the largest other", seed) = D;
  };
  product(add, runs.tasks(), runs.document.seeds());
  report.csv(table);
  return evidence;
}

// sec.2: D of all components together, in fine-tuning of each task and as its mean over them; and of models
// that belong to no task, one value a seed.
void show_moves(const LnPeftRuns& runs, ItemReport& report, LongTable& evidence) {
  const Names models = {"pre-training", "two random models"};
  for (const int seed : runs.document.seeds()) {
    double sum = 0;
    for (const Task& task : runs.tasks()) {
      const double D = distance(runs.document.result(runs.tuned(task, seed))["changes"]);
      evidence(task.title, "all", "fine-tuning", seed) = D;
      sum += D;
    }
    evidence("all", "all", "fine-tuning", seed) = sum / double(runs.tasks().size());
    for (const std::string& name : models)
      evidence("all", "all", name, seed) = runs.document.result(runs.new_models(seed))[name].number();
  }
  std::vector<std::pair<std::string, std::string>> moves;           // of what task, what
  for (const Task& task : runs.tasks()) moves.push_back({task.title, "fine-tuning"});
  for (const std::string& name : models) moves.push_back({"all", name});
  std::vector<ItemReport::TableRow> rows;
  for (const auto& [task, what] : moves) {
    Numbers D;
    for (const double v : evidence.values({{"task", task}, {"layer", "all"}, {"component", what}}))
      D.push_back(1000 * v);
    rows.push_back({task == "all" ? what : formatted("{} on {}", what, task), {{"", mean_text(D, 3)}}});
  }
  report.table("What moves the model, or two of them: D of all components together, which is their L1 distance "
               "by their size",
               {"", "1000 D"}, rows);
}

// [LN-PEFT fig.1] [LN-PEFT eq.1] [LN-PEFT eq.6] [LN-PEFT sec.2]
void fig1(const LnPeftRuns& runs, ItemReport& report) {
  const Names& components = layer_components();
  LongTable evidence = component_changes(runs, report);
  const int layers = BertConfig::load(model_folder(runs.o.model) + "/config.json").num_hidden_layers;
  report.figure(
      "For each task, D of each component in each layer: the mean absolute change of its weights "
      "and biases in full fine-tuning; the mean over the seeds",
      runs.tasks(), [&](const Task& task) {
        Panel panel{.title = task.title,
                    .x_label = "layer",
                    .y_label = "",
                    .heat = {.values = Matrix(components.size()), .min = 0},
                    .y_names = components};
        for (int layer = 1; layer <= layers; ++layer) {
          panel.x_names.push_back(std::to_string(layer));
          for (size_t i = 0; i < components.size(); ++i)
            panel.heat.values[i].push_back(summarize(evidence.values(
                {{"task", task.name}, {"layer", panel.x_names.back()}, {"component", components[i]}})).mean);
        }
        return panel;
      },
      {.columns = 2, .shared_colors = true});
  const auto mean_change = [&](const std::string& component, const Task& task) {
    Numbers seeds;
    for (const int seed : runs.document.seeds())
      seeds.push_back(1000 * summarize(evidence.values({{"task", task.name}, {"component", component},
                                                        {"seed", std::to_string(seed)}})).mean);
    return mean_text(seeds, 3);
  };
  report.table("1000 D", "mean over the layers", components, runs.tasks(), mean_change);
  show_moves(runs, report, evidence);
  report.judge_by(evidence, {1000, 3, "/ 1000"});
  report.caption(runs.tuned_text());
}

}  // namespace

Item lnpeft_change_item(const LnPeftRuns& runs) {
  const RunGrid new_models(std::bind_front(&LnPeftRuns::new_models, runs), runs.document.seeds());
  return {"fig1", both(runs.all_tuned(), new_models), std::bind_front(fig1, runs)};
}

}  // namespace minbert
