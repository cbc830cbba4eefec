// Reading and writing weights under Hugging Face's names.
#include "minbert/huggingface.h"

#include <filesystem>
#include <set>

#include "engine/parallel.h"
#include "minbert/names.h"

namespace minbert {
namespace {

// The file's name for a parameter of ours, "" if it has none: our name, also without `bert.` (or
// with it, if ours is from a BertModel by itself), and with the older LayerNorm.gamma and
// LayerNorm.beta.
std::string name_in(const SafeTensors& file, const std::string& ours) {
  const bool has_prefix = ours.starts_with("bert.");
  std::vector<std::string> names = {ours, has_prefix ? ours.substr(5) : "bert." + ours};
  for (size_t i = 0, n = names.size(); i < n; ++i)
    for (const auto& [ending, older] :
         {std::pair("LayerNorm.weight", "gamma"), std::pair("LayerNorm.bias", "beta")})
      if (names[i].ends_with(ending))
        names.push_back(names[i].substr(0, names[i].rfind('.') + 1) + older);
  for (const std::string& name : names)
    if (file.entries().contains(name)) return name;
  return "";
}

bool has_row_for_each_task(const std::string& name) { return name.find(".task_") != name.npos; }

// Parameters that a pre-trained encoder lacks: heads, pooler, and those that minbert adds
// (src/bert/layer.cpp).
bool may_be_missing(const std::string& name) {
  for (const char* added :
       {"encoder.LayerNorm.", ".attention.LayerNorm.", ".intermediate.LayerNorm.", ".head_scale"})
    if (name.find(added) != name.npos) return true;
  return name.starts_with("heads.") || name.starts_with("cls.") ||
         name.find("pooler.") != name.npos || has_row_for_each_task(name) ||
         name.find("cls_norm.") != name.npos;
}

// Most published files have these, and an encoder does not use them: pre-training heads,
// position_ids 0, 1, 2, ...
bool expected_extra(const std::string& name) {
  return name.starts_with("cls.") || name.ends_with("position_ids");
}

}  // namespace

WeightsReport load_weights(const std::string& path, const Parameters& parameters, int64_t tasks) {
  const SafeTensors file(std::filesystem::is_directory(path) ? path + "/model.safetensors" : path);
  WeightsReport report;
  std::vector<std::pair<const Parameter*, std::string>> found;
  std::vector<std::string> missing;
  std::set<std::string> used;
  for (const auto* list : {&parameters.items(), &parameters.buffers()})
    for (const Parameter& item : *list) {
      const std::string name = name_in(file, item.name);
      if (name.empty()) {
        const bool buffer = list == &parameters.buffers();
        const bool fresh = buffer || may_be_missing(item.name);
        if (fresh && !buffer) parameters.initialise(item);
        (fresh ? report.initialised : missing).push_back(item.name);
        continue;
      }
      const std::vector<int64_t>& sizes = file.entry(name).shape;
      std::vector<int64_t> expected = sizes_of(item.value.shape());
      if (tasks >= 0 && has_row_for_each_task(item.name)) expected[0] = tasks;
      MB_CHECK(sizes == expected, "{}: {} is {} in the file, but {} by config.json", file.file(),
               name, sizes_text(sizes), sizes_text(expected));
      found.emplace_back(&item, name);
      report.loaded.push_back(item.name);
      used.insert(name);
    }
  MB_CHECK(missing.empty(), "{}: {} of the encoder's tensors are not in this file:\n    {}",
           file.file(), missing.size(), joined(missing, "\n    "));
  for (const auto& [name, entry] : file.entries())
    if (!used.contains(name) && !expected_extra(name))
      report.unused.push_back(name);

  parallel_each(found.size(), [&](size_t i) {
    const auto& [item, name] = found[i];
    if (!has_row_for_each_task(name)) return file.read(name, item->value);
    std::vector<real> rows = file.read(name);
    file.check_finite(name, rows);
    rows.resize(size_t(item->value.size()));        // new tasks start at 0
    item->value.copy_from(rows);
  });
  return report;
}

void save_weights(const std::string& file, const Parameters& parameters, SafeTensorsWriter::As as) {
  SafeTensorsWriter writer;
  for (const Parameter& item : parameters.all())
    writer.add(item.name, item.value, as);
  writer.write(file);
}

}  // namespace minbert
