// What GLUE's tasks are scored by, and on which rows: several metrics, several dev sets, MRPC's dev set.
#include <doctest/doctest.h>

#include <algorithm>
#include <iostream>

#include "minbert/metrics.h"
#include "runs/comparison.h"
#include "real_data.h"
#include "small_run.h"
#include "task_files.h"
#include "tasks/tsv.h"

namespace minbert::test {
namespace {

using Names = std::vector<std::string>;

// MRPC's files as they are published: pairs of rows "label, first id"; the second id is 100 more.
std::string pairs(const std::vector<std::pair<int, int>>& rows, const std::string& first = "Quality") {
  std::string text = "\xEF\xBB\xBF" + first + "\t#1 ID\t#2 ID\t#1 String\t#2 String\n";
  for (const auto& [label, id] : rows)
    text += formatted("{}\t{}\t{}\tthe film {}\tthe plot\n", label, id, id + 100, id);
  return text;
}

struct Sets {
  Names train, dev;                                 // the last word of each row's first text: its first id
  std::string log;
};

Sets mrpc_sets(const Folder& folder, const Tokenizer& tokenizer, DatasetOptions options = {}) {
  std::ostringstream log;
  options.keep_texts = true;
  const auto ids = [&](Split split) {
    Names list;
    for (const Example& e :
         read_set(folder.path.string(), task_named("mrpc"), split, 0, tokenizer, options, log).examples)
      list.push_back(e.texts[0].substr(9));
    return list;
  };
  Sets sets{ids(Split::train), ids(Split::dev), ""};
  sets.log = log.str();
  return sets;
}

// Of a prediction file in GLUE's form, the share of rows with the label that the task's file has.
double share_right(const std::string& predictions, const std::string& file) {
  const auto words = [](const std::string& name) {
    Names last;
    std::istringstream in(read_file(name));
    for (std::string line; std::getline(in, line);) last.push_back(line.substr(line.rfind('\t') + 1));
    return last;
  };
  const Names said = words(predictions), is = words(file);
  REQUIRE(said.size() == is.size());
  double right = 0;
  for (size_t i = 1; i < is.size(); ++i) right += said[i] == is[i];
  return right / double(is.size() - 1);
}

}  // namespace

TEST_CASE("metrics: GLUE's tasks are scored as the papers report them, and --metric says which score leads") {
  const auto columns = [](const std::string& tasks, const std::string& leading = "") {
    Names names;
    for (const Task& task : parse_tasks(tasks, leading))
      for (const Measure& measure : measures(task)) names.push_back(column_name(task, measure));
    return names;
  };
  CHECK(columns("sst,sts,cola") == Names{"sst_accuracy", "sts_pearson", "cola_matthews"});
  CHECK(columns("mrpc,stsb,qqp") ==
        Names{"mrpc_f1", "mrpc_accuracy", "stsb_spearman", "stsb_pearson", "qqp_f1", "qqp_accuracy"});
  CHECK(columns("mrpc,stsb,qqp", "qqp=accuracy,stsb=pearson,mrpc=f1") ==
        Names{"mrpc_f1", "mrpc_accuracy", "stsb_pearson", "stsb_spearman", "qqp_accuracy", "qqp_f1"});
  CHECK(columns("mnli") == Names{"mnli_m_accuracy", "mnli_mm_accuracy"});
  const auto refused = [](const char* leading) { return error_of([&] { parse_tasks("mrpc,rte", leading); }); };
  CHECK(refused("mrpc=bleu") == "--metric mrpc=bleu: mrpc is not scored by \"bleu\"; valid are: f1, accuracy");
  CHECK(refused("qqp=f1") == "--metric qqp=f1: \"qqp\" is none of the tasks here: mrpc, rte; the nearest is mrpc");
  CHECK(refused("mrpc") == "--metric mrpc: expected TASK=METRIC, such as mrpc=accuracy");
  CHECK(contains(refused("mrpc=f1,mrpc=accuracy"), "mrpc is there twice"));
  CHECK(contains(refused("mrpc=f1,"), "expected TASK=METRIC"));
  const auto weigh = [](const char* weights) { return parse_tasks("mrpc,rte", "", weights); };
  CHECK(weigh("rte=.5")[0].loss_weight == 1);
  CHECK(weigh("rte=.5")[1].loss_weight == 0.5);
  for (const char* weight : {"0", "-1", "", "inf", "nan", "2x"})
    CHECK(error_of([&] { weigh(formatted("rte={}", weight).c_str()); }) ==
          formatted("--task-weights rte={}: \"{}\" is not a number above 0; leave a task out of --tasks to train "
                    "without it", weight, weight));
  CHECK(error_of([&] { weigh("sst=2"); }) ==
        "--task-weights sst=2: \"sst\" is none of the tasks here: mrpc, rte; the nearest is rte");
}

TEST_CASE("glue: MRPC's dev set is a file of its own, and files that are missing are named") {
  const Folder folder;
  const Tokenizer tokenizer = small_tokenizer(folder);
  folder.file("MRPC/dev.tsv", pairs({{1, 13}}));
  folder.file("MRPC/train.tsv", pairs({{0, 12}, {1, 15}}));
  const Sets sets = mrpc_sets(folder, tokenizer);
  CHECK(sets.train == Names{"12", "15"});
  CHECK(sets.dev == Names{"13"});
  CHECK(sets.log == "");
  const std::string error =
      error_of([&] { read_set("gone", task_named("mrpc"), Split::train, 0, tokenizer, {}, std::cerr); });
  CHECK(contains(error, "gone/MRPC/train.tsv: there is no such file"));
  CHECK(contains(error, "reads MRPC/train.tsv, MRPC/dev.tsv, MRPC/test.tsv"));
}

TEST_CASE("glue: every metric is printed and in epochs.csv, and the leading one chooses the epoch") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "mrpc", o.data = world.path("glue"), o.epochs = 8, o.lr = 0.03;
  std::filesystem::create_directories(world.path("glue/MRPC"));
  Random random(3, "labels");
  const auto write = [&](const char* name, int rows) {
    std::vector<std::pair<int, int>> list;
    for (int i = 0; i < rows; ++i) list.emplace_back(int(random.below(2)), i);
    write_file(world.path(name), pairs(list));
  };
  write("glue/MRPC/train.tsv", 12), write("glue/MRPC/dev.tsv", 15);
  for (const auto& [metric, leading, other] :
       {std::tuple("", "mrpc_f1", "mrpc_accuracy"), std::tuple("mrpc=accuracy", "mrpc_accuracy", "mrpc_f1")}) {
    INFO(metric);
    o.metric = metric;
    const std::string run = world.path(leading);
    const RunResult result = world.run(o, leading);
    CHECK(contains(world.printed, leading == std::string("mrpc_f1") ? " dev F1 0." : " dev accuracy 0."));
    CHECK(contains(world.printed, leading == std::string("mrpc_f1") ? " accuracy 0." : " F1 0."));
    const Names scores = column(run + "/epochs.csv", leading), others = column(run + "/epochs.csv", other);
    CHECK(column(run + "/epochs.csv", "dev_mean") == scores);
    const auto value = [](const std::string& text) { return std::stod(text); };
    const auto best = std::ranges::max_element(scores, {}, value) - scores.begin();
    CHECK(result.best_epoch == best);
    REQUIRE(result.dev[0].size() == 2);
    CHECK(*result.dev[0][0] == doctest::Approx(std::stod(scores[size_t(best)])));
    CHECK(*result.dev[0][1] == doctest::Approx(std::stod(others[size_t(best)])));
  }
  o.seeds = 2, o.epochs = 1;
  const Quiet quiet;
  o.out = world.path("seeds");
  compare(Experiment(o), variants_of(o), no_command_line());
  o.out = world.path("norms");
  compare_norms(Experiment(o), {{"rms", "rms"}}, no_command_line(), 1);
  const std::string printed = quiet.text();
  for (const char* title : {"Training metrics", "Dev metrics", " placement "}) {
    const std::string table = printed.substr(printed.find(title));
    const size_t accuracy = table.find("MRPC (accuracy, %)"), f1 = table.find("MRPC (F1, %)");
    CHECK(accuracy < 300);
    CHECK(f1 < 300);
    CHECK(accuracy < f1);                           // the leading one first
  }
}

