// Hugging Face's weight files: names, types, what may be missing, and the way there and back.
#include <doctest/doctest.h>

#include <functional>
#include <set>

#include "error_of.h"
#include "folder.h"
#include "golden_file.h"
#include "minbert/checkpoint.h"
#include "renamed.h"
#include "small_run.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

// The golden network, with fresh numbers.
struct Network {
  MultitaskBert model;
  Parameters parameters;
  explicit Network(const BertConfig& config = golden_config())
      : model(config, three_heads(), 0), parameters(model, {}) {}
  std::vector<std::vector<real>> values() const {
    std::vector<std::vector<real>> all;
    for (const Parameter& item : parameters.items())
      if (!item.name.starts_with("heads.")) all.push_back(item.value.values());
    return all;
  }
};

struct TemporaryFile {
  Folder folder;
  std::string path = folder / "model.safetensors";
};

using Rename = std::function<std::string(const std::string&)>;
Renamed golden_weights(const Rename& rename) { return {golden_file("bert.safetensors"), rename}; }

std::string without_pooler(const std::string& name) { return name.starts_with("bert.pooler") ? "" : name; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (const size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  return text;
}

std::vector<std::vector<real>> loaded_from(const std::string& path, WeightsReport* report = nullptr) {
  const Network network;
  const WeightsReport r = load_weights(path, network.parameters);
  if (report) *report = r;
  return network.values();
}

}  // namespace

TEST_CASE("huggingface: names with and without `bert.`, LayerNorm.gamma and beta load the same numbers") {
  const auto expected = loaded_from(golden_file("bert.safetensors"));
  const TemporaryFile file;
  const auto bare = [](const std::string& name) { return name.substr(5); };
  const auto older = [](const std::string& name) {
    const std::string half = replaced(name, "LayerNorm.weight", "LayerNorm.gamma");
    return replaced(half, "LayerNorm.bias", "LayerNorm.beta");
  };
  const auto both = [=](const std::string& name) { return bare(older(name)); };
  for (const Rename& rename : {Rename(bare), Rename(older), Rename(both)}) {
    golden_weights(rename).writer.write(file.path);
    WeightsReport report;
    CHECK(loaded_from(file.path, &report) == expected);
    CHECK(report.unused.empty());
    CHECK(std::set<std::string>(report.initialised.begin(), report.initialised.end()) ==
          std::set<std::string>{"heads.sst.weight", "heads.sst.bias", "heads.quora.weight",
                                "heads.quora.bias",
                                "heads.sts.weight", "heads.sts.bias"});
  }
}

TEST_CASE("huggingface: a lone BertModel reads a file whose names begin with `bert.`") {
  BertModel bert(golden_config());
  const Parameters parameters(bert, {});
  const TemporaryFile file;
  golden_weights(without_pooler).writer.write(file.path);
  const WeightsReport report = load_weights(file.path, parameters);
  CHECK(report.loaded.size() == parameters.items().size() - 2);
  CHECK(report.initialised == std::vector<std::string>{"pooler.dense.weight", "pooler.dense.bias"});
  CHECK(report.unused.empty());
}

TEST_CASE("huggingface: extras of pre-training pass silently, a pooler may be missing, strangers are named") {
  const TemporaryFile file;
  Renamed golden = golden_weights(without_pooler);
  SafeTensorsWriter& writer = golden.writer;
  const std::vector<int64_t> positions(12, 0);
  const std::vector<real> word(30 * 16, 1), three(3, 1);
  writer.add("bert.embeddings.position_ids", {1, 12}, positions);
  writer.add("cls.predictions.decoder.weight", {30, 16}, word);         // tied to the word embeddings
  writer.add("cls.predictions.bias", {3}, three);
  writer.add("stranger", {3}, three);
  writer.write(file.path);
  WeightsReport report;
  loaded_from(file.path, &report);
  CHECK(report.unused == std::vector<std::string>{"stranger"});
  CHECK(report.loaded.size() == golden.values.size());
  CHECK(std::count(report.initialised.begin(), report.initialised.end(), "bert.pooler.dense.weight") == 1);
}

TEST_CASE("huggingface: a missing tensor of the encoder is an error that names it, and changes nothing") {
  const TemporaryFile file;
  const std::string gone = "bert.encoder.layer.1.attention.self.key.weight";
  golden_weights([&](const std::string& n) { return n == gone ? "" : n; }).writer.write(file.path);
  const Network network;
  const auto before = network.values();
  CHECK_ERROR(load_weights(file.path, network.parameters), gone);
  CHECK(network.values() == before);
  CHECK_ERROR(load_weights(file.path + ".nowhere", network.parameters), ".nowhere");
}

