// What two steps of AdamW move: one on the task's label for the text, one of another task.
//
//   γ_t, β_t [tasks,H] are one parameter each. A batch of one task gives the rows of the others the
//   gradient 0, and AdamW moves these on by the moments m and v of earlier steps; a head that a
//   batch does not use has no gradient, and stays (minbert/optimizer.h).
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "inside/look.h"
#include "minbert/optimizer.h"

namespace minbert {
namespace {

constexpr double learning_rate = 1e-3;

// What is measured together, for each step: |g|, none where there was no gradient, and |Δθ|.
struct Group {
  std::string name;
  int64_t numbers = 0;
  std::vector<std::optional<double>> gradient = {};
  std::vector<double> moved = {};
};

int64_t rows_of(const Parameter& p) { return p.value.shape().rank() == 1 ? 1 : p.value.rows(); }

// The group of a parameter's row.
std::string group_of(const std::string& name, int64_t row, const TrainedModel& trained,
                     const Batch& batch) {
  const auto ends = [&](const char* end) { return name.ends_with(end); };
  if (ends(".task_weight")) return "γ_" + trained.tasks[size_t(row)].name;
  if (ends(".task_bias")) return "β_" + trained.tasks[size_t(row)].name;
  if (ends("LayerNorm.weight")) return "γ of all norms";
  if (ends("LayerNorm.bias")) return "β of all norms";
  if (name.starts_with("heads.")) return name.substr(0, name.rfind('.'));
  if (ends("word_embeddings.weight"))
    return std::ranges::count(batch.ids, row) ? "embeddings of the text's tokens"
                                              : "embeddings of all other tokens";
  return "all else in the encoder";
}

// The groups in the order of the parameters.
std::vector<Group> groups_of(const TrainedModel& trained, const Batch& batch) {
  std::vector<Group> groups;
  for (const Parameter& p : trained.model.parameters.items())
    for (int64_t row = 0; row < rows_of(p); ++row) {
      const std::string name = group_of(p.name, row, trained, batch);
      auto found = std::ranges::find(groups, name, &Group::name);
      if (found == groups.end()) found = groups.insert(found, Group{name});
      found->numbers += p.value.size() / rows_of(p);
    }
  return groups;
}

// The length of a vector, group by group: of numbers(i), as many as the i-th parameter has, or none.
std::map<std::string, double> lengths(const TrainedModel& trained, const Batch& batch,
                                      const std::function<std::vector<real>(size_t)>& numbers) {
  std::map<std::string, double> squares;
  const std::vector<Parameter>& parameters = trained.model.parameters.items();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::vector<real> x = numbers(i);
    if (x.empty()) continue;
    const size_t cols = x.size() / size_t(rows_of(parameters[i]));
    for (size_t k = 0; k < x.size(); k += cols) {
      double& sum = squares[group_of(parameters[i].name, int64_t(k / cols), trained, batch)];
      for (size_t c = k; c < k + cols; ++c) sum += double(x[c]) * double(x[c]);
    }
  }
  for (auto& [name, sum] : squares) sum = std::sqrt(sum);
  return squares;
}

Json group_json(const Group& group) {
  Json::Array gradient;
  for (const auto& g : group.gradient)
    gradient.push_back(g ? Json(rounded(*g)) : Json());
  return Json::object({{"name", group.name},
                       {"numbers", group.numbers},
                       {"gradient", Json::array(gradient)},
                       {"moved", rounded(group.moved)}});
}

// How far each number moved; `before` is afterwards `now`.
std::vector<real> moved_since(std::vector<real>& before, const std::vector<real>& now) {
  std::vector<real> moved = now;
  for (size_t k = 0; k < now.size(); ++k) moved[k] -= before[k];
  before = now;
  return moved;
}

}  // namespace

Json steps_json(TrainedModel& trained, const InsideOptions& o) {
  const Task& first = trained.task(o.task);
  const std::vector<Parameter>& parameters = trained.model.parameters.items();
  const auto values = [&](size_t i) { return parameters[i].value.values(); };
  std::vector<std::vector<real>> start, before;
  for (size_t i = 0; i < parameters.size(); ++i) start.push_back(values(i));
  before = start;

  trained.model.parameters.zero_grad();
  Optimizer optimizer(trained.model.parameters, {});
  // The text's pieces: the same in both steps
  const Batch text = pack(example_of(trained, &first, o).inputs);
  std::vector<Group> groups = groups_of(trained, text);
  Json::Array steps;
  const auto step = [&](const Task& task, const InsideOptions& texts, double label) {
    const int id = trained.model.network.task_id(task.name);
    const Batch batch = pack(example_of(trained, &task, texts).inputs, {id});
    const Tensor logits = trained.model.network.forward(batch, id);
    const Tensor loss = task_loss(task, logits, std::vector<double>{label});
    backward(loss);
    const auto gradients = lengths(trained, text, [&](size_t i) {
      const Tensor g = parameters[i].value.grad();
      return g ? g.values() : std::vector<real>();
    });
    optimizer.step(learning_rate);
    const auto moves = lengths(trained, text, [&](size_t i) { return moved_since(before[i], values(i)); });
    for (Group& group : groups) {
      const auto found = gradients.find(group.name);
      group.gradient.push_back(found == gradients.end() ? std::nullopt
                                                        : std::optional(found->second));
      group.moved.push_back(moves.at(group.name));
    }
    steps.push_back(Json::object({{"task", task.name},
                                  {"label", in_words(task, label)},
                                  {"text_b", task.is_pair() ? texts.text_b : ""},
                                  {"loss", rounded(double(loss.item()))}}));
  };

  step(first, o, label_of(first, o.label));
  const auto other = std::ranges::find_if(trained.tasks,
                                          [&](const Task& t) { return t.name != first.name; });
  if (other != trained.tasks.end()) {
    InsideOptions texts = o;
    if (texts.text_b.empty()) texts.text_b = o.text;
    step(*other, texts, other->low);
  }
  for (size_t i = 0; i < start.size(); ++i) parameters[i].value.copy_from(start[i]);

  Json::Array all;
  for (const Group& group : groups) all.push_back(group_json(group));
  return Json::object({{"rate", learning_rate},
                       {"steps", Json::array(steps)},
                       {"groups", Json::array(all)}});
}

}  // namespace minbert
