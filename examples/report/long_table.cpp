// Values in long form, and what they say of a document's claims.
#include "report/long_table.h"

#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {

void LongTable::add(Names of, std::optional<double> value) {
  MB_CHECK(of.size() + 1 == columns_.size(), "a row of {} columns in a table of {}", of.size() + 1,
           columns_.size());
  rows_.push_back({std::move(of), value});
}

bool LongTable::matches(const Row& row, const Where& where) const {
  for (const auto& [column, text] : where) {
    const auto found = std::find(columns_.begin(), columns_.end() - 1, column);
    MB_CHECK(found != columns_.end() - 1, "the table has no column \"{}\"", column);
    if (row.of[size_t(found - columns_.begin())] != text) return false;
  }
  return true;
}

LongTable LongTable::only(const Where& where) const {
  LongTable part(columns_);
  std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(part.rows_),
               [&](const Row& row) { return matches(row, where); });
  return part;
}

Numbers LongTable::values(const Where& where) const {
  Numbers values;
  for (const Row& row : rows_)
    if (row.value && matches(row, where)) values.push_back(*row.value);
  return values;
}

void LongTable::save(const std::string& file) const {
  std::string text;
  for (const std::string& column : columns_) text += (text.empty() ? "" : ",") + column;
  text += "\n";
  for (const Row& row : rows_) {
    for (const std::string& of : row.of)  // of a norm's options, "group:groups=8,eps=1e-3"
      text += (of.find(',') == of.npos ? of : "\"" + of + "\"") + ",";
    text += (row.value ? exact(*row.value) : "") + "\n";
  }
  write_file(file, text);
}

LongTable table_of(const Json& printed) {
  if (printed.is_null()) return LongTable({"value"});
  Names columns;
  for (const Json& column : printed["columns"].items()) columns.push_back(column.string());
  LongTable table(columns);
  for (const Json& row : printed["rows"].items()) {
    const Json::Array values = row.items();
    Names of;
    for (size_t i = 0; i + 1 < values.size(); ++i) of.push_back(values[i].string());
    table.add(of, values.back().number_if());
  }
  return table;
}

namespace {

constexpr double rounding = 1e-12;                  // of a sum, beside the sum of the sizes

}  // namespace

double sign_flip_p(const Numbers& d) {
  MB_CHECK(!d.empty() && d.size() <= 24, "sign_flip_p: {} differences; expected 1 to 24", d.size());
  double sum = 0, size = 0;
  for (const double v : d) {
    sum += v;
    size += std::abs(v);
  }
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

double median(Numbers v) {
  MB_CHECK(!v.empty(), "the median of nothing");
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

Verdict judge(const Claim& claim, const LongTable& ours) {
  // Takes the difference in every combination of the open columns; then their means over each
  // pair's name.
  const Names& columns = ours.columns();
  const bool seeds = std::find(columns.begin(), columns.end(), "seed") != columns.end();
  const std::string pair_column = seeds ? "seed" : "task";
  std::map<std::string, Numbers> differences;
  for (const LongTable::Row& row : ours.rows()) {
    if (!row.value || !ours.matches(row, claim.more)) continue;
    LongTable::Where other;
    std::string pair;
    for (size_t c = 0; c + 1 < columns.size(); ++c) {
      if (columns[c] == pair_column) pair = row.of[c];
      const auto less = claim.less.find(columns[c]);
      other[columns[c]] = less == claim.less.end() ? row.of[c] : less->second;
    }
    for (const double less : ours.values(other)) differences[pair].push_back(*row.value - less);
  }
  if (differences.empty()) return {"not run", "these values were not computed"};
  Numbers means;
  size_t above = 0;
  double mean = 0, size = 0;
  for (const auto& [pair, values] : differences) {
    double sum = 0;
    for (const double v : values) sum += v;
    means.push_back(sum / double(values.size()));
    above += means.back() > 0;
    mean += means.back() / double(differences.size());
    size += std::abs(means.back());
  }
  const double p = sign_flip_p(means), least = least_sign_flip_p(means.size());
  const std::string what = seeds ? "seeds" : "tasks";
  std::string why = formatted(
      "{} of {} {} agree, mean difference {}, p = {} by the exact sign-flip test over {} "
      "(the least that {} can give: {})",
      above, means.size(), what, fixed(mean, 4), fixed(p, 3), what, means.size(), fixed(least, 3));
  if (least > 0.05) why += "; so few cannot be significant";
  return {mean > rounding * size ? (p <= 0.05 ? "reproduced" : "direction only") : "not", why};
}

Verdict judge_all(const LongTable::Where& where, double value, const LongTable& ours) {
  const Numbers values = ours.values(where);
  if (values.empty()) return {"not run", "these values were not computed"};
  const auto as_said = std::ranges::count(values, value);
  return {size_t(as_said) == values.size() ? "reproduced" : "not",
          formatted("{} of {} runs are as it says", as_said, values.size())};
}

}  // namespace minbert
