// Rows drawn again: what they are, and that a statistic of noise gets no color from them.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "gradcheck.h"
#include "minbert/metrics.h"
#include "minbert/ops.h"
#include "minbert/random.h"
#include "papers/statistics/class_moments.h"
#include "papers/statistics/resampling.h"
#include "papers/ta/task_adaptation.h"

namespace minbert::test {
namespace {

Numbers normal_values(const std::string& stream, size_t n) {
  Random random(5, stream);
  Numbers values;
  while (values.size() < n) values.push_back(random.normal());
  return values;
}

// Evidence of TA's fig.3: N rows of H dimensions whose deviations differ, and classes that have nothing to do with them
// but for `telling`, by which the dimensions that vary most tell the classes apart.
LongTable of_rows(int number, double telling) {
  constexpr int64_t N = 150, H = 24;
  std::vector<real> values;
  const Numbers noise = normal_values(formatted("noise {}", number), size_t(N * H));
  Numbers labels;
  for (size_t i = 0; i < size_t(N); ++i) {
    labels.push_back(double(i % 2));
    for (size_t j = 0; j < size_t(H); ++j)
      values.push_back(real(std::pow(1.15, double(j)) * (noise[i * H + j] + telling * double(j) / H * labels[i])));
  }
  const Tensor x = Tensor::from({N, H}, values, Device::cpu);
  const Json samples = resampled(N, {200, 1, formatted("{}", number)}, [&](const std::vector<int32_t>& rows, int) {
    Numbers of_drawn;
    for (const int32_t row : rows) of_drawn.push_back(labels[size_t(row)]);
    const ClassMoments moments = class_moments(index_select(x, rows), of_drawn, 2);
    return deviation_statistics(moments.score, moments.deviation, size_t(H) - 1);
  });
  LongTable evidence({"task", "what", "sample", "value"});
  add_samples(evidence, {"rte", "rank correlation"}, samples["rank correlation"].numbers());
  return evidence;
}
const Claim tells_more = {.kind = Kind::measured, .more = {{"what", "rank correlation"}}, .less_is = 0};

}  // namespace

TEST_CASE("resampling: sample 0 has the rows as they are; the others repeat bit for bit, and each is of its own seed") {
  const auto drawn = [](uint64_t seed, const char* of) {
    std::vector<std::vector<int32_t>> all;
    resampled(50, {3, seed, of}, [&](const std::vector<int32_t>& rows, int sample) {
      CHECK(size_t(sample) == all.size());
      all.push_back(rows);
      return Statistics();
    });
    return all;
  };
  const auto rows = drawn(1, "mrpc");
  REQUIRE(rows.size() == 4);
  std::vector<int32_t> all(50);
  std::iota(all.begin(), all.end(), 0);
  CHECK(rows[0] == all);
  for (size_t s = 1; s < 4; ++s) {
    CHECK(rows[s].size() == 50);
    for (const int32_t row : rows[s]) CHECK((row >= 0 && row < 50));
    CHECK(rows[s] != rows[s - 1]);
  }
  CHECK(drawn(1, "mrpc") == rows);
  CHECK(drawn(2, "mrpc")[1] != rows[1]);
  CHECK(drawn(1, "rte")[1] != rows[1]);
}

TEST_CASE("resampling: the spread of a mean is that of the rows divided by the root of their number") {
  const Numbers values = normal_values("rows", 400);
  const Json samples = resampled(400, {400, 1, "mean"}, [&](const std::vector<int32_t>& rows, int sample) {
    double sum = 0;
    for (const int32_t row : rows) sum += values[size_t(row)];
    Statistics all = {{"mean", sum / 400}};
    if (sample % 2) all["odd"] = sample;            // undefined in the others
    return all;
  });
  Numbers means = samples["mean"].numbers();
  CHECK(means[0] == doctest::Approx(summarize(values).mean));
  means.erase(means.begin());
  CHECK(summarize(means).deviation == doctest::Approx(summarize(values).deviation / 20).epsilon(0.1));
  LongTable evidence({"what", "sample", "value"});
  add_samples(evidence, {"odd"}, samples["odd"].numbers());
  CHECK(evidence.rows().size() == 401);
  CHECK_FALSE(evidence.rows()[0].value);
  CHECK(evidence.values({{"sample", "399"}}) == Numbers{399});
  CHECK_FALSE(evidence.rows()[400].value);
}

TEST_CASE("resampling: a rank correlation of noise is undecided, one that is there is supported [TA fig.3]") {
  int colored = 0;
  for (int number = 0; number < 40; ++number) colored += judge(tells_more, {of_rows(number, 0)}).word != "undecided";
  CHECK(colored <= 5);
  for (int number = 0; number < 5; ++number) CHECK(judge(tells_more, {of_rows(number, 2)}).word == "supported");
}

}  // namespace minbert::test
