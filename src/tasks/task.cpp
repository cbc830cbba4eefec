// The table of tasks: an entry is all that reading, training, scoring and prediction files know about a task.
#include <algorithm>
#include <filesystem>
#include <iomanip>

#include "minbert/error.h"
#include "minbert/tasks.h"

namespace minbert {

const std::vector<Task>& all_tasks() {
  using enum TaskKind;
  static const std::vector<std::string> text = {"sentence"}, pair = {"sentence1", "sentence2"};
  static const std::vector<Task> table = {
      // name, title, kind, lowest and highest label, metric, columns of the texts, the label and the id;
      //   files of train, dev and test;
      //   stem and column of the prediction files ("Similiary" is how the course spells it), the form of the files,
      //   names of the classes
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
  };
  return table;
}

std::string in_words(const Task& task, double value) {
  if (task.kind != TaskKind::regression)
    return task.class_names.empty() ? format("class {}", value) : task.class_names.at(size_t(value));
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << std::clamp(value, task.low, task.high) << " of "
      << std::setprecision(0) << task.high;
  return out.str();
}

std::vector<Task> parse_tasks(std::string_view list) {
  std::vector<std::string> wanted;
  for (size_t begin = 0, end; begin <= list.size(); begin = end + 1) {
    end = std::min(list.find(',', begin), list.size());
    wanted.emplace_back(list.substr(begin, end - begin));
  }
  std::string valid;
  std::vector<Task> tasks;
  for (Task task : all_tasks()) {
    valid += (valid.empty() ? "" : ", ") + task.name;
    task.id = int(tasks.size());
    const auto times = std::count(wanted.begin(), wanted.end(), task.name);
    MB_CHECK(times <= 1, "--tasks {}: \"{}\" is named {} times; once is enough", list, task.name, times);
    if (times == 1) tasks.push_back(std::move(task));
  }
  for (const std::string& name : wanted)
    MB_CHECK(std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) { return task.name == name; }),
             "--tasks {}: there is no task \"{}\"\n  expected names among {}, separated by commas", list,
             name, valid);
  return tasks;
}

std::string data_file(const std::string& folder, const Task& task, Split split) {
  return (std::filesystem::path(folder) / task.files[size_t(split)]).string();
}

std::optional<std::string> find_test_file(const std::string& folder, const Task& task, std::ostream& log) {
  const std::string file = data_file(folder, task, Split::test);
  if (std::filesystem::exists(file)) return file;
  log << file << ": not there, so no test predictions for " << task.name << "\n";
  return std::nullopt;
}

}  // namespace minbert
