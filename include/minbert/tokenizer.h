// Text to the ids of a vocabulary, with the results of Hugging Face's `tokenizers`, and back.
//
//   WordPiece       BERT's: Wu et al. 2016, sec. 4.1; Devlin et al. 2019, sec. 3.
//                   See src/text/word_piece.cpp.
//   byte-level BPE  RoBERTa's: Sennrich et al. 2016, sec. 3.2; Radford et al. 2019, sec. 2.2.
//                   See src/text/bpe.cpp.
//
// Deviation: the tables of Unicode are utf8proc's (version 15 in utf8proc 2.8). Hugging Face's
// WordPiece has those of Unicode 8 and its BPE those of Unicode 16: characters that came or changed
// their category in between may differ, all of them of rare scripts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "minbert/batch.h"

namespace minbert {

// What differs between the two kinds of tokenizers, beside the cutting of words. tokenizer.cpp has
// the table of both.
struct TokenizerKind {
  std::string_view name;                         // "wordpiece" or "bpe", for --tokenizer
  std::string_view model;                        // "BERT" or "RoBERTa"
  std::string_view tokenizer_class;              // its name in Hugging Face's tokenizer_config.json
  std::array<std::string_view, 5> special;       // pad, unk, cls, sep, mask
  int separators;                                // between the texts of a pair
  int32_t second_segment;                        // segment of the second text of a pair
  bool (*continues_word)(std::string_view token);     // does it stand inside a word?
  bool mask_lstrip;                              // does the mask take the white space before it?
};

class Pieces;                                    // WordPiece or BPE: src/text/pieces.h

// A tokenizer never changes: one serves any number of threads, and copies share its memory.
class Tokenizer {
 public:
  // WordPiece. vocab_file: one token on each line; a token's id is its line number, from 0. Error,
  // with file and line, for an empty line, a token that is there twice or not UTF-8, a missing
  // [PAD], [UNK], [CLS], [SEP] or [MASK].
  Tokenizer(const std::string& vocab_file, bool lower_case);
  // The same of tokens by id, such as train_vocabulary's. source: what errors call them
  Tokenizer(const std::vector<std::string>& tokens, const std::string& source, bool lower_case);
  explicit Tokenizer(std::shared_ptr<const Pieces> pieces) : pieces_(std::move(pieces)) {}

  // WordPiece, lower case unless `cased`. If it is not, and the vocabulary has capitalised words,
  // warns on stderr. A folder instead of a file: from_folder, whose files decide.
  static Tokenizer from_vocab(const std::string& vocab_file, bool cased = false);

  // The tokenizer of a model's folder: tokenizer.json; or vocab.txt (WordPiece); or vocab.json and
  // merges.txt (byte-level BPE). With the settings and added tokens of all its files:
  // src/text/tokenizer_files.cpp. Error, with file and key, for what is not supported, ids with
  // holes or that two tokens share, a merge of unknown pieces.
  static Tokenizer from_folder(const std::string& folder);

  // The ids of a text of any length. Special tokens are only those in the text: "a [MASK] b" has
  // one. WordPiece: bytes that are not UTF-8 count as U+FFFD, which the clean-up removes; time is
  // linear in the text. BPE: any bytes; O(n log n) for the longest word.
  std::vector<int32_t> encode(std::string_view text) const;

  // The text of the ids. BPE: exactly the bytes that were encoded, save white space before <mask>.
  // WordPiece: words with a space between them. Error if an id is not in [0, size).
  std::string decode(std::span<const int32_t> ids) const;

  // Writes the vocabulary's files and tokenizer_config.json. max_length: ids that the model can
  // read, special tokens included. Error if they cannot be written.
  void save(const std::string& folder, int max_length) const;

  const TokenizerKind& kind() const;
  int32_t id(std::string_view token) const;        // Error if the vocabulary has no such token
  const std::string& token(int32_t id) const;      // Error if the id is not in [0, size)
  int32_t size() const { return int32_t(tokens().size()); }
  int32_t pad() const { return special(0); }
  int32_t unk() const { return special(1); }
  int32_t cls() const { return special(2); }
  int32_t sep() const { return special(3); }
  int32_t mask() const { return special(4); }
  // How many a sequence has
  int special_tokens(bool pair) const { return 2 + (pair ? kind().separators : 0); }
  bool lower_case() const;
  const Pieces& pieces() const { return *pieces_; }        // for who cuts texts in the same way
  const std::vector<std::string>& tokens() const;                          // by id
  const std::string& vocab_file() const;

 private:
  int32_t special(size_t i) const;

  std::shared_ptr<const Pieces> pieces_;
};

// A sequence of at most max_length ids.
//
// A text that is too long loses its end: of a pair the longer one until both are equally long, then
// both; an odd id stays with the text that was longer, or with b. This is Hugging Face's
// `longest_first`, except that its newer versions stop reading a text soon after max_length ids,
// and so may not know which was longer. *truncated: was anything cut? Error: max_length has
// no room for the special tokens.
Sequence build_sequence(const Tokenizer& tokenizer, std::span<const int32_t> a,
                        std::optional<std::span<const int32_t>> b, int max_length,
                        bool* truncated = nullptr);

// The same for a line: one text, or two with a TAB between them.
Sequence build_sequence(const Tokenizer& tokenizer, std::string_view line, int max_length,
                        bool* truncated = nullptr);

}  // namespace minbert
