// Verdicts on a document's claims: each kind, by cases whose p is counted by hand, and by simulation of no effect.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "error_of.h"
#include "report/claims.h"
#include "report/significance.h"
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
const Claim helps = {.kind = Kind::difference, .more = {{"norm", "other"}}, .less = {{"norm", "none"}}};
Claim of_kind(Kind kind) {
  Claim claim = helps;
  claim.kind = kind;
  return claim;
}
std::string word(const LongTable& table) { return judge(helps, {table}).word; }

}  // namespace

TEST_CASE("statistics: the exact sign-flip test is the share of all signs; few pairs cannot be significant") {
  CHECK(sign_flip_p({1, 2, 3}) == doctest::Approx(0.25));
  CHECK(sign_flip_p({1, 1, 1, 1, 1, 1}) == doctest::Approx(2.0 / 64));
  CHECK(sign_flip_p({1, -1}) == doctest::Approx(1));
  CHECK(sign_flip_p({3, -1, 2}) == doctest::Approx(0.5));       // 3 - 1 + 2 = 4 and 6, and their negatives, of 8
  CHECK(sign_flip_p({-0.1, -0.2, -0.3}) == doctest::Approx(0.25));
  CHECK(sign_flip_p({0.1, 0.2, -0.3}) == 1);                    // a sum of 0, but for rounding
  Numbers shares, rounded;                                      // of 1101 rows: ties stay ties, however it is written
  for (const double k : {3, 1, 0, 1, 3, -1, 3, 2}) {
    shares.push_back(k / 1101);
    rounded.push_back(std::round(shares.back() * 1e9) / 1e9);
  }
  CHECK(sign_flip_p(shares) == sign_flip_p({3, 1, 0, 1, 3, -1, 3, 2}));
  CHECK(sign_flip_p(rounded) == sign_flip_p(shares));
  CHECK(least_sign_flip_p(3) == 0.25);
  CHECK(least_sign_flip_p(5) == 0.0625);
  CHECK(least_sign_flip_p(6) == 0.03125);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK_THROWS_AS(sign_flip_p({}), Error);
}

TEST_CASE("statistics: the exact interval of a share, Clopper and Pearson's") {
  const auto is = [](size_t n, size_t of, double low, double high) {
    const auto [a, b] = share_interval(n, of);
    CHECK(a == doctest::Approx(low).epsilon(1e-3));
    CHECK(b == doctest::Approx(high).epsilon(1e-3));
  };
  is(6, 6, 0.5407, 1);                              // (.025)^(1/6)
  is(0, 6, 0, 0.4593);
  is(5, 10, 0.1871, 0.8129);
  is(1, 2, 0.01258, 0.98742);
}

TEST_CASE("verdict: trained runs are compared over their seeds, two-sided; under six pairs no word has a color") {
  CHECK(word(trained({{.6, .6, .7, .6, .6, .6}})) == "supported");
  CHECK(word(trained({{.4, .4, .3, .4, .4, .4}})) == "contradicted");
  for (size_t n = 1; n < 6; ++n) {
    const Verdict few = judge(helps, {trained({std::vector<std::optional<double>>(n, .6)})});
    CHECK(few.word == "undecided");
    CHECK(contains(few.why, "too few to tell: mean difference 0.1000"));
    CHECK(few.by_chance == 0);
  }
  CHECK(word(trained({{.6, .6, .4, .6, .6, .6}})) == "undecided");          // p = 14/64
  CHECK(word(trained({{.5, .5, .5, .5, .5, .5}})) == "undecided");
  CHECK(word(LongTable({"norm", "seed", "score"})) == "not run");
  // A large part of many pairs is enough: 8 of 9 of one size, p = 2 (1 + 9) / 512
  CHECK(word(trained({{.6, .6, .6, .6, .6, .6, .6, .6, .4}})) == "supported");
}

TEST_CASE("verdict: a seed's tasks are one pair, and the tasks of one seed are none") {
  CHECK(judge(helps, {trained({{.6, .6, .6}, {.7, .7, .7}})}).pairs.size() == 3);
  const Verdict tasks = judge(helps, {trained({{.6}, {.7}, {.4}})});
  CHECK(tasks.word == "undecided");
  CHECK(contains(tasks.why, "1 seed, too few to tell: mean difference 0.0667"));
}

