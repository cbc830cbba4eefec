// How training goes at a rate at which all converge: the loss, and how far a step changes it and
// its gradient.
#include <cmath>

#include "engine/text.h"
#include "papers/nt/transformer_norms.h"
#include "report/curves.h"

namespace minbert {
namespace {

std::string setup_text(const SharedNtRuns& runs) {
  const NtSetup s = runs->curve_setup("layer", 0);
  return formatted("{}, H = {}, learning rate {}", counted(s.layers, "layer"), s.width, s.lr);
}

auto landscape_grid(const SharedNtRuns& runs) {
  const auto run = [=](const std::string& norm, int seed) {
    return runs->landscape_training(runs->curve_setup(norm, seed));
  };
  return RunGrid(run, runs->o.norms, runs->seeds());
}

// With either of the things that the classifier may read.
auto reading_grid(const SharedNtRuns& runs) {
  const auto run = [=](const std::string& norm, const std::string& read, int seed) {
    NtSetup setup = runs->curve_setup(norm, seed);
    setup.read = choice<NtRead>(read, "read");
    return runs->training(setup);
  };
  return RunGrid(run, runs->o.norms, choices<NtRead>(), runs->seeds());
}

// [NT fig.4] [NT sec.5]. The rows "fall", for the claim that all converge, hold 0 or 1, "accuracy" the share of
// the validation sentences that are right in the end.
void fig4(const SharedNtRuns& runs, ItemReport& report) {
  LongTable table({"norm", "seed", "epoch", "split", "value"}),
      evidence({"norm", "seed", "split", "value"});
  const auto grid = reading_grid(runs);
  const auto result_of = [&](const std::string& norm, int seed) {
    return runs->result(grid.run(norm, name_of(runs->o.read), seed));
  };
  Figure figure{.title = setup_text(runs), .columns = 2, .shared_y = true};
  for (const auto& [split, key] :
       {std::pair("train", "mean"), std::pair("validation", "dev_loss")}) {
    figure.panels.push_back(
        {.title = split, .x_label = "epoch", .y_label = "loss, in nats", .log_y = true});
    for (const std::string& norm : runs->o.norms) {
      std::vector<Series> of_seeds;
      for (const int seed : runs->seeds()) {
        Series losses;
        for (const Json& e : result_of(norm, seed)["epochs"].items()) {
          losses.x.push_back(double(losses.x.size() + 1));
          losses.y.push_back(e[key].number_if().value_or(NAN));
          table(norm, seed, losses.x.back(), split) = finite(losses.y.back());
        }
        evidence(norm, seed, split) = finite(summarize(losses.y).mean);
        of_seeds.push_back(losses);
      }
      figure.panels.back().curves.push_back(mean_of(norm, of_seeds));
    }
  }
  product([&](const std::string& norm, int seed) {
    const Json result = result_of(norm, seed);
    if (is_nt_norm(norm)) evidence(norm, seed, "fall") = converged(result);
    evidence(norm, seed, "accuracy") = last_accuracy(result);
  }, runs->o.norms, runs->seeds());
  const auto accuracy = [&](const std::string& norm, const std::string& read) {
    return runs->cell([&](int seed) { return grid.run(norm, read, seed); }).accuracy();
  };
  report.table(formatted("Share of the validation sentences that are right after the last epoch, by what the "
                         "classifier reads: [CLS], or the mean of the sentence. The largest class alone: {}",
                         fixed(runs->data().majority, 3)),
               "norm", runs->o.norms, choices<NtRead>(), accuracy);
  report.csv(table);
  report.judge_by(evidence);
  report.figure(figure,
                "Loss over the epochs: of training, the mean over the epoch's batches while the "
                "weights move; of validation, after the epoch");
  report.caption(setup_text(runs));
  runs->differs(report);
}

// [NT fig.5] [NT fig.6]
void landscape(const SharedNtRuns& runs, const std::string& key, const std::string& y_label,
               const std::string& what, ItemReport& report) {
  LongTable table({"norm", "seed", "step", "value"});
  Panel panel{.title = setup_text(runs), .x_label = "step", .y_label = y_label, .log_y = true};
  for (const std::string& norm : runs->o.norms) {
    std::vector<Series> of_seeds;
    for (const int seed : runs->seeds()) {
      const Json result = runs->result(landscape_grid(runs).run(norm, seed));
      const auto& [x, y] =
          of_seeds.emplace_back(result["steps"].numbers(), result[key].numbers());
      for (size_t i = 0; i < x.size(); ++i) table(norm, seed, x[i]) = finite(y[i]);
    }
    panel.curves.push_back(mean_of(norm, of_seeds));
  }
  report.csv(table);
  report.figure({.title = "", .panels = {panel}}, what);
  report.caption(setup_text(runs));
  runs->differs(report);
  report.caption(formatted("every {} steps, on the first batch", runs->o.measure_every));
}

}  // namespace

std::vector<Item> nt_curve_items(const SharedNtRuns& runs) {
  const auto show_loss = [=](ItemReport& r) {
    landscape(
        runs, "loss", "max |L(W) - L(W - a ∇L)|, in nats",
        "How far the loss changes along a step, for the largest of ten a below the learning rate",
        r);
  };
  const auto show_gradient = [=](ItemReport& r) {
    landscape(runs, "gradient", "max ‖∇L(W) - ∇L(W - a ∇L)‖",
              "How far the gradient changes along a step, for the largest of ten a below the "
              "learning rate",
              r);
  };
  return {{"fig4", reading_grid(runs), std::bind_front(fig4, runs)},
          {"fig5", landscape_grid(runs), show_loss},
          {"fig6", landscape_grid(runs), show_gradient}};
}

}  // namespace minbert
