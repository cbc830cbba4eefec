// Loading and saving the folder of a model.
#include "minbert/checkpoint.h"

#include <filesystem>
#include <iostream>
#include <set>

#include "bert/family.h"
#include "engine/names.h"
#include "engine/text.h"
#include "files/about.h"
#include "files/paths.h"
#include "minbert/files.h"
#include "minbert/shipped.h"

namespace minbert {
std::string model_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code none;
  std::vector<std::string> sites = {folder, folder + "/model"};
  if (const std::string list = folder + "/modules.json"; fs::exists(list, none))
    if (const Json::Array modules = Json::load(list).items(); !modules.empty())
      sites.push_back(folder + "/" + modules[0].get("path", std::string()));       // 0_Transformer
  for (const std::string& site : sites) {
    MB_CHECK(!fs::exists(site + "/adapter_config.json", none),
             "{}: adapter_config.json is there, and minbert reads no adapters; let peft merge it "
             "(merge_and_unload), or move it away",
             site);
    if (fs::exists(site + "/config.json", none)) return site;
  }
  MB_CHECK(!fs::is_regular_file(folder, none), "{}: this is a file; give its folder", folder);
  const std::string near = nearby(folder, [&](const std::string& other) {
    return fs::exists(other + "/config.json", none) ||
           fs::exists(other + "/model/config.json", none);
  });
  const std::string download = shell_word(shipped("data/download.sh"));
  fail(formatted("{}: {}; expected a Hugging Face folder (config.json, a vocabulary, "
                 "model.safetensors) or the folder of a run{}. `{} --list` names models that it "
                 "fetches to data/models, as by `{} bert-base-uncased`",
                 folder,
                 fs::exists(folder, none) ? "neither this folder nor its model/ has a config.json"
                                          : "there is no such folder",
                 near.empty() ? "" : ": " + near + " is there, give that", download, download));
}

WeightsReport load_all_layers(const std::string& folder, const BertConfig& saved,
                              const Parameters& parameters) {
  const WeightsReport report = load_weights(folder, parameters, &saved);
  const int layers = saved.num_hidden_layers;
  for (const std::string& name : report.unused)
    MB_CHECK(name.find(formatted("encoder.layer.{}.", layers)) == name.npos,
             "{}: {} is among the weights, but \"num_hidden_layers\" in config.json is {}; are the "
             "two files of one model?",
             folder, name, layers);
  for (const std::string& task : saved.tasks)
    for (const std::string& name : report.initialised)
      MB_CHECK(!name.starts_with("heads." + task + "."),
               "{}: {} is not among the weights, though config.json says that the model has the "
               "head of this task, in {}", folder, name,
               saved.is_foreign() ? "\"architectures\"" : "\"minbert.tasks\"");
  return report;
}

namespace {
std::string model_type_of(const Tokenizer& tokenizer) {
  return tokenizer.kind().name == "bpe" ? "roberta" : "bert";
}
}  // namespace

Tokenizer tokenizer_of(const std::string& folder, const BertConfig& config) {
  Tokenizer tokenizer = Tokenizer::from_folder(folder);
  MB_CHECK(
      tokenizer.size() <= config.vocab_size,
      "{} has {} tokens, but \"vocab_size\" in config.json is {}; are the two files of one model?",
      tokenizer.vocab_file(), tokenizer.size(), config.vocab_size);
  MB_CHECK(model_type_of(tokenizer) == config.model_type,
           "{}: \"model_type\" in config.json is {}, but {} is the vocabulary of a {}; here "
           "a bert has WordPiece (vocab.txt or tokenizer.json), a roberta has byte-level BPE "
           "(vocab.json and merges.txt, or tokenizer.json)",
           folder, config.loaded.find("model_type").dump(-1), tokenizer.vocab_file(),
           tokenizer.kind().model);
  return tokenizer;
}

BertConfig new_config(const std::string& name, const Tokenizer& tokenizer) {
  BertConfig config = BertConfig::named(name);
  const std::string wanted = model_type_of(tokenizer);
  MB_CHECK(
      config.model_type == wanted || config.model_type == "bert",
      "--config {}: \"model_type\" is \"{}\", but {} is the vocabulary of a {}; give --vocab a "
      "RoBERTa's folder, or {} --tokenizer bpe",
      name, config.model_type, tokenizer.vocab_file(), tokenizer.kind().model,
      command_of("pretrain"));
  if (config.model_type != wanted) config.set_family(wanted);
  const int before = config.first_position();
  config.pad_token_id = tokenizer.pad();
  config.max_position_embeddings += config.first_position() - before;
  config.vocab_size = tokenizer.size();
  config.tasks.clear();
  return config;
}

namespace {
std::string kept_head(const std::string& folder) { return folder + "/masked_words.safetensors"; }
}  // namespace

bool load_masked_word_head(const std::string& folder, const BertConfig& config,
                           const Parameters& head) {
  const bool kept = std::filesystem::exists(kept_head(folder));
  return load_weights(kept ? kept_head(folder) : folder, head, &config).initialised.empty();
}

void keep_masked_word_head(const std::string& from, const std::string& to) {
  const BertConfig config = BertConfig::load(from + "/config.json");
  const WithParameters<MaskedWordHead> head(config, 0, false);
  try {
    if (!load_masked_word_head(from, config, head.parameters)) return;
  } catch (const Error& e) {                       // fine-tuning goes on without it
    std::cerr << e.what() << "; this head stays behind\n";
    return;
  }
  make_folder(to);
  save_weights(kept_head(to), head.parameters, SafeTensorsWriter::As::f32, &config);
}

void print_report(std::ostream& out, const WeightsReport& report, const std::string& source) {
  out << source << ": " << report.loaded.size() << " tensors loaded";
  std::set<std::string> fresh;
  for (const std::string& name : report.initialised)
    if (const std::string kind = addition(name); !kind.empty()) fresh.insert(kind);
  if (!fresh.empty()) out << "; new: " << joined({fresh.begin(), fresh.end()});
  if (!report.unused.empty()) out << "\n  in the file, not used: " << joined(report.unused, " ", 6);
  out << '\n';
}

void save_model(const std::string& folder, const BertConfig& config, const Tokenizer& tokenizer,
                const Parameters& parameters, SafeTensorsWriter::As as) {
  make_folder(folder);
  save_weights(folder + "/model.safetensors", parameters, as, &config);
  config.save(folder + "/config.json");
  tokenizer.save(folder, std::min(config.max_length, config.max_tokens()));
}

}  // namespace minbert
