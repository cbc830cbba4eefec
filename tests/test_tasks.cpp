// Tasks: reading TSV files and data sets, sampling, metrics, prediction files.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "../data/tsv_line.h"
#include "engine/names.h"
#include "minbert/files.h"
#include "minbert/metrics.h"
#include "minbert/sampling.h"
#include "real_data.h"
#include "task_files.h"
#include "tasks/tsv.h"

namespace minbert::test {
namespace {

std::vector<TsvRow> rows_of(const std::string& file, const TsvFormat& format = {}) {
  TsvReader tsv(file, format);
  std::vector<TsvRow> rows;
  for (TsvRow row; tsv.next(row);) rows.push_back(row);
  return rows;
}

using Fields = std::vector<std::string>;

Fields ids_of(const Dataset& data) {
  Fields ids;
  for (const Example& e : data.examples) ids.push_back(e.id);
  return ids;
}

}  // namespace

TEST_CASE("tsv: quoting is that of Python's csv module") {
  const Folder folder;                             // expected: Python 3.11, csv.reader(f, delimiter='\t')
  const std::string text =
      "a\tb\tc\n\"say \"\"hi\"\"\"\tan \"open\" word\t\"a\tTAB\"\n\"two\nlines\"\t\"tail\" of \"it\"\t\n\n"
      "\"\"\t\"\"\"\" \t x\"y\"\"z\n";
  const std::vector<TsvRow> rows = rows_of(folder.file("quotes", text));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].fields == Fields{"say \"hi\"", "an \"open\" word", "a\tTAB"});
  CHECK(rows[1].fields == Fields{"two\nlines", "tail of \"it\"", ""});
  CHECK(rows[2].fields == Fields{"", "\" ", " x\"y\"\"z"});
  CHECK(rows[0].line == 2);
  CHECK(rows[1].line == 3);
  CHECK(rows[1].last_line == 4);
  CHECK(rows[2].line == 6);                        // behind a blank line

  CHECK(rows_of(folder.file("off", "a\tb\n\"x\ty\"\"\n"), {.quoting = false, .names = {}}).at(0).fields ==
        Fields{"\"x", "y\"\""});
  CHECK(rows_of(folder.file("no header", "1\t2\n"), {.quoting = true, .names = {"a", "b"}}).size() == 1);

  const Fields hard = {"", "plain", "a \"b\"", "\"", "TAB\there", "line\nend", "\r\n"};
  CHECK(rows_of(folder.file("round trip", tsv_line(Fields(7, "x")) + tsv_line(hard))).at(0).fields == hard);
}

TEST_CASE("tsv: byte order mark, line ends, NUL and a long line pass through") {
  const Folder folder;
  TsvReader bom(folder.file("bom", "\xEF\xBB\xBF\"id\"\tx\r\n1\t2\r\n3\t4"));
  CHECK(bom.columns() == Fields{"id", "x"});
  TsvRow row;
  CHECK(bom.next(row));
  CHECK(bom.next(row));
  CHECK(row.fields == Fields{"3", "4"});           // no line end at the end
  CHECK(row.line == 3);
  CHECK_FALSE(bom.next(row));
  CHECK(rows_of(folder.file("cr", "a\r1\r2\r")).at(1).line == 3);
  const std::string bytes("a\0b", 3), big(10'000'000, 'x');
  CHECK(rows_of(folder.file("bytes", "t\n" + bytes + "\n")).at(0).fields.at(0) == bytes);
  CHECK(rows_of(folder.file("big", "t\n" + big + "\n")).at(0).fields.at(0) == big);
}

