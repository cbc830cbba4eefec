// Which files a run reads, and whether they are still the same.
#include "train/sources.h"

#include <filesystem>

#include "engine/names.h"
#include "files/fingerprint.h"
#include "minbert/checkpoint.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "run_folder.h"

namespace minbert {

namespace fs = std::filesystem;

std::vector<std::string> files_of_model(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* file :
       {"vocab.txt", "vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json", "config.json", "model.safetensors"})
    if (fs::exists(folder + "/" + file)) files.push_back(folder + "/" + file);
  return files;
}

Json sources_of(const std::map<std::string, std::string>& settings,
                const std::vector<std::string>& data_files) {
  Json sources = Json::object();
  // Files go by their names in the folder or, without one, by their own.
  const auto add = [&](const std::string& option, const std::vector<std::string>& files,
                       const fs::path& folder = {}) {
    for (const std::string& file : files) {
      if (!fs::exists(file)) continue;
      const fs::path path = file;
      const fs::path name = folder.empty() ? path.filename() : path.lexically_relative(folder);
      const std::string fingerprint = file_fingerprint(file);
      sources.set(option + " " + name.string(),
                  Json::object({{"bytes", file_size(file)}, {"fingerprint", fingerprint}}));
    }
  };
  for (const auto& [option, value] : settings) {
    if (option == "--data") add(option, data_files, value);
    else if (option == "--corpus") add(option, split(value));
    else if (option == "--config" || !fs::is_directory(value)) add(option, {value});
    else if (std::ranges::count(place_options, option))
      add(option, files_of_model(model_folder(value)));
  }
  return sources;
}

void check_sources(const std::string& folder, const Json& now) {
  if (!has_state(folder)) return;
  const Json state = saved_position(folder);
  if (!state.has("sources")) return;                // minbert 0.9.0 did not save them
  const Json began = state["sources"];
  const auto said = [](const Json& sources, const std::string& name) {
    if (!sources.has(name)) return std::string("not there");
    const Json facts = sources[name];
    return formatted("{} bytes ({})", facts["bytes"].integer(), facts["fingerprint"].string());
  };
  std::string differs;
  const auto compare = [&](const std::string& name) {
    const std::string then = said(began, name), here = said(now, name);
    if (then != here) differs += formatted("\n  {}: {}; now {}", name, then, here);
  };
  for (const auto& [name, facts] : began.members()) compare(name);
  for (const auto& [name, facts] : now.members())
    if (!began.has(name)) compare(name);
  MB_CHECK(differs.empty(),
           "{}: this run cannot go on, since it began with other files:{}\n  put back what it "
           "read, or begin a new run with another --out", folder, differs);
}

}  // namespace minbert
