// Reading texts, and writing tables of predictions.
#include "runs/predicted.h"

#include <algorithm>
#include <filesystem>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/files.h"
#include "tasks/tsv.h"
#include "text/lines.h"

namespace minbert {

namespace fs = std::filesystem;

Texts texts_of_lines(std::istream& in, const std::string& name) {
  const auto lines = std::make_shared<Lines>(in, name);
  return [=](Names& texts, std::string& where) {
    std::string line;
    if (!lines->next(line)) return false;
    where = formatted("{}:{}", name, lines->number());
    std::istringstream parts(line + '\t');
    texts.clear();
    for (std::string part; std::getline(parts, part, '\t');) texts.push_back(part);
    return true;
  };
}

bool is_table(const std::string& file) {
  const std::string ending = fs::path(file).extension().string();
  return !nearest(ending, {".tsv", ".csv"}, 0).empty();         // in capitals, too
}

Texts texts_of_table(const std::string& file, bool quoting, const std::string& columns,
                     Names& names) {
  const bool is_csv = !nearest(fs::path(file).extension().string(), {".csv"}, 0).empty();
  const auto table = std::make_shared<TsvReader>(
      file, TsvFormat{.quoting = quoting || is_csv, .separator = 0});
  const Names& all = table->columns();
  MB_CHECK(!columns.empty(),
           "{}: which of its columns has the texts? Give --column with one of them, or with two of "
           "a pair as a,b: {}", file, joined(all));
  names = std::ranges::count(all, columns) > 0 ? Names{columns} : split(columns);
  return [=, own = table->find(names)](Names& texts, std::string& where) {
    TsvRow row;
    if (!table->next(row)) return false;
    where = formatted("{}:{}", file, row.line);
    MB_CHECK(row.fields.size() == table->columns().size(),
             "{}: {} fields, but the table has {} columns; is there a stray quote, or a separator "
             "in a text?", where, row.fields.size(), table->columns().size());
    texts.clear();
    for (const size_t column : own) texts.push_back(row.fields[column]);
    return true;
  };
}

Names prediction_columns(const Task& task) {
  Names names = labels_of(task);
  names.insert(names.begin(), task.kind == TaskKind::regression ? "score" : "prediction");
  return names;
}

Names prediction_fields(const Task& task, double value, std::span<const double> logits) {
  const Names labels = labels_of(task);
  Names fields = {labels.empty() ? fixed(value, 3) : labels[size_t(value)]};
  for (const double p : probabilities(task.kind, logits)) fields.push_back(fixed(p, 4));
  return fields;
}

std::string table_row(const Names& fields, char separator) {
  Names quoted;
  for (const std::string& field : fields) quoted.push_back(csv_field(field, separator));
  return joined(quoted, std::string(1, separator)) + "\n";
}

void write_dev_tables(const std::string& folder, const Experiment& experiment,
                      const RunResult& result) {
  for (size_t t = 0; t < result.predictions.size(); ++t) {
    const TaskData& d = experiment.data()[t];
    for (size_t set = 0; set < d.dev.size(); ++set) {
      const Predictions& predicted = result.predictions[t][set];
      Names columns = prediction_columns(d.task);
      columns.insert(columns.begin(), "label");
      columns.insert(columns.begin(), d.task.text_columns.begin(), d.task.text_columns.end());
      columns.insert(columns.begin(), "id");
      std::string table = table_row(columns);
      for (size_t i = 0; i < predicted.values.size(); ++i) {
        const Example& e = d.dev[set].examples[i];
        Names row = {e.id};
        row.insert(row.end(), e.texts.begin(), e.texts.end());
        row.push_back(labels_of(d.task).empty() ? d.task.label_text(e.label)
                                                : in_words(d.task, e.label));
        for (const std::string& field :
             prediction_fields(d.task, predicted.values[i], predicted.row(i)))
          row.push_back(field);
        table += table_row(row);
      }
      write_file(formatted("{}/predictions/dev-{}.tsv", folder,
                           set_name(d.task, d.task.sets[set])), table);
    }
  }
}

void check_ending(const std::string& option, const std::string& file, const Names& endings) {
  const auto ends = [&](const std::string& ending) { return file.ends_with(ending); };
  MB_CHECK(std::ranges::any_of(endings, ends),
           "{} {}: the name must say what is written, and end in {}", option, file,
           joined(endings, " or "));
}

void check_is_text(const std::string& text, const std::string& instead) {
  std::error_code none;
  MB_CHECK(!std::filesystem::is_regular_file(text, none), "{} is a file: {}", text,
           instead.empty() ? "give a text" : formatted("give {} {}", instead, shell_word(text)));
}

}  // namespace minbert
