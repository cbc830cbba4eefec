// Looking inside a model: the text is read, one forward is run under a Trace, with the backward of
// a label's loss where one is given, and what it leaves is measured.
#include "inside/look.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/tape.h"
#include "minbert/ops.h"
#include "minbert/trainer.h"
#include "models/masked_words.h"
#include "models/norm_pass.h"
#include "text/lines.h"

namespace minbert {
namespace {

using Operations = std::vector<Trace::Operation>;
using Reals = std::vector<real>;

double length(const Tensor& x) {                    // of all its numbers, in double
  double squares = 0;
  for (const real v : x.values()) squares += double(v) * double(v);
  return std::sqrt(squares);
}
Tensor row_lengths(const Tensor& x) { return sqrt(sum_rows(square(x))); }     // [T,H] -> [T,1]

// ---- Read

// The text as the model reads it.
struct Text {
  const Task* task = nullptr;                       // none: as plain LayerNorm
  std::optional<double> label;
  bool cut = false;
  Batch batch;
};

Text read_text(TrainedModel& trained, const InsideOptions& o) {
  MB_CHECK(!o.text.empty(), "--text is empty; give a sentence");
  check_utf8(o.text, "--text");
  check_utf8(o.text_b, "--text-b");
  // The folder of a foreign model does not say whether it takes one text or two.
  if (trained.config.is_foreign() && !o.text_b.empty())
    trained.tasks[0].text_columns = {"text", "second text"};
  Text text;
  if (!o.task.empty() || !o.label.empty()) text.task = &trained.task(o.task);
  const Task* task = text.task;
  if (!o.label.empty()) text.label = label_of(*task, o.label);
  MB_CHECK(!task || task->is_pair() == !o.text_b.empty(), "{} takes {}", task->name,
           task->is_pair() ? "two texts; give --text-b" : "one text; leave --text-b out");
  text.batch = pack(example_of(trained, task, o, &text.cut).inputs,
                    task ? Indices{trained.model.network.task_id(task->name)} : Indices());
  return text;
}

// ---- Run

// One forward of the text, and the backward of its label's loss.
struct Pass {
  const TrainedModel& trained;
  const Batch& batch;
  Operations operations = {};
  Reals attention = {};                             // [layers,heads,T,T], 0 between sentences
  double loss = 0;
  // The hidden states: the last result of the embeddings, of each layer, of a norm after them
  std::vector<std::string> state_names = {};
  std::vector<Tensor> states = {};
  std::vector<std::string> norms = {};              // their modules

  const BertConfig& config() const { return trained.config; }
};

// The weights of a layer [heads,T,T], from those of each sentence's heads, one after the other.
void add_attention(const Tensor& packed, Pass& p) {
  const Reals weights = packed.values();
  const int64_t T = p.batch.tokens(), heads = p.config().num_attention_heads;
  Reals all(size_t(heads * T * T));
  const real* block = weights.data();
  for (int64_t b = 0; b < p.batch.sentences(); ++b) {
    const int64_t begin = p.batch.offsets[b], L = p.batch.offsets[b + 1] - begin;
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < L; ++i)
        std::copy_n(block + i * L, L, all.begin() + (h * T + begin + i) * T + begin);
      block += attention_block(L);
    }
  }
  p.attention.insert(p.attention.end(), all.begin(), all.end());
}

// Adds the last result of this module, if it has one.
void add_state(const std::string& name, const std::string& path, Pass& p) {
  Tensor last;
  for (const auto& o : p.operations)
    if (is_in(o.module, path)) last = o.result;
  if (!last) return;
  p.state_names.push_back(name);
  p.states.push_back(last);
}

