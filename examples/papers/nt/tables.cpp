// Converged or not, by learning rate and norm, in six sizes [NT tab.1] [NT tab.2] [NT tab.3] [NT tab.4] [NT tab.5]
// [NT tab.6].
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "engine/text.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

class Table {
 public:
  Table(const NtRuns& runs, int number, int layers, int width, std::string title)
      : runs_(runs), number_(number), layers_(layers), width_(width), title_(std::move(title)),
        printed_(runs.document().printed(name())) {}
  std::vector<Run> runs() const;
  bool is_done() const { return runs_.are_done(runs()); }
  Agreement agreement(const std::string& norm) const;
  void show(ItemReport& report) const;
  const std::string& title() const { return title_; }
  std::string name() const { return formatted("tab{}", number_); }

 private:
  Run training(const std::string& norm, double lr, int seed) const {
    return runs_.training({.layers = layers_, .width = width_, .norm = norm, .seed = seed, .lr = lr});
  }
  NtCell cell(const std::string& norm, double lr) const;
  void values(ItemReport& report) const;
  void thresholds(ItemReport& report) const;
  const NtRuns& runs_;
  int number_, layers_, width_;
  std::string title_;
  LongTable printed_;
};

std::vector<Run> Table::runs() const {
  std::vector<Run> all;
  for (const double lr : runs_.options().lr)
    for (const std::string& norm : runs_.options().norms)
      for (const int seed : runs_.seeds()) all.push_back(training(norm, lr, seed));
  return all;
}

NtCell Table::cell(const std::string& norm, double lr) const {
  NtCell c;
  for (const int seed : runs_.seeds()) c.add(runs_.result(training(norm, lr, seed)));
  for (const double v : printed_.values({{"norm", norm}, {"lr", formatted("{}", lr)}})) c.printed = v > 0;
  return c;
}

Agreement Table::agreement(const std::string& norm) const {
  Agreement all;
  for (const double lr : runs_.options().lr) all.add(cell(norm, lr));
  return all;
}

// The values in the csv, every epoch's losses, and 0 or 1 for the claims, which are about the slides' three norms.
void Table::values(ItemReport& report) const {
  LongTable table({"layers", "width", "norm", "lr", "seed", "verdict", "first_loss", "last_loss", "dev_accuracy"});
  LongTable losses({"layers", "width", "norm", "lr", "seed", "epoch", "split", "loss"});
  LongTable judged({"norm", "lr", "seed", "converged"});
  for (const double lr : runs_.options().lr)
    for (const std::string& norm : runs_.options().norms)
      for (const int seed : runs_.seeds()) {
        const Json result = runs_.result(training(norm, lr, seed));
        const auto row = [&](const std::vector<std::string>& more) {
          std::vector<std::string> of = {std::to_string(layers_), std::to_string(width_), norm, formatted("{}", lr),
                                         std::to_string(seed)};
          of.insert(of.end(), more.begin(), more.end());
          return of;
        };
        table.add(row(outcome(result)), last_accuracy(result));
        const Json::Array epochs = result["epochs"].items();
        for (size_t e = 0; e < epochs.size(); ++e)
          for (const auto& [split, key] : {std::pair("train", "mean"), std::pair("dev", "dev_loss")})
            losses.add(row({std::to_string(e + 1), split}), epochs[e][key].number_if());
        if (is_nt_norm(norm))
          judged.add({norm, formatted("{}", lr), std::to_string(seed)}, counts_as_converged(convergence(result)));
      }
  report.csv(std::move(table));
  report.csv(std::move(losses), "losses");
  report.judge_by(std::move(judged));
}

// How many runs get another verdict under another rule.
void Table::thresholds(ItemReport& report) const {
  std::vector<ItemReport::TableRow> rows;
  const auto row = [&](const std::string& head, const ConvergenceRule& rule) {
    int sides = 0, verdicts = 0;
    for (const Run& run : runs()) {
      const Convergence now = convergence(runs_.result(run)), then = convergence(runs_.result(run), rule);
      sides += counts_as_converged(now) != counts_as_converged(then);
      verdicts += now != then;
    }
    rows.push_back({head, {{"", std::to_string(sides)}, {"", std::to_string(verdicts)}}});
  };
  for (const double errors : {0, 1, 3, 4}) row(formatted("{} instead of 2 standard errors", errors), {errors});
  for (const double slow : {0.05, 0.2})
    row(formatted("slow under {} % instead of 10 %", 100 * slow), {.slow = slow});
  report.table(formatted("Verdicts of {} runs that another threshold would change", runs().size()),
               {"", "converged or not", "any verdict"}, rows);
}

