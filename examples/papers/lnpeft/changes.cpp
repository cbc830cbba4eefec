// What full fine-tuning changes, and what a model is worth without LayerNorm.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <sstream>

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
    const auto place = layer_place(p.name);
    if (!place || place->component != "output.LayerNorm" || place->kind != "weight") continue;
    if (layer >= 0 && place->layer != layer) continue;
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

// D = 1/n Σ |C_fine - C_pre|   [LN-PEFT eq.1]    L0: elements that differ    L1 = n D   [LN-PEFT eq.6]
struct Change {
  double n = 0, L0 = 0, L1 = 0;
  double D() const { return L1 / n; }
};

// Of every component of every layer, weight and bias together, in the model's order.
Json changes(const Parameters& before, const Parameters& after) {
  std::map<std::pair<int, size_t>, Change> all;
  for (const Parameter& p : after.items()) {
    const auto place = layer_place(p.name);
    if (!place) continue;
    Change& change = all[{place->layer, index_of(place->component, layer_components(), "component")}];
    const std::vector<real> pre = before.value(p.name).values(), fine = p.value.values();
    for (size_t i = 0; i < fine.size(); ++i) {
      change.n += 1;
      change.L0 += fine[i] != pre[i];
      change.L1 += std::abs(double(fine[i]) - double(pre[i]));
    }
  }
  Json::Array list;
  for (const auto& [place, change] : all)
    list.push_back(Json::object().set("layer", place.first + 1).set("component", layer_components()[place.second])
                       .set("n", change.n).set("D", change.D()).set("L0", change.L0).set("L1", change.L1));
  return Json::array(list);
}

// The score of the model with LayerNorm whole and disabled, in each layer and in all of them.
Json disabled(const Parameters& parameters, int layers, const std::function<std::optional<double>()>& score) {
  Json::Array list;
  const auto add = [&](const std::string& what, const std::string& layer) {
    const std::optional<double> value = score();
    list.push_back(Json::object().set("what", what).set("layer", layer).set("score", value ? Json(*value) : Json()));
  };
  add("whole", "none");
  for (const int dimensions : {1, 4, 24, 0})
    for (int layer = -1; layer < layers; ++layer) {
      const DisabledLayerNorm off(parameters, layer, dimensions);
      add(dimensions > 0 ? std::to_string(dimensions) : "all", layer < 0 ? "every" : std::to_string(layer + 1));
    }
  return Json::array(list);
}

Json pretrained_without_norm(const LnPeftOptions& o) {
  const std::string folder = model_folder(o.model);
  const BertConfig config = BertConfig::load(folder + "/config.json");
  const Tokenizer tokenizer = tokenizer_of(folder, config);
  WithParameters<BertForPreTraining> model(config, 0, false);
  const WeightsReport report = load_weights(folder, model.parameters, &config);
  Json result = Json::object().set("disabled", Json::array());
  for (const std::string& name : report.initialised)
    if (name.starts_with("cls.predictions")) return result;
  const Corpus corpus({o.corpus});
  const bool next_sentence = config.family().next_sentence;
  const PretrainingData data(corpus, tokenizer, {.max_length = std::min(o.max_length, config.max_tokens()),
                                                 .next_sentence = next_sentence, .one_text = !next_sentence});
  std::vector<PretrainingExample> examples = data.held_out();
  MB_CHECK(!examples.empty(), "--corpus {}: expected 4 documents or more, so that one can be held out", o.corpus);
  if (const size_t all = examples.size(), some = size_t(o.limit); some > 0 && some < all) {
    for (size_t i = 0; i < some; ++i) examples[i] = examples[i * all / some];        // evenly spaced
    examples.resize(some);
  }
  model.network.train(false);
  const auto loss = [&]() -> std::optional<double> {
    double nats = 0, words = 0;
    const auto add = [&](std::span<const int32_t> some) {
      const auto first = size_t(some.front());
      const PretrainingBatch batch = pack(std::span<const PretrainingExample>(examples).subspan(first, some.size()));
      const PretrainingOutput out = model.network.forward(batch.batch, batch.masked, batch.originals);
      nats += double(out.mlm_loss.item()) * double(batch.masked.size());
      words += double(batch.masked.size());
    };
    for_each_batch("held-out examples", examples.size(), add, 32);
    return nats / words;
  };
  return result.set("disabled", disabled(model.parameters, config.num_hidden_layers, loss))
      .set("examples", int64_t(examples.size()));
}

}  // namespace

// The rate in the middle of --lr-full.
Run LnPeftRuns::tuned(const Task& task) const {
  const double lr = o_.lr_full[o_.lr_full.size() / 2];
  Run run = document_.fine_tuning(task, train_options(trained::full_model, lr, o_.seed), "tuned-" + task.name);
  run.options["measured"] = "changes, disabled";
  run.work = [train = run.work, task, model = o_.model, o = o_](const std::string& folder) {
    Json result = train(folder);
    const TrainedModel before(model);
    TrainedModel after(folder);
    const Dataset dev = read_set(o.data, task, Split::dev, 0, after.tokenizer,
                                 {.max_length = after.config.max_length, .limit = o.limit}, std::cerr);
    const auto score = [&] { return scores_on({&dev, 1}, after.model.network, task)[0]; };
    result.set("changes", changes(before.model.parameters, after.model.parameters));
    result.set("disabled", disabled(after.model.parameters, after.config.num_hidden_layers, score));
    return result;
  };
  return run;
}

