// Tokens, their ids, and the two kinds of tokenizers.
#include "minbert/tokenizer.h"

#include <algorithm>
#include <bit>

#include "engine/names.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "text/pieces.h"
#include "text/words.h"

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
    .mask_lstrip = false};
constexpr TokenizerKind bpe_kind = {
    .name = "bpe",
    .model = "RoBERTa",
    .tokenizer_class = "RobertaTokenizer",
    .special = {"<pad>", "<unk>", "<s>", "</s>", "<mask>"},
    .separators = 2,
    .second_segment = 0,
    .continues_word = [](std::string_view token) { return !token.starts_with("Ġ"); },
    .mask_lstrip = true};

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

Pieces::Pieces(const TokenizerKind& of_kind, Vocabulary vocabulary,
               std::optional<Cleaning> clean_up)
    : kind(of_kind), vocab_file(std::move(vocabulary.file)), table(std::move(vocabulary.table)),
      cleaning(clean_up), added(std::move(vocabulary.added)) {
  const std::vector<std::string> needed(kind.special.begin(), kind.special.end());
  std::vector<std::string> missing;
  for (size_t i = 0; i < special.size(); ++i) {
    special[i] = table.find(needed[i]);
    if (special[i] < 0) missing.push_back(needed[i]);
    else if (!std::ranges::count(added, special[i], &AddedToken::id))
      added.push_back({needed[i], special[i], true, kind.mask_lstrip && i == 4});
  }
  MB_CHECK(missing.empty(), "{}: {} tokens, but no {}\na {} vocabulary has {}", vocab_file,
           table.tokens().size(), joined(missing), kind.model, joined(needed));
  std::vector<AddedToken> in_text, in_clean_text;
  for (AddedToken token : added) {
    if (token.normalized) token.content = clean(token.content);
    (token.normalized ? in_clean_text : in_text).push_back(std::move(token));
  }
  in_text_ = std::make_unique<AddedTokens>(std::move(in_text));
  in_clean_text_ = std::make_unique<AddedTokens>(std::move(in_clean_text));
}

std::string Pieces::clean(std::string_view text) const {
  return cleaning ? normalize(text, *cleaning) : std::string(text);
}

std::vector<int32_t> Pieces::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4 + 1);
  const auto on_token = [&](int32_t id) { ids.push_back(id); };
  const auto on_clean_text = [&](std::string_view part) { encode_clean(part, ids); };
  const auto on_text = [&](std::string_view part) {
    in_clean_text_->cut(clean(part), on_clean_text, on_token);
  };
  in_text_->cut(text, on_text, on_token);
  return ids;
}

Tokenizer::Tokenizer(const std::string& vocab_file, bool lower_case)
    : Tokenizer(read_tokens(vocab_file), vocab_file, lower_case) {}
Tokenizer::Tokenizer(const std::vector<std::string>& tokens, const std::string& source,
                     bool lower_case)
    : pieces_(word_piece({source, TokenTable(tokens, source)}, {lower_case, lower_case})) {}

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
  Json config = pieces_->settings(), added;
  config.set("model_max_length", max_length)
      .set("tokenizer_class", std::string(kind().tokenizer_class));
  for (const AddedToken& t : pieces_->added) {     // all but the usual special tokens
    if (std::ranges::count(pieces_->special, t.id) && t == AddedToken{t.content, t.id}) continue;
    Json token = Json::object().set("content", t.content);
    for (const auto& [key, flag] : added_token_flags) token.set(key, t.*flag);
    added.set(std::to_string(t.id), token);
  }
  if (!added.is_null()) config.set("added_tokens_decoder", added);
  write_file(folder + "/tokenizer_config.json", config.dump() + "\n");
}

const TokenizerKind& Tokenizer::kind() const { return pieces_->kind; }
bool Tokenizer::lower_case() const { return pieces_->cleaning && pieces_->cleaning->lower_case; }
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

}  // namespace minbert
