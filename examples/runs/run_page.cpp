// The items of a run's page.
#include "runs/run_page.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/ranks.h"
#include "engine/text.h"
#include "minbert/files.h"
#include "files/about.h"
#include "runs/predicted.h"
#include "runs/recorder.h"
#include "runs/yardsticks.h"
#include "report/curves.h"
#include "report/report.h"
#include "report/run_figures.h"

namespace minbert {
namespace {

constexpr size_t most_inputs = 20;

ItemReport scores_item(const std::string& folder, const Experiment& experiment,
                       const RunResult& result, const std::vector<Scores>& yardsticks) {
  ItemReport item = page_item(folder, "scores", "Scores on dev, of the best epoch");
  std::vector<Scores> all = yardsticks;
  all.insert(all.begin(), result.dev);
  std::vector<ItemReport::TableRow> rows;
  for (size_t t = 0; t < result.dev.size(); ++t) {
    const Task& task = experiment.data()[t].task;
    const std::vector<Measure> list = measures(task);
    for (size_t m = 0; m < list.size(); ++m) {
      rows.push_back({title_of(task, list[m].set) + " " + metric_name(list[m].metric), {}});
      for (const Scores& scores : all)
        rows.back().cells.push_back({"", score_text(scores[t][m])});
    }
  }
  Names columns = yardstick_names;
  columns.insert(columns.begin(), {"", "this run"});
  item.table(formatted("Epoch {} has the best mean, {}. Yardsticks: the most frequent label (of a "
                       "similarity the mean), and regression on the counts of word pieces, blind "
                       "to their order",
                       result.best_epoch + 1, fixed(mean_score(result.dev), 4)),
             columns, rows);
  return item;
}

// The confusion matrix of the dev set; for a score, a scatter plot.
void add_confusion(ItemReport& item, const TaskData& d, const Predictions& predicted) {
  const std::vector<Example>& examples = d.dev[0].examples;
  const Names labels = labels_of(d.task);
  if (labels.empty()) {
    Curve points{.title = "", .style = Curve::Style::points};
    for (size_t i = 0; i < examples.size(); ++i) {
      points.x.push_back(examples[i].label);
      points.y.push_back(predicted.values[i]);
    }
    const Panel panel{.title = d.task.title, .x_label = "label", .y_label = "predicted",
                      .curves = {points}};
    return item.figure({.title = "", .panels = {panel}}, "A point is a dev example");
  }
  Matrix count(labels.size(), Numbers(labels.size()));
  for (size_t i = 0; i < examples.size(); ++i)
    ++count[size_t(examples[i].label)][size_t(predicted.values[i])];
  const auto at = [&](const std::string& name) {
    return size_t(std::ranges::find(labels, name) - labels.begin());
  };
  item.table("How many dev examples of each label are predicted as which", "label \\ predicted",
             labels, labels, [&](const std::string& label, const std::string& said) {
               return ItemReport::Cell{.printed = "",
                                       .ours = fixed(count[at(label)][at(said)], 0),
                                       .mark = label == said ? "good" : ""};
             });
  // Precision: of what is predicted so, the share that is right; recall: of what is labeled so.
  std::vector<ItemReport::TableRow> rows;
  for (size_t c = 0; c < labels.size(); ++c) {
    double predicted_so = 0;
    for (const Numbers& of_label : count) predicted_so += of_label[c];
    const double labeled_so = std::accumulate(count[c].begin(), count[c].end(), 0.0);
    const auto share = [](double part, double whole) {
      return ItemReport::Cell{.printed = "", .ours = whole > 0 ? fixed(part / whole, 3) : "undefined"};
    };
    const auto trained_on = std::ranges::count(d.train.examples, double(c), &Example::label);
    rows.push_back({labels[c],
                    {share(count[c][c], predicted_so), share(count[c][c], labeled_so),
                     share(2 * count[c][c], predicted_so + labeled_so),
                     {"", fixed(labeled_so, 0)}, {"", std::to_string(trained_on)}}});
  }
  item.table("Each class: precision, recall, F1, and its rows",
             {"", "precision", "recall", "F1", "dev rows", "training rows"}, rows);
}

// The dev examples with the largest loss: cross-entropy, or squared error.
void add_worst(ItemReport& item, const TaskData& d, const Predictions& predicted,
               const std::string& inside) {
  const std::vector<Example>& examples = d.dev[0].examples;
  const bool is_score = d.task.kind == TaskKind::regression;
  std::vector<std::pair<double, size_t>> worst;     // loss, example
  for (size_t i = 0; i < examples.size(); ++i) {
    const double label = examples[i].label;
    const double loss =
        is_score ? (predicted.values[i] - label) * (predicted.values[i] - label)
                 : -std::log(probabilities(d.task.kind, predicted.row(i))[size_t(label)]);
    worst.emplace_back(-loss, i);
  }
  std::ranges::sort(worst);
  worst.resize(std::min(worst.size(), most_inputs));
  std::vector<ItemReport::Input> list;
  for (const auto& [minus_loss, i] : worst) {
    const Example& e = examples[i];
    std::string said = formatted("labeled {}; predicted {}", in_words(d.task, e.label),
                                 in_words(d.task, predicted.values[i]));
    if (!is_score)
      said += formatted(" (probability {}; of the label {})",
                        fixed(std::ranges::max(probabilities(d.task.kind, predicted.row(i))), 2),
                        fixed(std::exp(minus_loss), 4));
    std::string command = formatted("{} --task {} --label {} --text {}", inside, d.task.name,
                                    shell_word(d.task.label_text(e.label)), shell_word(e.texts[0]));
    if (e.texts.size() > 1) command += " --text-b " + shell_word(e.texts[1]);
    int64_t tokens = 0;                             // of a siamese pair twice the longer one
    for (const Sequence& input : e.inputs)
      tokens = std::max(tokens, int64_t(e.inputs.size() * input.ids.size()));
    if (tokens > 64) command += formatted(" --tokens {}", tokens);
    list.push_back({e.texts, said, command});
  }
  item.inputs(formatted("The {} dev examples it gets most wrong, each with the command that shows "
                        "the network at it", list.size()), list);
}

// |γ_t| by epoch, where the norms are conditional.
std::optional<ItemReport> gamma_item(const std::string& folder, const Experiment& experiment) {
  const CsvTable epochs(folder + "/epochs.csv");
  Panel panel{.title = "conditional LayerNorm", .x_label = "epoch", .y_label = "mean length of γ_t"};
  for (const TaskData& d : experiment.data())
    if (const std::string column = d.task.name + "_gamma"; epochs.has(column))
      panel.curves.push_back({.title = d.task.title,
                              .x = epochs.numbers("epoch"),
                              .y = epochs.numbers(column),
                              .style = Curve::Style::line_and_points});
  if (panel.curves.empty()) return std::nullopt;
  ItemReport item = page_item(folder, "gamma", "How far each task's norms are from the shared ones");
  item.figure({.title = "", .panels = {panel}},
              "The length of γ_t, the mean over all norms: 0 is the shared LayerNorm");
  return item;
}

}  // namespace

ItemReport page_item(const std::string& folder, const std::string& name, const std::string& title) {
  return {folder + "/figures", LongTable({"value"}),
          Json::object({{"name", name}, {"title", title}, {"reference", ""}, {"command", ""},
                        {"caption", ""}})};
}

void write_page(const std::string& folder, const Json& record,
                const std::vector<ItemReport>& items) {
  Json::Array list;
  for (const ItemReport& item : items) list.push_back(item.json());
  Json where = record["environment"];
  where.set("date", record["date"]);
  for (const char* name : {"seconds", "steps", "parameters", "trained", "dev_mean"})
    if (record.has(name)) where.set(name, record[name]);
  for (const char* name : {"model", "data"})
    if (record.has(name))
      for (const auto& [key, value] : record[name].members()) where.set(name + (": " + key), value);
  const Json report = Json::object({{"document", Json::object({{"title", folder}, {"source", ""}})},
                                    {"command", record["command"]},
                                    {"grid", ""},
                                    {"settings", record["options"]},
                                    {"environment", where},
                                    {"items", Json::array(list)}});
  write_file(folder + "/report.html", report_html(report, folder, folder + "/figures"));
}

void report_run(const std::string& folder, const Experiment& experiment, const RunResult& result,
                const Json& start) {
  if (!ranks().first()) return;
  const std::vector<Scores> yardsticks = yardsticks_of(experiment, start);
  Json record = start;
  for (const auto& [name, value] : json_of(experiment, result).members()) record.set(name, value);
  record.set("yardsticks", json_of(experiment, yardsticks));
  const std::string inside = command_of("inside") + " --model " + shell_word(folder);
  std::vector<ItemReport> items = {scores_item(folder, experiment, result, yardsticks),
                                   page_item(folder, "training", "Learning")};
  draw_training(folder, experiment.data(), {{"", {folder}}});
  items.back().shown("training.svg", "Loss by step (each point a mean over neighboring batches), "
                                     "dev score by epoch");
  if (auto gamma = gamma_item(folder, experiment)) items.push_back(*gamma);
  if (auto sites = sites_item(folder)) items.push_back(*sites);
  for (size_t t = 0; t < result.predictions.size(); ++t) {
    const TaskData& d = experiment.data()[t];
    items.push_back(page_item(folder, "task-" + d.task.name, title_of(d.task, d.task.sets[0]) + ": what it confuses"));
    add_confusion(items.back(), d, result.predictions[t][0]);
    add_worst(items.back(), d, result.predictions[t][0], inside);
  }
  write_dev_tables(folder, experiment, result);
  write_page(folder, record, items);
  write_record(folder, record);
}

void report_pretraining(const PretrainOptions& o, const PretrainResult& r, const Json& start) {
  if (!ranks().first()) return;
  draw_pretraining(o, r);
  Json record = start;
  record.set("steps", r.steps).set("seconds", r.seconds);
  Json scores = Json::object();
  ItemReport item = page_item(o.out, "pretraining", "Learning");
  if (r.held_out.mlm_loss > 0) {
    scores.set("mlm_loss", r.held_out.mlm_loss).set("untrained_mlm_loss", r.untrained.mlm_loss)
        .set("unigram_mlm_loss", r.unigram_entropy);
    if (r.next_sentence) scores.set("nsp_accuracy", r.held_out.nsp_accuracy);
    Names heads = {"", "this run", "words' frequencies", "untrained"};
    std::vector<ItemReport::TableRow> rows = {
        {"masked words: loss, nats a word",
         {{"", fixed(r.held_out.mlm_loss, 4)}, {"", fixed(r.unigram_entropy, 4)},
          {"", fixed(r.untrained.mlm_loss, 4)}}}};
    if (r.next_sentence)
      rows.push_back({"next sentence: accuracy", {{"", fixed(r.held_out.nsp_accuracy, 3)}, {"", "0.500"},
                                                   {"", fixed(r.untrained.nsp_accuracy, 3)}}});
    item.table("On held-out text. Yardsticks: the frequencies of words alone (of pairs a coin), and "
               "a network with new weights", heads, rows);
  }
  record.set("scores", scores);
  item.shown("pretraining.svg", "Loss of masked words by step, beside its yardsticks; the share of "
                                "pairs judged right");
  write_page(o.out, record, {item});
  write_record(o.out, record);
}

}  // namespace minbert
