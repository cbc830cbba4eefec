// Training runs: what makes two of them equal, when they end, what they leave behind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "error_of.h"
#include "gradcheck.h"
#include "minbert/metrics.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "runs/comparison.h"
#include "runs/in_words.h"
#include "small_run.h"

namespace minbert::test {
namespace {

Checked<std::string> column(const std::string& file, size_t i) {
  Checked<std::string> values;
  for (const auto& row : csv(file)) values.push_back(row[i]);
  return values;
}

}  // namespace

TEST_CASE("train: a run that was stopped and resumed equals the uninterrupted one, bit for bit") {
  SmallWorld world;
  TrainOptions o = world.options();
  for (const auto& [sampling, optimizer, pairs, norm] :
       {std::tuple(Sampling::sequential, OptimizerKind::adamw, Pairs::cross, "conditional-layer"),
        std::tuple(Sampling::round_robin, OptimizerKind::sgd, Pairs::siamese, "batch"),  // with running statistics
        std::tuple(Sampling::proportional, OptimizerKind::adamw_course, Pairs::cross, "power")}) {
    INFO(sampling);
    o.sampling = sampling, o.optimizer = optimizer, o.pairs = pairs;
    o.momentum = optimizer == OptimizerKind::sgd ? 0.9 : 0;
    const std::string whole = formatted("{}-whole", sampling);
    CHECK_FALSE(world.run(o, whole, 0, norm).interrupted);
    CHECK(csv(world.path(whole) + "/steps.csv").size() == 1 + 16);
    for (const int stop : {1, 3, 4}) {  // early, at the end of the first epoch, in the second
      INFO("stopped after step " << stop);
      const std::string parts = formatted("{}-{}", sampling, stop);
      CHECK(world.run(o, parts, stop, norm).interrupted);
      CHECK(contains(world.printed, formatted("stopped after step {}; go on with --resume", stop)));
      CHECK_FALSE(world.run(o, parts, 0, norm).interrupted);
      check_equal(contents(world.path(parts)), contents(world.path(whole)));
    }
    while (world.run(o, "one-by-one", 1, norm).interrupted) continue;  // a process for every step
    check_equal(contents(world.path("one-by-one")), contents(world.path(whole)));
    std::filesystem::remove_all(world.path("one-by-one"));
  }
}

TEST_CASE("train: the loss of an epoch is the mean over its rows") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 1, o.accumulate = 1, o.lr = 0.05;  // batches of 4, 4 and 2; 4, 4 and 1; 4 and 3 rows
  world.run(o, "run");
  for (const auto& [task, rows] : {std::pair("sst", 10), {"quora", 9}, {"sts", 7}}) {
    INFO(task);
    double sum = 0, batch_means = 0;
    int left = rows, batches = 0;
    for (const auto& row : csv(world.path("run/steps.csv"))) {
      if (row[1] != task) continue;
      const int n = std::min(left, 4);
      sum += n * std::stod(row[2]), batch_means += std::stod(row[2]), left -= n, ++batches;
    }
    const double printed = std::stod(column(world.path("run/epochs.csv"), std::string(task) + "_train_loss")[0]);
    CHECK(printed == doctest::Approx(sum / rows).epsilon(1e-6));
    CHECK(printed != doctest::Approx(batch_means / batches).epsilon(1e-4));
  }
}

TEST_CASE(
    "train: two norms under one seed see the same batches, and differ by the task parameters "
    "alone") {
  SmallWorld world;
  TrainOptions o = world.options();
  world.run(o, "plain", 0, "layer");
  world.run(o, "conditional");
  for (const size_t i : {1, 3, 4})                  // task, learning rate, tokens
    CHECK(column(world.path("plain/steps.csv"), i) ==
          column(world.path("conditional/steps.csv"), i));
  CHECK(column(world.path("plain/steps.csv"), 2)[3] ==
        column(world.path("conditional/steps.csv"), 2)[3]);
  CHECK(column(world.path("plain/steps.csv"), 2) != column(world.path("conditional/steps.csv"), 2));

  // With the task parameters frozen at 0: the same run, bit for bit.
  const Quiet quiet;
  const Experiment experiment(o);
  std::vector<std::vector<real>> losses;
  for (const std::string norm : {"layer", "conditional-layer"}) {
    o.norm = norm;
    Model model(experiment.config(o), 3, true, heads_of(parse_tasks(o.tasks)), 0.3);
    model.parameters.set_trainable(
        [](const std::string& name) { return name.find(".task_") == name.npos; });
    model.network.train();
    Optimizer optimizer(model.parameters, {});
    losses.emplace_back();
    for (int step = 0; step < 9; ++step) {
      DropoutClock::current() = {3, uint64_t(step)};
      const TaskData& data = experiment.data()[size_t(step % 3)];
      const Tensor y = model.network.forward(
          labeled(data.train, std::vector<int32_t>{0, 1, 2}, {step % 3}).batch, step % 3);
      const Tensor loss = mean(square(y));
      losses.back().push_back(loss.item());
      backward(loss);
      optimizer.step(0.01);
    }
  }
  INFO("losses of nine steps, γ_t and β_t frozen at 0: with layer, then with conditional-layer");
  CHECK(losses[0] == losses[1]);
}

