// Labels texts with a trained model: a text, or each line of standard input, a pair TAB-separated.
// What it prints is a table, TAB-separated, a row for each text.
//
//   $ predict --model runs/first --task sst "A lovely film."
//   prediction	very negative	negative	neutral	positive	very positive	text
//   very positive	0.0004	0.0011	0.0195	0.3021	0.6769	A lovely film.
//
//   --json         an object a line, with the logits, too
//   --task mask    instead of a label, what pre-training's head puts in the place of each [MASK]
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "engine/names.h"
#include "engine/text.h"
#include "files/progress.h"
#include "masked_words.h"
#include "minbert/files.h"
#include "minbert/trainer.h"
#include "text/lines.h"
#include "runs/run_record.h"
#include "train/command_line.h"

using namespace minbert;

namespace {

// The line as an example of the task, tokenized as the training data was. What a classifier from
// elsewhere takes is not written down: one text or two.
Example example_of(const std::string& line, const std::string& where, Task task,
                   const TrainedModel& trained, bool* cut) {
  const auto tabs = std::ranges::count(line, '\t');
  if (trained.config.is_foreign() && tabs == 1) task.text_columns = {"text", "second text"};
  MB_CHECK(tabs == task.is_pair(), "{}: {} takes {}", where, task.name,
           task.is_pair() ? "two texts with one TAB between them" : "one text, without a TAB");
  const size_t tab = line.find('\t');
  std::vector<std::string> texts = {line.substr(0, tab)};
  if (task.is_pair()) texts.push_back(line.substr(tab + 1));
  Example e = make_example(task, texts, trained.tokenizer, trained.dataset_options(), cut);
  e.texts = texts;
  return e;
}

std::string first_row(const Task& task) {
  std::vector<std::string> names = labels_of(task);
  names.insert(names.begin(), task.kind == TaskKind::regression ? "score" : "prediction");
  names.push_back("text");
  if (task.is_pair()) names.push_back("second text");
  return joined(names, "\t");
}

std::string row_of(const Task& task, const Example& e, double value,
                   std::span<const double> logits) {
  const std::vector<std::string> labels = labels_of(task);
  std::vector<std::string> fields = {labels.empty() ? fixed(value, 3) : labels[size_t(value)]};
  for (const double p : probabilities(task.kind, logits)) fields.push_back(fixed(p, 4));
  fields.insert(fields.end(), e.texts.begin(), e.texts.end());
  return joined(fields, "\t");
}

std::string object_of(const Task& task, const Example& e, double value,
                      std::span<const double> logits) {
  const std::vector<std::string> labels = labels_of(task);
  const std::vector<double> p = probabilities(task.kind, logits);
  Json object = Json::object({{"text", e.texts[0]}}), of_labels = Json::object();
  if (e.texts.size() > 1) object.set("second text", e.texts[1]);
  object.set("logits", Json::array_of({logits.begin(), logits.end()}));
  if (labels.empty()) return object.set("score", value).dump(-1);
  for (size_t i = 0; i < p.size(); ++i) of_labels.set(labels[i], p[i]);
  return object.set("label", int(value))
      .set("prediction", labels[size_t(value)])
      .set("probabilities", of_labels)
      .dump(-1);
}

// The likeliest words in each mask's place, or the object that says so.
void print_masked(const MaskedWords& words, const std::string& text, bool json) {
  Json::Array masks;
  for (const MaskedWords::Choices& choices : words.fill(text)) {
    Json::Array mask;
    if (!json && !masks.empty()) std::cout << '\n';
    for (const auto& [word, p] : choices) {
      mask.push_back(Json::array({word, p}));
      if (!json) std::cout << formatted("{}  {}\n", fixed(p, 4), word);
    }
    masks.push_back(Json::array(mask));
  }
  if (json)
    std::cout << Json::object({{"text", text}, {"masks", Json::array(masks)}}).dump(-1) << '\n';
  std::cout << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder, task_name, text, second;
  int batch = 32;
  bool json = false;
  CommandLine line("predict",
                   "Labels a text, or each line of standard input, even an empty one, with a "
                   "trained model.");
  line.option("text", text, "a text, instead of standard input", "TEXT");
  line.option("second", second, "the second text of a pair", "TEXT");
  line.option("--model", folder, "a run's folder, or its model/", "DIR");
  line.option("--task", task_name,
              "which of the model's tasks; not needed where it has one. mask: the likeliest words "
              "for each [MASK], by the head of pre-training", "NAME");
  line.option("--json", json, "an object a line: label, probabilities, logits");
  line.option("--batch", batch, "lines at a time; 1 answers every line at once, as on a terminal",
              Range{1});
  MachineOptions machine;
  add_machine_options(line, machine);
  line.parse(argc, argv);
  return run_program("predict", [&] {
    use_machine(machine);
    line.need({"--model"});
    folder = one_run(folder);
    const bool given = line.given("text"), typed = !given && isatty(STDIN_FILENO);
    if (line.given("second")) text += '\t' + second;
    if (!text.ends_with('\n')) text += '\n';        // an empty text is a line, too
    std::istringstream argument(text);
    const std::string source = given ? "the text" : "standard input";
    Lines lines(given ? argument : std::cin, source);
    std::string next;
    TrainedModel trained(folder);
    if (task_name == "mask") {
      const MaskedWords words(trained);
      if (typed)
        std::cerr << "type a text with " << trained.tokenizer.token(trained.tokenizer.mask())
                  << " in a word's place, and Enter; Ctrl-D ends\n";
      while (lines.next(next)) print_masked(words, next, json);
      return 0;
    }
    const Task& task = trained.task(task_name);
    if (typed) {
      std::cerr << formatted("{}: type {}, and Enter; Ctrl-D ends\n", task.name,
                             task.is_pair() ? "two texts with a TAB between them" : "a text");
      if (!line.given("--batch")) batch = 1;
    }
    Progress progress("", given ? 0 : file_size("/dev/stdin"), Progress::Where::beside_results);
    if (!json) std::cout << first_row(task) << std::endl;
    int64_t cut = 0;
    for (bool more = true; more;) {
      Dataset data{source, {}};
      while (int(data.examples.size()) < batch && (more = lines.next(next))) {
        bool was_cut = false;
        const std::string where =
            given ? source : formatted("{}:{}", source, lines.number());
        data.examples.push_back(example_of(next, where, task, trained, &was_cut));
        cut += was_cut;
      }
      if (data.examples.empty()) break;
      const Predictions p = predict(trained.model.network, task, data);
      for (size_t i = 0; i < p.values.size(); ++i)
        std::cout << (json ? object_of : row_of)(task, data.examples[i], p.values[i], p.row(i))
                  << '\n';
      std::cout << std::flush;
      if (progress.due()) progress.show(lines.bytes(), formatted("{} lines", lines.number()));
    }
    progress.finish();
    if (cut > 0)
      std::cerr << source << ": " << cut << " of " << lines.number() << " lines cut to "
                << trained.config.max_length << " tokens\n";
    return 0;
  });
}
