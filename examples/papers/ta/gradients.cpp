// The gradients of the last two layers: in closed form, on the tape, and two examples of what they mean.
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "minbert/nn.h"
#include "papers/encoded_set.h"
#include "papers/sizes.h"
#include "papers/ta/task_adaptation.h"

namespace minbert {
namespace {

//   h^l [B,H]   h = tanh(h^l W_fᵀ + b_f) [B,H]   y = softmax(h W_cᵀ + b_c) [B,C]   ŷ [B,C] one-hot
//   L = mean over the batch of -ŷ log y
struct LastLayers {
  Tensor Wf, bf, Wc, bc;                            // [H,H] [H] [C,H] [C]
};
struct Gradients {
  Tensor h, Wc, hl, Wf;
};

// [TA sec.3.1]. The paper writes them for one example; 1/B is the mean's.
Gradients closed_form(const LastLayers& layers, const Tensor& hl, const Indices& labels) {
  const NoGrad no_tape;
  const Tensor h = tanh(linear(hl, layers.Wf, layers.bf));
  std::vector<real> one_hot(size_t(hl.rows() * layers.Wc.rows()));
  for (int64_t b = 0; b < hl.rows(); ++b) one_hot[size_t(b * layers.Wc.rows() + labels[b])] = 1;
  const Tensor y = softmax(linear(h, layers.Wc, layers.bc));
  const Tensor error = (y - Tensor::from(y.shape(), one_hot)) / double(hl.rows());      // (y - ŷ) / B
  const Tensor dh = matmul(error, layers.Wc);
  const Tensor inner = dh * (1 - square(h));
  return {dh, matmul_tn(error, h), matmul(inner, layers.Wf), matmul_tn(inner, hl)};
}

Gradients on_the_tape(const LastLayers& layers, const Tensor& hl, const Indices& labels) {
  for (const Tensor& t : {hl, layers.Wf, layers.Wc}) {
    t.set_requires_grad(true);
    t.clear_grad();
  }
  const Tensor h = tanh(linear(hl, layers.Wf, layers.bf));
  h.retain_grad();
  backward(cross_entropy(linear(h, layers.Wc, layers.bc), labels));
  return {h.grad(), layers.Wc.grad(), hl.grad(), layers.Wf.grad()};
}

double largest_difference(const Tensor& a, const Tensor& b) {         // beside the largest of b
  const std::vector<real> x = a.values(), y = b.values();
  double most = 0, size = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    most = std::max(most, std::abs(double(x[k]) - double(y[k])));
    size = std::max(size, std::abs(double(y[k])));
  }
  return size > 0 ? most / size : most;
}

// A copy that no model learns by.
Tensor alone(const Tensor& x) { return Tensor::from(x.shape(), x.values()); }

const std::vector<double> factors = {0.25, 0.5, 1, 2, 4, 8};

Json measure(const TaskAdaptationOptions& o, const Task& task) {
  EncodedSet set(o, task, Split::train, Pooler::needed);
  const int64_t C = int64_t(task.high) + 1, H = set.config().hidden_size;
  std::vector<int32_t> first;
  while (first.size() < std::min<size_t>(32, set.data().examples.size())) first.push_back(int32_t(first.size()));
  Tensor hl;
  set.for_each_batch(first, [&](const Batch& batch, std::span<const int32_t> examples) {
    hl = alone(cls_at(cls_place::pre_pooler, set.bert().forward(batch, cls_rows), set.data(), examples));
  });
  const std::vector<double> values = labels(set.data(), first);
  const Indices classes = std::vector<int32_t>(values.begin(), values.end());
  Linear classifier(H, C);
  const Parameters parameters(classifier, {.seed = uint64_t(o.seed)});
  const LastLayers layers = {alone(set.weight("pooler.dense.weight")), alone(set.weight("pooler.dense.bias")),
                             alone(classifier.weight()), alone(classifier.bias())};
  const Gradients tape = on_the_tape(layers, hl, classes), closed = closed_form(layers, hl, classes);
  Json result = Json::object().set("h", largest_difference(tape.h, closed.h))
      .set("Wc", largest_difference(tape.Wc, closed.Wc)).set("hl", largest_difference(tape.hl, closed.hl))
      .set("Wf", largest_difference(tape.Wf, closed.Wf)).set("rows", hl.rows());
  const NoGrad no_tape;
  std::vector<double> slope, gradient;              // the larger h^l, the closer are 1 - h² and its gradient to 0
  for (const double factor : factors) {
    const Tensor x = alone(hl * factor);
    gradient.push_back(norm_of(closed_form(layers, x, classes).hl));
    slope.push_back(double(mean(1 - square(tanh(linear(x, layers.Wf, layers.bf)))).item()));
  }
  return result.set("slope", Json::array_of(slope)).set("gradient", Json::array_of(gradient));
}

// "Influence of h": dimension 1 of h is uniform on [0,1], dimension 2 is .01 (y - ŷ), all there is to know. The
// classifier begins with logits of 0, so y = 1/2; a share q of the examples is of class 1. Returns dL/dW_c of class 1.
std::vector<double> worked_example(double q, uint64_t seed) {
  const int64_t N = 20000;
  Random random(seed, "worked example");
  std::vector<real> h;
  std::vector<int32_t> labels;
  for (int64_t n = 0; n < N; ++n) {
    labels.push_back(double(n) < q * double(N));
    h.push_back(real(random.uniform()));
    h.push_back(real(0.01 * (0.5 - labels.back())));
  }
  const Tensor Wc = Tensor::zeros({2, 2}).set_requires_grad(true);
  backward(cross_entropy(linear(Tensor::from({N, 2}, h), Wc, Tensor::zeros({2})), labels));
  const std::vector<real> gradient = Wc.grad().values();
  return {double(gradient[2]), double(gradient[3])};
}

class GradientsItem {
 public:
  GradientsItem(Document& document, const TaskAdaptationOptions& options) : document_(document), o_(options) {}
  std::vector<Run> runs() const;
  void show(ItemReport& report) const;

