// Exporting: the plain BERT of one task gives the logits of the model that it was made of.
#include <doctest/doctest.h>

#include <cmath>

#include "error_of.h"
#include "models/masked_words.h"
#include "models/plain_model.h"
#include "small_run.h"

namespace minbert::test {
namespace {

// The logits for the task's dev rows, by a folder
std::vector<double> logits_of(const std::string& folder, const SmallWorld& world, const std::string& name) {
  const Quiet quiet;
  TrainedModel trained(folder);
  const Task task = trained.config.is_foreign() ? trained.task("") : parse_tasks(name)[0];
  const Dataset rows = read_set(world.path("data"), parse_tasks(name)[0], Split::dev, 0, trained.tokenizer,
                                trained.dataset_options(), std::cerr);
  return predict(trained.model.network, task, rows).logits;
}

// Writes one task of the run as a plain folder and reads it again.
BertConfig exported(const SmallWorld& world, const std::string& run, const std::string& task) {
  const Quiet quiet;
  TrainedModel trained(world.path(run));
  const auto plain = plain_model(trained, task, 0.2);
  const BertConfig& config = plain->network.bert().config();
  save_model(world.path("plain"), config, trained.tokenizer, plain->parameters);
  return BertConfig::load(world.path("plain/config.json"));
}

void check_same(const SmallWorld& world, const std::string& run) {
  for (const std::string name : {"sst", "quora", "sts"}) {
    INFO(run << " " << name);
    const BertConfig config = exported(world, run, name);
    CHECK(config.is_plain());
    CHECK(config.is_foreign());
    const std::vector<double> before = logits_of(world.path(run), world, name);
    std::vector<double> after = logits_of(world.path("plain"), world, name);
    if (name == "quora") {                          // one logit z as two, 0 and z
      REQUIRE(after.size() == 2 * before.size());
      for (size_t i = 0; i < before.size(); ++i) {
        CHECK(after[2 * i] == 0);
        after[i] = after[2 * i + 1];
      }
      after.resize(before.size());
    }
    REQUIRE(after.size() == before.size());
    for (size_t i = 0; i < before.size(); ++i) CHECK(std::abs(after[i] - before[i]) < 1e-4);
  }
}

}  // namespace

TEST_CASE("export: conditional LayerNorm of one task is LayerNorm, with the same logits for each row") {
  SmallWorld world;
  world.run(world.options(), "run");
  check_same(world, "run");
  const Json config = Json::load(world.path("plain/config.json"));
  CHECK(config["model_type"].string() == "bert");
  CHECK(config["architectures"].items()[0].string() == "BertForSequenceClassification");
  CHECK(config["problem_type"].string() == "regression");
  CHECK(config["classifier_dropout"].number() == 0.2);
  CHECK_FALSE(config.has("minbert"));
}

TEST_CASE("export: each norm of [CLS] goes into the pooler or the classifier") {
  SmallWorld world;
  for (const std::string norm : {"z", "min-max", "l2", "batch", "whitening", "iso-bn"})
    for (const std::string place : {"pre-pooler", "pooled"}) {
      INFO(norm << " " << place);
      TrainOptions o = world.options();
      o.cls_norm = norm, o.cls_norm_at = choice<ClsPlace>(place, ""), o.epochs = 1;
      world.run(o, norm + place);
      check_same(world, norm + place);
    }
}

TEST_CASE("export: what no plain BERT computes is refused with the reason") {
  SmallWorld world;
  const auto refused = [&](const char* run, TrainOptions o, const std::string& norm, const std::string& task) {
    o.epochs = 0;
    world.run(o, run, 0, norm);
    return error_of([&] { exported(world, run, task); });
  };
  TrainOptions pre = world.options(), siamese = world.options(), mean = world.options();
  pre.placement = Placement::pre, pre.model.clear(), pre.vocab = world.path("vocab.txt"), pre.config = "tiny";
  siamese.pairs = Pairs::siamese;
  mean.pool = Pool::mean;
  CHECK(contains(refused("rms", world.options(), "rms", "sst"), "its norm is rms"));
  CHECK(contains(refused("pre", pre, "layer", "sst"), "behind each sum (post)"));
  CHECK(contains(refused("siamese", siamese, "layer", "quora"), "apart (siamese)"));
  CHECK(contains(refused("mean", mean, "layer", "sst"), "the mean of all tokens (--pool)"));
  CHECK(Json::load(world.path("mean/model/config.json"))["model_type"].string() == "minbert");
  exported(world, "siamese", "sst");                // reads one text: the same function
}

TEST_CASE("export: a classifier from elsewhere is read, predicts, and becomes the head of the task it is trained on") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "sst";
  world.run(o, "run", 0, "layer");
  const BertConfig config = exported(world, "run", "sst");
  CHECK(config.classifier.labels.size() == 5);
  CHECK(logits_of(world.path("plain"), world, "sst") == logits_of(world.path("run"), world, "sst"));
  o.model = world.path("plain"), o.epochs = 0;
  world.run(o, "again", 0, "layer");
  CHECK(contains(world.printed, "taken over: sst"));
  CHECK(logits_of(world.path("again"), world, "sst") == logits_of(world.path("run"), world, "sst"));
  // A pre-trained BERT of ours that transformers fine-tuned: its config.json has the key "minbert" still.
  Json json = Json::load(world.path("plain/config.json"));
  json.set("minbert", Json::object({{"tasks", Json::array({})}}));
  write_file(world.path("plain/config.json"), json.dump());
  CHECK(logits_of(world.path("plain"), world, "sst") == logits_of(world.path("run"), world, "sst"));
}