TEST_CASE("huggingface: a tensor of another shape is an error with both shapes") {
  BertConfig wider = golden_config();
  wider.intermediate_size = 40;
  const Network network(wider);
  const std::string text = error_of([&] { load_weights(golden_file("bert.safetensors"), network.parameters); });
  INFO(text);
  CHECK(contains(text, "bert.encoder.layer.0.intermediate.dense.weight"));
  CHECK(contains(text, "[32, 16]"));
  CHECK(contains(text, "[40, 16]"));

  const TemporaryFile file;                         // three dimensions are shown as they are
  SafeTensorsWriter writer;
  const std::vector<real> values(30 * 16, 1);
  writer.add("bert.embeddings.word_embeddings.weight", {2, 15, 16}, values);
  writer.write(file.path);
  CHECK_ERROR(load_weights(file.path, network.parameters), "[2, 15, 16]");
}

TEST_CASE("huggingface: what is saved loads again bit for bit, with everything minbert adds") {
  BertConfig config = golden_config();
  config.norm = "conditional-layer";
  const Network one(config), two(config);
  randomise(one.parameters);
  for (const Parameter& item : one.parameters.items())            // a file holds float32
    for (int64_t i = 0; i < item.value.size(); ++i) item.value.data()[i] = real(float(item.value.data()[i]));
  const TemporaryFile file;
  save_weights(file.path, one.parameters);
  const WeightsReport report = load_weights(file.path, two.parameters);
  CHECK(report.loaded.size() == one.parameters.items().size());
  CHECK(report.initialised.empty());
  CHECK(report.unused.empty());
  for (const Parameter& item : one.parameters.items())
    CHECK(two.parameters.value(item.name).values() == item.value.values());

  // Plain weights load into a conditional model: its task parameters keep their zeros.
  const Network conditional(config);
  const WeightsReport plain = load_weights(golden_file("bert.safetensors"), conditional.parameters);
  CHECK(plain.initialised.size() == 5 * 2 + 6);
}

TEST_CASE("huggingface: BERT-base has Hugging Face's 199 names") {
  std::set<std::string> expected;
  const auto pair = [&](const std::string& module) {
    expected.insert(module + ".weight");
    expected.insert(module + ".bias");
  };
  for (const char* table : {"word", "position", "token_type"})
    expected.insert(formatted("embeddings.{}_embeddings.weight", table));
  pair("embeddings.LayerNorm");
  for (int i = 0; i < 12; ++i)
    for (const char* module : {"attention.self.query", "attention.self.key", "attention.self.value",
                               "attention.output.dense", "attention.output.LayerNorm", "intermediate.dense",
                               "output.dense", "output.LayerNorm"})
      pair(formatted("encoder.layer.{}.{}", i, module));
  pair("pooler.dense");
  CHECK(expected.size() == 199);

  BertModel bert{BertConfig()};
  bert.set_path("");
  std::set<std::string> ours;
  bert.visit([&](Module& m) {
    for (const Parameter& p : m.own_parameters()) ours.insert(m.path() + "." + p.name);
  });
  CHECK(ours == expected);
}

TEST_CASE("huggingface: the bias of masked words is found in the decoder, too") {
  for (const BertConfig& config : {golden_config(), golden_roberta({})}) {
    BertForPreTraining from(config), to(config);
    const Parameters values(from, {}), loaded(to, {});
    const std::string ours = "cls.predictions.bias";
    const std::string theirs = config.model_type == "bert" ? ours : "lm_head.bias";
    randomise(values);
    const TemporaryFile file, other;
    save_weights(file.path, values, SafeTensorsWriter::As::f32, &config);
    Renamed(file.path, [&](const std::string& name) {
      return name == theirs ? replaced(name, ".bias", ".decoder.bias") : name;
    }).writer.write(other.path);
    CHECK(load_weights(other.path, loaded, &config).unused.empty());
    const std::vector<real> expected = values.value(ours).values(), found = loaded.value(ours).values();
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(float(found[i]) == float(expected[i]));
  }
}