TEST_CASE("train: a task learns and is scored by its own rows of conditional LayerNorm") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.sampling = Sampling::round_robin, o.accumulate = 1, o.optimizer = OptimizerKind::sgd, o.lr = 0.1, o.warmup = 0;
  world.run(o, "sst-and-quora", 2);                 // a step of each; sts had none
  const SafeTensors state(world.path("sst-and-quora/state.safetensors"));
  const std::vector<real> rows = state.read("bert.embeddings.LayerNorm.task_weight");
  for (size_t task = 0; task < 3; ++task)
    CHECK(std::any_of(&rows[8 * task], &rows[8 * task] + 8, [](real v) { return v != 0; }) ==
          (task < 2));

  const Quiet quiet;
  o.norm = "conditional-layer";
  const Experiment experiment(o);
  Model model(experiment.config(o), 3, true, heads_of(parse_tasks(o.tasks)), 0);
  for (const Parameter& p : model.parameters.items())
    if (p.name.find(".task_") != p.name.npos)
      p.value.copy_from(normal(p.name, p.value.shape()).values());
  const TaskData& sts = experiment.data()[2];       // its predictions are its logits
  const std::vector<double> predicted = predict(model.network, sts.task, sts.dev[0]).values;
  const auto logits_as = [&](int task) {
    const std::vector<int32_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
    return model.network.forward(labeled(sts.dev[0], all, {task}).batch, 2).values();
  };
  REQUIRE(predicted.size() == 8);
  for (size_t i = 0; i < 8; ++i) {
    CHECK(predicted[i] == doctest::Approx(double(logits_as(2)[i])).epsilon(1e-5));
    CHECK(predicted[i] != doctest::Approx(double(logits_as(0)[i])).epsilon(1e-5));
  }
}

TEST_CASE(
    "train: batches that are accumulated are one larger batch, to rounding, also where they differ "
    "in size") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "sst", o.no_shuffle = true, o.optimizer = OptimizerKind::sgd, o.lr = 0.1,
  o.clip = o.weight_decay = 0;
  o.dropout = o.encoder_dropout = 0;
  o.batch = 10, o.accumulate = 1;
  world.run(o, "large");
  o.accumulate = 5;
  for (const int batch : {2, 7}) {                  // the last of 7 has 3
    INFO("batches of " << batch);
    o.batch = batch;
    const std::string run = formatted("of-{}", batch);
    CHECK(world.run(o, run).steps == 2);
    const auto a = weights(world.path(run)), b = weights(world.path("large"));
    for (const auto& [name, values] : a) {
      INFO(name);
      CHECK(difference(values, b.at(name)) < 1e-5);
    }
  }
}

