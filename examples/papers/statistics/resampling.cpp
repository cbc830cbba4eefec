// Drawing rows again, and the statistics of each drawing.
#include "papers/statistics/resampling.h"

#include <numeric>

#include "minbert/random.h"
#include "train/interrupt.h"

namespace minbert {

Json resampled(int64_t N, const Resampling& how, const OfRows& statistics) {
  std::vector<int32_t> rows(static_cast<size_t>(N));
  std::iota(rows.begin(), rows.end(), 0);
  std::map<std::string, Numbers> all;
  for (int sample = 0; sample <= how.samples; ++sample) {
    Random random(how.seed, formatted("rows of {}, sample {}", how.of, sample));
    for (int32_t& row : rows)
      if (sample > 0) row = int32_t(random.below(uint64_t(N)));
    for (const auto& [name, value] : statistics(rows, sample)) {
      all[name].resize(size_t(sample), NAN);        // undefined in a sample before
      all[name].push_back(value);
    }
    check_interrupt();
  }
  Json json = Json::object();
  for (auto& [name, values] : all) {
    values.resize(size_t(how.samples) + 1, NAN);
    json.set(name, Json::array_of(values));
  }
  return json;
}

void add_samples(LongTable& evidence, Names keys, const Numbers& values) {
  keys.emplace_back();
  for (size_t sample = 0; sample < values.size(); ++sample) {
    keys.back() = std::to_string(sample);
    evidence.add(keys, finite(values[sample]));
  }
}

}  // namespace minbert