TEST_CASE("huggingface: a decoder or a bias of its own is refused where words are predicted; fine-tuning goes on") {
  for (BertConfig config : {golden_config(), golden_roberta()}) {
    CAPTURE(config.model_type);
    const bool bert = config.model_type == "bert";
    const std::string head = bert ? "cls.predictions." : "lm_head.",
                      words = config.model_type + ".embeddings.word_embeddings.weight";
    BertForPreTraining network(config);
    BertModel encoder(config);
    const Parameters parameters(network, {}), of_encoder(encoder, {});
    randomise(parameters);
    const Folder folder;
    const std::string file = folder / "model.safetensors";
    config.max_length = config.max_tokens();
    config.save(folder / "config.json");
    save_weights(folder / "saved", parameters, SafeTensorsWriter::As::f32, &config);
    const SafeTensors saved(folder / "saved");
    for (const auto& [own, shared] : {std::pair(head + "decoder.weight", words),
                                      std::pair(head + "decoder.bias", head + "bias")})
      for (const char* tied : {"true", "false", "null"})
        for (const bool same : {true, false}) {
          CAPTURE(own + " " + tied);
          std::vector<real> decoder = saved.read(shared);
          decoder[5] += same ? 0 : 1;
          Renamed with(folder / "saved", [](const std::string& name) { return name; });
          with.writer.add(own, saved.entry(shared).shape, decoder);
          with.writer.write(file);
          config.loaded = Json::object().set("tie_word_embeddings", Json::parse(tied, "config.json"));
          const std::string error = error_of([&] { load_weights(file, parameters, &config); });
          if (same) CHECK(error == "no error");
          else CHECK(contains(error, file + ": " + own + " differs from " + shared));
          load_weights(file, of_encoder, &config);                              // it predicts no words
          const Quiet quiet;
          const Folder run;
          keep_masked_word_head(folder / "", run / "model");
          CHECK(std::filesystem::exists(run / "model/masked_words.safetensors") == same);
          CHECK(contains(quiet.text(), "differs from " + shared) != same);
          CHECK(contains(quiet.text(), "this head stays behind") != same);
        }
    config.save(file);
    CHECK_FALSE(Json::load(file).has("tie_word_embeddings"));        // what minbert writes is tied
  }
}

TEST_CASE("huggingface: what the heads of pre-training lack, and what is none of them, is named") {
  for (const BertConfig& config : {golden_config(), golden_roberta()}) {
    CAPTURE(config.model_type);
    BertForPreTraining network(config);
    const Parameters parameters(network, {});
    const TemporaryFile file, other;
    save_weights(file.path, parameters, SafeTensorsWriter::As::f32, &config);
    const auto report = [&](const Rename& rename) {
      Renamed with(file.path, rename);
      const std::vector<real> three(3, 1);
      with.writer.add("cls.stranger", {3}, three);
      with.writer.write(other.path);
      std::ostringstream said;
      print_report(said, load_weights(other.path, parameters, &config), "x");
      return said.str();
    };
    const bool bert = config.model_type == "bert";                   // a RoBERTa's pooler starts new
    const std::string strange = "\n  in the file, not used: cls.stranger\n",
                      whole = bert ? "tensors loaded" : "; new: pooler";
    CHECK(contains(report([](const std::string& name) { return name; }), whole + strange));
    const auto no_words = [](const std::string& name) {
      return contains(name, "transform") || contains(name, "lm_head.dense") ? "" : name;
    };
    CHECK(contains(report(no_words), "; new: head for masked words" + std::string(bert ? "" : ", pooler") + strange));
    const auto no_next = [](const std::string& name) { return contains(name, "seq_relationship") ? "" : name; };
    CHECK(contains(report(no_next), (bert ? "; new: head for next sentences" : whole) + strange));
  }
}

TEST_CASE("huggingface: weights in another form are named, with the lines of Python that convert them") {
  const Folder folder;
  const Network network;
  BertConfig config = golden_config();
  config.loaded = Json::object().set("architectures", Json::array({"BertForMaskedLM"}));
  for (const std::string name : {"pytorch_model.bin", "model.safetensors.index.json", "tf_model.h5"}) {
    folder.file(name, "x");
    const std::string path = folder.path.string(),
                      text = error_of([&] { load_weights(path, network.parameters, &config); });
    CAPTURE(text);
    CHECK(contains(text, path + "/model.safetensors: there is no such file; in the folder: "));
    CHECK(contains(text, name));
    CHECK(contains(text, "from transformers import BertForMaskedLM\n"));
    CHECK(contains(text, formatted(".save_pretrained(\"{}\"", path)));
  }
}

}  // namespace minbert::test
