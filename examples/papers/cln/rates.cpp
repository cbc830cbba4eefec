// γ_t and β_t at a rate of their own: how large, whether it is they that help, and what is left of it where the tasks'
// batches come in turn.
#include <array>
#include <cmath>

#include "engine/names.h"
#include "engine/text.h"
#include "papers/cln/cln.h"

namespace minbert {
namespace {

constexpr const char *gamma_t = "task_weight", *beta_t = "task_bias", *both_of_them = "task_weight|task_bias",
                     *own_gain_and_bias = "LayerNorm[.](weight|bias)$";

// A row of a table, and its trainings.
struct Setting {
  std::string name, title;
  ClnTraining training;
};

struct Rates : ClnRuns {
  Setting shared(const std::string& norm, Sampling sampling) const {
    const bool own = sampling == o.sampling;
    return {norm, norm == "layer" ? "LayerNorm" : "conditional LayerNorm",
            {own ? "" : "-" + name_of(sampling), norm, "", sampling, o.epochs}};
  }
  Setting shared(const std::string& norm) const { return shared(norm, o.sampling); }
  // `what`: the parameters' name in tables; of a factor of 1 it is the setting with the shared rate
  Setting with_rate(const std::string& norm, const std::string& pattern, const std::string& what, double factor,
                    Sampling sampling) const {
    Setting setting = shared(norm, sampling);
    if (factor != 1) {
      setting.training.rate = formatted("{}={}", pattern, float_text(factor));
      setting.training.name += "-x" + float_text(factor);
    }
    setting.name = what, setting.title += formatted(", rate × {} for {}", float_text(factor), what);
    return setting;
  }
  Setting own_rate(double factor, Sampling sampling) const {
    return with_rate(cln_norms[1], both_of_them, "γ_t and β_t", factor, sampling);
  }
  Setting longer(const std::string& norm) const {
    Setting setting = shared(norm);
    setting.training.epochs *= 2;
    setting.training.name = "-longer";
    setting.name += " longer", setting.title += ", twice the epochs";
    return setting;
  }

  Run run(const Setting& setting, int seed) const { return training(setting.training, seed); }
  std::vector<Run> runs(const std::vector<Setting>& settings) const {
    std::vector<Run> all;
    for (const int seed : document.seeds())
      for (const Setting& setting : settings) all.push_back(run(setting, seed));
    return all;
  }
  Json dev(const Setting& setting, const Task& task, int seed) const {
    return document.result(run(setting, seed))[task.name]["dev"];
  }
  std::optional<double> mean(const Setting& setting, int seed, DevRows rows) const {
    double sum = 0;                                 // none: a task has no score, or every input the same answer
    for (const Task& task : tasks()) {
      const auto score = sound_dev_score(dev(setting, task, seed), first_dev_sets({task})[0], rows);
      if (!score) return {};
      sum += *score / double(tasks().size());
    }
    return sum;
  }

