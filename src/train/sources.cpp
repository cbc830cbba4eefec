// Which files a run reads, and whether they are still the same.
#include "train/sources.h"

#include <filesystem>

#include "engine/names.h"
#include "files/fingerprint.h"
#include "minbert/checkpoint.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "train/run_folder.h"

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

bool has_weights(const std::string& folder, const std::vector<std::string>& parts) {
  const std::string file = folder + "/model.safetensors";
  if (!fs::exists(file)) return false;              // loading says what to do
  const SafeTensors weights(file);
  for (const auto& [name, entry] : weights.entries())
    for (const std::string& part : parts)
      if (name.find(part) != name.npos) return true;
  return false;
}

Json sources_of(const std::map<std::string, std::string>& settings,
                const std::vector<std::string>& data_files) {
  Json sources = Json::object();
  // Files go by their names in the folder; by their own without one, and whole outside of it.
  const auto add = [&](const std::string& option, const std::vector<std::string>& files,
                       const fs::path& folder = {}) {
    for (const std::string& file : files) {
      if (!fs::is_regular_file(file)) continue;
      fs::path name = fs::path(file).filename();
      if (!folder.empty()) name = fs::absolute(file).lexically_relative(fs::absolute(folder));
      if (*name.begin() == "..") name = file;
      std::string key = option + " " + name.string();
      for (int same = 2; option != "--data" && sources.has(key); ++same)
        key = formatted("{} {} ({})", option, name.string(), same);
      const std::string fingerprint = file_fingerprint(file);
      sources.set(key, Json::object({{"bytes", file_size(file)}, {"fingerprint", fingerprint}}));
    }
  };
  for (const auto& [option, value] : settings) {
    if (option == "--data") {
      add(option, data_files, value);
    } else if (option == "--tasks") {               // some are files
      for (const std::string& task : split(value)) {
        const std::string in_data = settings.at("--data") + "/" + task;
        add(option, {fs::exists(in_data) ? in_data : task});
      }
    } else if (option == "--train" && value.starts_with("mask:")) {
      add(option, {value.substr(5)});
    } else if (option == "--config") {
      add(option, {value});
    } else if (std::ranges::count(place_options, option)) {
      if (fs::is_directory(value)) add(option, files_of_model(model_folder(value)));
      else add(option, split(value));
    }
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
