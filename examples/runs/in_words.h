// A few predictions as people read them.
#pragma once

#include "minbert/trainer.h"

namespace minbert {

// What the model in the folder says of the first dev examples of each task, in words, beside their
// labels.
void print_in_words(const Experiment& experiment, const std::string& folder);

}  // namespace minbert
