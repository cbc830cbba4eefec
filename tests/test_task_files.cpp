// Tasks of one's own: from a file to a model that knows its labels.
#include <doctest/doctest.h>

#include "error_of.h"
#include "folder.h"
#include "minbert/model.h"
#include "small_run.h"

namespace minbert::test {
namespace {

// The task of a file in the folder, without what is said of it.
Task task_in(const Folder& folder, const std::string& name, std::string* said = nullptr) {
  const Quiet quiet;
  const Task task = read_task(name, folder.path.string());
  if (said) *said = quiet.text();
  return task;
}

std::string refusal(const Folder& folder, const std::string& name) {
  return error_of([&] { task_in(folder, name); });
}

const std::string tickets = "text\tkind\nit crashes\tbug\nit freezes\tbug\nplease add it\twish\nI want it\twish\n";
using Names = std::vector<std::string>;

// A model of SST in run/ whose config.json has the name alone of its task, as minbert 0.9.0 wrote it.
// Returns that file.
std::string name_task_alone(SmallWorld& world, const char* name) {
  TrainOptions o = world.options();
  o.tasks = "sst", o.epochs = 0;
  world.run(o, "run", 0, "layer");
  const std::string file = world.path("run/model/config.json");
  Json config = Json::load(file), ours = config["minbert"];
  write_file(file, config.set("minbert", ours.set("tasks", Json::array({name}))).dump());
  return file;
}

}  // namespace

TEST_CASE("task file: a table with a heading is a task; the labels' words are those of its rows") {
  const Folder folder;
  folder.file("tickets.tsv", tickets);
  std::string said;
  const Task task = task_in(folder, "tickets.tsv", &said);
  CHECK(task.name == "tickets");
  CHECK(task.kind == TaskKind::classification);
  CHECK(task.text_columns == Names{"text"});
  CHECK(task.label_column == "kind");
  CHECK(task.label_words == Names{"bug", "wish"});
  CHECK(task.outputs() == 2);
  CHECK(task.files.train == "tickets.tsv");
  CHECK(task.files.dev == Names{"tickets.tsv"});
  CHECK(contains(said, "one training row in 10 is dev"));
  CHECK(contains(said, "this task is assumed"));
  const std::string json = said.substr(said.find('{'));
  folder.file("saved.json", json);                  // what was printed says the same
  CHECK(json_of(task_in(folder, "saved.json")).dump() == json_of(task).dump());
}

TEST_CASE("task file: commas, quotes, a byte order mark, CR LF, blanks around labels, ids, pairs") {
  const Folder folder;
  folder.file("a.csv", "\xEF\xBB\xBFid,first,second,label\r\n1,\"a, b\",c, yes \r\n"
                       "2,d,\"e\"\"f\",no\r\n3,g,h,no\r\n4,g,h,yes\r\n");
  const Task task = task_in(folder, "a.csv");
  CHECK(task.id_column == "id");
  CHECK(task.text_columns == Names{"first", "second"});
  CHECK(task.label_words == Names{"no", "yes"});
  CHECK(task.format.separator == ',');
  const Tokenizer any({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, "none", true);
  LoadReport report;
  Task all = task;
  all.files.dev = {"another.csv"};
  const Dataset data = load_dataset(all, folder / "a.csv", any, {.keep_texts = true}, report);
  REQUIRE(data.examples.size() == 4);
  CHECK(data.examples[0].texts == Names{"a, b", "c"});
  CHECK(data.examples[0].label == 1);
  CHECK(data.examples[1].texts[1] == "e\"f");
}

TEST_CASE("task file: whole numbers are classes, others or many are a score") {
  const Folder folder;
  folder.file("stars.tsv", "review\tstars\na\t10\nb\t2\nc\t2\nd\t10\n");
  CHECK(task_in(folder, "stars.tsv").label_words == Names{"2", "10"});    // as numbers go
  folder.file("scores.tsv", "review\tscore\na\t1.5\nb\t-2\nc\t3\n");
  const Task scores = task_in(folder, "scores.tsv");
  CHECK(scores.kind == TaskKind::regression);
  CHECK(scores.low == -2);
  CHECK(scores.high == 3);
  CHECK(scores.metrics[0] == Metric::pearson);
  folder.file("halves.tsv", "review\tscore\na\t1.5\nb\t0.5\n");
  CHECK(in_words(task_in(folder, "halves.tsv"), 0.9) == "0.9 of 1.5");
}

TEST_CASE("task file: a folder has train, dev and test; a dev file beside my-train.tsv is found") {
  const Folder folder;
  for (const char* file : {"both/train.csv", "both/dev.csv", "both/test.csv"})
    folder.file(file, "text,label\na,x\nb,y\na,x\nb,y\n");
  const Task both = task_in(folder, "both");
  CHECK(both.files.train == "both/train.csv");
  CHECK(both.files.dev == Names{"both/dev.csv"});
  CHECK(both.files.test == Names{"both/test.csv"});
  for (const char* file : {"my-train.tsv", "my-dev.tsv"}) folder.file(file, tickets);
  CHECK(task_in(folder, "my-train.tsv").files.dev == Names{"my-dev.tsv"});
  folder.file("both/of.json", R"({"files": {"train": "train.csv", "dev": "dev.csv"}})");
  CHECK(read_task(folder / "both/of.json", "").files.dev == Names{folder / "both/dev.csv"});        // no data folder
  const Folder elsewhere;
  const Task far = task_in(elsewhere, folder / "both");
  CHECK(data_file(elsewhere.path.string(), far, Split::dev) == folder / "both/dev.csv");
}

TEST_CASE("task file: what cannot be a task is refused with what to do") {
  const Folder folder;
  const auto refused = [&](const std::string& name, const std::string& text, const std::string& message) {
    INFO(name);
    folder.file(name, text);
    CHECK(contains(refusal(folder, name), message));
    CHECK(contains(refusal(folder, name), folder / name));
  };
  const std::string names = R"({"text_columns": ["text"], "label_column": "kind", "class_names": ["a"],
                                "label_words": ["bug", "wish"], "files": {"train": "tickets.tsv"}})";
  refused("typo.json", R"({"nam": "x"})", "field: there is no \"nam\"");
  refused("kind.json", R"({"kind": "guess"})", "\"guess\"");
  refused("one.tsv", "text\tlabel\na\tx\nb\tx\n", "1 different labels");
  refused("texts.tsv", "label\ttext\tmore\tmost\nx\ta\tb\tc\ny\ta\tb\tc\nx\ta\tb\tc\ny\ta\tb\tc\n",
          "its columns are label, text, more, most; one of them, or two, have the texts");
  refused("bare.tsv", "it crashes\tbug\nit freezes\tbug\nadd it\twish\n", "its first line must name the columns");
  refused("bare-scores.tsv", "it crashes\t1.5\nit freezes\t2\n", "its first line must name the columns, and \"1.5\"");
  refused("comma.tsv", "text\tscore\na\t1,5\nb\t2\n", "the label \"1,5\" has a comma");
  refused("unique.tsv", "label\ttext\na\tx\nb\tx\nc\ty\nd\tz\n", "4 different labels in 4 rows");
  refused("names.json", names, "there is no such file");
  folder.file("tickets.tsv", tickets);
  refused("names.json", names, "class_names has 1 names for 2 labels");
  CHECK(contains(refusal(folder, "none.tsv"), "--tasks none.tsv: there is no such file"));
}

