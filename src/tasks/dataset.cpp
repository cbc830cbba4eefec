// From a task's file to sequences of token ids. No row is dropped without a word: the report names it.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "minbert/error.h"
#include "minbert/names.h"
#include "minbert/random.h"
#include "minbert/tasks.h"

namespace minbert {
namespace {

std::string expected_label(const Task& task) {
  if (!task.label_words.empty()) return joined(task.label_words, " or ");
  if (task.kind == TaskKind::regression) return format("a number from {} to {}", task.low, task.high);
  if (task.high == 1) return "0 or 1 (0.0 and 1.0 also count)";
  return format("a whole number from {} to {}", task.low, task.high);
}

// The label in `text`, or nothing where it is no number, out of range, or a fraction where a class is needed; or
// none of the words for it.
std::optional<double> parse_label(const Task& task, const std::string& text) {
  if (const auto& words = task.label_words; !words.empty()) {
    const auto word = std::ranges::find(words, text);
    return word == words.end() ? std::nullopt : std::optional(double(word - words.begin()));
  }
  const char* end = text.data() + text.size();
  double value = 0;
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool number = error == std::errc() && stopped == end && value >= task.low && value <= task.high;
  if (!number || (task.kind != TaskKind::regression && value != double(int(value)))) return std::nullopt;
  return value;
}

// What is wrong with a row: thrown while it is read, reported by load_dataset.
struct BadRow {
  std::string what, expected;
};

std::string shown(const std::string& text) {       // a field as messages quote it, however long it is
  constexpr size_t most = 40;
  return '"' + text.substr(0, most) + (text.size() > most ? "...\"" : "\"");
}

// Is a row with this text in the split? See load_dataset.
bool belongs(const Task& task, Split split, const std::string& text) {
  if (split == Split::test || task.files[0] != task.files[1]) return true;
  const bool dev = Random(11711, format("split/{}/{}", task.name, text)).below(5) == 0;
  return dev == (split == Split::dev);
}

struct RowReader {
  const Task& task;
  const Tokenizer& tokenizer;
  const DatasetOptions& options;
  const TsvReader& file;
  std::vector<size_t> place;                       // of the texts and, where they have one, the label and the id
  bool has_labels = options.split != Split::test;
  int64_t truncated = 0;
  size_t valid = 0;                                // rows so far

  // Nothing for a row of the other split.
  std::optional<Example> example(const TsvRow& row, int64_t number) {
    const size_t columns = file.columns().size();
    if (row.fields.size() != columns) {
      const bool one_line = row.last_line == row.line;
      throw BadRow{format("{} fields", row.fields.size()) +
                       (one_line ? "" : format(" in a row that runs to line {}", row.last_line)),
                   format("{}, one a column; is there a stray quote, or a separator in a text?", columns)};
    }
    std::vector<std::string> texts;
    for (size_t i = 0; i < task.text_columns.size(); ++i) texts.push_back(row.fields[place[i]]);
    if (!belongs(task, options.split, texts[0])) return std::nullopt;
    Example example{task.id_column.empty() ? std::to_string(number) : row.fields[place.back()], 0, {}};
    if (has_labels) {
      for (size_t i = 0; i <= texts.size(); ++i)
        if (row.fields[place[i]].empty())
          throw BadRow{format("column \"{}\" is empty", file.columns()[place[i]]),
                       i == texts.size() ? expected_label(task) : "a text"};
      const std::string& label = row.fields[place[texts.size()]];
      const std::optional<double> value = parse_label(task, label);
      if (!value)
        throw BadRow{format("column \"{}\" is {}", task.label_column, shown(label)), expected_label(task)};
      example.label = *value;
    }
    bool cut = false;
    example.inputs = make_example(task, texts, tokenizer, options, &cut).inputs;
    truncated += cut;
    if (++valid <= options.keep_texts) example.texts = std::move(texts);
    return example;
  }
};

}  // namespace

Example make_example(const Task& task, std::span<const std::string> texts, const Tokenizer& tokenizer,
                     const DatasetOptions& options, bool* truncated) {
  using Ids = std::optional<std::span<const int32_t>>;
  Example example;
  bool any_cut = false;
  const auto add = [&](std::span<const int32_t> first, Ids second) {
    bool cut = false;
    example.inputs.push_back(build_sequence(tokenizer, first, second, options.max_length, &cut));
    any_cut |= cut;
  };
  const std::vector<int32_t> a = tokenizer.encode(texts[0]);
  const std::vector<int32_t> b = task.is_pair() ? tokenizer.encode(texts[1]) : std::vector<int32_t>();
  const bool cross = task.is_pair() && options.pairs == Pairs::cross;
  add(a, cross ? Ids(b) : Ids());
  if (task.is_pair() && !cross) add(b, {});
  if (truncated) *truncated = any_cut;
  return example;
}

Dataset load_dataset(const Task& task, const std::string& file, const Tokenizer& tokenizer,
                     const DatasetOptions& options, LoadReport& report) {
  MB_CHECK(std::filesystem::exists(file),
           "{}: there is no such file\n  task \"{}\" reads {} from the data folder", file, task.name,
           joined(task.files));
  std::vector<std::string> needed = task.text_columns;
  if (options.split != Split::test) needed.push_back(task.label_column);
  if (!task.id_column.empty()) needed.push_back(task.id_column);

  TsvReader tsv(file, task.format);
  RowReader reader{task, tokenizer, options, tsv, tsv.find(needed)};
  report = {file, 0, {}, 0, options.max_length};
  Dataset data{file, {}};
  TsvRow row;
  while ((options.limit == 0 || int64_t(data.examples.size()) < options.limit) && tsv.next(row)) {
    ++report.rows;
    try {
      if (auto example = reader.example(row, report.rows - 1)) data.examples.push_back(std::move(*example));
    } catch (const BadRow& bad) {
      report.skipped.push_back({row.line, bad.what, bad.expected});
    }
  }
  report.truncated = reader.truncated;
  MB_CHECK(!data.examples.empty(), "{}: no valid row for task \"{}\" among its {} rows\n{}",
           file, task.name, report.rows, report.text());
  return data;
}

std::string LoadReport::text() const {
  constexpr size_t in_detail = 5, lines_named = 20;
  std::string text;
  for (size_t i = 0; i < skipped.size() && i < in_detail; ++i)
    text += format("{}:{}: {}\n  expected {}; the row is skipped\n", file, skipped[i].line, skipped[i].what,
                   skipped[i].expected);
  if (!skipped.empty()) {
    text += format("{}: {} of {} rows skipped: lines", file, skipped.size(), rows);
    for (size_t i = 0; i < skipped.size() && i < lines_named; ++i)
      text += format("{}{}", i == 0 ? " " : ", ", skipped[i].line);
    text += skipped.size() > lines_named ? ", ...\n" : "\n";
  }
  if (truncated > 0)
    text += format("{}: {} of {} rows truncated to {} tokens (--max-length)\n", file, truncated, rows,
                   max_length);
  return text;
}

std::vector<Sequence> inputs(const Dataset& data, std::span<const int32_t> examples) {
  std::vector<Sequence> all;
  for (int32_t i : examples) {
    const std::vector<Sequence>& own = data.examples[size_t(i)].inputs;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace minbert
