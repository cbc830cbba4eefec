// What is trained: the modes by name, masks, and that what is frozen neither moves nor costs anything.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "error_of.h"
#include "gradcheck.h"
#include "masks.h"
#include "minbert/model.h"
#include "minbert/optimizer.h"
#include "on_device.h"
#include "small_run.h"
#include "train/cli/train_mode.h"

namespace minbert::test {
namespace {

constexpr int64_t H = 8, I = 16, L = 1;             // of SmallWorld's model
constexpr int64_t sst_head = 5 * H + 5;

Model small_model(const SmallWorld& world) {
  const BertConfig config = BertConfig::load(world.path("start/config.json"));
  return Model(config, 5, true, heads_of(parse_tasks("sst")), 0);
}

std::vector<real> state_of(const std::string& run, const std::string& name) {
  return SafeTensors(run + "/state.safetensors").read(name);
}

// A mask by which every third element of every parameter learns.
std::map<std::string, Mask> every_third(const Parameters& parameters) {
  std::map<std::string, Mask> masks;
  for (const Parameter& p : parameters.items()) {
    Mask& mask = masks[p.name] = Mask(size_t(p.value.size()));
    for (size_t i = 0; i < mask.size(); i += 3) mask[i] = 1;
  }
  return masks;
}

TrainOptions sst_options(const SmallWorld& world, const std::string& mode) {
  TrainOptions o = world.options();
  o.tasks = "sst";
  o.train_mode = mode;
  return o;
}

struct Pair : Module {
  Pair() {
    parameter("weight", {3, 4}, Init::random);
    parameter("bias", {4}, Init::ones, Decay::yes);
  }
};

}  // namespace

TEST_CASE("train mode: BERT-large-cased with 2 labels has the document's numbers of parameters") {
  BertConfig config = BertConfig::named("large");
  config.vocab_size = 28996;
  config.tasks = {"rte"};
  const On cpu(Device::cpu);  // 1.3 GB: more than the card of the rehearsal has
  Model model(config, 0, false, heads_of(parse_tasks("rte")), 0);
  const auto trained = [&](const std::string& mode) {
    set_trained(model.parameters, mode, 0);
    return model.parameters.trainable();
  };
  CHECK(trained("full-model") == 333581314);
  CHECK(trained("bitfit") == 274434);
  CHECK(trained("layer-norm") == 51202);
  CHECK(trained("last-linear-layer") == 2 * 1024 + 2);
  CHECK(trained("layer-norm:all") == 51202 + 24 * 2 * 1024 + 2 * 1024);
}

TEST_CASE("train mode: each name trains its parameters and no others") {
  const SmallWorld world;
  Model model = small_model(world);
  const auto trained = [&](const std::string& mode) {
    set_trained(model.parameters, mode, 1);
    return model.parameters.trainable();
  };
  CHECK(trained("full-model") == model.parameters.count());
  CHECK(trained("last-linear-layer") == sst_head);
  CHECK(trained("layer-norm") == sst_head + L * 2 * H);
  CHECK(trained("layer-norm:all") == sst_head + L * 4 * H + 2 * H);
  CHECK(trained("bitfit") == sst_head + L * (7 * H + I) + 2 * H);       // and embeddings, pooler
  CHECK(trained("regex:layer\\.[0-9]+\\.output\\.LayerNorm") == sst_head + L * 2 * H);
  CHECK(trained("random") == sst_head + L * 2 * H);
  set_trained(model.parameters, "layer-norm", 1);
  for (const Parameter& p : model.parameters.items())
    CHECK(p.value.requires_grad() ==
          (p.name.starts_with("heads.") ||
           p.name.starts_with("bert.encoder.layer.0.output.LayerNorm.")));
}

TEST_CASE("train mode: random elements follow from the seed, and are spread over all parameters") {
  const SmallWorld world;
  Model model = small_model(world);
  const auto chosen = [&](uint64_t seed) {
    set_trained(model.parameters, "random", seed);
    std::vector<double> all;
    for (size_t i = 0; i < model.parameters.items().size(); ++i) {
      const Parameter& p = model.parameters.items()[i];
      if (p.name.starts_with("heads.")) continue;
      const uint8_t* mask = model.parameters.mask(i);
      for (int64_t e = 0; e < p.value.size(); ++e)
        all.push_back(mask ? mask[e] : p.value.requires_grad());
    }
    return all;
  };
  CHECK(chosen(3) == chosen(3));
  CHECK(chosen(3) != chosen(4));
  double first = 0, all = 0;                        // of the first quarter, and of all elements
  for (int seed = 0; seed < 400; ++seed) {
    const std::vector<double> one = chosen(uint64_t(seed));
    for (size_t i = 0; i < one.size(); ++i) all += one[i], first += i < one.size() / 4 ? one[i] : 0;
  }
  CHECK(all == 400 * L * 2 * H);
  CHECK(first / all == doctest::Approx(0.25).epsilon(0.05));
}

TEST_CASE("train mode: a mode, an N and a mask that do not fit are refused with what is valid") {
  const SmallWorld world;
  Model model = small_model(world);
  const auto refused = [&](const std::string& mode) {
    return error_of([&] { set_trained(model.parameters, mode, 1); });
  };
  CHECK(contains(refused("layernorm"),
                 "--train: there is no \"layernorm\"; valid are: full-model, last-linear-layer, "
                 "bitfit, layer-norm, layer-norm:all, random, regex:PATTERN, mask:FILE"));
  CHECK(contains(refused("regex:("), "--train regex:(: this is no regular expression: "));
  CHECK(contains(refused("regex:layers"), "it is found in the name of no parameter"));
  CHECK(contains(refused("mask:"), "--train: there is no \"mask:\""));
  const std::string file = world.path("mask.safetensors");
  const std::string first = model.parameters.items()[0].name;
  const auto written =
      [&](const std::function<void(std::map<std::string, Mask>&, SafeTensorsWriter&)>& change) {
        std::map<std::string, Mask> masks = every_third(model.parameters);
        SafeTensorsWriter writer;
        change(masks, writer);
        for (const Parameter& p : model.parameters.items())
          if (masks.contains(p.name))
            writer.add(p.name, sizes_of(p.value.shape()),
                       std::span<const uint8_t>(masks.at(p.name)));
        writer.write(file);
        return refused("mask:" + file);
      };
  CHECK(written([](auto&, auto&) {}) == "no error");
  CHECK(contains(written([&](auto& masks, auto&) { masks.erase(first); }),
                 formatted("{}: there is no tensor {}", file, first)));
  const Mask one = {1};
  CHECK(contains(written([&](auto&, auto& writer) { writer.add("bert.extra", {1}, std::span<const uint8_t>(one)); }),
                 formatted("{}: the model has no parameter bert.extra", file)));
  CHECK(contains(written([&](auto& masks, auto& writer) {
                   masks.erase(first);
                   writer.add(first, {1}, std::span<const uint8_t>(one));
                 }),
                 formatted("{}: the mask {} is [1], but the parameter is [20, 8]", file, first)));
}

TEST_CASE(
    "optimizer: a frozen element is moved by nothing, bit for bit, its neighbors as without a "
    "mask") {
  const std::vector<OptimizerOptions> kinds = {
      {.kind = OptimizerKind::adamw, .weight_decay = 0.1},
      {.kind = OptimizerKind::adamw_course, .weight_decay = 0.1},
      {.kind = OptimizerKind::sgd, .weight_decay = 0.1, .momentum = 0.9}};
  for (const OptimizerOptions& options : kinds) {
    INFO(options.kind);
    Pair masked_module, whole_module;
    Parameters masked(masked_module, {}), whole(whole_module, {});
    Mask weight(12), bias(4, 1);
    weight[1] = weight[2] = weight[7] = 1;
    bias[3] = 0;
    masked.set_trainable({{"weight", weight}, {"bias", bias}});
    CHECK(masked.trainable() == 3 + 3);
    OptimizerOptions without_decay = options;       // as a parameter with a mask has none
    without_decay.weight_decay = 0;
    Optimizer masked_optimizer(masked, options), whole_optimizer(whole, without_decay);
    const std::vector<real> start = masked.value("weight").values();
    for (int step = 0; step < 5; ++step) {
      for (const Parameters* p : {&masked, &whole})
        for (const Parameter& item : p->items()) {
          std::vector<real> gradient;
          for (int64_t i = 0; i < item.value.size(); ++i)
            gradient.push_back(real(0.3 * double(i) - 1 + step));
          give_gradient(item.value, gradient);
        }
      masked_optimizer.step(0.1);
      whole_optimizer.step(0.1);
    }
    const std::vector<real> b = masked.value("bias").values(),
                            free_b = whole.value("bias").values();
    for (size_t i = 0; i < 3; ++i) CHECK(b[i] == doctest::Approx(free_b[i]).epsilon(1e-6));
    const std::vector<real> now = masked.value("weight").values(),
                            free = whole.value("weight").values();
    for (size_t i = 0; i < 12; ++i) {
      if (weight[i])
        CHECK(now[i] == doctest::Approx(free[i]).epsilon(1e-6));  // another loop: rounding
      else CHECK(now[i] == start[i]);
      CHECK(free[i] != start[i]);
    }
    for (const auto& [name, moment] : masked_optimizer.moments())
      for (size_t i = 0; i < 12; ++i) CHECK((moment.values()[i] == 0) == !weight[i]);
  }
}

TEST_CASE("optimizer: the norm of the gradient leaves frozen elements out") {
  Pair module;
  Parameters parameters(module, {});
  parameters.set_trainable({{"weight", Mask(12)}, {"bias", {1, 0, 0, 1}}});
  Optimizer optimizer(parameters, {.kind = OptimizerKind::sgd});
  give_gradient(parameters.value("bias"), {3, 100, 7, 4});
  optimizer.clip(1);
  CHECK(optimizer.gradient_norm() == doctest::Approx(5));
  optimizer.step(1);
  const std::vector<real> bias = parameters.value("bias").values();
  CHECK(bias[0] == doctest::Approx(1 - 0.6));
  CHECK(bias[1] == 1);
  CHECK(bias[3] == doctest::Approx(1 - 0.8));
}

TEST_CASE(
    "train mode: what is frozen has no gradient, no moments, and below the first that learns no "
    "record") {
  const SmallWorld world;
  BertConfig config = BertConfig::load(world.path("start/config.json"));
  config.num_hidden_layers = 2;
  Model model(config, 5, true, heads_of(parse_tasks("sst")), 0);
  set_trained(model.parameters, "layer-norm", 1);
  const Optimizer optimizer(model.parameters, {});
  CHECK(optimizer.moments()[0].second.size() == sst_head + 2 * 2 * H);
  const Tensor logits =
      model.network.forward(pack(std::vector<Sequence>{{{2, 7, 9, 3}, {0, 0, 0, 0}}}), 0);
  std::ostringstream tape;
  print_tape(tape);
  CHECK(tape.str().starts_with("layer_norm"));      // of the first layer's output
  CHECK_FALSE(contains(tape.str(), "(bert.encoder.layer.0.attention"));
  CHECK(contains(tape.str(), "(bert.encoder.layer.1.attention"));
  backward(cross_entropy(logits, {1}));
  for (const Parameter& p : model.parameters.items())
    CHECK(bool(p.value.grad()) ==
          (p.name.starts_with("heads.") || (p.name.find(".attention.") == p.name.npos &&
                                            p.name.find(".output.LayerNorm.") != p.name.npos)));
}

TEST_CASE("rate: a parameter's factor is that of the first pattern in its name, and a run learns by it") {
  SmallWorld world;
  Model model = small_model(world);
  const auto rate = rates_of("encoder.*LayerNorm|pooler=30,LayerNorm=0.5,^heads=0", model.parameters);
  CHECK(rate("bert.encoder.layer.0.output.LayerNorm.weight") == 30);
  CHECK(rate("bert.pooler.dense.bias") == 30);
  CHECK(rate("bert.embeddings.LayerNorm.weight") == 0.5);
  CHECK(rate("bert.embeddings.word_embeddings.weight") == 1);
  CHECK(rate("heads.sst.weight") == 0);
  CHECK(rates_of("", model.parameters)("heads.sst.weight") == 1);
  const auto refused = [&](const std::string& list) {
    return error_of([&] { rates_of(list, model.parameters); });
  };
  CHECK(contains(refused("heads"), "--rate heads: expected PATTERN=FACTOR"));
  CHECK(contains(refused("heads=-1"), "--rate heads=-1: expected PATTERN=FACTOR"));
  CHECK(contains(refused("=2"), "--rate =2: expected PATTERN=FACTOR"));
  CHECK(contains(refused("(=2"), "--rate (=2: this is no regular expression"));
  CHECK(contains(refused("heads=2,task_weight=30"), "--rate task_weight=30: it is found in the name of no parameter"));

  TrainOptions o = world.options();
  o.epochs = 1, o.weight_decay = 0;
  world.run(o, "shared");
  o.rate = "task_weight|task_bias=0,^heads[.]sst=0";
  world.run(o, "own");
  o.epochs = 0;
  world.run(o, "start-run");
  const auto start = weights(world.path("start-run")), shared = weights(world.path("shared")), own =
      weights(world.path("own"));
  for (const auto& [name, values] : start) {
    const bool rests = contains(name, "task_") || name.starts_with("heads.sst");
    INFO(name);
    CHECK((own.at(name) == values) == (rests || shared.at(name) == values));
  }
}

TEST_CASE("train mode: a run trains what its mode says, and says how much that is") {
  SmallWorld world;
  Model model = small_model(world);
  write_masks(world.path("third.safetensors"), model.parameters, every_third(model.parameters));
  for (const std::string& mode :
       {std::string("layer-norm"), std::string("bitfit"), std::string("random"),
        "mask:" + world.path("third.safetensors")}) {
    INFO(mode);
    TrainOptions o = sst_options(world, mode);
    o.epochs = 0;
    world.run(o, "before-" + mode.substr(0, 4), 0, "layer");
    o.epochs = 2;
    const RunResult result = world.run(o, "run-" + mode.substr(0, 4), 0, "layer");
    set_trained(model.parameters, mode, 1);
    CHECK(result.trained == model.parameters.trainable());
    CHECK(result.parameters == model.parameters.count());
    CHECK(contains(world.printed, formatted("{} parameters, {} of them trained;", result.parameters, result.trained)));
    int64_t moved = 0;
    const TrainedModel before(world.path("before-" + mode.substr(0, 4)));
    for (size_t i = 0; i < model.parameters.items().size(); ++i) {
      const Parameter& p = model.parameters.items()[i];
      const uint8_t* mask = model.parameters.mask(i);
      const std::vector<real> start = before.model.parameters.value(p.name).values();
      const std::vector<real> now = state_of(world.path("run-" + mode.substr(0, 4)), p.name);
      for (size_t e = 0; e < now.size(); ++e) {
        const bool learns = mask ? mask[e] : p.value.requires_grad();
        if (!learns) CHECK(float(now[e]) == float(start[e]));  // model/ is stored as float32
        moved += float(now[e]) != float(start[e]);
      }
    }
    CHECK(moved > result.trained / 2);              // rows of words that do not occur stay
  }
}

TEST_CASE(
    "train mode: a run with a mask that was stopped and resumed equals the uninterrupted one, bit "
    "for bit") {
  SmallWorld world;
  const Model model = small_model(world);
  const std::string file = world.path("third.safetensors");
  for (const std::string& mode :
       {"mask:" + file, std::string("random"), std::string("layer-norm:all")}) {
    INFO(mode);
    write_masks(file, model.parameters, every_third(model.parameters));
    TrainOptions o = sst_options(world, mode);
    const std::string word = mode.substr(0, 4);
    world.run(o, "whole-" + word, 0, "layer");
    world.run(o, "parts-" + word, 1, "layer");
    world.run(o, "parts-" + word, 0, "layer");
    CHECK(contents(world.path("parts-" + word)) == contents(world.path("whole-" + word)));
  }
}

}  // namespace minbert::test