TEST_CASE(
    "train: a step over batches of several tasks takes the mean over all its examples, by "
    "--task-weights") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.no_shuffle = true, o.optimizer = OptimizerKind::sgd, o.lr = 0.1, o.clip = o.weight_decay = o.warmup = 0,
  o.schedule = Schedule::constant;
  o.dropout = o.encoder_dropout = 0, o.epochs = 1, o.accumulate = 100;
  const auto after = [&](const std::string& tasks) {            // one step over all their examples
    o.tasks = tasks;
    CHECK(world.run(o, tasks, 0, "layer").steps == 1);
    return weights(world.path(tasks));
  };
  const auto all = after("sst,quora,sts"), sst = after("sst"), quora = after("quora"),
             sts = after("sts");
  o.task_weights = "sts=.5,sst=2";
  const auto by_weight = after("quora,sst,sts");
  const SafeTensors start(world.path("start/model.safetensors"));
  for (const auto& [name, entry] : start.entries()) {
    INFO(name);
    const std::vector<real> before = start.read(name);
    std::vector<real> expected = before, weighted = before;
    for (size_t i = 0; i < before.size(); ++i)
      for (const auto& [one, examples, weight] :
           {std::tuple(&sst, 10, 2.0), std::tuple(&quora, 9, 1.0), std::tuple(&sts, 7, 0.5)}) {
        const real moved = (one->at(name)[i] - before[i]) * real(examples) / 26;
        expected[i] += moved;
        weighted[i] += real(weight) * moved;
      }
    CHECK(difference(all.at(name), expected) < 1e-5);
    CHECK(difference(by_weight.at(name), weighted) < 1e-5);
  }
}

TEST_CASE("train: options of a program of one's own are checked and count, as those of the command line do") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 1;
  for (const bool on : {true, false}) {
    o.recompute = on;
    world.run(o, on ? "again" : "once");
    CHECK(recomputes() == on);
  }
  check_equal(contents(world.path("again")), contents(world.path("once")));
  o.accumulate = 0;
  CHECK_ERROR(train(Experiment(o), o, world.path("none")), "--accumulate: 0 is too small; the least is 1");
  CHECK_FALSE(std::filesystem::exists(world.path("none")));
}

TEST_CASE("train: --clip bounds a step, and the learning rate follows warm-up and schedule") {
  SmallWorld world;
  TrainOptions o = world.options();
  world.run(o, "rates");
  const auto rates = column(world.path("rates/steps.csv"), 3);
  // 6 steps, one of them warm-up; 3, 3 and 2 batches to a step
  for (size_t batch = 0; batch < 16; ++batch) {
    const size_t step = batch / 8 * 3 + batch % 8 / 3;
    CHECK(std::stod(rates[1 + batch]) ==
          doctest::Approx(step == 0 ? 0.005 : 0.01 * double(6 - step) / 5));
  }

  o.epochs = 0;
  world.run(o, "initial");
  o.optimizer = OptimizerKind::sgd, o.lr = 1, o.warmup = 0, o.weight_decay = 0, o.clip = 0.01, o.epochs = 1,
  o.accumulate = 100;
  world.run(o, "clipped");
  const auto before = weights(world.path("initial")), after = weights(world.path("clipped"));
  double squares = 0;                               // of the one step of length lr * clip
  for (const auto& [name, values] : before)
    for (size_t i = 0; i < values.size(); ++i)
      squares += std::pow(double(values[i] - after.at(name)[i]), 2);
  CHECK(std::sqrt(squares) == doctest::Approx(0.01).epsilon(1e-3));
}

TEST_CASE("train: --no-shuffle keeps the order of the file, in every epoch") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "sst", o.accumulate = 1, o.no_shuffle = true;
  world.run(o, "run");
  const Quiet quiet;
  const Dataset sst = Experiment(o).data()[0].train;
  const auto tokens = column(world.path("run/steps.csv"), 4);
  for (size_t batch = 0; batch < 6; ++batch) {
    size_t sum = 0;
    for (size_t i = batch % 3 * 4; i < std::min<size_t>(10, batch % 3 * 4 + 4); ++i)
      sum += sst.examples.at(i).inputs.at(0).ids.size();
    CHECK(tokens[1 + batch] == std::to_string(sum));
  }
}

TEST_CASE("train: the best epoch is kept, of equal ones the first, and patience ends the run") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.lr = 1e-30, o.weight_decay = 0, o.epochs = 10,
  o.patience = 2;                                   // nothing changes, so every epoch is as good
  const RunResult result = world.run(o, "run");
  CHECK(result.best_epoch == 0);
  CHECK(csv(world.path("run/epochs.csv")).size() == 1 + 3);
  const auto finished = contents(world.path("run"));
  CHECK(world.run(o, "run").best_epoch == 0);       // resuming a finished run changes nothing
  CHECK(contents(world.path("run")) == finished);

  o.lr = 0.03, o.patience = 0, o.epochs = 8;
  const RunResult best = world.run(o, "better");
  double most = -1;
  size_t epoch = 0;
  const auto means = column(world.path("better/epochs.csv"), "dev_mean");
  for (size_t i = 0; i < means.size(); ++i)
    if (std::stod(means[i]) > most) most = std::stod(means[i]), epoch = i;
  CHECK(best.best_epoch == int64_t(epoch));
  CHECK(mean_score(best.dev) == doctest::Approx(most).epsilon(1e-5));
}