TEST_CASE("masked words: the likeliest tokens of each mask, whose -log p is the pre-training's loss") {
  SmallWorld world;
  const BertConfig config = BertConfig::load(world.path("start/config.json"));
  WithParameters<BertForPreTraining> model(config, 3, true);
  model.network.train(false);                       // no dropout
  save_model(world.path("pretrained"), config, Tokenizer(world.path("vocab.txt"), true), model.parameters);
  const Quiet quiet;
  const TrainedModel pretrained(world.path("pretrained"));
  const MaskedWords words(pretrained);
  const std::string text = "the [MASK] is [MASK] good";
  const auto found = words.fill(text, 20);          // of a vocabulary of 20: all
  REQUIRE(found.size() == 2);
  const Batch batch = pack(std::vector{build_sequence(pretrained.tokenizer, text, 16)});
  const NoGrad no_tape;
  for (size_t mask = 0; mask < 2; ++mask) {
    double sum = 0, before = 1;
    for (const auto& [word, p] : found[mask]) {
      CHECK(p <= before);
      before = p;
      sum += p;
    }
    CHECK(sum == doctest::Approx(1).epsilon(1e-5));
    const Indices place(std::vector<int32_t>{mask == 0 ? 2 : 4});
    for (const size_t rank : {size_t(0), size_t(7)}) {
      const int32_t id = pretrained.tokenizer.id(found[mask][rank].first);
      const double loss = double(model.network.forward(batch, place, Indices{id}).mlm_loss.item());
      CHECK(std::exp(-loss) == doctest::Approx(found[mask][rank].second).epsilon(1e-4));
    }
  }
  CHECK_ERROR(words.fill("the film"), "write [MASK] in place of a word");

  // Fine-tuning keeps the head as it was read, and as nothing that its network or transformers would see.
  TrainOptions o = world.options();
  o.model = world.path("pretrained"), o.epochs = 0;
  world.run(o, "run");
  o.model = world.path("run");
  world.run(o, "again");
  for (const char* name : {"run", "again"}) {
    const TrainedModel tuned(world.path(name));
    CHECK(MaskedWords(tuned).fill(text, 20) == found);             // conditional norms that learned nothing yet
    const SafeTensors weights(world.path(name + std::string("/model/model.safetensors")));
    for (const auto& [tensor, entry] : weights.entries()) CHECK(!tensor.starts_with("cls."));
  }
  o = world.options();
  o.epochs = 0;
  world.run(o, "headless");                         // from a start without the head
  CHECK_FALSE(std::filesystem::exists(world.path("headless/model/masked_words.safetensors")));
  CHECK_ERROR(MaskedWords(TrainedModel(world.path("headless"))), "predicts no masked words");
}

}  // namespace minbert::test
