// From a task's file to sequences of token ids. The report names every row that is skipped.
#include "minbert/dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "engine/names.h"
#include "engine/text.h"
#include "files/paths.h"
#include "files/progress.h"
#include "minbert/error.h"
#include "minbert/random.h"
#include "minbert/shipped.h"
#include "minbert/vocabulary.h"
#include "tasks/tsv.h"
#include "text/unicode.h"
#include "text/words.h"

namespace minbert {
namespace {

std::string expected_label(const Task& task) {
  if (!task.label_words.empty()) return joined(task.label_words, " or ");
  if (task.kind == TaskKind::regression)
    return formatted("a number from {} to {}", task.low, task.high);
  if (task.high == 1) return "0 or 1 (0.0 and 1.0 also count)";
  return formatted("a whole number from {} to {}", task.low, task.high);
}

// The label in `text`; nothing if it is not a number, is out of range, is a fraction instead of a
// class, or is none of the task's words for labels.
std::optional<double> parse_label(const Task& task, const std::string& text) {
  if (const auto& words = task.label_words; !words.empty()) {
    const auto word = std::ranges::find(words, text);
    return word == words.end() ? std::nullopt : std::optional(double(word - words.begin()));
  }
  const std::optional<double> value = number_in(text);
  const bool whole = task.kind != TaskKind::regression;
  if (!value || *value < task.low || *value > task.high || (whole && *value != std::floor(*value)))
    return std::nullopt;
  return value;
}

std::string shown(const std::string& text) {       // a field, quoted and shortened for a message
  constexpr size_t max = 40;
  return '"' + text.substr(0, max) + (text.size() > max ? "...\"" : "\"");
}

struct RowReader {
  const Task& task;
  const DatasetOptions& options;
  const TsvReader& file;
  std::vector<size_t> column;  // columns of the texts and, if there are any, label and id
  LoadReport& report;
  bool has_labels = options.split != Split::test;
  // Are its rows shared out between training and dev?
  bool is_shared = has_labels && std::ranges::count(task.files.dev, task.files.train) > 0 &&
                   report.file.ends_with(task.files.train);

  // Is the row in the split? See load_dataset.
  bool belongs(const TsvRow& row) const {
    if (!is_shared) return true;
    const std::string stream = formatted("split/{}/{}", task.name, row.fields[column[0]]);
    const bool dev = Random(11711, stream).below(uint64_t(task.dev_part)) == 0;
    return dev == (options.split == Split::dev);
  }

