// The table of tasks. An entry holds everything that reading, training, scoring and prediction
// files need to know.
//
//   sst quora sts cfimdb    the course's (CS224n minBERT)
//   sst2 ... mnli           GLUE's (Wang et al. 2019), in its own files; the metrics are those of
//                           [LN-PEFT tab.4]
//   phrasebank              Financial PhraseBank (Malo et al. 2014), the sentences on which all
//                           agree [NT data]
#include "minbert/task.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/error.h"

namespace minbert {

const std::vector<Task>& all_tasks() {
  using enum TaskKind;
  using enum Metric;
  using Names = std::vector<std::string>;
  static const Names text = {"sentence"}, pair = {"sentence1", "sentence2"},
                     two_words = {"entailment", "not_entailment"};
  const auto course_files = [](const std::string& stem) {
    return TaskFiles{stem + "-train.csv", {stem + "-dev.csv"}, {stem + "-test-student.csv"}};
  };
  // GLUE's files stand in a folder with the task's title, without quoting.
  const auto glue = [](const std::string& name, const std::string& title, Task task) {
    task.name = name;
    task.title = task.prediction_stem = title;
    const std::string folder = title + "/";
    if (task.files.train.empty())
      task.files = {folder + "train.tsv", {folder + "dev.tsv"}, {folder + "test.tsv"}};
    task.format.quoting = false;
    return task;
  };
  static const std::vector<Task> table = {
      {.name = "sst", .title = "SST", .high = 4,
       .text_columns = text, .label_column = "sentiment", .id_column = "id",
       .files = course_files("ids-sst"),
       .prediction_stem = "sst", .prediction_column = "Predicted_Sentiment",
       .class_names = {"very negative", "negative", "neutral", "positive", "very positive"}},
      {.name = "quora", .title = "Quora", .kind = binary,
       .text_columns = pair, .label_column = "is_duplicate", .id_column = "id",
       .files = course_files("quora"),
       .prediction_stem = "para", .prediction_column = "Predicted_Is_Paraphrase",
       .class_names = {"different questions", "same question"}},
      {.name = "sts", .title = "STS", .kind = regression, .high = 5, .metrics = {pearson},
       .text_columns = pair, .label_column = "similarity", .id_column = "id",
       .files = course_files("sts"),
       .prediction_stem = "sts",
       .prediction_column = "Predicted_Similiary"},         // as the course spells it
      {.name = "cfimdb", .title = "CFIMDB",
       .text_columns = text, .label_column = "sentiment", .id_column = "id",
       .files = course_files("ids-cfimdb"),
       .prediction_stem = "cfimdb", .prediction_column = "Predicted_Sentiment",
       .class_names = {"negative", "positive"}},
      glue("sst2", "SST-2", {.text_columns = text}),
      glue("cola", "CoLA",
           {.metrics = {matthews}, .text_columns = text,
            .format = {.names = {"source", "label", "star", "sentence"}}}),
      glue("mrpc", "MRPC",
           {.metrics = {f1, accuracy}, .text_columns = {"#1 String", "#2 String"},
            .label_column = "Quality"}),
      glue("rte", "RTE",
           {.text_columns = pair, .id_column = "index", .label_words = two_words}),
      glue("stsb", "STS-B",
           {.kind = regression, .high = 5, .metrics = {spearman, pearson}, .text_columns = pair,
            .label_column = "score", .id_column = "index"}),
      glue("qnli", "QNLI",
           {.text_columns = {"question", "sentence"}, .id_column = "index",
            .label_words = two_words}),
      glue("qqp", "QQP",
           {.metrics = {f1, accuracy}, .text_columns = {"question1", "question2"},
            .label_column = "is_duplicate", .id_column = "id",
            .format = {.names = {"id", "qid1", "qid2", "question1", "question2",
                                 "is_duplicate"}}}),
      glue("mnli", "MNLI",
           {.sets = {"m", "mm"},                            // matched, mismatched
            .text_columns = pair, .label_column = "gold_label", .id_column = "index",
            .files = {"MNLI/train.tsv", {"MNLI/dev_matched.tsv", "MNLI/dev_mismatched.tsv"},
                      {"MNLI/test_matched.tsv", "MNLI/test_mismatched.tsv"}},
            .label_words = {"entailment", "neutral", "contradiction"}}),
      {.name = "phrasebank", .title = "PhraseBank",
       .text_columns = text, .files = {"Sentences_AllAgree.txt", {"Sentences_AllAgree.txt"}},
       .dev_part = 5,
       .prediction_stem = "phrasebank",
       .format = {.quoting = false, .names = {"sentence", "label"}, .separator = '@',
                  .sentences = true},
       .label_words = {"negative", "neutral", "positive"}},
  };
  return table;
}

std::string in_words(const Task& task, double value) {
  if (task.kind != TaskKind::regression)
    return !task.class_names.empty()   ? task.class_names.at(size_t(value))
           : !task.label_words.empty() ? task.label_text(value)
                                       : formatted("class {}", value);
  if (!std::isfinite(task.high)) return fixed(value, 3);
  return fixed(std::clamp(value, task.low, task.high), 1) + formatted(" of {}", task.high);
}

std::vector<std::string> labels_of(const Task& task) {
  std::vector<std::string> labels;
  const int count = task.kind == TaskKind::regression ? 0 : task.classes();
  for (int label = 0; label < count; ++label) labels.push_back(in_words(task, label));
  return labels;
}

std::string Task::label_text(double label) const {
  if (!label_words.empty()) return label_words.at(size_t(label));
  char digits[32];  // the shortest text that reads back as the same float
  return {digits, std::to_chars(digits, digits + sizeof digits, float(label)).ptr};
}

std::string task_names() { return joined(names_of(all_tasks())); }

namespace {

// An option's list of TASK=VALUE: calls use(task, value, part) for each of its parts.
template <class Use>
void for_each_task(const std::string& option, std::string_view list, const char* form,
                   std::vector<Task>& tasks, Use use) {
  std::set<std::string> done;
  for (const std::string& choice : split(list)) {
    const std::string part = option + " " + choice;
    const std::vector<std::string> words = split(choice, '=');
    MB_CHECK(words.size() == 2, "{}: expected {}", part, form);
    const auto task = std::ranges::find(tasks, words[0], &Task::name);
    MB_CHECK(task != tasks.end(), "{}: \"{}\" is none of the tasks here: {}; the nearest is {}",
             part, words[0], joined(names_of(tasks)), nearest(words[0], names_of(tasks)));
    MB_CHECK(done.insert(words[0]).second, "{}: {} is there twice; once is enough", part, words[0]);
    use(*task, words[1], part);
  }
}

void lead(Task& task, const std::string& metric, const std::string& part) {
  std::vector<std::string> valid;
  for (const Metric m : task.metrics) valid.push_back(name_of(m));
  const auto leading = std::ranges::find(valid, metric);
  MB_CHECK(leading != valid.end(), "{}: {} is not scored by \"{}\"; valid are: {}", part, task.name,
           metric, joined(valid));
  const auto chosen = task.metrics.begin() + (leading - valid.begin());
  std::rotate(task.metrics.begin(), chosen, chosen + 1);
}

void weigh(Task& task, const std::string& text, const std::string& part) {
  task.loss_weight = number_in(text).value_or(0);
  MB_CHECK(task.loss_weight > 0,
           "{}: \"{}\" is not a number above 0; leave a task out of --tasks to train without it",
           part, text);
}

}  // namespace

std::vector<Task> tasks_named(const std::vector<std::string>& names, const std::string& source) {
  std::vector<Task> tasks;
  for (const std::string& name : names) {
    const auto task = std::ranges::find(all_tasks(), name, &Task::name);
    MB_CHECK(task != all_tasks().end(),
             "{}: there is no task \"{}\"; the nearest is {}\n  expected names among {}, separated "
             "by commas",
             source, name, nearest(name, names_of(all_tasks())), task_names());
    tasks.push_back(*task);
  }
  return tasks;
}

std::vector<Task> parse_tasks(std::string_view list, std::string_view leading,
                              std::string_view weights, const std::string& data,
                              const std::vector<Task>& saved) {
  const std::vector<std::string> names =
      list.empty() ? std::vector<std::string>{""} : split(list);
  const std::string source = formatted("--tasks {}", list);
  std::vector<Task> tasks;
  for (const std::string& name : names) {
    const bool known = std::ranges::count(all_tasks(), name, &Task::name) > 0;
    const bool file = name.find_first_of("./") != name.npos ||
                      (!known && !name.empty() &&
                       std::filesystem::exists(std::filesystem::path(data) / name));
    const auto own_name = std::ranges::find(saved, name, &Task::name);
    if (own_name != saved.end() && !known)
      tasks.push_back(*own_name), tasks.back().loss_weight = 1;          // it was that run's
    else tasks.push_back(file ? read_task(name, data) : tasks_named({name}, source)[0]);
    const std::string& own = tasks.back().name;
    const auto times = std::ranges::count(tasks, own, &Task::name);
    MB_CHECK(times == 1, "{}: \"{}\" is named {} times; once is enough", source, own, times);
    const std::string& stem = tasks.back().prediction_stem;
    MB_CHECK(std::ranges::count(tasks, stem, &Task::prediction_stem) == 1,
             "{}: two tasks write their predictions as \"{}\"; give one another prediction_stem",
             source, stem);
  }
  for_each_task("--metric", leading, "TASK=METRIC, such as mrpc=accuracy", tasks, lead);
  for_each_task("--task-weights", weights, "TASK=NUMBER, such as sts=0.5", tasks, weigh);
  return tasks;
}

std::vector<std::string> TaskFiles::all() const {
  std::vector<std::string> files = {train};
  files.insert(files.end(), dev.begin(), dev.end());
  files.insert(files.end(), test.begin(), test.end());
  return files;
}

TaskFiles files_in(const std::string& folder, const Task& task) {
  TaskFiles files = task.files;
  for (auto* names : {&files.dev, &files.test})
    for (std::string& name : *names) name = (std::filesystem::path(folder) / name).string();
  files.train = (std::filesystem::path(folder) / files.train).string();
  return files;
}

std::string data_file(const std::string& folder, const Task& task, Split split, size_t set) {
  const TaskFiles files = files_in(folder, task);
  return split == Split::train ? files.train
                               : (split == Split::dev ? files.dev : files.test).at(set);
}

std::optional<std::string> find_test_file(const std::string& folder, const Task& task, size_t set,
                                          std::ostream& log) {
  if (task.files.test.empty()) return std::nullopt;
  const std::string file = data_file(folder, task, Split::test, set);
  if (std::filesystem::exists(file)) return file;
  log << file << ": not there, so no test predictions for " << task.name << "\n";
  return std::nullopt;
}

}  // namespace minbert
