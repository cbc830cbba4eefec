// What two steps of AdamW move: one on the task's label for the text, one of another task.
//
//   γ_t, β_t [tasks,H] are one parameter each. A batch of one task gives the rows of the others the
//   gradient 0, and AdamW moves these on by the moments m and v of earlier steps; a head that a
//   batch does not use has no gradient, and stays (minbert/optimizer.h).
#include <algorithm>
#include <cmath>

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

using Values = std::vector<std::vector<real>>;      // of each parameter

Values values_of(const Parameters& parameters) {
  Values all;
  for (const Parameter& p : parameters.items()) all.push_back(p.value.values());
  return all;
}

// A step's part of each group.
void add_step(std::vector<Group>& groups, const TrainedModel& trained, const Batch& batch,
              const Values& gradients, const Values& before, const Values& after) {
  const std::vector<Parameter>& parameters = trained.model.parameters.items();
  const auto group = [&](const std::string& name) -> Group& {
    const auto found = std::ranges::find(groups, name, &Group::name);
    return found != groups.end() ? *found : groups.emplace_back(Group{name});
  };
  struct Squares {
    std::optional<double> gradient;
    double moved = 0;
    int64_t numbers = 0;
  };
  std::map<std::string, Squares> squares;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& value = parameters[i].value;
    const int64_t rows = value.shape().rank() == 1 ? 1 : value.rows(), cols = value.size() / rows;
    for (int64_t row = 0; row < rows; ++row) {
      const std::string name = group_of(parameters[i].name, row, trained, batch);
      group(name);                                  // in the order of the parameters
      Squares& sum = squares[name];
      sum.numbers += cols;
      for (size_t k = size_t(row * cols); k < size_t((row + 1) * cols); ++k) {
        sum.moved += std::pow(double(after[i][k]) - double(before[i][k]), 2);
        if (!gradients[i].empty())
          sum.gradient = sum.gradient.value_or(0) + std::pow(double(gradients[i][k]), 2);
      }
    }
  }
  for (Group& g : groups) {
    const Squares& sum = squares[g.name];
    g.numbers = sum.numbers;
    g.gradient.push_back(sum.gradient ? std::optional(std::sqrt(*sum.gradient)) : std::nullopt);
    g.moved.push_back(std::sqrt(sum.moved));
  }
}

Json group_json(const Group& group) {
  Json::Array gradient;
  for (const std::optional<double>& g : group.gradient)
    gradient.push_back(g ? Json(rounded(*g)) : Json());
  return Json::object({{"name", group.name},
                       {"numbers", group.numbers},
                       {"gradient", Json::array(gradient)},
                       {"moved", rounded(group.moved)}});
}

}  // namespace

Json steps_json(TrainedModel& trained, const InsideOptions& o) {
  const Task& task = trained.task(o.task);
  Parameters& parameters = trained.model.parameters;
  MultitaskBert& network = trained.model.network;
  const Values start = values_of(parameters);
  parameters.zero_grad();
  Optimizer optimizer(parameters, {});
  std::vector<Group> groups;
  Json::Array steps;
  // The text's pieces: the same in both steps
  const Batch text = pack(example_of(trained, &task, o, nullptr).inputs);
  const auto step = [&](const Task& of, const InsideOptions& texts, double label) {
    const int id = network.task_id(of.name);
    const Batch batch = pack(example_of(trained, &of, texts, nullptr).inputs, {id});
    const Tensor loss = task_loss(of, network.forward(batch, id), std::vector<double>{label});
    backward(loss);
    Values gradients;
    for (const Parameter& p : parameters.items())
      gradients.push_back(p.value.grad() ? p.value.grad().values() : std::vector<real>());
    const Values before = values_of(parameters);
    optimizer.step(learning_rate);
    add_step(groups, trained, text, gradients, before, values_of(parameters));
    steps.push_back(Json::object({{"task", of.name},
                                  {"label", in_words(of, label)},
                                  {"text_b", of.is_pair() ? texts.text_b : ""},
                                  {"loss", rounded(double(loss.item()))}}));
  };

  step(task, o, label_of(task, o.label));
  const auto other = std::ranges::find_if(trained.tasks,
                                          [&](const Task& t) { return t.name != task.name; });
  if (other != trained.tasks.end()) {
    InsideOptions texts = o;
    if (texts.text_b.empty()) texts.text_b = o.text;
    step(*other, texts, other->low);
  }
  for (size_t i = 0; i < start.size(); ++i) parameters.items()[i].value.copy_from(start[i]);

  Json::Array all;
  for (const Group& group : groups) all.push_back(group_json(group));
  return Json::object({{"rate", learning_rate},
                       {"steps", Json::array(steps)},
                       {"groups", Json::array(all)}});
}

}  // namespace minbert