TEST_CASE("glue: one MNLI model is scored on both dev sets, and predicts both test sets") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "mnli", o.data = world.path("glue"), o.lr = 0.03;
  std::filesystem::create_directories(world.path("glue/MNLI"));
  Random random(3, "MNLI");
  const auto write = [&](const std::string& name, int rows) {
    const bool test = name.starts_with("test");
    std::string text = test ? "index\tsentence1\tsentence2\n" : "index\tsentence1\tsentence2\tgold_label\n";
    const Names words = {"entailment", "neutral", "contradiction"}, nouns = {"film", "plot", "good", "bad"};
    for (int i = 0; i < rows; ++i) {
      text += formatted("{}\tthe {}\tthe {}", i, nouns[random.below(4)], nouns[random.below(4)]);
      text += test ? "\n" : "\t" + words[random.below(3)] + "\n";
    }
    write_file(world.path("glue/MNLI/" + name), text);
  };
  write("train.tsv", 12), write("dev_matched.tsv", 7), write("dev_mismatched.tsv", 11), write("test_matched.tsv", 5);
  const RunResult result = world.run(o, "run");
  CHECK(contains(world.printed, "test_mismatched.tsv: not there, so no test predictions for mnli"));
  CHECK(contains(world.printed, " dev m accuracy 0."));
  CHECK(contains(world.printed, " mm accuracy 0."));
  REQUIRE(result.dev.size() == 1);
  REQUIRE(result.dev[0].size() == 2);
  const std::string predictions = world.path("run/predictions/"), data = world.path("glue/MNLI/");
  CHECK(*result.dev[0][0] == share_right(predictions + "MNLI-m-dev.tsv", data + "dev_matched.tsv"));
  CHECK(*result.dev[0][1] == share_right(predictions + "MNLI-mm-dev.tsv", data + "dev_mismatched.tsv"));
  const std::string epochs = world.path("run/epochs.csv");
  CHECK(column(epochs, "dev_mean") == column(epochs, "mnli_m_accuracy"));            // matched leads
  CHECK(column(epochs, "mnli_mm_accuracy").size() == 2);
  CHECK(BertConfig::load(world.path("run/model/config.json")).tasks == Names{"mnli"});
  CHECK_FALSE(std::filesystem::exists(predictions + "MNLI-mm.tsv"));
  write("test_mismatched.tsv", 6);
  world.run(o, "both");
  CHECK(csv(world.path("both/predictions/MNLI-m.tsv")).size() == 1 + 5);
  CHECK(csv(world.path("both/predictions/MNLI-mm.tsv")).size() == 1 + 6);
  {
    const Quiet quiet;
    CHECK(evaluate(Experiment(o), world.path("run")) == result.dev);
    o.seeds = 2, o.out = world.path("seeds");
    compare(Experiment(o), variants_of(o), no_command_line());
    CHECK(contains(quiet.text(), "  MNLI (accuracy, %) "));          // of the one training set
    for (const char* set : {"m", "mm"}) CHECK(contains(quiet.text(), formatted("  MNLI-{} (accuracy, %) ", set)));
  }
  std::filesystem::remove(data + "dev_mismatched.tsv");
  CHECK_ERROR(world.run(o, "none"), "dev_mismatched.tsv: there is no such file");
}

}  // namespace minbert::test
