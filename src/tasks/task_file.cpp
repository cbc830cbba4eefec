// A task as a file: its fields in JSON, or what the heading and the labels of a table suggest.
//
//   {"name": "tickets", "text_columns": ["text"], "label_column": "kind",
//    "label_words": ["bug", "question", "wish"],
//    "files": {"train": "train.tsv", "dev": ["dev.tsv"]}}
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>

#include "engine/names.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "minbert/task.h"
#include "tasks/tsv.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

const Names kind_names = {"classification", "binary", "regression"};

// Every field under its own name: reading and writing share these lists.
template <class Visit>
void each_field(const TsvFormat*, Visit visit) {
  visit("quoting", &TsvFormat::quoting);
  visit("names", &TsvFormat::names);
  visit("separator", &TsvFormat::separator);
  visit("sentences", &TsvFormat::sentences);
}
template <class Visit>
void each_field(const TaskFiles*, Visit visit) {
  visit("train", &TaskFiles::train);
  visit("dev", &TaskFiles::dev);
  visit("test", &TaskFiles::test);
}
template <class Visit>
void each_field(const Task*, Visit visit) {
  visit("name", &Task::name);
  visit("title", &Task::title);
  visit("kind", &Task::kind);
  visit("low", &Task::low);
  visit("high", &Task::high);
  visit("metrics", &Task::metrics);
  visit("sets", &Task::sets);
  visit("text_columns", &Task::text_columns);
  visit("label_column", &Task::label_column);
  visit("id_column", &Task::id_column);
  visit("files", &Task::files);
  visit("dev_part", &Task::dev_part);
  visit("prediction_stem", &Task::prediction_stem);
  visit("prediction_column", &Task::prediction_column);
  visit("format", &Task::format);
  visit("class_names", &Task::class_names);
  visit("label_words", &Task::label_words);
  visit("loss_weight", &Task::loss_weight);
}

Json written(const std::string& v) { return v; }
Json written(bool v) { return v; }
Json written(int v) { return v; }
Json written(double v) { return v; }
Json written(char v) { return std::string(1, v); }
Json written(TaskKind v) { return kind_names[size_t(v)]; }
Json written(Metric v) { return metric_key(v); }
template <class T>
Json written(const std::vector<T>& list) {
  Json::Array items;
  for (const T& v : list) items.push_back(written(v));
  return Json::array(items);
}
// Fields that are as in a new one are left out.
template <class T>
Json written(const T& v) {
  Json object = Json::object();
  const T fresh;
  each_field(&v, [&](const char* name, auto field) {
    if (v.*field != fresh.*field) object.set(name, written(v.*field));
  });
  return object;
}

void read(const Json& json, std::string& v) { v = json.string(); }
void read(const Json& json, bool& v) { v = json.boolean(); }
void read(const Json& json, int& v) { v = int(json.integer()); }
void read(const Json& json, double& v) { v = json.number(); }
void read(const Json& json, char& v) {
  const std::string text = json.string();
  MB_CHECK(text.size() == 1, "\"separator\" is \"{}\", expected one character", text);
  v = text[0];
}
void read(const Json& json, TaskKind& v) {
  v = TaskKind(index_of(json.string(), kind_names, "kind of task"));
}
void read(const Json& json, Metric& v) {
  Names all;
  for (int m = 0; m <= int(Metric::spearman); ++m) all.push_back(metric_key(Metric(m)));
  v = Metric(index_of(json.string(), all, "metric"));
}
template <class T>
void read(const Json& json, std::vector<T>& list) {
  list.clear();
  for (const Json& item : json.is_array() ? json.items() : Json::Array{json})
    read(item, list.emplace_back());
}
template <class T>
void read(const Json& json, T& v) {
  Names known;
  each_field(&v, [&](const char* name, auto field) {
    known.push_back(name);
    if (json.has(name)) read(json[name], v.*field);
  });
  for (const auto& [name, value] : json.members()) index_of(name, known, "field");
}