TEST_CASE("tsv: errors name file, line and columns") {
  const Folder folder;
  CHECK_ERROR(rows_of(folder / "none"), "none");
  CHECK_ERROR(TsvReader(folder.file("empty", "")), "the file is empty");
  CHECK_ERROR(TsvReader(folder.file("mark", "\xEF\xBB\xBF\n")), "the file is empty");
  CHECK_ERROR(TsvReader(folder.file("latin", "a\tb\r\n1\tcaf\xE9\r\n")),
              "latin:2: byte 6 of this line is 0xE9, which is not UTF-8");
  // Two texts that each begin with a quote: the rows between them would be one field.
  CHECK_ERROR(rows_of(folder.file("stray", "a\tb\n1\t\"x\n2\ty\n3\t\"z\n")),
              "stray:2: the quote that opens a field on this line is closed on line 4, within a text");
  CHECK_ERROR(rows_of(folder.file("stray", "a\tb\n1\t\"x\n2\ty\n3\tz\"\n")), "stray:2: the quote");
  CHECK_ERROR(rows_of(folder.file("open", "a\tb\n1\t2\n\"\n\"\t\"3\n4\t5\n")), "open:4: the quote");
  CHECK(rows_of(folder.file("one", "text\na\n\nb\n\n\n")).size() == 3);           // the second is empty
  const TsvReader tsv(folder.file("columns", "\tid\ttext\ttext\n"));
  CHECK(tsv.find({"id"}) == std::vector<size_t>{1});
  const std::string missing = error_of([&] { tsv.find({"id", "label"}); });
  CHECK(contains(missing, "there is no column \"label\""));
  CHECK(contains(missing, "the file has \"\", \"id\", \"text\", \"text\"; needed are \"id\", \"label\""));
  CHECK_ERROR(tsv.find({"text"}), "more than one column \"text\"");
}

TEST_CASE("tasks: a list of names becomes tasks in its order") {
  CHECK(names_of(parse_tasks("sts,sst,quora")) == Fields{"sts", "sst", "quora"});
  const std::vector<Task> tasks = parse_tasks("sst,quora,sts");
  CHECK(tasks_named({"sts", "sst"}, "here")[1].name == "sst");
  CHECK_ERROR(tasks_named({"sst", "imdb"}, "here"), "here: there is no task \"imdb\"");
  CHECK(tasks[0].outputs() == 5);
  CHECK(tasks[1].outputs() == 1);
  CHECK(task_named("cfimdb").outputs() == 2);
  CHECK_ERROR(parse_tasks("sst,imdb"),
              "no task \"imdb\"; the nearest is cfimdb\n  expected names among sst, quora, sts, cfimdb");
  CHECK_ERROR(parse_tasks("sst,sst"), "\"sst\" is named 2 times");
  CHECK_ERROR(parse_tasks(""), "no task \"\"");
  std::ostringstream log;
  CHECK_FALSE(find_test_file("nowhere", tasks[1], 0, log));
  CHECK(contains(log.str(), "quora-test-student.csv: not there"));
}

