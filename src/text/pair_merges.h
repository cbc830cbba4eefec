// Chooses the two neighbouring symbols to join next, over a set of words: the inner loop of the vocabulary trainer.
// minbert/vocabulary.h has the score and the rule.
//
// Joining a and b changes the frequencies of a, b and ab, and so the score of every pair with one of them. Most scores
// rise, so a heap may not wait until a pair comes to its top to compute its score again. Therefore each symbol has a
// list of its pairs, a join computes the scores of all pairs of a, b and ab, and the heap, which keeps each pair's
// position, moves them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace minbert {

class PairMerges {
 public:
  // Symbols are 0 .. symbols-1; join() adds the next numbers. A pair seen fewer than `floor` times is never joined.
  PairMerges(int32_t symbols, int64_t floor) : floor_(floor), count_(size_t(symbols)), pairs_of_(size_t(symbols)) {}
  void add_word(std::span<const int32_t> symbols, int64_t count);   // all words come before the first best()

  std::optional<std::pair<int32_t, int32_t>> best();      // the pair to join; none: all are too rare
  void join(int32_t left, int32_t right);                 // in every word, from left to right; a new symbol

 private:
  struct Word {
    size_t begin;                                  // in text_
    int32_t length;
    int64_t count;
  };
  struct Pair {
    int32_t left, right;
    int64_t count;
    int32_t place;                                 // index in heap_, or nowhere
    bool listed;                                   // is it in pairs_of_ of both its symbols?
    std::vector<int32_t> words;                    // words that have the pair, or had it
  };
  struct Scored {
    double score;
    int64_t count;                                 // the pair's count when it was scored
    int32_t pair;
  };
  static constexpr int32_t nowhere = -1, none = -1;

  void count_word(int32_t word, int64_t count, int32_t joined);
  int32_t pair_of(int32_t left, int32_t right);    // the pair's number; a new one if needed
  void list_if_frequent(int32_t pair);
  void lower_min_count();
  void score_pairs_of(int32_t symbol);
  void score(int32_t pair);
  bool before(const Scored& a, const Scored& b) const;
  void put(const Scored& scored, size_t place);
  void sift(const Scored& scored, size_t place);

  int64_t floor_, min_count_ = std::numeric_limits<int64_t>::max();
  std::vector<int32_t> text_;                      // the words, one after another
  std::vector<Word> words_;
  std::vector<int64_t> count_;                     // by symbol
  std::vector<std::vector<int32_t>> pairs_of_;     // by symbol: its pairs with at least min_count_ occurrences
  std::vector<Pair> pairs_;
  std::unordered_map<uint64_t, int32_t> number_;   // of the pair left << 32 | right
  std::vector<Scored> heap_;                       // the pairs in pairs_of_, the best one first
};

}  // namespace minbert
