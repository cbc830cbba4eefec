// What two steps of AdamW move: one on the task's label for the text, one of another task.
//
//   γ_t, β_t [tasks,H] are one parameter each. A batch of one task gives the rows of the others the
//   gradient 0, and AdamW moves these on by the moments m and v of earlier steps; a head that a
//   batch does not use has no gradient, and stays (minbert/optimizer.h).
#include <algorithm>
#include <cmath>
#include <optional>

#include "inside/look.h"
#include "minbert/optimizer.h"

namespace minbert {
namespace {

constexpr double learning_rate = 1e-3;

// What is measured together: rows of the parameters; for each step |g|, null where there was no gradient, and |Δθ|.
struct Group {
  struct Row {
    size_t parameter, begin, end;                   // its numbers
  };
  std::string name;
  std::vector<Row> rows = {};
  Json::Array gradient = {}, moved = {};
};
using Values = std::vector<std::vector<real>>;      // as many as each parameter has, or none

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
  const std::vector<Parameter>& parameters = trained.model.parameters.items();
  std::vector<Group> groups;
  for (size_t i = 0; i < parameters.size(); ++i)
    for (int64_t row = 0, cols = parameters[i].value.cols(); row < parameters[i].value.rows(); ++row) {
      const std::string name = group_of(parameters[i].name, row, trained, batch);
      auto found = std::ranges::find(groups, name, &Group::name);
      if (found == groups.end()) found = groups.insert(found, Group{name});
      found->rows.push_back({i, size_t(row * cols), size_t((row + 1) * cols)});
    }
  return groups;
}

Json length_of(const Group& group, const Values& numbers) {
  std::optional<double> squares;
  for (const auto& [parameter, begin, end] : group.rows)
    for (size_t k = begin; k < std::min(end, numbers[parameter].size()); ++k)
      squares = squares.value_or(0) + std::pow(double(numbers[parameter][k]), 2);
  return squares ? Json(rounded(std::sqrt(*squares))) : Json();
}

Json group_json(const Group& group) {
  int64_t numbers = 0;
  for (const auto& [parameter, begin, end] : group.rows) numbers += int64_t(end - begin);
  return Json::object({{"name", group.name},
                       {"numbers", numbers},
                       {"gradient", Json::array(group.gradient)},
                       {"moved", Json::array(group.moved)}});
}

}  // namespace

Json steps_json(TrainedModel& trained, const InsideOptions& o) {
  const Task& first = trained.task(o.task);
  const std::vector<Parameter>& parameters = trained.model.parameters.items();
  Values start;
  for (const Parameter& p : parameters) start.push_back(p.value.values());
  Values before = start;

  trained.model.parameters.zero_grad();
  Optimizer optimizer(trained.model.parameters, {});
  // The text's pieces: the same in both steps
  std::vector<Group> groups = groups_of(trained, pack(example_of(trained, &first, o).inputs));
  Json::Array steps;
  const auto step = [&](const Task& task, const InsideOptions& texts, double label) {
    const int id = trained.model.network.task_id(task.name);
    const Batch batch = pack(example_of(trained, &task, texts).inputs, {id});
    const Tensor logits = trained.model.network.forward(batch, id);
    const Tensor loss = task_loss(task, logits, std::vector<double>{label});
    backward(loss);
    Values gradients, moved;
    for (const Parameter& p : parameters) {
      const Tensor g = p.value.grad();
      gradients.push_back(g ? g.values() : std::vector<real>());
    }
    optimizer.step(learning_rate);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::vector<real> now = parameters[i].value.values();
      moved.push_back(now);
      for (size_t k = 0; k < now.size(); ++k) moved[i][k] -= before[i][k];
      before[i] = now;
    }
    for (Group& group : groups) {
      group.gradient.push_back(length_of(group, gradients));
      group.moved.push_back(length_of(group, moved));
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
