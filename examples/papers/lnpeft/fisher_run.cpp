// One pass over examples of a task: the Fisher information of every parameter [LN-PEFT eq.2].
#include <algorithm>
#include <numeric>

#include "minbert/safetensors.h"
#include "minbert/sampling.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

const std::string norm = "output.LayerNorm";

// The mean over the elements of each component, of all layers together.
Json component_means(const ElementValues& F) {
  std::map<std::string, std::pair<double, double>> sums;  // and how many
  for (const auto& [name, values] : F) {
    const auto site = layer_site(name);
    if (!site) continue;
    auto& [sum, count] = sums[site->component];
    sum += std::accumulate(values.begin(), values.end(), 0.0);
    count += double(values.size());
  }
  Json means = Json::object();
  for (const auto& [component, sum] : sums) means.set(component, sum.first / sum.second);
  return means;
}

Json fisher_result(const TrainOptions& o, int64_t wanted, const std::string& folder) {
  const Experiment experiment(o);
  const TaskData& data = experiment.data()[0];
  const auto model = new_model(experiment, o, true);
  const int64_t rows = int64_t(data.train.examples.size()),
                N = wanted > 0 ? std::min(rows, wanted) : rows;
  const std::vector<TaskSize> sizes = {{data.task.name, rows}};
  const EpochOptions one_batch{.batch = int(N), .seed = uint64_t(o.seed)};
  const std::vector<int32_t> examples = epoch_batches(sizes, 0, one_batch)[0].examples;
  const ElementValues F =
      fisher_information(model->network, model->parameters, data.task, data.train, examples);
  SafeTensorsWriter file;
  std::map<std::string, std::vector<real>> kept;
  Json parameters = Json::object();
  for (const Parameter& p : model->parameters.items()) {
    const std::vector<int64_t> shape = sizes_of(p.value.shape());
    parameters.set(p.name, Json::array({shape.begin(), shape.end()}));
    const auto site = layer_site(p.name);
    if (!site || site->component != norm) continue;
    const Numbers& values = F.at(p.name);
    kept[p.name].assign(values.begin(), values.end());
    file.add(p.name, shape, kept.at(p.name));
  }
  file.write(folder + "/fisher.safetensors");
  return Json::object({{"examples", N}, {"eq2", component_means(F)}, {"parameters", parameters}});
}

}  // namespace

const Names& layer_components() {
  static const Names all = {"attention.self.query",
                            "attention.self.key",
                            "attention.self.value",
                            "attention.output.dense",
                            "attention.output.LayerNorm",
                            "intermediate.dense",
                            "output.dense",
                            norm};
  return all;
}

std::optional<LayerSite> layer_site(const std::string& parameter) {
  const std::string before = "encoder.layer.";
  const size_t begin = parameter.find(before);
  if (begin == parameter.npos) return std::nullopt;
  const size_t number = begin + before.size(), dot = parameter.find('.', number),
               last = parameter.rfind('.');
  const std::string component = dot < last ? parameter.substr(dot + 1, last - dot - 1) : "";
  if (std::ranges::find(layer_components(), component) == layer_components().end())
    return std::nullopt;
  return LayerSite{std::stoi(parameter.substr(number, dot - number)), component,
                   parameter.substr(last + 1)};
}

Run LnPeftRuns::fisher(const Task& task, int seed) const {
  const TrainOptions t = document.on_task(task, train_options(trained::full_model, 0, seed));
  const auto work = [t, N = o.fisher_examples](const std::string& folder) {
    return fisher_result(t, N, folder);
  };
  return document.run_on(
      task, "fisher", 2,
      {{"seed", std::to_string(seed)}, {"fisher-examples", std::to_string(o.fisher_examples)}},
      work);
}

ElementValues LnPeftRuns::norm_fisher(const Task& task, int seed) const {
  const SafeTensors file(document.folder(fisher(task, seed)) + "/fisher.safetensors");
  ElementValues F;
  for (const auto& [name, entry] : file.entries()) {
    const std::vector<real> values = file.read(name);
    F[name].assign(values.begin(), values.end());
  }
  return F;
}

}  // namespace minbert
