// The tokenizer of a folder. What its files say is obeyed as in Hugging Face's transformers, or
// refused by name. tokenizer.json counts before vocab.txt (WordPiece), vocab.json and merges.txt
// (byte-level BPE), and tokenizer_config.json before it. Added tokens: those of added_tokens.json,
// tokenizer.json and tokenizer_config.json, of which the last counts; then those that are named
// without an id.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <tuple>

#include "minbert/error.h"
#include "minbert/files.h"
#include "text/pieces.h"

namespace minbert {
namespace {

// What changes ids and has one value here: of tokenizer.json, of tokenizer_config.json, and the
// tokens around a text and around two, each with its segment. "truncation" and "padding" are not
// read: they belong to whoever calls the tokenizer.
struct Form {
  const char *one_file, *config, *post_processor, *sequences;
};
const Form word_piece_form = {
    .one_file = R"({"normalizer": {"type": "BertNormalizer", "clean_text": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100}})",
    .config = R"({"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]",
        "sep_token": "[SEP]", "mask_token": "[MASK]", "do_basic_tokenize": true,
        "never_split": [], "split_special_tokens": false, "truncation_side": "right"})",
    .post_processor = "BertProcessing",
    .sequences = "[CLS]:0 A:0 [SEP]:0, [CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1"};
const Form bpe_form = {
    .one_file = R"({"normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "use_regex": true},
        "model": {"type": "BPE", "dropout": 0.0, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "ignore_merges": false}})",
    .config = R"({"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>",
        "sep_token": "</s>", "mask_token": "<mask>", "split_special_tokens": false,
        "truncation_side": "right"})",
    .post_processor = "RobertaProcessing",
    .sequences = "<s>:0 A:0 </s>:0, <s>:0 A:0 </s>:0 </s>:0 B:0 </s>:0"};

using Ids = std::map<std::string, int64_t>;

const std::string one_file_name = "tokenizer.json", config_name = "tokenizer_config.json",
                  map_name = "special_tokens_map.json", old_name = "added_tokens.json";

// A folder, and what its files say; {} for one that it lacks.
struct TokenizerFolder {
  explicit TokenizerFolder(const std::string& path) : folder(path) {}
  const std::string folder;
  const Json one_file = json(one_file_name), config = json(config_name), map = json(map_name),
             old = json(old_name);
  std::string path(const std::string& name) const { return folder + "/" + name; }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  Json json(const std::string& name) const { return Json::load_if_there(path(name)); }
  // A key may be missing, but for part of tokenizer.json with a type; old models have none, either.
  void check(const std::string& file, const std::string& key, const Json& value,
             const Json& ours) const {
    if (ours.is_object()) {
      for (const auto& [name, our] : ours.members())
        check(file, key.empty() ? name : key + "." + name, value.find(name), our);
      return;
    }
    const bool type = key.ends_with(".type") && key != "model.type";
    const Json found = value.has("content") ? value["content"] : value;
    MB_CHECK(found.dump() == ours.dump() || (found.is_null() && !type),
             "{}: \"{}\" is {}; only {} is supported here", path(file), key, found.dump(-1),
             ours.dump(-1));
  }
};

