// The folder of a sentence-transformers model: beside the BERT, modules.json and a folder a module.
#include <filesystem>

#include "engine/names.h"
#include "minbert/checkpoint.h"
#include "minbert/error.h"

namespace minbert {
namespace {

// "pooling_mode": "mean", or in older files "pooling_mode_mean_tokens": true
std::string pool_of(const Json& config, const std::string& file) {
  std::vector<std::string> modes;
  const std::string key = "pooling_mode", one = config.get(key, std::string());
  if (!one.empty()) modes = {one};
  else
    for (const auto& [name, value] : config.members())
      if (name.starts_with(key + "_") && value.boolean())
        modes.push_back(name.substr(key.size() + 1));
  const std::string mode = modes.empty() ? "mean" : joined(modes);
  for (const char* pool : {"mean", "cls"})
    if (mode == pool || mode == formatted("{}_token", pool) || mode == formatted("{}_tokens", pool))
      return pool;
  fail(formatted("{}: \"{}\" is {}; only mean and cls are supported here", file, key, mode));
}

}  // namespace

std::optional<SentencePooling> sentence_pooling(const std::string& folder) {
  const auto json = [&](const std::string& file) {
    return std::filesystem::exists(folder + "/" + file) ? Json::load(folder + "/" + file)
                                                        : Json::object();
  };
  const std::string modules = folder + "/modules.json";
  if (!std::filesystem::exists(modules)) return std::nullopt;
  const std::vector<std::string> expected = {"Transformer", "Pooling", "Normalize"};
  SentencePooling found;
  size_t count = 0;
  for (const Json& module : Json::load(modules).items()) {
    const std::string type = module["type"].string(), path = module["path"].string();
    const std::string name = type.substr(type.rfind('.') + 1);
    MB_CHECK(count < expected.size() && name == expected[count] && (count > 0 || path.empty()),
             "{}: module {} is {}, in the folder \"{}\"; expected {}, the first one in \"\"", modules,
             count, type, path, joined(expected));
    const std::string config = path + "/config.json";
    if (count == 1) found.pool = pool_of(json(config), folder + "/" + config);
    found.normalize = ++count == 3;
  }
  MB_CHECK(count >= 2, "{}: has {} modules; expected {}, the last of which may be missing", modules,
           count, joined(expected));
  const Json settings = json("sentence_bert_config.json");
  const Json prompts = json("config_sentence_transformers.json");
  const Json tokenizer = json("tokenizer_config.json");
  MB_CHECK(!settings.get("do_lower_case", false),
           "{}/sentence_bert_config.json: \"do_lower_case\" is true; only false is supported here",
           folder);
  MB_CHECK(prompts.get("default_prompt_name", std::string()).empty(),
           "{}/config_sentence_transformers.json: \"default_prompt_name\" is not null; minbert puts "
           "no prompt before a text",
           folder);
  const double length = settings.get("max_seq_length", tokenizer.get("model_max_length", 0.0));
  if (length < 1e6) found.max_length = int(length);            // "model_max_length": 1e30 is none
  return found;
}

}  // namespace minbert
