// One item of a document in its report: values, tables beside the printed numbers, figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "papers/long_table.h"
#include "report/figure.h"

namespace minbert {

// One item's place in the report.
class ItemReport {
 public:
  // printed: the document's numbers; empty if it prints none. item: its name, title, ...
  ItemReport(const std::string& folder, LongTable printed, Json item);

  struct Cell {
    std::string printed, ours;                    // "" for one that is not there
    std::vector<double> points = {};              // a value for each seed
    std::optional<double> printed_point = {};
    std::string note = {}, warning = {};
    // The colors of the two: "good", "half", "bad" or none
    std::string mark = {}, printed_mark = {};
  };
  struct TableRow {
    std::string head;
    std::vector<Cell> cells;
  };
  void csv(LongTable values, const std::string& word = "");   // ITEM.csv, or ITEM-WORD.csv
  void table(const std::string& title, const std::vector<std::string>& columns,
             const std::vector<TableRow>& rows);
  void figure(const Figure& figure, const std::string& text, const std::string& word = "");
  void picture(const std::string& svg, const std::string& text, const std::string& word = "");
  void differs(const std::string& sentence);
  void caption(const std::string& sentence);
  const LongTable& printed() const { return printed_; }
  // The values by which the document's claims are judged: those of ITEM.csv, or these instead
  void judge_by(LongTable values) { values_ = std::move(values); }
  const std::optional<LongTable>& values() const { return values_; }
  const Json& json() const { return item_; }

 private:
  void append(const std::string& key, Json value);
  std::string stem(const std::string& word) const;
  std::string folder_;
  LongTable printed_;
  Json item_;
  std::optional<LongTable> values_;
};

}  // namespace minbert
