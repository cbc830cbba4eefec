// Texts to predict from lines and tables, and the tables of predictions.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/text.h"
#include "error_of.h"
#include "folder.h"
#include "minbert/files.h"
#include "runs/predicted.h"
#include "runs/reported_run.h"
#include "small_run.h"
#include "tasks/tsv.h"

namespace minbert::test {
namespace {

using Rows = std::vector<Names>;

Rows all_of(const Texts& next, Names* places = nullptr) {
  Rows rows;
  Names texts;
  for (std::string where; next(texts, where);) {
    rows.push_back(texts);
    if (places) places->push_back(where);
  }
  return rows;
}

Rows fields_in(const std::string& file, char separator) {
  TsvReader reader(file, {.separator = separator});
  Rows rows = {reader.columns()};
  for (TsvRow row; reader.next(row);) rows.push_back(row.fields);
  return rows;
}

}  // namespace

TEST_CASE("predicted: a line is one text, or with a TAB two; every one counts, an empty one, too") {
  std::istringstream in("a film\n\none\tanother\n\"quoted, not closed\n a \n");
  Names places;
  CHECK(all_of(texts_of_lines(in, "input"), &places) ==
        Rows{{"a film"}, {""}, {"one", "another"}, {"\"quoted, not closed"}, {" a "}});
  CHECK(places == Names{"input:1", "input:2", "input:3", "input:4", "input:5"});
}

TEST_CASE("predicted: columns of a table with TABs, commas or semicolons are its texts, in the order asked for") {
  const Folder folder;
  for (const char separator : {'\t', ',', ';'}) {
    INFO("separator " << separator);
    const Rows rows = {{"id", "first text", "b"}, {"1", "a \"fine\", film", "x; y"}, {"2", "two\nlines", "tab\there"}};
    std::string text;
    for (const Names& row : rows) text += table_row(row, separator);
    const std::string file = folder.file(separator == '\t' ? "t.tsv" : "t.csv", text);
    Names names, places;
    CHECK(all_of(texts_of_table(file, true, "first text", names), &places) == Rows{{rows[1][1]}, {rows[2][1]}});
    CHECK(names == Names{"first text"});
    CHECK(places == Names{file + ":2", file + ":3"});
    CHECK(all_of(texts_of_table(file, true, "b, id", names)) == Rows{{"x; y", "1"}, {"tab\there", "2"}});
    CHECK(names == Names{"b", "id"});
    CHECK_ERROR(texts_of_table(file, true, "text", names), "there is no column \"text\"");
    CHECK_ERROR(texts_of_table(file, true, "", names), "which of its columns has the texts? Give --column");
  }
  Names names;
  const std::string one = folder.file("one.csv", "text\na film\nanother\n");
  CHECK(all_of(texts_of_table(one, true, "text", names)) == Rows{{"a film"}, {"another"}});
  const std::string comma = folder.file("comma.csv", "\"a,b\",c\n1,2\n");      // a name with a comma in it
  CHECK(all_of(texts_of_table(comma, true, "a,b", names)) == Rows{{"1"}});
  const std::string glue = folder.file("glue.tsv", "id\ttext\n1\t\"never closed\n");
  CHECK(all_of(texts_of_table(glue, false, "text", names)) == Rows{{"\"never closed"}});
  CHECK_ERROR(all_of(texts_of_table(folder.file("ragged.csv", "a,b\n1,2\n3\n"), true, "a", names)),
              "ragged.csv:3: 1 fields, but the table has 2 columns");
}

TEST_CASE("predicted: a row that was written is read back, whatever its fields have in them") {
  const Folder folder;
  for (const char separator : {'\t', ','}) {
    const Rows rows = {{"a", "b", "c"}, {"plain", "with \"quotes\"", "\"begins"}, {"TAB\there", "comma, here", ""},
                       {"two\nlines", "CR\rLF\r\n", "東京 é"}};
    std::string text;
    for (const Names& row : rows) text += table_row(row, separator);
    CHECK(fields_in(folder.file("rows", text), separator) == rows);
  }
  CHECK(table_row({"a b", "c,d"}) == "a b\tc,d\n");
  CHECK(table_row({"a b", "c,d"}, ',') == "a b,\"c,d\"\n");
}

TEST_CASE("predicted: beside the course's files a run leaves texts, labels, predictions and probabilities of dev") {
  SmallWorld world;
  TrainOptions o = world.options();
  const RunResult result = reported_run(world, o, "run");
  const Quiet quiet;
  const Experiment experiment(o);
  for (size_t t = 0; t < experiment.data().size(); ++t) {
    const TaskData& d = experiment.data()[t];
    INFO(d.task.name);
    const Rows rows = fields_in(world.path("run/predictions/dev-" + d.task.name + ".tsv"), '\t');
    Names columns = {"id"};
    columns.insert(columns.end(), d.task.text_columns.begin(), d.task.text_columns.end());
    columns.push_back("label");
    const size_t texts = d.task.text_columns.size(), label = 1 + texts;
    for (const std::string& name : prediction_columns(d.task)) columns.push_back(name);
    REQUIRE(rows.size() == 1 + d.dev[0].examples.size());
    CHECK(rows[0] == columns);
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      const Example& e = d.dev[0].examples[i];
      const Names& row = rows[i + 1];
      REQUIRE(row.size() == columns.size());
      CHECK(row[0] == e.id);
      CHECK(Names(row.begin() + 1, row.begin() + 1 + std::ptrdiff_t(texts)) == e.texts);
      const double value = result.predictions[t][0].values[i];
      if (d.task.kind == TaskKind::regression) {
        CHECK(std::stod(row[label]) == doctest::Approx(e.label));
        CHECK(std::stod(row[label + 1]) == doctest::Approx(value).epsilon(0.001));
        continue;
      }
      CHECK(row[label] == in_words(d.task, e.label));
      CHECK(row[label + 1] == in_words(d.task, value));
      double sum = 0;
      for (size_t c = label + 2; c < row.size(); ++c) sum += std::stod(row[c]);
      CHECK(sum == doctest::Approx(1).epsilon(0.001));
      const auto most = std::max_element(row.begin() + std::ptrdiff_t(label) + 2, row.end()) - row.begin();
      CHECK(columns[size_t(most)] == row[label + 1]);
    }
  }
}

