// Measuring a step of training, and drawing what was measured.
#include "runs/recorder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "engine/lapack.h"
#include "engine/names.h"
#include "engine/ranks.h"
#include "engine/text.h"
#include "minbert/files.h"
#include "minbert/metrics.h"
#include "minbert/norm.h"
#include "minbert/safetensors.h"
#include "models/norm_pass.h"
#include "report/curves.h"
#include "report/source.h"
#include "runs/run_page.h"

namespace minbert {
namespace {

const std::string heads = "step,task,site,what,value\n", gradient = "|dL/dx|";

using Reals = std::vector<real>;
double length(std::span<const real> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}
double distance(const Reals& a, const Reals& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += (double(a[i]) - double(b[i])) * (double(a[i]) - double(b[i]));
  return std::sqrt(squares);
}

// EV_1 .. EV_3 of h [B,H] by the B x B products of its centered rows, whose eigenvalues are the λ_i² [IsoBN eq.9]
Numbers first_ev(const Reals& h, size_t B) {
  const size_t H = h.size() / B;
  Numbers centered(h.begin(), h.end()), products(B * B);
  for (size_t j = 0; j < H; ++j) {
    double mean = 0;
    for (size_t i = 0; i < B; ++i) mean += centered[i * H + j] / double(B);
    for (size_t i = 0; i < B; ++i) centered[i * H + j] -= mean;
  }
  for (size_t a = 0; a < B; ++a)
    for (size_t b = 0; b < B; ++b)
      products[a * B + b] = std::inner_product(&centered[a * H], &centered[a * H] + H, &centered[b * H], 0.0);
  Numbers squares = symmetric_eigen(products, int(B), false).values, ev;
  std::ranges::reverse(squares);
  const double all = std::accumulate(squares.begin(), squares.end(), 0.0);
  for (size_t k = 0; k < std::min<size_t>(3, B) && all > 0; ++k)
    ev.push_back((ev.empty() ? 0 : ev.back()) + squares[k] / all);
  return ev;
}

}  // namespace

// At the first recorded step: the rows of steps that this run has not taken go, and γ_0 is kept or found.
void Recorder::open() {
  const std::string file = folder_ + "/sites.csv", start = folder_ + "/sites.safetensors";
  std::string kept = heads;
  if (step_ > 0 && std::filesystem::exists(file))
    for (const std::string& line : lines_of(read_file(file)))
      if (const auto step = number_in(split(line)[0]); step && *step < double(step_)) kept += line + "\n";
  write_file(file, kept);
  out_.open(file, std::ios::app);
  if (step_ > 0 && std::filesystem::exists(start)) {
    const SafeTensors stored(start);
    for (const auto& [name, entry] : stored.entries()) start_[name] = stored.read(name);
    return;
  }
  if (step_ > 0) return;                            // a run that was not recorded from its start: γ_0 is not known
  SafeTensorsWriter writer;
  for (const std::string& norm : norms_)
    for (const Parameter& p : parameters_->items())
      if (p.name == norm + ".weight") writer.add(p.name, p.value), start_[p.name] = p.value.values();
  writer.write(start);
}

void Recorder::before_step(int64_t taken, const std::string& task, Module& network, const Parameters& parameters) {
  if (!ranks().first()) return;
  step_ = taken, task_ = task, parameters_ = &parameters;
  norms_.clear();
  network.visit([&](Module& module) {
    if (dynamic_cast<Norm*>(&module)) norms_.push_back(module.path());
  });
  if (!out_.is_open()) open();
  trace_.emplace();
}

void Recorder::row(const std::string& site, const std::string& what, double value) {
  if (std::isfinite(value)) out_ << formatted("{},{},{},{},{}\n", step_, task_, site, what, float_text(value));
}

void Recorder::gains_of(const std::string& norm) {
  for (const Parameter& p : parameters_->items()) {
    if (p.name == norm + ".weight" && start_.contains(p.name))
      row(norm, "|γ-γ_0|", distance(p.value.values(), start_[p.name]));
    if (p.name != norm + ".task_weight") continue;
    const Reals gamma = p.value.values();
    const size_t H = gamma.size() / tasks_.size();
    for (size_t t = 0; t < tasks_.size(); ++t)
      row(norm, "|γ_t| of " + tasks_[t], length(std::span(gamma).subspan(t * H, H)));
  }
}

void Recorder::cls() {
  const std::vector<Trace::Operation>& all = trace_->operations();
  for (const Trace::Operation& o : all) {
    const int before = o.inputs.empty() ? -1 : o.inputs[0];
    if (o.name != "tanh" || before < 0 || !is_in(all[size_t(before)].module, "bert.pooler")) continue;
    const Reals h = o.result.values();
    row("[CLS]", "small 1-h²",
        double(std::ranges::count_if(h, [](real x) { return 1 - double(x) * double(x) < 0.1; })) / double(h.size()));
    for (size_t k = 1; const double ev : first_ev(h, size_t(o.result.rows())))
      row("[CLS]", formatted("EV_{}", k++), ev);
    return;                                         // of the step's first batch
  }
}

void Recorder::after_backward() {
  if (!trace_) return;
  for (const std::string& norm : norms_) {
    if (const Tensor x = norm_pass(norm, trace_->operations()).x) {
      const Reals values = x.values();
      const Summary summary = summarize(Numbers(values.begin(), values.end()));
      row(norm, "mean of x", summary.mean);
      row(norm, "deviation of x", summary.deviation);
      if (const Tensor slope = x.grad()) row(norm, gradient, length(slope.values()));
    }
    gains_of(norm);
  }
  cls();
  trace_.reset();
  out_.flush();
  MB_CHECK(out_, "{}/sites.csv: cannot write; is the disk full?", folder_);
}

RunResult train_recorded(const Experiment& experiment, const TrainOptions& options, const std::string& folder,
                         bool score_training) {
  Recorder recorder(folder, experiment.config(options).tasks);
  return train(experiment, options, folder, 0, score_training, &recorder);
}

// ---- Drawn

namespace {

// "layer 1 output", for "bert.encoder.layer.1.output.LayerNorm"
std::string short_name(std::string site) {
  for (const char* part : {"bert.", "encoder.", ".LayerNorm"})
    if (const size_t at = site.find(part); at != site.npos) site.erase(at, std::string(part).size());
  std::ranges::replace(site, '.', ' ');
  return site;
}

// sites.csv, by what was measured: a matrix [sites,steps] of the norms, and one of [CLS] alone. NaN: has no row.
struct Recorded {
  using Maps = std::vector<std::pair<std::string, Matrix>>;
  Names columns, sites;                             // "0 sst"
  Numbers steps;                                    // a column's
  Maps of_norms, of_cls;

