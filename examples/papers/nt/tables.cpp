// Converged or not, by learning rate and norm, in six sizes [NT tab.1-6].
#include <algorithm>

#include "engine/text.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

struct Table {
  SharedNtRuns runs;
  std::string name;  // "tab1"
  int layers, width;
  std::string title;  // "1 layer, narrow (H = 16)"

  auto grid() const {
    const auto run = [t = *this](double lr, const std::string& norm, int seed) {
      return t.runs->training(
          {.layers = t.layers, .width = t.width, .norm = norm, .seed = seed, .lr = lr});
    };
    return RunGrid(run, runs->o.lr, runs->o.norms, runs->seeds());
  }
  NtCell cell(double lr, const std::string& norm) const {
    NtCell c = runs->cell([&, all = grid()](int seed) { return all.run(lr, norm, seed); });
    for (const double v : printed({{"norm", norm}, {"lr", formatted("{}", lr)}})) c.printed = v > 0;
    return c;
  }
  Numbers printed(const LongTable::Where& where) const {
    return runs->document.printed(name).values(where);
  }
  // Is the print of this rate's row not the same for all norms?
  bool norms_differ(double lr) const {
    const Numbers row = printed({{"lr", formatted("{}", lr)}});
    return std::ranges::adjacent_find(row, std::not_equal_to()) != row.end();
  }
};

// Of the cells with a print those that agree with it: ours, by what counts as converged, and the
// rule that sees no norm: converged if and only if the rate is at most .1.
struct Agreement {
  size_t cells = 0, learned = 0, ran = 0, by_rate = 0;
};
Agreement agreement(const std::vector<Table>& tables, bool where_norms_differ) {
  Agreement a;
  for (const Table& t : tables)
    product([&](double lr, const std::string& norm) {
      const NtCell cell = t.cell(lr, norm);
      if (!cell.printed || (where_norms_differ && !t.norms_differ(lr))) return;
      ++a.cells;
      a.learned += cell.agrees();
      a.ran += cell.agrees(Convergence::ran);
      a.by_rate += *cell.printed == (lr <= 0.1);
    }, t.runs->o.lr, t.runs->o.norms);
  return a;
}

// Of one table, and with the last one of all six, if all are done.
void show_agreement(const std::vector<Table>& all, size_t which, ItemReport& report) {
  std::vector<ItemReport::TableRow> rows;
  const auto add = [&](const std::string& of, const std::vector<Table>& tables) {
    for (const bool differ : {false, true}) {
      const auto [cells, learned, ran, by_rate] = agreement(tables, differ);
      rows.push_back({of + (differ ? ", rows in which the printed norms differ" : ", all cells"), {}});
      for (const size_t n : {cells, learned, ran, by_rate})
        rows.back().cells.push_back({"", formatted("{}", n)});
    }
  };
  const auto is_done = [](const Table& t) {
    return std::ranges::all_of(t.grid()(), [&](const Run& run) { return t.runs->document.study().is_done(run); });
  };
  add("this table", {all[which]});
  if (which + 1 == all.size() && std::ranges::all_of(all, is_done)) add("all six tables", all);
  report.table("Cells that agree with the print: where converged is learned, where what ran counts as well, "
               "and by the rule that sees no norm: converged if and only if the rate is at most .1",
               {"", "cells", "learned", "learned or ran", "by the rate alone"}, rows);
}

// The values in the csv, every epoch's losses, and for the claims, which are about the slides' three
// norms, whether a run learned, 0 or 1: over all rates the rates at which it does.
void values(const Table& t, ItemReport& report) {
  LongTable table({"layers", "width", "norm", "lr", "seed", "verdict", "first_loss", "last_loss",
                   "dev_accuracy"});
  LongTable losses({"layers", "width", "norm", "lr", "seed", "epoch", "split", "loss"});
  LongTable evidence({"norm", "lr", "seed", "learned"});
  const auto grid = t.grid();
  grid.each([&](double lr, const std::string& norm, int seed) {
    const Json result = t.runs->result(grid.run(lr, norm, seed));
    const Names shown = outcome(result);
    table(t.layers, t.width, norm, lr, seed, shown[0], shown[1], shown[2]) = last_accuracy(result);
    for (int epoch = 1; const Json& e : result["epochs"].items()) {
      losses(t.layers, t.width, norm, lr, seed, epoch, "train") = e["mean"].number_if();
      losses(t.layers, t.width, norm, lr, seed, epoch++, "dev") = e["dev_loss"].number_if();
    }
    if (is_nt_norm(norm)) evidence(norm, lr, seed) = learned(result);
  });
  report.csv(table);
  report.csv(losses, "losses");
  report.judge_by(evidence, {double(t.runs->o.lr.size()), 2, "rates"});
}

// [NT tab.1-6]
void show(const std::vector<Table>& all, size_t which, ItemReport& report) {
  const Table& t = all[which];
  report.table(t.title + "; losses: medians over the seeds", "learning rate", t.runs->o.lr, t.runs->o.norms,
               [&](double lr, const std::string& norm) { return t.cell(lr, norm).shown(); });
  if (t.runs->o.judges()) show_agreement(all, which, report);
  values(t, report);
  t.runs->differs(report);
}

}  // namespace

std::vector<Item> nt_table_items(const SharedNtRuns& runs) {
  const NtOptions& o = runs->o;
  std::vector<Table> tables;
  for (const double layers : o.layers)
    for (size_t w = 0; w < o.widths.size(); ++w)
      tables.push_back({runs, formatted("tab{}", tables.size() + 1), int(layers), int(o.widths[w]),
                        formatted("{}, {} (H = {})", counted(int64_t(layers), "layer"),
                                  nt_width_names[w], o.widths[w])});
  std::vector<Item> items;
  for (size_t i = 0; i < tables.size(); ++i)
    items.push_back({tables[i].name, tables[i].grid(), std::bind_front(show, tables, i)});
  return items;
}

}  // namespace minbert
