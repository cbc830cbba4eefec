// A task as a file: its fields in JSON, or what the heading and the labels of a table suggest.
//
//   {"name": "tickets", "text_columns": ["text"], "label_column": "kind",
//    "label_words": ["bug", "question", "wish"],
//    "files": {"train": "train.tsv", "dev": ["dev.tsv"]}}
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/config.h"
#include "minbert/error.h"
#include "minbert/json.h"
#include "minbert/task.h"
#include "tasks/tsv.h"
#include "text/unicode.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

// Every field under its own name: reading and writing share these lists.
void visit(auto field, TsvFormat& f) {
  field("quoting", f.quoting), field("names", f.names), field("separator", f.separator);
  field("sentences", f.sentences);
}
void visit(auto field, TaskFiles& f) {
  field("train", f.train), field("dev", f.dev), field("test", f.test);
}
void visit(auto field, Task& t) {
  field("name", t.name), field("title", t.title), field("kind", t.kind);
  field("low", t.low), field("high", t.high), field("metrics", t.metrics), field("sets", t.sets);
  field("text_columns", t.text_columns), field("label_column", t.label_column);
  field("id_column", t.id_column), field("files", t.files), field("dev_part", t.dev_part);
  field("prediction_stem", t.prediction_stem), field("prediction_column", t.prediction_column);
  field("format", t.format), field("class_names", t.class_names);
  field("label_words", t.label_words), field("loss_weight", t.loss_weight);
}

template <class T>
Json written(T& value) {
  if constexpr (std::is_enum_v<T>) return name_of(value);
  else if constexpr (std::is_same_v<T, char>) return std::string(1, value);
  else if constexpr (std::is_convertible_v<T, Json>) return value;
  else if constexpr (requires { value.push_back({}); }) {
    Json::Array items;
    for (auto& item : value) items.push_back(written(item));
    return Json::array(items);
  } else {
    Json json = Json::object();
    visit([&](const char* name, auto& field) { json.set(name, written(field)); }, value);
    return json;
  }
}

template <class T>
void read(const Json& from, T& value) {
  if constexpr (std::is_enum_v<T>)
    value = choice<T>(from.string(), std::is_same_v<T, Metric> ? "metrics" : "kind");
  else if constexpr (std::is_same_v<T, char>) value = (from.string() + '\t')[0];
  else if constexpr (std::is_same_v<T, std::string>) value = from.string();
  else if constexpr (std::is_same_v<T, bool>) value = from.boolean();
  else if constexpr (std::is_arithmetic_v<T>) value = T(from.number());
  else if constexpr (requires { value.push_back({}); }) {
    value.clear();
    for (const Json& item : from.is_array() ? from.items() : Json::Array{from})
      read(item, value.emplace_back());
  } else {
    Names known;
    const auto field = [&](const char* name, auto& part) {
      known.push_back(name);
      if (from.has(name)) read(from[name], part);
    };
    visit(field, value);
    for (const auto& [name, part] : from.members()) index_of(name, known, "field");
  }
}

// path: a table, or a folder with train.tsv or train.csv. The other files are named like that of
// training, with the other word.
TaskFiles files_at(const fs::path& path) {
  fs::path train = path;
  if (fs::is_directory(path))
    train /= fs::exists(path / "train.csv") ? "train.csv" : "train.tsv";
  TaskFiles files{train.string(), {}};
  const std::string name = train.filename().string();
  const size_t at = name.rfind("train");
  for (const char* word : {"dev", "test"}) {
    if (at == name.npos) break;
    const fs::path other = train.parent_path() / std::string(name).replace(at, 5, word);
    if (fs::exists(other)) (word[0] == 'd' ? files.dev : files.test).assign(1, other.string());
  }
  return files;
}

void find_columns(Task& task, const Names& columns) {
  const auto first_of = [&](const Names& usual, const std::string& otherwise = "") {
    for (const std::string& column : columns)
      if (!nearest(column, usual, 0).empty()) return column;
    return otherwise;
  };
  if (task.label_column.empty())
    task.label_column = first_of(
        {"label", "labels", "class", "category", "target", "score", "rating"}, columns.back());
  if (task.id_column.empty()) task.id_column = first_of({"id", "index", "idx"});
  for (const std::string& column : columns)
    if (task.id_column.empty() && column.ends_with("_id")) task.id_column = column;
  if (task.text_columns.empty())
    for (const std::string& column : columns)
      if (!column.empty() && column != task.label_column && column != task.id_column)
        task.text_columns.push_back(column);
  MB_CHECK(task.text_columns.size() == 1 || task.is_pair(),
           "its columns are {}; one of them, or two, have the texts. A task file says which: "
           "{\"text_columns\": [NAME]}", joined(columns));
}

