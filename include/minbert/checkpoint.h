// Models in folders: a Hugging Face folder (config.json, the tokenizer's files, model.safetensors),
// or a run's with model/ in it.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "minbert/bert.h"
#include "minbert/config.h"
#include "minbert/module.h"
#include "minbert/safetensors.h"
#include "minbert/tokenizer.h"

namespace minbert {

// A network with its parameters. initialise false: values are loaded next. rest: further
// arguments of the network's constructor.
template <class Network>
struct WithParameters {
  template <class... Rest>
  WithParameters(const BertConfig& config, uint64_t seed, bool initialise, const Rest&... rest)
      : network(config, rest...),
        parameters(network, {seed, config.initializer_range, config.initialisation, initialise}) {}
  Network network;
  Parameters parameters;
};

// The folder itself, or a run's model/ in it. Error where neither has a config.json.
std::string model_folder(const std::string& folder);

// The vocabulary of a model's folder. Error where it has more tokens than its config.json says.
Tokenizer tokenizer_of(const std::string& folder, const BertConfig& config);
// BertConfig::named, with the tokenizer's vocabulary; byte-level BPE makes it a RoBERTa. Error for
// the config.json of a RoBERTa with a vocabulary of WordPiece.
BertConfig new_config(const std::string& name, const Tokenizer& tokenizer);

struct WeightsReport {
  std::vector<std::string> loaded, initialised;   // parameters and buffers: found; not in the file
  std::vector<std::string> unused;                // in the file only
};

// Fills the parameters from FOLDER/model.safetensors (or a .safetensors file) under Hugging Face's
// names: with or without `bert.`, LayerNorm.gamma/beta for weight/bias, F32, F16 or BF16.
// Embeddings and encoder are required; pooler, heads and additions of minbert (task parameters,
// norms of pre and normformer) may be missing and get their initial values.
// saved: the config.json that the weights were saved with; nullptr: a BERT's with our tasks. Its
// model_type and tasks decide the tensors' names (src/bert/family.h). The file's *.task_weight and
// task_bias [tasks,H] have rows for the first of our tasks; those of others start at 0. Error:
// file, name, both shapes.
WeightsReport load_weights(const std::string& path, const Parameters& parameters,
                           const BertConfig* saved = nullptr);
// .safetensors, atomically. config: the network's; nullptr: a BERT's. Error: a value too large for
// F16, if that is asked for.
void save_weights(const std::string& file, const Parameters& parameters,
                  SafeTensorsWriter::As as = SafeTensorsWriter::As::f32,
                  const BertConfig* config = nullptr);

// Fills the parameters from the folder's weights. saved: the folder's config.json. Errors: the
// weights have more layers than this says, or no head of a task that it lists.
WeightsReport load_all_layers(const std::string& folder, const BertConfig& saved,
                              const Parameters& parameters);

// The head for masked words of a model's folder: a pre-trained model has it among its weights, a
// fine-tuned one beside them, in masked_words.safetensors, which transformers leaves alone. config:
// the folder's. Is the head there, and whole?
bool load_masked_word_head(const std::string& folder, const BertConfig& config,
                           const Parameters& head);
// Fine-tuning does not use it: copies it from the folder that it starts from, if it is there, to
// that of the new model.
void keep_masked_word_head(const std::string& from, const std::string& to);

// Lists the tensors that were loaded, that got initial values, and that were left.
void print_report(std::ostream& out, const WeightsReport& report, const std::string& source);

// Writes a Hugging Face folder: config.json, the tokenizer's files, model.safetensors. config.json
// names the class of Hugging Face whose tensors these are, and the outputs of the head of one task.
void save_model(const std::string& folder, const BertConfig& config, const Tokenizer& tokenizer,
                const Parameters& parameters,
                SafeTensorsWriter::As as = SafeTensorsWriter::As::f32);

}  // namespace minbert
