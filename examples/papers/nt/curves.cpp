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

// A norm's seeds as curves, each the mean over those with the same outcome: a mean over unlike ones
// is of none of them.
class CurvesByOutcome {
 public:
  void add(const Json& result, Series of_seed) {
    of_outcome_[size_t(convergence(result))].push_back(std::move(of_seed));
  }
  void draw(const std::string& norm, Panel& panel) const {
    for (size_t v = 0; v < convergence_names.size(); ++v)
      if (const auto& alike = of_outcome_[v]; !alike.empty())
        panel.curves.push_back(
            mean_of(formatted("{}: {} {}", norm, alike.size(), convergence_names[v]), alike));
  }

 private:
  std::vector<std::vector<Series>> of_outcome_{convergence_names.size()};
};

struct Split {
  const char *name, *loss;                          // loss: of an epoch, in the results
};
constexpr Split splits[] = {{"train", "mean"}, {"validation", "dev_loss"}};

// [NT fig.4] [NT sec.5]: one of its two panels, and its rows of the CSV
Panel loss_panel(const SharedNtRuns& runs, const Split& split, LongTable& table) {
  Panel panel{.title = split.name, .x_label = "epoch", .y_label = "loss, in nats", .log_y = true};
  for (const std::string& norm : runs->o.norms) {
    CurvesByOutcome curves;
    for (const int seed : runs->seeds()) {
      const Json result = runs->result(reading_grid(runs).run(norm, name_of(runs->o.read), seed));
      Series losses;
      for (const Json& e : result["epochs"].items()) {
        losses.add(double(losses.x.size() + 1), e[split.loss].number_if().value_or(NAN));
        table(norm, seed, losses.x.back(), split.name) = finite(losses.y.back());
      }
      curves.add(result, std::move(losses));
    }
    curves.draw(norm, panel);
  }
  return panel;
}

// For the claims: the epochs until the loss is below the entropy, the last epoch's share of right validation
// sentences, and whether the run learned, 0 or 1.
LongTable fig4_evidence(const SharedNtRuns& runs) {
  LongTable evidence({"norm", "seed", "what", "value"});
  product([&](const std::string& norm, int seed) {
    const Json result = runs->result(reading_grid(runs).run(norm, name_of(runs->o.read), seed));
    const int epochs = runs->o.epochs;
    evidence(norm, seed, "train") = epochs_to_learn(result, epochs);
    evidence(norm, seed, "validation") = epochs_to_learn_on_dev(result, epochs, runs->data().dev_entropy);
    evidence(norm, seed, "accuracy") = last_accuracy(result);
    if (is_nt_norm(norm)) evidence(norm, seed, "learned") = learned(result);
  }, runs->o.norms, runs->seeds());
  return evidence;
}

// [NT fig.4] [NT sec.5]
void fig4(const SharedNtRuns& runs, ItemReport& report) {
  LongTable table({"norm", "seed", "epoch", "split", "value"});
  Figure figure{.title = setup_text(runs), .columns = 2, .shared_y = true};
  for (const Split& split : splits) figure.panels.push_back(loss_panel(runs, split, table));
  const LongTable evidence = fig4_evidence(runs);
  report.csv(table);
  report.judge_by(evidence, {1, 2, "epochs"});
  report.yardsticks(runs->yardsticks());            // shares: below every number of epochs
  report.figure(figure,
                "Loss over the epochs: of training, the mean over the epoch's batches while the "
                "weights move; of validation, after the epoch. Means over the seeds with the same outcome");
  report.table(formatted("Epochs until the loss is below the entropy of the classes' shares, {} for a run that "
                         "never gets there: the median of the seeds, the least and the largest", runs->o.epochs + 1),
               "norm", runs->o.norms, Names{"train", "validation"},
               [&](const std::string& norm, const std::string& split) {
                 const Numbers epochs = evidence.values({{"norm", norm}, {"what", split}});
                 return ItemReport::Cell{"", median_text(epochs, 0), epochs};
               });
  const auto accuracy = [&](const std::string& norm, const std::string& read) {
    return runs->cell([&](int seed) { return reading_grid(runs).run(norm, read, seed); }).accuracy();
  };
  report.table(formatted("Share of the validation sentences that are right after the last epoch, the median of the "
                         "seeds, the least and the largest, by what the classifier reads: [CLS], or the mean of the "
                         "sentence. The largest class alone: {}", fixed(runs->data().majority, 3)),
               "norm", runs->o.norms, choices<NtRead>(), accuracy);
  report.caption(setup_text(runs));
  runs->differs(report);
}

// [NT fig.5] [NT fig.6]
void landscape(const SharedNtRuns& runs, const std::string& key, const std::string& y_label, ItemReport& report) {
  LongTable table({"norm", "seed", "step", "value"}), means({"norm", "seed", "value"});
  Panel panel{.title = setup_text(runs), .x_label = "step", .y_label = y_label, .log_y = true};
  for (const std::string& norm : runs->o.norms) {
    CurvesByOutcome curves;
    for (const int seed : runs->seeds()) {
      const Json result = runs->result(landscape_grid(runs).run(norm, seed));
      Series changes{result["steps"].numbers(), result[key].numbers()};
      for (size_t i = 0; i < changes.x.size(); ++i)
        table(norm, seed, changes.x[i]) = finite(changes.y[i]);
      means(norm, seed) = finite(summarize(changes.y).mean);
      curves.add(result, std::move(changes));
    }
    curves.draw(norm, panel);
  }
  report.csv(table);
  report.judge_by(means);
  report.figure({.title = "", .panels = {panel}},
                formatted("How far the {} changes along a step, for the largest of ten a below the learning rate; "
                          "means over the seeds with the same outcome", key));
  report.caption(setup_text(runs));
  runs->differs(report);
  report.caption(formatted("every {} steps, on the first batch", runs->o.measure_every));
}

}  // namespace

std::vector<Item> nt_curve_items(const SharedNtRuns& runs) {
  const auto along_a_step = [&](const char* name, const char* key, const char* y_label) {
    return Item{name, landscape_grid(runs), [=](ItemReport& report) { landscape(runs, key, y_label, report); }};
  };
  return {{"fig4", reading_grid(runs), std::bind_front(fig4, runs)},
          along_a_step("fig5", "loss", "max |L(W) - L(W - a ∇L)|, in nats"),
          along_a_step("fig6", "gradient", "max ‖∇L(W) - ∇L(W - a ∇L)‖")};
}

}  // namespace minbert