std::string trimmed(std::string text) {
  const auto blank = [](char c) { return c == ' ' || c == '\r'; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  text.erase(0, size_t(std::ranges::find_if_not(text, blank) - text.begin()));
  return text;
}

std::string lower(std::string text) {
  for (char& c : text) c = char(std::tolower(uint8_t(c)));
  return text;
}

std::optional<double> number_in(const std::string& text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(v) : std::nullopt;
}

// The file beside `train`, "my-train.tsv", that has this word instead of "train"; "" without one.
std::string beside(const fs::path& train, const std::string& word) {
  std::string name = train.filename().string();
  const size_t at = name.rfind("train");
  if (at == name.npos) return "";
  const fs::path other = train.parent_path() / name.replace(at, 5, word);
  return fs::exists(other) ? other.string() : "";
}

// path: a table, or a folder with train.tsv or train.csv
TaskFiles files_at(const fs::path& path) {
  TaskFiles files{path.string(), {}};
  if (fs::is_directory(path))
    for (const char* name : {"train.csv", "train.tsv"})
      if (fs::exists(path / name)) files.train = (path / name).string();
  MB_CHECK(fs::is_regular_file(files.train),
           "{}: there is no train.tsv or train.csv in this folder", path.string());
  if (const std::string dev = beside(files.train, "dev"); !dev.empty()) files.dev = {dev};
  if (const std::string test = beside(files.train, "test"); !test.empty()) files.test = {test};
  return files;
}

void find_columns(Task& task, const Names& columns) {
  const auto first_of = [&](const Names& usual) {
    const auto is_usual = [&](const std::string& column) {
      return std::ranges::count(usual, lower(column)) > 0;
    };
    const auto found = std::ranges::find_if(columns, is_usual);
    return found == columns.end() ? "" : *found;
  };
  if (task.label_column.empty())
    task.label_column =
        first_of({"label", "labels", "class", "category", "target", "score", "rating"});
  if (task.label_column.empty()) task.label_column = columns.back();
  if (task.id_column.empty()) task.id_column = first_of({"id", "index", "idx"});
  if (!task.text_columns.empty()) return;
  for (const std::string& column : columns)
    if (!column.empty() && column != task.label_column && column != task.id_column)
      task.text_columns.push_back(column);
}

// The labels' words, or the range of the numbers: what the rows of the training file have.
void find_labels(Task& task, TsvReader& tsv, const std::string& file) {
  const size_t column = tsv.find({task.label_column})[0];
  std::map<std::string, int64_t> counts;
  int64_t rows = 0;
  double low = INFINITY, high = -INFINITY;
  bool numbers = true, whole = true;
  for (TsvRow row; tsv.next(row);) {
    if (row.fields.size() != tsv.columns().size()) continue;     // told when it is read
    const std::string label = trimmed(row.fields[column]);
    if (label.empty()) continue;
    ++rows, ++counts[label];
    const std::optional<double> v = number_in(label);
    numbers = numbers && v;
    if (!v) continue;
    low = std::min(low, *v), high = std::max(high, *v);
    whole = whole && *v == std::floor(*v);
  }
  MB_CHECK(!counts.contains(task.label_column),
           "{}: \"{}\" is a column's name and a label: its first line must name the columns, as in "
           "text<TAB>label", file, task.label_column);
  constexpr size_t most_classes = 20;
  if (task.kind == TaskKind::binary) return;        // 0 and 1
  if (task.kind == TaskKind::regression ||
      (numbers && rows > 0 && (!whole || counts.size() > most_classes))) {
    task.low = low, task.high = high;
    if (task.kind == TaskKind::classification) task.metrics = {Metric::pearson, Metric::spearman};
    task.kind = TaskKind::regression;
    return;
  }
  MB_CHECK(counts.size() > 1,
           "{}: {} different labels in the column \"{}\"; a task needs two at least", file,
           counts.size(), task.label_column);
  MB_CHECK(2 * counts.size() <= size_t(rows),
           "{}: {} different labels in {} rows of \"{}\": is another column the label? A task "
           "file, by label_column, says which", file, counts.size(), rows, task.label_column);
  for (const auto& [label, count] : counts) task.label_words.push_back(label);
  if (numbers) std::ranges::sort(task.label_words, {}, [](auto& word) { return number_in(word); });
}

}  // namespace

