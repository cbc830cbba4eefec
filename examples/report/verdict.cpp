// Verdicts on claims, kind by kind, and the tests that they rest on.
#include "report/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/choice.h"
#include "minbert/metrics.h"
#include "report/html.h"

namespace minbert {
namespace {

// What two values of one quantity may differ by and be equal, of their size.
constexpr double rounding = 1e-6;
constexpr double level = 0.05;
constexpr size_t fewest = 6;                        // pairs of which p can be below the level

double sum_of(const Numbers& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double mean_of(const Numbers& v) { return sum_of(v) / double(v.size()); }
double size_of(const Numbers& v) {
  return std::accumulate(v.begin(), v.end(), 0.0, [](double sum, double x) { return sum + std::abs(x); });
}
bool has_column(const LongTable& table, const char* name) { return std::ranges::count(table.columns(), name) > 0; }

// A claim's two values, and of which seed, sample and task they are.
struct Pair {
  std::string of, task;                             // of: the seed (claim.over) or the sample
  std::optional<double> more, less;
};

std::vector<Pair> pairs_of(const Claim& claim, const LongTable& ours) {
  const Names& columns = ours.columns();
  std::vector<Pair> pairs;
  for (const LongTable::Row& row : ours.rows()) {
    if (!ours.matches(row, claim.more)) continue;
    LongTable::Where other;
    Pair pair;
    for (size_t c = 0; c + 1 < columns.size(); ++c) {
      if (columns[c] == claim.over || columns[c] == "sample") pair.of = row.keys[c];
      if (columns[c] == "task") pair.task = row.keys[c];
      const auto less = claim.less.find(columns[c]);
      other[columns[c]] = less == claim.less.end() ? row.keys[c] : less->second;
    }
    for (const LongTable::Row& less : ours.rows()) {
      if (!ours.matches(less, other)) continue;
      pair.more = row.value, pair.less = less.value;
      pairs.push_back(pair);
    }
  }
  return pairs;
}

// The mean difference of each seed or sample, in the unit that is shown.
std::vector<std::pair<std::string, double>> differences_of(const std::vector<Pair>& pairs, const Unit& unit) {
  std::vector<std::pair<std::string, Numbers>> all;
  for (const Pair& pair : pairs) {
    auto at = std::ranges::find(all, pair.of, &std::pair<std::string, Numbers>::first);
    if (at == all.end()) at = all.insert(at, {pair.of, {}});
    at->second.push_back(unit.factor * (*pair.more - *pair.less));
  }
  std::vector<std::pair<std::string, double>> means;
  for (const auto& [of, differences] : all) means.push_back({of, mean_of(differences)});
  return means;
}

std::string shown(double value, const Unit& unit) { return fixed(value, unit.digits) + element(" {}", unit.name); }
std::string interval_text(double low, double high, const Unit& unit) {
  return formatted("[{}, {}]", fixed(low, unit.digits), fixed(high, unit.digits));
}

const Verdict no_values = {"not run", "these values were not computed"};

// ---- Facts

Verdict fact_equal(const Claim& claim, const LongTable& ours) {
  size_t as_printed = 0;
  std::string others;
  for (const auto& [at, printed, digits] : claim.equal) {
    const Numbers found = ours.values(at);
    if (found.size() != 1) return no_values;
    if (fixed(found[0], digits) == fixed(printed, digits)) ++as_printed;
    else others += formatted("; {} instead of {}", fixed(found[0], digits), fixed(printed, digits));
  }
  const size_t n = claim.equal.size();
  return {as_printed == n ? "so" : "not so",
          formatted("{} of {} {} to the digit{}", as_printed, counted(int64_t(n), "printed value"),
                    as_printed == 1 ? "is ours" : "are ours", others)};
}

Verdict fact(const Claim& claim, const Evidence& evidence) {
  if (!claim.equal.empty()) return fact_equal(claim, evidence.values);
  if (!claim.all.empty()) {
    const Numbers values = evidence.values.values(claim.all);
    if (values.empty()) return no_values;
    const auto n = size_t(std::ranges::count(values, claim.is));
    return {n == values.size() ? "so" : "not so", formatted("{} of {}", n, counted(int64_t(values.size()), "value"))};
  }
  const std::vector<Pair> pairs = pairs_of(claim, evidence.values);
  Numbers differences;
  size_t above = 0;
  for (const Pair& pair : pairs) {
    if (!pair.more || !pair.less) return {"undecided", "one of its values is undefined"};
    differences.push_back(evidence.unit.factor * (*pair.more - *pair.less));
    above += *pair.more - *pair.less > rounding * std::max(std::abs(*pair.more), std::abs(*pair.less));
  }
  if (pairs.empty()) return no_values;
  return {above == pairs.size() ? "so" : "not so",
          formatted("{} of {} of values, {}difference {}", above, counted(int64_t(pairs.size()), "pair"),
                    pairs.size() > 1 ? "mean " : "", shown(mean_of(differences), evidence.unit)),
          differences};
}

// ---- Differences

// "; printed 1.50, ours .40 of it"
std::string beside_printed(const Claim& claim, double ours, const Unit& unit) {
  if (!claim.printed) return "";
  return formatted("; printed {}, ours {} times that", shown(*claim.printed, unit), fixed(ours / *claim.printed, 2));
}

// What pairs of this spread could have shown, and how many would show the printed effect.
std::string power_text(const Claim& claim, const Numbers& differences, const Unit& unit) {
  const double spread = summarize(differences).deviation;
  std::string text = formatted("; {} of this spread show {} in four of five cases",
                               counted(int64_t(differences.size()), "pair"),
                               shown(spread * detectable(differences.size()), unit));
  if (!claim.printed || spread == 0) return text;
  size_t n = fewest;
  while (n < 100 && detectable(n) * spread > std::abs(*claim.printed)) ++n;
  return text + formatted(", the printed effect needs {}", n < 100 ? formatted("{}", n) : "more than 100");
}

// False where a side is above the yardsticks in one of the tasks, by more than 2 standard errors.
bool neither_learned(const std::vector<Pair>& pairs, const LongTable& yardsticks) {
  std::map<std::string, Numbers> scores[2];
  for (const Pair& pair : pairs) scores[0][pair.task].push_back(*pair.more), scores[1][pair.task].push_back(*pair.less);
  bool any = false;
  for (const auto& side : scores)
    for (const auto& [task, values] : side) {
      const Numbers best = yardsticks.values({{"task", task}, {"what", "score"}}),
                    error = yardsticks.values({{"task", task}, {"what", "error"}});
      if (best.size() != 1 || error.size() != 1) return false;
      any = true;
      if (mean_of(values) > best[0] + 2 * error[0]) return false;
    }
  return any;
}

// The pairs with both values; the others are named, and never counted.
std::string leave_out_undefined(std::vector<Pair>& pairs, const std::string& what) {
  std::set<std::string> out;
  for (const Pair& pair : pairs)
    if (!pair.more || !pair.less) out.insert(pair.of);
  std::erase_if(pairs, [&](const Pair& pair) { return out.contains(pair.of); });
  if (out.empty()) return "";
  return formatted("; not counted, since a loss is not finite or every input gets the same answer: {} {}", what,
                   joined({out.begin(), out.end()}));
}

Verdict difference(const Claim& claim, const Evidence& evidence) {
  const Unit& unit = evidence.unit;
  std::vector<Pair> pairs = pairs_of(claim, evidence.values);
  if (pairs.empty()) return no_values;
  const std::string left_out = leave_out_undefined(pairs, claim.over);
  if (pairs.empty()) return {"undecided", formatted("no {} is left{}", claim.over, left_out)};
  Numbers d;
  for (const auto& [seed, value] : differences_of(pairs, unit)) d.push_back(value);
  const size_t n = d.size();
  const double mean = mean_of(d);
  if (n < fewest)
    return {"undecided", formatted("{}, too few to tell: mean difference {}{}{}", counted(int64_t(n), claim.over),
                                   shown(mean, unit), beside_printed(claim, mean, unit), left_out), d};
  const double p = sign_flip_p(d);
  const auto with = std::ranges::count_if(d, [](double x) { return x > 0; });
  std::string why = formatted("{} of {} agree, mean difference {}", with, counted(int64_t(n), claim.over),
                              shown(mean, unit));
  if (n <= 16) why += " " + std::apply([&](double a, double b) { return interval_text(a, b, unit); },
                                       sign_flip_interval(d));
  why += formatted("; p = {}{}", fixed(p, 3), beside_printed(claim, mean, unit));
  Verdict verdict{"undecided", why, d, std::floor(level / least_sign_flip_p(n) + rounding) * least_sign_flip_p(n)};
  if (neither_learned(pairs, evidence.yardsticks)) verdict.word = "neither learned it";
  else if (p <= level && std::abs(sum_of(d)) > 0) verdict.word = mean > 0 ? "supported" : "contradicted";
  else verdict.why += power_text(claim, d, unit);
  verdict.why += left_out;
  return verdict;
}

// ---- Values of rows

// The difference of the rows as they are, and its interval: that of the standard deviation of the rows drawn again,
// and where 95 of 100 drawings lie, whichever reaches further. The second matters where a statistic of drawn rows is
// another than that of the set, as a rank correlation of noisy scores, which is nearer to 0.
struct Sampled {
  double value = NAN, low = NAN, high = NAN;
};
Sampled sampled(const std::vector<Pair>& pairs, const Unit& unit) {
  Sampled s;
  Numbers drawn;
  for (const auto& [sample, d] : differences_of(pairs, unit)) {
    if (sample == "0") s.value = d;
    else drawn.push_back(d);
  }
  if (drawn.size() < 2) return s;
  std::ranges::sort(drawn);
  const double reach = 1.96 * summarize(drawn).deviation;
  const auto cut = size_t(level / 2 * double(drawn.size()));
  s.low = std::min(s.value - reach, drawn[cut]);
  s.high = std::max(s.value + reach, drawn[drawn.size() - 1 - cut]);
  return s;
}

// "; of 1.00 and 0.39": the two values, the means over the tasks
std::string two_values(const std::vector<Pair>& pairs, const Unit& unit) {
  Numbers more, less;
  for (const Pair& pair : pairs)
    if (pair.of == "0") more.push_back(unit.factor * *pair.more), less.push_back(unit.factor * *pair.less);
  return formatted("; of {} and {}", shown(mean_of(more), unit), shown(mean_of(less), unit));
}

Verdict measured(const Claim& claim, const Evidence& evidence) {
  if (!has_column(evidence.values, "sample")) return difference(claim, evidence);
  const Unit& unit = evidence.unit;
  std::vector<Pair> pairs = pairs_of(claim, evidence.values);
  if (pairs.empty()) return no_values;
  std::erase_if(pairs, [](const Pair& pair) { return !pair.more || !pair.less; });
  const Sampled s = sampled(pairs, unit);
  if (!std::isfinite(s.value)) return {"undecided", "one of its values is undefined"};
  if (!std::isfinite(s.low))
    return {"undecided", "the rows were not drawn again: difference " + shown(s.value, unit)};
  const double least = rounding * std::abs(s.value);
  Verdict verdict{"undecided",
                  formatted("difference {} {}, over rows drawn again{}{}", shown(s.value, unit),
                            interval_text(s.low, s.high, unit), two_values(pairs, unit),
                            beside_printed(claim, s.value, unit)),
                  {s.value}, level};
  if (s.low > least) verdict.word = "supported";
  if (s.high < -least) verdict.word = "contradicted";
  return verdict;
}

// ---- All, both, about

Verdict for_all(const Claim& claim, const Evidence& evidence) {
  const LongTable& ours = evidence.values;
  size_t n = 0, all = 0;
  Names others;
  for (const LongTable::Row& row : ours.rows()) {
    if (!ours.matches(row, claim.all)) continue;
    ++all;
    if (row.value && *row.value == claim.is) {
      ++n;
      continue;
    }
    Names name;
    for (size_t c = 0; c + 1 < ours.columns().size(); ++c)
      if (!claim.all.contains(ours.columns()[c])) name.push_back(ours.columns()[c] + " " + row.keys[c]);
    others.push_back(joined(name, " "));
  }
  if (all == 0) return no_values;
  const auto [low, high] = share_interval(n, all);
  return {n == all ? "holds in all" : "not for all",
          formatted("in {} of {}: of all such runs in {} to {} %{}", n, counted(int64_t(all), "run"),
                    fixed(100 * low, 0),
                    fixed(100 * high, 0), element("; not so: {}", joined(others, ", ", 4)))};
}

Verdict both(const Claim& claim, const Evidence& evidence) {
  const auto rank = [](const Verdict& v) { return std::ranges::find(verdict_words, v.word, &VerdictWord::word)->rank; };
  Verdict worse;
  std::string why;
  for (const Claim& half : claim.halves) {
    const Verdict verdict = judge(half, evidence);
    why += formatted("{}{}: {}", why.empty() ? "" : "; and ", verdict.word, verdict.why);
    if (worse.word.empty() || rank(verdict) < rank(worse)) worse = verdict;
  }
  worse.why = why;
  return worse;
}

Verdict about(const Claim& claim, const Evidence& evidence) {
  const Verdict verdict = measured(claim, evidence);
  const Unit& unit = evidence.unit;
  if (verdict.word == "neither learned it") return verdict;           // and so are equal
  if (verdict.pairs.empty() || verdict.pairs.size() < fewest) return {"undecided", verdict.why, verdict.pairs};
  const auto [low, high] = sign_flip_interval(verdict.pairs);
  const bool inside = low >= -claim.margin && high <= claim.margin, outside = low > claim.margin ||
      high < -claim.margin;
  return {inside ? "about equal" : outside ? "differs" : "undecided",
          formatted("mean difference {} {}; margin {}, {}", shown(mean_of(verdict.pairs), unit),
                    interval_text(low, high, unit), shown(claim.margin, unit), claim.margin_is),
          verdict.pairs, level};
}

LongTable::Where strings(const Json& object) {
  LongTable::Where all;
  for (const auto& [key, value] : object.members()) all[key] = value.string();
  return all;
}

}  // namespace

Claim claim_of(const Json& json, const std::string& model) {
  const Json printed = json.find("printed");
  Claim claim{.kind = choice<Kind>(json["kind"].string(), "a claim's kind"),
              .more = strings(json.find("more")), .less = strings(json.find("less")),
              .over = json.get("over", std::string("seed")),
              .all = strings(json.find("all")), .is = json.get("is", 0.0), .margin = json.get("margin", 0.0),
              .margin_is = json.get("margin_is", std::string()),
              .printed = (printed.is_object() ? printed.find(model) : printed).number_if()};
  for (const Json& v : json.find("equal").items())
    claim.equal.push_back({strings(v["at"]), v["is"].number(), int(v["digits"].integer())});
  for (const Json& half : json.find("halves").items()) claim.halves.push_back(claim_of(half, model));
  const bool compares = !claim.more.empty() || !claim.less.empty();
  const bool whole[] = {compares || !claim.all.empty() || !claim.equal.empty(), compares, compares, !claim.all.empty(),
                        claim.halves.size() == 2, compares && claim.margin > 0};
  MB_CHECK(whole[size_t(claim.kind)], "a claim of kind {} lacks what it is judged by: {}", claim.kind, json.dump(-1));
  return claim;
}

Verdict judge(const Claim& claim, const Evidence& evidence) {
  constexpr Verdict (*rules[])(const Claim&, const Evidence&) = {fact, measured, difference, for_all, both, about};
  return rules[size_t(claim.kind)](claim, evidence);
}

// ---- The tests

double sign_flip_p(const Numbers& d) {
  MB_CHECK(!d.empty() && d.size() <= 24, "sign_flip_p: {} differences; expected 1 to 24", d.size());
  const double sum = sum_of(d), size = size_of(d);
  const size_t ways = size_t(1) << d.size();
  size_t as_far = 0;
  for (size_t signs = 0; signs < ways; ++signs) {
    double flipped = 0;
    for (size_t i = 0; i < d.size(); ++i) flipped += signs >> i & 1 ? -d[i] : d[i];
    as_far += std::abs(flipped) >= std::abs(sum) - 1e-12 * size;
  }
  return double(as_far) / double(ways);
}

double least_sign_flip_p(size_t n) { return std::min(1.0, 2 / std::pow(2, double(n))); }

std::pair<double, double> sign_flip_interval(const Numbers& d) {
  MB_CHECK(d.size() >= 6 && d.size() <= 16, "sign_flip_interval: {} differences; expected 6 to 16", d.size());
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

// The shares of which n or more, and n or fewer, would come with probability .025.
std::pair<double, double> share_interval(size_t n, size_t of) {
  const auto at_least = [of](size_t k, double share) {            // P(k or more of `of`)
    double p = 0;
    for (size_t i = k; i <= of; ++i) {
      const double ways = std::lgamma(double(of) + 1) - std::lgamma(double(i) + 1) - std::lgamma(double(of - i) + 1);
      p += std::exp(ways + double(i) * std::log(share) + double(of - i) * std::log1p(-share));
    }
    return p;
  };
  const auto solve = [&](size_t k, double p) {
    double low = 1e-12, high = 1 - 1e-12;
    for (int i = 0; i < 60; ++i) (at_least(k, (low + high) / 2) < p ? low : high) = (low + high) / 2;
    return (low + high) / 2;
  };
  return {n == 0 ? 0 : solve(n, level / 2), n == of ? 1 : solve(n + 1, 1 - level / 2)};
}

// By simulation of the sign-flip test at .05 on normal differences; from 13 on its limit, a little above that of t's.
double detectable(size_t n) {
  constexpr double from_six[] = {1.80, 1.33, 1.19, 1.09, 1.00, 0.94, 0.89};
  return n < fewest ? INFINITY : n < 13 ? from_six[n - fewest] : 3.05 / std::sqrt(double(n));
}

}  // namespace minbert
