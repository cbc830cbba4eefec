// Converged or not, by learning rate and norm, in six sizes [NT tab.1-6].

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
    for (const double v :
         runs->document.printed(name).values({{"norm", norm}, {"lr", formatted("{}", lr)}}))
      c.printed = v > 0;
    return c;
  }
};

// The values in the csv, every epoch's losses, and 0 or 1 for the claims, which are about the
// slides' three norms.
void values(const Table& t, ItemReport& report) {
  LongTable table({"layers", "width", "norm", "lr", "seed", "verdict", "first_loss", "last_loss",
                   "dev_accuracy"});
  LongTable losses({"layers", "width", "norm", "lr", "seed", "epoch", "split", "loss"});
  LongTable evidence({"norm", "lr", "seed", "converged"});
  const auto grid = t.grid();
  grid.each([&](double lr, const std::string& norm, int seed) {
    const Json result = t.runs->result(grid.run(lr, norm, seed));
    const Names shown = outcome(result);
    table(t.layers, t.width, norm, lr, seed, shown[0], shown[1], shown[2]) = last_accuracy(result);
    for (int epoch = 1; const Json& e : result["epochs"].items()) {
      losses(t.layers, t.width, norm, lr, seed, epoch, "train") = e["mean"].number_if();
      losses(t.layers, t.width, norm, lr, seed, epoch++, "dev") = e["dev_loss"].number_if();
    }
    if (is_nt_norm(norm)) evidence(norm, lr, seed) = converged(result);
  });
  report.csv(table);
  report.csv(losses, "losses");
  report.judge_by(evidence);
}

// [NT tab.1-6]
void show(const Table& t, ItemReport& report) {
  const NtOptions& o = t.runs->o;
  size_t agree = 0, strictly = 0, cells = 0;
  product([&](double lr, const std::string& norm) {
    const NtCell cell = t.cell(lr, norm);
    agree += cell.agrees();
    strictly += cell.agrees(false);
    cells += cell.printed.has_value();
  }, o.lr, o.norms);
  const std::string count =
      formatted(": {} of {} cells agree with the print; {} if a flat loss is not converged", agree, cells, strictly);
  report.table(
      t.title + (o.judges() ? count : ""), "learning rate", o.lr, o.norms,
      [&](double lr, const std::string& norm) { return t.cell(lr, norm).shown(); });
  values(t, report);
  t.runs->differs(report);
}

}  // namespace

std::vector<Item> nt_table_items(const SharedNtRuns& runs) {
  const NtOptions& o = runs->o;
  std::vector<Item> items;
  for (const double layers : o.layers)
    for (size_t w = 0; w < o.widths.size(); ++w) {
      const Table table{runs, formatted("tab{}", items.size() + 1), int(layers), int(o.widths[w]),
                        formatted("{}, {} (H = {})", counted(int64_t(layers), "layer"),
                                  nt_width_names[w], o.widths[w])};
      items.push_back({table.name, table.grid(), std::bind_front(show, table)});
    }
  return items;
}

}  // namespace minbert