TEST_CASE("dataset: every bad row is skipped and reported with its line") {
  const Folder folder;
  const Tokenizer tokenizer = small_tokenizer(folder);
  const std::string header = "\tid\tsentence1\tsentence2\tis_duplicate\n";
  const std::string file = folder.file(
      "quora.csv", header +
                       "0\tx\ta b\tc\t1.0\n1\ty\ta\tb\t\n2\tz\ta\n"
                       "3\tv\ta\tb\t2\n4\tw\ta\tb\tnan\n5\tu\ta\tb\t0.5\n6\tt\ta\t\t0\n7\ts\tc\tc\t0\n");
  LoadReport report;
  const DatasetOptions any{.skip_bad_rows = true};
  const Dataset data = load_dataset(task_named("quora"), file, tokenizer, any, report);
  REQUIRE(data.examples.size() == 2);
  CHECK(data.examples[0].id == "x");
  CHECK(data.examples[0].label == 1);
  REQUIRE(data.examples[0].inputs.size() == 1);
  CHECK(data.examples[0].inputs[0].ids == std::vector<int32_t>{2, 5, 6, 3, 7, 3});
  CHECK(data.examples[0].inputs[0].segments == std::vector<int32_t>{0, 0, 0, 0, 1, 1});
  CHECK(data.examples[1].id == "s");
  CHECK(report.rows == 8);
  std::vector<int64_t> lines;
  for (const SkippedRow& row : report.skipped) lines.push_back(row.line);
  CHECK(lines == std::vector<int64_t>{3, 4, 5, 6, 7, 8});
  const std::string text = report.text();
  CHECK(contains(text,
                 file + ":3: column \"is_duplicate\" is empty\n  expected 0 or 1 (0.0 and 1.0 also count)"));
  CHECK(contains(text, ":4: 3 fields\n  expected 5, one a column"));
  CHECK(contains(text, ":5: column \"is_duplicate\" is \"2\""));
  CHECK_FALSE(contains(text, ".csv:8:"));          // the first five in detail, all in the total
  CHECK(contains(text, "6 of 8 rows skipped: lines 3, 4, 5, 6, 7, 8\n"));

  CHECK(load_dataset(task_named("quora"), file, tokenizer, {.limit = 1, .skip_bad_rows = true}, report)
            .examples.size() == 1);
  CHECK(report.text() == text);                     // all of the file is read
  std::string many = header;
  for (const char* id : {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"})
    many += formatted("0\t{}\ta\tb\t{}\n", id, std::string(id) == "r1" ? 9 : 1);       // r1 is skipped
  const std::string spaced = folder.file("many.csv", many);
  const Dataset three = load_dataset(task_named("quora"), spaced, tokenizer,
                                     {.limit = 3, .keep_texts = true, .skip_bad_rows = true}, report);
  CHECK(ids_of(three) == Fields{"r0", "r3", "r5"});            // rows 0, 2, 4 of the seven that are valid
  CHECK(three.examples[1].texts == Fields{"a", "b"});
  CHECK(report.rows == 8);
  CHECK(report.taken == 3);
  CHECK(ids_of(load_dataset(task_named("quora"), spaced, tokenizer, {.limit = 7, .skip_bad_rows = true},
                             report)).back() == "r7");
  const std::string none = folder.file("none.csv", header + "0\tx\ta\tb\t7\n");
  CHECK_ERROR(load_dataset(task_named("quora"), none, tokenizer, {}, report), "no valid row");
  const std::string bare = folder.file("bare.csv", header);
  CHECK(error_of([&] { load_dataset(task_named("quora"), bare, tokenizer, {}, report); }) ==
        bare + ": there is no row in it, only a header");
  CHECK_ERROR(load_dataset(task_named("sst"), file, tokenizer, {}, report), "\"sentence\"");
  CHECK_ERROR(load_dataset(task_named("sst"), "gone", tokenizer, {}, report), "no such file");
}

TEST_CASE("dataset: rows that are skipped are few, and take no label with them, unless it is asked for") {
  const Folder folder;
  const Tokenizer tokenizer = small_tokenizer(folder);
  const auto pairs = [](const std::vector<std::pair<std::string, int>>& labels) {
    std::string text = "index\tsentence1\tsentence2\tlabel\n";
    int row = 0;
    for (const auto& [label, count] : labels)
      for (int i = 0; i < count; ++i) text += formatted("{}\ta\tb\t{}\n", row++, label);
    return text;
  };
  const auto read = [&](const std::string& name, Split split, const std::string& text, DatasetOptions options = {}) {
    const Task& task = task_named(name);
    const std::string file = folder.file(name == "rte" ? split == Split::train ? "RTE/train.tsv" : "RTE/dev.tsv"
                                                       : task.files.train, text);
    std::ostringstream log;
    std::string said = error_of([&] { read_set(folder.path.string(), task, split, 0, tokenizer, options, log); });
    if (said.starts_with(file)) said = said.substr(file.size());
    return said;
  };
  const std::string advice = "\n  correct the file, or give --skip-bad-rows to go on without these rows";
  const auto ends = [&](const std::string& said, const std::string& lost, const std::string& rows) {
    INFO(said);
    CHECK(said.ends_with("\n  labels without a row: " + lost + "\n  rows of each label, or mistake: " + rows + advice));
  };
  for (const Split split : {Split::train, Split::dev})
    for (const int64_t limit : {0, 1}) {            // the file is judged, not what is taken of it
      INFO(limit);
      const auto rte = [&](const std::vector<std::pair<std::string, int>>& labels, bool skip = false) {
        return read("rte", split, pairs(labels), {.limit = limit, .skip_bad_rows = skip});
      };
      const std::string said = rte({{"entailment", 999}, {"Not_Entailment", 5}, {"maybe", 1}});
      CHECK(said.starts_with(":1001: column \"label\" is \"Not_Entailment\", which differs in case or blanks\n"
                             "  expected entailment or not_entailment; the row is skipped\n"));
      CHECK(contains(said, ": 6 of 1005 rows skipped: lines 1001, 1002, 1003, 1004, 1005, 1006\n"));
      ends(said, "not_entailment", "column \"label\" is \"Not_Entailment\", which differs in case or blanks: 5, "
                                   "column \"label\" is \"maybe\": 1, entailment: 999");
      CHECK(rte({{"entailment", 981}, {"not_entailment", 9}, {"maybe", 10}}) == "no error");      // 10 of 1000
      ends(rte({{"entailment", 980}, {"not_entailment", 9}, {"maybe", 10}}), "none",
           "column \"label\" is \"maybe\": 10, entailment: 980, not_entailment: 9");
      CHECK(rte({{"entailment", 5}, {"Not_Entailment", 5}}, true) == "no error");
      CHECK(rte({{"entailment", 5}}) == "no error");               // none is skipped
    }
  const auto differs = [&](const std::string& label) {
    return contains(read("rte", Split::train, pairs({{"entailment", 2}, {"not_entailment", 2}, {label, 1}})),
                    formatted(":6: column \"label\" is \"{}\", which differs in case or blanks\n", label));
  };
  CHECK(differs("ENTAILMENT"));
  CHECK_FALSE(differs(" entailment"));              // blanks around it are none of it
  CHECK(differs("not_entailment\xC2\xA0"));         // a no-break space
  CHECK(differs("Entailment"));
  CHECK_FALSE(differs("entails"));
  CHECK(contains(read("rte", Split::train, pairs({{"Entailment", 3}})), "which differs in case or blanks"));

  std::string sst = "id\tsentence\tsentiment\n", sts = "id\tsentence1\tsentence2\tsimilarity\n";
  for (int i = 0; i < 50; ++i) {
    sst += formatted("{}\ta\t{}\n", i, i % 5);
    sts += formatted("{}\ta\tb\t{}\n", i, i % 6);
  }
  CHECK(read("sst", Split::train, sst) == "no error");
  CHECK(read("sst", Split::train, sst + "x\ta\t 3 \n") == "no error");
  ends(read("sts", Split::train, sts + "x\ta\tb\t7\ny\ta\n"), "none", "2 fields: 1, column \"similarity\" is \"7\": 1");

  std::ostringstream log;                           // a test set needs no labels, and a row that is skipped none
  folder.file("RTE/test.tsv", "index\tsentence1\tsentence2\n0\ta\tb\n1\ta\n");
  const Dataset test = read_set(folder.path.string(), task_named("rte"), Split::test, 0, tokenizer, {}, log);
  CHECK(test.examples.size() == 1);
  CHECK(test.skipped == 1);
}

TEST_CASE("dataset: rows of several lines are said with their lines") {
  const Folder folder;
  const Tokenizer tokenizer = small_tokenizer(folder);
  const std::string file = folder.file("sst.csv", "id\tsentence\tsentiment\nx\t\"a\n\nb\"\t0\nw\tc\t3\n"
                                                  "v\t\"a\nb\"\t4\n");
  LoadReport report;
  CHECK(load_dataset(task_named("sst"), file, tokenizer, {}, report).examples.size() == 3);
  CHECK(report.text() == file + ": 2 of 3 rows have several lines: lines 2-4, 6-7; is there a quote that opens a field "
                                "and is not closed?\n");
  CHECK(load_dataset(task_named("sst"), file, tokenizer, {.limit = 1}, report).examples.size() == 1);
  CHECK(times(report.text(), "2 of 3 rows have several lines: lines 2-4, 6-7;") == 1);
}

TEST_CASE("dataset: siamese pairs, truncation and test files") {
  const Folder folder;
  const Tokenizer tokenizer = small_tokenizer(folder);
  const std::string file =
      folder.file("sts.csv", "\tid\tsentence1\tsentence2\n0\tp\ta b c a\tb\n1\tq\ta\t\n");
  LoadReport report;
  const DatasetOptions options{.max_length = 4, .pairs = Pairs::siamese, .limit = 0, .split = Split::test};
  const Dataset data = load_dataset(task_named("sts"), file, tokenizer, options, report);
  REQUIRE(data.examples.size() == 2);              // an empty text in a test file still needs a prediction
  CHECK(contains(report.text(), "1 of 2 rows truncated to 4 tokens"));
  const Batch batch = labeled(data, std::vector<int32_t>{1, 0}).batch;
  REQUIRE(batch.offsets.size() == 5);
  const std::vector<int32_t> ids(batch.ids.begin() + batch.offsets[1], batch.ids.end());
  CHECK(ids == std::vector<int32_t>{2, 3, 2, 5, 6, 3, 2, 6, 3});
}

TEST_CASE("tasks: labels in words, and the texts of the first valid rows") {
  CHECK(in_words(task_named("sst"), 0) == "very negative");
  CHECK(in_words(task_named("sst"), 4) == "very positive");
  CHECK(in_words(task_named("quora"), 1) == "same question");
  CHECK(in_words(task_named("sts"), 3.44) == "3.4 of 5");
  CHECK(in_words(task_named("sts"), -0.7) == "0.0 of 5");
  CHECK(in_words(task_named("sts"), 5.2) == "5.0 of 5");
  for (const Task& task : all_tasks())
    if (!task.class_names.empty()) CHECK(double(task.class_names.size()) == task.high + 1);

  const Folder folder;
  const std::string file = folder.file(
      "quora.csv", "id\tsentence1\tsentence2\tis_duplicate\n0\ta\tb\t2\n1\tA b?\tC\t1\n2\tb\tc\t0\n3\tc\ta\t0\n");
  LoadReport report;
  const auto load = [&](bool texts) {
    return load_dataset(task_named("quora"), file, small_tokenizer(folder),
                        {.keep_texts = texts, .skip_bad_rows = true}, report).examples;
  };
  const std::vector<Example> kept = load(true);
  REQUIRE(kept.size() == 3);
  CHECK(kept[0].texts == Fields{"A b?", "C"});
  CHECK(kept[2].texts == Fields{"c", "a"});
  CHECK(load(false).at(0).texts.empty());
}

TEST_CASE("sampling: each example once, in an order that is a function of seed, task and epoch") {
  const std::vector<TaskSize> sizes = {{"sst", 21}, {"quora", 50}, {"sts", 8}};
  for (const char* name : {"sequential", "round-robin", "proportional"}) {
    CAPTURE(name);
    EpochOptions options{.sampling = choice<Sampling>(name, ""), .batch = 8};
    const std::vector<TaskBatch> batches = epoch_batches(sizes, 3, options);
    CHECK(batches.size() == 3 + 7 + 1);
    std::vector<std::vector<int32_t>> seen(3);
    for (const TaskBatch& batch : batches) {
      CHECK_FALSE(batch.examples.empty());
      std::ranges::copy(batch.examples, std::back_inserter(seen.at(size_t(batch.task))));
    }
    const auto orders = seen;
    for (size_t task = 0; task < 3; ++task) {
      CHECK_FALSE(std::ranges::is_sorted(seen[task]));
      CHECK(std::set<int32_t>(seen[task].begin(), seen[task].end()).size() == size_t(sizes[task].examples));
      CHECK(int64_t(seen[task].size()) == sizes[task].examples);
    }
    const auto same = [&](const std::vector<TaskBatch>& other) {
      return std::ranges::equal(batches, other, [](const TaskBatch& a, const TaskBatch& b) {
        return a.task == b.task && a.examples == b.examples;
      });
    };
    CHECK(same(epoch_batches(sizes, 3, options)));
    CHECK_FALSE(same(epoch_batches(sizes, 4, options)));
    const std::vector<TaskBatch> alone = epoch_batches(std::span(sizes).subspan(2), 3, options);
    CHECK(alone.at(0).examples == orders[2]);         // the same order without the other tasks
    options.seed = 1;
    CHECK_FALSE(same(epoch_batches(sizes, 3, options)));
    options.shuffle = false;
    std::map<int, int32_t> next;
    for (const TaskBatch& batch : epoch_batches(sizes, 3, options))
      for (int32_t example : batch.examples) CHECK(example == next[batch.task]++);
  }
  CHECK_ERROR(epoch_batches(std::vector<TaskSize>{{"a", 2}}, 0, {.batch = 0}), "--batch 0");
}

TEST_CASE("sampling: the tasks of the steps") {
  const std::vector<TaskSize> sizes = {{"a", 2}, {"b", 0}, {"c", 4}};
  const auto tasks = [&](Sampling sampling) {
    std::string order;
    for (const TaskBatch& step : epoch_batches(sizes, 0, {.sampling = sampling, .batch = 1}))
      order += sizes.at(size_t(step.task)).name;
    return order;
  };
  CHECK(tasks(Sampling::sequential) == "aacccc");
  CHECK(tasks(Sampling::round_robin) == "acaccc");

  // Drawn in proportion to what is left, every order is equally likely: the first step is the small task's 1
  // time in 4, and so is the last.
  const std::vector<TaskSize> uneven = {{"small", 100}, {"large", 300}};
  int first = 0, last = 0;
  for (int epoch = 0; epoch < 400; ++epoch) {
    const auto steps = epoch_batches(uneven, epoch, {.sampling = Sampling::proportional, .batch = 10});
    first += steps.front().task == 0;
    last += steps.back().task == 0;
  }
  for (const auto& [step, small] : {std::pair("first", first), {"last", last}}) {
    INFO("proportional: the small task, of 10 batches in 40, had the " << step << " step in " << small
         << " of 400 epochs");
    CHECK(small > 65);                              // 100 expected, standard deviation 8.7: four of them to each side
    CHECK(small < 135);
  }
}

TEST_CASE("metrics: accuracy, Pearson, mean and deviation") {
  const std::vector<double> x = {2.5, 0, 4.75, 3.25, 1.5, 5}, y = {3, .2, 4.4, 2.6, 2.8, 4.8}, same(6, 0.1);
  CHECK(pearson(x, y).value() ==
        doctest::Approx(0.9352279438317832).epsilon(1e-14));  // numpy 1.24: corrcoef(x, y)[0, 1]
  CHECK(pearson(x, x).value() == doctest::Approx(1).epsilon(1e-15));
  const std::vector<double> far = {1e6, 1e6 + .25, 1e6 + .5, 1e6 + .75, 1e6 + 1}, rank = {1, 3, 2, 5, 4};
  CHECK(pearson(far, rank).value() == doctest::Approx(0.8).epsilon(1e-14));             // numpy: the same call
  CHECK_FALSE(pearson(x, same));
  CHECK_FALSE(pearson(std::vector<double>{1, std::nan("")}, std::vector<double>{1, 2}));
  CHECK(score_text(pearson(x, same)) == "undefined");
  CHECK(score_text(0.5154) == "0.515");
  CHECK(*accuracy(std::vector<double>{1, 2, 3, 4}, std::vector<double>{1, 2, 0, 0}) == 0.5);
  CHECK(scores(task_named("sts"), x, y) == TaskScores{pearson(x, y)});
  CHECK(mean_score(std::vector<TaskScores>{{0.6, 0.1}, {0.9}, {std::nullopt}}) == doctest::Approx(0.5));
  const Summary runs = summarize(std::vector<double>{.515, .498, .507, .521, .489});
  CHECK(runs.mean == doctest::Approx(0.506));                                    // numpy: mean, std(ddof=1)
  CHECK(runs.deviation == doctest::Approx(0.01284523257866514).epsilon(1e-12));
  CHECK(summarize(std::vector<double>{.5}).deviation == 0);
  CHECK_THROWS_AS(accuracy({}, {}), Error);

  CHECK(contains(collapse_warning(task_named("quora"), std::vector<double>{0, 0, 0}),
                 "quora: every prediction is \"different questions\", so"));
  CHECK(contains(collapse_warning(task_named("sts"), std::vector<double>{2.5, 2.501}), "is \"2.5 of 5\", so"));
  CHECK(collapse_warning(task_named("quora"), std::vector<double>{0, 1}) == "");
}

TEST_CASE("predictions: the course's format") {
  const Folder folder;
  const Dataset data{"dev.csv", {{"aa", 0, {}}, {"bb", 0, {}}, {"cc", 0, {}}}};
  const auto written = [&](const char* task, Split split, const char* name, std::vector<double> values) {
    write_predictions(folder.path.string(), task_named(task), split, data, values);
    return read_file(folder / name);
  };
  CHECK(written("sst", Split::dev, "sst-dev-output.csv", {4, 0, 2}) ==
        "id \t Predicted_Sentiment \naa , 4 \nbb , 0 \ncc , 2 \n");
  CHECK(written("quora", Split::test, "para-test-output.csv", {1, 0, 1}) ==
        "id \t Predicted_Is_Paraphrase \naa , 1 \nbb , 0 \ncc , 1 \n");
  CHECK(written("sts", Split::dev, "sts-dev-output.csv", {-0.25, 3.125, 5.5}) ==
        "id \t Predicted_Similiary \naa , -0.25 \nbb , 3.125 \ncc , 5.5 \n");       // what is scored
  CHECK(written("sts", Split::test, "sts-test-output.csv", {-0.25, 3.125, 5.5}) ==
        "id \t Predicted_Similiary \naa , 0 \nbb , 3.125 \ncc , 5 \n");           // what a server takes
  CHECK_ERROR(written("sst", Split::dev, "", {1}), "1 predictions for 3 examples of dev.csv");
}

TEST_CASE("real data: every row of the course's files is read or reported") {
  const char* root = real_data("the rows of the course's files");
  if (!root) return;
  const Tokenizer tokenizer = small_tokenizer(Folder());
  const std::map<std::string, std::vector<size_t>> counts = {{"sst", {8544, 1101, 2210}},
                                                             {"quora", {43621, 20212}},
                                                             {"sts", {6040, 863, 1725}},
                                                             {"cfimdb", {1707, 245, 488}}};
  for (const auto& [name, rows] : counts)
    for (size_t split = 0; split < rows.size(); ++split) {
      const std::string file = data_file(std::string(root) + "/course", task_named(name), Split(split));
      LoadReport report;
      DatasetOptions options;
      options.split = Split(split);
      CAPTURE(file);
      CHECK(load_dataset(task_named(name), file, tokenizer, options, report).examples.size() == rows[split]);
      const bool quora_dev = name == "quora" && split == 1;
      CHECK(report.skipped.size() == (quora_dev ? 2 : 0));
      if (quora_dev) CHECK(contains(report.text(), "2 of 20214 rows skipped: lines 2577, 14222\n"));
    }
}

}  // namespace minbert::test
