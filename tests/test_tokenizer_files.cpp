// A folder's tokenizer against Hugging Face's (golden/tokenizer_folders.py), and what is refused by name.
#include <doctest/doctest.h>

#include <sstream>

#include "error_of.h"
#include "folder.h"
#include "golden_file.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "minbert/tokenizer.h"

namespace minbert::test {
namespace {

std::vector<Json> golden_folders() {
  std::vector<Json> rows;
  std::istringstream lines(read_file(golden_file("tokenizer-folders.jsonl")));
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line, "tokenizer-folders.jsonl"));
  return rows;
}

// The files of the golden row of this name, in the folder `name`.
std::string written(const Folder& folder, const Json& row, const std::string& name) {
  for (const auto& [file, text] : row["files"].members()) folder.file(name + "/" + file, text.string());
  return folder / name;
}

Json golden(const std::string& name) {
  for (const Json& row : golden_folders())
    if (row["name"].string() == name) return row;
  FAIL(name);
  return {};
}

void check_ids(const Tokenizer& tokenizer, const Json& row) {
  const Json::Array texts = row["texts"].items(), all = row["ids"].items();
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<int32_t> expected;
    for (const Json& id : all[i].items()) expected.push_back(int32_t(id.integer()));
    CAPTURE(texts[i].string());
    CHECK(build_sequence(tokenizer, texts[i].string(), 512).ids == expected);
  }
}

// tokenizer.json with one value changed
std::string refused(const std::string& kind, const std::string& part, const std::string& key, const Json& value) {
  const Folder folder;
  const Json row = golden(kind);
  Json all = Json::parse(row["files"]["tokenizer.json"].string(), "tokenizer.json");
  if (part.empty()) all.set(key, value);
  else all.set(part, Json(all[part]).set(key, value));
  folder.file("x/tokenizer.json", all.dump());
  return error_of([&] { Tokenizer::from_folder(folder / "x"); });
}

std::string refused_config(const std::string& config) {
  const Folder folder;
  written(folder, golden("BERT, tokenizer.json"), "x");
  folder.file("x/tokenizer_config.json", config);
  return error_of([&] { Tokenizer::from_folder(folder / "x"); });
}

}  // namespace

TEST_CASE("tokenizer files: settings and added tokens give Hugging Face's ids, from its files and from ours") {
  for (const Json& row : golden_folders()) {
    const Folder folder;
    CAPTURE(row["name"].string());
    const Tokenizer theirs = Tokenizer::from_folder(written(folder, row, "theirs"));
    check_ids(theirs, row);
    theirs.save(folder / "ours", 128);
    const Tokenizer ours = Tokenizer::from_folder(folder / "ours");
    check_ids(ours, row);
    CHECK(ours.tokens() == theirs.tokens());
    ours.save(folder / "again", 128);
    CHECK(read_file(folder / "again/tokenizer_config.json") == read_file(folder / "ours/tokenizer_config.json"));
  }
}

TEST_CASE("tokenizer files: tokenizer.json counts before the other vocabularies, tokenizer_config.json before it") {
  const Folder folder;
  const Json row = golden("BERT, lower_case False, strip_accents None, chinese True");
  written(folder, row, "x");
  folder.file("x/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nanother\n");
  folder.file("x/merges.txt", "");
  check_ids(Tokenizer::from_folder(folder / "x"), row);
  CHECK_FALSE(Tokenizer::from_folder(folder / "x").lower_case());
  folder.file("x/tokenizer_config.json", "{}");
  CHECK_FALSE(Tokenizer::from_folder(folder / "x").lower_case());
  folder.file("x/tokenizer_config.json", R"({"do_lower_case": true})");
  CHECK(Tokenizer::from_folder(folder / "x").lower_case());
}

TEST_CASE("tokenizer files: an older tokenizer.json has no model.type, a template may be written by its names") {
  const Folder folder;
  const Json row = golden("BERT, tokenizer.json");
  Json all = Json::parse(row["files"]["tokenizer.json"].string(), "tokenizer.json");
  Json::Object model = all["model"].members();
  model.erase("type");
  all.set("model", Json::object(model));
  const auto pair = [](const char* name, int id) { return Json::array({name, id}); };
  all.set("post_processor",
          Json::object().set("type", "BertProcessing").set("sep", pair("[SEP]", 3)).set("cls", pair("[CLS]", 2)));
  folder.file("x/tokenizer.json", all.dump());
  check_ids(Tokenizer::from_folder(folder / "x"), row);
}