// Are these one label but for capitals, accents, blanks, or how a number is written?
bool same_to_a_reader(const std::string& a, const std::string& b) {
  const auto plain = [](const std::string& label) {
    const std::string text = normalize(label, {});
    std::istringstream words(text);
    return joined({std::istream_iterator<std::string>(words), {}}, " ");
  };
  if (const auto number = number_in(a)) return number == number_in(b);
  return plain(a) == plain(b);
}

// The labels' words, or the range of the numbers: what the rows of the training file have and the
// task file, `said`, does not say.
void find_labels(Task& task, const Json& said, TsvReader& tsv, const std::string& file) {
  const size_t column = tsv.find({task.label_column})[0];
  std::set<std::string> labels;
  size_t rows = 0;
  for (TsvRow row; tsv.next(row);)                  // ragged ones are told when they are read
    if (row.fields.size() == tsv.columns().size())
      if (const std::string label = trimmed(row.fields[column]); !label.empty())
        ++rows, labels.insert(label);
  MB_CHECK(!labels.contains(task.label_column),
           "{}: \"{}\" is a column's name and a label: its first line must name the columns", file,
           task.label_column);
  MB_CHECK(!number_in(task.label_column),
           "{}: its first line must name the columns, and \"{}\" is a number", file,
           task.label_column);
  std::vector<double> numbers;
  for (const std::string& label : labels) {
    std::string with_point = label;
    std::ranges::replace(with_point, ',', '.');
    MB_CHECK(number_in(label) || !number_in(with_point),
             "{}: the label \"{}\" has a comma; write numbers with a point, or list the words "
             "in a task file's \"label_words\"", file, label);
    if (const auto number = number_in(label)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  const bool all_numbers = numbers.size() == labels.size();
  const bool whole = std::ranges::all_of(numbers, [](double v) { return v == std::floor(v); });
  const auto is_word = [](const std::string& label) { return !number_in(label); };
  MB_CHECK(all_numbers || 2 * numbers.size() < labels.size(),
           "{}: {} labels of {} are numbers, but not \"{}\"; correct it, or list the words in a "
           "task file's \"label_words\"", file, numbers.size(), labels.size(),
           *std::ranges::find_if(labels, is_word));
  constexpr size_t most_classes = 20;
  if (!said.has("kind") && all_numbers && (!whole || labels.size() > most_classes)) {
    task.kind = TaskKind::regression;
    task.metrics = {Metric::pearson, Metric::spearman};
  }
  if (task.kind == TaskKind::regression && !numbers.empty()) {
    if (!said.has("low")) task.low = numbers.front();
    task.high = numbers.back();
  }
  if (task.kind != TaskKind::classification) return;
  const size_t least_rows = labels.size() > most_classes ? 5 : 2;          // of each label
  MB_CHECK(labels.size() > 1 && least_rows * labels.size() <= rows,
           "{}: the column \"{}\" has {} different labels in {} rows; is another one the label? A "
           "task file says which, {\"label_column\": NAME}; if it is this one, the file lists its "
           "labels: {\"label_words\": [...]}",
           file, task.label_column, labels.size(), rows);
  task.label_words = {labels.begin(), labels.end()};
  for (const std::string& label : labels)
    for (const std::string& other : labels)
      if (label < other && same_to_a_reader(label, other))
        std::cerr << formatted("{}: the labels \"{}\" and \"{}\" are two: they differ in case, "
                               "accents, blanks or how a number is written\n", file, label, other);
  if (all_numbers) std::ranges::sort(task.label_words, {}, number_in);
}

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
    const fs::path in_data = fs::path(data) / file, beside = path.parent_path() / file;
    const fs::path found = fs::absolute(fs::exists(in_data)  ? in_data
                                        : fs::exists(beside) ? beside
                                                             : fs::path(file));
    const fs::path inside = found.lexically_relative(fs::absolute(data));
    file = (inside.empty() || *inside.begin() == ".." ? found : inside).string();
  };
  place(task.files.train);
  for (Names* names : {&task.files.dev, &task.files.test}) std::ranges::for_each(*names, place);

  if (!json.has("name"))
    for (const char c : path.stem().string()) task.name += std::isalnum(uint8_t(c)) ? c : '_';
  for (std::string* name : {&task.title, &task.prediction_stem})
    if (name->empty()) *name = task.name;
  const std::string train = (fs::path(data) / task.files.train).string();
  if (!json.has("format")) task.format.separator = 0;            // the heading tells
  MB_CHECK(fs::exists(train), "{}: there is no such file", train);
  TsvReader tsv(train, task.format);
  task.format.separator = tsv.separator();
  find_columns(task, tsv.columns());
  if (!json.has("label_words") && !json.has("high")) find_labels(task, json, tsv, train);
  check(task);
  if (!described)
    std::cerr << formatted("{}: this task is assumed. Where it is wrong, save it as {}.json, mend "
                           "it, and give that file's name:\n{}\n", path.string(), task.name,
                           json_of(task).dump());
  return task;
}

}  // namespace

