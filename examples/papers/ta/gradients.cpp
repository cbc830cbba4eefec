// The gradients of the last two layers: in closed form, on the tape, and two examples of what they
// mean.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/text.h"
#include "minbert/nn.h"
#include "papers/encoded_set.h"
#include "papers/statistics/sizes.h"
#include "papers/ta/task_adaptation.h"

namespace minbert {
namespace {

//   h^l [B,H]   h = tanh(h^l W_fᵀ + b_f) [B,H]   y = softmax(h W_cᵀ + b_c) [B,C]   ŷ [B,C] one-hot
//   L = mean over the batch of -ŷ log y
struct LastLayers {
  Tensor Wf, bf, Wc, bc;  // [H,H] [H] [C,H] [C]
};
struct Gradients {
  Tensor dh, dWc, dhl, dWf;
};

// The paper writes them for one example; 1/B is the mean's.
Gradients closed_form(const LastLayers& layers, const Tensor& hl, const Indices& labels) {
  const NoGrad no_tape;
  const Tensor h = tanh(linear(hl, layers.Wf, layers.bf));
  std::vector<real> one_hot(size_t(hl.rows() * layers.Wc.rows()));
  for (int64_t b = 0; b < hl.rows(); ++b) one_hot[size_t(b * layers.Wc.rows() + labels[b])] = 1;
  const Tensor y = softmax(linear(h, layers.Wc, layers.bc));
  const Tensor error = (y - Tensor::from(y.shape(), one_hot)) / double(hl.rows());  // [B,C]  (y - ŷ) / B
  const Tensor dh = matmul(error, layers.Wc);                                       // [B,H]  ∂L/∂h  [TA sec.3.1]
  const Tensor dWc = matmul_tn(error, h);                                           // [C,H]  ∂L/∂W_c  [TA sec.3.1]
  const Tensor inner = dh * (1 - square(h));                                        // [B,H]  ∂L/∂(W_f h^l + b_f)
  const Tensor dhl = matmul(inner, layers.Wf);                                      // [B,H]  ∂L/∂h^l  [TA sec.3.1]
  const Tensor dWf = matmul_tn(inner, hl);                                          // [H,H]  ∂L/∂W_f  [TA sec.3.1]
  return {dh, dWc, dhl, dWf};
}

Gradients on_the_tape(const LastLayers& layers, const Tensor& hl, const Indices& labels) {
  for (const Tensor& t : {hl, layers.Wf, layers.Wc}) {
    t.set_requires_grad(true);
    t.zero_grad();
  }
  const Tensor h = tanh(linear(hl, layers.Wf, layers.bf));
  h.retain_grad();
  backward(cross_entropy(linear(h, layers.Wc, layers.bc), labels));
  return {h.grad(), layers.Wc.grad(), hl.grad(), layers.Wf.grad()};
}

// A copy that no model learns by.
Tensor alone(const Tensor& x) { return Tensor::from(x.shape(), x.values()); }

const Numbers factors = {0.25, 0.5, 1, 2, 4, 8};

// The four gradients, closed against tape; and what the size of h^l does to the tanh [TA sec.3.1.examples]
Json gradients_result(const TaOptions& o, const Task& task) {
  EncodedSet set(o, task, Split::train, ClsPlace::pooled);
  const int64_t C = int64_t(task.classes()), H = set.config().hidden_size;
  std::vector<int32_t> first = set.all();
  first.resize(std::min<size_t>(32, first.size()));
  const Tensor hl = alone(set.cls(first).hl);
  const Indices classes = classes_of(set.data(), first);
  Linear classifier(H, C);
  const Parameters parameters(classifier, {.seed = uint64_t(o.seed)});
  const LastLayers layers = {alone(set.weight("pooler.dense.weight")),
                             alone(set.weight("pooler.dense.bias")), alone(classifier.weight()),
                             alone(classifier.bias())};
  const Gradients tape = on_the_tape(layers, hl, classes),
                  closed = closed_form(layers, hl, classes);
  Json result = Json::object({{"dL/dh", relative_distance(tape.dh, closed.dh)},
                              {"dL/dW_c", relative_distance(tape.dWc, closed.dWc)},
                              {"dL/dh^l", relative_distance(tape.dhl, closed.dhl)},
                              {"dL/dW_f", relative_distance(tape.dWf, closed.dWf)}});
  const NoGrad no_tape;
  Numbers slope, gradient;  // the larger h^l, the closer are 1 - h² and its gradient to 0
  for (const double factor : factors) {
    const Tensor x = alone(hl * factor);
    gradient.push_back(norm_of(closed_form(layers, x, classes).dhl));
    slope.push_back(double(mean(1 - square(tanh(linear(x, layers.Wf, layers.bf)))).item()));
  }
  return result.set("slope", Json::array_of(slope)).set("gradient", Json::array_of(gradient));
}

// "Influence of h": dimension 1 of h is uniform on [0,1], dimension 2 is .01 (y - ŷ), all there is
// to know. The classifier begins with logits of 0, so y = 1/2; a share q of the examples is of
// class 1. Returns ∂L/∂W_c of class 1 [TA sec.3.1.examples].
Numbers worked_example(double q, uint64_t seed) {
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

std::vector<Task> tasks_with_classes(const TaRuns& ta) {
  std::vector<Task> all = ta.document.tasks();
  std::erase_if(all, [](const Task& task) { return task.kind == TaskKind::regression; });
  return all;
}

Run gradients_run(const TaRuns& ta, const Task& task) {
  Run run = ta.document.run_on(task, "gradients", 0.2, {{"seed", std::to_string(ta.o.seed)}},
                               [o = ta.o, task](const std::string&) { return gradients_result(o, task); });
  run.version = 2;                                  // 2: the difference of the lengths
  return run;
}

void differences(const TaRuns& ta, ItemReport& report, LongTable& table) {
  for (const Task& task : ta.document.tasks())
    if (task.kind == TaskKind::regression)
      report.differs(task.title + " is a regression, which the document does not treat");
  report.table("Closed-form gradients against the tape: the length of their difference, relative to their own", "",
               Names{"dL/dh", "dL/dW_c", "dL/dh^l", "dL/dW_f"}, tasks_with_classes(ta),
               [&](const std::string& gradient, const Task& task) {
                 const double d = ta.document.result(gradients_run(ta, task))[gradient].number();
                 table(task.name, "closed form against tape", gradient) = d;
                 return d > 0 ? significant(d, 2) : "0";
               });
  const bool trained =
      BertConfig::load(model_folder(ta.o.model) + "/config.json").has_trained_pooler();
  report.caption(formatted("on h^l of the first 32 examples, with {} pooler and a new classifier",
                           trained ? "the model's own" : "a new"));
}

void influence_of_h(const TaRuns& ta, ItemReport& report, LongTable& table) {
  std::vector<ItemReport::TableRow> rows;
  for (const double q : {0.5, 0.4, 0.25, 0.1}) {
    const Numbers gradient = worked_example(q, uint64_t(ta.o.seed));
    const double error = 0.5 - q, squared = 0.25;  // E[y-ŷ], E[(y-ŷ)²]
    for (size_t j = 0; j < 2; ++j)
      table("", formatted("dL/dW_c of dimension {}", j + 1), q) = gradient[j];
    rows.push_back({"E[y-ŷ] = " + fixed(error, 2),
                    {{fixed(0.5 * error, 4), fixed(gradient[0], 4)},
                     {fixed(0.01 * squared, 4), fixed(gradient[1], 4)}}});
  }
  report.table(
      "Influence of h: the gradient of a dimension that says nothing and of one that says all; "
      "printed: the document's formulas, .5 E[y-ŷ] and .01 E[(y-ŷ)²]",
      {"", "uniform on [0,1]", ".01 (y - ŷ)"}, rows);
}

void influence_of_hl(const TaRuns& ta, ItemReport& report, LongTable& table) {
  Figure figure{.title = "",
                .columns = 2,
                .panels = {{.title = "slope of the tanh",
                            .x_label = "factor on h^l",
                            .y_label = "mean of 1 - h^2",
                            .log_x = true},
                           {.title = "its effect",
                            .x_label = "factor on h^l",
                            .y_label = "norm of dL/dh^l",
                            .log_x = true}}};
  for (const Task& task : tasks_with_classes(ta))
    for (size_t p = 0; const std::string key : {"slope", "gradient"}) {
      const Numbers y = ta.document.result(gradients_run(ta, task))[key].numbers();
      figure.panels[p++].curves.push_back(
          {.title = task.title, .x = factors, .y = y, .style = Curve::Style::line_and_points});
      for (size_t i = 0; i < y.size(); ++i) table(task.name, key, factors[i]) = y[i];
    }
  report.figure(
      figure,
      "Influence of h^l: the larger it is, the more the tanh is saturated and the smaller is the "
      "gradient below it");
}

}  // namespace

Item ta_gradients_item(const TaRuns& ta) {
  const auto show_item = [ta](ItemReport& report) {
    LongTable table({"task", "what", "of", "value"});
    differences(ta, report, table);
    influence_of_h(ta, report, table);
    influence_of_hl(ta, report, table);
    report.csv(table);
  };
  return {"sec3.1", RunGrid(std::bind_front(gradients_run, ta), tasks_with_classes(ta)),
          show_item};
}

}  // namespace minbert