TEST_CASE("task file: what a Task cannot be is refused when its data are read") {
  const Folder folder;
  const Tokenizer any({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, "none", true);
  const std::string file = folder.file("tickets.tsv", tickets);
  Task task = {.name = "tickets", .title = "Tickets", .text_columns = {"text"}, .label_column = "kind",
               .files = {"tickets.tsv", {"dev.tsv"}}, .prediction_stem = "tickets",
               .label_words = {"bug", "wish", "praise"}};
  CHECK(task.outputs() == 3);                       // high follows from the words
  LoadReport report;
  CHECK(load_dataset(task, file, any, {}, report).examples.size() == 4);
  for (const auto& [change, message] : std::vector<std::pair<std::function<void(Task&)>, std::string>>{
           {[](Task& t) { t.metrics = {Metric::matthews}; }, "accuracy of labels, matthews, f1 of two"},
           {[](Task& t) { t.loss_weight = -1; }, "loss_weight must be above 0"},
           {[](Task& t) { t.kind = TaskKind::binary; }, "binary labels are 0 and 1, or two label_words"},
           {[](Task& t) { t.kind = TaskKind::binary, t.label_words = {}, t.low = 1, t.high = 2; },
            "binary labels are 0 and 1"},
           {[](Task& t) { t.kind = TaskKind::regression, t.metrics = {Metric::pearson}; },
            "a score has no label_words"},
           {[](Task& t) { t.files.dev.push_back("other.tsv"); }, "a name for each dev file"},
           {[](Task& t) { t.files.test = {"a.tsv", "b.tsv"}; }, "no more test files than these"},
           {[](Task& t) { t.prediction_stem = "../x"; }, "prediction_stem is a file's name"}}) {
    Task other = task;
    change(other);
    CHECK_ERROR(load_dataset(other, file, any, {}, report), message);
  }
  task.label_words = {"bug"};
  CHECK_ERROR(load_dataset(task, file, any, {}, report), "task \"tickets\": it has one label alone");
  task.label_words = {"bug", "wish"}, task.name = "my tickets";
  CHECK_ERROR(load_dataset(task, file, any, {}, report), "its name must have letters");
}

TEST_CASE("task file: a model keeps its task and is opened, resumed and judged by it; other labels are refused") {
  SmallWorld world;
  const std::string file = world.path("data/tickets.tsv");
  std::string rows = "text\tkind\n";
  for (int i = 0; i < 40; ++i)
    rows += i % 2 ? formatted("good film {}\tpraise\n", i) : formatted("bad plot {}\tbug\n", i);
  write_file(file, rows);
  TrainOptions o = world.options();
  o.tasks = "tickets.tsv,sst";
  CHECK(world.run(o, "run", 2).interrupted);
  CHECK_FALSE(world.run(o, "run").interrupted);
  const TrainedModel trained(world.path("run"));
  REQUIRE(trained.tasks.size() == 2);
  CHECK(trained.tasks[0].name == "tickets");
  CHECK(labels_of(trained.task("tickets")) == Names{"bug", "praise"});
  CHECK_FALSE(trained.task("tickets").is_pair());
  o.model = world.path("run");
  {
    const Quiet quiet;
    CHECK(evaluate(Experiment(o), world.path("run"))[0][0].has_value());
  }
  std::string other = rows;
  for (size_t at; (at = other.find("bug")) != other.npos;) other.replace(at, 3, "wish");
  write_file(file, other);
  const Quiet quiet;
  CHECK_ERROR(Experiment{o}, "the model's task \"tickets\" has other labels");
}

TEST_CASE("task file: labels in config.json that are not those of the table's task are an error") {
  SmallWorld world;
  const std::string file = name_task_alone(world, "sst");
  Json config = Json::load(file);
  CHECK_NOTHROW(TrainedModel(world.path("run")));
  config.set("id2label", Json::object({{"0", "a"}, {"1", "b"}, {"2", "c"}, {"3", "d"}, {"4", "e"}}));
  write_file(file, config.dump());
  CHECK_ERROR(TrainedModel(world.path("run")), "are a, b, c, d, e, but those of the task \"sst\" are very negative");
}

TEST_CASE("task file: a label that only training or only dev has is named; one label alone is an error") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "my-train.tsv";
  const std::string bugs = "text\tkind\na film\tbug\na plot\tbug\n", both = bugs + "good\tpraise\nfine\tpraise\n",
                    json = R"({"text_columns": ["text"], "label_column": "kind",)"
                           R"( "label_words": ["bug", "praise", "wish"],)"
                           R"( "files": {"train": "my-train.tsv", "dev": "my-dev.tsv"}})";
  write_file(world.path("data/my-train.tsv"), both), write_file(world.path("data/my-dev.tsv"), bugs);
  const Quiet quiet;
  Experiment{o};
  CHECK(contains(quiet.text(), "my-dev.tsv: no row is labeled praise: the scores say nothing of it"));
  write_file(world.path("data/my.json"), json);
  o.tasks = "my.json";
  Experiment{o};
  CHECK(contains(quiet.text(), "my-train.tsv: no row is labeled wish: that cannot be learnt"));
  write_file(world.path("data/my-train.tsv"), bugs);
  CHECK_ERROR(Experiment{o}, "my-train.tsv: all rows have the same label");
}

