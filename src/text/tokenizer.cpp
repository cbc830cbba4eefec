// Tokens, their ids, and the two kinds of tokenizers.
#include "minbert/tokenizer.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <iostream>

#include "engine/names.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "pieces.h"
#include "words.h"

namespace minbert {

//   [CLS] a [SEP] b [SEP]      segment 1 from b on, ## before a piece inside a word
//   <s> a </s></s> b </s>      no segments, Ġ (a space) before a piece that begins a word
constexpr TokenizerKind word_piece_kind = {
    .name = "wordpiece",
    .model = "BERT",
    .tokenizer_class = "BertTokenizer",
    .special = special_names,
    .separators = 1,
    .second_segment = 1,
    .continues_word =
        [](std::string_view token) { return token.starts_with(continues) && token != continues; },
    .setting = "do_lower_case"};
constexpr TokenizerKind bpe_kind = {
    .name = "bpe",
    .model = "RoBERTa",
    .tokenizer_class = "RobertaTokenizer",
    .special = {"<pad>", "<unk>", "<s>", "</s>", "<mask>"},
    .separators = 2,
    .second_segment = 0,
    .continues_word = [](std::string_view token) { return !token.starts_with("Ġ"); },
    .setting = "add_prefix_space"};

TokenTable::TokenTable(std::vector<std::string> tokens, const std::string& file)
    : tokens_(std::move(tokens)), slots_(std::bit_ceil(2 * tokens_.size() + 2)) {
  for (size_t id = 0; id < tokens_.size(); ++id) {
    const std::string& token = tokens_[id];
    const uint32_t hash = hash_of(token);
    const int32_t before = find(hash, token, "");
    MB_CHECK(before < 0,
             "{}:{}: \"{}\" stands on line {} already; a token has one line, its number is the id",
             file, id + 1, token, before + 1);
    size_t i = slot_of(hash);
    while (slots_[i].id >= 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {hash, int32_t(id)};
    longest_ = std::max(longest_, token.size());
  }
}

Pieces::Pieces(const TokenizerKind& of_kind, const std::string& file, TokenTable tokens,
               bool setting_value)
    : kind(of_kind), vocab_file(file), table(std::move(tokens)), setting(setting_value) {
  const std::vector<std::string> needed(kind.special.begin(), kind.special.end());
  std::vector<std::string> missing;
  for (size_t i = 0; i < special.size(); ++i) {
    special[i] = table.find(needed[i]);
    if (special[i] < 0) missing.push_back(needed[i]);
  }
  MB_CHECK(missing.empty(), "{}: {} tokens, but no {}\na {} vocabulary has {}", vocab_file,
           table.tokens().size(), joined(missing), kind.model, joined(needed));
}

Tokenizer::Tokenizer(const std::string& vocab_file, bool lower_case)
    : Tokenizer(read_tokens(vocab_file), vocab_file, lower_case) {}
Tokenizer::Tokenizer(const std::vector<std::string>& tokens, const std::string& source,
                     bool lower_case)
    : pieces_(word_piece(tokens, source, lower_case)) {}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  return pieces_->encode(text);
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  for (const int32_t id : ids) token(id);          // Error if there is no such id
  return pieces_->decode(ids);
}

void Tokenizer::save(const std::string& folder, int max_length) const {
  make_folder(folder);
  for (const auto& [name, text] : pieces_->files()) write_file(folder + "/" + name, text);
  write_file(folder + "/tokenizer_config.json",
             Json::object()
                     .set(std::string(kind().setting), pieces_->setting)
                     .set("model_max_length", max_length)
                     .set("tokenizer_class", std::string(kind().tokenizer_class))
                     .dump() +
                 "\n");
}

const TokenizerKind& Tokenizer::kind() const { return pieces_->kind; }
bool Tokenizer::lower_case() const { return &kind() == &word_piece_kind && pieces_->setting; }
const std::vector<std::string>& Tokenizer::tokens() const { return pieces_->table.tokens(); }
const std::string& Tokenizer::vocab_file() const { return pieces_->vocab_file; }
int32_t Tokenizer::special(size_t i) const { return pieces_->special[i]; }

int32_t Tokenizer::id(std::string_view token) const {
  const int32_t found = pieces_->table.find(token);
  MB_CHECK(found >= 0, "{} has no token \"{}\"", vocab_file(), token);
  return found;
}

const std::string& Tokenizer::token(int32_t id) const {
  MB_CHECK(id >= 0 && id < size(), "{} has no id {}; its ids are 0 to {}", vocab_file(), id,
           size() - 1);
  return tokens()[size_t(id)];
}

Tokenizer Tokenizer::from_vocab(const std::string& vocab_file, bool cased) {
  if (std::filesystem::is_directory(vocab_file)) return from_folder(vocab_file);
  const Tokenizer tokenizer(vocab_file, !cased);
  const auto is_capitalised = [](const std::string& token) {
    return token[0] >= 'A' && token[0] <= 'Z';
  };
  const auto capitalised = std::ranges::count_if(tokenizer.tokens(), is_capitalised);
  if (!cased && 20 * capitalised > tokenizer.size()) {
    std::cerr << formatted(
        "{}: {} of {} tokens are capitalised, but text is lower-cased and never meets them\n"
        "is this a cased vocabulary? then say --cased, or of a model's folder "
        "\"do_lower_case\": false in its tokenizer_config.json\n",
        vocab_file, capitalised, tokenizer.size());
  }
  return tokenizer;
}

Tokenizer Tokenizer::from_folder(const std::string& folder) {
  const auto path = std::filesystem::path(folder);
  const auto has = [&](const char* name) { return std::filesystem::exists(path / name); };
  const std::string vocab_file = (path / "vocab.txt").string();
  const std::string config_file = (path / "tokenizer_config.json").string();
  MB_CHECK(!has("vocab.txt") || !has("merges.txt"),
           "{}: has the vocab.txt of a BERT and the merges.txt of a RoBERTa; "
           "move away the file that is not of this model",
           folder);
  if (!has("vocab.txt") && (has("merges.txt") || has("vocab.json") || has("tokenizer.json")))
    return Tokenizer(load_bpe(folder));
  MB_CHECK(has("vocab.txt"),
           "{}: there is no vocabulary in it; expected vocab.txt (of a BERT), vocab.json and "
           "merges.txt, or tokenizer.json (of a RoBERTa)",
           folder);
  if (!has("tokenizer_config.json")) return from_vocab(vocab_file);
  const Json config = Json::load(config_file);
  if (!config.has("do_lower_case")) return from_vocab(vocab_file);
  const bool lower_case = config["do_lower_case"].boolean();
  for (const auto& [key, ours] :
       {std::pair{"strip_accents", lower_case}, {"tokenize_chinese_chars", true}}) {
    if (!config.has(key) || config[key].is_null()) continue;
    MB_CHECK(config[key].boolean() == ours, "{}: {} is {}; only {} is supported here", config_file,
             key, ours ? "false" : "true", ours ? "true" : "false");
  }
  return Tokenizer(vocab_file, lower_case);
}

}  // namespace minbert
