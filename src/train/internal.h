// What the files of src/train share among themselves.
#pragma once

#include "minbert/trainer.h"

namespace minbert {

std::vector<HeadSpec> heads_of(const std::vector<Task>& tasks);
std::unique_ptr<Model> new_model(const Experiment& experiment, const std::string& norm, uint64_t seed,
                                 bool report);

}  // namespace minbert
