// Reading modules.json and what it names.
#include "models/sentence_pooling.h"

#include <filesystem>

#include "minbert/checkpoint.h"
#include "minbert/error.h"
#include "minbert/json.h"

namespace minbert {

std::optional<SentencePooling> sentence_pooling(const std::string& folder) {
  const auto json = [&](const std::string& name) {
    return Json::load_if_there(folder + "/" + name);
  };
  const auto of_encoder = [&](const std::string& name) {     // it may lie in 0_Transformer/
    return Json::load_if_there(model_folder(folder) + "/" + name);
  };
  const auto check = [&](bool good, const std::string& file, const char* key, const auto& value) {
    MB_CHECK(good, "{}/{}: \"{}\" is {}, which is not supported here", folder, file, key, value);
  };
  const std::string list = "modules.json";
  if (!std::filesystem::exists(folder + "/" + list)) return std::nullopt;
  std::string modules, pooling;
  for (const Json& module : json(list).items()) {
    const std::string type = module["type"].string();
    modules += type.substr(type.rfind('.') + 1) + " ";
    if (modules == "Transformer Pooling ") pooling = module["path"].string() + "/config.json";
  }
  SentencePooling found;
  found.normalize = modules == "Transformer Pooling Normalize ";
  check(found.normalize || modules == "Transformer Pooling ", list, "type", modules);

  // "pooling_mode": "mean", or in older files "pooling_mode_mean_tokens": true
  const Json config = json(pooling);
  const std::string key = "pooling_mode";
  std::string mode = config.get(key, std::string());
  for (const auto& [name, value] : config.members())
    if (name.starts_with(key + "_") && value.boolean()) mode += name.substr(key.size() + 1);
  found.pool = mode.starts_with("cls") ? Pool::cls : Pool::mean;
  check(mode == "cls" || mode == "mean" || mode == "cls_token" || mode == "mean_tokens", pooling,
        "pooling_mode", mode);

  const Json settings = of_encoder("sentence_bert_config.json");
  const std::string prompts = "config_sentence_transformers.json";
  const std::string prompt = json(prompts).get("default_prompt_name", std::string());
  const bool lower = settings.get("do_lower_case", false);
  check(!lower, "sentence_bert_config.json", "do_lower_case", "true");
  check(prompt.empty(), prompts, "default_prompt_name", prompt);
  const double limit = of_encoder("tokenizer_config.json").get("model_max_length", 0.0);
  const double length = settings.get("max_seq_length", limit);
  if (length < 1e6) found.max_length = int(length);            // "model_max_length": 1e30 is none
  return found;
}

}  // namespace minbert