Pass run(TrainedModel& trained, const Text& text) {
  MultitaskBert& network = trained.model.network;
  trained.model.parameters.zero_grad();             // those of an earlier look
  Pass pass{trained, text.batch};
  std::vector<Tensor> weights;
  const Trace trace;
  const BertOutput out = network.bert().forward(text.batch, all_rows, &weights);
  if (text.task) {
    const Tensor pooled = pooled_of(out, text.batch, trained.config.pool);
    const Tensor logits = network.logits(pooled, network.task_id(text.task->name));
    if (text.label) {
      const Tensor loss = task_loss(*text.task, logits, std::vector<double>{*text.label});
      pass.loss = double(loss.item());
      backward(loss);
    }
  }
  clear_tape();
  pass.operations = trace.operations();
  for (const Tensor& layer : weights) add_attention(layer, pass);
  add_state("embeddings", "bert.embeddings", pass);
  for (int l = 0; l < trained.config.num_hidden_layers; ++l)
    add_state(formatted("layer {}", l + 1), formatted("bert.encoder.layer.{}", l), pass);
  add_state("last norm", "bert.encoder.LayerNorm", pass);
  network.visit([&](Module& module) {
    if (dynamic_cast<Norm*>(&module)) pass.norms.push_back(module.path());
  });
  return pass;
}

// ---- Measure

// |v_j| [layers,heads,T]
Reals value_norms(const Pass& pass) {
  Reals norms;
  const int64_t T = pass.batch.tokens(), heads = pass.config().num_attention_heads;
  for (const Trace::Operation& o : pass.operations) {
    if (o.name != "attention") continue;            // one a layer
    const Tensor& v = o.arguments[2];               // [T,H]
    const Tensor lengths = row_lengths(v.reshape({T * heads, v.cols() / heads})).reshape({T, heads});
    for (const real x : transpose(lengths).values()) norms.push_back(x);
  }
  return norms;
}

// What is shown of each token in a state: its cosines with its start and with the state before, its
// length |x| and, with a label, |dL/dx|.
Json state_json(const Pass& pass, size_t i) {
  const Tensor& x = pass.states[i];
  const Tensor slope = x.grad(), lengths = row_lengths(x);
  const auto cosines = [&](const Tensor& other) {
    return rounded((sum_rows(x * other) / (lengths * row_lengths(other))).values());
  };
  return Json::object({{"name", pass.state_names[i]},
                       {"start", cosines(pass.states[0])},
                       {"previous", cosines(pass.states[i > 0 ? i - 1 : 0])},
                       {"length", rounded(lengths.values())},
                       {"gradient", rounded(slope ? row_lengths(slope).values() : Reals())}});
}

double rms(const Tensor& x) { return length(x) / std::sqrt(double(x.size())); }

// Rows before or after a norm: their means and variances, how many values are in each of 64 bins
// from -range to range, and the largest |x_i| with its i. Values beyond the range count in the
// outer bins.
Json rows_json(const Tensor& x, double range) {
  const Reals values = x.values();
  const Tensor mu = mean_rows(x), sigma2 = mean_rows(square(x - mu));
  std::vector<double> counts(64);
  for (const real v : values) ++counts[size_t(std::clamp((double(v) / range + 1) * 32, 0.0, 63.0))];
  const auto largest = std::ranges::max_element(values, {}, [](real v) { return std::abs(v); });
  return Json::object({{"mean", rounded(mu.values())},
                       {"variance", rounded(sigma2.values())},
                       {"counts", rounded(counts)},
                       {"largest", rounded(std::abs(double(*largest)))},
                       {"dimension", (largest - values.begin()) % x.cols()}});
}

Json norms_json(const Pass& pass) {
  Json::Array all;
  for (const std::string& path : pass.norms) {
    const NormPass norm = norm_pass(path, pass.operations);
    if (!norm.x) continue;                          // the norm "none" puts nothing on the tape
    const double most = 4 * std::max(rms(norm.x), rms(norm.y)), range = most > 0 ? most : 1;
    all.push_back(Json::object({{"module", path},
                                {"range", rounded(range)},
                                {"before", rows_json(norm.x, range)},
                                {"after", rows_json(norm.y, range)}}));
  }
  return Json::array(all);
}

