// The table of tasks: an entry is all that reading, training, scoring and prediction files know about a task.
//
//   sst quora sts cfimdb    the course's (CS224n minBERT)
//   sst2 ... mnli-mm        GLUE's (Wang et al. 2019), in its own files; the metrics are those of [LN-PEFT tab.4]
//   phrasebank              Financial PhraseBank (Malo et al. 2014), the sentences on which all agree [NT data]
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iomanip>

#include "minbert/error.h"
#include "minbert/names.h"
#include "minbert/tasks.h"

namespace minbert {

const std::vector<Task>& all_tasks() {
  using enum TaskKind;
  static const std::vector<std::string> text = {"sentence"}, pair = {"sentence1", "sentence2"},
                                        entailment = {"entailment", "not_entailment"},
                                        inference = {"entailment", "neutral", "contradiction"};
  static const TsvFormat glue = {.quoting = false};
  static const std::vector<Task> table = {
      // name, title, kind, lowest and highest label, metric, columns of the texts, the label and the id;
      //   files of train, dev and test;
      //   stem and column of the prediction files ("Similiary" is how the course spells it; "": in GLUE's form),
      //   the form of the files, names of the classes, and the words for them in the files
      {"sst", "SST", classification, 0, 4, Metric::accuracy, text, "sentiment", "id",
       {"ids-sst-train.csv", "ids-sst-dev.csv", "ids-sst-test-student.csv"},
       "sst", "Predicted_Sentiment", {}, {"very negative", "negative", "neutral", "positive", "very positive"}},
      {"quora", "Quora", binary, 0, 1, Metric::accuracy, pair, "is_duplicate", "id",
       {"quora-train.csv", "quora-dev.csv", "quora-test-student.csv"},
       "para", "Predicted_Is_Paraphrase", {}, {"different questions", "same question"}},
      {"sts", "STS", regression, 0, 5, Metric::pearson, pair, "similarity", "id",
       {"sts-train.csv", "sts-dev.csv", "sts-test-student.csv"},
       "sts", "Predicted_Similiary"},
      {"cfimdb", "CFIMDB", classification, 0, 1, Metric::accuracy, text, "sentiment", "id",
       {"ids-cfimdb-train.csv", "ids-cfimdb-dev.csv", "ids-cfimdb-test-student.csv"},
       "cfimdb", "Predicted_Sentiment", {}, {"negative", "positive"}},
      {"sst2", "SST-2", classification, 0, 1, Metric::accuracy, text, "label", "",
       {"SST-2/train.tsv", "SST-2/dev.tsv", "SST-2/test.tsv"},
       "SST-2", "", glue},
      {"cola", "CoLA", classification, 0, 1, Metric::matthews, text, "label", "",
       {"CoLA/train.tsv", "CoLA/dev.tsv", "CoLA/test.tsv"},
       "CoLA", "", {.quoting = false, .names = {"source", "label", "star", "sentence"}}},
      {"mrpc", "MRPC", classification, 0, 1, Metric::f1, {"#1 String", "#2 String"}, "Quality", "",
       {"MRPC/msr_paraphrase_train.txt", "MRPC/msr_paraphrase_test.txt", "MRPC/test.tsv"},
       "MRPC", "", glue},
      {"rte", "RTE", classification, 0, 1, Metric::accuracy, pair, "label", "index",
       {"RTE/train.tsv", "RTE/dev.tsv", "RTE/test.tsv"},
       "RTE", "", glue, {}, entailment},
      {"stsb", "STS-B", regression, 0, 5, Metric::spearman, pair, "score", "index",
       {"STS-B/train.tsv", "STS-B/dev.tsv", "STS-B/test.tsv"},
       "STS-B", "", glue},
      {"qnli", "QNLI", classification, 0, 1, Metric::accuracy, {"question", "sentence"}, "label", "index",
       {"QNLI/train.tsv", "QNLI/dev.tsv", "QNLI/test.tsv"},
       "QNLI", "", glue, {}, entailment},
      {"qqp", "QQP", classification, 0, 1, Metric::f1, {"question1", "question2"}, "is_duplicate", "id",
       {"QQP/train.tsv", "QQP/dev.tsv", "QQP/test.tsv"},
       "QQP", "", {.quoting = false, .names = {"id", "qid1", "qid2", "question1", "question2", "is_duplicate"}}},
      {"mnli", "MNLI-m", classification, 0, 2, Metric::accuracy, pair, "gold_label", "index",
       {"MNLI/train.tsv", "MNLI/dev_matched.tsv", "MNLI/test_matched.tsv"},
       "MNLI-m", "", glue, {}, inference},
      {"mnli-mm", "MNLI-mm", classification, 0, 2, Metric::accuracy, pair, "gold_label", "index",
       {"MNLI/train.tsv", "MNLI/dev_mismatched.tsv", "MNLI/test_mismatched.tsv"},
       "MNLI-mm", "", glue, {}, inference},
      {"phrasebank", "PhraseBank", classification, 0, 2, Metric::accuracy, text, "label", "",
       {"Sentences_AllAgree.txt", "Sentences_AllAgree.txt"},
       "phrasebank", "", {.quoting = false, .names = {"sentence", "label"}, .separator = '@'}, {},
       {"negative", "neutral", "positive"}},
  };
  return table;
}

std::string in_words(const Task& task, double value) {
  if (task.kind != TaskKind::regression)
    return !task.class_names.empty()   ? task.class_names.at(size_t(value))
           : !task.label_words.empty() ? task.label_text(value)
                                       : format("class {}", value);
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << std::clamp(value, task.low, task.high) << " of "
      << std::setprecision(0) << task.high;
  return out.str();
}

std::string Task::label_text(double label) const {
  if (!label_words.empty()) return label_words.at(size_t(label));
  char digits[32];                                 // the fewest that read back as the same float
  return {digits, std::to_chars(digits, digits + sizeof digits, float(label)).ptr};
}

std::string task_names() { return joined(names_of(all_tasks())); }

std::vector<Task> tasks_named(const std::vector<std::string>& names, const std::string& source) {
  std::vector<Task> tasks;
  for (const std::string& name : names) {
    const auto times = std::ranges::count(names, name);
    MB_CHECK(times == 1, "{}: \"{}\" is named {} times; once is enough", source, name, times);
    const auto task = std::ranges::find(all_tasks(), name, &Task::name);
    MB_CHECK(task != all_tasks().end(), "{}: there is no task \"{}\"\n  expected names among {}, separated by commas",
             source, name, task_names());
    tasks.push_back(*task);
  }
  return tasks;
}

std::vector<Task> parse_tasks(std::string_view list) {
  std::vector<std::string> names;
  for (size_t begin = 0, end; begin <= list.size(); begin = end + 1) {
    end = std::min(list.find(',', begin), list.size());
    names.emplace_back(list.substr(begin, end - begin));
  }
  std::vector<Task> tasks = tasks_named(names, format("--tasks {}", list));
  std::ranges::sort(tasks, {}, [](const Task& task) { return std::ranges::find(all_tasks(), task.name, &Task::name); });
  return tasks;
}

std::string data_file(const std::string& folder, const Task& task, Split split) {
  return (std::filesystem::path(folder) / task.files[size_t(split)]).string();
}

std::optional<std::string> find_test_file(const std::string& folder, const Task& task, std::ostream& log) {
  if (task.files.size() <= size_t(Split::test)) return std::nullopt;
  const std::string file = data_file(folder, task, Split::test);
  if (std::filesystem::exists(file)) return file;
  log << file << ": not there, so no test predictions for " << task.name << "\n";
  return std::nullopt;
}

}  // namespace minbert
