// Weights in Hugging Face's files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/module.h"
#include "minbert/safetensors_writer.h"

namespace minbert {

struct WeightsReport {
  std::vector<std::string> loaded, initialised;   // parameters and buffers: found; not in the file
  std::vector<std::string> unused;                // in the file only
};

// Fills the parameters from FOLDER/model.safetensors (or a .safetensors file) under Hugging Face's
// names: with or without `bert.`, LayerNorm.gamma/beta for weight/bias, F32, F16 or BF16.
// Embeddings and encoder are required; pooler, heads and additions of minbert (task parameters,
// norms of pre and normformer) may be missing and get their initial values.
// saved: the weights' config.json; nullptr: a BERT's with our tasks. Its model_type and tasks say
// the names (family.h), and the file's *.task_weight and task_bias [tasks,H] have rows for the
// first of our tasks; the rows of others start at 0. Error: file, name, both shapes.
WeightsReport load_weights(const std::string& path, const Parameters& parameters,
                           const BertConfig* saved = nullptr);
// .safetensors, atomically. config: the network's; nullptr: a BERT's. Error: a value too large for
// F16, if that is asked for.
void save_weights(const std::string& file, const Parameters& parameters,
                  SafeTensorsWriter::As as = SafeTensorsWriter::As::f32,
                  const BertConfig* config = nullptr);

}  // namespace minbert
