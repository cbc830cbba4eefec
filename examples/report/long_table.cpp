// Values in long form.
#include "report/long_table.h"

#include <algorithm>
#include <cmath>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {

void LongTable::add(Names keys, std::optional<double> value) {
  MB_CHECK(keys.size() + 1 == columns_.size(), "a row of {} columns in a table of {}",
           keys.size() + 1, columns_.size());
  rows_.push_back({std::move(keys), value});
}

bool LongTable::matches(const Row& row, const Where& where) const {
  for (const auto& [column, text] : where) {
    const auto found = std::find(columns_.begin(), columns_.end() - 1, column);
    MB_CHECK(found != columns_.end() - 1, "the table has no column \"{}\"", column);
    if (row.keys[size_t(found - columns_.begin())] != text) return false;
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

void LongTable::must_be_finite(const std::string& of) const {
  for (const Row& row : rows_)
    MB_CHECK(!row.value || std::isfinite(*row.value), "{}: the value of {} is {}; what is undefined has none", of,
             joined(row.keys), *row.value);
}

void LongTable::save(const std::string& file) const {
  must_be_finite(file);
  std::string text;
  for (const std::string& column : columns_) text += (text.empty() ? "" : ",") + column;
  text += "\n";
  for (const Row& row : rows_) {
    for (const std::string& key : row.keys) text += csv_field(key) + ",";
    text += (row.value ? float_text(*row.value) : "") + "\n";
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
    MB_CHECK(values.size() == columns.size(), "a row of {} values in a table of {} columns: {}", values.size(),
             columns.size(), row.dump(-1));
    Names keys;
    for (size_t i = 0; i + 1 < values.size(); ++i) keys.push_back(values[i].string());
    table.add(keys, values.back().number_if());
  }
  return table;
}

double median(Numbers v) {
  MB_CHECK(!v.empty(), "the median of nothing");
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

}  // namespace minbert
