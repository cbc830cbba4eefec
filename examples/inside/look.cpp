// Looking inside a model: one forward under a Trace, and the backward of a label's loss where one
// is given.
#include "inside/look.h"

#include <algorithm>
#include <cmath>

#include "engine/tape.h"
#include "minbert/trainer.h"
#include "models/masked_words.h"
#include "text/lines.h"

namespace minbert {
namespace {

using Operations = std::vector<Trace::Operation>;

// The mean of one row, summed in double.
double row_mean(std::span<const real> x) {
  double sum = 0;
  for (const auto v : x) sum += double(v);
  return sum / double(x.size());
}
double row_variance(std::span<const real> x) {
  const double mean = row_mean(x);
  double squares = 0;
  for (const auto v : x) squares += (double(v) - mean) * (double(v) - mean);
  return squares / double(x.size());
}
double row_dot(std::span<const real> a, std::span<const real> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * double(b[i]);
  return sum;
}
double row_length(std::span<const real> x) { return std::sqrt(row_dot(x, x)); }

double length(const Tensor& x) { return row_length(x.values()); }

bool is_in(const std::string& module, const std::string& path) {
  return module == path || module.starts_with(path + ".");
}

// What all parts of the measuring look at.
struct Measuring {
  TrainedModel& trained;
  const Operations& operations;
  const Batch& batch;
  std::vector<real> attention = {};                 // [layers,heads,T,T], 0 between sentences

  const BertConfig& config() const { return trained.config; }
  int64_t tokens() const { return batch.tokens(); }
  const Trace::Operation* last_in(const std::string& path) const {
    const auto found =
        std::find_if(operations.rbegin(), operations.rend(),
                     [&](const Trace::Operation& o) { return is_in(o.module, path); });
    return found == operations.rend() ? nullptr : &*found;
  }
  const Trace::Operation& attention_of(int64_t layer) const {
    const std::string path = formatted("bert.encoder.layer.{}", layer);
    return *std::ranges::find_if(operations, [&](const Trace::Operation& o) {
      return o.name == "attention" && o.module == path;
    });
  }
};

// The weights of a layer [heads,T,T], from those of each sentence's heads, one after the other.
void add_attention(const Tensor& packed, Measuring& m) {
  const std::vector<real> weights = packed.values();
  const int64_t T = m.tokens(), heads = m.config().num_attention_heads;
  std::vector<real> all(size_t(heads * T * T));
  const real* block = weights.data();
  for (int64_t b = 0; b < m.batch.sentences(); ++b) {
    const int64_t begin = m.batch.offsets[b], L = m.batch.offsets[b + 1] - begin;
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < L; ++i)
        std::copy_n(block + i * L, L, all.begin() + (h * T + begin + i) * T + begin);
      block += attention_block(L);
    }
  }
  m.attention.insert(m.attention.end(), all.begin(), all.end());
}

// |v_j| [layers,heads,T]
std::vector<real> value_norms(const Measuring& m) {
  std::vector<real> norms;
  const int64_t T = m.tokens(), H = m.config().hidden_size, d = m.config().head_size();
  for (int64_t l = 0; l < m.config().num_hidden_layers; ++l) {
    const std::vector<real> v = m.attention_of(l).arguments[2].values();
    for (int64_t h = 0; h < m.config().num_attention_heads; ++h)
      for (int64_t j = 0; j < T; ++j)
        norms.push_back(real(row_length(std::span(v).subspan(size_t(j * H + h * d), size_t(d)))));
  }
  return norms;
}

// The hidden states: the last result of the embeddings, of each layer, of a norm after them.
std::vector<std::pair<std::string, const Trace::Operation*>> states_of(const Measuring& m) {
  std::vector<std::pair<std::string, const Trace::Operation*>> found = {
      {"embeddings", m.last_in("bert.embeddings")}};
  for (int l = 0; l < m.config().num_hidden_layers; ++l)
    found.push_back(
        {formatted("layer {}", l + 1), m.last_in(formatted("bert.encoder.layer.{}", l))});
  if (const Trace::Operation* last = m.last_in("bert.encoder.LayerNorm"))
    found.push_back({"last norm", last});
  return found;
}

