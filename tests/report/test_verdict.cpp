// Verdicts on a document's claims: each word of the list, by cases whose p is counted by hand.
#include <doctest/doctest.h>

#include "error_of.h"
#include "report/verdict.h"

namespace minbert::test {
namespace {

// Scores of two methods, a value for each seed and task; none: undefined.
LongTable trained(const std::vector<std::vector<std::optional<double>>>& more_by_task, double less = 0.5) {
  LongTable table({"task", "norm", "seed", "score"});
  for (size_t task = 0; task < more_by_task.size(); ++task)
    for (size_t seed = 0; seed < more_by_task[task].size(); ++seed) {
      const std::string name(1, char('a' + task)), number = std::to_string(seed + 1);
      table.add({name, "other", number}, more_by_task[task][seed]);
      table.add({name, "none", number}, less);
    }
  return table;
}
const Claim helps = {"tab.1", "it helps", {{"norm", "other"}}, {{"norm", "none"}}};
std::string word(const LongTable& table) { return judge(helps, table).word; }

}  // namespace

TEST_CASE("statistics: the exact sign-flip test is the share of all signs; few pairs cannot be significant") {
  CHECK(sign_flip_p({1, 2, 3}) == doctest::Approx(0.25));
  CHECK(sign_flip_p({1, 1, 1, 1, 1, 1}) == doctest::Approx(2.0 / 64));
  CHECK(sign_flip_p({1, -1}) == doctest::Approx(1));
  CHECK(sign_flip_p({3, -1, 2}) == doctest::Approx(0.5));       // 3 - 1 + 2 = 4 and 6, and their negatives, of 8
  CHECK(sign_flip_p({-0.1, -0.2, -0.3}) == doctest::Approx(0.25));
  CHECK(sign_flip_p({0.1, 0.2, -0.3}) == 1);                    // a sum of 0, but for rounding
  CHECK(least_sign_flip_p(3) == 0.25);
  CHECK(least_sign_flip_p(5) == 0.0625);
  CHECK(least_sign_flip_p(6) == 0.03125);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK_THROWS_AS(sign_flip_p({}), Error);
}

TEST_CASE("verdict: trained runs are compared over their seeds, two-sided") {
  CHECK(word(trained({{.6, .6, .7, .6, .6, .6}})) == "supported");
  CHECK(word(trained({{.4, .4, .3, .4, .4, .4}})) == "contradicted");
  CHECK(word(trained({{.6, .6, .6, .6, .6}})) == "points that way");        // 5 pairs: p = .0625
  CHECK(word(trained({{.4, .4, .4}})) == "points the other way");
  CHECK(word(trained({{.6, .6, .4, .6, .6, .6}})) == "undecided");          // p = 14/64
  CHECK(word(trained({{.6, .5, .6}})) == "undecided");                      // a tie
  CHECK(word(trained({{.5, .5, .5, .5, .5, .5}})) == "undecided");
  CHECK(word(trained({{.6}})) == "undecided");                              // one pair
  CHECK(word(trained({{.6, std::nullopt, .6}})) == "undecided");            // a collapsed model
  CHECK(word(LongTable({"norm", "seed", "score"})) == "not run");
  // A large part of many pairs is enough: 8 of 9 of one size, p = 2 (1 + 9) / 512
  CHECK(word(trained({{.6, .6, .6, .6, .6, .6, .6, .6, .4}})) == "supported");
}

TEST_CASE("verdict: a seed's tasks are one pair; of one seed the tasks are the pairs") {
  CHECK(judge(helps, trained({{.6, .6, .6}, {.7, .7, .7}})).pairs.size() == 3);
  const Verdict tasks = judge(helps, trained({{.6}, {.7}, {.4}}));
  CHECK(tasks.word == "undecided");
  CHECK(tasks.pairs.size() == 3);
  CHECK(contains(tasks.why, "2 of 3 tasks agree, mean difference 0.0667; p = "));
}

TEST_CASE("verdict: what is computed without a seed is as printed in every case, or is not") {
  LongTable table({"task", "norm", "ev"});
  for (const char* task : {"a", "b", "c", "d"}) {
    table.add({task, "other"}, .9);
    table.add({task, "none"}, .4);
  }
  const Verdict all = judge(helps, table);
  CHECK(all.word == "as printed");
  CHECK(all.why == "4 of 4 pairs of values, mean difference 0.5000");
  CHECK(all.by_chance == 0);
  table.add({"e", "other"}, .4), table.add({"e", "none"}, .4);
  CHECK(judge(helps, table).word == "not as printed");
  CHECK(contains(judge(helps, table).why, "4 of 5 pairs"));
  CHECK_ERROR(judge({"", "", {{"colour", "x"}}, {}}, table), "no column \"colour\"");
}

TEST_CASE("verdict: a value is the printed one to the digits that are printed") {
  LongTable table({"what", "value"});
  table.add({"p"}, .56599421), table.add({"n"}, 51202);
  CHECK(judge_equal({{{{"what", "p"}}, .56599, 5}, {{{"what", "n"}}, 51202, 0}}, table).word == "as printed");
  const Verdict other = judge_equal({{{{"what", "p"}}, .56598, 5}, {{{"what", "n"}}, 51202, 0}}, table);
  CHECK(other.word == "not as printed");
  CHECK(other.why == "1 of 2 values are the printed ones, to the digit; 0.56599 instead of 0.56598");
  CHECK(judge_equal({{{{"what", "q"}}, 1, 0}}, table).word == "not run");
}

TEST_CASE("verdict: of a claim about all runs a seed counts 1 if each of its runs is as it says, or else -1") {
  LongTable table({"norm", "rate", "seed", "converged"});
  for (int seed = 1; seed <= 8; ++seed)
    for (const int rate : {1, 2}) {
      const auto add = [&](const char* norm, int value) {
        table.add({norm, std::to_string(rate), std::to_string(seed)}, value);
      };
      add("layer", 1);
      add("none", rate == 1);
      add("batch", seed % 2);
      if (seed <= 3) add("rms", 1);
      if (seed == 1) add("once", 1);
    }
  const auto converges = [&](const char* norm) { return judge_all({{"norm", norm}}, 1, table); };
  CHECK(converges("layer").word == "supported");
  CHECK(converges("layer").why == "8 of 8 seeds agree; 16 of 16 runs are as it says; p = 0.008");
  CHECK(converges("none").word == "contradicted");
  CHECK(converges("none").why == "0 of 8 seeds agree; 8 of 16 runs are as it says; p = 0.008");
  CHECK(converges("batch").word == "undecided");
  CHECK(converges("rms").word == "points that way");
  CHECK(converges("once").word == "undecided");
  CHECK(converges("once").why == "one seed: 2 of 2 runs are as it says");
  CHECK(converges("absent").word == "not run");
}

TEST_CASE("verdict: the effect stands in the table's unit with its exact interval; chance is counted") {
  const Verdict verdict = judge(helps, trained({{.51, .52, .53, .54, .55, .56}}), {100, 2, "%"});
  CHECK(verdict.why == "6 of 6 seeds agree, mean difference 3.50 % [1.00, 6.00]; p = 0.031");
  CHECK(verdict.by_chance == doctest::Approx(2.0 / 64));
  CHECK(judge(helps, trained({{.6, .6, .6}})).by_chance == 0);              // 3 pairs can never be significant
  // 7 differences: k = 3, the third of the 127 means of subsets from below and from above
  const auto [low, high] = sign_flip_interval({1, 2, 3, 4, 5, 6, 7});
  CHECK(low == 2);                                  // the means rise 1, (1+2)/2, 2
  CHECK(high == 6);
}

}  // namespace minbert::test
