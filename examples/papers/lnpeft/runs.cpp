// The runs of LN-PEFT's items: fine-tunings of a part of the model.
#include <algorithm>
#include <filesystem>

#include "files/fingerprint.h"
#include "minbert/safetensors.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

std::string bytes_of(const std::map<std::string, Mask>& masks) {
  std::string all;
  for (const auto& [name, mask] : masks) all += name + '\n' + std::string(mask.begin(), mask.end());
  return all;
}

// The mask of every parameter: that of LayerNorm, all of the heads, and nothing else.
void write_mask(const std::string& file, const Json& parameters,
                std::map<std::string, Mask> masks) {
  SafeTensorsWriter writer;
  for (const auto& [name, sizes] : parameters.members()) {
    std::vector<int64_t> shape;
    for (const Json& size : sizes.items()) shape.push_back(size.integer());
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    if (!masks.contains(name)) masks[name] = Mask(size_t(count), name.starts_with("heads."));
    writer.add(name, shape, std::span<const uint8_t>(masks.at(name)));
  }
  writer.write(file);
}

}  // namespace

// 1 where F is among the largest, in a share f of all elements [LN-PEFT sec.3.2]
std::map<std::string, Mask> largest_elements(const ElementValues& F, double f) {
  struct Element {
    double value;
    const std::string* name;
    size_t index;
  };
  std::vector<Element> elements;
  std::map<std::string, Mask> masks;
  for (const auto& [name, values] : F) {
    masks[name] = Mask(values.size());
    for (size_t i = 0; i < values.size(); ++i) elements.push_back({values[i], &name, i});
  }
  std::ranges::stable_sort(elements, std::greater(), &Element::value);
  const size_t count =
      std::clamp<size_t>(size_t(std::lround(f * double(elements.size()))), 1, elements.size());
  for (size_t i = 0; i < count; ++i) masks.at(*elements[i].name)[elements[i].index] = 1;
  return masks;
}

// Σ_t F_t / (the sum of F_t over its elements)
ElementValues normalized_sum(const std::vector<ElementValues>& all) {
  ElementValues total;
  for (const ElementValues& F : all) {
    double sum = 0;
    for (const auto& [name, values] : F)
      for (const double v : values) sum += v;
    MB_CHECK(sum > 0, "the Fisher information of a task is {}: it cannot be divided by its sum",
             sum);
    for (const auto& [name, values] : F) {
      Numbers& to = total[name];
      to.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i) to[i] += values[i] / sum;          // [LN-PEFT sec.3.4]
    }
  }
  return total;
}

const Names& LnPeftRuns::modes() {
  static const Names all = {trained::full_model, trained::bitfit, trained::layer_norm,
                            trained::random};
  return all;
}

const Numbers& LnPeftRuns::rates(const std::string& mode) const {
  return mode == trained::full_model ? o.lr_full : o.lr_part;
}

std::vector<LnPeftSetting> LnPeftRuns::settings(const Names& modes) const {
  std::vector<LnPeftSetting> all;
  for (const std::string& mode : modes)
    for (const double lr : rates(mode)) all.push_back({mode, lr});
  return all;
}

// [LN-PEFT sec.3.1]; batch size and schedule are ours, the document does not say them.
TrainOptions LnPeftRuns::train_options(const std::string& mode, double lr, int seed) const {
  TrainOptions t;
  t.train_mode = mode;
  t.lr = lr;
  t.seed = seed;
  t.batch = 16;
  t.epochs = o.epochs;
  t.schedule = Schedule::linear;
  t.dropout = 0.1;
  return t;
}

Run LnPeftRuns::tuning(const Task& task, const LnPeftSetting& s, int seed) const {
  Run run = document.fine_tuning(task, train_options(s.mode, s.lr, seed),
                                 formatted("tab2-{}-{}-lr{}-seed{}", task.name, s.mode, s.lr, seed));
  for (size_t set = 0; set < task.files.test.size(); ++set)          // whose predictions tab.3 takes
    if (const std::string file = data_file(o.data, task, Split::test, set); std::filesystem::exists(file))
      run.options["test file " + std::filesystem::path(file).filename().string()] = document.study().fingerprint(file);
  const bool measured = s.mode == trained::full_model && s.lr == measured_rate();
  return measured ? with_changes(run, task, seed == o.seed) : run;
}

ItemReport::Cell LnPeftRuns::scores(const DevSet& set, const LnPeftSetting& setting, DevRows rows) const {
  std::vector<Run> runs;
  for (const int seed : document.seeds()) runs.push_back(tuning(set.task, setting, seed));
  return document.scores(runs, set, 1, rows);
}

LnPeftSetting LnPeftRuns::best(const Task& task, const std::string& mode) const {
  const DevSet first = first_dev_sets({task})[0];
  return std::ranges::max(settings({mode}), {}, [&](const LnPeftSetting& setting) {
    return summarize(scores(first, setting, DevRows::first_half).points).mean;
  });
}

// ---- Masks

Names LnPeftRuns::mask_kinds() const {
  if (tasks().size() < 2) return {"individual", "global", "random"};
  return {"individual", "global", "cross-validated", "random"};
}

// individual: by the information of the task; global: by that of all tasks; cross-validated: by
// that of all others; random: ours.
std::map<std::string, Mask> LnPeftRuns::mask_of(const Task& task, const std::string& kind, double f,
                                                int seed) const {
  if (kind == "individual") return largest_elements(norm_fisher(task, seed), f);
  if (kind == "random") {
    Random random(uint64_t(seed), "random share of LayerNorm");
    ElementValues drawn = norm_fisher(task, seed);
    for (auto& [name, values] : drawn)
      for (double& v : values) v = random.uniform();
    return largest_elements(drawn, f);
  }
  std::vector<ElementValues> all;
  for (const Task& t : tasks())
    if (kind == "global" || t.name != task.name) all.push_back(norm_fisher(t, seed));     // [LN-PEFT sec.3.5]
  return largest_elements(normalized_sum(all), f);                                        // [LN-PEFT sec.3.4]
}

// The mask counts by its contents: its file stands in the run's folder.
Run LnPeftRuns::masked(const Task& task, const std::string& kind, double f, int seed) const {
  const LnPeftSetting setting = best(task, trained::layer_norm);
  if (f == 1) return tuning(task, setting, seed);
  TrainOptions t = train_options(setting.mode, setting.lr, seed);
  const std::string name = formatted("mask-{}-{}-f{}-seed{}", task.name, kind, f, seed);
  const std::map<std::string, Mask> masks = mask_of(task, kind, f, seed);
  Run run = document.fine_tuning(task, t, name);
  run.options["--train"] = "mask:" + fingerprint_text(bytes_of(masks));
  run.scratch.push_back("wanted.safetensors");
  run.work = [=, runs = *this](const std::string& folder) mutable {
    const std::string file = folder + "/wanted.safetensors";
    write_mask(file, runs.document.result(runs.fisher(task, seed))["parameters"], masks);
    t.train_mode = "mask:" + file;
    return runs.document.fine_tuning(task, t, name).work(folder);
  };
  return run;
}

}  // namespace minbert
