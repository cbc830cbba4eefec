// What a model is worth without LayerNorm.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "bert/family.h"
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

Json disabled(const Parameters& parameters, int layers, const std::function<Json(const std::string& layer)>& measure) {
  Json::Array list;
  const auto add = [&](const std::string& what, const std::string& layer) {
    list.push_back(measure(layer).set("what", what).set("layer", layer));
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

std::optional<double> score_of(MultitaskBert& network, const Task& task, const Dataset& set) {
  std::ostringstream warnings;
  const auto score = scores_on({&set, 1}, network, task, &warnings)[0];
  return task.kind == TaskKind::regression && !warnings.str().empty() ? std::nullopt : score;
}

namespace {

// At most `limit` examples of held-out text, evenly spaced.
std::vector<PretrainingExample> held_out(const LnPeftOptions& o, const BertConfig& config, const Tokenizer& tokenizer) {
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
    for (size_t i = 0; i < some; ++i) examples[i] = examples[i * all / some];
    examples.resize(some);
  }
  return examples;
}

Json pretrained_without_norm(const LnPeftOptions& o) {
  const std::string folder = model_folder(o.model);
  const BertConfig config = BertConfig::load(folder + "/config.json");
  WithParameters<BertForPreTraining> model(config, 0, false);
  const WeightsReport report = load_weights(folder, model.parameters, &config);
  Json result = Json::object({{"disabled", Json::array()}});
  for (const std::string& name : report.initialised)
    if (name.starts_with("cls.predictions")) return result;
  const std::vector<PretrainingExample> examples = held_out(o, config, tokenizer_of(folder, config));
  model.network.train(false);
  const auto loss = [&](const std::string& layer) {
    const bool one_by_one = layer == "none" || layer == "every";
    Numbers nats;
    double words = 0;
    const auto add = [&](std::span<const int32_t> some) {
      const PretrainingBatch batch = pack({&examples[size_t(some[0])], some.size()});
      const PretrainingOutput out = model.network.forward(batch.batch, batch.masked, batch.originals);
      nats.push_back(double(out.mlm_loss.item()) * double(batch.masked.size()));
      words += double(batch.masked.size());
    };
    for_each_batch("held-out examples", examples.size(), add, one_by_one ? 1 : 32);
    Json measured = Json::object({{"score", std::accumulate(nats.begin(), nats.end(), 0.0) / words}});
    if (one_by_one) measured.set("nats", Json::array_of(nats));
    return measured;
  };
  return result.set("disabled", disabled(model.parameters, config.num_hidden_layers, loss));
}

}  // namespace

Run LnPeftRuns::pretrained() const {
  Run run{"mlm", model_alone(), [options = o](const std::string&) { return pretrained_without_norm(options); }};
  run.options["corpus"] = document.study().fingerprint(o.corpus);
  run.version = 2;                                  // 2: the loss of each sequence
  return run;
}

namespace {

struct ModelScores {  // of a model with LayerNorm disabled
  std::string name, title;
};
struct Disabled {
  std::string what, title;
};

// The loss beside that of the whole model, of the held-out sequences as they are (sample 0) and drawn again.
LongTable sampled_losses(const LnPeftRuns& runs, const Json& values) {
  LongTable table({"task", "what", "layer", "sample", "ratio"});
  Random random(uint64_t(runs.o.seed), "held-out sequences");
  for (int sample = 0; sample <= (runs.o.judges() ? 200 : 0) && !values.items().empty(); ++sample) {
    std::vector<size_t> drawn(values.items()[0]["nats"].items().size());
    for (size_t i = 0; i < drawn.size(); ++i) drawn[i] = sample == 0 ? i : size_t(random.below(drawn.size()));
    double whole = 0;                               // which stands first
    for (const Json& value : values.items()) {
      if (!value.has("nats")) continue;
      const Numbers nats = value["nats"].numbers();
      double sum = 0;
      for (const size_t i : drawn) sum += nats[i];
      if (value["what"].string() == "whole") whole = sum;
      table("mlm", value["what"].string(), value["layer"].string(), sample) = sum / whole;
    }
  }
  return table;
}

// [LN-PEFT sec.2.3]
void sec23(const LnPeftRuns& runs, ItemReport& report) {
  const Json values = runs.document.result(runs.pretrained())["disabled"];
  report.when("no pre-training head", values.items().empty());
  LongTable table({"task", "what", "layer", "seed", "score"});
  const auto add = [&](const std::string& task, const std::string& seed, const Json& disabled) {
    for (const Json& value : disabled.items())
      table(task, value["what"].string(), value["layer"].string(), seed) = value["score"].number_if();
  };
  std::vector<ModelScores> models;
  for (const DevSet& set : first_dev_sets(runs.tasks())) {
    models.push_back({set.task.name, set.title});
    for (const int seed : runs.document.seeds())
      add(set.task.name, std::to_string(seed), runs.document.result(runs.tuned(set.task, seed))["disabled"]);
  }
  add("mlm", "", values);
  if (!values.items().empty()) models.push_back({"mlm", "pre-trained (held-out MLM loss)"});
  report.csv(table);
  report.judge_by(sampled_losses(runs, values), {100, 1, "% of the whole model's loss"});
  const BertConfig config = BertConfig::load(model_folder(runs.o.model) + "/config.json");
  const int of_one = 2 * config.num_hidden_layers;
  const auto scores_of = [&](const std::string& what, const ModelScores& model) {
    return table.only({{"task", model.name}, {"what", what}, {"layer", what == "whole" ? "none" : "every"}});
  };
  const auto disabled_cell = [&](const Disabled& row, const ModelScores& model) -> ItemReport::Cell {
    const LongTable all = scores_of(row.what, model);
    const Numbers scores = all.values({});
    if (scores.empty()) return {"", "undefined"};
    ItemReport::Cell cell{"", mean_text(scores, 4)};
    if (const size_t n = all.rows().size(); scores.size() < n)
      cell.note = formatted("undefined in {} of {}", n - scores.size(), n);
    if (model.name != "mlm" || row.what == "whole") return cell;
    cell.ours += formatted(" (× {})", fixed(scores[0] / scores_of("whole", model).values({})[0], 2));
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
  report.caption(runs.tuned_text() + "; text held out of " + runs.o.corpus);
}

}  // namespace

Item lnpeft_disabled_item(const LnPeftRuns& runs) {
  return {"sec2.3", both(runs.all_tuned(), [runs] { return std::vector{runs.pretrained()}; }),
          std::bind_front(sec23, runs)};
}

}  // namespace minbert