TEST_CASE("verdict: a run of one answer is named and not counted") {
  const Verdict six = judge(helps, {trained({{.6, std::nullopt, .6, .6, .6, .6, .6}})});
  CHECK(six.word == "supported");
  CHECK(contains(six.why, "6 of 6 seeds agree"));
  CHECK(contains(six.why, "since a loss is not finite or every input gets the same answer: seed 2 (other)"));
  CHECK(word(trained({{.6, std::nullopt, .6, .6, .6, .6}})) == "undecided");
  CHECK(contains(judge(helps, {trained({{std::nullopt}})}).why, "no seed is left"));
  // Of several tasks that one alone: the seed's other tasks count.
  const Verdict tasks = judge(helps, {trained({{.6, std::nullopt, .6, .6, .6, .6}, {.7, .7, .7, .7, .7, .7}})});
  CHECK(tasks.word == "supported");
  CHECK(tasks.pairs[1] == doctest::Approx(.2));
  CHECK(contains(tasks.why, "every input gets the same answer: seed 2 (a, other)"));
}

TEST_CASE("verdict: printed scores are paired by their tasks") {
  Claim printed = helps;
  printed.over = "task";
  const Verdict six = judge(printed, {trained({{.6}, {.7}, {.6}, {.6}, {.6}, {.6}})});
  CHECK(six.word == "supported");
  CHECK(contains(six.why, "6 of 6 tasks agree, mean difference 0.1167"));
  CHECK(contains(judge(printed, {trained({{.6}, {.7}})}).why, "2 tasks, too few to tell"));
}

TEST_CASE("verdict: where neither side is above the yardsticks by 2 standard errors, neither learned it") {
  LongTable yardsticks({"task", "what", "value"});
  yardsticks("a", "score") = .58, yardsticks("a", "error") = .02;
  const auto with = [&](double more) {
    return judge(helps, {trained({std::vector<std::optional<double>>(6, more)}), {}, yardsticks}).word;
  };
  CHECK(with(.6) == "neither learned it");
  CHECK(with(.63) == "supported");
  Claim about = of_kind(Kind::about);               // two that learned nothing are equal, which says nothing
  about.margin = 1;
  CHECK(judge(about, {trained({{.5, .5, .5, .5, .5, .5}}), {}, yardsticks}).word == "neither learned it");
  const LongTable one_learned = trained({{.7, .7, .7, .7, .7, .7}, {.1, .1, .1, .1, .1, .1}});
  LongTable both_tasks = yardsticks;
  both_tasks("b", "score") = .9, both_tasks("b", "error") = .02;
  CHECK(contains(judge(about, {one_learned, {100, 2, "%"}, both_tasks}).why, "; not counted, since neither"));
  yardsticks("b", "score") = .9, yardsticks("b", "error") = .02;
  CHECK(with(.6) == "neither learned it");          // "b" is a task that the claim is not about
  // Of two tasks the one that was learned counts, whatever the other says.
  const LongTable two_tasks = trained({{.63, .63, .63, .63, .63, .63}, {.1, .1, .1, .1, .1, .1}});
  const Verdict one = judge(helps, {two_tasks, {}, yardsticks});
  CHECK(one.word == "supported");
  CHECK(contains(one.why, "mean difference 0.1300"));
  CHECK(contains(one.why, "not counted, since neither side learned it beyond the yardsticks: b (of all the mean "
                          "difference is -0.1350)"));
}

TEST_CASE("verdict: the effect stands in the table's unit with its exact interval, beside the printed one") {
  const LongTable scores = trained({{.51, .52, .53, .54, .55, .56}});
  const Verdict verdict = judge(helps, {scores, {100, 2, "%"}});
  CHECK(verdict.why == "6 of 6 seeds agree, mean difference 3.50 % [1.00, 6.00]; p = 0.031");
  CHECK(verdict.by_chance == doctest::Approx(2.0 / 64));
  Claim printed = helps;
  printed.printed = 7;
  CHECK(contains(judge(printed, {scores, {100, 2, "%"}}).why, "; printed 7.00 %, ours 0.50 times that"));
  // What could have been seen: 1.8 deviations of six differences; of eight 1.19
  printed.printed = 1;
  const Verdict unclear = judge(printed, {trained({{.49, .52, .48, .54, .51, .50}}), {100, 2, "%"}});
  CHECK(unclear.word == "undecided");
  CHECK(contains(unclear.why, "6 pairs of this spread show 3.89 % in four of five cases, the printed effect needs 44"));
  CHECK_FALSE(contains(unclear.why, "outside"));
  CHECK(contains(judge(printed, {trained({{.49, .52, .48, .54}}), {100, 2, "%"}}).why,      // of fewer what six would
                 "mean difference 0.75 %; printed 1.00 %, ours 0.75 times that; 6 pairs of this spread"));
  printed.printed = 7;
  CHECK(contains(judge(printed, {trained({{.49, .52, .48, .54, .51, .50}}), {100, 2, "%"}}).why,
                 "ours 0.10 times that, which lies outside the interval"));
  // 7 differences: k = 3, the third of the 127 means of subsets from below and from above
  const auto [low, high] = sign_flip_interval({1, 2, 3, 4, 5, 6, 7});
  CHECK(low == 2);                                  // the means rise 1, (1+2)/2, 2
  CHECK(high == 6);
  Numbers many(20, 1.0);                            // above 16: 1.1 ± 2.12 of the mean's deviation
  many[0] = 3;
  const auto [from, to] = sign_flip_interval(many);
  CHECK(from == doctest::Approx(1.1 - 2.12 * std::sqrt(0.2) / std::sqrt(20.0)));
  CHECK(to == doctest::Approx(1.1 + 2.12 * std::sqrt(0.2) / std::sqrt(20.0)));
}

