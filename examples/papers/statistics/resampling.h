// How far a statistic of a set's rows is chance: the same of rows that are drawn from them again, with
// replacement (the bootstrap, Efron 1979). Their spread is that of the statistic over other sets of rows of
// the same kind.
//
//   const Json samples = resampled(x.rows(), {200, seed, "mrpc"}, [&](const auto& rows, int) {
//     return Statistics{{"largest", largest_of(index_select(x, rows))}};
//   });                                              // {"largest": [of the rows as they are, of sample 1, ...]}
//   add_samples(evidence, {"mrpc", "largest"}, samples["largest"].numbers());
#pragma once

#include <functional>
#include <map>
#include <string>

#include "report/long_table.h"

namespace minbert {

using Statistics = std::map<std::string, double>;   // by name; NaN: undefined
struct Resampling {
  int samples;                                      // 0: of the rows as they are alone
  uint64_t seed;
  std::string of;                                   // names the stream of random numbers
};

// The statistics of rows 0 .. N-1, which are sample 0, and of N rows drawn from them in each sample. An
// array for each name: a value a sample, null where it is undefined. Throws Interrupted.
using OfRows = std::function<Statistics(const std::vector<int32_t>& rows, int sample)>;
Json resampled(int64_t N, const Resampling& how, const OfRows& statistics);

// A row for each sample: the keys, its number and its value. A claim of kind measured takes them.
void add_samples(LongTable& evidence, Names keys, const Numbers& values);

}  // namespace minbert