// A norm's parameters: weight, bias [H], task_weight, task_bias [tasks,H]. Each row has a scale of
// its own: a task's are much smaller than the shared ones.
Json gains_json(const Pass& pass) {
  Json::Array all;
  for (const std::string& path : pass.norms) {
    Json gains = Json::object();
    for (const Parameter& p : pass.trained.model.parameters.items()) {
      if (!p.name.starts_with(path + ".")) continue;
      const std::string name = p.name.substr(path.size() + 1);
      const Reals values = p.value.values();
      const size_t cols = size_t(p.value.cols());
      Json::Array rows;
      for (size_t begin = 0; begin < values.size(); begin += cols)
        rows.push_back(rounded(std::span(values).subspan(begin, cols)));
      gains.set(name, Json::array(rows));
    }
    if (!gains.members().empty()) all.push_back(gains.set("module", path));
  }
  return Json::array(all);
}

Json gradients_json(const Pass& pass) {             // [name, |g|, |theta|]
  Json::Array all;
  for (const Parameter& p : pass.trained.model.parameters.items())
    if (const Tensor g = p.value.grad())
      all.push_back(Json::array({p.name, rounded(length(g)), rounded(length(p.value))}));
  return Json::array(all);
}

// The operations of this forward. An input is [number of the operation or -1, name of a parameter,
// shape].
Json tape_json(const Pass& pass) {
  const auto name_of = [&](const Tensor& leaf) -> std::string {
    for (const Parameter& p : pass.trained.model.parameters.all())
      if (p.value.is(leaf)) return p.name;
    return "";
  };
  Json::Array all;
  for (const Trace::Operation& o : pass.operations) {
    Json::Array inputs;
    for (size_t i = 0; i < o.inputs.size(); ++i)
      inputs.push_back(Json::array({o.inputs[i], o.inputs[i] < 0 ? name_of(o.arguments[i]) : "",
                                    formatted("{}", o.arguments[i].shape())}));
    const Tensor g = o.result.grad();
    all.push_back(Json::object({{"operation", o.name},
                                {"module", o.module},
                                {"shape", formatted("{}", o.result.shape())},
                                {"file", o.formula.file_name()},
                                {"line", int(o.formula.line())},
                                {"gradient", g ? Json(rounded(length(g))) : Json()},
                                {"inputs", Json::array(inputs)}}));
  }
  return Json::array(all);
}

Json pass_json(const Pass& pass) {
  const NoGrad no_tape;
  Json::Array states;
  for (size_t i = 0; i < pass.states.size(); ++i) states.push_back(state_json(pass, i));
  return Json::object({{"attention", rounded(pass.attention)},
                       {"value_norms", rounded(value_norms(pass))},
                       {"states", Json::array(states)},
                       {"norms", norms_json(pass)},
                       {"gains", gains_json(pass)},
                       {"loss", rounded(pass.loss)},
                       {"gradients", gradients_json(pass)},
                       {"tape", tape_json(pass)}});
}

int most_tokens(const BertConfig& config, const InsideOptions& o) {
  return std::min({o.tokens, config.max_tokens(), config.max_length});
}

// What one head predicts: each class with its probability, or in words why there is no prediction.
Json prediction_json(TrainedModel& trained, const Task& task, const InsideOptions& o) {
  Json prediction =
      Json::object({{"task", task.name}, {"not_run", ""}, {"choices", Json::array()}});
  if (task.is_pair() && o.text_b.empty())
    return prediction.set("not_run", "it takes two texts: --text-b");
  const Predictions read =
      predict(trained.model.network, task, Dataset{"--text", {example_of(trained, &task, o)}});
  Json::Array choices;
  for (const double p : probabilities(task.kind, read.row(0)))
    choices.push_back(Json::array({in_words(task, double(choices.size())), rounded(p)}));
  return prediction.set("text", in_words(task, read.values[0]))
      .set("choices", Json::array(choices));
}

// What goes with the page so that it can compute: the parameters, rounded as they travel, those of
// pre-training's head among them; or why not.
struct Carried {
  std::optional<MaskedWords> head;
  std::vector<Parameter> parameters;
  std::string no_head, why_not;