  // The row's example, not yet tokenized; nothing if the row belongs to the other split. Throws a
  // SkippedRow that says what is wrong.
  std::optional<Example> example(const TsvRow& row, int64_t number) {
    const auto skip = [&](const std::string& what, const std::string& expected) {
      throw SkippedRow{row.line, what, expected};
    };
    const size_t columns = file.columns().size();
    if (task.format.sentences && row.fields.size() < columns)
      skip("the line has no label",
           formatted("a sentence, \"{}\" and {}", task.format.separator, expected_label(task)));
    if (row.fields.size() != columns) {
      const bool one_line = row.last_line == row.line;
      skip(formatted("{} fields", row.fields.size()) +
               (one_line ? "" : formatted(" in a row that runs to line {}", row.last_line)),
           formatted("{}, one a column; is there a stray quote, or a separator in a text?",
                     columns));
    }
    if (!belongs(row)) return std::nullopt;
    Example example{
        task.id_column.empty() ? std::to_string(number) : row.fields[column.back()], 0, {}};
    std::vector<std::string>& texts = example.texts;
    for (size_t i = 0; i < task.text_columns.size(); ++i) texts.push_back(row.fields[column[i]]);
    if (has_labels) {
      for (size_t i = 0; i <= texts.size(); ++i)
        if (row.fields[column[i]].empty())
          skip(formatted("column \"{}\" is empty", file.columns()[column[i]]),
               i == texts.size() ? expected_label(task) : "a text");
      const std::string label = trimmed(row.fields[column[texts.size()]]);
      const std::optional<double> value = parse_label(task, label);
      if (!value) {
        std::string plain = normalize(label, {});
        std::erase(plain, ' ');
        skip(formatted("column \"{}\" is {}{}", task.label_column, shown(label),
                       parse_label(task, plain) ? ", which differs in case or blanks" : ""),
             expected_label(task));
      }
      example.label = *value;
    }
    if (row.last_line > row.line)
      report.long_rows.push_back(formatted("{}-{}", row.line, row.last_line));
    return example;
  }
};

constexpr size_t most_listed = 20;

// Error where the valid rows may not be what the file is meant to have: see load_dataset.
void check_skipped(const Task& task, const std::vector<Example>& valid, const LoadReport& report) {
  if (report.skipped.empty()) return;
  std::map<std::string, int> found;                 // rows of a label, or of what is wrong
  for (const SkippedRow& row : report.skipped) ++found[row.what];
  std::vector<std::string> lost, rows;
  if (task.kind != TaskKind::regression) {
    for (const Example& example : valid) ++found[task.label_text(example.label)];
    for (int label = 0; label < task.classes(); ++label)
      if (!found.contains(task.label_text(label))) lost.push_back(task.label_text(label));
  }
  if (lost.empty() && 99 * report.skipped.size() <= valid.size()) return;
  for (const auto& [what, count] : found) rows.push_back(formatted("{}: {}", what, count));
  fail(formatted("{}  labels without a row: {}\n  rows of each label, or mistake: {}\n"
                 "  correct the file, or give --skip-bad-rows to go on without these rows",
                 report.text(), lost.empty() ? "none" : joined(lost),
                 joined(rows, ", ", most_listed)));
}

// Error's text: names the task's files.
std::string missing_file(const Task& task, const std::string& file) {
  std::vector<std::string> names;
  for (const std::string& name : task.files.all())
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  return formatted("{}: there is no such file\n  task \"{}\" reads {} from the data folder", file,
                   task.name, joined(names));
}

// The same for the first training or dev file that is not in the folder; "" if all are.
std::string missing_in(const std::string& folder, std::span<const Task> tasks) {
  for (const Task& task : tasks) {
    TaskFiles files = files_in(folder, task);
    files.test.clear();
    for (const std::string& file : files.all())
      if (!std::filesystem::exists(file)) return missing_file(task, file);
  }
  return "";
}

}  // namespace

Tokenizer own_tokenizer(const std::string& folder, std::span<const Task> tasks, int size,
                        bool lower_case) {
  const Tokenizer any({special_names.begin(), special_names.end()}, "special tokens", lower_case);
  std::ostringstream reported_later;
  std::vector<std::string> texts, files;
  for (const Task& task : tasks) {
    const DatasetOptions all{.keep_texts = true, .skip_bad_rows = true};
    Dataset data = read_set(folder, task, Split::train, 0, any, all, reported_later);
    for (Example& example : data.examples)
      std::ranges::move(example.texts, std::back_inserter(texts));
    files.push_back(data.file);
  }
  const std::string source = "word pieces of " + joined(files);
  return {train_vocabulary_on(texts, source, {.size = size, .lower_case = lower_case}), source,
          lower_case};
}

void check_files(const std::string& folder, std::span<const Task> tasks) {
  const auto has_all = [&](const std::string& other) { return missing_in(other, tasks).empty(); };
  if (has_all(folder)) return;
  const std::string near = nearby(folder, has_all);
  const std::string hint =
      near.empty() ? formatted("\n  {} fetches data, and {} came with minbert",
                               shipped("data/download.sh"), shipped("data/mini"))
                   : formatted("\n  {} is there: give --data {}",
                               data_file(near, tasks[0], Split::train), near);
  std::error_code none;
  MB_CHECK(std::filesystem::is_directory(folder, none), "--data {}: {}{}", folder,
           std::filesystem::exists(folder, none) ? "this is a file; give its folder"
                                                 : "there is no such folder",
           hint);
  std::vector<std::string> whole;
  for (const Task& other : all_tasks())
    if (missing_in(folder, {&other, 1}).empty()) whole.push_back(other.name);
  fail(formatted("{}\n  {} has {}{}{}", missing_in(folder, tasks), folder,
                 whole.empty() ? "the files of no task" : "those of --tasks ", joined(whole, ","),
                 hint));
}

Example make_example(const Task& task, std::span<const std::string> texts,
                     const Tokenizer& tokenizer, const DatasetOptions& options, bool* truncated) {
  Example example;
  bool any_cut = false;
  const auto add = [&](const std::vector<int32_t>& a, std::optional<std::span<const int32_t>> b) {
    bool cut = false;
    example.inputs.push_back(build_sequence(tokenizer, a, b, options.max_length, &cut));
    any_cut |= cut;
  };
  std::vector<std::vector<int32_t>> ids;
  for (size_t i = 0; i < task.text_columns.size(); ++i) ids.push_back(tokenizer.encode(texts[i]));
  if (task.is_pair() && options.pairs == Pairs::cross) add(ids[0], ids[1]);
  else for (const std::vector<int32_t>& text : ids) add(text, {});
  if (truncated) *truncated = any_cut;
  return example;
}

Dataset load_dataset(const Task& task, const std::string& file, const Tokenizer& tokenizer,
                     const DatasetOptions& options, LoadReport& report) {
  check(task);
  MB_CHECK(std::filesystem::exists(file), "{}", missing_file(task, file));
  std::vector<std::string> needed = task.text_columns;
  if (options.split != Split::test) needed.push_back(task.label_column);
  if (!task.id_column.empty()) needed.push_back(task.id_column);

  TsvReader tsv(file, task.format);
  report = {.file = file, .max_length = options.max_length};
  RowReader reader{task, options, tsv, tsv.find(needed), report};
  std::vector<Example> valid;
  for (TsvRow row; tsv.next(row);) {
    try {
      if (auto example = reader.example(row, report.rows++)) valid.push_back(std::move(*example));
    } catch (const SkippedRow& skipped) {
      report.skipped.push_back(skipped);
    }
  }
  MB_CHECK(report.rows > 0, "{}: there is no row in it, only a header", file);
  MB_CHECK(!valid.empty() || !report.skipped.empty(),
           "{}: none of its {} rows was drawn for {}; give a dev file, or more rows", file,
           report.rows, options.split == Split::dev ? "dev" : "training");
  MB_CHECK(!valid.empty(), "{}: no valid row for task \"{}\" among its {} rows\n{}", file,
           task.name, report.rows, report.text());
  if (reader.has_labels && !options.skip_bad_rows) check_skipped(task, valid, report);

  const size_t n = options.limit > 0 ? std::min(valid.size(), size_t(options.limit)) : valid.size();
  Dataset data{file, {}, int64_t(report.skipped.size())};
  Progress progress("reading " + file, int64_t(n));
  for (size_t i = 0; i < n; ++i) {
    Example& example = data.examples.emplace_back(std::move(valid[i * valid.size() / n]));
    bool cut = false;
    example.inputs = make_example(task, example.texts, tokenizer, options, &cut).inputs;
    report.truncated += cut;
    if (!options.keep_texts) example.texts = {};
    progress.update(++report.taken);
  }
  return data;
}

std::vector<std::string> LoadReport::totals() const {
  std::vector<std::string> all, skipped_lines;
  const auto add = [&](size_t count, int64_t whole, const std::string& what) {
    if (count > 0) all.push_back(formatted("{}: {} of {} rows {}", file, count, whole, what));
  };
  for (const SkippedRow& row : skipped) skipped_lines.push_back(std::to_string(row.line));
  add(skipped.size(), rows, "skipped: lines " + joined(skipped_lines, ", ", most_listed));
  add(long_rows.size(), rows,
      formatted("have several lines: lines {}; is there a quote that opens a field and is not "
                "closed?",
                joined(long_rows, ", ", most_listed)));
  add(size_t(truncated), taken, formatted("truncated to {} tokens (--max-length)", max_length));
  return all;
}

std::string LoadReport::text() const {
  constexpr size_t in_detail = 5;
  std::string text;
  for (size_t i = 0; i < skipped.size() && i < in_detail; ++i)
    text += formatted("{}:{}: {}\n  expected {}; the row is skipped\n", file, skipped[i].line,
                      skipped[i].what, skipped[i].expected);
  for (const std::string& line : totals()) text += line + "\n";
  return text;
}

Dataset read_set(const std::string& folder, const Task& task, Split split, size_t set,
                 const Tokenizer& tokenizer, DatasetOptions options, std::ostream& log) {
  options.split = split;
  LoadReport report;
  Dataset data =
      load_dataset(task, data_file(folder, task, split, set), tokenizer, options, report);
  log << visible(report.text());
  return data;
}

Labeled labeled(const Dataset& data, std::span<const int32_t> examples, const Indices& task) {
  std::vector<Sequence> inputs;
  std::vector<double> labels;
  for (const int32_t i : examples) {
    const Example& example = data.examples[size_t(i)];
    inputs.insert(inputs.end(), example.inputs.begin(), example.inputs.end());
    labels.push_back(example.label);
  }
  return {pack(inputs, task), labels};
}

double label_of(const Task& task, const std::string& text) {
  const auto& names = task.class_names;
  if (const auto name = std::ranges::find(names, text); name != names.end())
    return double(name - names.begin());
  const std::optional<double> label = parse_label(task, text);
  MB_CHECK(label, "{}: there is no label {}; a label is {}{}", task.name, shown(text),
           expected_label(task), names.empty() ? "" : ", or its name: " + joined(names));
  return *label;
}

}  // namespace minbert
