// The tokenizer of a folder. What its files say is obeyed as in Hugging Face's transformers, or
// refused by name.
//
//   tokenizer.json            all of it; where it is, the next two files do not count
//   vocab.txt                 WordPiece
//   vocab.json, merges.txt    byte-level BPE
//   tokenizer_config.json     settings, which count more than those of tokenizer.json
//   added tokens              of added_tokens.json, tokenizer.json, tokenizer_config.json; what a
//                             later one says counts. Then those that tokenizer_config.json and
//                             special_tokens_map.json name without an id
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "minbert/error.h"
#include "minbert/files.h"
#include "pieces.h"

namespace minbert {
namespace {

// What changes ids and has one value here; but for types the key may be missing. "truncation" and
// "padding" are not read: they belong to whoever calls the tokenizer.
struct Setting {
  const char *part, *key;
  Json ours;
};
const std::vector<Setting> word_piece_settings = {
    {"normalizer", "type", "BertNormalizer"},      {"normalizer", "clean_text", true},
    {"pre_tokenizer", "type", "BertPreTokenizer"}, {"model", "continuing_subword_prefix", "##"},
    {"model", "unk_token", "[UNK]"},               {"model", "max_input_chars_per_word", 100}};
const std::vector<Setting> bpe_settings = {
    {"normalizer", "type", Json()},           {"pre_tokenizer", "type", "ByteLevel"},
    {"pre_tokenizer", "use_regex", true},     {"model", "continuing_subword_prefix", ""},
    {"model", "end_of_word_suffix", ""},      {"model", "dropout", 0.0},
    {"model", "ignore_merges", false}};
const std::vector<Setting> config_settings = {
    {"", "do_basic_tokenize", true},          {"", "never_split", Json::array()},
    {"", "split_special_tokens", false},      {"", "truncation_side", "right"}};

using Ids = std::map<std::string, int64_t>;

struct TokenizerFolder {
  std::string folder;
  const TokenizerKind* kind = nullptr;
  std::string path(const std::string& name) const {
    return (std::filesystem::path(folder) / name).string();
  }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  Json json(const std::string& name) const {
    return has(name) ? Json::load(path(name)) : Json::object();
  }
  void check(const std::string& file, const std::string& key, const Json& value,
             const Json& ours) const {
    MB_CHECK(value.dump() == ours.dump(),
             "{}: \"{}\" is {}; only {} is supported here, as {} has it", path(file), key,
             value.dump(-1), ours.dump(-1), kind->model);
  }
  void check(const std::string& file, const Json& all, const std::vector<Setting>& settings) const {
    for (const auto& [part, key, ours] : settings) {
      const Json of = *part == 0 ? all : all.has(part) ? all[part] : Json();
      const Json value = of.has(key) ? of[key] : Json();
      if (!value.is_null() || std::string_view(key) == "type")
        check(file, *part == 0 ? key : formatted("{}.{}", part, key), value, ours);
    }
  }
};

// One text and two, each token with its segment.
std::string sequences(bool bert, std::string_view cls, std::string_view sep) {
  const std::string one = formatted("{}:0 A:0 {}:0", cls, sep);
  return one + ", " + one +
         (bert ? formatted(" B:1 {}:1", sep) : formatted(" {}:0 B:0 {}:0", sep, sep));
}

std::string sequences_in(const Json& post_processor) {
  if (post_processor.is_null()) return "null";
  const std::string type = post_processor["type"].string();
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    const auto name = [&](const char* key) {       // of ["[SEP]", 102]
      const Json::Array token = post_processor[key].items();
      return token.empty() ? "" : token[0].string();
    };
    return sequences(type == "BertProcessing", name("cls"), name("sep"));
  }
  if (type != "TemplateProcessing") return type;
  std::string text;
  for (const char* key : {"single", "pair"}) {
    if (!text.empty()) text += ",";
    for (const Json& item : post_processor[key].items()) {
      const Json token = item[item.has("Sequence") ? "Sequence" : "SpecialToken"];
      text += text.empty() ? "" : " ";
      text += formatted("{}:{}", token["id"].string(), token["type_id"].integer());
    }
  }
  return text;
}

// json: a token's name or an object
AddedToken token_of(const Json& json, int64_t id, bool special) {
  if (!json.has("content"))
    return {.content = json.string(), .id = id, .special = special, .normalized = !special};
  AddedToken token = {json["content"].string(), id, json.get("special", special)};
  token.normalized = !token.special;
  for (const auto& [key, flag] : added_token_flags) token.*flag = json.get(key, token.*flag);
  return token;
}

// "mask_token", "additional_special_tokens" and the like
void find_named(const TokenizerFolder& folder, const std::string& file,
                std::vector<AddedToken>& named) {
  const std::vector<std::string> keys = {"pad_token", "unk_token", "cls_token", "sep_token",
                                         "mask_token"};
  for (const auto& [key, value] : folder.json(file).members()) {
    const bool many = key == "additional_special_tokens" || key == "extra_special_tokens";
    const bool one = key.ends_with("_token") && !key.starts_with("add_");
    if (value.is_null() || (!many && !one)) continue;
    for (const Json& json : many ? value.items() : Json::Array{value}) {
      const AddedToken token = token_of(json, 0, true);
      const auto place = size_t(std::ranges::find(keys, key) - keys.begin());
      if (place < keys.size())
        folder.check(file, key, token.content, std::string(folder.kind->special[place]));
      if (json.has("content") || !std::ranges::count(folder.kind->special, token.content))
        named.push_back(token);
    }
  }
}

// one_file: tokenizer.json. Adds to the ids those of tokens that are no pieces.
std::vector<AddedToken> added_tokens(const TokenizerFolder& folder, const Json& one_file,
                                     Ids& ids) {
  const std::string config = "tokenizer_config.json", old = "added_tokens.json";
  std::map<std::string, AddedToken> all;
  std::vector<AddedToken> named;
  const auto add = [&](const std::string& file, AddedToken token) {
    const auto [known, fresh] = ids.emplace(token.content, token.id);
    MB_CHECK(known->second == token.id,
             "{}: \"{}\" has the id {}, but elsewhere in this folder {}", folder.path(file),
             token.content, token.id, known->second);
    const auto before = all.find(token.content);
    token.piece = before == all.end() ? !fresh : before->second.piece;
    all.insert_or_assign(token.content, token);
  };
  find_named(folder, config, named);
  find_named(folder, "special_tokens_map.json", named);
  for (const auto& [token, id] : folder.json(old).members())
    add(old, token_of(token, id.integer(), std::ranges::count(named, token, &AddedToken::content)));
  if (one_file.has("added_tokens"))
    for (const Json& token : one_file["added_tokens"].items())
      add("tokenizer.json", token_of(token, token["id"].integer(), false));
  if (const Json settings = folder.json(config); settings.has("added_tokens_decoder"))
    for (const auto& [id, token] : settings["added_tokens_decoder"].members())
      add(config, token_of(token, Json::parse(id, folder.path(config)).integer(), false));
  for (AddedToken& token : named) {
    if (all.contains(token.content)) continue;
    const auto known = ids.find(token.content);
    token.id = known == ids.end() ? int64_t(ids.size()) : known->second;
    add(config, token);
  }
  std::vector<AddedToken> in_order;                // of equal ones in clean text the first counts
  for (const auto& [content, token] : all) in_order.push_back(token);
  std::ranges::sort(in_order, {}, [](auto& t) { return std::pair(!t.special, t.id); });
  return in_order;
}

TokenTable table_of(const std::string& file, const Ids& ids) {
  std::vector<std::string> tokens(ids.size());
  for (const auto& [token, id] : ids) {
    MB_CHECK(id >= 0 && id < int64_t(tokens.size()),
             "{}: \"{}\" has the id {}, but there are {} tokens; their ids are "
             "0 to {}, without holes",
             file, token, id, tokens.size(), tokens.size() - 1);
    std::string& slot = tokens[size_t(id)];
    MB_CHECK(slot.empty(), "{}: \"{}\" and \"{}\" both have the id {}; each token has its own",
             file, slot, token, id);
    slot = token;
  }
  return TokenTable(std::move(tokens), file);
}

// What tokenizer_config.json says, else tokenizer.json.
std::optional<bool> said(const Json& config, const char* key, const Json& part, const char* name) {
  const Json value = config.has(key) ? config[key] : part.has(name) ? part[name] : Json();
  return value.is_null() ? std::nullopt : std::optional(value.boolean());
}

void warn_if_capitalised(const Tokenizer& tokenizer) {
  const auto is_capitalised = [](const std::string& token) {
    return token[0] >= 'A' && token[0] <= 'Z';
  };
  const auto capitalised = std::ranges::count_if(tokenizer.tokens(), is_capitalised);
  if (20 * capitalised > tokenizer.size()) {
    std::cerr << formatted(
        "{}: {} of {} tokens are capitalised, but text is lower-cased and never meets them\n"
        "is this a cased vocabulary? then say --cased, or of a model's folder "
        "\"do_lower_case\": false in its tokenizer_config.json\n",
        tokenizer.vocab_file(), capitalised, tokenizer.size());
  }
}

}  // namespace