Json json_of(const Task& task) {
  Task copy = task, fresh;
  Json json = Json::object();
  const Json usual = written(fresh);
  for (const auto& [name, value] : written(copy).members())
    if (value.dump() != usual[name].dump()) json.set(name, value);
  return json.set("label_column", task.label_column);
}

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
  const auto differ = [](Names names) {
    std::ranges::sort(names);
    return std::ranges::adjacent_find(names) == names.end();
  };
  const bool score = task.kind == TaskKind::regression;
  expect(!task.name.empty() && std::ranges::all_of(task.name, is_letter),
         "its name must have letters, digits, _ and - alone: weights are named after it");
  expect(task.name != foreign_task && task.name != "mask", "this name means something else here");
  expect(task.text_columns.size() == 1 || task.is_pair(),
         formatted("text_columns has {} names, expected one, or two for a pair",
                   task.text_columns.size()));
  Names columns = task.text_columns;
  columns.push_back(task.label_column);
  expect(differ(columns), "a column is there twice, among texts and label");
  expect(score ? task.high > task.low : task.classes() > 1,
         score ? "high must be above low" : "it has one label alone; a task needs two at least");
  expect(!score || task.label_words.empty(), "a score has no label_words; it has low and high");
  expect(task.kind != TaskKind::binary ||
             (task.label_words.empty() ? task.low == 0 && task.high == 1 : task.classes() == 2),
         "binary labels are 0 and 1, or two label_words");
  expect(score || task.class_names.empty() || task.class_names.size() == size_t(task.classes()),
         formatted("class_names has {} names for {} labels", task.class_names.size(),
                   task.classes()));
  expect(differ(task.class_names) && differ(task.label_words), "two labels have the same name");
  const auto suits = [&](Metric m) {
    const bool of_two = m == Metric::f1 || m == Metric::matthews;
    return (m >= Metric::pearson) == score && (!of_two || task.outputs() < 3);
  };
  expect(!task.metrics.empty() && std::ranges::all_of(task.metrics, suits),
         "metrics must be pearson, spearman of a score, accuracy of labels, matthews, f1 of two");
  expect(task.loss_weight > 0, "loss_weight must be above 0");
  expect(task.prediction_stem.find('/') == std::string::npos,
         "prediction_stem is a file's name, without a folder");
  expect(task.sets.size() == std::max<size_t>(1, task.files.dev.size()) &&
             task.files.test.size() <= task.sets.size(),
         "it needs a dev file for each name in `sets`, a name for each dev file, and no more test "
         "files than these");
  expect(task.dev_part > 1, "dev_part must be 2 or more");
}

Task read_task(const std::string& name, const std::string& data) {
  const fs::path in_data = fs::path(data) / name;
  fs::path path = fs::exists(in_data) ? in_data : fs::path(name);
  if (path.filename().empty()) path = path.parent_path();        // "folder/"
  MB_CHECK(fs::exists(path), "--tasks {}: there is no such file, here or in {}", name, data);
  try {
    return task_at(path, data.empty() ? "." : data);
  } catch (const Error& e) {
    const std::string what = e.what(), file = path.string();
    fail(what.starts_with(file) ? what : file + ": " + what);
  }
}

}  // namespace minbert
