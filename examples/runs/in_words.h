// A few predictions as people read them.
#pragma once

#include "minbert/trainer.h"

namespace minbert {

// What the model in the folder says of the first dev examples of each task, in words, beside their
// labels.
void print_in_words(const Experiment& experiment, const std::string& folder);

// Why the run ended and which epoch it kept.
void print_end(const Experiment& experiment, const RunResult& result, const std::string& folder);

// The commands that take the model of a run, or the best of several in the folder, on. exports:
// does `export` take it?
void print_commands(const Task& task, const std::string& folder, bool exports);

}  // namespace minbert
