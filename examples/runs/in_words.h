// A few predictions as people read them.
#pragma once

#include "minbert/trainer.h"

namespace minbert {

// What the model in the folder says of the first dev examples of each task, in words, beside their
// labels.
void print_in_words(const Experiment& experiment, const std::string& folder);

// Why the run ended and which epoch it kept; and the commands that take its model on. exports: does
// `export` take it?
void print_end(const Experiment& experiment, const RunResult& result, const std::string& folder,
               bool exports);

}  // namespace minbert