TEST_CASE("train: the heads alone leave every byte of the encoder as it was") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.train_mode = "last-linear-layer";
  world.run(o, "run", 0, "layer");
  o.epochs = 0;
  world.run(o, "initial", 0, "layer");
  const auto trained = weights(world.path("run")), initial = weights(world.path("initial"));
  for (const auto& [name, values] : initial) {
    INFO(name);
    CHECK((trained.at(name) == values) == !name.starts_with("heads."));
  }
  o.epochs = 2;
  world.run(o, "conditional");  // frozen at 0, the task parameters change nothing
  CHECK(without_seconds(world.path("conditional/steps.csv")) ==
        without_seconds(world.path("run/steps.csv")));
  o.lr = 0;
  CHECK(o.learning_rate() == 1e-3);
  o.train_mode = "full-model";
  CHECK(o.learning_rate() == 1e-5);
}

TEST_CASE(
    "train: what is new in a model is said in a line; that all predictions are one, once a run") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.lr = 1e-20, o.tasks = "sst,quora", o.epochs = 3;
  world.run(o, "run");
  CHECK(contains(world.printed, "; new: heads, task weights (0)\n"));
  CHECK_FALSE(contains(world.printed, "task_weight"));
  CHECK(times(world.printed, "sst: every prediction is ") == 1);
  CHECK(times(world.printed, "quora: every prediction is ") == 1);
  world.run(o, "plain", 0, "layer");
  CHECK(contains(world.printed, "; new: heads\n"));
  o.norm = "conditional-layer", o.placement = Placement::normformer;
  world.run(o, "placed");
  CHECK(contains(world.printed, "; new: heads, norms of the placement, task weights (0)\n"));
}

TEST_CASE("train: stdout has the results alone, a line an epoch") {
  const SmallWorld world;
  std::ostringstream results;
  const Quiet quiet;
  const auto before = std::cout.rdbuf(results.rdbuf());
  const TrainOptions o = world.options();
  train(Experiment(o), o, o.out);
  train(Experiment(o), o, o.out);                   // goes on, and is done
  std::cout.rdbuf(before);
  CHECK(results.str().starts_with("epoch 1/2   "));
  CHECK(times(results.str(), "\nepoch 2/2   ") == 1);
  CHECK(times(results.str(), "\n") == 2);
  CHECK(contains(quiet.text(), "tensors loaded"));
  CHECK(contains(quiet.text(), "going on after step "));
}

TEST_CASE("train: a folder that is no model's says what it is, and how models are fetched") {
  const SmallWorld world;
  const auto refused = [&](const std::string& folder) {
    return error_of([&] { model_folder(folder); });
  };
  const std::string file = world.path("start/config.json");
  CHECK(refused(file) == file + ": this is a file; give its folder");
  CHECK(contains(refused(world.path("data")), "neither this folder nor its model/ has a config.json"));
  CHECK(contains(refused(world.path("gone")), ": there is no such folder; expected a Hugging Face"));
  CHECK(contains(refused("bert-base-uncased"), "`data/download.sh --list` names models"));
  const std::string hint = "or the folder of a run: " + world.path("start") + " is there, give that. `";
  for (const char* near : {".", "strat", "start/model"}) CHECK(contains(refused(world.path(near)), hint));
  CHECK(!contains(refused(world.path("data/gone")), " is there"));
  const Quiet quiet;
  const TrainedModel pretrained(world.path("start"));
  CHECK_ERROR(pretrained.task("sst"),
              world.path("start") + ": this model was pre-trained, and on no task yet; fine-tune it: "
                                    "minbert multitask");
}

TEST_CASE("train: --epochs 0 writes the initial model and nothing else") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 0;
  CHECK(world.run(o, "run").dev.empty());
  const auto start =
      SafeTensors(world.path("start/model.safetensors")).read("bert.pooler.dense.weight");
  CHECK(weights(world.path("run")).at("bert.pooler.dense.weight") == start);
  CHECK_FALSE(std::filesystem::exists(world.path("run/predictions")));
  const Quiet quiet;
  CHECK(TrainedModel(world.path("run")).tasks.size() == 3);
}

