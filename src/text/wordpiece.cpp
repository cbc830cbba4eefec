// WordPiece: cuts each word from left to right into the longest pieces that the vocabulary has.
//
// One hash table holds all pieces. The hash of a string extends that of its prefix by one byte, so one pass over the
// word gives the hashes of all candidates; for pieces after the first, it starts from the hash of "##".
#include <algorithm>

#include "minbert/tokenizer.h"
#include "words.h"

namespace minbert {
namespace {

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

void Tokenizer::insert(int32_t id) {
  const std::string& token = tokens_[size_t(id)];
  const uint32_t hash = hash_of(token);
  const int32_t before = find(hash, token, "");
  MB_CHECK(before < 0, "{}:{}: \"{}\" stands on line {} already; a token has one line, its number is the id",
           vocab_file_, id + 1, token, before + 1);
  size_t i = slot_of(hash, table_.size());
  while (table_[i].id >= 0) i = (i + 1) & (table_.size() - 1);
  table_[i] = {hash, id};
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

}  // namespace minbert
