// Values in long form: one value a row, and columns that say what it is of.
//
//   LongTable table({"task", "norm", "k", "value"});
//   table("mrpc", "none", 1) = 0.76;
//   table.save("OUT/tab2.csv");
//   table.values({{"norm", "none"}, {"k", "1"}});         // {0.76}
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "minbert/error.h"
#include "minbert/json.h"
#include "report/figure.h"

namespace minbert {

class LongTable {
 public:
  using Where = std::map<std::string, std::string>;         // column -> the text that stands there
  struct Row {
    Names keys;                                             // the columns but the last
    std::optional<double> value;                            // none: undefined
  };

  explicit LongTable(Names columns) : columns_(std::move(columns)) {}
  void add(Names keys, std::optional<double> value);
  // A new row: table("mrpc", "none", 1) = 0.76
  template <class... Keys>
  std::optional<double>& operator()(const Keys&... keys) {
    add({formatted("{}", keys)...}, {});
    return rows_.back().value;
  }
  const Names& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }
  bool matches(const Row& row, const Where& where) const;
  LongTable only(const Where& where) const;
  Numbers values(const Where& where) const;     // without those that are undefined
  void must_be_finite(const std::string& of) const;         // error: a value is not, and of what
  void save(const std::string& file) const;                 // CSV; an undefined value is empty

 private:
  Names columns_;
  std::vector<Row> rows_;
};

inline std::optional<double> finite(double value) {          // none: undefined
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// ---- Printed beside ours

// A table of data/papers: {"columns": ["task", "k", "value"], "rows": [["mrpc", "1", 0.76]]}. Of
// null: no rows.
LongTable table_of(const Json& printed);

double median(Numbers values);                  // of 1 or more

}  // namespace minbert
