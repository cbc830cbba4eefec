// Verdicts on claims, kind by kind.
#include "report/verdict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/choice.h"
#include "minbert/metrics.h"
#include "report/html.h"
#include "report/significance.h"

namespace minbert {
namespace {

// What two values of one quantity may differ by and be equal, of their size.
constexpr double rounding = 1e-6;

double mean_of(const Numbers& v) { return std::accumulate(v.begin(), v.end(), 0.0) / double(v.size()); }
bool has_column(const LongTable& table, const char* name) { return std::ranges::count(table.columns(), name) > 0; }

// A claim's two values, and of which seed, sample and task they are.
struct Pair {
  std::string of, task;                             // of: the seed (claim.over) or the sample
  std::optional<double> more, less;
};

bool is_undefined(const Pair& pair) { return !pair.more || !pair.less; }

std::vector<Pair> pairs_of(const Claim& claim, const LongTable& ours) {
  const Names& columns = ours.columns();
  const bool beside_number = claim.more_is || claim.less_is;
  std::vector<Pair> pairs;
  for (const LongTable::Row& row : ours.rows()) {
    if (!ours.matches(row, claim.more_is ? claim.less : claim.more)) continue;
    LongTable::Where other;
    Pair pair;
    for (size_t c = 0; c + 1 < columns.size(); ++c) {
      if (columns[c] == claim.over || columns[c] == "sample") pair.of = row.keys[c];
      if (columns[c] == "task") pair.task = row.keys[c];
      const auto less = claim.less.find(columns[c]);
      other[columns[c]] = less == claim.less.end() ? row.keys[c] : less->second;
    }
    if (beside_number) {
      pair.more = claim.more_is ? claim.more_is : row.value, pair.less = claim.less_is ? claim.less_is : row.value;
      pairs.push_back(pair);
      continue;
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
std::map<std::string, double> differences_of(const std::vector<Pair>& pairs, const Unit& unit) {
  std::map<std::string, Numbers> all;
  for (const Pair& pair : pairs) all[pair.of].push_back(unit.factor * (*pair.more - *pair.less));
  std::map<std::string, double> means;
  for (const auto& [of, differences] : all) means[of] = mean_of(differences);
  return means;
}

std::string shown(double value, const Unit& unit) { return fixed(value, unit.digits) + element(" {}", unit.name); }
// The unit with as many digits more as it takes to see that an interval is not a point
Unit to_see(double low, double high, Unit unit) {
  while (unit.digits < 9 && high > low && high - low < 5 * std::pow(10, -unit.digits)) ++unit.digits;
  return unit;
}
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
    if (is_undefined(pair)) return {"undecided", "one of its values is undefined"};
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

// "; printed 1.50, ours .40 times that"
std::string beside_printed(const Claim& claim, double ours, const Unit& unit) {
  if (!claim.printed) return "";
  return formatted("; printed {}, ours {} times that", shown(*claim.printed, unit), fixed(ours / *claim.printed, 2));
}

// What pairs of this spread could have shown, six of them or as many as there are, and how many would show the printed
// effect.
std::string power_text(const Claim& claim, const Numbers& differences, const Unit& unit) {
  const size_t n = std::max(differences.size(), fewest);
  const double spread = summarize(differences).deviation;
  if (differences.size() < 2) return "";
  std::string text = formatted("; {} of this spread show {} in four of five cases", counted(int64_t(n), "pair"),
                               shown(spread * detectable(n), unit));
  if (!claim.printed || spread == 0) return text;
  size_t needed = fewest;
  while (needed < 100 && detectable(needed) * spread > std::abs(*claim.printed)) ++needed;
  return text + formatted(", the printed effect needs {}", needed < 100 ? formatted("{}", needed) : "more than 100");
}

// The tasks in which the better side of each pair, in the mean, is not above the yardsticks by more than 2 standard
// errors. Which side is the better one does not matter: so signs may be flipped in those that are left.
Names not_learned(const std::vector<Pair>& pairs, const LongTable& yardsticks) {
  std::map<std::string, Numbers> better;
  for (const Pair& pair : pairs) better[pair.task].push_back(std::max(*pair.more, *pair.less));
  Names tasks;
  for (const auto& [task, scores] : better) {
    const Numbers best = yardsticks.values({{"task", task}, {"what", "score"}}),
                  error = yardsticks.values({{"task", task}, {"what", "error"}});
    if (best.size() == 1 && error.size() == 1 && mean_of(scores) <= best[0] + 2 * error[0]) tasks.push_back(task);
  }
  return tasks;
}

// In what this side of a comparison is another than the other: "layer"
Names side_of(const LongTable::Where& side, const LongTable::Where& other) {
  Names keys;
  for (const auto& [column, key] : side)
    if (const auto same = other.find(column); same == other.end() || same->second != key) keys.push_back(key);
  return keys;
}

// The pairs with both values; the others are named, and never counted: of a seed's tasks those alone that collapsed.
std::string leave_out_undefined(std::vector<Pair>& pairs, const Claim& claim) {
  std::set<std::string> out, tasks;
  for (const Pair& pair : pairs) tasks.insert(pair.task);
  const auto name = [&](const Pair& pair, const LongTable::Where& side, const LongTable::Where& other) {
    Names what = side_of(side, other);
    if (claim.over != "task" && tasks.size() > 1) what.insert(what.begin(), pair.task);
    out.insert(pair.of + element(" ({})", joined(what)));
  };
  for (const Pair& pair : pairs) {
    if (!pair.more) name(pair, claim.more, claim.less);
    if (!pair.less) name(pair, claim.less, claim.more);
  }
  std::erase_if(pairs, is_undefined);
  if (out.empty()) return "";
  return formatted("; not counted, since a loss is not finite or every input gets the same answer: {} {}", claim.over,
                   joined({out.begin(), out.end()}));
}

Verdict difference(const Claim& claim, const Evidence& evidence) {
  Unit unit = evidence.unit;
  std::vector<Pair> pairs = pairs_of(claim, evidence.values);
  if (pairs.empty()) return no_values;
  std::string left_out = leave_out_undefined(pairs, claim);
  if (pairs.empty()) return {"undecided", formatted("no {} is left{}", claim.over, left_out)};
  const Names unlearned = not_learned(pairs, evidence.yardsticks);
  const auto is_learned = [&](const Pair& pair) { return !std::ranges::count(unlearned, pair.task); };
  const bool none_learned = std::ranges::none_of(pairs, is_learned);
  const auto by_seed = [&] {
    Numbers all;
    for (const auto& [seed, value] : differences_of(pairs, unit)) all.push_back(value);
    return all;
  };
  if (!none_learned && !unlearned.empty()) {
    left_out += formatted("; not counted, since neither side learned it beyond the yardsticks: {} (of all the mean "
                          "difference is {})", joined(unlearned), shown(mean_of(by_seed()), unit));
    std::erase_if(pairs, std::not_fn(is_learned));
  }
  const Numbers d = by_seed();
  const size_t n = d.size();
  const double mean = mean_of(d);
  const char* const word = none_learned ? "neither learned it" : "undecided";
  if (n < fewest)
    return {word, formatted("{}, too few to tell: mean difference {}{}{}{}", counted(int64_t(n), claim.over),
                            shown(mean, unit), beside_printed(claim, mean, unit), power_text(claim, d, unit), left_out),
            d, 0, left_out};
  const double p = sign_flip_p(d);
  const auto [low, high] = sign_flip_interval(d);
  unit = to_see(low, high, unit);
  const auto with = std::ranges::count_if(d, [](double x) { return x > 0; });
  std::string why = formatted("{} of {} agree, mean difference {}", with, counted(int64_t(n), claim.over),
                              shown(mean, unit));
  why += " " + interval_text(low, high, unit);
  why += formatted("; p = {}{}", fixed(p, 3), beside_printed(claim, mean, evidence.unit));
  if (claim.printed && (*claim.printed < low || *claim.printed > high)) why += ", which lies outside the interval";
  Verdict verdict{word, why, d, std::floor(level / least_sign_flip_p(n) + rounding) * least_sign_flip_p(n),
                  left_out};
  if (none_learned) verdict.by_chance = 0;
  else if (p <= level && mean != 0) verdict.word = mean > 0 ? "supported" : "contradicted";
  else verdict.why += power_text(claim, d, unit);
  verdict.why += left_out;
  return verdict;
}

// ---- Values of rows

// The difference of the rows as they are, and its interval: that of the standard deviation of the rows drawn again,
// and where 95 of 100 drawings lie, whichever reaches further; or the interval that was kept. Where the drawings lie
// matters if a statistic of drawn rows is another than that of the set, as a rank correlation of noisy scores, which
// is nearer to 0.
struct Sampled {
  double value = NAN, low = NAN, high = NAN;
};
Sampled sampled(const Claim& claim, const std::vector<Pair>& pairs, const Evidence& evidence, const Unit& unit) {
  Sampled s;
  Numbers drawn;
  for (const auto& [sample, d] : differences_of(pairs, unit)) {
    if (sample == "0") s.value = d;
    else drawn.push_back(d);
  }
  if (drawn.size() < 2) {
    const auto kept = [&](const char* what) {
      const Numbers end = evidence.intervals.values({{"comparison", comparison_of(claim)}, {"what", what}});
      return end.empty() ? NAN : unit.factor * end[0];
    };
    s.low = kept("low"), s.high = kept("high");
    return s;
  }
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
  Unit unit = evidence.unit;
  std::vector<Pair> pairs = pairs_of(claim, evidence.values);
  if (pairs.empty()) return no_values;
  std::erase_if(pairs, is_undefined);
  const Sampled s = sampled(claim, pairs, evidence, unit);
  if (!std::isfinite(s.value)) return {"undecided", "one of its values is undefined"};
  if (!std::isfinite(s.low))
    return {"undecided", "the rows were not drawn again: difference " + shown(s.value, unit)};
  const double least = rounding * std::abs(s.value);
  unit = to_see(s.low, s.high, unit);
  Verdict verdict{"undecided",
                  formatted("difference {} {}, over rows drawn again{}{}", shown(s.value, unit),
                            interval_text(s.low, s.high, unit), two_values(pairs, unit),
                            beside_printed(claim, s.value, evidence.unit)),
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
  return {all < fewest ? "undecided" : n == all ? "holds in all" : "not for all",
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
  if (verdict.word == "neither learned it" || verdict.word == "not run") return verdict;     // the first are equal
  if (verdict.pairs.empty() || verdict.pairs.size() < fewest) return {"undecided", verdict.why, verdict.pairs};
  const auto [low, high] = sign_flip_interval(verdict.pairs);
  const Unit unit = to_see(low, high, evidence.unit);
  const bool inside = (claim.one_sided || low >= -claim.margin) && high <= claim.margin,
             outside = low > claim.margin || (high < -claim.margin && !claim.one_sided);
  return {inside ? "about equal" : outside ? "differs" : "undecided",
          formatted("mean difference {} {}; margin {}, {}{}", shown(mean_of(verdict.pairs), unit),
                    interval_text(low, high, unit), shown(claim.margin, unit), claim.margin_is, verdict.left_out),
          verdict.pairs, level};
}

LongTable::Where strings(const Json& object) {
  LongTable::Where all;
  if (!object.is_object()) return all;              // none, or a number
  for (const auto& [key, value] : object.members()) all[key] = value.string();
  return all;
}

}  // namespace

Unit unit_of(const Json& json) {
  const Json::Array unit = json.items();
  MB_CHECK(unit.size() == 3, "a unit is [factor, digits, name], not {}", json.dump(-1));
  return {unit[0].number(), int(unit[1].integer()), unit[2].string()};
}

Claim claim_of(const Json& json, const std::string& model) {
  const Json printed = json.find("printed");
  const auto number = [&](const char* side) {
    return json.find(side).is_object() ? std::nullopt : json.find(side).number_if();
  };
  Claim claim{.kind = choice<Kind>(json["kind"].string(), "a claim's kind"),
              .more = strings(json.find("more")), .less = strings(json.find("less")),
              .more_is = number("more"), .less_is = number("less"),
              .over = json.get("over", std::string("seed")),
              .all = strings(json.find("all")), .is = json.get("is", 0.0), .margin = json.get("margin", 0.0),
              .one_sided = json.get("one_sided", false),
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

std::string comparison_of(const Claim& claim) {
  const auto text = [](const LongTable::Where& where, const std::optional<double>& number) {
    std::string all = number ? float_text(*number) : "";
    for (const auto& [column, key] : where) all += (all.empty() ? "" : "|") + column + "=" + key;
    return all;
  };
  return text(claim.more, claim.more_is) + " > " + text(claim.less, claim.less_is);
}

Evidence without_samples(const Evidence& evidence, const std::vector<Claim>& claims) {
  if (!has_column(evidence.values, "sample")) return evidence;
  Evidence kept{evidence.values.only({{"sample", "0"}}), evidence.unit, evidence.yardsticks, evidence.intervals};
  std::vector<Claim> all = claims;
  for (size_t i = 0; i < all.size(); ++i) {         // with the halves of each
    const Claim claim = all[i];
    all.insert(all.end(), claim.halves.begin(), claim.halves.end());
    if (claim.kind != Kind::measured && claim.kind != Kind::about) continue;
    std::vector<Pair> pairs = pairs_of(claim, evidence.values);
    std::erase_if(pairs, is_undefined);
    const Sampled s = sampled(claim, pairs, evidence, {});
    if (!std::isfinite(s.low) || !std::isfinite(s.high)) continue;
    kept.intervals(comparison_of(claim), "low") = s.low;
    kept.intervals(comparison_of(claim), "high") = s.high;
  }
  return kept;
}

Verdict judge(const Claim& claim, const Evidence& evidence) {
  constexpr Verdict (*rules[])(const Claim&, const Evidence&) = {fact, measured, difference, for_all, both, about};
  return rules[size_t(claim.kind)](claim, evidence);
}

}  // namespace minbert