TEST_CASE(
    "train: predictions in the course's format, and evaluate() repeats the run's dev scores") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.pairs = Pairs::siamese;
  const RunResult result = world.run(o, "run");
  const auto files = contents(world.path("run/predictions"));
  CHECK(files.size() == 5);                         // sts has no test file
  CHECK(files.at("sst-dev-output.csv").starts_with("id \t Predicted_Sentiment \nsst-1-0 , "));
  const auto sts = csv(world.path("run/predictions/sts-dev-output.csv"));
  REQUIRE(sts.size() == 1 + 8);
  const Quiet quiet;
  const Experiment experiment(o);
  std::vector<double> predicted, labels;            // the file holds what is scored
  for (size_t i = 1; i < sts.size(); ++i) predicted.push_back(std::stod(sts[i][1]));
  for (const Example& e : experiment.data()[2].dev[0].examples) labels.push_back(e.label);
  CHECK(pearson(predicted, labels).value() == doctest::Approx(result.dev[2][0].value()).epsilon(1e-5));
  const Scores dev = evaluate(experiment, world.path("run"));
  REQUIRE(dev.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(dev[i] == result.dev[i]);
  TrainedModel trained(world.path("run"));
  const TaskData& sst = experiment.data()[0];
  const Predictions p = predict(trained.model.network, sst.task, sst.dev[0]);
  for (size_t i = 0; i < p.values.size(); ++i) {
    const std::vector<double> of_classes = probabilities(sst.task.kind, p.row(i));
    REQUIRE(of_classes.size() == 5);
    CHECK(std::accumulate(of_classes.begin(), of_classes.end(), 0.) == doctest::Approx(1).epsilon(1e-12));
    CHECK(of_classes[size_t(p.values[i])] == std::ranges::max(of_classes));
  }
}

TEST_CASE("train: predictions in words are those of the prediction file, beside text and label") {
  SmallWorld world;
  const std::string file = world.path("data/ids-sst-dev.csv"), rows = read_file(file);
  std::string film;  // 3 bytes a letter, so that a cut after 100 is inside of one
  for (int i = 0; i < 50; ++i) film += "\u5f71";
  write_file(file, rows.substr(0, rows.find('\n') + 1) + "0\tlong\t" + film +
                       "\t4\n1\tescape\tgood\x1b[31m film\t0\n" + rows.substr(rows.find('\n') + 1));
  const TrainOptions o = world.options();
  world.run(o, "run");
  const Quiet quiet;
  const Experiment experiment(o);
  print_in_words(experiment, world.path("run"));
  const std::string printed = quiet.text();
  CHECK(contains(printed, '"' + film.substr(0, 99) + "...\""));
  CHECK(contains(printed, "\"good [31m film\""));
  CHECK_FALSE(contains(printed, "\x1b"));
  size_t at = 0;                                    // three examples of each task, in order
  for (const TaskData& d : experiment.data()) {
    INFO(d.task.name);
    at = printed.find("  " + d.task.title + " ", at);
    REQUIRE(at != printed.npos);
    const auto predicted =
        csv(world.path("run/predictions/" + d.task.prediction_stem + "-dev-output.csv"));
    for (size_t i = 0; i < 3; ++i) {
      const std::string said = "            " + in_words(d.task, std::stod(predicted[i + 1][1])),
                        label = "; labeled " + in_words(d.task, d.dev[0].examples[i].label) + "\n";
      at = printed.find(said, at);
      REQUIRE(at != printed.npos);
      const size_t end = printed.find('\n', at) + 1;
      CHECK(printed.substr(at, end - at).ends_with(label));
      CHECK(contains(printed.substr(at, end - at), " (probability 0.") == (d.task.name != "sts"));
      at = end;
    }
  }
  CHECK(at == printed.size());
}

