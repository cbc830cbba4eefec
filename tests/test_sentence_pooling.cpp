// The folder of a sentence-transformers model.
#include <doctest/doctest.h>

#include "error_of.h"
#include "folder.h"
#include "minbert/json.h"
#include "models/sentence_pooling.h"

namespace minbert::test {

TEST_CASE("sentence: a sentence-transformers folder says how a text's vector is made") {
  const std::string old = "sentence_transformers.models.";
  const std::string now = "sentence_transformers.sentence_transformer.modules.pooling.";
  struct Module {
    std::string type, path;
  };
  const auto pooling = [](const std::vector<Module>& modules, const std::string& config,
                          const std::string& settings = "{}", const std::string& other = "config_other.json") {
    const Folder folder;
    Json::Array all;
    for (const Module& m : modules) all.push_back(Json::object().set("type", m.type).set("path", m.path));
    folder.file("modules.json", Json::array(all).dump());
    folder.file("config.json", "{}"), folder.file("1_Pooling/config.json", config);
    folder.file(other, settings);
    return *sentence_pooling(folder.path.string());
  };
  const std::vector<Module> two = {{old + "Transformer", ""}, {old + "Pooling", "1_Pooling"}};
  const std::vector<Module> three = {two[0], {now + "Pooling", "1_Pooling"}, {old + "Normalize", "2_Normalize"}};
  const std::string mean = R"({"word_embedding_dimension": 384, "pooling_mode_cls_token": false,
                               "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false})";
  CHECK(pooling(two, mean).pool == Pool::mean);
  CHECK_FALSE(pooling(two, mean).normalize);
  CHECK(pooling(three, mean).normalize);
  CHECK(pooling(two, R"({"pooling_mode_cls_token": true})").pool == Pool::cls);
  CHECK(pooling(two, R"({"embedding_dimension": 384, "pooling_mode": "cls", "include_prompt": true})").pool ==
        Pool::cls);
  CHECK(pooling(two, mean).max_length == 0);
  CHECK(pooling(two, mean, R"({"max_seq_length": 256})", "sentence_bert_config.json").max_length == 256);
  CHECK(pooling(two, mean, R"({"model_max_length": 128})", "tokenizer_config.json").max_length == 128);
  CHECK(pooling(two, mean, R"({"model_max_length": 1e30})", "tokenizer_config.json").max_length == 0);
  const Folder none;
  CHECK_FALSE(sentence_pooling(none.path.string()).has_value());

  CHECK_ERROR(pooling(two, R"({"pooling_mode": "max"})"), "1_Pooling/config.json: \"pooling_mode\" is max, which");
  CHECK_ERROR(pooling(two, R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})"),
              "\"pooling_mode\" is cls_tokenmean_tokens");
  CHECK_ERROR(pooling(two, R"({"pooling_mode": ["cls", "mean"]})"), "pooling_mode");
  CHECK_ERROR(pooling({two[0], two[1], {old + "Dense", "2_Dense"}}, mean),
              "modules.json: \"type\" is Transformer Pooling Dense");
  CHECK_ERROR(pooling({two[0]}, mean), "\"type\" is Transformer");
  CHECK_ERROR(pooling(two, mean, R"({"do_lower_case": true})", "sentence_bert_config.json"), "do_lower_case");
  CHECK_ERROR(pooling(two, mean, R"({"default_prompt_name": "query"})", "config_sentence_transformers.json"),
              "\"default_prompt_name\" is query, which");
}

}  // namespace minbert::test
