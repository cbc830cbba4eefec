// Labels texts with a trained model: a text, or each line of standard input, a pair TAB-separated.
// What it prints is a table, TAB-separated, a row for each text. Of a table it labels a column.
//
//   $ predict --model runs/first --task sst "A lovely film."
//   prediction	very negative	negative	neutral	positive	very positive	text
//   very positive	0.0004	0.0011	0.0195	0.3021	0.6769	A lovely film.
//
//   $ predict --model runs/first --task sst --input new.csv --column headline --output labels.csv
//   1101 texts -> labels.csv
//
//   --json         an object a line, with the logits, too
//   --task mask    instead of a label, what pre-training's head puts in the place of each [MASK]
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "engine/names.h"
#include "engine/text.h"
#include "files/progress.h"
#include "minbert/files.h"
#include "minbert/trainer.h"
#include "models/masked_words.h"
#include "runs/predicted.h"
#include "runs/run_record.h"
#include "train/cli/command_line.h"

using namespace minbert;

namespace {

// The texts as an example of the task, tokenized as the training data was. What a classifier from
// elsewhere takes is not written down: one text or two.
Example example_of(const Names& texts, const std::string& where, Task task,
                   const TrainedModel& trained, bool* cut) {
  if (trained.config.is_foreign() && texts.size() == 2) task.text_columns = {"text", "second text"};
  MB_CHECK(texts.size() == (task.is_pair() ? 2 : 1), "{}: {} takes {}", where, task.name,
           task.is_pair() ? "two texts with one TAB between them" : "one text, without a TAB");
  Example e = make_example(task, texts, trained.tokenizer, trained.dataset_options(), cut);
  e.texts = texts;
  return e;
}

// The row of a file begins with its texts, in quotes where they need some; that on a screen ends
// with them, as they are. separator: of the file, or 0
std::string row_of(Names prediction, const Names& texts, char separator) {
  prediction.insert(separator ? prediction.begin() : prediction.end(), texts.begin(), texts.end());
  return separator ? table_row(prediction, separator) : joined(prediction, "\t") + "\n";
}

// An object with its members in this order, that of the classes: those of a Json are sorted.
std::string in_order(const std::vector<std::string>& names, const std::vector<double>& numbers) {
  std::vector<std::string> members;
  for (size_t i = 0; i < names.size(); ++i)
    members.push_back(Json(names[i]).dump(-1) + ":" + Json(numbers[i]).dump(-1));
  return "{" + joined(members, ",") + "}";
}

std::string object_of(const Task& task, const Example& e, double value,
                      std::span<const double> logits) {
  const std::vector<std::string> labels = labels_of(task);
  Json object = Json::object({{"text", e.texts[0]}});
  if (e.texts.size() > 1) object.set("second text", e.texts[1]);
  object.set("logits", Json::array_of({logits.begin(), logits.end()}));
  if (labels.empty()) return object.set("score", value).dump(-1);
  object.set("label", int(value)).set("prediction", labels[size_t(value)]).set("probabilities", 0);
  std::vector<std::string> members;
  for (const auto& [name, member] : object.members())
    members.push_back(Json(name).dump(-1) + ":" +
                      (name == "probabilities" ? in_order(labels, probabilities(task.kind, logits))
                                               : member.dump(-1)));
  return "{" + joined(members, ",") + "}";
}

// The likeliest words in each mask's place, or the object that says so.
void print_masked(const MaskedWords& words, const std::string& text, bool json, std::ostream& out) {
  Json::Array masks;
  for (const MaskedWords::Choices& choices : words.fill(text)) {
    Json::Array mask;
    if (!json && !masks.empty()) out << '\n';
    for (const auto& [word, p] : choices) {
      mask.push_back(Json::array({word, p}));
      if (!json) out << formatted("{}  {}\n", fixed(p, 4), word);
    }
    masks.push_back(Json::array(mask));
  }
  if (json)
    out << Json::object({{"text", text}, {"masks", Json::array(masks)}}).dump(-1) << '\n';
  out << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder, task_name, text, second;
  std::string input, columns, output;
  int batch = 32;
  bool json = false;
  CommandLine line("predict", "Labels texts with a trained model, or fills in their [MASK].");
  line.option("text", text, "a text, instead of --input", "TEXT");
  line.option("second", second, "the second text of a pair", "TEXT");
  line.option("--model", folder, "a run's folder, or its model/", "DIR");
  line.option("--task", task_name,
              "which of the model's tasks; not needed where it has one. mask: the likeliest words "
              "for each [MASK], by the head of pre-training", "NAME");
  line.option("--input", input,
              "a text a line, even an empty one, of a pair with a TAB; or a table, .tsv or .csv, "
              "whose first line names its columns; none: standard input", "FILE");
  line.option("--column", columns, "the table's column of texts; of a pair two: a,b", "NAME");
  line.option("--output", output, "what to write, instead of printing it", "FILE");
  line.option("--json", json, "an object a line: label, probabilities, logits");
  line.option("--batch", batch, "lines at a time; 1 answers every line at once, as on a terminal",
              Range{1});
  MachineOptions machine;
  add_machine_options(line, machine);
  line.closing("Prints or writes a table, a row for each text: the prediction and the probability of "
               "every class, or the score, and the text.",
               {"--model runs/first --task sst \"A lovely film.\"",
                "--model runs/first --task quora \"How old is Rome?\" \"What is Rome's age?\"",
                "--model runs/first --task sst < FILE",
                "--model runs/first --task sst --input new.csv --column text --output labels.csv",
                "--model data/mini/bert --task mask \"the film is [MASK]\""});
  line.parse(argc, argv);
  return run_program("predict", [&] {
    use_machine(machine);
    line.need({"--model"});
    if (line.given("--column")) line.need({"--input"});
    const bool given = line.given("text"), masks = task_name == "mask",
               typed = !given && input.empty() && isatty(STDIN_FILENO),
               table = line.given("--column") || is_table(input);
    for (const std::string& word : {text, second}) check_is_text(word, "--input");
    MB_CHECK(!given || input.empty(), "--input {}: leave it out, or the text", input);
    if (!output.empty()) {
      check_ending("--output", output, json    ? Names{".json", ".jsonl"}
                                       : masks ? Names{".txt"}
                                               : Names{".tsv", ".csv"});
      check_folder_of(output);
    }
    if (line.given("second")) text += '\t' + second;
    if (!text.ends_with('\n')) text += '\n';        // an empty text is a line, too
    std::istringstream argument(text);
    std::ifstream file(input);
    MB_CHECK(file || input.empty(), "--input {}: cannot be read", input);
    TrainedModel trained(one_run(folder));
    const Task task = masks ? Task() : trained.task(task_name);
    Names texts = {"text", "second text"};
    texts.resize(task.is_pair() ? 2 : 1);
    const std::string source = given ? "the text" : input.empty() ? "standard input" : input;
    const Texts next =
        table ? texts_of_table(input, task.format.quoting, columns, texts)
                 : texts_of_lines(given ? argument : input.empty() ? std::cin : file, source);
    std::string where;
    std::ostringstream kept;
    std::ostream out(output.empty() ? std::cout.rdbuf() : kept.rdbuf());
    if (masks) {
      const MaskedWords words(trained);
      if (typed)
        std::cerr << "type a text with " << trained.tokenizer.token(trained.tokenizer.mask())
                  << " in a word's place, and Enter; Ctrl-D ends\n";
      while (next(texts, where)) print_masked(words, joined(texts, "\t"), json, out);
      if (!output.empty()) write_file(output, kept.str());
      return 0;
    }
    if (typed) {
      std::cerr << formatted("{}: type {}, and Enter; Ctrl-D ends\n", task.name,
                             task.is_pair() ? "two texts with a TAB between them" : "a text");
      if (!line.given("--batch")) batch = 1;
    }
    Progress progress("", given ? 0 : file_size(input.empty() ? "/dev/stdin" : input),
                      Progress::Where::beside_results);
    const char separator = output.ends_with(".csv") ? ',' : table || !output.empty() ? '\t' : 0;
    if (!json) out << row_of(prediction_columns(task), texts, separator) << std::flush;
    int64_t count = 0, cut = 0, bytes = 0;
    for (bool more = true; more;) {
      Dataset data{source, {}};
      while (int(data.examples.size()) < batch && (more = next(texts, where))) {
        bool was_cut = false;
        data.examples.push_back(example_of(texts, given ? source : where, task, trained, &was_cut));
        cut += was_cut;
        bytes += int64_t(joined(texts).size());
      }
      if (data.examples.empty()) break;
      const Predictions p = predict(trained.model.network, task, data);
      for (size_t i = 0; i < p.values.size(); ++i) {
        const Example& e = data.examples[i];
        if (json) out << object_of(task, e, p.values[i], p.row(i)) << '\n';
        else out << row_of(prediction_fields(task, p.values[i], p.row(i)), e.texts, separator);
      }
      out << std::flush;
      count += int64_t(p.values.size());
      if (progress.due()) progress.show(bytes, formatted("{} lines", count));
    }
    progress.finish();
    if (cut > 0)
      std::cerr << source << ": " << cut << " of " << count << " lines cut to "
                << trained.config.max_length << " tokens\n";
    if (output.empty()) return 0;
    write_file(output, kept.str());
    std::cout << count << (count == 1 ? " text -> " : " texts -> ") << output << '\n';
    return 0;
  });
}