TEST_CASE(
    "train: a loss that is no number stops the run, says where, and leaves the last good state") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.accumulate = 1, o.clip = 0, o.warmup = 0;
  world.run(o, "run", 8);                           // one epoch
  const auto state = contents(world.path("run")).at("state.safetensors");
  o.lr = is_double ? 1e300 : 1e30;
  const std::string message = error_of([&] { world.run(o, "run"); });
  INFO(message);
  CHECK(contains(message, "the loss of sst became"));
  CHECK(contains(message, "in epoch 2, batch 2 (step 10); its examples: sst-0-"));
  CHECK(contains(message, "/run/model keeps the last good weights"));
  CHECK(contents(world.path("run")).at("state.safetensors") == state);
  CHECK(tape_length() == 0);
  o.lr = 0.01;
  CHECK(world.run(o, "run").best_epoch >= 0);
}

TEST_CASE("train: a state of another model is refused by name, and a missing head too") {
  SmallWorld world;
  TrainOptions o = world.options();
  world.run(o, "run", 1);
  const std::string refused = world.path("run/state.safetensors") + ": there is no ";
  o.pairs = Pairs::siamese;                              // another head's shape
  CHECK_ERROR(world.run(o, "run"), refused + "heads.quora.");
  o.pairs = Pairs::cross, o.tasks = "sst,quora";
  CHECK_ERROR(world.run(o, "run"), "--data sts-train.csv: ");    // a file that it read
  o.tasks = "sst,quora,sts";
  CHECK_FALSE(world.run(o, "run").interrupted);

  const std::string file = world.path("start/config.json");
  write_file(
      file,
      Json::load(file).set("minbert", Json::object().set("tasks", Json::array({"sst"}))).dump());
  const Quiet quiet;
  CHECK_ERROR(TrainedModel(world.path("start")), "heads.sst.weight is not among the weights");
}

TEST_CASE("train: a run does not go on with other data") {
  SmallWorld world;
  const TrainOptions o = world.options();
  world.run(o, "run", 4);
  const std::string file = world.path("data/ids-sst-train.csv"), text = read_file(file);
  write_file(file, text + text.substr(text.find('\n') + 1));
  CHECK_ERROR(world.run(o, "run"), "since it began with other files:\n  --data ids-sst-train.csv: ");
  write_file(file, text);
  TrainOptions larger = o;
  larger.batch = 5;
  CHECK_ERROR(world.run(larger, "run"), "the data is not that with which it began");
  CHECK_FALSE(world.run(o, "run").interrupted);
}

TEST_CASE("train: a config.json that contradicts the weights or the vocabulary is refused") {
  SmallWorld world;
  const std::string file = world.path("start/config.json");
  const Json good = Json::load(file);
  const auto refused = [&](Json config, const char* message) {
    write_file(file, config.dump());
    const Quiet quiet;
    CHECK_ERROR(TrainedModel(world.path("start")), message);
  };
  refused(Json(good).set("vocab_size", 19),
          "vocab.txt has 20 tokens, but \"vocab_size\" in config.json is 19");
  refused(Json(good).set("num_hidden_layers", 2), "\n    bert.encoder.layer.1.attention.self.query.weight\n");
  refused(Json(good).set("hidden_size", 4), "[20, 8] in the file, but [20, 4] by config.json");
  for (const auto& [key, message] : {std::pair("pairs", "\"minbert\": pairs: there is no \"x\"; valid are: cross"),
                                     std::pair("placement", "placement: there is no \"x\"; valid are: post"),
                                     std::pair("norm", "norm: there is no \"x\"; valid are: none, layer, ")})
    refused(Json(good).set("minbert", Json::object().set(key, "x")), message);

  BertConfig two = BertConfig::load((write_file(file, good.dump()), file));
  two.num_hidden_layers = 2;  // a layer more among the weights than config.json has
  save_weights(world.path("start/model.safetensors"),
               Model(two, 1, true, std::vector<HeadSpec>(), 0).parameters);
  refused(good, "bert.encoder.layer.1.attention.output.LayerNorm.bias is among the weights");
}

TEST_CASE("train: --compare and --seeds print both tables with mean and deviation") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.seeds = 2;
  for (const bool both : {true, false}) {
    o.compare = both, o.out = world.path(both ? "both" : "one");
    const Quiet quiet;
    CHECK(compare(Experiment(o), variants_of(o), no_command_line()) == 0);
    CHECK(contains(quiet.text(), "Training metrics"));
    CHECK(contains(quiet.text(), "Dev metrics"));
    CHECK(contains(quiet.text(), " ± "));
    CHECK(std::filesystem::exists(o.out + "/layer/seed-11712/model/model.safetensors"));
    CHECK(std::filesystem::exists(o.out + "/conditional-layer") == both);
    CHECK_FALSE(std::filesystem::exists(o.out + "/from-scratch"));
  }
  o.epochs = 0, o.out = world.path("initial");
  const Quiet quiet;
  CHECK(compare(Experiment(o), variants_of(o), no_command_line()) == 0);
}

