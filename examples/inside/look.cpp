// Looking inside a model: one forward under a Trace, and the backward of a label's loss where one is given.
#include "inside/look.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "engine/names.h"
#include "engine/tape.h"
#include "inside/mixing.h"
#include "inside/row_sums.h"
#include "minbert/trainer.h"
#include "text/lines.h"

namespace minbert {
namespace {

using Operations = std::vector<Trace::Operation>;

double length(const Tensor& x) { return row_length(x.values()); }

bool is_in(const std::string& module, const std::string& path) {
  return module == path || module.starts_with(path + ".");
}

std::string text_of(const Shape& shape) { return formatted("{}", shape); }

// What all parts of the measuring look at.
struct Measuring {
  TrainedModel& trained;
  const Operations& operations;
  const Batch& batch;
  int task;                                         // its id, or -1
  Inside& inside;

  const BertConfig& config() const { return trained.config; }
  int64_t tokens() const { return batch.tokens(); }
  const Trace::Operation* last_in(const std::string& path) const {
    const auto found = std::find_if(operations.rbegin(), operations.rend(),
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

// The weights of a layer [heads,T,T], from those of each sentence one behind the other.
void add_attention(const Tensor& packed, Measuring& m) {
  const std::vector<real> weights = packed.values();
  const int64_t T = m.tokens(), heads = m.config().num_attention_heads;
  std::vector<real> all(size_t(heads * T * T));
  const real* block = weights.data();
  for (int64_t b = 0; b < m.batch.sentences(); ++b) {
    const int64_t begin = m.batch.offsets[b], L = m.batch.offsets[b + 1] - begin;
    for (int64_t h = 0; h < heads; ++h, block += attention_block(L))
      for (int64_t i = 0; i < L; ++i)
        std::copy_n(block + i * L, L, all.begin() + (h * T + begin + i) * T + begin);
  }
  m.inside.attention.insert(m.inside.attention.end(), all.begin(), all.end());
}

void add_value_norms(int64_t layer, Measuring& m) {
  const std::vector<real> v = m.attention_of(layer).arguments[2].values();
  const int64_t T = m.tokens(), H = m.config().hidden_size, d = m.config().head_size();
  for (int64_t h = 0; h < m.config().num_attention_heads; ++h)
    for (int64_t j = 0; j < T; ++j)
      m.inside.value_norms.push_back(real(row_length(std::span(v).subspan(size_t(j * H + h * d), size_t(d)))));
}

// The hidden states: the last result of the embeddings, of each layer, of a norm behind them.
std::vector<const Trace::Operation*> add_states(Measuring& m) {
  std::vector<std::pair<std::string, const Trace::Operation*>> found = {{"embeddings", m.last_in("bert.embeddings")}};
  for (int l = 0; l < m.config().num_hidden_layers; ++l)
    found.push_back({formatted("layer {}", l + 1), m.last_in(formatted("bert.encoder.layer.{}", l))});
  if (const Trace::Operation* last = m.last_in("bert.encoder.LayerNorm")) found.push_back({"last norm", last});
  const int64_t H = m.config().hidden_size;
  std::vector<const Trace::Operation*> operations;
  std::vector<real> first, previous;
  for (const auto& [name, operation] : found) {
    const std::vector<real> x = operation->result.values();
    if (first.empty()) first = previous = x;
    const Tensor gradient = operation->result.grad();
    const std::vector<real> g = gradient ? gradient.values() : std::vector<real>();
    Inside::State state{name, {}, {}, {}, {}};
    for (int64_t row = 0; row < m.tokens(); ++row) {
      const auto of_row = [&](const std::vector<real>& all) {
        return std::span(all).subspan(size_t(row * H), size_t(H));
      };
      const auto cosine = [&](const std::vector<real>& other) {
        return row_dot(of_row(x), of_row(other)) / (row_length(of_row(x)) * row_length(of_row(other)));
      };
      state.to_start.push_back(cosine(first));
      state.to_previous.push_back(cosine(previous));
      state.length.push_back(row_length(of_row(x)));
      if (!g.empty()) state.gradient.push_back(row_length(of_row(g)));
    }
    m.inside.states.push_back(state);
    operations.push_back(operation);
    previous = x;
  }
  return operations;
}

// What a norm read and what it wrote: its first argument that another module made, and its last result.
struct NormPass {
  Tensor x, y;
  const Trace::Operation* last = nullptr;
};
NormPass norm_pass(const std::string& path, const Operations& operations) {
  NormPass pass;
  for (const Trace::Operation& o : operations) {
    if (!is_in(o.module, path)) continue;
    for (size_t i = 0; i < o.inputs.size() && !pass.x; ++i)
      if (o.inputs[i] >= 0 && !is_in(operations[size_t(o.inputs[i])].module, path)) pass.x = o.arguments[i];
    pass.y = o.result;
    pass.last = &o;
  }
  return pass;
}

Inside::Rows rows_of(const Tensor& x) {
  const std::vector<real> values = x.values();
  const int64_t cols = x.cols();
  const auto largest = std::ranges::max_element(values, {}, [](real v) { return std::abs(v); });
  Inside::Rows rows{{}, {}, {}, std::abs(double(*largest)), int((largest - values.begin()) % cols)};
  for (int64_t r = 0; r < x.rows(); ++r) {
    const std::span row = std::span(values).subspan(size_t(r * cols), size_t(cols));
    rows.mean.push_back(row_mean(row));
    rows.variance.push_back(row_variance(row));
  }
  return rows;
}
void count(const Tensor& x, double range, Inside::Rows& rows) {
  rows.counts.assign(64, 0);
  for (const real v : x.values())
    ++rows.counts[size_t(std::clamp(int((double(v) / range + 1) * 32), 0, 63))];
}
double rms(const Tensor& x) { return length(x) / std::sqrt(double(x.size())); }

void add_norms(const std::vector<std::string>& paths, Measuring& m) {
  for (const std::string& path : paths) {
    const NormPass pass = norm_pass(path, m.operations);
    if (!pass.x) continue;                          // the norm "none" puts nothing on the tape
    Inside::NormRows norm{path, 4 * std::max(rms(pass.x), rms(pass.y)), rows_of(pass.x), rows_of(pass.y)};
    if (norm.range == 0) norm.range = 1;
    count(pass.x, norm.range, norm.before);
    count(pass.y, norm.range, norm.after);
    m.inside.norms.push_back(norm);
  }
}

void add_gains(const std::vector<std::string>& paths, Measuring& m) {
  for (const std::string& path : paths) {
    Inside::Gains gains{path, {}};
    for (const Parameter& p : m.trained.model.parameters.items())
      if (p.name.starts_with(path + "."))
        gains.parameters.push_back({p.name.substr(path.size() + 1), p.value.values()});
    if (!gains.parameters.empty()) m.inside.gains.push_back(gains);
  }
}

void add_mixing(const std::vector<const Trace::Operation*>& states, Measuring& m) {
  Inside& inside = m.inside;
  const int64_t H = inside.hidden;
  for (int64_t l = 0; l < inside.layers; ++l) {
    const std::string path = formatted("bert.encoder.layer.{}.attention.output", l);
    const NormPass norm = norm_pass(path + ".LayerNorm", m.operations);
    if (inside.placement != "post" || !norm.last || norm.last->name != "layer_norm") {
      inside.no_mixing = formatted("this share is defined where a LayerNorm stands behind the residual sum; the norm "
                                   "here is {}, placed {}", inside.norm, inside.placement);
      return;
    }
    std::vector<real> gamma(size_t(H), 1);
    if (const std::vector<Tensor>& arguments = norm.last->arguments; arguments.size() > 1) {
      const std::vector<real> rows = arguments[1].values();          // [H], or of each task [tasks,H]
      const int64_t row = int64_t(rows.size()) > H ? m.task : 0;
      std::copy_n(rows.begin() + row * H, H, gamma.begin());
    }
    const std::vector<real> x = states[size_t(l)]->result.values(), a = norm.x.values(),
                            v = m.attention_of(l).arguments[2].values(),
                            W_O = m.trained.model.parameters.value(path + ".dense.weight").values();
    const int64_t T = m.tokens(), block = inside.heads * T * T;
    const Mixing mixing = mixing_of(contributions_of({.T = T, .H = H, .heads = inside.heads, .x = x, .a = a, .v = v,
        .alpha = std::span(inside.attention).subspan(size_t(l * block), size_t(block)), .W_O = W_O, .gamma = gamma,
        .eps = m.config().layer_norm_eps}), T, H);
    inside.contributions.insert(inside.contributions.end(), mixing.norms.begin(), mixing.norms.end());
    inside.mixing.insert(inside.mixing.end(), mixing.ratios.begin(), mixing.ratios.end());
  }
}

void add_gradients(Measuring& m) {
  for (const Parameter& p : m.trained.model.parameters.items())
    if (const Tensor g = p.value.grad()) m.inside.gradients.push_back({p.name, length(g), length(p.value)});
}

void add_tape(Measuring& m) {
  const auto name_of = [&](const Tensor& leaf) -> std::string {
    for (const Parameter& p : m.trained.model.parameters.all())
      if (p.value.is(leaf)) return p.name;
    return "";
  };
  for (const Trace::Operation& o : m.operations) {
    const Tensor g = o.result.grad();
    Inside::Node node{o.name, o.module, text_of(o.result.shape()), o.formula.file_name(), int(o.formula.line()),
                      g ? length(g) : std::numeric_limits<double>::quiet_NaN(), {}};
    for (size_t i = 0; i < o.inputs.size(); ++i)
      node.inputs.push_back({o.inputs[i], o.inputs[i] < 0 ? name_of(o.arguments[i]) : "",
                             text_of(o.arguments[i].shape())});
    m.inside.tape.push_back(node);
  }
}

// The text as the task has it, or as one sequence.
Example example_of(const TrainedModel& trained, const Task* task, const InsideOptions& o, bool* cut) {
  const bool siamese = task && task->is_pair() && pairs_of(trained.config.pairs) == Pairs::siamese;
  const int most = std::min({o.tokens / (siamese ? 2 : 1), trained.config.max_tokens(), trained.config.max_length});
  if (task) {
    std::vector<std::string> texts = {o.text};
    if (task->is_pair()) texts.push_back(o.text_b);
    return make_example(*task, texts, trained.tokenizer, {.max_length = most, .pairs = pairs_of(trained.config.pairs)},
                        cut);
  }
  const std::vector<int32_t> a = trained.tokenizer.encode(o.text), b = trained.tokenizer.encode(o.text_b);
  const auto pair = o.text_b.empty() ? std::nullopt : std::optional(std::span(b));
  return {.id = "", .inputs = {build_sequence(trained.tokenizer, a, pair, most, cut)}};
}

Inside::Prediction prediction_of(TrainedModel& trained, const Task& task, const InsideOptions& o) {
  Inside::Prediction prediction{task.name, "", "", {}};
  if (task.is_pair() && o.text_b.empty()) {
    prediction.not_run = "it takes two texts: --text-b";
    return prediction;
  }
  const NoGrad no_tape;
  bool cut = false;
  const int id = trained.model.network.task_id(task.name);
  const Tensor logits = trained.model.network.forward(pack(example_of(trained, &task, o, &cut).inputs, {id}), id);
  Predictions read;
  read_logits(task, "--text", logits, read);
  prediction.text = in_words(task, read.values[0]);
  const std::vector<real> x = logits.values();
  if (task.kind == TaskKind::classification) {
    const std::vector<real> p = softmax(logits).values();
    for (size_t c = 0; c < p.size(); ++c) prediction.choices.push_back({in_words(task, double(c)), double(p[c])});
  } else if (task.kind == TaskKind::binary) {
    const double p = 1 / (1 + std::exp(-double(x[0])));
    prediction.choices = {{in_words(task, 0), 1 - p}, {in_words(task, 1), p}};
  }
  return prediction;
}

}  // namespace

Inside look_inside(TrainedModel& trained, const std::string& model, const InsideOptions& o) {
  MB_CHECK(!o.text.empty(), "--text is empty; give a sentence");
  check_utf8(o.text, "--text");
  check_utf8(o.text_b, "--text-b");
  MB_CHECK(o.label.empty() || !o.task.empty(), "--label {} is a label of which task? Give --task", o.label);
  MultitaskBert& network = trained.model.network;
  const BertConfig& config = trained.config;
  const Task* task = o.task.empty() ? nullptr : &trained.task(o.task);
  const double label = o.label.empty() ? 0 : label_of(*task, o.label);
  MB_CHECK(!task || task->is_pair() == !o.text_b.empty(), "{} takes {}", task->name,
           task->is_pair() ? "two texts; give --text-b" : "one text; leave --text-b out");
  network.train(false);
  trained.model.parameters.clear_gradients();       // those of an earlier look

  Inside inside;
  inside.model = model, inside.norm = config.norm, inside.placement = config.placement;
  inside.formula = norms().find(config.norm).formula;
  inside.layers = config.num_hidden_layers, inside.heads = config.num_attention_heads,
  inside.hidden = config.hidden_size;
  inside.tasks = names_of(trained.tasks);
  inside.text = o.text, inside.text_b = o.text_b, inside.task = o.task;
  if (!o.label.empty()) inside.label = in_words(*task, label);
  for (const Task& t : trained.tasks) inside.predictions.push_back(prediction_of(trained, t, o));

  const int id = task ? network.task_id(task->name) : -1;
  const Example example = example_of(trained, task, o, &inside.cut);
  const Batch batch = pack(example.inputs, task ? Indices{id} : Indices());
  for (int64_t row = 0; row < batch.tokens(); ++row) {
    inside.ids.push_back(batch.ids[row]);
    inside.segments.push_back(batch.segments[row]);
    inside.pieces.push_back(trained.tokenizer.token(batch.ids[row]));
  }

  std::vector<Tensor> weights;
  const Trace trace;
  const BertOutput out = network.bert().forward(batch, all_rows, &weights);
  if (task) {
    const Tensor logits = network.logits(out.pooler_output, id);
    if (!o.label.empty()) {
      const Tensor loss = task_loss(*task, logits, std::vector<double>{label});
      inside.loss = double(loss.item());
      backward(loss);
    }
  }
  clear_tape();

  std::vector<std::string> norm_paths;
  network.visit([&](Module& module) {
    if (dynamic_cast<Norm*>(&module)) norm_paths.push_back(module.path());
  });
  Measuring m{trained, trace.operations(), batch, id, inside};
  for (const Tensor& layer : weights) add_attention(layer, m);
  for (int64_t l = 0; l < inside.layers; ++l) add_value_norms(l, m);
  add_mixing(add_states(m), m);
  add_norms(norm_paths, m);
  add_gains(norm_paths, m);
  add_gradients(m);
  add_tape(m);
  return inside;
}

}  // namespace minbert
