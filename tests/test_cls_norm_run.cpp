// Norms of [CLS] in a model and in a run: where they stand, the pass over the training set, saving, resuming.
#include <doctest/doctest.h>

#include "engine/names.h"
#include "error_of.h"
#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "small_run.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

std::vector<std::string> names() { return names_of(cls_norms().entries); }

BertConfig with(const std::string& cls_norm, ClsPlace at = ClsPlace::per_method) {
  BertConfig config = tiny_config();
  config.cls_norm = cls_norm, config.cls_norm_at = at, config.max_length = 64;
  return config;
}

void fit(BertModel& bert, const Batch& batch) {
  if (!bert.cls_norm().wants_set()) return;
  bert.cls_norm().fit(bert.cls_before_norm(batch));
  bert.cls_norm().finish_fit();
}

}  // namespace

TEST_CASE("cls norm run: it stands before the pooler or behind its tanh, each where it belongs or where it is told") {
  const Batch batch = pack(sentences({3, 1, 4, 2, 6}), {});
  BertModel plain(tiny_config());
  Parameters plain_parameters(plain, {});
  randomise(plain_parameters);
  const BertOutput expected = plain.forward(batch);
  const auto parameter = [&](const char* name) { return plain_parameters.value(name); };
  for (const std::string& name : names())
    for (const ClsPlace at : {ClsPlace::per_method, ClsPlace::pre_pooler, ClsPlace::pooled}) {
      INFO(name << " " << at);
      BertModel bert(with(name, at));
      Parameters parameters(bert, {});
      for (const Parameter& item : plain_parameters.items())
        parameters.value(item.name).copy_from(item.value.values());
      fit(bert, batch);
      bert.cls_norm().train();                      // moving statistics
      const BertOutput out = bert.forward(batch);
      CHECK(out.cls.values() == expected.cls.values());
      const bool before = cls_norm_place(name, at) == ClsPlace::pre_pooler;
      bert.cls_norm().train(false);
      const auto norm = [&](const Tensor& h) { return bert.cls_norm()(h); };
      const auto pooler = [&](const Tensor& h) {
        return tanh(linear(h, parameter("pooler.dense.weight"), parameter("pooler.dense.bias")));
      };
      const Tensor by_hand = before ? pooler(norm(expected.cls)) : norm(pooler(expected.cls));
      CHECK(difference(bert.forward(batch).pooler_output.values(), by_hand.values()) < 1e-6);
      if (name != "none") CHECK(difference(by_hand.values(), expected.pooler_output.values()) > 1e-3);
    }
}

TEST_CASE("cls norm run: gradient normalization changes what the encoder learns from, in training alone") {
  const Batch batch = pack(sentences({3, 1, 4, 2}), {});
  const Tensor dy = normal("dy", {4, 8});
  const auto gradient = [&](double alpha, ClsPlace at, bool training, const std::string& norm) {
    BertModel bert(with(norm));
    Parameters parameters(bert, {});
    randomise(parameters);
    fit(bert, batch);
    bert.normalize_gradients(alpha, at);
    bert.train(training);
    backward(bert.forward(batch).pooler_output, dy);
    return std::pair(parameters.value("encoder.layer.1.output.dense.bias").grad().values(),
                     parameters.value("pooler.dense.weight").grad().values());
  };
  for (const std::string norm : {"none", "z", "iso-bn"}) {
    const auto plain = gradient(0, ClsPlace::pre_pooler, true, norm),
               before = gradient(0.5, ClsPlace::pre_pooler, true, norm),
               behind = gradient(0.5, ClsPlace::pooled, true, norm);
    CHECK(before.second == plain.second);           // the pooler is above it
    CHECK(before.first != plain.first);
    CHECK(behind.second != plain.second);
  }
  CHECK(gradient(0.5, ClsPlace::pre_pooler, false, "z") == gradient(0, ClsPlace::pre_pooler, false, "z"));
}