Json json_of(const Task& task) { return written(task); }

Task task_from(const Json& json) {
  Task task;
  read(json, task);
  check(task);
  return task;
}

void check(const Task& task) {
  const auto expect = [&](bool good, const std::string& what) {
    MB_CHECK(good, "task \"{}\": {}", task.name, what);
  };
  const auto is_letter = [](char c) { return std::isalnum(uint8_t(c)) || c == '_' || c == '-'; };
  expect(!task.name.empty() && std::ranges::all_of(task.name, is_letter),
         "its name must have letters, digits, _ and - alone: weights are named after it");
  const size_t texts = task.text_columns.size(), names = task.class_names.size(),
               sets = task.files.dev.size();
  expect(texts == 1 || texts == 2,
         formatted("text_columns has {} names, expected one, or two for a pair", texts));
  expect(task.high > task.low, formatted("high is {} and low {}", task.high, task.low));
  if (task.kind != TaskKind::regression) {
    expect(task.classes() > 1, "it has one label alone; a task needs two at least");
    expect(names == 0 || names == size_t(task.classes()),
           formatted("class_names has {} names for {} labels", names, task.classes()));
  }
  expect(!task.metrics.empty(), "metrics is empty; expected one at least, such as accuracy");
  expect(sets == 0 || sets == task.sets.size(),
         formatted("files.dev has {} names for {} sets", sets, task.sets.size()));
}

namespace {
Task task_at(const fs::path& path, const std::string& data) {
  const bool described = path.extension() == ".json";
  const Json json = described ? Json::load(path.string()) : Json::object();
  Task task;
  task.label_column = "";
  read(json, task);
  if (!json.has("files")) task.files = files_at(described ? path.parent_path() : path);
  if (task.files.dev.empty()) {
    task.files.dev = {task.files.train};
    std::cerr << formatted(
        "{}: no dev file, so one training row in {} is dev, the same in each run\n",
        task.files.train, task.dev_part);
  }
  // Names of files are relative to the data folder; of those elsewhere the whole path.
  const auto place = [&](std::string& file) {
    if (fs::exists(fs::path(data) / file)) return;
    const fs::path beside = path.parent_path() / file;
    const fs::path found = fs::absolute(fs::exists(beside) ? beside : fs::path(file));
    const fs::path inside = found.lexically_relative(fs::absolute(data));
    file = (inside.empty() || *inside.begin() == ".." ? found : inside).string();
  };
  place(task.files.train);
  std::ranges::for_each(task.files.dev, place);
  std::ranges::for_each(task.files.test, place);

  for (const char c : path.stem().string())
    if (!json.has("name")) task.name += std::isalnum(uint8_t(c)) ? c : '_';
  if (task.title.empty()) task.title = task.name;
  if (task.prediction_stem.empty()) task.prediction_stem = task.name;
  const std::string train = (fs::path(data) / task.files.train).string();
  if (!json.has("format")) task.format.separator = 0;            // the heading tells
  TsvReader tsv(train, task.format);
  task.format.separator = tsv.separator();
  find_columns(task, tsv.columns());
  if (!json.has("label_words") && !json.has("high")) find_labels(task, tsv, train);
  check(task);
  if (!described)
    std::cerr << formatted("{}: this task is assumed. Where it is wrong, save it as {}.json, mend "
                           "it, and give that file's name:\n{}\n", path.string(), task.name,
                           json_of(task).dump());
  return task;
}
}  // namespace

Task read_task(const std::string& name, const std::string& data) {
  const fs::path in_data = fs::path(data) / name;
  const fs::path path = fs::exists(in_data) ? in_data : fs::path(name);
  MB_CHECK(fs::exists(path), "--tasks {}: there is no such file, here or in {}", name, data);
  try {
    return task_at(path, data.empty() ? "." : data);
  } catch (const Error& e) {
    const std::string what = e.what(), file = path.string();
    fail(what.starts_with(file) ? what : file + ": " + what);
  }
}

}  // namespace minbert
