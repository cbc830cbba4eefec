// What needs no BERT, on the dev sets: the most frequent label of the training set for every example
// (of a similarity the mean), and regression on the counts of word pieces (bag_of_words.h).
#pragma once

#include "minbert/trainer.h"
#include "report/figure.h"

namespace minbert {

inline const Names yardstick_names = {"majority class", "word counts"};

// Their scores on a task's dev sets, in the order of the names; reads its files in the folder.
std::vector<TaskScores> yardsticks(const std::string& folder, const Task& task, const Tokenizer& tokenizer,
                                   const DatasetOptions& options, uint64_t seed, std::ostream& log);

// Those of all tasks of an experiment, from OUT/yardsticks.json where that is of the same data, else
// computed and written there: seconds. start: with_sources. Throws Interrupted.
std::vector<Scores> yardsticks_of(const Experiment& experiment, const Json& start);
// {"majority class": {"sst": {"accuracy": 0.26}, ...}, ...}
Json json_of(const Experiment& experiment, const std::vector<Scores>& yardsticks);

}  // namespace minbert
