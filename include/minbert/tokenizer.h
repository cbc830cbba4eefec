// WordPiece: text to the ids of a BERT vocabulary, with the results of Hugging Face's `tokenizers`.
//
//   Papers   Google's Neural Machine Translation System, Wu et al. 2016, sec. 4.1 (word pieces)
//            BERT, Devlin et al. 2019, sec. 3 ([CLS] a [SEP] b [SEP], segments)
//   Steps    special tokens written in the text stay whole
//            clean-up, a space around each Chinese character; uncased: NFD, no accents, lower case
//            words; each punctuation character is a word
//            longest match first; [UNK] for a word over 100 characters or with an unknown piece
//
// Deviation: Hugging Face uses the tables of Unicode 8, utf8proc those of its own version (15 in
// 2.8). Characters that are newer or changed their category may differ: about 600 punctuation
// characters, combining marks, format characters and capital letters, all of rare scripts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minbert {

// A tokenizer never changes: one serves any number of threads.
class Tokenizer {
 public:
  // vocab_file: one token on each line; a token's id is its line number, from 0. Error, with file
  // and line, for an empty line, a token that is there twice or not UTF-8, a missing [PAD], [UNK],
  // [CLS], [SEP] or [MASK].
  Tokenizer(const std::string& vocab_file, bool lower_case);
  // The same of tokens by id, such as train_vocabulary's. source: what errors call them
  Tokenizer(std::vector<std::string> tokens, const std::string& source, bool lower_case);

  // Lower case unless `cased`. If `cased` is not given and the vocabulary has capitalised words,
  // warns on stderr.
  static Tokenizer from_vocab(const std::string& vocab_file, std::optional<bool> cased = {});

  // vocab.txt of a model's folder, with do_lower_case from its tokenizer_config.json. `cased`
  // overrides the file, with a message on stderr if they disagree, and decides if the file has
  // nothing. Error for a tokenizer that strips accents without lower case or the reverse, or keeps
  // Chinese words together.
  static Tokenizer from_folder(const std::string& folder, std::optional<bool> cased = {});

  // The ids of a text of any length. Special tokens are only those in the text: "a [MASK] b" has
  // one. Bytes that are not UTF-8 count as U+FFFD, which the clean-up removes. Time is linear in
  // the text.
  std::vector<int32_t> encode(std::string_view text) const;

  int32_t id(std::string_view token) const;        // Error if the vocabulary has no such token
  const std::string& token(int32_t id) const;      // Error if the id is not in [0, size)
  int32_t size() const { return int32_t(tokens_.size()); }
  int32_t pad() const { return special_[0]; }
  int32_t unk() const { return special_[1]; }
  int32_t cls() const { return special_[2]; }
  int32_t sep() const { return special_[3]; }
  int32_t mask() const { return special_[4]; }
  bool lower_case() const { return lower_case_; }
  const std::vector<std::string>& tokens() const { return tokens_; }       // by id
  const std::string& vocab_file() const { return vocab_file_; }

 private:
  struct Slot {                               // of an open-addressing hash table
    uint32_t hash = 0;
    int32_t id = -1;                          // -1: a free slot
  };
  // The id of prefix + rest, or -1
  int32_t find(uint32_t hash, std::string_view prefix, std::string_view rest) const;
  void encode_word(std::string_view word, std::vector<int32_t>& ids) const;

  std::string vocab_file_;
  bool lower_case_;
  std::vector<std::string> tokens_;
  std::vector<Slot> table_;                 // its size is a power of two, at most half of it in use
  size_t longest_ = 0;                      // bytes of the longest token
  std::array<int32_t, 5> special_{};        // the ids of [PAD], [UNK], [CLS], [SEP], [MASK]
};

}  // namespace minbert