TEST_CASE("task file: a model of one's own that does not describe its task is opened by the labels of config.json") {
  SmallWorld world;
  name_task_alone(world, "mood");
  const TrainedModel trained(world.path("run"));
  CHECK(trained.task("").name == "mood");
  CHECK(labels_of(trained.task("mood"))[4] == "very positive");
}

TEST_CASE("task file: what the rows make doubtful is said, or refused") {
  const Folder folder;
  std::string numbers = "text\tscore\n", cases = "text\tkind\n", ids = "ticket_id\ttext\tkind\n";
  for (int i = 0; i < 40; ++i) {
    numbers += formatted("a\t{}\n", i == 7 ? "n/a" : formatted("0.{}", 10 + i));
    cases += formatted("a\t{}\n", i % 3 == 0 ? "bug" : i % 3 == 1 ? "Bug" : "wish");
    ids += formatted("{}\ta\t{}\n", i, i % 2 ? "bug" : "wish");
  }
  folder.file("numbers.tsv", numbers), folder.file("cases.tsv", cases), folder.file("ids.tsv", ids);
  CHECK(contains(refusal(folder, "numbers.tsv"), "39 labels of 40 are numbers, but not \"n/a\""));
  std::string said;
  task_in(folder, "cases.tsv", &said);
  CHECK(contains(said, "the labels \"Bug\" and \"bug\" are two: they differ in case, accents"));
  CHECK(task_in(folder, "ids.tsv").id_column == "ticket_id");
  CHECK(task_in(folder, "ids.tsv").text_columns == Names{"text"});
  folder.file("f1.json", R"({"text_columns": ["text"], "label_column": "kind", "metrics": ["f1"],)"
                         R"( "files": {"train": "cases.tsv"}})");
  CHECK(contains(refusal(folder, "f1.json"), "accuracy of labels, matthews, f1 of two"));
}

