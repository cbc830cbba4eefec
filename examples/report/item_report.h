// One item of a document in its report: values, tables beside the printed numbers, figures. A table
// is made of one function, the cell of a row and a column, and a figure of the panel of each task.
//
//   report.table("Dev scores", "norm", norms, tasks,
//                [&](const std::string& norm, const Task& task) {
//                  return fixed(median(values(norm, task)), 2);
//                });
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/figure.h"
#include "report/verdict.h"

namespace minbert {

// What stands above a column or left of a row.
template <class T>
std::string head_of(const T& t) {
  if constexpr (requires { t.title(); }) return t.title();
  else if constexpr (requires { t.title; }) return t.title;
  else return formatted("{}", t);
}

// A value in a table, where the document's digits do not say how many it has: "0.00181", "1.23e+04"
std::string significant(double value, int digits = 3);

// Mean ± deviation of those of `all` values that are defined: "0.671 ± 0.069 (5 of 6)"; of none the word
std::string defined_text(const Numbers& defined, size_t all, int digits, const char* none = "undefined");

// y over first, first + 1, ...
Curve numbered(const std::string& title, Numbers y, double first = 0,
               Curve::Style style = Curve::Style::line);
// Adds at x the mean of the values and their standard deviation; nothing where there are none.
void add_mean(Curve& curve, double x, const Numbers& values);

// One item's part of the report.
class ItemReport {
 public:
  // printed: the document's numbers; empty if it prints none. item: its name, title, ...
  ItemReport(const std::string& folder, LongTable printed, Json item);

  struct Cell {
    std::string printed, ours;                    // "" for one that is not there
    Numbers points = {};              // a value for each seed
    // The same, for verdicts: none for a model that gives every input the same answer
    std::vector<std::optional<double>> sound = {};
    std::optional<double> printed_point = {};
    std::string note = {}, warning = {};
    // The colors of the two: "good", "half", "bad" or none
    std::string mark = {}, printed_mark = {};
  };
  struct TableRow {
    std::string head;
    std::vector<Cell> cells;
  };
  void csv(const LongTable& values, const std::string& word = "");   // ITEM.csv, or ITEM-WORD.csv
  void table(const std::string& title, const Names& columns,
             const std::vector<TableRow>& rows);
  // The same by cell(row, column), a Cell or a text of ours; corner: above the rows' heads.
  template <class Rows, class Columns, class Function>
  void table(const std::string& title, const std::string& corner, const Rows& rows,
             const Columns& columns, const Function& cell) {
    Names heads = {corner};
    for (const auto& column : columns) heads.push_back(head_of(column));
    std::vector<TableRow> lines;
    for (const auto& row : rows) {
      lines.push_back({head_of(row), {}});
      for (const auto& column : columns) lines.back().cells.push_back(cell_of(cell(row, column)));
    }
    table(title, heads, lines);
  }
  void figure(const Figure& figure, const std::string& text, const std::string& word = "");
  // A panel for each element of the list; `all` is the figure without them.
  template <class List, class Function>
  void figure(const std::string& text, const List& list, const Function& panel,
              Figure all = {.columns = 2}, const std::string& word = "") {
    for (const auto& element : list) all.panels.push_back(panel(element));
    figure(all, text, word);
  }
  void picture(const std::string& svg, const std::string& text, const std::string& word = "");
  // A picture that is written already: a file in the report's folder
  void shown(const std::string& file, const std::string& text);
  // Inputs with what is said of each, and a command that shows it.
  struct Input {
    Names texts;
    std::string said, command;
  };
  void inputs(const std::string& title, const std::vector<Input>& inputs);
  void file(const std::string& name) { append("files", name); }      // a link
  void differs(const std::string& sentence);
  // Does the condition hold under which data/papers says a sentence? holds(): error if nobody said it.
  void when(const std::string& condition, bool it_holds) { when_[condition] = it_holds; }
  bool holds(const std::string& condition) const;
  void caption(const std::string& sentence);
  const LongTable& printed() const { return printed_; }
  // What the document's claims are judged by: the values of ITEM.csv, or these instead; and how the page shows a
  // difference of them. yardsticks: see Evidence.
  void judge_by(const LongTable& values, const Unit& unit = {}) {
    values.must_be_finite(item_["name"].string());
    if (!evidence_) evidence_ = Evidence{values};
    evidence_->values = values, evidence_->unit = unit;
  }
  void yardsticks(const LongTable& scores) {
    if (!evidence_) evidence_ = Evidence{LongTable({"value"})};
    evidence_->yardsticks = scores;
  }
  const std::optional<Evidence>& evidence() const { return evidence_; }
  const Json& json() const { return item_; }

 private:
  static Cell cell_of(Cell cell) { return cell; }
  static Cell cell_of(const std::string& ours) { return {"", ours}; }
  void append(const std::string& key, Json value);
  std::string stem(const std::string& word) const;
  std::string folder_;
  LongTable printed_;
  Json item_;
  std::optional<Evidence> evidence_;
  std::map<std::string, bool> when_;
};

}  // namespace minbert
