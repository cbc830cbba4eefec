// Chooses the two neighbouring symbols to join next, over a set of words: the inner loop of the
// vocabulary trainers. minbert/vocabulary.h has the score and the rule.
//
// Joining a and b changes the frequencies of a, b and ab, and so the score of every pair with one
// of them. Each symbol has a list of its pairs, and a join puts those of a, b and ab into the queue
// once more, with their new scores. An entry with an old score stays in the queue until it comes to
// its top.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace minbert {

class PairMerges {
 public:
  // likelihood: freq(ab) / (freq(a) freq(b)), for WordPiece; frequency: freq(ab), for BPE
  enum class Score { likelihood, frequency };
  // Symbols are 0 .. symbols-1; join() adds the next numbers. A pair seen fewer than `floor` times
  // is never joined.
  PairMerges(int32_t symbols, int64_t floor, Score score = Score::likelihood)
      : score_(score), floor_(floor), count_(size_t(symbols)), pairs_of_(size_t(symbols)) {}
  // All words come before the first best().
  void add_word(std::span<const int32_t> symbols, int64_t count);

  std::optional<std::pair<int32_t, int32_t>> best();  // the pair to join; none: all are too rare
  void join(int32_t left, int32_t right);  // in every word, from left to right; a new symbol

 private:
  static constexpr int32_t none = -1;
  struct Word {
    std::vector<int32_t> symbols;
    int64_t count;
  };
  struct Pair {
    int32_t left = none, right = none;
    int64_t count = 0;
    double score = 0;                              // 0: too rare
    std::vector<int32_t> words = {};               // words that have the pair, or had it
  };
  using Ranked = std::tuple<double, int64_t, int32_t, int32_t>;      // score, count, -left, -right

  void count_word(int32_t word, int64_t count, int32_t joined);
  Pair& pair_of(int32_t left, int32_t right);      // a new one if needed
  void list(Pair& pair);
  void rank(Pair& pair);
  void lower_min_count();

  Score score_;
  int64_t floor_, min_count_ = std::numeric_limits<int64_t>::max();
  std::vector<Word> words_;
  std::vector<int64_t> count_;                     // by symbol
  // By symbol: its pairs with at least min_count_ occurrences
  std::vector<std::vector<Pair*>> pairs_of_;
  std::unordered_map<uint64_t, Pair> pairs_;       // by left << 32 | right
  std::priority_queue<Ranked> queue_;
};

}  // namespace minbert