TEST_CASE("predicted: the page has each class's precision, recall, F1 and rows") {
  SmallWorld world;
  TrainOptions o = world.options();
  const RunResult result = reported_run(world, o, "run");
  const Quiet quiet;
  const TaskData d = Experiment(o).data()[0];       // SST
  const std::string page = read_file(world.path("run/report.html"));
  const std::string table = page.substr(page.find("Each class: precision, recall, F1, and its rows"));
  for (int c = 0; c < 5; ++c) {
    double right = 0, said = 0, labeled = 0, trained = 0;
    for (const Example& e : d.train.examples) trained += e.label == c;
    for (size_t i = 0; i < d.dev[0].examples.size(); ++i) {
      const bool is = d.dev[0].examples[i].label == c, says = result.predictions[0][0].values[i] == c;
      right += is && says, said += says, labeled += is;
    }
    const auto share = [](double part, double of) { return of > 0 ? fixed(part / of, 3) : "undefined"; };
    std::string row = table.substr(table.find(in_words(d.task, c) + "<"));
    row = row.substr(0, row.find("</tr>"));
    size_t at = 0;
    for (const std::string& cell : {share(right, said), share(right, labeled), share(2 * right, said + labeled),
                                    fixed(labeled, 0), fixed(trained, 0)}) {
      at = row.find(">" + cell + "<", at);
      CHECK_MESSAGE(at != row.npos, row);
      if (at == row.npos) break;
      ++at;
    }
  }
}

TEST_CASE("predicted: a file's name where a text belongs, and an ending of something else, are named") {
  const Folder folder;
  const std::string file = folder.file("new.csv", "a\n");
  CHECK_ERROR(check_is_text(file, "--input"), "new.csv is a file: give --input " + file);
  CHECK_ERROR(check_is_text(file), "new.csv is a file: give a text");
  for (const std::string& text : {std::string("a film"), folder.path.string(), file + "x", std::string()})
    check_is_text(text, "--input");
  check_ending("--output", "o.csv", {".tsv", ".csv"});
  CHECK_ERROR(check_ending("--output", "o.npy", {".safetensors"}),
              "--output o.npy: the name must say what is written, and end in .safetensors");
  CHECK_ERROR(check_ending("--output", "csv", {".tsv", ".csv"}), "end in .tsv or .csv");
}

}  // namespace minbert::test