 private:
  Run measurement(const Task& task) const;
  void differences(ItemReport& report, LongTable& table) const;
  void influence_of_h(ItemReport& report, LongTable& table) const;
  void influence_of_hl(ItemReport& report, LongTable& table) const;
  Document& document_;
  TaskAdaptationOptions o_;
};

Run GradientsItem::measurement(const Task& task) const {
  Run run{"gradients-" + task.name, document_.inputs(task), {}, 0.2};
  run.options["seed"] = std::to_string(o_.seed);
  run.work = [o = o_, task](const std::string&) { return measure(o, task); };
  return run;
}

std::vector<Run> GradientsItem::runs() const {
  std::vector<Run> runs;
  for (const Task& task : document_.tasks())
    if (task.kind != TaskKind::regression) runs.push_back(measurement(task));
  return runs;
}

void GradientsItem::differences(ItemReport& report, LongTable& table) const {
  const std::vector<std::pair<const char*, const char*>> gradients = {
      {"h", "dL/dh"}, {"Wc", "dL/dW_c"}, {"hl", "dL/dh^l"}, {"Wf", "dL/dW_f"}};
  std::vector<std::string> columns = {""};
  std::vector<ItemReport::TableRow> rows;
  for (const auto& [key, name] : gradients) rows.push_back({name, {}});
  for (const Task& task : document_.tasks()) {
    if (task.kind == TaskKind::regression) {
      report.differs(task.title + " is a regression, which the document does not treat");
      continue;
    }
    columns.push_back(task.title);
    const Json result = document_.study().result(measurement(task));
    for (size_t i = 0; i < gradients.size(); ++i) {
      const double difference = result[gradients[i].first].number();
      table.add({task.name, "closed form against tape", gradients[i].second}, difference);
      rows[i].cells.push_back({"", formatted("{}", float(difference))});
    }
  }
  report.table("Closed-form gradients against the tape: the largest relative difference", columns, rows);
  const bool trained = BertConfig::load(model_folder(o_.model) + "/config.json").has_trained_pooler();
  report.caption(formatted("on h^l of the first 32 examples, with {} pooler and a new classifier",
                           trained ? "the model's own" : "a new"));
}

void GradientsItem::influence_of_h(ItemReport& report, LongTable& table) const {
  std::vector<ItemReport::TableRow> rows;
  for (const double q : {0.5, 0.4, 0.25, 0.1}) {
    const std::vector<double> gradient = worked_example(q, uint64_t(o_.seed));
    const double error = 0.5 - q, squared = 0.25;                  // E[y-ŷ], E[(y-ŷ)²]
    const std::string share = formatted("{}", q);
    for (size_t j = 0; j < 2; ++j) table.add({"", "dL/dW_c of dimension " + std::to_string(j + 1), share}, gradient[j]);
    const ItemReport::Cell uniform{fixed(0.5 * error, 4), fixed(gradient[0], 4)};
    const ItemReport::Cell telling{fixed(0.01 * squared, 4), fixed(gradient[1], 4)};
    rows.push_back({"E[y-ŷ] = " + fixed(error, 2), {uniform, telling}});
  }
  report.table("Influence of h: the gradient of a dimension that says nothing and of one that says all; printed: the "
               "document's formulas, .5 E[y-ŷ] and .01 E[(y-ŷ)²]",
               {"", "uniform on [0,1]", ".01 (y - ŷ)"}, rows);
}

void GradientsItem::influence_of_hl(ItemReport& report, LongTable& table) const {
  Figure figure{.title = "", .columns = 2};
  figure.panels = {{.title = "slope of the tanh", .x_label = "factor on h^l", .y_label = "mean of 1 - h^2",
                    .log_x = true},
                   {.title = "its effect", .x_label = "factor on h^l", .y_label = "norm of dL/dh^l", .log_x = true}};
  for (const Task& task : document_.tasks()) {
    if (task.kind == TaskKind::regression) continue;
    const Json result = document_.study().result(measurement(task));
    const std::vector<std::string> keys = {"slope", "gradient"};
    for (size_t p = 0; p < keys.size(); ++p) {
      const std::vector<double> y = result[keys[p]].numbers();
      figure.panels[p].curves.push_back({.title = task.title, .x = factors, .y = y,
                                         .style = Curve::Style::line_and_points});
      for (size_t i = 0; i < y.size(); ++i) table.add({task.name, keys[p], formatted("{}", factors[i])}, y[i]);
    }
  }
  report.figure(figure, "Influence of h^l: the larger it is, the more the tanh is saturated and the smaller is the "
                        "gradient behind it");
}

void GradientsItem::show(ItemReport& report) const {
  LongTable table({"task", "what", "of", "value"});
  differences(report, table);
  influence_of_h(report, table);
  influence_of_hl(report, table);
  report.csv(std::move(table));
}

}  // namespace

Item ta_gradients_item(Document& document, const TaskAdaptationOptions& options) {
  const auto item = std::make_shared<GradientsItem>(document, options);
  return {"sec3.1", "Back propagation in the last two layers", [=] { return item->runs(); },
          [=](ItemReport& report) { item->show(report); }};
}

}  // namespace minbert