TEST_CASE("verdict: a fact is so in every case, or is not; what differs by rounding alone is equal") {
  LongTable table({"task", "norm", "ev"});
  for (const char* task : {"a", "b", "c", "d"}) {
    table.add({task, "other"}, .9);
    table.add({task, "none"}, .4);
  }
  const Claim fact = of_kind(Kind::fact);
  CHECK(judge(fact, {table}).word == "so");
  CHECK(judge(fact, {table}).why == "4 of 4 pairs of values, mean difference 0.5000");
  CHECK(judge(fact, {table}).by_chance == 0);
  table.add({"e", "other"}, .4 + 1e-15), table.add({"e", "none"}, .4);
  CHECK(judge(fact, {table}).word == "not so");
  CHECK(contains(judge(fact, {table}).why, "4 of 5 pairs"));
  CHECK_ERROR(judge({.kind = Kind::fact, .more = {{"colour", "x"}}}, {table}), "no column \"colour\"");
  const auto all = [&](double is) { return judge({.kind = Kind::fact, .all = {{"norm", "other"}, {"task", "a"}},
                                                  .is = is}, {table}); };
  CHECK(all(.9).word == "so");
  CHECK(all(.8).word == "not so");
}

TEST_CASE("verdict: a value is the printed one to the digits that are printed") {
  LongTable table({"what", "value"});
  table.add({"p"}, .56599421), table.add({"n"}, 51202);
  const auto equal = [&](const char* what, double p) {
    return judge({.kind = Kind::fact, .equal = {{{{"what", what}}, p, 5}, {{{"what", "n"}}, 51202, 0}}}, {table});
  };
  CHECK(equal("p", .56599).word == "so");
  CHECK(equal("p", .56598).word == "not so");
  CHECK(equal("p", .56598).why == "1 of 2 printed values is ours to the digit; 0.56599 instead of 0.56598");
  CHECK(equal("q", 1).word == "not run");
}

TEST_CASE("verdict: what is measured on rows has the interval of the rows drawn again") {
  LongTable table({"task", "norm", "sample", "ev"});
  const auto add = [&](int sample, double more) {
    table("a", "other", sample) = more, table("a", "none", sample) = .5;
  };
  add(0, .6);
  CHECK(judge(of_kind(Kind::measured), {table}).why == "the rows were not drawn again: difference 0.1000");
  for (int i = 1; i <= 200; ++i) add(i, i % 2 ? .58 : .62);       // deviation .02
  const Verdict clear = judge(of_kind(Kind::measured), {table});
  CHECK(clear.word == "supported");
  CHECK(clear.why == "difference 0.1000 [0.0607, 0.1393], over rows drawn again; of 0.6000 and 0.5000");
  LongTable nearer = table;                         // drawn rows have half of the effect, and some less than none
  for (int i = 201; i <= 420; ++i) nearer("a", "other", i) = i > 400 ? .49 : .55, nearer("a", "none", i) = .5;
  CHECK(judge(of_kind(Kind::measured), {nearer}).why.starts_with("difference 0.1000 [-0.0100, "));
  for (int i = 201; i <= 400; ++i) add(i, i % 2 ? .4 : .8);
  CHECK(judge(of_kind(Kind::measured), {table}).word == "undecided");
  CHECK(judge(of_kind(Kind::measured), {trained({{.6, .6, .6, .6, .6, .6}})}).word == "supported");     // by seeds
}

