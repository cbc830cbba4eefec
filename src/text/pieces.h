// What WordPiece and BPE share: tokens with their ids, special tokens, the files of a folder.
#pragma once

#include <map>

#include "minbert/json.h"
#include "minbert/tokenizer.h"
#include "text/added_tokens.h"

namespace minbert {

// FNV-1a (Fowler, Noll and Vo) of 32 bits. Its low bits are weak, so slots use the high bits of a
// product.
constexpr uint32_t empty_hash = 2166136261u;
constexpr uint32_t extend(uint32_t hash, char byte) { return (hash ^ uint8_t(byte)) * 16777619u; }
constexpr uint32_t hash_of(std::string_view text) {
  uint32_t hash = empty_hash;
  for (const char byte : text) hash = extend(hash, byte);
  return hash;
}

// Tokens in the order of their ids, and a hash table from token to id.
class TokenTable {
 public:
  // Error, with its line, for a token that is there twice.
  TokenTable(std::vector<std::string> tokens, const std::string& file);
  // The id of the token, or of prefix + rest; -1: not there.
  int32_t find(std::string_view token) const { return find(hash_of(token), token, ""); }
  int32_t find(uint32_t hash, std::string_view prefix, std::string_view rest) const {
    for (size_t i = slot_of(hash); slots_[i].id >= 0; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].hash != hash) continue;
      const std::string_view token = tokens_[size_t(slots_[i].id)];
      if (token.size() == prefix.size() + rest.size() && token.starts_with(prefix) &&
          token.ends_with(rest)) {
        return slots_[i].id;
      }
    }
    return -1;
  }
  const std::vector<std::string>& tokens() const { return tokens_; }
  size_t longest() const { return longest_; }      // bytes of the longest token

 private:
  struct Slot {                                    // of an open-addressing hash table
    uint32_t hash = 0;
    int32_t id = -1;                               // -1: a free slot
  };
  size_t slot_of(uint32_t hash) const {
    return size_t((hash * 0x9E3779B97F4A7C15u) >> 32) & (slots_.size() - 1);
  }
  std::vector<std::string> tokens_;
  std::vector<Slot> slots_;                        // a power of two, at most half of it in use
  size_t longest_ = 0;
};

struct Vocabulary {
  std::string file;                                // for messages
  TokenTable table;
  std::vector<AddedToken> added = {};              // of the table; special ones may be missing
};

class Pieces {
 public:
  // cleaning: of a text, first of all; nullopt: none. Error if a special token is missing.
  Pieces(const TokenizerKind& kind, Vocabulary vocabulary, std::optional<Cleaning> cleaning = {});
  virtual ~Pieces() = default;
  std::vector<int32_t> encode(std::string_view text) const;
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  // The texts of the vocabulary's files, by name.
  virtual std::map<std::string, std::string> files() const = 0;
  virtual Json settings() const = 0;               // for tokenizer_config.json

  const TokenizerKind& kind;
  const std::string vocab_file;                    // for messages
  const TokenTable table;
  const std::optional<Cleaning> cleaning;
  std::vector<AddedToken> added;
  std::array<int32_t, 5> special;                  // ids of kind.special

 private:
  std::string clean(std::string_view text) const;
  // Appends the ids of a clean text without added tokens.
  virtual void encode_clean(std::string_view text, std::vector<int32_t>& ids) const = 0;

  std::unique_ptr<const AddedTokens> in_text_, in_clean_text_;
};

extern const TokenizerKind word_piece_kind, bpe_kind;
std::vector<std::string> read_tokens(const std::string& vocab_file);
std::shared_ptr<const Pieces> word_piece(Vocabulary vocabulary, const Cleaning& cleaning);

// Byte-level BPE. merges: (left, right), two tokens whose texts together are a third; the first is
// joined first.
using Merges = std::vector<std::pair<int32_t, int32_t>>;
std::shared_ptr<const Pieces> byte_level_bpe(Vocabulary vocabulary, Merges merges,
                                             bool add_prefix_space);
Merges read_merges(const std::string& file, const TokenTable& table);        // merges.txt
Merges read_merges(const std::string& file, const Json& merges, const TokenTable& table);

// Bytes as the printable characters of its files (Radford et al. 2019, encoder.py,
// bytes_to_unicode), and back: the text itself if it has any other character.
std::string to_letters(std::string_view bytes);
std::string from_letters(std::string_view letters);

}  // namespace minbert
