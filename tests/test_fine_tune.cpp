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