TEST_CASE("verdict: a claim on all runs says in how many, and names those that are otherwise; the worse half counts") {
  LongTable table({"norm", "rate", "seed", "converged"});
  for (int seed = 1; seed <= 6; ++seed)
    for (const int rate : {1, 2}) {
      const auto add = [&](const char* norm, int value) { table(norm, rate, seed) = value; };
      add("layer", 1);
      add("none", rate == 1);
      add("batch", 0);
    }
  const auto all = [&](const char* norm, double is = 1) { return Claim{.kind = Kind::for_all, .all = {{"norm", norm}},
                                                                       .is = is}; };
  CHECK(judge(all("layer"), {table}).word == "holds in all");
  CHECK(judge(all("layer"), {table}).why == "in 12 of 12 runs: of all such runs in 74 to 100 %");
  CHECK(judge(all("layer"), {table}).by_chance == 0);
  CHECK(judge(all("none"), {table}).word == "not for all");
  CHECK(judge(all("none"), {table}).why ==
        "in 6 of 12 runs: of all such runs in 21 to 79 %; not so: rate 2 seed 1, rate 2 seed 2, rate 2 seed 3, "
        "rate 2 seed 4, and 2 more");
  CHECK(judge(all("absent"), {table}).word == "not run");
  const auto both = [&](const Claim& a, const Claim& b) { return judge({.kind = Kind::both, .halves = {a, b}},
                                                                       {table}); };
  CHECK(both(all("layer"), all("batch", 0)).word == "holds in all");
  CHECK(both(all("layer"), all("layer", 0)).word == "not for all");
  CHECK(contains(both(all("layer"), all("none")).why, "holds in all: in 12 of 12 runs"));
}

TEST_CASE("verdict: about as large is an interval within the margin, beyond it, or neither") {
  const auto about = [](std::vector<std::optional<double>> more, double margin, bool one_sided = false) {
    Claim claim = of_kind(Kind::about);
    claim.margin = margin, claim.margin_is = "one point", claim.one_sided = one_sided;
    return judge(claim, {trained({std::move(more)}), {100, 2, "%"}});
  };
  CHECK(about({.502, .498, .505, .499, .501, .503}, 1).word == "about equal");
  CHECK(about({.53, .54, .55, .53, .52, .56}, 1).word == "differs");
  CHECK(about({.505, .512, .498, .503, .501, .502}, 1).word == "undecided");
  CHECK(about({.5, .5, .5}, 1).word == "undecided");
  CHECK(about(std::vector<std::optional<double>>(20, .501), 1).word == "about equal");
  CHECK(about({.43, .44, .45, .43, .42, .46}, 1).word == "differs");
  CHECK(about({.43, .44, .45, .43, .42, .46}, 1, true).word == "about equal");         // no advantage at all
  CHECK(about({.53, .54, .55, .53, .52, .56}, 1, true).word == "differs");
  CHECK(about({.53, .54, .55, .53, .52, .56},
              1).why == "mean difference 3.83 % [2.00, 6.00]; margin 1.00 %, one point");
}

TEST_CASE("verdict: a claim of data/papers has a kind, and what its kind is judged by") {
  const auto read = [](const char* text) { return claim_of(Json::parse(text, "claims")); };
  CHECK(read(R"({"kind": "for-all", "all": {"lr": "1"}, "is": 1})").kind == Kind::for_all);
  CHECK(*read(R"({"kind": "difference", "more": {"norm": "a"}, "less": {"norm": "b"}, "printed": 1.5})")
             .printed == 1.5);
  const char* by_model =
      R"({"kind": "difference", "more": {"norm": "a"}, "less": {"norm": "b"}, "printed": {"large": 2}})";
  CHECK(*claim_of(Json::parse(by_model, "claims"), "large").printed == 2);
  CHECK_FALSE(claim_of(Json::parse(by_model, "claims"), "small").printed);
  CHECK_ERROR(read(R"({"kind": "fuct", "all": {}})"), "a claim's kind: there is no \"fuct\"; valid are: fact, ");
  CHECK_ERROR(read(R"({"kind": "about", "more": {"norm": "a"}, "less": {"norm": "b"}})"),
              "of kind about lacks what it is judged by");
  CHECK_ERROR(read(R"({"kind": "both", "halves": []})"), "of kind both lacks");
}

