// Verdicts on claims, and the exact test that they rest on.
#include "report/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/text.h"
#include "report/html.h"

namespace minbert {
namespace {

constexpr double rounding = 1e-12;                  // of a sum, beside the sum of the sizes
constexpr double level = 0.05;

double sum_of(const Numbers& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double mean_of(const Numbers& v) { return sum_of(v) / double(v.size()); }
double size_of(const Numbers& v) {
  return std::accumulate(v.begin(), v.end(), 0.0,
                         [](double sum, double x) { return sum + std::abs(x); });
}

bool has_seeds(const LongTable& ours) { return std::ranges::count(ours.columns(), "seed") > 0; }

// A claim's differences, and of which seed and which task each is.
struct Pair {
  std::string seed, task;
  std::optional<double> difference;                 // none: one of its two values is undefined
};

std::vector<Pair> pairs_of(const Claim& claim, const LongTable& ours) {
  const Names& columns = ours.columns();
  std::vector<Pair> pairs;
  for (const LongTable::Row& row : ours.rows()) {
    if (!ours.matches(row, claim.more)) continue;
    LongTable::Where other;
    Pair pair;
    for (size_t c = 0; c + 1 < columns.size(); ++c) {
      if (columns[c] == "seed") pair.seed = row.keys[c];
      if (columns[c] == "task") pair.task = row.keys[c];
      const auto less = claim.less.find(columns[c]);
      other[columns[c]] = less == claim.less.end() ? row.keys[c] : less->second;
    }
    for (const LongTable::Row& less : ours.rows()) {
      if (!ours.matches(less, other)) continue;
      pair.difference.reset();
      if (row.value && less.value) pair.difference = *row.value - *less.value;
      pairs.push_back(pair);
    }
  }
  return pairs;
}

// The mean difference of each seed, or of each task.
Numbers means_by(const std::vector<Pair>& pairs, std::string Pair::*name) {
  std::map<std::string, Numbers> all;
  for (const Pair& pair : pairs) all[pair.*name].push_back(*pair.difference);
  Numbers means;
  for (const auto& [group, differences] : all) means.push_back(mean_of(differences));
  return means;
}

// "2 of 6 seeds"
std::string share(size_t n, const Numbers& all, const std::string& what) {
  return formatted("{} of {}", n, counted(int64_t(all.size()), what));
}

Verdict fact(Numbers differences, const Unit& unit) {
  const auto above = size_t(std::ranges::count_if(differences, [](double d) { return d > 0; }));
  const bool all = above == differences.size();
  std::string why = share(above, differences, "pair") + " of values";
  why += formatted(", {}difference {}{}", differences.size() > 1 ? "mean " : "",
                   fixed(mean_of(differences), unit.digits), element(" {}", unit.name));
  return {all ? "as printed" : "not as printed", why, differences};
}

Verdict comparison(const Numbers& differences, double p, const std::string& what,
                   const std::string& effect) {
  const size_t n = differences.size();
  const double sum = sum_of(differences);
  const auto with = size_t(std::ranges::count_if(differences, [](double d) { return d > 0; }));
  const auto against = size_t(std::ranges::count_if(differences, [](double d) { return d < 0; }));
  const double least = least_sign_flip_p(n);
  std::string why = share(with, differences, what) + (with == 1 ? " agrees" : " agree") + effect;
  why += formatted("; p = {}", fixed(p, 3));
  if (least > level) why += formatted(", and {} can give no less than {}",
                                      counted(int64_t(n), what), fixed(least, 3));
  Verdict verdict{"undecided", why, differences};
  if (least <= level) verdict.by_chance = std::floor(level / least + rounding) * least;
  const bool decided = n > 1 && std::abs(sum) > rounding * size_of(differences);
  if (decided && p <= level) verdict.word = sum > 0 ? "supported" : "contradicted";
  else if (n > 1 && with == n) verdict.word = "points that way";
  else if (n > 1 && against == n) verdict.word = "points the other way";
  return verdict;
}

// " [0.1, 0.3]", or nothing of too few or too many
std::string interval_text(const Numbers& differences, const Unit& unit) {
  if (differences.size() < 6 || differences.size() > 16) return "";
  const auto [low, high] = sign_flip_interval(differences);
  return formatted(" [{}, {}]", fixed(low, unit.digits), fixed(high, unit.digits));
}

// Of differences by seed or by task
Verdict comparison(const Numbers& differences, const std::string& what, const Unit& unit) {
  const std::string effect =
      formatted(", mean difference {}{}{}", fixed(mean_of(differences), unit.digits),
                element(" {}", unit.name), interval_text(differences, unit));
  return comparison(differences, sign_flip_p(differences), what, effect);
}

}  // namespace

Verdict about_equal(const Verdict& verdict, const Unit& unit) {
  const Numbers& differences = verdict.pairs;
  if (differences.empty()) return verdict;
  return {"not comparable",
          formatted("the document says no margin; the difference is {}{}{}",
                    fixed(mean_of(differences), unit.digits), interval_text(differences, unit),
                    element(" {}", unit.name)),
          differences};
}

Verdict judge(const Claim& claim, const LongTable& ours, const Unit& unit) {
  std::vector<Pair> pairs = pairs_of(claim, ours);
  if (pairs.empty()) return {"not run", "these values were not computed"};
  const auto undefined = std::ranges::count_if(pairs, [](const Pair& p) { return !p.difference; });
  if (undefined > 0)
    return {"undecided", formatted("{} of {} values are undefined: a model gives every input the "
                                   "same answer", undefined, pairs.size())};
  for (Pair& pair : pairs) *pair.difference *= unit.factor;
  if (!has_seeds(ours)) {
    Numbers all;
    for (const Pair& pair : pairs) all.push_back(*pair.difference);
    return fact(all, unit);
  }
  const Numbers seeds = means_by(pairs, &Pair::seed);
  if (seeds.size() > 1) return comparison(seeds, "seed", unit);
  const Numbers tasks = means_by(pairs, &Pair::task);
  if (tasks.size() > 1) return comparison(tasks, "task", unit);
  return {"undecided", formatted("one seed: difference {}{}", fixed(seeds[0], unit.digits),
                                 element(" {}", unit.name)), seeds};
}

Verdict judge_all(const LongTable::Where& where, double value, const LongTable& ours) {
  const size_t seed_column = size_t(std::ranges::find(ours.columns(), "seed") - ours.columns().begin());
  std::map<std::string, double> seeds;              // 1: each of the seed's values is as said
  const Numbers values = ours.values(where);
  for (const LongTable::Row& row : ours.rows()) {
    if (!row.value || !ours.matches(row, where)) continue;
    double& sign = seeds.try_emplace(has_seeds(ours) ? row.keys[seed_column] : "", 1).first->second;
    if (*row.value != value) sign = -1;
  }
  if (values.empty()) return {"not run", "these values were not computed"};
  Numbers signs;
  for (const auto& [seed, sign] : seeds) signs.push_back(sign);
  const auto as_said = size_t(std::ranges::count(values, value));
  const std::string why = share(as_said, values, has_seeds(ours) ? "run" : "value") +
                          (as_said == 1 ? " is" : " are") + " as it says";
  if (!has_seeds(ours)) return {as_said == values.size() ? "as printed" : "not as printed", why};
  if (signs.size() == 1) return {"undecided", "one seed: " + why, signs};
  return comparison(signs, sign_flip_p(signs), "seed", "; " + why);
}

Verdict judge_equal(const std::vector<Equal>& values, const LongTable& ours) {
  size_t as_printed = 0;
  std::string others;
  for (const auto& [at, printed, digits] : values) {
    const Numbers found = ours.values(at);
    if (found.size() != 1) return {"not run", "these values were not computed"};
    if (fixed(found[0], digits) == fixed(printed, digits)) ++as_printed;
    else others += formatted("; {} instead of {}", fixed(found[0], digits), fixed(printed, digits));
  }
  return {as_printed == values.size() ? "as printed" : "not as printed",
          formatted("{} of {} are the printed ones, to the digit{}", as_printed,
                    counted(int64_t(values.size()), "value"), others)};
}

// ---- The test

double sign_flip_p(const Numbers& d) {
  MB_CHECK(!d.empty() && d.size() <= 24, "sign_flip_p: {} differences; expected 1 to 24", d.size());
  const double sum = sum_of(d), size = size_of(d);
  const size_t ways = size_t(1) << d.size();
  size_t as_far = 0;
  for (size_t signs = 0; signs < ways; ++signs) {
    double flipped = 0;
    for (size_t i = 0; i < d.size(); ++i) flipped += signs >> i & 1 ? -d[i] : d[i];
    as_far += std::abs(flipped) >= std::abs(sum) - rounding * size;
  }
  return double(as_far) / double(ways);
}

double least_sign_flip_p(size_t n) { return std::min(1.0, 2 / std::pow(2, double(n))); }

std::pair<double, double> sign_flip_interval(const Numbers& d) {
  MB_CHECK(d.size() >= 6 && d.size() <= 16, "sign_flip_interval: {} differences; expected 6 to 16",
           d.size());
  Numbers means;
  for (size_t subset = 1; subset < size_t(1) << d.size(); ++subset) {
    Numbers part;
    for (size_t i = 0; i < d.size(); ++i)
      if (subset >> i & 1) part.push_back(d[i]);
    means.push_back(mean_of(part));
  }
  std::ranges::sort(means);
  const auto k = size_t(level / 2 * double(means.size() + 1));         // 1 of 6 differences
  return {means[k - 1], means[means.size() - k]};
}

}  // namespace minbert
