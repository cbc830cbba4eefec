// Reading and writing weights under Hugging Face's names.
// Plain: load in examples/plain_bert.cpp
#include "minbert/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "bert/family.h"
#include "engine/names.h"
#include "engine/parallel.h"

namespace minbert {
namespace {

// From our names to those of a file, by the table of src/bert/family.cpp.
struct FileNames {
  std::string encoder;                              // what its encoder's names begin with
  std::vector<std::pair<std::string, std::string>> beginnings;       // ours, the file's

  explicit FileNames(const BertConfig& config) : encoder(config.family().encoder) {
    const Family& family = config.family();
    beginnings = family.others;
    beginnings.emplace_back("bert.pooler.dense.", family.pooler[size_t(config.heads())]);
    beginnings.emplace_back("bert.", family.encoder);
    if (config.heads() == Heads::classifier)
      beginnings.emplace_back(formatted("heads.{}.", config.tasks[0]), family.head_of_one_task);
  }
  // "": it is not in the file
  std::string of(const std::string& ours) const {
    for (const auto& [from, to] : beginnings)
      if (ours.starts_with(from)) return to.empty() ? "" : to + ours.substr(from.size());
    return ours;
  }
};

// The file's name for a parameter of ours, "" if it has none: `expected`, also without `bert.` (or
// with it, if ours is from a BertModel by itself), and with the older LayerNorm.gamma and
// LayerNorm.beta; the bias of masked words also as the decoder's.
std::string name_in(const SafeTensors& file, const std::string& expected,
                    const std::string& encoder) {
  if (expected.empty()) return "";
  const bool has_prefix = expected.starts_with(encoder);
  std::vector<std::string> names = {
      expected, has_prefix ? expected.substr(encoder.size()) : encoder + expected};
  for (size_t i = 0, n = names.size(); i < n; ++i)
    for (const auto& [ending, older] :
         {std::pair("LayerNorm.weight", "gamma"), std::pair("LayerNorm.bias", "beta"),
          std::pair("predictions.bias", "decoder.bias"), std::pair("lm_head.bias", "decoder.bias")})
      if (names[i].ends_with(ending))
        names.push_back(names[i].substr(0, names[i].rfind('.') + 1) + older);
  for (const std::string& name : names)
    if (file.entries().contains(name)) return name;
  return "";
}

// Masked words are predicted by the word embeddings and one bias. Error where a file has another
// matrix or bias for it: some versions of transformers take it, and others overwrite it.
void check_tied(const SafeTensors& file, const std::string& embeddings) {
  const auto& there = file.entries();
  for (const std::string head : {"cls.predictions.", "lm_head."})
    for (const auto& [own, shared] : {std::pair(head + "decoder.weight", embeddings),
                                      std::pair(head + "decoder.bias", head + "bias")})
      MB_CHECK(!there.contains(own) || !there.contains(shared) ||
                   file.read(own) == file.read(shared),
               "{}: {} differs from {}; minbert predicts words by their embeddings and one bias "
               "only",
               file.file(), own, shared);
}

// Error says what else is there, and how transformers makes it of that.
std::string weights_file(const std::string& path, const BertConfig* saved) {
  if (!std::filesystem::is_directory(path)) return path;
  const std::string file = path + "/model.safetensors";
  if (std::filesystem::exists(file)) return file;
  std::vector<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    there.push_back(entry.path().filename());
  std::ranges::sort(there);
  std::string kind = "AutoModel";
  if (saved)
    for (const Json& one : saved->loaded.find("architectures").items()) kind = one.string();
  fail(formatted("{}: there is no such file; in the folder: {}\n"
                 "two lines of Python write it, if transformers reads that:\n"
                 "    from transformers import {}\n"
                 "    {}.from_pretrained(\"{}\").save_pretrained(\"{}\", max_shard_size=\"100GB\")",
                 file, joined(there, ", ", 12), kind, kind, path, path));
}

bool has_row_for_each_task(const std::string& name) {
  return name.ends_with(".task_weight") || name.ends_with(".task_bias");
}

// The tasks of a model, in the order of its rows: they have heads. None: those of its config.json.
std::vector<std::string> tasks_with_heads(const Parameters& parameters) {
  std::vector<std::string> tasks;
  for (const Parameter& item : parameters.items())
    if (const auto parts = split(item.name, '.');
        parts.size() == 3 && parts[0] == "heads" && parts[2] == "weight")
      tasks.push_back(parts[1]);
  return tasks;
}

// The rows of the model's tasks among those of the saved ones: each its own; of new ones 0.
std::vector<real> rows_of_tasks(const std::vector<real>& saved,
                                const std::vector<std::string>& names,
                                const std::vector<std::string>& tasks) {
  const size_t H = saved.size() / names.size();
  std::vector<real> rows;
  for (const std::string& task : tasks) {
    const auto at = size_t(std::ranges::find(names, task) - names.begin());
    if (at == names.size()) rows.insert(rows.end(), H, 0);
    else rows.insert(rows.end(), saved.data() + at * H, saved.data() + (at + 1) * H);
  }
  return rows;
}

// Most published files have these, and an encoder does not use them: pre-training heads,
// position_ids 0, 1, 2, ... Beside the head for masked words only its decoder, which check_tied
// has compared.
bool expected_extra(const std::string& name, bool masked_words) {
  if (masked_words && name.find(".decoder.") == name.npos) return name.ends_with("position_ids");
  return name.starts_with("cls.") || name.starts_with("lm_head.") ||
         name.ends_with("position_ids");
}

// Values that round to infinity in F16, whose largest number is 65504, are an error.
void check_f16(const std::string& file, const std::string& name, const Tensor& values) {
  std::vector<real> room;
  for (const real v : values.on_host(room))
    MB_CHECK(std::abs(v) < 65520,
             "{}: {} has the value {}, which 16 bits cannot hold: their largest number is 65504\n"
             "  leave out --f16; a run that has it goes on with \"--f16\": \"no\" in its "
             "options.json",
             file, name, v);
}

}  // namespace

std::string addition(const std::string& name) {
  static const std::vector<std::pair<std::string, std::string>> kinds = {
      {".task_", "task weights (0)"},
      {"heads.", "heads"},
      {"pooler.", "pooler"},
      {"cls_norm.", "[CLS] norm"},
      {"cls.predictions.", "head for masked words"},
      {"cls.seq_relationship.", "head for next sentences"},
      {".running_", "running statistics"},
      {"encoder.LayerNorm.", "norms of the placement"},
      {".attention.LayerNorm.", "norms of the placement"},
      {".intermediate.LayerNorm.", "norms of the placement"},
      {".head_scale", "norms of the placement"}};
  for (const auto& [part, kind] : kinds)
    if (name.find(part) != name.npos) return kind;
  return "";
}

WeightsReport load_weights(const std::string& path, const Parameters& parameters,
                           const BertConfig* saved) {
  const FileNames names(saved ? *saved : BertConfig());
  const SafeTensors file(weights_file(path, saved));
  WeightsReport report;
  std::vector<std::pair<const Parameter*, std::string>> found;
  std::vector<std::string> missing;
  std::set<std::string> used;
  for (const auto* list : {&parameters.items(), &parameters.buffers()})
    for (const Parameter& item : *list) {
      const std::string expected = names.of(item.name);
      const std::string name = name_in(file, expected, names.encoder);
      if (name.empty()) {
        const bool buffer = list == &parameters.buffers();
        const bool fresh = buffer || !addition(item.name).empty();
        if (fresh && !buffer) parameters.initialise(item);
        if (!fresh) missing.push_back(expected);
        else if (!expected.empty() || item.name.find("pooler") != item.name.npos)
          report.initialised.push_back(item.name);           // RoBERTa has no next sentences
        continue;
      }
      const std::vector<int64_t>& sizes = file.entry(name).shape;
      std::vector<int64_t> shape = sizes_of(item.value.shape());
      if (saved && has_row_for_each_task(item.name)) shape[0] = int64_t(saved->tasks.size());
      MB_CHECK(sizes == shape, "{}: {} is {} in the file, but {} by config.json", file.file(),
               name, sizes_text(sizes), sizes_text(shape));
      found.emplace_back(&item, name);
      report.loaded.push_back(item.name);
      used.insert(name);
    }
  const bool masked_words =
      std::ranges::count(parameters.items(), "cls.predictions.bias", &Parameter::name);
  for (const auto& [name, entry] : file.entries())
    if (!used.contains(name) && !expected_extra(name, masked_words)) report.unused.push_back(name);
  if (!missing.empty()) {
    const std::vector<std::string>& strange = report.unused;           // sorted
    std::string common;
    if (!strange.empty() && strange.size() == file.entries().size())
      common.assign(strange[0].begin(), std::ranges::mismatch(strange[0], strange.back()).in1);
    common.resize(common.find_last_of("./") + 1);                      // "_orig_mod."
    fail(formatted("{}: {} parameters of the model are not in this file:\n    {}\n{}", file.file(),
                   missing.size(), joined(missing, "\n    ", 6),
                   common.empty() ? "in it, not used: " + joined(strange, " ", 6)
                                  : formatted("all {} names in it begin with {}", strange.size(),
                                              common)));
  }
  if (masked_words)
    check_tied(file,
               name_in(file, names.of("bert.embeddings.word_embeddings.weight"), names.encoder));

  const std::vector<std::string> tasks = tasks_with_heads(parameters);
  parallel_each(found.size(), [&](size_t i) {
    const auto& [item, name] = found[i];
    if (!has_row_for_each_task(name)) return file.read(name, item->value);
    std::vector<real> rows = file.read(name);
    file.check_finite(name, rows);
    if (!tasks.empty() && saved) rows = rows_of_tasks(rows, saved->tasks, tasks);
    item->value.copy_from(rows);
  });
  return report;
}

void save_weights(const std::string& file, const Parameters& parameters, SafeTensorsWriter::As as,
                  const BertConfig* config) {
  const FileNames names(config ? *config : BertConfig());
  SafeTensorsWriter writer;
  for (const Parameter& item : parameters.all())
    if (const std::string name = names.of(item.name); !name.empty()) {
      if (as == SafeTensorsWriter::As::f16) check_f16(file, name, item.value);
      writer.add(name, item.value, as);
    }
  writer.write(file);
}

}  // namespace minbert
