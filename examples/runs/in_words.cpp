// Printing predictions beside text and label.
#include "runs/in_words.h"

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "engine/text.h"
#include "files/about.h"
#include "minbert/trainer.h"
#include "report/curves.h"

namespace minbert {
namespace {

// A text on one line of a terminal: no control characters, and at most about 100 bytes, cut between
// characters.
std::string on_one_line(std::string text) {
  constexpr size_t most = 100;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7F') c = ' ';
  if (text.size() <= most) return '"' + text + '"';
  size_t end = most;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return '"' + text.substr(0, end) + "...\"";
}

}  // namespace

void print_in_words(const Experiment& experiment, const std::string& folder) {
  TrainedModel trained(folder);
  std::cout << "\nWhat the model in " << folder << " says of the first dev examples:\n";
  for (const TaskData& d : experiment.data()) {
    Dataset shown{d.dev[0].file, {}};
    const std::vector<Example>& all = d.dev[0].examples;
    shown.examples.assign(all.begin(), all.begin() + std::ptrdiff_t(std::min(all.size(), size_t(3))));
    const Predictions p = predict(trained.model.network, d.task, shown);
    for (size_t i = 0; i < shown.examples.size(); ++i) {
      const Example& e = shown.examples[i];
      std::cout << "  " << std::left << std::setw(8) << (i == 0 ? d.task.title + " " : "")
                << on_one_line(e.texts[0]) << '\n';
      if (d.task.is_pair()) std::cout << "          " << on_one_line(e.texts[1]) << '\n';
      std::cout << "            " << in_words(d.task, p.values[i]);
      if (d.task.kind != TaskKind::regression)
        std::cout << std::fixed << std::setprecision(2) << " (probability "
                  << std::ranges::max(probabilities(d.task.kind, p.row(i))) << ")";
      std::cout << "; labeled " << in_words(d.task, e.label) << '\n';
    }
  }
}

void print_end(const Experiment& experiment, const RunResult& result, const std::string& folder) {
  const TrainOptions& o = experiment.options();
  const bool all = CsvTable(folder + "/epochs.csv").rows() >= size_t(o.epochs);
  std::cout << (all ? formatted("\nended: all {} done", counted(o.epochs, "epoch"))
                    : formatted("\nstopped: no better score for {}", counted(o.patience, "epoch")))
            << formatted("; kept epoch {}, mean {}: the last line with a *, which marks a new best\n",
                         result.best_epoch + 1, fixed(mean_score(result.dev), 4));
}

void print_commands(const Task& task, const std::string& folder, bool exports) {
  const std::string run = formatted(" --model {} --task {}", shell_word(folder), task.name);
  std::cout << "  " << command_of("predict") << run << " 'a text'"
            << (task.is_pair() ? " 'another'\n" : "\n");
  if (exports)
    std::cout << "  " << command_of("export") << run << " --out "
              << shell_word(folder + "-" + task.name) << '\n';
}

}  // namespace minbert
