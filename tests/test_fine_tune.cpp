// examples/fine_tune.cpp, as it stands there: it trains what multitask trains.
#include <doctest/doctest.h>

#define main fine_tune                              // the program, to be called from here
#include "../examples/fine_tune.cpp"
#undef main
#include "engine/names.h"
#include "gradcheck.h"
#include "small_run.h"

namespace minbert::test {
namespace {

void run_fine_tune(std::vector<std::string> words) {
  words.insert(words.begin(), "fine_tune");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const Quiet quiet;
  const int status = fine_tune(int(arguments.size()), arguments.data());
  INFO(quiet.text());
  CHECK(status == 0);
}

}  // namespace

TEST_CASE(
    "fine_tune: from_pretrained has the folder's weights, and heads of these tasks that follow "
    "from the seed") {
  const SmallWorld world;
  const Quiet quiet;
  const std::vector<Task> tasks = parse_tasks("sts,sst");
  Model model = Model::from_pretrained(world.path("start"), tasks, {.seed = 3});
  const BertConfig& config = model.network.bert().config();
  CHECK(config.tasks == names_of(tasks));
  CHECK(config.max_length == 16);
  const SafeTensors start(world.path("start/model.safetensors"));
  for (const auto& [name, entry] : start.entries())
    CHECK(model.parameters.value(name).values() == start.read(name));
  CHECK(model.parameters.value("heads.sst.weight").shape() == Shape{5, 8});
  const auto head = [&](uint64_t seed) {
    return Model::from_pretrained(world.path("start"), tasks, {.seed = seed})
        .parameters.value("heads.sst.weight")
        .values();
  };
  CHECK(model.parameters.value("heads.sst.weight").values() == head(3));
  CHECK(head(3) != head(4));
  // A trained head is taken over.
  save_model(world.path("tuned"), config, Tokenizer::from_folder(world.path("start")),
             model.parameters);
  const Model again =
      Model::from_pretrained(world.path("tuned"), parse_tasks("sst"), {.seed = 4});
  CHECK(difference(again.parameters.value("heads.sst.weight").values(), head(3)) < 1e-7);
}

TEST_CASE("fine_tune: each task keeps its own row of γ_t and β_t, whatever the order and number of the tasks") {
  const SmallWorld world;
  const Quiet quiet;
  BertConfig config = BertConfig::load(world.path("start/config.json"));
  config.norm = "conditional-layer", config.tasks = {"sst", "quora", "sts"}, config.pool = Pool::mean;
  const Model trained(config, 1, true, heads_of(parse_tasks("sst,quora,sts")), 0.0);
  std::vector<std::string> names;
  for (const Parameter& p : trained.parameters.items())
    if (p.name.find(".task_") != p.name.npos) {
      std::vector<real> rows = p.value.values();
      for (size_t i = 0; i < rows.size(); ++i) rows[i] = real(i + 1) / real(rows.size());
      p.value.copy_from(rows);
      names.push_back(p.name);
    }
  CHECK(names.size() == 2 * 3);
  save_model(world.path("run"), config, Tokenizer::from_folder(world.path("start")), trained.parameters);
  const Model some = Model::from_pretrained(world.path("run"), parse_tasks("sts,cfimdb,quora"));
  CHECK(some.network.bert().config().pool == Pool::mean);
  for (const std::string& name : names) {
    const std::vector<real> before = trained.parameters.value(name).values(),
                            now = some.parameters.value(name).values();
    const size_t H = before.size() / 3;
    const auto row = [&](const std::vector<real>& of, size_t t) {
      return std::vector<real>(of.begin() + int64_t(t * H), of.begin() + int64_t((t + 1) * H));
    };
    CHECK(difference(row(now, 0), row(before, 2)) < 1e-7);
    CHECK(row(now, 1) == std::vector<real>(H, 0));
    CHECK(difference(row(now, 2), row(before, 1)) < 1e-7);
  }
}

TEST_CASE("fine_tune: the seventy lines write the model that multitask does, byte for byte") {
  SmallWorld world;
  for (const int epochs : {1, 3}) {
    INFO(epochs, " epochs");
    const std::string out = world.path(formatted("loop-{}", epochs)),
                      run = formatted("run-{}", epochs);
    run_fine_tune({"--model", world.path("start"), "--data", world.path("data"), "--epochs",
                   formatted("{}", epochs), "--batch", "4", "--lr", "0.01", "--seed", "7", "--out",
                   out});
    TrainOptions o;
    o.model = world.path("start"), o.data = world.path("data"), o.lr = 0.01, o.batch = 4,
    o.epochs = epochs, o.clip = 1;
    const RunResult result = world.run(o, run, 0, "layer", 7);
    const SafeTensors written(out + "/model/model.safetensors"),
        state(world.path(run + "/state.safetensors"));
    for (const auto& [name, entry] : written.entries()) {        // the state is of the last epoch
      INFO(name);
      std::vector<real> last = state.read(name);
      for (real& v : last) v = real(float(v));                   // a model's folder holds floats
      CHECK(written.read(name) == last);
    }
    if (result.best_epoch == epochs - 1)
      CHECK(contents(out + "/model") == contents(world.path(run + "/model")));
    else CHECK(epochs > 1);
  }
}

}  // namespace minbert::test
