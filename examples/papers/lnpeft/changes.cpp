// What full fine-tuning changes, and what a model is worth without LayerNorm.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "bert/family.h"
#include "engine/names.h"
#include "engine/text.h"
#include "minbert/trainer.h"
#include "papers/lnpeft/lnpeft.h"
#include "tasks/corpus.h"
#include "train/batches.h"

namespace minbert {

DisabledLayerNorm::DisabledLayerNorm(const Parameters& parameters, int layer, int dimensions) {
  for (const Parameter& p : parameters.items()) {
    const auto site = layer_site(p.name);
    if (!site || site->component != "output.LayerNorm" || site->kind != "weight") continue;
    if (layer >= 0 && site->layer != layer) continue;
    const Tensor& bias = parameters.value(p.name.substr(0, p.name.rfind('.')) + ".bias");
    std::vector<real> weights = p.value.values(), biases = bias.values();
    values_.emplace_back(p.value, weights);
    values_.emplace_back(bias, biases);
    std::vector<size_t> order(weights.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return std::abs(weights[i]); });
    if (dimensions > 0) order.resize(std::min(order.size(), size_t(dimensions)));
    for (const size_t i : order) {
      weights[i] = 0;
      biases[i] = 0;
    }
    p.value.copy_from(weights);
    bias.copy_from(biases);
  }
}

DisabledLayerNorm::~DisabledLayerNorm() {
  for (const auto& [tensor, values] : values_) tensor.copy_from(values);
}

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

// The score of the model with LayerNorm whole and disabled, in each layer and in all of them.
Json disabled(const Parameters& parameters, int layers,
              const std::function<std::optional<double>()>& score) {
  Json::Array list;
  const auto add = [&](const std::string& what, const std::string& layer) {
    const auto value = score();
    list.push_back(Json::object({{"what", what},
                                 {"layer", layer},
                                 {"score", value ? Json(*value) : Json()}}));
  };
  add("whole", "none");
  for (const int dimensions : {1, 4, 24, 0})
    for (int layer = -1; layer < layers; ++layer) {
      const DisabledLayerNorm off(parameters, layer, dimensions);
      add(dimensions > 0 ? std::to_string(dimensions) : "all",
          layer < 0 ? "every" : std::to_string(layer + 1));
    }
  return Json::array(list);
}

Json pretrained_without_norm(const LnPeftOptions& o) {
  const std::string folder = model_folder(o.model);
  const BertConfig config = BertConfig::load(folder + "/config.json");
  const Tokenizer tokenizer = tokenizer_of(folder, config);
  WithParameters<BertForPreTraining> model(config, 0, false);
  const WeightsReport report = load_weights(folder, model.parameters, &config);
  Json result = Json::object({{"disabled", Json::array()}});
  for (const std::string& name : report.initialised)
    if (name.starts_with("cls.predictions")) return result;
  const Corpus corpus({o.corpus});
  const bool next_sentence = config.family().next_sentence;
  const PretrainingData data(corpus, tokenizer,
                             {.max_length = std::min(o.max_length, config.max_tokens()),
                              .next_sentence = next_sentence,
                              .one_text = !next_sentence});
  std::vector<PretrainingExample> examples = data.held_out();
  MB_CHECK(!examples.empty(),
           "--corpus {}: expected 4 documents or more, so that one can be held out", o.corpus);
  if (const size_t all = examples.size(), some = size_t(o.limit); some > 0 && some < all) {
    for (size_t i = 0; i < some; ++i) examples[i] = examples[i * all / some];  // evenly spaced
    examples.resize(some);
  }
  model.network.train(false);
  const auto loss = [&]() -> std::optional<double> {
    double nats = 0, words = 0;
    const auto add = [&](std::span<const int32_t> some) {
      const auto first = size_t(some.front());
      const PretrainingBatch batch =
          pack(std::span<const PretrainingExample>(examples).subspan(first, some.size()));
      const PretrainingOutput out =
          model.network.forward(batch.batch, batch.masked, batch.originals);
      nats += double(out.mlm_loss.item()) * double(batch.masked.size());
      words += double(batch.masked.size());
    };
    for_each_batch("held-out examples", examples.size(), add, 32);
    return nats / words;
  };
  return result.set("disabled", disabled(model.parameters, config.num_hidden_layers, loss))
      .set("examples", int64_t(examples.size()));
}

