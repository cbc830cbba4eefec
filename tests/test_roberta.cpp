// A RoBERTa's folder: its names, what it refuses, and its way through the programs.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/names.h"
#include "error_of.h"
#include "golden_file.h"
#include "library.h"
#include "models/encode_file.h"
#include "renamed.h"
#include "small_roberta.h"
#include "small_run.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

std::vector<std::string> names_in(const std::string& file) {
  std::vector<std::string> names;
  const SafeTensors weights(file);
  for (const auto& [name, entry] : weights.entries()) names.push_back(name);
  return names;
}

size_t count_of(const std::vector<std::string>& names, const std::string& beginning) {
  return size_t(std::ranges::count_if(names, [&](const std::string& name) { return name.starts_with(beginning); }));
}

}  // namespace

TEST_CASE("roberta: none, one and several tasks have the names of Hugging Face's classes, and load again") {
  const SmallWorld world;
  const std::string file = world.path("roberta.safetensors");
  const std::vector<HeadSpec> all = {{"rte", 2, true, false}, {"mnli", 3, true, false}};
  for (const size_t tasks : {0, 1, 2}) {
    INFO(tasks);
    const std::vector<HeadSpec> heads(all.begin(), all.begin() + int64_t(tasks));
    BertConfig config = golden_roberta(names_of(heads));
    const Model one(config, 1, true, heads, 0), two(config, 2, true, heads, 0);
    save_weights(file, one.parameters, SafeTensorsWriter::As::f32, &config);
    const std::vector<std::string> names = names_in(file);
    CHECK(count_of(names, "bert.") == 0);
    CHECK(count_of(names, "roberta.encoder.layer.1.") == 16);
    CHECK(count_of(names, "roberta.pooler.dense.") == (tasks == 2 ? 2 : 0));
    CHECK(count_of(names, "classifier.dense.") == (tasks == 1 ? 2 : 0));
    CHECK(count_of(names, "classifier.out_proj.") == (tasks == 1 ? 2 : 0));
    CHECK(count_of(names, "heads.") == (tasks == 2 ? 4 : 0));
    const WeightsReport report = load_weights(file, two.parameters, &config);
    CHECK(report.unused.empty());
    CHECK(report.initialised.size() == (tasks == 0 ? 2 : 0));            // the pooler starts new
    for (const Parameter& item : one.parameters.items())
      if (tasks > 0 || item.name.find("pooler") == item.name.npos)
        CHECK(difference(two.parameters.value(item.name).values(), item.value.values()) < 1e-7);
  }
  BertConfig siamese = golden_roberta({"rte"});     // its head takes more than classifier.out_proj could
  siamese.pairs = Pairs::siamese;
  save_weights(file, Model(siamese, 1, true, std::vector<HeadSpec>{all[0]}, 0).parameters,
               SafeTensorsWriter::As::f32, &siamese);
  CHECK(count_of(names_in(file), "heads.rte.") == 2);
}

TEST_CASE("roberta: names without the prefix load, a pooler that no task trained does not, a missing tensor is named") {
  const SmallWorld world;
  const std::string file = world.path("roberta.safetensors");
  const BertConfig config = golden_roberta();
  const Model model(config, 1, true, std::vector<HeadSpec>(), 0);
  const Tensor query = model.parameters.value("bert.encoder.layer.1.attention.self.query.weight");
  const std::string golden = golden_file("roberta.safetensors");
  Renamed(golden, [](const std::string& name) {
    if (name.starts_with("classifier.dense.")) return "pooler." + name.substr(11);
    return name.starts_with("classifier.") ? "" : name.starts_with("roberta.") ? name.substr(8) : name;
  }).writer.write(file);
  const WeightsReport report = load_weights(file, model.parameters, &config);
  CHECK(query.values() == SafeTensors(file).read("encoder.layer.1.attention.self.query.weight"));
  CHECK(report.initialised == std::vector<std::string>{"bert.pooler.dense.weight", "bert.pooler.dense.bias"});
  CHECK(report.unused == std::vector<std::string>{"pooler.dense.bias", "pooler.dense.weight"});

  const std::string gone = "roberta.encoder.layer.0.output.LayerNorm.bias";
  Renamed(golden, [&](const std::string& name) { return name == gone ? "" : name; }).writer.write(file);
  CHECK_ERROR(load_weights(file, model.parameters, &config), gone);
}

TEST_CASE("roberta: a segment other than 0, and a sequence longer than its positions, are errors") {
  const BertConfig config = golden_roberta();
  const Model model(config, 1, true, std::vector<HeadSpec>(), 0);
  Sequence sequence{std::vector<int32_t>(12, 5), std::vector<int32_t>(12, 0)};
  const auto forward = [&] { model.network.bert().forward(pack(std::vector<Sequence>{sequence})); };
  CHECK_NOTHROW(forward());
  sequence.segments[7] = 1;
  CHECK_ERROR(forward(), "bert.embeddings.token_type_embeddings");
  sequence = {std::vector<int32_t>(13, 5), std::vector<int32_t>(13, 0)};
  CHECK_ERROR(forward(), "bert.embeddings.position_embeddings");
}