  Carried(TrainedModel& trained, const InsideOptions& o)
      : parameters(trained.model.parameters.items()) {
    try {
      head.emplace(trained);
      for (const Parameter& p : head->parameters().items()) parameters.push_back(p);
    } catch (const Error& e) {
      no_head = e.what();
    }
    why_not = o.without_weights ? "the page was made with --without-weights"
                                : why_not_carried(trained.config, trained.tokenizer, parameters);
    if (!why_not.empty()) return;
    round_to_half(trained.model.parameters);
    if (head) round_to_half(head->parameters());
  }
};

// What pre-training's head says of each token in each hidden state [states][T]: words with their
// probabilities.
Json lens_json(const Carried& carried, const Pass& pass) {
  Json::Array states;
  for (size_t i = 0; carried.head && i < pass.states.size(); ++i) {
    Json::Array tokens;
    for (const MaskedWords::Choices& words : carried.head->of_states(pass.states[i])) {
      Json::Array choices;
      for (const auto& [word, p] : words) choices.push_back(Json::array({word, rounded(p)}));
      tokens.push_back(Json::array(choices));
    }
    states.push_back(Json::array(tokens));
  }
  return Json::object({{"words", Json::array(states)}, {"not_run", carried.no_head}});
}

}  // namespace

Example example_of(const TrainedModel& trained, const Task* task, const InsideOptions& o,
                   bool* cut) {
  const bool siamese = task && task->is_pair() && trained.config.pairs == Pairs::siamese;
  const int most = most_tokens(trained.config, o) / (siamese ? 2 : 1);
  if (task) {
    std::vector<std::string> texts = {o.text};
    if (task->is_pair()) texts.push_back(o.text_b);
    return make_example(*task, texts, trained.tokenizer,
                        {.max_length = most, .pairs = trained.config.pairs}, cut);
  }
  const std::vector<int32_t> a = trained.tokenizer.encode(o.text),
                             b = trained.tokenizer.encode(o.text_b);
  const auto pair = o.text_b.empty() ? std::nullopt : std::optional(std::span(b));
  return {.id = "", .inputs = {build_sequence(trained.tokenizer, a, pair, most, cut)}};
}

Json look_inside(TrainedModel& trained, const std::string& model, const InsideOptions& o) {
  const Text text = read_text(trained, o);
  trained.model.network.train(false);
  const Carried carried(trained, o);
  Json::Array tasks, predictions, pieces, ids, segments;
  for (const Task& task : trained.tasks) {
    tasks.push_back(task.name);
    predictions.push_back(prediction_json(trained, trained.task(task.name), o));
  }
  for (int64_t row = 0; row < text.batch.tokens(); ++row) {
    ids.push_back(text.batch.ids[row]);
    segments.push_back(text.batch.segments[row]);
    pieces.push_back(trained.tokenizer.token(text.batch.ids[row]));
  }
  const Pass pass = run(trained, text);
  const BertConfig& config = trained.config;
  const NormEntry& norm = norms().find(config.norm);
  Json page = pass_json(pass);
  page.set("model", model)
      .set("norm", config.norm)
      .set("formula", norm.formula)
      .set("over", norm.over)
      .set("placement", name_of(config.placement))
      .set("layers", config.num_hidden_layers)
      .set("heads", config.num_attention_heads)
      .set("hidden", config.hidden_size)
      .set("tasks", Json::array(tasks))
      .set("text", o.text)
      .set("text_b", o.text_b)
      .set("task", text.task ? text.task->name : "")
      .set("label", text.label ? in_words(*text.task, *text.label) : "")
      .set("cut", text.cut)
      .set("pieces", Json::array(pieces))
      .set("ids", Json::array(ids))
      .set("segments", Json::array(segments))
      .set("code", code_json(config.norm, page["tape"]))
      .set("lens", lens_json(carried, pass))
      .set("mask", trained.tokenizer.mask())
      .set("predictions", Json::array(predictions))
      .set("carried", carried.why_not.empty()
                          ? carried_json(trained, carried.parameters, pass.states,
                                         most_tokens(config, o))
                          : Json::object({{"not_run", carried.why_not}}));
  if (text.label) page.set("steps", steps_json(trained, o));
  return page;
}

}  // namespace minbert