double rate_of(const LnPeftOptions& o) { return o.lr_full[o.lr_full.size() / 2]; }

}  // namespace

Run LnPeftRuns::tuned(const Task& task) const {
  Run run = document.fine_tuning(task, train_options(trained::full_model, rate_of(o), o.seed),
                                 "tuned-" + task.name);
  run.options["measured"] = "changes, disabled, distances";
  run.work = [train = run.work, task, options = o](const std::string& folder) {
    Json result = train(folder);
    const TrainedModel before(options.model);
    TrainedModel after(folder);
    const Dataset dev =
        read_set(options.data, task, Split::dev, 0, after.tokenizer,
                 options.dataset_options(after.config.max_length), std::cerr);
    const auto score = [&] { return scores_on({&dev, 1}, after.model.network, task)[0]; };
    const auto new_model = [&](int seed) {
      return Model(before.config, uint64_t(seed), true, heads_of(before.tasks), 0);
    };
    const Model first = new_model(options.seed), second = new_model(options.seed + 1);
    result.set("two random models", distance(changes(first.parameters, second.parameters)))
        .set("pre-training", distance(changes(first.parameters, before.model.parameters)));
    return result.set("changes", changes(before.model.parameters, after.model.parameters))
        .set("disabled", disabled(after.model.parameters, after.config.num_hidden_layers, score));
  };
  return run;
}

Run LnPeftRuns::pretrained() const {
  Run run{"mlm", document.inputs(tasks()[0]),
          [options = o](const std::string&) { return pretrained_without_norm(options); }};
  std::erase_if(run.options, [](const auto& option) {
    return option.first.starts_with("data ") || option.first == "task";
  });
  run.options["corpus"] = document.study().fingerprint(o.corpus);
  return run;
}