TEST_CASE("roberta: pre-training from nothing and from a RoBERTa, resumed, leaves a RoBERTa's folder") {
  const Quiet quiet;
  const SmallRoberta roberta;
  const std::string model = roberta.folder + "/model";
  const BertConfig config = BertConfig::load(model + "/config.json");
  CHECK(config.model_type == "roberta");
  CHECK(config.max_position_embeddings == 34);
  CHECK(config.type_vocab_size == 1);
  CHECK(config.loaded["architectures"].items()[0].string() == "RobertaForMaskedLM");
  const std::vector<std::string> names = names_in(model + "/model.safetensors");
  CHECK(count_of(names, "roberta.embeddings.") == 5);
  CHECK(count_of(names, "lm_head.") == 5);
  CHECK(names.size() == 5 + 2 * 16 + 5);            // no pooler, no next sentences
  CHECK(Tokenizer::from_folder(model).size() == config.vocab_size);
  CHECK_FALSE(contains(quiet.text(), "NSP"));

  PretrainOptions o = roberta.options("further");
  o.vocab.clear(), o.init = roberta.folder;
  pretrain(o);
  CHECK_FALSE(contains(quiet.text(), "NSP"));
  const auto whole = contents(o.out);
  o.out = roberta.library.path("parts");
  pretrain(o, {}, 1);
  o.resume = true;
  pretrain(o);
  CHECK(contents(o.out) == whole);

  o = roberta.options("mixed");
  o.config = model + "/config.json";                // a RoBERTa's, with the vocabulary of a BERT
  CHECK_ERROR(pretrain(o), "\"model_type\" is \"roberta\", but ");
}

TEST_CASE("roberta: it is fine-tuned on texts and pairs, reads its own folder, and is fine-tuned again") {
  const Quiet quiet;
  const SmallRoberta roberta;
  SmallWorld world;
  TrainOptions o = world.options();
  o.model = roberta.folder, o.tasks = "quora", o.epochs = 1, o.max_length = 512;
  world.run(o, "one", 0, "layer");
  CHECK(count_of(names_in(world.path("one/model/model.safetensors")), "classifier.") == 4);
  const BertConfig config_of_one = BertConfig::load(world.path("one/model/config.json"));
  CHECK(config_of_one.has_trained_pooler());
  CHECK(config_of_one.loaded["architectures"].items().at(0).string() == "RobertaForSequenceClassification");
  CHECK(config_of_one.loaded["num_labels"].integer() == 1);
  const Tensor pooler = TrainedModel(world.path("one")).model.parameters.value("bert.pooler.dense.weight");

  const auto weight = [&](const std::string& run, const std::string& name) {
    return TrainedModel(world.path(run)).model.parameters.value(name).values();
  };
  TrainOptions head = o;                            // the new pooler belongs to the head
  head.train_mode = "last-linear-layer", head.epochs = 0;
  world.run(head, "new-head", 0, "layer");
  head.epochs = 1;
  world.run(head, "trained-head", 0, "layer");
  CHECK(weight("trained-head", "bert.pooler.dense.weight") != weight("new-head", "bert.pooler.dense.weight"));
  const std::string query = "bert.encoder.layer.0.attention.self.query.weight";
  CHECK(weight("trained-head", query) == weight("new-head", query));

  Json with_labels = config_of_one.loaded;          // of the head that this model had
  with_labels.set("id2label", Json::object().set("0", "yes")).set("problem_type", "regression");
  write_file(world.path("one/model/config.json"), with_labels.dump());
  o.model = world.path("one"), o.tasks = "sst,sts", o.epochs = 0;
  world.run(o, "three", 0, "conditional-layer");
  CHECK(contains(world.printed, "taken over: none; new: sst, sts; at rest, with heads and task parameters as they are: "
                                "quora"));
  const Json config_of_three = Json::load(world.path("three/model/config.json"));
  CHECK(config_of_three["model_type"].string() == "minbert");
  for (const char* key : {"architectures", "num_labels", "id2label", "problem_type"})
    CHECK_FALSE(config_of_three.has(key));
  TrainedModel three(world.path("three"));
  CHECK(three.model.parameters.value("bert.pooler.dense.weight").values() == pooler.values());
  CHECK(count_of(names_in(world.path("three/model/model.safetensors")), "roberta.pooler.dense.") == 2);

  write_file(world.path("texts"), "a good film\nwhy\ta film \xf0\x9f\x8e\xac\n");
  const EncodeReport report = encode(three, {.input = world.path("texts"), .output = world.path("vectors"),
                                             .task = "sst", .tokens = true});
  CHECK(report.texts == 2);
}

}  // namespace minbert::test
