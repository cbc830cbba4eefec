// Drawings for the README and the walks, each from the numbers of a small run. Blue: below 0, orange: above.
//
//   $ drawings --out examples/drawings
#include <algorithm>
#include <cmath>
#include <iostream>

#include "engine/tape.h"
#include "minbert/files.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "minbert/shipped.h"
#include "minbert/trainer.h"
#include "report/svg.h"
#include "train/cli/command_line.h"

namespace drawings {

using namespace minbert;
using Values = std::vector<real>;

constexpr const char *ink = "#333", *gray = "#888", *blue = "#0072B2", *orange = "#D55E00";

// "0.25", "-3", "1.4e-09": so few digits that they are the same on every processor
std::string short_text(double v, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, v == 0 ? 0 : v);
  return text;
}
// "16,384"
std::string grouped(int64_t n) {
  std::string text = std::to_string(n);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

// What the pictures share. All are 800 wide; in a dark browser, ink and paper change places.
class Drawing : public Svg {
 public:
  explicit Drawing(const char* title) {
    add("title", {}, title);
    add("style", {}, "@media(prefers-color-scheme:dark){[fill='#333']{fill:#ddd}[stroke='#333']{stroke:#ddd}"
                     "[fill='#fff']{fill:#161b22}}");
  }
  void words(double x, double y, const std::string& line) { text(x, y, line, {.size = 14, .anchor = "start"}); }
  void heading(double x, double y, const std::string& line) {
    text(x, y, line, {.size = 16, .anchor = "start", .weight = "bold"});
  }
  // Color with a name in its middle
  void field(double x, double y, double width, double height, const char* color, double opacity,
             const char* stroke = "", const std::string& name = "") {
    add("rect", {{"x", x}, {"y", y}, {"width", width}, {"height", height},
                 {"fill", color}, {"fill-opacity", opacity}, {"stroke", stroke}});
    text(x + width / 2, y + height / 2 + 5, name, {.size = 14});
  }
  void arrow(double x0, double y0, double x1, double y1, const char* color = ink) {
    const double length = std::hypot(x1 - x0, y1 - y0), dx = (x1 - x0) / length, dy = (y1 - y0) / length;
    stroke(point('M', x0, y0) + point('L', x1 - 6 * dx, y1 - 6 * dy), color, 1.5);
    fill(point('M', x1, y1) + point('L', x1 - 9 * dx - 4 * dy, y1 - 9 * dy + 4 * dx) +
             point('L', x1 - 9 * dx + 4 * dy, y1 - 9 * dy - 4 * dx) + "z", color);
  }
  // A row of numbers with so many digits, or none. One of the size `largest` is darkest.
  void cells(double x, double y, double width, double height, const Values& values, double largest, int digits) {
    for (const real v : values) {
      const double share = std::min(1.0, std::abs(double(v)) / largest);
      field(x, y, width, height, v < 0 ? blue : orange, 0.7 * std::round(10 * share) / 10, gray,
            digits ? short_text(double(v), digits) : "");
      x += width;
    }
  }
};

// data/mini, and its encoder with conditional LayerNorm and heads of SST, Quora and STS.
const Experiment& experiment() {
  static const Experiment read([] {
    TrainOptions o;
    o.model = shipped("data/mini/bert"), o.data = shipped("data/mini"), o.norm = "conditional-layer";
    return o;
  }());
  return read;
}
BertConfig config() { return experiment().config(experiment().options()); }
struct Mini : Model {
  Mini() : Model(config(), 0, true, heads_of(tasks_of(config())), 0) {
    load_weights(experiment().options().model, parameters);
  }
};

// A step on the first 16 examples of a task. Returns the gradient that it gave to a parameter.
Values step(const Model& model, Optimizer& optimizer, int task, double lr, const Tensor& parameter) {
  const TaskData& data = experiment().data()[size_t(task)];
  const Indices examples = Indices::range(0, 16);
  const auto [batch, labels] = labeled(data.train, examples, {task});
  backward(task_loss(data.task, model.network.forward(batch, task), labels));
  const Values gradient = parameter.grad().values();
  optimizer.step(lr);
  return gradient;
}

// Who owns what: three operations on the tape, and the tensors between them.
std::string owners() {
  const Tensor x = Tensor::randn({4, 3}, 1), W = Tensor::randn({2, 3}, 2).set_requires_grad(true);
  const Trace trace;
  const Tensor h = matmul_nt(x, W), a = gelu(h), L = mean(a);
  backward(L);
  const std::vector<Tensor> tensors = {x, W, h, a, L};
  const auto y = [&](const Tensor& t) {
    return 100 + 74 * double(std::ranges::find_if(tensors, [&](const Tensor& o) { return o.is(t); }) - tensors.begin());
  };

  Drawing d("Tensor points to Impl, Impl to Storage and Gradient, and the tape's entries to Gradients");
  d.heading(20, 28, "h = matmul_nt(x, W);  a = gelu(h);  L = mean(a);  backward(L);");
  for (const auto& [column, head, note] :
       {std::tuple{20, "Tensor", "a handle"}, {118, "Impl", "all copies share it"}, {272, "Storage", "the numbers"},
        {478, "Gradient", "dL/d of these numbers"}, {690, "Entry", "of the tape"}}) {
    d.heading(column, 66, head);
    d.words(column, 85, note);
  }
  for (const char* name = "xWhaL"; const Tensor& t : tensors) {
    d.field(20, y(t), 56, 44, blue, 0.15, blue, std::string(1, *name++));
    d.arrow(76, y(t) + 22, 116, y(t) + 22);
    d.field(118, y(t), 112, 44, gray, 0.15, gray, formatted("shape {}", t.shape()));
    d.arrow(230, y(t) + 10, 270, y(t) + 10);
    d.cells(272, y(t), 14, 20, t.values(), 2, 0);
    d.arrow(230, y(t) + 33, 476, y(t) + 33);
    d.field(478, y(t), 122, 44, gray, 0.15, gray, t.requires_grad() ? "" : "not required");
    if (t.requires_grad()) d.cells(483, y(t) + 12, 14, 20, t.grad().values(), 0.5, 0);
  }
  for (const Trace::Operation& operation : trace.operations()) {
    const double top = y(operation.result);
    d.field(690, top, 92, 44, orange, 0.15, orange, operation.name);
    d.arrow(690, top + 32, 602, top + 32, orange);
    for (const Tensor& input : operation.arguments) d.arrow(690, top + 12, 602, y(input) + 12);
  }
  d.words(20, 478, "An arrow is a shared_ptr. An entry's: orange to its result's gradient, black to its inputs'.");
  return d.picture(800, 496);
}

// A batch of two sentences, packed and padded.
std::string two_sentences() {
  const Batch batch = labeled(experiment().data()[0].train, Indices{163, 1}).batch;
  const int64_t B = batch.sentences(), T = batch.tokens(), L = T - batch.offsets[1];     // L: of the longer one
  const int64_t H = config().hidden_size, heads = config().num_attention_heads;
  constexpr double side = 13;                       // of a token, and of a score

  Drawing d("Two sentences packed as [T,H], and the same padded to [B,L,H], with their attention scores");
  d.heading(20, 28, formatted("packed: [T,H] = [{},{}]", T, H));
  d.words(20, 50, formatted("offsets {}, {}, {}; scores: one block for each", batch.offsets[0], batch.offsets[1], T));
  d.heading(470, 28, formatted("padded: [B,L,H] = [{},{},{}]", B, L, H));
  d.words(470, 50, "with a mask; gray: computed for nothing");
  const auto token = [&](double x, double y, const std::string& word, const char* color) {
    d.text(x, y + 11, word, {.size = 12, .anchor = "end"});
    d.field(x + 5, y + 1, 36, side - 2, color, 0.5);
  };
  const auto block = [&](double x, double y, int64_t n, const char* color) {
    const double size = side * double(n);
    d.field(x, y, size, size, color, 0.25);
    for (double line = 0; line <= size; line += side)
      d.stroke(point('M', x, y + line) + formatted("h{}", size) + point('M', x + line, y) + formatted("v{}", size),
               color, 0.6);
  };
  int64_t scores = 0;
  for (int64_t b = 0; b < B; ++b) {
    const int64_t begin = batch.offsets[b], length = batch.offsets[b + 1] - begin;
    const double y = 70 + side * double(begin), padded = 70 + double(b) * (side * double(L) + 12);
    const double x = 126 + side * double(begin), middle = side * double(length) / 2;
    const char* const color = b == 0 ? blue : orange;
    for (int64_t i = 0; i < L; ++i) {
      const bool is_token = i < length;
      const std::string word = is_token ? experiment().tokenizer().token(batch.ids[begin + i]) : "[PAD]";
      if (is_token) token(76, y + side * double(i), word, color);
      token(520, padded + side * double(i), word, is_token ? color : gray);
      d.text(573, padded + side * double(i) + 11, is_token ? "1" : "0");
    }
    block(x, y, length, color);
    block(588, padded, L, length < L ? gray : color);
    if (length < L) block(588, padded, length, color);
    d.text(x + middle, y + middle + 5, formatted("{} × {}", length, length), {.size = 16, .weight = "bold"});
    scores += length * length;
  }
  for (double y = 472; const auto& [what, packed, padded] :
       {std::tuple{"numbers in a hidden state", T * H, B * L * H},
        {"scores in a layer, all heads", heads * scores, heads * B * L * L},
        {"multiplications by a W [H,H]", T * H * H, B * L * H * H}}) {
    d.words(20, y, what);
    d.words(250, y, grouped(packed));
    d.words(588, y, grouped(padded));
    y += 22;
  }
  return d.picture(800, 534);
}

// The flat buffers p, m, v, and one weight's slice of each.
std::string flat_buffers() {
  const Mini model;
  const std::vector<Parameter>& items = model.parameters.items();
  const std::string layer = "bert.encoder.layer.1.", name = layer + "attention.self.query.weight";
  const Tensor& W = model.parameters.value(name);
  const auto place = [&](const Tensor& t) { return t.data() - items[0].value.data(); };
  const auto begin = [&](const std::string& prefix) {          // of the first parameter with this prefix
    return place(std::ranges::find_if(items, [&](const Parameter& p) { return p.name.starts_with(prefix); })->value);
  };

  Drawing d("The flat buffers of parameters and moments, and the slice of one weight in each");
  const int64_t count = model.parameters.count();
  d.heading(20, 28, formatted("{} parameters, {} numbers, end to end in three buffers", items.size(), grouped(count)));
  const auto x = [&](int64_t element) { return 140 + 640 * double(element) / double(count); };
  for (double y = 76; const char* buffer : {"p: values", "m: mean of g", "v: mean of g²"}) {
    d.words(20, y + 18, buffer);
    d.field(140, y, 640, 26, gray, 0.12, gray);
    d.field(x(place(W)), y, x(W.size()) - x(0), 26, orange, 0.8);
    y += 34;
  }
  const int64_t first = begin(layer), last = begin("bert.encoder.layer.2.");
  for (const auto& [title, prefix] :
       {std::pair{"word embeddings", "bert.embeddings.word"}, {"layer 0", "bert.encoder.layer.0."},
        {"layer 1", layer.c_str()}, {"layer 2", "bert.encoder.layer.2."}, {"", "bert.pooler"}}) {
    d.stroke(point('M', x(begin(prefix)), 56) + "v116", ink);
    d.words(x(begin(prefix)) + 5, 68, title);
  }
  d.stroke(point('M', x(first), 172) + point('L', 20, 248) + point('M', x(last), 172) + point('L', 780, 248), ink, 1,
           "4 4");
  for (std::vector<const char*> letters = {"W₂", "W₁", "W_o", "W_v", "W_k", "W_q"}; const Parameter& p : items) {
    if (!p.name.starts_with(layer)) continue;
    const double scale = 760 / double(last - first);
    const bool is_matrix = p.value.size() >= W.size();             // not a bias, a norm's γ or its γ_t
    d.field(20 + scale * double(place(p.value) - first), 248, scale * double(p.value.size()), 32,
            p.name == name ? orange : gray, p.name == name ? 0.8 : 0.15, gray, is_matrix ? letters.back() : "");
    if (is_matrix) letters.pop_back();
  }

  d.words(20, 310, formatted("W_q: {} {},", name, W.shape()));
  d.words(20, 332, formatted("{} numbers from place {} on. The first five, in a first step of AdamW with lr = 0.001:",
                             grouped(W.size()), grouped(place(W))));
  auto row = [&, y = 350.0](const char* what, const real* values, int digits, const char* rule) mutable {
    const Values five(values, values + 5);
    const auto [low, high] = std::ranges::minmax(five);
    d.words(20, y + 19, what);
    d.cells(140, y, 84, 28, five, double(std::max(-low, high)), digits);
    d.words(572, y + 19, rule);
    y += 34;
  };
  Optimizer optimizer(model.parameters, {});
  row("p", W.data(), 3, "");
  row("g", step(model, optimizer, 0, 1e-3, W).data(), 2, "");
  row("m", optimizer.moments()[0].second.data() + place(W), 2, "0.9 m + 0.1 g");
  row("v", optimizer.moments()[1].second.data() + place(W), 2, "0.999 v + 0.001 g²");
  row("p after the step", W.data(), 3, "p - lr m̂ / (√v̂ + ε)");
  return d.picture(800, 536);
}

// A row through LayerNorm, forward and backward.
std::string layer_norm_row() {
  const auto row = [](std::initializer_list<real> values) { return Tensor::from({1, 8}, values); };
  const Tensor x = row({2, 6, -1, 4, 3, 5, 2, 3}).set_requires_grad(true), dy = row({3, -1, 1, -2, 1, 0, 2, 2});
  const Tensor gamma = row({1, 1, 2, real(0.5), 2, 1, real(0.5), 1}), beta = Tensor::zeros({8});
  const Tensor y = layer_norm(x, gamma, beta, /* eps */ 0);
  backward(y, dy);

  const NoGrad no_tape;
  const Tensor dx = x.grad(), mu = mean_rows(x), sigma2 = mean_rows(square(x - mu)), sigma = sqrt(sigma2);
  const Tensor xhat = (x - mu) / sigma, dxhat = dy * gamma;
  const Tensor along_1 = mean_rows(dxhat) * Tensor::full({1, 8}, 1), along_xhat = mean_rows(dxhat * xhat) * xhat;

  Drawing d("A row of eight numbers through LayerNorm, and its gradient on the way back");
  const auto cells = [&](double column, double line, const std::string& label, const Tensor& values) {
    d.words(column, line - 8, label);
    d.cells(column, line, 42, 30, values.values(), 4, 2);
  };
  d.heading(20, 28, "forward");
  cells(20, 76, "x", x);
  d.words(60, 170, formatted("μ = mean(x) = {}", mu.item()));
  d.words(60, 196, formatted("σ² = mean((x - μ)²) = {},  σ = {}", sigma2.item(), sigma.item()));
  cells(20, 304, "x̂ = (x - μ) / σ", xhat);
  cells(20, 380, "γ", gamma);
  cells(20, 456, "y = γ x̂ + β, with β = 0", y);
  for (const double from : {108, 336, 412}) d.arrow(335, from, 335, from == 108 ? 300 : from + 40);
  d.heading(440, 28, "backward");
  cells(440, 456, "dy", dy);
  cells(440, 304, "dx̂ = γ dy", dxhat);
  cells(440, 228, "its part along 1 is taken out: mean(dx̂)", along_1);
  cells(440, 152, "its part along x̂ is taken out: x̂ mean(dx̂ x̂)", along_xhat);
  cells(440, 76, "dx = what is left, divided by σ", dx);
  for (const double to : {110, 186, 262, 338}) d.arrow(755, to == 338 ? 452 : to + 38, 755, to);
  d.words(20, 520, formatted("Σ dx = {}: adding one number to all x changes no y.", sum(dx).item()));
  d.words(20, 542, formatted("Σ dx x̂ = {}: nor does multiplying x - μ by one above 0.", sum(dx * xhat).item()));
  return d.picture(800, 560);
}

// [tasks,H] of γ_t: the rows that a batch lights, and those that AdamW moves.
std::string task_rows() {
  constexpr double lr = 1e-3;
  const Mini model;
  const Tensor& rows = model.parameters.value("bert.encoder.layer.2.output.LayerNorm.task_weight");
  const int64_t H = rows.cols();
  Optimizer optimizer(model.parameters, {});

  Drawing d("The rows of conditional LayerNorm's γ_t that a batch of one task lights, and those that AdamW moves");
  d.heading(20, 28, formatted("γ_t of the last norm, [tasks,H] = {}: columns 1 to 8", rows.shape()));
  const char* const remarks[] = {"The batch lights its own row, and AdamW moves this row alone.",
                                 "γ_sst has the gradient 0 now. AdamW moves it on, by its moments m and v."};
  for (int task = 0; task < 2; ++task) {
    const Values before = rows.values(), gradient = step(model, optimizer, task, lr, rows), after = rows.values();
    const double top = 118 + 202 * task;
    const std::string title = experiment().data()[size_t(task)].task.title;
    d.words(20, top - 44, formatted("Step {}, a batch of {}. {}", task + 1, title, remarks[task]));
    d.words(84, top - 12, "gradient, times 10,000");
    d.words(450, top - 12, "change, in learning rates");
    for (int64_t t = 0; t < rows.rows(); ++t) {
      Values g, moved;
      for (size_t i = size_t(t * H) + 1; i <= size_t(t * H) + 8; ++i) {
        g.push_back(10000 * gradient[i]);
        moved.push_back((after[i] - before[i]) / real(lr));
      }
      const double y = top + 34 * double(t);
      d.words(20, y + 20, "γ_" + experiment().data()[size_t(t)].task.name);
      d.cells(84, y, 42, 28, g, 15, 2);
      d.cells(450, y, 42, 28, moved, 1, 2);
    }
  }
  return d.picture(800, 440);
}

struct Named {
  const char* name;
  std::string (*draw)();
};
constexpr Named all[] = {{"owners", owners}, {"two_sentences", two_sentences}, {"flat_buffers", flat_buffers},
                         {"layer_norm_row", layer_norm_row}, {"task_rows", task_rows}};

}  // namespace drawings

int main(int argc, char** argv) {
  std::string out = "runs/drawings";
  minbert::CommandLine line("drawings", "Draws the pictures of the README and of the walks.");
  line.option("--out", out, "folder for the pictures", "DIR");
  line.closing("Writes NAME.svg of each.", {"--out runs/drawings"});
  line.parse(argc, argv);
  return minbert::run_program("drawings", [&] {
    minbert::make_folder(out);
    for (const auto& [name, draw] : drawings::all) {
      minbert::write_file(out + "/" + name + ".svg", draw());
      std::cout << out << "/" << name << ".svg\n";
    }
    return 0;
  });
}