Run LnPeftRuns::pretrained() const {
  Run run{"mlm", document_.inputs(document_.tasks()[0]), {}, 1};
  std::erase_if(run.options, [](const auto& option) {
    return option.first.starts_with("data ") || option.first == "task";
  });
  run.options["corpus"] = document_.study().fingerprint(o_.corpus);
  run.work = [o = o_](const std::string&) { return pretrained_without_norm(o); };
  return run;
}

namespace {

std::vector<Run> tuned_runs(const LnPeftRuns& runs) {
  std::vector<Run> all;
  for (const Task& task : runs.document().tasks()) all.push_back(runs.tuned(task));
  return all;
}

std::string rate_text(const LnPeftRuns& runs) {
  const std::vector<double>& rates = runs.options().lr_full;
  return formatted("one full fine-tuning a task, lr {}", rates[rates.size() / 2]);
}

// [LN-PEFT fig.1] [LN-PEFT eq.1] [LN-PEFT eq.6]
void fig1(const LnPeftRuns& runs, ItemReport& report) {
  LongTable table({"task", "layer", "component", "n", "D", "L0", "L1"}), judged({"task", "layer", "component", "D"});
  Figure figure{.title = "", .columns = 2};
  std::vector<std::string> columns = {"mean over the layers"};
  std::vector<ItemReport::TableRow> rows;
  for (const std::string& component : layer_components()) rows.push_back({component, {}});
  for (const Task& task : runs.document().tasks()) {
    figure.panels.push_back({.title = task.title, .x_label = "layer", .y_label = ""});
    Panel& panel = figure.panels.back();
    panel.y_names = layer_components();
    panel.heat.values.resize(layer_components().size());
    std::map<std::string, double> largest_other;    // by layer
    for (const Json& change : runs.result(runs.tuned(task))["changes"].items()) {
      const std::string layer = std::to_string(change["layer"].integer()), component = change["component"].string();
      const double D = change["D"].number();
      table.add({task.name, layer, component, exact(change["n"].number()), exact(D), exact(change["L0"].number())},
                change["L1"].number());
      judged.add({task.name, layer, component}, D);
      if (component != "output.LayerNorm") largest_other[layer] = std::max(largest_other[layer], D);
      const size_t row = index_of(component, layer_components(), "component");
      panel.heat.values[row].push_back(D);
      if (row == 0) panel.x_names.push_back(layer);
    }
    for (const auto& [layer, D] : largest_other) judged.add({task.name, layer, "the largest other"}, D);
    columns.push_back(task.title);
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::vector<double>& D = panel.heat.values[row];
      rows[row].cells.push_back({"", fixed(1000 * std::accumulate(D.begin(), D.end(), 0.0) / double(D.size()), 3)});
    }
  }
  report.csv(table);
  report.judge_by(judged);
  report.figure(figure, "For each task, D of each component in each layer: the mean absolute change of its weights and "
                        "biases in full fine-tuning");
  report.table("1000 D", columns, rows);
  report.caption(rate_text(runs));
}

// [LN-PEFT sec.2.3]
void sec23(const LnPeftRuns& runs, ItemReport& report) {
  LongTable table({"task", "what", "layer", "score"});
  std::vector<std::string> columns = {"LayerNorm disabled in every layer"};
  std::vector<ItemReport::TableRow> rows;
  for (const char* head : {"whole", "1", "4", "24", "all"}) rows.push_back({head, {}});
  const auto add = [&](const std::string& task, const std::string& title, const Json& values) {
    columns.push_back(title);
    for (const Json& value : values.items()) {
      const Json score = value["score"];
      const std::string what = value["what"].string(), layer = value["layer"].string();
      table.add({task, what, layer}, score.number_if());
      for (ItemReport::TableRow& row : rows)
        if (row.head == what && (layer == "every" || layer == "none"))
          row.cells.push_back({"", score.is_null() ? "undefined" : fixed(score.number(), 4)});
    }
  };
  for (const Task& task : runs.document().tasks())
    add(task.name, formatted("{} ({})", task.title, metric_name(task.metrics[0])),
        runs.result(runs.tuned(task))["disabled"]);
  if (const Json values = runs.result(runs.pretrained())["disabled"]; !values.items().empty())
    add("mlm", "pre-trained (held-out MLM loss)", values);
  else report.differs(formatted("{} has no head of masked words: no held-out loss", runs.options().model));
  report.csv(table);
  for (size_t row = 1; row + 1 < rows.size(); ++row)
    rows[row].head = counted(std::stoi(rows[row].head), "largest dimension");
  rows.back().head += " dimensions";
  report.table("Score with weight and bias of LayerNorm set to 0, by dimensions of largest |weight|", columns, rows);
  report.caption(rate_text(runs) + "; text held out of " + runs.options().corpus);
  report.differs("the document cites a result for RoBERTa on WikiText and has no experiment of its own");
  report.differs("the pre-training may have seen the text that is held out here");
}

}  // namespace

std::vector<Item> lnpeft_change_items(const SharedRuns& runs) {
  const auto tuned = [runs] { return tuned_runs(*runs); };
  const auto with_pretrained = [runs] {
    std::vector<Run> all = tuned_runs(*runs);
    all.push_back(runs->pretrained());
    return all;
  };
  return {{"fig1", "Change of the components in fine-tuning (eq.1, eq.6)", tuned,
           [=](ItemReport& r) { fig1(*runs, r); }},
          {"sec2.3", "LayerNorm disabled", with_pretrained, [=](ItemReport& r) { sec23(*runs, r); }}};
}

}  // namespace minbert
