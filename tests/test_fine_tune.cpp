// examples/fine_tune.cpp, as it stands there: it trains what multitask trains.
#include <doctest/doctest.h>

#define main fine_tune                              // the program, to be called from here
#include "../examples/fine_tune.cpp"
#undef main
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

TEST_CASE("fine_tune: the seventy lines write the model that multitask does, byte for byte") {
  SmallWorld world;
  for (const int epochs : {1, 3}) {
    INFO(epochs, " epochs");
    const std::string out = world.path(formatted("loop-{}", epochs)), run = formatted("run-{}", epochs);
    run_fine_tune({"--model", world.path("start"), "--data", world.path("data"), "--epochs", formatted("{}", epochs),
                   "--batch", "4", "--lr", "0.01", "--seed", "7", "--out", out});
    TrainOptions o;
    o.model = world.path("start"), o.data = world.path("data"), o.lr = 0.01, o.batch = 4, o.epochs = epochs, o.clip = 1;
    const RunResult result = world.run(o, run, 0, "layer", 7);
    const SafeTensors written(out + "/model/model.safetensors"), state(world.path(run + "/state.safetensors"));
    for (const auto& [name, entry] : written.entries()) {        // the state is of the last epoch
      INFO(name);
      std::vector<real> last = state.read(name);
      for (real& v : last) v = real(float(v));                   // a model's folder holds floats
      CHECK(written.read(name) == last);
    }
    if (result.best_epoch == epochs - 1) CHECK(contents(out + "/model") == contents(world.path(run + "/model")));
    else CHECK(epochs > 1);
  }
}

}  // namespace minbert::test