Tokenizer Tokenizer::from_vocab(const std::string& vocab_file, bool cased) {
  if (std::filesystem::is_directory(vocab_file)) return from_folder(vocab_file);
  const Tokenizer tokenizer(vocab_file, !cased);
  if (!cased) warn_if_capitalised(tokenizer);
  return tokenizer;
}

Tokenizer Tokenizer::from_folder(const std::string& path) {
  TokenizerFolder folder{path};
  const std::string name = "tokenizer.json";
  const bool one_file = folder.has(name), vocab_txt = folder.has("vocab.txt");
  const Json all = folder.json(name), config = folder.json("tokenizer_config.json");
  const Json model = one_file ? all["model"] : Json();
  MB_CHECK(one_file || vocab_txt || folder.has("vocab.json") || folder.has("merges.txt"),
           "{}: there is no vocabulary in it; expected tokenizer.json, vocab.txt (of a BERT), or "
           "vocab.json and merges.txt (of a RoBERTa)",
           path);
  MB_CHECK(one_file || !vocab_txt || !folder.has("merges.txt"),
           "{}: has the vocab.txt of a BERT and the merges.txt of a RoBERTa; "
           "move away the file that is not of this model",
           path);
  const bool bpe = one_file ? model.has("merges") : !vocab_txt;
  folder.kind = bpe ? &bpe_kind : &word_piece_kind;
  const std::string file = folder.path(one_file ? name : bpe ? "vocab.json" : "vocab.txt");
  const TokenizerKind& kind = *folder.kind;

  folder.check("tokenizer_config.json", config, config_settings);
  if (one_file) {                                  // old files have no model.type
    const std::string type = bpe ? "BPE" : "WordPiece";
    folder.check(name, "model.type", model.get("type", type), type);
    folder.check(name, all, bpe ? bpe_settings : word_piece_settings);
    folder.check(name, "post_processor", sequences_in(all["post_processor"]),
                 sequences(!bpe, kind.special[2], kind.special[3]));
  } else if (const std::string of_class = config.get("tokenizer_class", std::string());
             !of_class.empty() && !of_class.starts_with(kind.tokenizer_class)) {
    folder.check("tokenizer_config.json", "tokenizer_class", of_class,
                 std::string(kind.tokenizer_class));
  }
  Ids ids;
  if (one_file || bpe) {
    for (const auto& [token, id] : (one_file ? model["vocab"] : Json::load(file)).members())
      ids[token] = id.integer();
  } else {
    const TokenTable lines(read_tokens(file), file);
    for (const std::string& token : lines.tokens()) ids.emplace(token, int64_t(ids.size()));
  }
  std::vector<AddedToken> added = added_tokens(folder, all, ids);
  Vocabulary vocabulary{file, table_of(file, ids), std::move(added)};
  if (bpe) {
    Merges merges = one_file ? read_merges(file, model["merges"], vocabulary.table)
                             : read_merges(folder.path("merges.txt"), vocabulary.table);
    const char* const key = "add_prefix_space";
    const auto space = said(config, key, one_file ? all["pre_tokenizer"] : Json(), key);
    return Tokenizer(
        byte_level_bpe(std::move(vocabulary), std::move(merges), space.value_or(false)));
  }
  const Json normalizer = one_file ? all["normalizer"] : Json();
  const auto lower = said(config, "do_lower_case", normalizer, "lowercase");
  const auto strip = said(config, "strip_accents", normalizer, "strip_accents");
  const auto chinese = said(config, "tokenize_chinese_chars", normalizer, "handle_chinese_chars");
  const bool lower_case = lower.value_or(true);
  const Tokenizer tokenizer(word_piece(
      std::move(vocabulary), {lower_case, strip.value_or(lower_case), chinese.value_or(true)}));
  if (!lower) warn_if_capitalised(tokenizer);
  return tokenizer;
}

}  // namespace minbert