namespace {

std::string rate_text(const LnPeftRuns& runs) {
  return formatted("one full fine-tuning a task, lr {}", rate_of(runs.o));
}

// [LN-PEFT fig.1] [LN-PEFT eq.1] [LN-PEFT eq.6] [LN-PEFT sec.2]
void fig1(const LnPeftRuns& runs, ItemReport& report) {
  const Names& components = layer_components();
  LongTable table({"task", "layer", "component", "n", "D", "L0", "L1"}),
      evidence({"task", "layer", "component", "seed", "D"});
  const int seed = runs.o.seed;
  report.figure(
      "For each task, D of each component in each layer: the mean absolute change of its weights "
      "and biases in full fine-tuning",
      runs.tasks(), [&](const Task& task) {
        Panel panel{.title = task.title,
                    .x_label = "layer",
                    .y_label = "",
                    .heat = {.values = Matrix(components.size()), .min = 0},
                    .y_names = components};
        std::map<std::string, double> largest_other;  // by layer
        for (const Json& change : runs.document.result(runs.tuned(task))["changes"].items()) {
          const std::string layer = std::to_string(change["layer"].integer()),
                            component = change["component"].string();
          const double D = change["D"].number();
          table(task.name, layer, component, float_text(change["n"].number()), float_text(D),
                float_text(change["L0"].number())) = change["L1"].number();
          evidence(task.name, layer, component, seed) = D;
          if (component != "output.LayerNorm")
            largest_other[layer] = std::max(largest_other[layer], D);
          const size_t row = index_of(component, components, "component");
          panel.heat.values[row].push_back(D);
          if (row == 0) panel.x_names.push_back(layer);
        }
        for (const auto& [layer, D] : largest_other)
          evidence(task.name, layer, "the largest other", seed) = D;
        return panel;
      },
      {.columns = 2, .shared_colors = true});
  const auto mean_change = [&](const std::string& component, const Task& task) {
    const Numbers D = evidence.values({{"task", task.name}, {"component", component}});
    return fixed(1000 * std::accumulate(D.begin(), D.end(), 0.0) / double(D.size()), 3);
  };
  report.table("1000 D", "mean over the layers", components, runs.tasks(), mean_change);
  const auto show_distance = [&](const std::string& row, const Task& task) {
    const Json result = runs.document.result(runs.tuned(task));
    const double D = row == "fine-tuning" ? distance(result["changes"]) : result[row].number();
    evidence(task.name, "all", row, seed) = D;
    return fixed(1000 * D, 3);
  };
  report.table("1000 D of all components together, which is their L1 distance by their size",
               "what moves the model, or two of them", Names{"fine-tuning", "pre-training", "two random models"},
               runs.tasks(), show_distance);
  report.csv(table);
  report.judge_by(evidence, {1000, 3, "/ 1000"});
  report.caption(rate_text(runs));
}

struct ModelScores {  // of a model with LayerNorm disabled
  std::string name, title;
  Json disabled;
};
struct Disabled {
  std::string what, title;
};

// [LN-PEFT sec.2.3]
void sec23(const LnPeftRuns& runs, ItemReport& report) {
  std::vector<ModelScores> models;
  for (const DevSet& set : first_dev_sets(runs.tasks()))
    models.push_back(
        {set.task.name, set.title, runs.document.result(runs.tuned(set.task))["disabled"]});
  const Json values = runs.document.result(runs.pretrained())["disabled"];
  report.when("no pre-training head", values.items().empty());
  if (!values.items().empty())
    models.push_back({"mlm", "pre-trained (held-out MLM loss)", values});
  LongTable table({"task", "what", "layer", "score"});
  for (const ModelScores& model : models)
    for (const Json& value : model.disabled.items())
      table(model.name, value["what"].string(), value["layer"].string()) =
          value["score"].number_if();
  report.csv(table);
  report.judge_by(table, {.name = "nats"});         // of the held-out loss, the only one judged
  const BertConfig config = BertConfig::load(model_folder(runs.o.model) + "/config.json");
  const int of_one = 2 * config.num_hidden_layers;
  const auto score_of = [&](const std::string& what, const ModelScores& model) {
    return table.values({{"task", model.name},
                         {"what", what},
                         {"layer", what == "whole" ? "none" : "every"}});
  };
  const auto disabled_cell = [&](const Disabled& row, const ModelScores& model) -> ItemReport::Cell {
    const Numbers score = score_of(row.what, model);
    if (score.empty()) return {"", "undefined"};
    ItemReport::Cell cell{"", fixed(score[0], 4)};
    if (model.name != "mlm" || row.what == "whole") return cell;
    cell.ours += formatted(" (× {})", fixed(score[0] / score_of("whole", model)[0], 2));
    for (const double times : report.printed().values({{"what", row.what}}))
      cell.printed = formatted("× {}", times);
    return cell;
  };
  report.table(
      "Score with weight and bias of LayerNorm set to 0, by dimensions of largest |weight|; ×: the "
      "loss beside that of the whole model",
      "LayerNorm disabled in every layer",
      std::vector<Disabled>{{"whole", "whole"},
                            {"1", formatted("1 largest dimension: {} parameters", of_one)},
                            {"4", formatted("4 largest dimensions: {}", 4 * of_one)},
                            {"24", formatted("24 largest dimensions: {}", 24 * of_one)},
                            {"all", formatted("all dimensions: {}", config.hidden_size * of_one)}},
      models, disabled_cell);
  report.caption(rate_text(runs) + "; text held out of " + runs.o.corpus);
}

}  // namespace

std::vector<Item> lnpeft_change_items(const LnPeftRuns& runs) {
  const RunGrid tuned(std::bind_front(&LnPeftRuns::tuned, runs), runs.tasks());
  return {{"fig1", tuned, std::bind_front(fig1, runs)},
          {"sec2.3", both(tuned, [runs] { return std::vector{runs.pretrained()}; }),
           std::bind_front(sec23, runs)}};
}

}  // namespace minbert