// On a terminal in colors, unless NO_COLOR is set.
void print(const std::string& title, const std::vector<std::string>& columns,
           const std::vector<ItemReport::TableRow>& rows) {
  const bool colors = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  const auto colored = [&](const std::string& text, const std::string& mark) {
    const char* code = mark == "good" ? "32" : mark == "half" ? "33" : mark == "bad" ? "31" : "39";
    return colors ? formatted("\033[{}m{}\033[39m", code, text) : text;       // all of the same length
  };
  std::vector<std::vector<std::string>> lines = {{}};
  for (const std::string& column : columns) lines[0].push_back(lines[0].empty() ? column : colored(column, ""));
  for (const ItemReport::TableRow& row : rows) {
    lines.push_back({row.head});
    for (const ItemReport::Cell& cell : row.cells) {
      const bool differs = cell.note.starts_with("not as printed");
      lines.back().push_back(colored(cell.ours + (differs ? " (printed: " + cell.printed + ")" : ""), cell.mark));
    }
  }
  std::cout << formatted("{}\n{}\n", title, text_table(lines));
}

void Table::show(ItemReport& report) const {
  std::vector<std::string> columns = {"learning rate"};
  for (const std::string& norm : runs_.options().norms) columns.push_back(norm);
  std::vector<ItemReport::TableRow> rows;
  Agreement together;
  for (const double lr : runs_.options().lr) {
    rows.push_back({formatted("{}", lr), {}});
    for (const std::string& norm : runs_.options().norms) {
      const NtCell c = cell(norm, lr);
      together.add(c);
      rows.back().cells.push_back(c.shown());
    }
  }
  const std::string title = formatted("{}: {} cells agree with the print", title_, together.text());
  report.table(title, columns, rows);
  print(name() + ": " + title, columns, rows);
  thresholds(report);
  values(report);
  report.caption("converged: every loss is finite, and the mean over the last epoch's batches is below the first's by "
                 "more than 2 standard errors of the difference; slow: by less than a tenth; flat: no epoch is below "
                 "the entropy of the classes' shares by more than 2 standard errors, which is the loss of a model that "
                 "knows these shares and ignores the sentence; slow and flat count as converged");
  report.caption("a first epoch whose loss falls steeply has a large standard error");
  runs_.differs(report);
  report.differs("the slides do not say what converged means, how many epochs they train, with what batch size or how "
                 "wide their models are; these are ours");
}

// Cells that agree with the print, by norm, in each table and in all of them: on the page, and on the terminal.
void show_agreement(const NtRuns& runs, const std::vector<const Table*>& tables, ItemReport& report) {
  std::vector<std::string> columns = {""};
  for (const Table* table : tables) columns.push_back(table->name());
  columns.push_back("together");
  std::vector<ItemReport::TableRow> rows;
  std::vector<Agreement> sums(columns.size() - 1);
  const auto add_row = [&](const std::string& head, const std::vector<Agreement>& cells) {
    rows.push_back({head, {}});
    for (const Agreement& cell : cells) rows.back().cells.push_back({"", cell.text()});
  };
  for (const std::string& norm : runs.options().norms) {
    std::vector<Agreement> cells;
    for (const Table* table : tables) cells.push_back(table->agreement(norm));
    cells.emplace_back();
    for (size_t t = 0; t < tables.size(); ++t) cells.back().add(cells[t]);
    for (size_t t = 0; t < cells.size(); ++t) sums[t].add(cells[t]);
    if (cells.back().cells > 0) add_row(norm, cells);            // the slides have this norm
  }
  add_row("together", sums);
  const std::string title = formatted("Cells that agree with the print: {} in {} tables", sums.back().text(),
                                      tables.size());
  report.table(title, columns, rows);
  print(title, columns, rows);
}

}  // namespace

std::vector<Item> nt_table_items(const SharedNtRuns& runs) {
  std::vector<Item> items;
  const NtOptions& o = runs->options();
  auto tables = std::make_shared<std::vector<Table>>();
  for (const double layers : o.layers)
    for (size_t w = 0; w < o.widths.size(); ++w)
      tables->push_back({*runs, int(tables->size()) + 1, int(layers), int(o.widths[w]),
                         formatted("{}, {} (H = {})", counted(int64_t(layers), "layer"), nt_width_names[w],
                                   o.widths[w])});
  for (const Table& table : *tables)
    items.push_back({table.name(), "Converged or not: " + table.title(),
                     [runs, tables, &table] { return table.runs(); },
                     [runs, tables, &table](ItemReport& report) {
                       table.show(report);
                       std::vector<const Table*> done;
                       for (const Table& other : *tables)
                         if (other.is_done()) done.push_back(&other);
                       if (done.size() > 1 && done.back() == &table) show_agreement(*runs, done, report);
                     }});
  return items;
}

}  // namespace minbert