TEST_CASE("task file: a new network learns it without a model, and a run's model is asked for it by its name") {
  SmallWorld world;
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 40; ++i) rows += formatted(i % 2 ? "good film {}\tpraise\n" : "bad plot {}\tbug\n", i);
  write_file(world.path("data/tickets.tsv"), rows);
  TrainOptions o = world.options();
  o.model = "", o.config = world.path("start/config.json"), o.vocab = world.path("vocab.txt"), o.tasks = "tickets.tsv";
  o.epochs = 1;
  CHECK_FALSE(world.run(o, "new").interrupted);
  CHECK(labels_of(TrainedModel(world.path("new")).task("tickets")) == Names{"bug", "praise"});
  o.model = world.path("new"), o.vocab = "", o.tasks = "tickets";
  const Quiet quiet;
  const Experiment by_name(o);
  CHECK(by_name.data()[0].train.examples.size() + by_name.data()[0].dev[0].examples.size() == 40);
}

TEST_CASE("task file: names that mean something else, columns and labels that are there twice are refused") {
  const Folder folder;
  folder.file("tickets.tsv", tickets), folder.file("classifier.tsv", tickets), folder.file("mask.tsv", tickets);
  for (const char* name : {"classifier.tsv", "mask.tsv"})
    CHECK(contains(refusal(folder, name), "this name means something else here"));
  const auto refused = [&](const std::string& fields) {
    folder.file("x.json", "{\"files\": {\"train\": \"tickets.tsv\"}, " + fields + "}");
    return refusal(folder, "x.json");
  };
  CHECK(contains(refused(R"("text_columns": ["kind"], "label_column": "kind")"), "a column is there twice"));
  CHECK(contains(refused(R"("text_columns": ["text", "text"])"), "a column is there twice"));
  CHECK(contains(refused(R"("label_words": ["bug", "wish", "wish"])"), "two labels have the same name"));
  CHECK(contains(refused(R"("class_names": ["x", "x"])"), "two labels have the same name"));
  CHECK(contains(refused(R"("metrics": ["pearson"])"), "metrics must be"));
  CHECK(contains(refused(R"("dev_part": -1)"), "dev_part must be 2 or more"));
  CHECK(refused(R"("metrics": ["matthews"])") == "no error");
}

TEST_CASE("task file: what a JSON says is kept; a set drawn from training rows is drawn from that file alone") {
  const Folder folder;
  std::string codes = "text\tcode\n", other = "text\tcode\n";
  for (int i = 0; i < 200; ++i) codes += formatted("text {}\t{}\n", i, i % 25);
  for (int i = 0; i < 40; ++i) other += formatted("more {}\t{}\n", i, i % 25);
  folder.file("codes.tsv", codes), folder.file("other.tsv", other);
  folder.file("codes.json", R"({"kind": "classification", "label_column": "code", "metrics": ["accuracy"],)"
                            R"( "prediction_stem": "both", "sets": ["own", "other"],)"
                            R"( "files": {"train": "codes.tsv", "dev": ["codes.tsv", "other.tsv"]}})");
  const Task task = task_in(folder, "codes.json");
  CHECK(task.kind == TaskKind::classification);
  CHECK(task.metrics == std::vector<Metric>{Metric::accuracy});
  const Tokenizer any({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, "none", true);
  std::ostringstream log;
  const auto rows = [&](Split split, size_t set) {
    return read_set(folder.path.string(), task, split, set, any, {.split = split}, log).examples.size();
  };
  CHECK(rows(Split::train, 0) + rows(Split::dev, 0) == 200);
  CHECK(rows(Split::dev, 1) == 40);
  folder.file("scores.json", R"({"kind": "regression", "low": -5, "metrics": ["pearson"], "label_column": "code",)"
                             R"( "prediction_stem": "both", "files": {"train": "codes.tsv"}})");
  CHECK(task_in(folder, "scores.json").low == -5);
  CHECK(task_in(folder, "scores.json").high == 24);
  CHECK_ERROR(parse_tasks("codes.json,scores.json", "", "", folder.path.string()),
              "two tasks write their predictions as");
}

}  // namespace minbert::test
