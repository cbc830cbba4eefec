// What a new network is like: its first gradient, and what other first values make of it.
#include <cmath>

#include "engine/text.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

// ---- The first gradient

struct Width {
  int H;
  std::string name, title;  // "narrow", "narrow (H = 16)"
};
std::vector<Width> widths_of(const NtOptions& o) {
  std::vector<Width> all;
  for (const double H : o.widths)
    all.push_back({int(H), nt_width_names[all.size()],
                   formatted("{} (H = {})", nt_width_names[all.size()], H)});
  return all;
}

auto gradient_grid(const SharedNtRuns& runs, int layers) {
  const auto run = [=](const std::string& norm, const Width& width, int seed) {
    return runs->first_gradient({.layers = layers, .width = width.H, .norm = norm, .seed = seed});
  };
  return RunGrid(run, runs->o.norms, widths_of(runs->o), runs->seeds());
}

// [NT fig.2] [NT fig.3]
void first_gradients(const SharedNtRuns& runs, int layers, ItemReport& report) {
  const std::vector<Width> widths = widths_of(runs->o);
  const bool several = runs->o.seeds > 1;
  LongTable table({"layers", "width", "norm", "seed", "value"});
  const auto grid = gradient_grid(runs, layers);
  grid.each([&](const std::string& norm, const Width& width, int seed) {
    table(layers, width.H, norm, seed) =
        runs->result(grid.run(norm, width, seed))["gradient"].number_if();
  });
  const auto values = [&](const std::string& norm, const Width& width) {         // two widths may be one
    Numbers all;
    for (const int seed : runs->seeds())
      if (const auto value = runs->result(grid.run(norm, width, seed))["gradient"].number_if()) all.push_back(*value);
    return all;
  };
  Panel panel{
      .title = counted(layers, "layer"), .x_label = "", .y_label = "norm of the first gradient"};
  for (const Width& width : widths) panel.x_names.push_back(width.name);
  for (const std::string& norm : runs->o.norms) {
    Curve bars{.title = norm, .style = Curve::Style::bars};
    for (size_t w = 0; w < widths.size(); ++w)
      add_mean(bars, double(w), values(norm, widths[w]));
    panel.curves.push_back(std::move(bars));
  }
  report.csv(table);
  report.figure({.title = "", .panels = {panel}},
                "Norm of the first gradient, of all parameters together: " +
                    std::string(several ? "the mean over the seeds, with their standard deviation"
                                        : "one seed"));
  report.table(several ? "Norm of the first gradient, mean and standard deviation over the seeds"
                       : "Norm of the first gradient, one seed",
               "norm", runs->o.norms, widths, [&](const std::string& norm, const Width& width) {
                 const Numbers all = values(norm, width);
                 return ItemReport::Cell{"", all.empty() ? "undefined" : mean_text(all, 3),
                                         several ? all : Numbers()};
               });
  runs->differs(report);
}

// ---- Other first values

struct Start {
  std::string name, title;
  double uniform;
};
const std::vector<Start> starts = {{"xavier-kaiming", "Kaiming, Xavier", 0},
                                   {"uniform-0.1", "U(-.1, .1)", 0.1},
                                   {"uniform-100", "U(-100, 100)", 100}};

// A size, the first values, and a rate: the largest at which all three of the printed tables
// converge, with 5 layers for each of tab.4-6.
struct TitledSetup {
  std::string title, init;
  NtSetup setup;
};
std::vector<TitledSetup> titled_setups(const NtOptions& o) {
  std::vector<TitledSetup> all;
  const auto add_setup = [&](double layers, size_t width, const Start& start) {
    const double lr = layers == o.layers[0] ? 0.1 : width < 2 ? 0.001 : 0.0001;
    all.push_back({formatted("{}, {}: {}", counted(int64_t(layers), "layer"), nt_width_names[width],
                             start.title),
                   start.name,
                   {.layers = int(layers),
                    .width = int(o.widths[width]),
                    .norm = "",
                    .lr = lr,
                    .uniform = start.uniform}});
  };
  product(add_setup, o.layers, std::vector<size_t>{0, 2}, starts);
  return all;
}

auto start_grid(const SharedNtRuns& runs) {
  const auto run = [runs](const TitledSetup& titled, const std::string& norm, int seed) {
    NtSetup setup = titled.setup;
    setup.norm = norm;
    setup.seed = seed;
    return runs->training(setup);
  };
  return RunGrid(run, titled_setups(runs->o), runs->o.norms, runs->seeds());
}

// [NT init] [NT init.uniform]
void initialisation(const SharedNtRuns& runs, ItemReport& report) {
  LongTable table({"init", "norm", "seed", "verdict", "first_loss", "last_loss", "layers", "width",
                   "lr", "dev_accuracy"});
  LongTable evidence({"init", "layers", "width", "norm", "seed", "what", "value"});
  const auto grid = start_grid(runs);
  grid.each([&](const TitledSetup& s, const std::string& norm, int seed) {
    const Json result = runs->result(grid.run(s, norm, seed));
    const Names shown = outcome(result);
    table(s.init, norm, seed, shown[0], shown[1], shown[2], s.setup.layers, s.setup.width,
          s.setup.lr) = last_accuracy(result);
    if (!is_nt_norm(norm)) return;
    const auto is = [&](const char* what) -> std::optional<double>& {
      return evidence(s.init, s.setup.layers, s.setup.width, norm, seed, what);
    };
    is("learned") = learned(result), is("fell") = fell(result);
  });
  report.csv(table);
  report.judge_by(evidence);
  report.table("What becomes of training from each initialisation; losses: medians over the seeds", "",
               titled_setups(runs->o), runs->o.norms, [&](const TitledSetup& titled, const std::string& norm) {
                 return runs->cell([&](int seed) { return grid.run(titled, norm, seed); }).shown();
               });
  runs->differs(report);
}

}  // namespace

std::vector<Item> nt_first_gradient_items(const SharedNtRuns& runs) {
  const auto item = [&](const char* name, double layers) {
    return Item{name, gradient_grid(runs, int(layers)),
                [=](ItemReport& report) { first_gradients(runs, int(layers), report); }};
  };
  return {item("fig2", runs->o.layers[0]),
          item("fig3", runs->o.layers[1])};
}

Item nt_initialisation_item(const SharedNtRuns& runs) {
  return {"init", start_grid(runs), std::bind_front(initialisation, runs)};
}

}  // namespace minbert