// What is shown of each token in a state: its cosines with its start and with the state before, its
// length |x| and, with a label, |dL/dx|.
Json state_json(const std::string& name, const Tensor& x, const Tensor& first,
                const Tensor& previous) {
  std::vector<double> start, before, length, gradient;
  const Tensor slope = x.grad();
  const std::vector<real> own = x.values(), firsts = first.values(), previouses = previous.values(),
                          slopes = slope ? slope.values() : std::vector<real>();
  for (int64_t row = 0; row < x.rows(); ++row) {
    const auto row_of = [&](const std::vector<real>& all) {
      return std::span(all).subspan(size_t(row * x.cols()), size_t(x.cols()));
    };
    const auto cosine = [&](const std::vector<real>& other) {
      return row_dot(row_of(own), row_of(other)) /
             (row_length(row_of(own)) * row_length(row_of(other)));
    };
    start.push_back(cosine(firsts));
    before.push_back(cosine(previouses));
    length.push_back(row_length(row_of(own)));
    if (slope) gradient.push_back(row_length(row_of(slopes)));
  }
  return Json::object({{"name", name},
                       {"start", rounded(start)},
                       {"previous", rounded(before)},
                       {"length", rounded(length)},
                       {"gradient", rounded(gradient)}});
}

// What a norm read and what it wrote: its first argument that another module made, and its last
// result.
struct NormPass {
  Tensor x, y;
};
NormPass norm_pass(const std::string& path, const Operations& operations) {
  NormPass pass;
  for (const Trace::Operation& o : operations) {
    if (!is_in(o.module, path)) continue;
    for (size_t i = 0; i < o.inputs.size() && !pass.x; ++i)
      if (o.inputs[i] >= 0 && !is_in(operations[size_t(o.inputs[i])].module, path))
        pass.x = o.arguments[i];
    pass.y = o.result;
  }
  return pass;
}

double rms(const Tensor& x) { return length(x) / std::sqrt(double(x.size())); }

// Rows before or after a norm: their means and variances, how many values are in each of 64 bins
// from -range to range, and the largest |x_i| with its i. Values beyond the range count in the
// outer bins.
Json rows_json(const Tensor& x, double range) {
  const std::vector<real> values = x.values();
  const int64_t cols = x.cols();
  std::vector<double> mean, variance, counts(64);
  for (int64_t r = 0; r < x.rows(); ++r) {
    const std::span row = std::span(values).subspan(size_t(r * cols), size_t(cols));
    mean.push_back(row_mean(row));
    variance.push_back(row_variance(row));
  }
  for (const real v : values) ++counts[size_t(std::clamp((double(v) / range + 1) * 32, 0.0, 63.0))];
  const auto largest = std::ranges::max_element(values, {}, [](real v) { return std::abs(v); });
  return Json::object({{"mean", rounded(mean)},
                       {"variance", rounded(variance)},
                       {"counts", rounded(counts)},
                       {"largest", rounded(std::abs(double(*largest)))},
                       {"dimension", (largest - values.begin()) % cols}});
}

Json norms_json(const std::vector<std::string>& paths, const Measuring& m) {
  Json::Array all;
  for (const std::string& path : paths) {
    const NormPass pass = norm_pass(path, m.operations);
    if (!pass.x) continue;                          // the norm "none" puts nothing on the tape
    const double most = 4 * std::max(rms(pass.x), rms(pass.y)), range = most > 0 ? most : 1;
    all.push_back(Json::object({{"module", path},
                                {"range", rounded(range)},
                                {"before", rows_json(pass.x, range)},
                                {"after", rows_json(pass.y, range)}}));
  }
  return Json::array(all);
}

// A norm's parameters: weight, bias [H], task_weight, task_bias [tasks,H]. Each row has a scale of
// its own: a task's are much smaller than the shared ones.
Json gains_json(const std::vector<std::string>& paths, const Measuring& m) {
  Json::Array all;
  for (const std::string& path : paths) {
    Json gains = Json::object();
    for (const Parameter& p : m.trained.model.parameters.items()) {
      if (!p.name.starts_with(path + ".")) continue;
      const std::string name = p.name.substr(path.size() + 1);
      const std::vector<real> values = p.value.values();
      const size_t cols =
          name.starts_with("task_") ? size_t(m.config().hidden_size) : values.size();
      Json::Array rows;
      for (size_t begin = 0; begin < values.size(); begin += cols)
        rows.push_back(rounded(std::span(values).subspan(begin, cols)));
      gains.set(name, Json::array(rows));
    }
    if (!gains.members().empty()) all.push_back(gains.set("module", path));
  }
  return Json::array(all);
}