TEST_CASE("cls norm run: saved with the model, loaded with it, and a model without its statistics says so") {
  const Batch batch = pack(sentences({3, 1, 4, 2, 6}), {});
  const SmallWorld world;
  for (const std::string& name : names()) {
    INFO(name);
    BertModel bert(with(name));
    Parameters parameters(bert, {});
    randomise(parameters);
    const std::string file = world.path("weights.safetensors"), config = world.path("config.json");
    if (name != "none" && name != "batch") {
      save_weights(file, parameters);
      BertModel empty(with(name));
      empty.train(false);
      load_weights(file, Parameters(empty, {}));
      CHECK_ERROR(empty.forward(batch), "(cls_norm)");
    }
    fit(bert, batch);
    bert.train();
    bert.forward(batch);
    bert.train(false);
    save_weights(file, parameters);
    with(name).save(config);
    BertModel again(BertConfig::load(config));
    again.train(false);
    const Parameters loaded(again, {.seed = 3});
    CHECK(load_weights(file, loaded).unused.empty());
    CHECK(difference(again.forward(batch).pooler_output.values(), bert.forward(batch).pooler_output.values()) <
          tolerance(1e-12, 1e-5));                  // weights are stored as float32; whitening magnifies that
  }
  BertConfig config = with("iso-bn", ClsPlace::pre_pooler);
  config.cls_norm = "iso-bn:preset=authors,beta=0.25";
  config.save(world.path("config.json"));
  const BertConfig loaded = BertConfig::load(world.path("config.json"));
  CHECK(loaded.cls_norm == "iso-bn:preset=authors,beta=0.25");
  CHECK(loaded.cls_norm_at == ClsPlace::pre_pooler);
  std::string text = read_file(world.path("config.json"));
  text.replace(text.find("pre-pooler"), 10, "behind");
  write_file(world.path("config.json"), text);
  CHECK_ERROR(BertConfig::load(world.path("config.json")), "valid are: per-method, pre-pooler, pooled");
}

TEST_CASE("cls norm run: the statistics are those of all tasks' training sets under the initial encoder [TA sec.4.2]") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 0, o.encoder_dropout = 0.5;            // which the pass leaves out
  for (const std::string at : {"pre-pooler", "pooled"})
    for (const std::string pairs : {"cross", "siamese"}) {
      INFO(at << " " << pairs);
      o.cls_norm = "z", o.cls_norm_at = choice<ClsPlace>(at, ""), o.pairs = choice<Pairs>(pairs, "");
      const std::string run = at + pairs;
      world.run(o, run);
      CHECK(contains(world.printed, "z: statistics of [CLS] over "));
      o.cls_norm = "none", o.cls_norm_at = ClsPlace::per_method;
      world.run(o, run + "-plain");

      const Quiet quiet;
      TrainedModel plain(world.path(run + "-plain")), fitted(world.path(run));
      std::vector<double> mean(8);
      double count = 0;
      const Experiment experiment(o);
      for (const TaskData& d : experiment.data())
        for (int32_t e = 0; e < int32_t(d.train.examples.size()); ++e) {
          const int id = plain.model.network.task_id(d.task.name);
          const Batch batch = labeled(d.train, std::vector<int32_t>{e}, {id}).batch;
          const BertOutput out = plain.model.network.bert().forward(batch);
          const Tensor h = at == "pooled" ? out.pooler_output : out.cls;
          for (int64_t k = 0; k < h.size(); ++k) mean[size_t(k % 8)] += double(h.data()[k]);
          count += double(h.rows());
        }
      const auto buffer = [&](const char* name) {
        return fitted.model.parameters.value(std::string("bert.cls_norm.") + name).values();
      };
      CHECK(double(buffer("count")[0]) == count);
      CHECK(count == (pairs == "siamese" ? 42 : 26));
      for (size_t i = 0; i < 8; ++i) CHECK(double(buffer("mean")[i]) == doctest::Approx(mean[i] / count).epsilon(1e-4));
    }
}

TEST_CASE("cls norm run: a run that was stopped and resumed equals the uninterrupted one, with each of them") {
  SmallWorld world;
  TrainOptions o = world.options();
  for (const std::string& name : names())
    for (const std::string options : {"", ":preset=authors", ":preset=eq5"}) {
      if (!options.empty() && name != "iso-bn") continue;
      o.cls_norm = name + options, o.grad_norm = 0.5;
      INFO(o.cls_norm);
      const std::string whole = o.cls_norm;
      const RunResult result = world.run(o, whole);
      CHECK_FALSE(result.interrupted);
      while (world.run(o, whole + "-parts", 1).interrupted) continue;
      CHECK(contents(world.path(whole)) == contents(world.path(whole + "-parts")));

      const Quiet quiet;                            // the folder is all that predicting needs
      const Experiment experiment(o);
      CHECK(evaluate(experiment, world.path(whole)) == result.dev);
    }
}

TEST_CASE("cls norm run: what it was fitted to stays as it is, whatever is learnt") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.cls_norm = "whitening";
  world.run(o, "trained");
  o.epochs = 0;
  world.run(o, "initial");
  const SafeTensors trained(world.path("trained/model/model.safetensors")),
      initial(world.path("initial/model/model.safetensors"));
  for (const char* name : {"bert.cls_norm.mean", "bert.cls_norm.matrix", "bert.cls_norm.count"})
    CHECK(trained.read(name) == initial.read(name));
  CHECK(trained.read("bert.pooler.dense.weight") != initial.read("bert.pooler.dense.weight"));
}

}  // namespace minbert::test
