// WordPiece: cuts each word from left to right into the longest pieces that the vocabulary has.
//
// One hash table holds all pieces. The hash of a string extends that of its prefix by one byte, so one pass over the
// word gives the hashes of all candidates; for pieces after the first, it starts from the hash of "##".
#include "minbert/tokenizer.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <iostream>

#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "words.h"

namespace minbert {
namespace {

// The lines of a vocabulary file, without line ends, trailing blanks (CRLF files) and a byte order mark.
std::vector<std::string> read_tokens(const std::string& file) {
  const std::string text = read_file(file);
  std::vector<std::string> tokens;
  for (size_t begin = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string token = text.substr(begin, end - begin);
    token.erase(token.find_last_not_of(" \t\r") + 1);
    const size_t line = tokens.size() + 1;
    MB_CHECK(!token.empty(), "{}:{}: the line is empty; expected one token a line\n"
             "a token's id is its line number: restore what stood here, or later ids change", file, line);
    MB_CHECK(is_utf8(token), "{}:{}: the token is not UTF-8; save the file in that encoding", file, line);
    tokens.push_back(std::move(token));
    begin = end + 1;
  }
  return tokens;
}

// FNV-1a (Fowler, Noll and Vo) of 32 bits. Its low bits are weak, so slots use the high bits of a product.
constexpr uint32_t empty_hash = 2166136261u;
constexpr uint32_t extend(uint32_t hash, char byte) { return (hash ^ uint8_t(byte)) * 16777619u; }
constexpr uint32_t hash_of(std::string_view text) {
  uint32_t hash = empty_hash;
  for (const char byte : text) hash = extend(hash, byte);
  return hash;
}

size_t slot_of(uint32_t hash, size_t slots) {
  return size_t((hash * 0x9E3779B97F4A7C15u) >> 32) & (slots - 1);
}

}  // namespace

Tokenizer::Tokenizer(const std::string& vocab_file, bool lower_case)
    : Tokenizer(read_tokens(vocab_file), vocab_file, lower_case) {}

Tokenizer::Tokenizer(std::vector<std::string> tokens, const std::string& source, bool lower_case)
    : vocab_file_(source), lower_case_(lower_case), tokens_(std::move(tokens)) {
  table_.resize(std::bit_ceil(2 * tokens_.size() + 2));
  for (int32_t id = 0; id < size(); ++id) {
    const std::string& token = tokens_[size_t(id)];
    const uint32_t hash = hash_of(token);
    const int32_t before = find(hash, token, "");
    MB_CHECK(before < 0, "{}:{}: \"{}\" stands on line {} already; a token has one line, its number is the id",
             vocab_file_, id + 1, token, before + 1);
    size_t i = slot_of(hash, table_.size());
    while (table_[i].id >= 0) i = (i + 1) & (table_.size() - 1);
    table_[i] = {hash, id};
    longest_ = std::max(longest_, token.size());
  }
  std::string missing;
  for (size_t i = 0; i < special_names.size(); ++i) {
    special_[i] = find(hash_of(special_names[i]), special_names[i], "");
    if (special_[i] < 0) missing.append(missing.empty() ? "" : ", ").append(special_names[i]);
  }
  MB_CHECK(missing.empty(), "{}: {} tokens, but no {}\n"
           "a BERT vocabulary has [PAD], [UNK], [CLS], [SEP] and [MASK], each on a line of its own",
           vocab_file_, size(), missing);
}

int32_t Tokenizer::find(uint32_t hash, std::string_view prefix, std::string_view rest) const {
  for (size_t i = slot_of(hash, table_.size()); table_[i].id >= 0; i = (i + 1) & (table_.size() - 1)) {
    if (table_[i].hash != hash) continue;
    const std::string_view token = tokens_[size_t(table_[i].id)];
    if (token.size() == prefix.size() + rest.size() && token.starts_with(prefix) && token.ends_with(rest)) {
      return table_[i].id;
    }
  }
  return -1;
}

int32_t Tokenizer::id(std::string_view token) const {
  const int32_t found = find(hash_of(token), token, "");
  MB_CHECK(found >= 0, "{} has no token \"{}\"", vocab_file_, token);
  return found;
}

const std::string& Tokenizer::token(int32_t id) const {
  MB_CHECK(id >= 0 && id < size(), "{} has no id {}; its ids are 0 to {}", vocab_file_, id, size() - 1);
  return tokens_[size_t(id)];
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4 + 1);
  for_each_word(text, lower_case_, [&](std::string_view word) { encode_word(word, ids); },
                [&](size_t special) { ids.push_back(special_[special]); });
  return ids;
}

void Tokenizer::encode_word(std::string_view word, std::vector<int32_t>& ids) const {
  if (is_too_long(word)) return ids.push_back(unk());
  std::array<uint32_t, 4 * longest_word + 1> hashes;     // of the prefixes of `rest`
  const size_t before = ids.size();
  for (size_t begin = 0; begin < word.size();) {
    const std::string_view prefix = begin == 0 ? "" : continues;
    const std::string_view rest = word.substr(begin, longest_);
    hashes[0] = begin == 0 ? empty_hash : hash_of(continues);
    for (size_t n = 0; n < rest.size(); ++n) hashes[n + 1] = extend(hashes[n], rest[n]);

    int32_t piece = -1;
    size_t n = rest.size();
    while (n > 0 && (piece = find(hashes[n], prefix, rest.substr(0, n))) < 0) --n;
    if (piece < 0) {
      ids.resize(before);
      return ids.push_back(unk());
    }
    ids.push_back(piece);
    begin += n;
  }
}

Tokenizer Tokenizer::from_vocab(const std::string& vocab_file, std::optional<bool> cased) {
  Tokenizer tokenizer(vocab_file, !cased.value_or(false));
  const auto is_capitalised = [](const std::string& token) { return token[0] >= 'A' && token[0] <= 'Z'; };
  const auto capitalised = std::ranges::count_if(tokenizer.tokens_, is_capitalised);
  if (!cased && 20 * capitalised > tokenizer.size()) {
    std::cerr << format("{}: {} of {} tokens are capitalised, but text is lower-cased and never meets them\n"
                        "is this a cased vocabulary? then say --cased, or record \"do_lower_case\": false in "
                        "tokenizer_config.json\n", vocab_file, capitalised, tokenizer.size());
  }
  return tokenizer;
}

Tokenizer Tokenizer::from_folder(const std::string& folder, std::optional<bool> cased) {
  const auto path = std::filesystem::path(folder);
  const std::string vocab_file = (path / "vocab.txt").string();
  const std::string config_file = (path / "tokenizer_config.json").string();
  if (!std::filesystem::exists(config_file)) return from_vocab(vocab_file, cased);
  const Json config = Json::load(config_file);
  if (!config.has("do_lower_case")) return from_vocab(vocab_file, cased);
  const bool recorded = !config["do_lower_case"].boolean();
  for (const auto& [key, ours] : {std::pair{"strip_accents", !recorded}, {"tokenize_chinese_chars", true}}) {
    if (!config.has(key) || config[key].is_null()) continue;
    MB_CHECK(config[key].boolean() == ours, "{}: {} is {}; only {} is supported here", config_file, key,
             ours ? "false" : "true", ours ? "true" : "false");
  }
  if (cased && *cased != recorded) {
    std::cerr << format("{} records a {} vocabulary; used as {}, as told\n", config_file,
                        recorded ? "cased" : "uncased", *cased ? "cased" : "uncased");
  }
  return from_vocab(vocab_file, cased.value_or(recorded));
}

}  // namespace minbert
