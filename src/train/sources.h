// The files that a run reads: they stand in its state, and it goes on with these alone.
//
//   {"--data ids-sst-train.csv": {"bytes": 5120, "fingerprint": "0123456789abcdef"},
//    "--model vocab.txt": ...}
#pragma once

#include <map>
#include <string>
#include <vector>

#include "minbert/json.h"

namespace minbert {

// The options that say where files lie. A resumed run may get others: its state knows the files.
inline const std::vector<std::string> place_options = {"--data", "--model", "--corpus", "--init",
                                                       "--vocab"};

// settings: options by name, as of settings_of(); data_files: in the folder --data
Json sources_of(const std::map<std::string, std::string>& settings,
                const std::vector<std::string>& data_files = {});

// The files of a model's folder on which its results depend, those that are there
std::vector<std::string> files_of_model(const std::string& folder);

// Is one of these parts found in the name of a tensor of the folder's model.safetensors?
bool has_weights(const std::string& folder, const std::vector<std::string>& parts);

// Error where a file is not what it was when the run in the folder began: names each. Nothing to do
// where no state is saved.
void check_sources(const std::string& folder, const Json& now);

}  // namespace minbert
