// BERT's configuration: read, checked, written back.
#include <doctest/doctest.h>

#include "error_of.h"
#include "folder.h"
#include "minbert/config.h"
#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert::test {
namespace {

const std::string google =
    R"({"attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.2,
  "hidden_size": 128, "initializer_range": 0.02, "intermediate_size": 512, "max_position_embeddings": 256,
  "num_attention_heads": 2, "num_hidden_layers": 2, "type_vocab_size": 2, "vocab_size": 30522,
  "directionality": "bidi"})";

struct File {
  Folder folder;
  std::string path;
  explicit File(const std::string& text) : path(folder.file("config.json", text)) {}
};

// What loading Google's file says, with another value for a key, behind the file's name.
std::string refusal(const std::string& key, Json value, Json json = Json::parse(google, "google")) {
  const File file(json.set(key, std::move(value)).dump());
  const std::string message = error_of([&] { BertConfig::load(file.path); });
  return message.starts_with(file.path) ? message.substr(file.path.size()) : message;
}

}  // namespace

TEST_CASE("config: Google's file without model_type loads, and saving keeps what we do not know") {
  const File file(google);
  BertConfig c = BertConfig::load(file.path);
  CHECK(c.hidden_size == 128);
  CHECK(c.head_size() == 64);
  CHECK(c.hidden_dropout_prob == 0.2);
  CHECK(c.layer_norm_eps == 1e-12);
  CHECK(c.max_length == 256);
  CHECK(c.norm == "layer");

  c.set_norm("layer:eps=1e-6");                     // of these norms eps is config.json's own key
  CHECK(c.norm == "layer");
  CHECK(c.layer_norm_eps == 1e-6);
  c.set_norm("group:groups=8,eps=1e-3");
  CHECK(c.norm == "group:groups=8,eps=1e-3");
  CHECK_THROWS_WITH_AS(c.set_norm("rms:eps=0"), "rms:eps=0: eps is 0, expected a positive number", Error);
  c.norm = "conditional-layer", c.layer_norm_eps = 1e-12, c.tasks = {"sst", "sts"}, c.max_length = 100;
  c.save(file.path);
  const BertConfig again = BertConfig::load(file.path);
  CHECK(again.norm == "conditional-layer");
  CHECK(again.tasks == std::vector<std::string>{"sst", "sts"});
  CHECK(again.max_length == 100);
  CHECK(again.loaded["directionality"].string() == "bidi");
  CHECK(again.loaded["model_type"].string() == "minbert");   // no program takes it for a plain BERT
  CHECK(again.loaded["minbert"]["model_type"].string() == "bert");
  CHECK(again.model_type == "bert");
  CHECK_FALSE(again.loaded.has("architectures"));
  const std::string text = read_file(file.path);
  again.save(file.path);
  CHECK(read_file(file.path) == text);
}

TEST_CASE("config: the named ones are Google's, and survive saving") {
  const BertConfig tiny = BertConfig::named("tiny"), large = BertConfig::named("large");
  CHECK(tiny.num_attention_heads == 2);
  CHECK(tiny.intermediate_size == 512);
  CHECK(large.num_hidden_layers == 24);
  CHECK(large.num_attention_heads == 16);
  CHECK(large.intermediate_size == 4096);
  const File file("");
  large.save(file.path);
  CHECK(BertConfig::load(file.path).hidden_size == 1024);
  CHECK_THROWS_WITH_AS(
      BertConfig::named("huge"),
      "there is no configuration \"huge\"; the names are tiny, mini, small, base, large, narrow-1, normal-1, wide-1, "
      "narrow-5, normal-5, wide-5; or give a config.json",
      Error);
  CHECK(BertConfig::named(file.path).hidden_size == 1024);
}

TEST_CASE("config: the original Transformer's encoder is one, and a file keeps all of it") {
  BertConfig wide = BertConfig::named("wide-5");
  CHECK(wide.num_hidden_layers == 5);
  CHECK(wide.head_size() == 64);
  CHECK(wide.intermediate_size == 1024);
  CHECK(wide.norm == "layer");
  wide.norm = "batch", wide.positions = Positions::sinusoidal, wide.initialisation = Initialisation::uniform;
  wide.initializer_range = 100;
  const File file("");
  wide.save(file.path);
  const BertConfig c = BertConfig::load(file.path);
  CHECK(c.hidden_act == "relu");
  CHECK(c.type_vocab_size == 0);
  CHECK(c.positions == Positions::sinusoidal);
  CHECK(c.embeddings_norm == EmbeddingsNorm::none);
  CHECK(c.initialisation == Initialisation::uniform);
  CHECK(c.initializer_range == 100);
  CHECK(c.hidden_dropout_prob == 0);
  CHECK(c.attention_probs_dropout_prob == 0);
  CHECK(refusal("minbert", Json::object().set("positions", "rotary")) ==
        ": \"minbert\": positions: there is no \"rotary\"; valid are: learned, sinusoidal; the nearest is learned");
  CHECK(refusal("type_vocab_size", -1) == ": \"type_vocab_size\" is -1, expected a positive number");
}