  // Runs of one seed choose a factor other than 1, by the mean of the tasks on the first half of the dev rows. One that
  // stands alone needs no runs.
  std::vector<Run> choosing() const {
    std::vector<Run> all;
    if (o.factors.size() == 1) return all;
    for (const double factor : o.factors) all.push_back(run(own_rate(factor, o.sampling), o.seed));
    return all;
  }
  double chosen() const {
    if (o.factors.size() == 1) return o.factors[0];
    double best = 1, most = -INFINITY;
    for (const double factor : o.factors) {
      if (factor == 1) continue;                    // which stands beside it in any case
      const auto score = mean(own_rate(factor, o.sampling), o.seed, DevRows::first_half);
      if (score && *score > most) most = *score, best = factor;
    }
    return best;
  }
};

void judge(const Rates& rates, ItemReport& report, const LongTable& evidence) {
  report.csv(evidence);
  report.judge_by(evidence, points);
  show_yardsticks(rates.document, rates.tasks(), report, {100, 2}, 0.5);
}

// A row a setting: the mean over the seeds on the half of the dev rows that did not choose the factor. Returns each
// value.
LongTable show_settings(const Rates& rates, ItemReport& report, const std::vector<Setting>& settings,
                        const std::string& title) {
  LongTable table({"setting", "task", "seed", "score"});
  for (const Setting& setting : settings)
    for (const Task& task : rates.tasks())
      for (const int seed : rates.document.seeds())
        table(setting.name, task.name, seed) =
            sound_dev_score(rates.dev(setting, task, seed), first_dev_sets({task})[0], DevRows::second_half);
  report.caption(formatted("the {} factor is {}", rates.o.factors.size() == 1 ? "given" : "chosen",
                           float_text(rates.chosen())));
  std::vector<std::string> columns = names_of(rates.tasks());
  columns.push_back("mean");
  report.table(title, "second half of the dev rows, x 100", settings, columns,
               [&](const Setting& setting, const std::string& column) {
                 Numbers scores;
                 for (const int seed : rates.document.seeds()) {
                   LongTable::Where where = {{"setting", setting.name}, {"seed", std::to_string(seed)}};
                   if (column != "mean") where["task"] = column;
                   const Numbers of_seed = table.values(where);
                   if (of_seed.size() == (column == "mean" ? rates.tasks().size() : 1))
                     scores.push_back(100 * summarize(of_seed).mean);
                 }
                 return ItemReport::Cell{"", defined_text(scores, size_t(rates.o.seeds), 2), scores};
               });
  return table;
}

// How much the loss of each task rises while the others are trained: a table, and rows of the evidence whose setting is
// "SETTING forgets"
void add_rises(const Rates& rates, ItemReport& report, const std::vector<Setting>& settings, LongTable& evidence) {
  if (!rates.forgets()) return;
  report.table("What is forgotten: by how much the loss is higher where a task's next batches begin", "", settings,
               rates.tasks(), [&](const Setting& setting, const Task& task) {
                 const std::string forgets = setting.name + " forgets", loss = "loss of " + task.name;
                 for (const int seed : rates.document.seeds()) {
                   const Kept kept = kept_of(rates.document.folder(rates.run(setting, seed)), task,
                                             setting.training.epochs);
                   evidence(forgets, loss, seed) = finite(kept.after - kept.before);
                 }
                 return defined_text(evidence.values({{"setting", forgets}, {"task", loss}}), size_t(rates.o.seeds), 3);
               });
}

// The scores of the settings, and what they forget
void show_and_judge(const Rates& rates, ItemReport& report, const std::vector<Setting>& settings,
                    const std::string& title) {
  LongTable evidence = show_settings(rates, report, settings, title);
  add_rises(rates, report, settings, evidence);
  judge(rates, report, evidence);
}

std::vector<Setting> of_rate(const Rates& rates) {
  const Sampling sampling = rates.o.sampling;
  return {rates.shared("layer"), rates.shared("conditional-layer"), rates.own_rate(rates.chosen(), sampling)};
}

// [CLN rate]
void show_rate(const Rates& rates, ItemReport& report) {
  Names factors;
  for (const double factor : rates.o.factors) factors.push_back(float_text(factor));
  if (factors.size() > 1)
    report.table("Which factor: one seed, the mean of the tasks on the first half of the dev rows, x 100", "",
                 Names{"mean"}, factors, [&](const std::string&, const std::string& factor) {
                   const auto score = rates.mean(rates.own_rate(std::stod(factor), rates.o.sampling),
                                                 rates.o.seed, DevRows::first_half);
                   return score ? fixed(100 * *score, 2) : "undefined";
                 });
  show_and_judge(rates, report, of_rate(rates), formatted("With the factor {}", float_text(rates.chosen())));
}

// What else may be the reason: a larger rate for any gain, one of the two alone, more steps.
std::vector<Setting> of_controls(const Rates& rates) {
  const double factor = rates.chosen();
  const Sampling sampling = rates.o.sampling;
  return {rates.own_rate(factor, sampling),
          rates.with_rate("layer", own_gain_and_bias, "its own γ and β", factor, sampling),
          rates.with_rate("conditional-layer", gamma_t, "γ_t", factor, sampling),
          rates.with_rate("conditional-layer", beta_t, "β_t", factor, sampling),
          rates.longer("layer"), rates.longer("conditional-layer")};
}

// [CLN controls]
void show_controls(const Rates& rates, ItemReport& report) {
  show_and_judge(rates, report, of_controls(rates), "What else may be the reason");
}

std::vector<Setting> of_turns(const Rates& rates) {
  constexpr Sampling turns = Sampling::round_robin;
  return {rates.shared("layer", turns), rates.shared("conditional-layer", turns),
          rates.own_rate(rates.chosen(), turns)};
}

// [CLN turns]
void show_turns(const Rates& rates, ItemReport& report) {
  judge(rates, report, show_settings(rates, report, of_turns(rates), "With the batches of the tasks in turn"));
}

// The study's own, and in turn; of a study in turn, the document's
std::array<Sampling, 2> orders(const Rates& rates) {
  const bool in_turn = rates.o.sampling == Sampling::round_robin;
  return {rates.o.sampling, in_turn ? Sampling::sequential : Sampling::round_robin};
}

std::vector<Setting> of_order(const Rates& rates) {
  std::vector<Setting> all;
  for (const Sampling order : orders(rates))
    for (const std::string& norm : cln_norms) all.push_back(rates.shared(norm, order));
  return all;
}

// What the norm gains in each order: conditional LayerNorm less LayerNorm, in the mean of the tasks
LongTable gains_by_order(const Rates& rates) {
  LongTable gains({"order", "seed", "gain"});
  for (const Sampling order : orders(rates))
    for (const int seed : rates.document.seeds()) {
      const auto with = rates.mean(rates.shared("conditional-layer", order), seed, DevRows::second_half),
                 without = rates.mean(rates.shared("layer", order), seed, DevRows::second_half);
      gains(name_of(order), seed) = with && without ? std::optional(*with - *without) : std::nullopt;
    }
  return gains;
}

// [CLN order]
void show_order(const Rates& rates, ItemReport& report) {
  const LongTable gains = gains_by_order(rates);
  report.csv(gains);
  report.judge_by(gains, points);
  report.table("What conditional LayerNorm gains, in the mean of the tasks, x 100", "", Names{"gain"},
               orders(rates),
               [&](const std::string&, Sampling order) {
                 Numbers of_order = gains.values({{"order", name_of(order)}});
                 for (double& gain : of_order) gain *= points.factor;
                 return defined_text(of_order, size_t(rates.o.seeds), points.digits);
               });
}

}  // namespace

std::vector<Item> rate_items(const ClnRuns& runs) {
  const Rates rates{runs};
  const auto choosing = [rates] { return rates.choosing(); };
  const auto item = [&](const char* name, auto settings, auto show) {
    const auto of_settings = [=] { return rates.runs(settings(rates)); };
    return Item{name, both(yardstick_runs(runs.document, runs.tasks()), of_settings), std::bind_front(show, rates),
                choosing, true};
  };
  return {item("rate", of_rate, show_rate), item("controls", of_controls, show_controls),
          item("turns", of_turns, show_turns),
          Item{.name = "order", .runs = [rates] { return rates.runs(of_order(rates)); },
               .show = std::bind_front(show_order, rates), .by_name = true}};
}

}  // namespace minbert
