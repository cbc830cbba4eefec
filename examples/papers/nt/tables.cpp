// Converged or not, by learning rate and norm, in six sizes [NT tab.1] [NT tab.2] [NT tab.3] [NT
// tab.4] [NT tab.5] [NT tab.6].
#include <algorithm>
#include <iostream>

#include "engine/text.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

struct Table {
  SharedNtRuns runs;
  int number, layers, width;
  std::string title;  // "1 layer, narrow (H = 16)"

  std::string name() const { return formatted("tab{}", number); }
  auto grid() const {
    const auto run = [t = *this](double lr, const std::string& norm, int seed) {
      return t.runs->training(
          {.layers = t.layers, .width = t.width, .norm = norm, .seed = seed, .lr = lr});
    };
    return RunGrid(run, runs->o.lr, runs->o.norms, runs->seeds());
  }
  bool is_done() const {
    return std::ranges::all_of(
        grid()(), [this](const Run& run) { return runs->document.study().is_done(run); });
  }
  NtCell cell(double lr, const std::string& norm) const {
    NtCell c = runs->cell([&, all = grid()](int seed) { return all.run(lr, norm, seed); });
    for (const double v :
         runs->document.printed(name()).values({{"norm", norm}, {"lr", formatted("{}", lr)}}))
      c.printed = v > 0;
    return c;
  }
};

Agreement agreement(const std::vector<Table>& tables, const Names& norms) {
  Agreement all;
  for (const Table& table : tables)
    product([&](double lr, const std::string& norm) { all.add(table.cell(lr, norm)); },
            table.runs->o.lr, norms);
  return all;
}

// The values in the csv, every epoch's losses, and 0 or 1 for the claims, which are about the
// slides' three norms.
void values(const Table& t, ItemReport& report) {
  LongTable table({"layers", "width", "norm", "lr", "seed", "verdict", "first_loss", "last_loss",
                   "dev_accuracy"});
  LongTable losses({"layers", "width", "norm", "lr", "seed", "epoch", "split", "loss"});
  LongTable judged({"norm", "lr", "seed", "converged"});
  const auto grid = t.grid();
  grid.each([&](double lr, const std::string& norm, int seed) {
    const Json result = t.runs->result(grid.run(lr, norm, seed));
    const Names shown = outcome(result);
    table(t.layers, t.width, norm, lr, seed, shown[0], shown[1], shown[2]) = last_accuracy(result);
    for (int epoch = 1; const Json& e : result["epochs"].items()) {
      losses(t.layers, t.width, norm, lr, seed, epoch, "train") = e["mean"].number_if();
      losses(t.layers, t.width, norm, lr, seed, epoch++, "dev") = e["dev_loss"].number_if();
    }
    if (is_nt_norm(norm)) judged(norm, lr, seed) = counts_as_converged(convergence(result));
  });
  report.csv(std::move(table));
  report.csv(std::move(losses), "losses");
  report.judge_by(std::move(judged));
}

// How many runs get another verdict under another rule.
void thresholds(const Table& t, ItemReport& report) {
  struct Other {
    std::string title;
    ConvergenceRule rule;
  };
  std::vector<Other> others;
  for (const double errors : {0, 1, 3, 4})
    others.push_back({formatted("{} instead of 2 standard errors", errors), {errors}});
  for (const double slow : {0.05, 0.2})
    others.push_back({formatted("slow under {} % instead of 10 %", 100 * slow), {.slow = slow}});
  const std::vector<Run> runs = t.grid()();
  report.table(formatted("Verdicts of {} runs that another threshold would change", runs.size()),
               "", others, Names{"converged or not", "any verdict"},
               [&](const Other& other, const std::string& column) {
    return std::to_string(std::ranges::count_if(runs, [&](const Run& run) {
      const Json result = t.runs->result(run);
      const Convergence now = convergence(result), then = convergence(result, other.rule);
      return column == "any verdict" ? now != then
                                     : counts_as_converged(now) != counts_as_converged(then);
    }));
  });
}

// The report's last table, on the terminal.
void print(const std::string& name, const ItemReport& report) {
  const Json table = report.json()["tables"].items().back();
  std::vector<Names> lines = {{}};
  for (const Json& column : table["columns"].items()) lines[0].push_back(column.string());
  for (const Json& row : table["rows"].items()) {
    lines.push_back({row["head"].string()});
    for (const Json& cell : row["cells"].items()) {
      const bool differs = cell.has("note") && cell["note"].string().starts_with("not as printed");
      lines.back().push_back(cell["ours"].string() +
                             (differs ? " (printed: " + cell["printed"].string() + ")" : ""));
    }
  }
  std::cout << formatted("{}{}\n{}\n", name, table["title"].string(), text_table(lines));
}

void show(const Table& t, ItemReport& report) {
  const NtOptions& o = t.runs->o;
  report.table(
      formatted("{}: {} cells agree with the print", t.title, agreement({t}, o.norms).text()),
      "learning rate", o.lr, o.norms,
      [&](double lr, const std::string& norm) { return t.cell(lr, norm).shown(); });
  print(t.name() + ": ", report);
  thresholds(t, report);
  values(t, report);
  report.caption(
      "converged: every loss is finite, and the mean over the last epoch's batches is below the "
      "first's by more than 2 standard errors of the difference; slow: by less than a tenth; flat: "
      "no epoch is below the entropy of the classes' shares by more than 2 standard errors, which "
      "is the loss of a model that knows these shares and ignores the sentence; slow and flat "
      "count as converged");
  report.caption("a first epoch whose loss falls steeply has a large standard error");
  t.runs->differs(report);
  report.differs(
      "the slides do not say what converged means, how many epochs they train, with what batch "
      "size or how wide their models are; these are ours");
}

// Cells that agree with the print, by norm, in each table and in all of them: on the page, and on
// the terminal.
void show_agreement(const std::vector<Table>& tables, ItemReport& report) {
  struct Row {
    std::string title;
    Names norms;
  };
  struct Column {
    std::string title;
    std::vector<Table> tables;
  };
  const Names& norms = tables[0].runs->o.norms;
  std::vector<Row> rows;
  for (const std::string& norm : norms)
    if (agreement(tables, {norm}).cells > 0)
      rows.push_back({norm, {norm}});  // the slides have this norm
  rows.push_back({"together", norms});
  std::vector<Column> columns;
  for (const Table& table : tables) columns.push_back({table.name(), {table}});
  columns.push_back({"together", tables});
  report.table(formatted("Cells that agree with the print: {} in {} tables",
                         agreement(tables, norms).text(), tables.size()),
               "", rows, columns, [&](const Row& row, const Column& column) {
                 return agreement(column.tables, row.norms).text();
               });
  print("", report);
}

}  // namespace

std::vector<Item> nt_table_items(const SharedNtRuns& runs) {
  const NtOptions& o = runs->o;
  std::vector<Table> tables;
  for (const double layers : o.layers)
    for (size_t w = 0; w < o.widths.size(); ++w)
      tables.push_back({runs, int(tables.size()) + 1, int(layers), int(o.widths[w]),
                        formatted("{}, {} (H = {})", counted(int64_t(layers), "layer"),
                                  nt_width_names[w], o.widths[w])});
  std::vector<Item> items;
  for (const Table& table : tables)
    items.push_back({table.name(), "Converged or not: " + table.title, table.grid(),
                     [=](ItemReport& report) {
      show(table, report);
      std::vector<Table> done = tables;
      std::erase_if(done, [](const Table& other) { return !other.is_done(); });
      if (done.size() > 1 && done.back().number == table.number) show_agreement(done, report);
                     }});
  return items;
}

}  // namespace minbert