  explicit Recorded(const CsvTable& table) {
    const Numbers values = table.numbers("value"), all_steps = table.numbers("step");
    const Names &whats = table.texts("what"), &site = table.texts("site");
    const auto column_of = [&](size_t i) {
      return place(table.texts("step")[i] + " " + table.texts("task")[i], columns);
    };
    for (size_t i = 0; i < values.size(); ++i) {
      if (column_of(i) == steps.size()) steps.push_back(all_steps[i]);
      if (site[i] != "[CLS]") place(site[i], sites);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const bool is_cls = site[i] == "[CLS]";
      Maps& maps = is_cls ? of_cls : of_norms;
      auto map = std::ranges::find(maps, whats[i], &std::pair<std::string, Matrix>::first);
      if (map == maps.end())
        map = maps.insert(map, {whats[i], Matrix(is_cls ? 1 : sites.size(), Numbers(columns.size(), NAN))});
      map->second[is_cls ? 0 : place(site[i], sites)][column_of(i)] = values[i];
    }
  }

  // Where it stands in the list, or is put
  static size_t place(const std::string& name, Names& list) {
    const auto at = std::ranges::find(list, name);
    if (at == list.end()) list.push_back(name);
    return size_t(std::ranges::find(list, name) - list.begin());
  }
};

}  // namespace

Json recorded_json(const std::string& folder) {
  if (!std::filesystem::exists(folder + "/sites.csv")) return {};
  const Recorded recorded{CsvTable(folder + "/sites.csv")};
  Json::Array all;
  const auto add = [&](const std::string& what, const Names& sites, const Matrix& matrix) {
    Json::Array values;
    for (const Numbers& row : matrix) values.push_back(Json::array_of(row));
    all.push_back(Json::object({{"what", what}, {"sites", Json::array({sites.begin(), sites.end()})},
                                {"values", Json::array(values)}}));
  };
  for (const auto& [what, matrix] : recorded.of_norms) add(what, recorded.sites, matrix);
  for (const auto& [what, matrix] : recorded.of_cls) add(what, {"[CLS]"}, matrix);
  return Json::object({{"columns", Json::array({recorded.columns.begin(), recorded.columns.end()})},
                       {"of", Json::array(all)}});
}

std::optional<ItemReport> sites_item(const std::string& folder) {
  const std::string file = folder + "/sites.csv";
  if (!std::filesystem::exists(file)) return std::nullopt;
  const Recorded recorded{CsvTable(file)};
  if (recorded.columns.empty()) return std::nullopt;
  make_folder(folder + "/figures");
  ItemReport item = page_item(folder, "sites", "Inside, while it learnt: every norm, by step");
  if (!recorded.of_norms.empty())
    item.figure("Of every norm: the mean and the deviation of its input x, the length of the loss's gradient there, "
                "how far its gain has moved since the start, and the gains of the tasks; a column is a recorded step, "
                "with the task that it learnt from", recorded.of_norms, [&](const auto& map) {
                  Panel panel{.title = map.first, .x_label = "step"};
                  panel.heat.values = map.second;
                  if (map.first == gradient) {      // it spans orders of magnitude
                    panel.title = "log10 " + gradient;
                    for (Numbers& row : panel.heat.values)
                      for (double& value : row) value = value > 0 ? std::log10(value) : NAN;
                  }
                  panel.x_names = recorded.columns;
                  for (const std::string& site : recorded.sites) panel.y_names.push_back(short_name(site));
                  return panel;
                });
  if (!recorded.of_cls.empty())
    item.figure("Of [CLS], after the pooler's tanh, in the batch of the step: the share of its numbers where 1-h² is "
                "below .1, and the share of the variance along its first directions", recorded.of_cls,
                [&](const auto& map) {
                  const Curve curve{.title = map.first, .x = recorded.steps, .y = map.second[0]};
                  return Panel{.title = curve.title, .x_label = "step", .curves = {curve}};
                }, {.columns = 2}, "cls");
  item.file("sites.csv");
  return item;
}

}  // namespace minbert