TEST_CASE(
    "train: --from-scratch takes the sizes and the vocabulary of --model, and none of its "
    "weights") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 0;
  world.run(o, "tuned");
  o.from_scratch = true;
  world.run(o, "new");
  const auto tuned = weights(world.path("tuned")), fresh = weights(world.path("new"));
  CHECK(read_file(world.path("new/model/config.json")) ==
        read_file(world.path("tuned/model/config.json")));
  CHECK(read_file(world.path("new/model/vocab.txt")) ==
        read_file(world.path("tuned/model/vocab.txt")));
  for (const auto& [name, values] : tuned) {
    INFO(name);
    REQUIRE(fresh.count(name));
    const bool drawn = name.ends_with("weight") && !contains(name, "LayerNorm");
    CHECK((fresh.at(name) == values) ==
          (!drawn || name.starts_with("heads.")));  // heads are new in both
  }

  o.model.clear(), o.vocab = world.path("vocab.txt");
  CHECK_ERROR(Experiment{o}, "need a --model");
}

TEST_CASE("train: the figure shows every task's losses and dev scores, of several seeds the mean") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 6, o.batch = 1, o.seeds = 2, o.out = world.path("runs");
  {
    const Quiet quiet;
    CHECK(compare(Experiment(o), variants_of(o), no_command_line()) == 0);
  }
  const auto points = [&](const std::string& run, const std::string& panel) {
    Checked<Checked<double>> all;                   // x, y and, where there is one, the deviation
    for (const auto& row : csv(world.path("runs/" + run + "/figures/training.csv"))) {
      if (row[0] != panel) continue;
      CHECK(row[1] == (run == "." ? "layer" : ""));
      all.emplace_back();
      for (size_t i = 2; i < row.size(); ++i)
        all.back().push_back(row[i].empty() ? NAN : std::stod(row[i]));
    }
    return all;
  };
  for (const Task& task : parse_tasks(o.tasks)) {
    INFO(task.name);
    const size_t window =
        task.name == "sts" ? 1 : 2;  // for 42, or 54 and 60 batches: at most 50 points
    Checked<Checked<Checked<double>>> seeds;
    for (const std::string run : {"layer/seed-11711", "layer/seed-11712"}) {
      std::vector<double> x, y;
      for (const auto& row : csv(world.path("runs/" + run + "/steps.csv")))
        if (row[1] == task.name) x.push_back(std::stod(row[0])), y.push_back(std::stod(row[2]));
      const auto losses = seeds.emplace_back(points(run, task.title + ": training"));
      REQUIRE(losses.size() == x.size() / window);
      for (size_t i = 0; i < losses.size(); ++i) {
        const size_t first = i * window, last = first + window - 1;
        CHECK(losses[i].size() == 2);
        CHECK(losses[i][0] == doctest::Approx((x[first] + x[last]) / 2));
        CHECK(losses[i][1] == doctest::Approx((y[first] + y[last]) / 2));
      }
      const auto dev = points(run, task.title + ": dev");
      const auto scores =
          column(world.path("runs/" + run + "/epochs.csv"), column_name(task, measures(task)[0]));
      REQUIRE(dev.size() == 6);
      for (size_t i = 0; i < dev.size(); ++i) {
        CHECK(dev[i][0] == double(i + 1));
        if (scores[i] == "undefined") CHECK(std::isnan(dev[i][1]));
        else CHECK(dev[i][1] == doctest::Approx(std::stod(scores[i])));
      }
    }
    const auto joint = points(".", task.title + ": training");
    REQUIRE(joint.size() == seeds[0].size());
    for (size_t i = 0; i < joint.size(); ++i) {
      const double a = seeds[0][i][1], b = seeds[1][i][1];
      CHECK(joint[i][1] == doctest::Approx((a + b) / 2));
      CHECK(joint[i][2] == doctest::Approx(std::abs(a - b) / std::sqrt(2.0)).epsilon(1e-4));
    }
  }
}

}  // namespace minbert::test