TEST_CASE("tokenizer files: what cannot be obeyed is refused with file, key and value") {
  const std::string bert = "BERT, tokenizer.json", roberta = "RoBERTa, added tokens False, tokenizer.json";
  CHECK(contains(refused(bert, "model", "type", "Unigram"),
                 "tokenizer.json: \"model.type\" is \"Unigram\"; only \"WordPiece\" is supported here"));
  struct Broken {
    std::string kind, part, key;
    Json value;
  };
  const auto of_type = [](const char* type) { return Json::object().set("type", type); };
  for (const auto& [kind, part, key, value] :
       {Broken{bert, "normalizer", "clean_text", false}, {bert, "normalizer", "type", "Lowercase"},
        {bert, "pre_tokenizer", "type", "Whitespace"}, {bert, "model", "max_input_chars_per_word", 50},
        {bert, "model", "unk_token", "<unk>"}, {bert, "model", "continuing_subword_prefix", ""},
        {roberta, "model", "dropout", 0.1}, {roberta, "model", "end_of_word_suffix", "</w>"},
        {roberta, "model", "continuing_subword_prefix", "##"}, {roberta, "model", "ignore_merges", true},
        {roberta, "pre_tokenizer", "use_regex", false}, {roberta, "pre_tokenizer", "type", "Whitespace"}})
    CHECK(contains(refused(kind, part, key, value), formatted("\"{}.{}\" is {}; only ", part, key, value.dump(-1))));
  CHECK(contains(refused(bert, "", "normalizer", Json()), "\"normalizer.type\" is null; only \"BertNormalizer\""));
  CHECK(contains(refused(roberta, "", "normalizer", of_type("NFC")),
                 "\"normalizer\" is {\"type\":\"NFC\"}; only null"));
  CHECK(contains(refused(bert, "", "post_processor", Json()), "\"post_processor\" is \"null\"; only \"[CLS]:0 A:0"));
  CHECK(contains(refused(bert, "post_processor", "single", Json::array()),
                 "\"post_processor\" is \", [CLS]:0 A:0"));
  CHECK(contains(refused(bert, "", "post_processor", of_type("Sequence")), "\"post_processor\" is \"Sequence\""));
  CHECK(contains(refused(roberta, "post_processor", "sep", Json::array({"</x>", 2})),
                 "\"post_processor\" is \"<s> </x>\""));

  for (const auto& [config, expected] :
       {std::pair(R"({"mask_token": "<mask>"})", R"("mask_token" is "<mask>"; only "[MASK]")"),
        {R"({"cls_token": {"content": "<s>"}})", R"("cls_token" is "<s>"; only "[CLS]")"},
        {R"({"do_basic_tokenize": false})", R"("do_basic_tokenize" is false; only true)"},
        {R"({"never_split": ["x"]})", R"("never_split" is ["x"]; only [])"},
        {R"({"split_special_tokens": true})", R"("split_special_tokens" is true; only false)"},
        {R"({"truncation_side": "left"})", R"("truncation_side" is "left"; only "right")"},
        {R"({"added_tokens_decoder": {"7": {"content": "foo"}}})", R"("foo" has the id 7, but elsewhere)"},
        {R"({"added_tokens_decoder": {"60": {"content": "new"}}})", R"("new" has the id 60, but elsewhere)"},
        {R"({"added_tokens_decoder": {"60": {"content": "more"}}})", R"("more" has the id 60, but there are 54)"},
        {R"({"added_tokens_decoder": {"7": {"content": "more"}}})", R"("film" and "more" both have the id 7)"}}) {
    CAPTURE(config);
    CHECK_MESSAGE(contains(refused_config(config), expected), refused_config(config));
  }
  const Folder folder;
  folder.file("x/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  folder.file("x/tokenizer_config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  CHECK_ERROR(Tokenizer::from_folder(folder / "x"), R"("tokenizer_class" is "BertJapaneseTokenizer"; only)");
}

TEST_CASE("tokenizer files: tokens that are named without an id stay whole, too") {
  const Folder folder;
  folder.file("x/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n[\n]\ne\n##1\n[E1]\n");
  folder.file("x/tokenizer_config.json", R"({"do_lower_case": true})");
  const auto ids = [&] { return Tokenizer::from_folder(folder / "x").encode("a[E1]a<x>"); };
  CHECK(ids() == std::vector<int32_t>{5, 6, 8, 9, 7, 5, 1, 1, 1});
  folder.file("x/special_tokens_map.json", R"({"additional_special_tokens": ["[E1]", "<x>"], "bos_token": null})");
  CHECK(ids() == std::vector<int32_t>{5, 10, 5, 11});
}

}  // namespace minbert::test
