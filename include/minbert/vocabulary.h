// A WordPiece vocabulary from text.
//
//   Papers    Japanese and Korean Voice Search, Schuster & Nakajima 2012, sec. 3
//             Google's Neural Machine Translation System, Wu et al. 2016, sec. 4.1
//   Start     every word, cut into characters: u ##n ##d ##o
//   Step      join the two neighbours a b that score highest, in every word, and take ab into the vocabulary
//
//               score(a, b) = freq(ab) / (freq(a) freq(b))
//
//             that is, how much likelier an occurrence of ab becomes to a unigram model once it is one symbol
//   Until     the vocabulary has its size, or every pair is too rare
//   Ties      the more frequent pair, then the smaller id of a, then of b
//   Words     those of the tokenizer, by its own code
//
// The score alone prefers two letters that are both rare and always together, however seldom. So a pair also needs a
// least frequency: the greatest power of two that any pair reaches, lowered each time when no pair is left. Pairs thus
// compete with those of like frequency. On 100 MB of Wikipedia, 30522 tokens, a fixed least frequency leaves 1.23 (400,
// which ends at 16273 tokens) to 2.47 (20) tokens a word on other articles; this one 1.11, as joining by frequency
// alone (BPE) does, and bert-base-uncased 1.10.
//
// Deviations: the papers say "the pair that raises the likelihood most" without a formula; the score is the one
// that implementations share.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace minbert {

struct VocabularyOptions {
  int size = 30522;                                // tokens at most, special tokens and alphabet included
  bool lower_case = true;
  int alphabet = 1000;                             // characters at most: the most frequent. Words with others: [UNK]
  int least_frequency = 2;                         // of a pair to be joined, in all the text
};

// The tokens in the order of their ids: [PAD] [UNK] [CLS] [SEP] [MASK], the alphabet (x where it begins a word, ##x
// where it goes on), then what was joined. Each file is read as a stream; memory grows with the number of different
// words only. The order of files makes no difference. Fewer than `size` tokens where the text is small.
// Error: a file that cannot be read, no words, a size too small for the alphabet.
std::vector<std::string> train_vocabulary(std::span<const std::string> files, const VocabularyOptions& options = {});

// As vocab.txt, atomically. Error where it cannot be written: a full disk, say.
void write_vocabulary(const std::string& file, std::span<const std::string> tokens);

}  // namespace minbert