TEST_CASE("config: values that make no BERT are refused") {
  CHECK(refusal("hidden_size", 100) == "no error");
  CHECK(refusal("hidden_size", 101) ==
        ": \"hidden_size\" is 101 and \"num_attention_heads\" is 2: expected a multiple of it");
  CHECK(refusal("hidden_size", "abc") == ": \"hidden_size\" is \"abc\", expected an integer");
  CHECK(refusal("hidden_size", Json()) == ": \"hidden_size\" is null, expected an integer");
  CHECK(refusal("num_hidden_layers", 0) == ": \"num_hidden_layers\" is 0, expected a positive number");
  CHECK(refusal("num_attention_heads", 0) == ": \"num_attention_heads\" is 0, expected a positive number");
  CHECK(refusal("hidden_dropout_prob", 1) ==
        ": \"hidden_dropout_prob\" is 1, expected a probability from 0 to below 1");
  CHECK(refusal("layer_norm_eps", 0) == ": \"layer_norm_eps\" is 0, expected a positive number");
  CHECK(refusal("pad_token_id", 30522) ==
        ": \"pad_token_id\" is 30522, expected 0 to vocab_size - 1 = 30521");
  CHECK(refusal("minbert", Json::object().set("max_length", 257)) ==
        ": \"minbert.max_length\" is 257, expected 1 to max_position_embeddings = 256");
  CHECK(refusal("hidden_act", "relu") == "no error");
  for (const auto& [name, ours] : {std::pair("gelu_python", "gelu"), std::pair("gelu_fast", "gelu_new"),
                                   std::pair("gelu_pytorch_tanh", "gelu_new")}) {
    Json json = Json::parse(google, "google");
    CHECK(BertConfig::load(File(json.set("hidden_act", name).dump()).path).hidden_act == ours);
  }
  const std::string unknown = refusal("hidden_act", "gelo");
  CHECK(unknown.starts_with(": \"hidden_act\": there is no \"gelo\"; valid are: gelu, gelu_new, relu"));
  CHECK(unknown.ends_with("; the nearest is gelu"));
  const std::string wrong = "so this model would give wrong results";
  for (const auto& [key, value] : {std::pair("model_type", "xlm-roberta"),
                                   std::pair("position_embedding_type", "relative_key")}) {
    const std::string message = refusal(key, value);
    CAPTURE(message);
    CHECK(contains(message, std::string(key) + "\" is \"" + value + "\""));
    CHECK(contains(message, wrong));
  }
  CHECK(refusal("is_decoder", true) == ": \"is_decoder\" is true; minbert reads encoders alone");
  const File file("{}");
  CHECK_THROWS_WITH_AS(BertConfig::load(file.path), (file.path + ": \"vocab_size\" is missing").c_str(),
                       Error);
}

TEST_CASE("config: a RoBERTa's first positions are padding's, and its pooler is trained by a task alone") {
  Json json = Json::parse(google, "google");
  json.set("model_type", "roberta").set("max_position_embeddings", 514).set("type_vocab_size", 1)
      .set("pad_token_id", 1).set("layer_norm_eps", 1e-5);
  const File file(json.dump());
  BertConfig c = BertConfig::load(file.path);
  CHECK(c.first_position() == 2);
  CHECK(c.max_tokens() == 512);
  CHECK(c.max_length == 512);
  CHECK_FALSE(c.has_trained_pooler());
  c.tasks = {"rte"};
  CHECK(c.has_trained_pooler());
  c.save(file.path);
  CHECK(BertConfig::load(file.path).model_type == "roberta");
  CHECK(BertConfig::load(file.path).loaded["model_type"].string() == "roberta");

  BertConfig made = BertConfig::named("tiny");
  CHECK(made.has_trained_pooler());
  made.set_family("roberta");
  CHECK(made.max_position_embeddings == 514);
  CHECK(made.type_vocab_size == 1);
  CHECK(made.pad_token_id == 1);
  CHECK(made.layer_norm_eps == 1e-5);
  made.set_family("bert");
  CHECK(made.max_position_embeddings == 512);

  CHECK(refusal("max_position_embeddings", 2, json) ==
        ": \"max_position_embeddings\" is 2, expected 3 or more: the first 2 are padding's");
  CHECK(refusal("minbert", Json::object().set("max_length", 513), json) ==
        ": \"minbert.max_length\" is 513, expected 1 to max_position_embeddings - pad_token_id - 1 = 512");
  CHECK(refusal("model_type", "camembert", json) ==
        ": \"model_type\" is \"camembert\"; minbert computes bert, roberta and its own \"minbert\" "
        "only, so this model would give wrong results");
}

}  // namespace minbert::test