std::string sequences_in(const Json& post_processor, const Form& form, const TokenizerKind& kind) {
  const std::string type = post_processor.is_null() ? "null" : post_processor["type"].string();
  if (type == form.post_processor) {
    std::string names;                             // of "cls": ["[CLS]", 101] and "sep"
    for (const char* key : {"cls", "sep"})
      for (const Json& part : post_processor[key].items())
        if (part.is_string()) names += (names.empty() ? "" : " ") + part.string();
    return names == formatted("{} {}", kind.special[2], kind.special[3]) ? form.sequences : names;
  }
  if (type != "TemplateProcessing") return type;
  std::string text, separator;
  for (const char* key : {"single", "pair"}) {
    for (const Json& item : post_processor[key].items()) {
      const Json token = item[item.has("Sequence") ? "Sequence" : "SpecialToken"];
      text += formatted("{}{}:{}", separator, token["id"].string(), token["type_id"].integer());
      separator = " ";
    }
    separator = ", ";
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

// Keys under which tokens stand that have no key of their own: in a list, or in an object by names
// of the model's choice.
const std::vector<std::string> of_tokens = {"additional_special_tokens", "extra_special_tokens"};

// "bos_token", "additional_special_tokens" and the like; the usual ones only with flags. In the
// order in which Hugging Face gives ids to those that have none: bos and eos, then other keys in
// the file's order, then the members of objects, then lists.
// The key of the result: group, file, and the place of the key in the file.
auto named_tokens(const TokenizerFolder& folder, const TokenizerKind& kind) {
  std::multimap<std::tuple<int, bool, size_t>, AddedToken> found;
  for (const bool map : {false, true}) {
    const Json& all = map ? folder.map : folder.config;
    const std::string file = map ? map_name : config_name;
    const std::string text = folder.has(file) ? read_file(folder.path(file)) : "";
    const auto add = [&](int group, const std::string& key, const Json& json) {
      const AddedToken token = token_of(json, 0, true);
      if (json.has("content") || !std::ranges::count(kind.special, token.content))
        found.emplace(std::tuple(group, map, text.find('"' + key + '"')), token);
    };
    for (const auto& [key, value] : all.members()) {
      const bool several = std::ranges::count(of_tokens, key);
      if (several && value.is_object())
        for (const auto& [name, token] : value.members()) add(3, name, token);
      else if (several)
        for (const Json& token : value.items()) add(4, key, token);
      else if (key.ends_with("_token") && (value.is_string() || value.has("content")))
        add(key == "bos_token" ? 0 : key == "eos_token" ? 1 : 2, key, value);
    }
  }
  return found;
}

// Adds to the ids those of tokens that are no pieces.
std::vector<AddedToken> added_tokens(const TokenizerFolder& folder, const TokenizerKind& kind,
                                     Ids& ids) {
  std::map<std::string, AddedToken> all;
  auto named = named_tokens(folder, kind);
  const auto content_of = [](const auto& entry) { return entry.second.content; };
  const auto add = [&](const std::string& file, AddedToken token) {
    const auto [known, fresh] = ids.emplace(token.content, token.id);
    MB_CHECK(known->second == token.id,
             "{}: \"{}\" has the id {}, but elsewhere in this folder {}", folder.path(file),
             token.content, token.id, known->second);
    const auto before = all.find(token.content);
    token.piece = before == all.end() ? !fresh : before->second.piece;
    all.insert_or_assign(token.content, token);
  };
  for (const auto& [token, id] : folder.old.members())
    add(old_name,
        token_of(token, id.integer(), std::ranges::count(named, token, content_of)));
  for (const Json& token : folder.one_file.find("added_tokens").items())
    add(one_file_name, token_of(token, token["id"].integer(), false));
  for (const auto& [id, token] : folder.config.find("added_tokens_decoder").members())
    add(config_name, token_of(token, Json::parse(id, folder.path(config_name)).integer(), false));
  for (auto& [place, token] : named) {
    if (all.contains(token.content)) continue;
    const auto known = ids.find(token.content);
    token.id = known == ids.end() ? int64_t(ids.size()) : known->second;
    add(config_name, token);
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
  const Json value = config.has(key) ? config[key] : part.find(name);
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
  if (std::filesystem::is_directory(vocab_file)) {
    Tokenizer tokenizer = from_folder(vocab_file);
    MB_CHECK(!cased || !tokenizer.lower_case(),
             "{}: its texts are lower-cased, so it is not --cased; give its vocab.txt",
             vocab_file);
    return tokenizer;
  }
  const Tokenizer tokenizer(vocab_file, !cased);
  if (!cased) warn_if_capitalised(tokenizer);
  return tokenizer;
}

Tokenizer Tokenizer::from_folder(const std::string& path) {
  const TokenizerFolder folder(path);
  const bool one_file = folder.has(one_file_name), vocab_txt = folder.has("vocab.txt");
  const Json &all = folder.one_file, &config = folder.config;
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
  const TokenizerKind& kind = bpe ? bpe_kind : word_piece_kind;
  const Form& form = bpe ? bpe_form : word_piece_form;
  const std::string file = folder.path(one_file ? one_file_name : bpe ? "vocab.json" : "vocab.txt");

  const Json settings = Json::parse(form.config, "");
  folder.check(config_name, "", config, settings);
  folder.check(map_name, "", folder.map, settings);
  for (const std::string& key : of_tokens)         // an object may give [CLS] another name, too
    folder.check(config_name, key, config.find(key), settings);
  const std::string ours(kind.tokenizer_class), theirs = config.get("tokenizer_class", ours);
  if (one_file) {
    folder.check(one_file_name, "", all, Json::parse(form.one_file, ""));
    folder.check(one_file_name, "post_processor", sequences_in(all["post_processor"], form, kind),
                 form.sequences);
  } else if (!theirs.starts_with(ours)) {          // BertTokenizerFast is the same
    folder.check(config_name, "tokenizer_class", theirs, ours);
  }
  Ids ids;
  if (one_file || bpe) {
    for (const auto& [token, id] : (one_file ? model["vocab"] : Json::load(file)).members())
      ids[token] = id.integer();
  } else {
    const TokenTable lines(read_tokens(file), file);
    for (const std::string& token : lines.tokens()) ids.emplace(token, int64_t(ids.size()));
  }
  std::vector<AddedToken> added = added_tokens(folder, kind, ids);
  Vocabulary vocabulary{file, table_of(file, ids), std::move(added)};
  if (bpe) {
    Merges merges = one_file ? read_merges(file, model["merges"], vocabulary.table)
                             : read_merges(folder.path("merges.txt"), vocabulary.table);
    const char* const key = "add_prefix_space";
    const auto space = said(config, key, all.find("pre_tokenizer"), key);
    return Tokenizer(
        byte_level_bpe(std::move(vocabulary), std::move(merges), space.value_or(false)));
  }
  const Json normalizer = all.find("normalizer");
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