Json gradients_json(const Measuring& m) {           // [name, |g|, |theta|]
  Json::Array all;
  for (const Parameter& p : m.trained.model.parameters.items())
    if (const Tensor g = p.value.grad())
      all.push_back(Json::array({p.name, rounded(length(g)), rounded(length(p.value))}));
  return Json::array(all);
}

// The operations of this forward. An input is [number of the operation or -1, name of a parameter,
// shape].
Json tape_json(const Measuring& m) {
  const auto name_of = [&](const Tensor& leaf) -> std::string {
    for (const Parameter& p : m.trained.model.parameters.all())
      if (p.value.is(leaf)) return p.name;
    return "";
  };
  Json::Array all;
  for (const Trace::Operation& o : m.operations) {
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

int most_tokens(const BertConfig& config, const InsideOptions& o) {
  return std::min({o.tokens, config.max_tokens(), config.max_length});
}

// What one head predicts: each class with its probability, or in words why there is no prediction.
Json prediction_json(TrainedModel& trained, const Task& task, const InsideOptions& o) {
  Json prediction =
      Json::object({{"task", task.name}, {"not_run", ""}, {"choices", Json::array()}});
  if (task.is_pair() && o.text_b.empty())
    return prediction.set("not_run", "it takes two texts: --text-b");
  const NoGrad no_tape;
  const int id = trained.model.network.task_id(task.name);
  const Example example = example_of(trained, &task, o, nullptr);
  const Tensor logits = trained.model.network.forward(pack(example.inputs, {id}), id);
  Predictions read;
  read_logits(task, "--text", logits, read);
  Json::Array choices;
  for (const double p : probabilities(task.kind, read.row(0)))
    choices.push_back(Json::array({in_words(task, double(choices.size())), rounded(p)}));
  return prediction.set("text", in_words(task, read.values[0]))
      .set("choices", Json::array(choices));
}

// What pre-training's head says of each token in each hidden state [states][T]: words with their
// probabilities. why_not: without a head
Json lens_json(const MaskedWords* head, const std::string& why_not, const std::vector<Tensor>& hidden) {
  Json::Array states;
  for (size_t i = 0; head && i < hidden.size(); ++i) {
    Json::Array tokens;
    for (const MaskedWords::Choices& words : head->of_states(hidden[i])) {
      Json::Array choices;
      for (const auto& [word, p] : words) choices.push_back(Json::array({word, rounded(p)}));
      tokens.push_back(Json::array(choices));
    }
    states.push_back(Json::array(tokens));
  }
  return Json::object({{"words", Json::array(states)}, {"not_run", why_not}});
}

// The words in the place of each [MASK], by the last state, in the form of predictions
Json::Array masked_words_json(const Tokenizer& t, const Indices& ids, const Json& lens) {
  Json::Array all;
  const Json::Array states = lens["words"].items();
  for (int64_t row = 0; row < ids.size(); ++row) {
    if (ids[row] != t.mask()) continue;
    const Json choices = states.empty() ? Json::array({}) : states.back().items()[size_t(row)];
    const std::string best = states.empty() ? "" : choices.items()[0].items()[0].string();
    all.push_back(Json::object({{"task", formatted("{} {}", t.token(t.mask()), all.size() + 1)},
                                {"text", best},
                                {"choices", choices},
                                {"not_run", lens["not_run"]}}));
  }
  return all;
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
  MB_CHECK(!o.text.empty(), "--text is empty; give a sentence");
  check_utf8(o.text, "--text");
  check_utf8(o.text_b, "--text-b");
  MultitaskBert& network = trained.model.network;
  const BertConfig& config = trained.config;
  if (config.is_foreign() && !o.text_b.empty())    // nobody says whether it takes one text or two
    trained.tasks[0].text_columns = {"text", "second text"};
  const Task* task = o.task.empty() && o.label.empty() ? nullptr : &trained.task(o.task);
  const double label = o.label.empty() ? 0 : label_of(*task, o.label);
  MB_CHECK(!task || task->is_pair() == !o.text_b.empty(), "{} takes {}", task->name,
           task->is_pair() ? "two texts; give --text-b" : "one text; leave --text-b out");
  network.train(false);
  trained.model.parameters.zero_grad();       // those of an earlier look

  std::optional<MaskedWords> masked_words;
  std::string no_masked_words;
  try {
    masked_words.emplace(trained);
  } catch (const Error& e) {
    no_masked_words = e.what();
  }
  std::vector<Parameter> carried = trained.model.parameters.items();
  if (masked_words)
    for (const Parameter& p : masked_words->parameters().items()) carried.push_back(p);
  const std::string not_carried =
      o.without_weights ? "the page was made with --without-weights" : why_not_carried(config, carried);
  if (not_carried.empty()) {
    round_to_half(trained.model.parameters);
    if (masked_words) round_to_half(masked_words->parameters());
  }

  Json::Array pieces, ids, segments, tasks, predictions, states;
  for (const Task& t : trained.tasks) {
    tasks.push_back(t.name);
    predictions.push_back(prediction_json(trained, trained.task(t.name), o));
  }
  bool cut = false;
  const int id = task ? network.task_id(task->name) : -1;
  const Example example = example_of(trained, task, o, &cut);
  const Batch batch = pack(example.inputs, task ? Indices{id} : Indices());
  for (int64_t row = 0; row < batch.tokens(); ++row) {
    ids.push_back(batch.ids[row]);
    segments.push_back(batch.segments[row]);
    pieces.push_back(trained.tokenizer.token(batch.ids[row]));
  }

  double loss_value = 0;
  std::vector<Tensor> weights;
  const Trace trace;
  const BertOutput out = network.bert().forward(batch, all_rows, &weights);
  if (task) {
    const Tensor logits = network.logits(pooled_of(out, batch, config.pool), id);
    if (!o.label.empty()) {
      const Tensor loss = task_loss(*task, logits, std::vector<double>{label});
      loss_value = double(loss.item());
      backward(loss);
    }
  }
  clear_tape();

  std::vector<std::string> norm_paths;
  network.visit([&](Module& module) {
    if (dynamic_cast<Norm*>(&module)) norm_paths.push_back(module.path());
  });
  Measuring m{trained, trace.operations(), batch};
  for (const Tensor& layer : weights) add_attention(layer, m);
  const auto found = states_of(m);
  std::vector<Tensor> hidden;
  for (const auto& [name, state] : found) hidden.push_back(state->result);
  for (size_t i = 0; i < found.size(); ++i)
    states.push_back(state_json(found[i].first, found[i].second->result, found[0].second->result,
                                found[i > 0 ? i - 1 : 0].second->result));
  const Json lens = lens_json(masked_words ? &*masked_words : nullptr, no_masked_words, hidden);
  for (const Json& words : masked_words_json(trained.tokenizer, batch.ids, lens))
    predictions.push_back(words);
  const Json tape = tape_json(m);
  const NormEntry& norm = norms().find(config.norm);
  Json page = Json::object({{"model", model},
                            {"norm", config.norm},
                            {"formula", norm.formula},
                            {"over", norm.over},
                            {"placement", name_of(config.placement)},
                            {"layers", config.num_hidden_layers},
                            {"heads", config.num_attention_heads},
                            {"hidden", config.hidden_size},
                            {"tasks", Json::array(tasks)},
                            {"text", o.text},
                            {"text_b", o.text_b},
                            {"task", task ? task->name : ""},
                            {"label", o.label.empty() ? "" : in_words(*task, label)},
                            {"cut", cut},
                            {"pieces", Json::array(pieces)},
                            {"ids", Json::array(ids)},
                            {"segments", Json::array(segments)},
                            {"attention", rounded(m.attention)},
                            {"value_norms", rounded(value_norms(m))},
                            {"states", Json::array(states)},
                            {"norms", norms_json(norm_paths, m)},
                            {"gains", gains_json(norm_paths, m)},
                            {"loss", rounded(loss_value)},
                            {"gradients", gradients_json(m)},
                            {"tape", tape},
                            {"code", code_json(config.norm, tape)},
                            {"lens", lens},
                            {"mask", trained.tokenizer.mask()},
                            {"predictions", Json::array(predictions)}});
  page.set("carried", not_carried.empty()
                          ? carried_json(trained, carried, hidden, most_tokens(config, o))
                          : Json::object({{"not_run", not_carried}}));
  if (!o.label.empty()) page.set("steps", steps_json(trained, o));
  return page;
}

}  // namespace minbert