// With no effect a word with a color, a false one, comes in at most 6 of 100 cases, for each kind and number of seeds.
TEST_CASE("verdict: with no effect chance colors at most six in a hundred, of each kind") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  const auto colored = [](const std::string& word) {
    const std::string style = std::ranges::find(verdict_words, word, &VerdictWord::word)->style;
    return style != "none";
  };
  const auto share = [&](int cases, const auto& one) {
    int count = 0;
    for (int i = 0; i < cases; ++i) count += colored(one());
    return double(count) / cases;
  };
  for (size_t n = 1; n <= 8; ++n) {
    CAPTURE(n);
    const auto seeds = [&](double effect) {
      LongTable table({"norm", "seed", "score"});
      for (size_t seed = 0; seed < n; ++seed) {
        const double common = normal(random);
        table("other", seed) = common + effect + normal(random), table("none", seed) = common;
      }
      return table;
    };
    CHECK(share(1500, [&] { return judge(helps, {seeds(0)}).word; }) <= 0.06);
    CHECK(share(1500, [&] { return judge(of_kind(Kind::measured), {seeds(0)}).word; }) <= 0.06);
    const auto at_margin = [&] {
      Claim claim = of_kind(Kind::about);
      claim.margin = 2;
      return judge(claim, {seeds(2)}).word;
    };
    CHECK(share(1500, at_margin) <= 0.06);
    const auto both = [&] { return judge({.kind = Kind::both, .halves = {helps, helps}}, {seeds(0)}).word; };
    CHECK(share(500, both) <= 0.06);
  }
  for (const int tasks : {2, 5}) {                  // also where yardsticks leave some of the tasks out
    LongTable yardsticks({"task", "what", "value"});
    for (int task = 0; task < tasks; ++task) yardsticks(task, "score") = .3, yardsticks(task, "error") = .05;
    const auto near_yardsticks = [&] {
      LongTable table({"task", "norm", "seed", "score"});
      for (int task = 0; task < tasks; ++task)
        for (int seed = 0; seed < 6; ++seed)
          for (const char* norm : {"other", "none"}) table(task, norm, seed) = normal(random);
      return judge(helps, {table, {}, yardsticks}).word;
    };
    CHECK(share(3000, near_yardsticks) <= 0.06);
  }
  const Claim of_mean = {.kind = Kind::measured, .more = {{"norm", "other"}}, .less_is = 0};
  const auto rows = [&] {                           // the mean of 60 rows, drawn again 200 times
    std::vector<double> values(60);
    for (double& v : values) v = normal(random);
    LongTable table({"norm", "sample", "mean"});
    for (int sample = 0; sample <= 200; ++sample) {
      double sum = 0;
      for (size_t i = 0; i < values.size(); ++i) sum += sample ? values[random() % values.size()] : values[i];
      table("other", sample) = sum / 60;
    }
    return judge(of_mean, {table}).word;
  };
  CHECK(share(4000, rows) <= 0.06);
  for (const size_t n : {6, 8, 12}) {               // what can be seen, in four of five cases
    const auto seen = [&] {
      LongTable table({"norm", "seed", "score"});
      for (size_t seed = 0; seed < n; ++seed) table("other", seed) = detectable(n) + normal(random),
          table("none", seed) = 0;
      return judge(helps, {table}).word;
    };
    CHECK(share(1000, seen) == doctest::Approx(0.8).epsilon(0.06));
  }
}

TEST_CASE("verdict: without samples the intervals are kept, and the words are the same") {
  LongTable table({"task", "norm", "sample", "ev"});
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, .01);
  for (const char* task : {"a", "b"})
    for (int sample = 0; sample <= 200; ++sample) {
      table(task, "other", sample) = .52 + (sample == 0 ? 0 : noise(random));
      table(task, "none", sample) = .50 + (sample == 0 ? 0 : noise(random));
    }
  Claim one = of_kind(Kind::measured), all = one;
  one.more["task"] = one.less["task"] = "a";
  const Evidence evidence{table, {100, 2, "%"}}, kept = without_samples(evidence, {one, all});
  CHECK(kept.values.rows().size() == 4);
  CHECK(kept.intervals.rows().size() == 4);
  for (const Claim& claim : {one, all}) {
    CHECK(judge(claim, kept).word == judge(claim, evidence).word);
    CHECK(judge(claim, kept).why == judge(claim, evidence).why);
  }
  CHECK(judge(all, without_samples(evidence, {one})).word == "undecided");      // its interval was not kept
  CHECK(comparison_of(one) == "norm=other|task=a > norm=none|task=a");
}

TEST_CASE("claims: of an item without values each is not run; one whose values lack what it is random in is an error") {
  const Paper paper("cln");
  const PaperItem& item = paper.item("rate");
  const Judging judging{true, true, false, true, "minBERT, with BERT-base's weights", {}};
  for (const Json& claim : judged_claims(item, judging, Evidence{LongTable({"value"})}).items())
    CHECK(claim["verdict"].string() == "not run");
  LongTable without_seeds({"setting", "task", "score"});
  without_seeds("layer", "sst") = .5;
  CHECK(contains(error_of([&] { judged_claims(item, judging, Evidence{without_seeds}); }), "have no column \"seed\""));
}

}  // namespace minbert::test
