// The tokenizer's vocabulary and settings, and sequences of ids. wordpiece.cpp cuts words into pieces.
#include "minbert/tokenizer.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <iostream>

#include "minbert/files.h"
#include "words.h"

namespace minbert {
namespace {

bool is_utf8(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const size_t begin = pos;
    if (next_code_point(text, pos) == 0xFFFD && pos == begin + 1) return false;    // U+FFFD itself has 3 bytes
  }
  return true;
}

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

bool is_capitalised(const std::string& token) { return token[0] >= 'A' && token[0] <= 'Z'; }

}  // namespace

Tokenizer::Tokenizer(const std::string& vocab_file, bool lower_case)
    : vocab_file_(vocab_file), lower_case_(lower_case), tokens_(read_tokens(vocab_file)) {
  table_.resize(std::bit_ceil(2 * tokens_.size() + 2));
  for (int32_t id = 0; id < size(); ++id) {
    insert(id);
    longest_ = std::max(longest_, tokens_[size_t(id)].size());
  }
  std::string missing;
  for (size_t i = 0; i < special_names.size(); ++i) {
    const auto found = std::find(tokens_.begin(), tokens_.end(), special_names[i]);
    special_[i] = int32_t(found - tokens_.begin());
    if (found == tokens_.end()) missing.append(missing.empty() ? "" : ", ").append(special_names[i]);
  }
  MB_CHECK(missing.empty(), "{}: {} tokens, but no {}\n"
           "a BERT vocabulary has [PAD], [UNK], [CLS], [SEP] and [MASK], each on a line of its own",
           vocab_file, size(), missing);
}

Tokenizer Tokenizer::from_vocab(const std::string& vocab_file, std::optional<bool> cased) {
  Tokenizer tokenizer(vocab_file, !cased.value_or(false));
  const auto capitalised = std::count_if(tokenizer.tokens_.begin(), tokenizer.tokens_.end(), is_capitalised);
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

const std::string& Tokenizer::token(int32_t id) const {
  MB_CHECK(id >= 0 && id < size(), "{} has no id {}; its ids are 0 to {}", vocab_file_, id, size() - 1);
  return tokens_[size_t(id)];
}

Sequence build_sequence(const Tokenizer& tokenizer, std::span<const int32_t> a,
                        std::optional<std::span<const int32_t>> b, int max_length, bool* truncated) {
  const int special = b ? 3 : 2;
  MB_CHECK(max_length >= special, "max_length is {}; the special tokens alone take {}", max_length, special);
  const size_t room = size_t(max_length - special);
  size_t length_a = a.size(), length_b = b ? b->size() : 0;
  const bool cut = length_a + length_b > room;
  if (cut) {
    size_t& longer = length_a > length_b ? length_a : length_b;
    size_t& shorter = length_a > length_b ? length_b : length_a;
    shorter = std::min(shorter, room / 2);
    longer = room - shorter;
  }
  if (truncated) *truncated = cut;

  Sequence sequence;
  const auto append = [&](std::span<const int32_t> ids, int32_t segment) {
    sequence.ids.insert(sequence.ids.end(), ids.begin(), ids.end());
    sequence.ids.push_back(tokenizer.sep());
    sequence.segments.resize(sequence.ids.size(), segment);
  };
  sequence.ids.push_back(tokenizer.cls());
  append(a.first(length_a), 0);
  if (b) append(b->first(length_b), 1);
  return sequence;
}

Sequence build_sequence(const Tokenizer& tokenizer, std::string_view line, int max_length, bool* truncated) {
  const size_t tab = line.find('\t');
  const std::vector<int32_t> a = tokenizer.encode(line.substr(0, tab));
  if (tab == line.npos) return build_sequence(tokenizer, a, std::nullopt, max_length, truncated);
  return build_sequence(tokenizer, a, tokenizer.encode(line.substr(tab + 1)), max_length, truncated);
}

}  // namespace minbert
