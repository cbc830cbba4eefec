// What the files of src/train share among themselves.
#pragma once

#include "minbert/trainer.h"

namespace minbert {

std::vector<HeadSpec> heads_of(const std::vector<Task>& tasks);
// The model to train: new, or from --model. with_values false: the state of a run follows, which holds every value.
std::unique_ptr<Model> new_model(const Experiment& experiment, const std::string& norm, uint64_t seed,
                                 bool with_values);

}  // namespace minbert
