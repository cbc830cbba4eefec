// Training of a vocabulary on text: of WordPiece (here) or of byte-level BPE (train_bpe).
//
//   Papers    Japanese and Korean Voice Search, Schuster & Nakajima 2012, sec. 3
//             Google's Neural Machine Translation System, Wu et al. 2016, sec. 4.1
//   Start     every word, cut into characters: u ##n ##d ##o
//   Step      join the neighbours a b with the highest score, in every word, and add the token ab
//
//               score(a, b) = freq(ab) / (freq(a) freq(b))
//
//             the factor by which joining makes an occurrence of ab more likely under a unigram
//             model
//   Until     the vocabulary has its size, or every pair is too rare
//   Ties      the more frequent pair, then the smaller id of a, then of b
//   Words     those of the tokenizer, by its own code
//
// The score alone prefers two rare letters that always occur together. So a pair also needs a
// minimum frequency: the greatest power of two that any pair reaches, lowered each time when no
// pair is left. Pairs thus compete with pairs of similar frequency. On 100 MB of Wikipedia with
// 30522 tokens, this gives 1.11 tokens for each word of other articles, like joining by frequency
// alone (BPE); bert-base-uncased has 1.10, and a fixed minimum frequency gives 1.23 (400, which
// ends at 16273 tokens) to 2.47 (20).
//
// Deviations: the papers say "the pair that raises the likelihood most" without a formula; the
// score is that of other implementations.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "minbert/tokenizer.h"

namespace minbert {

enum class VocabularyKind { wordpiece, bpe };

struct VocabularyOptions {
  // Tokens at most, special tokens and alphabet included
  int size = 30522;
  // Without capitals and accents
  bool lower_case = true;
  // Characters at most, the most frequent; words with others are [UNK]
  int alphabet = 1000;
  // A pair is joined if the text has it so often
  int least_frequency = 2;
};

// The tokens in the order of their ids: [PAD] [UNK] [CLS] [SEP] [MASK], the alphabet (x at the
// beginning of a word, ##x inside), then the joined tokens. Files are read line by line; memory
// grows only with the number of different words. The order of files makes no difference. A small
// text gives fewer than `size` tokens.
// Error: a file that cannot be read, no words, a size too small for the alphabet.
std::vector<std::string> train_vocabulary(std::span<const std::string> files,
                                          const VocabularyOptions& options = {});

// The same of texts in memory, for which errors name `source`.
std::vector<std::string> train_vocabulary_on(std::span<const std::string> texts,
                                            const std::string& source,
                                            const VocabularyOptions& options = {});

// Byte-level BPE (Sennrich et al. 2016, sec. 3.2): joins the most frequent pair of neighbours, of
// equally frequent ones that with the smaller ids; options.size and options.least_frequency count.
// The ids are <s> <pad> </s> <unk> <mask>, 256 bytes in the order of their letters, joined tokens.
// The line ends are part of the text. All this is as in Hugging Face's ByteLevelBPETokenizer.
// Error: a file that cannot be read, no words, a size below 261.
Tokenizer train_bpe(std::span<const std::string> files, const VocabularyOptions& options = {});

// Writes vocab.txt atomically. Error if it cannot be written: a full disk, say.
void write_vocabulary(const std::string& file, std::span<const std::string> tokens);

}  // namespace minbert
