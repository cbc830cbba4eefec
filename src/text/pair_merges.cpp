// Pairs of symbols, their counts, and a queue of their scores. See pair_merges.h.
#include "text/pair_merges.h"

#include <algorithm>
#include <bit>

namespace minbert {

void PairMerges::add_word(std::span<const int32_t> symbols, int64_t count) {
  words_.push_back({{symbols.begin(), symbols.end()}, count});
  count_word(int32_t(words_.size()) - 1, count, none);
}

// Adds `count`, which may be negative, to the counts of the symbols and pairs of a word. After a
// join only pairs with the joined symbol are new in the word; the others have it in their lists.
void PairMerges::count_word(int32_t word, int64_t count, int32_t joined) {
  const std::vector<int32_t>& symbols = words_[size_t(word)].symbols;
  for (size_t i = 0; i < symbols.size(); ++i) {
    count_[size_t(symbols[i])] += count;
    if (i == 0) continue;
    Pair& pair = pair_of(symbols[i - 1], symbols[i]);
    pair.count += count;
    const bool is_new =
        count > 0 && (joined == none || pair.left == joined || pair.right == joined);
    if (is_new && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
  }
}

PairMerges::Pair& PairMerges::pair_of(int32_t left, int32_t right) {
  const auto [entry, is_new] = pairs_.try_emplace(uint64_t(left) << 32 | uint32_t(right));
  Pair& pair = entry->second;
  if (is_new) {
    pair.left = left;
    pair.right = right;
    list(pair);
  }
  return pair;
}

void PairMerges::list(Pair& pair) {
  pairs_of_[size_t(pair.left)].push_back(&pair);
  if (pair.left != pair.right) pairs_of_[size_t(pair.right)].push_back(&pair);
}

std::optional<std::pair<int32_t, int32_t>> PairMerges::best() {
  const auto is_stale = [this](const Ranked& ranked) {       // was the pair ranked anew since?
    const auto [score, count, left, right] = ranked;
    const Pair& pair = pair_of(-left, -right);
    return pair.score != score || pair.count != count;
  };
  while (!queue_.empty() && is_stale(queue_.top())) queue_.pop();
  if (queue_.empty()) lower_min_count();
  if (queue_.empty()) return {};
  const auto [score, count, left, right] = queue_.top();
  return {{-left, -right}};
}

// Sets min_count_ to the greatest power of two that a pair's count reaches, but not below the
// floor.
void PairMerges::lower_min_count() {
  int64_t max = 1;
  for (const auto& [key, pair] : pairs_) max = std::max(max, pair.count);
  min_count_ = std::max(floor_, int64_t(std::bit_floor(uint64_t(max))));
  for (std::vector<Pair*>& pairs : pairs_of_) pairs.clear();
  for (auto& [key, pair] : pairs_) {
    if (pair.count < min_count_) continue;
    list(pair);
    rank(pair);
  }
}

void PairMerges::join(int32_t left, int32_t right) {
  const auto joined = int32_t(count_.size());
  count_.push_back(0);
  pairs_of_.emplace_back();
  for (const int32_t number : std::exchange(pair_of(left, right).words, {})) {
    Word& word = words_[size_t(number)];
    count_word(number, -word.count, joined);
    size_t length = 0;
    for (size_t i = 0; i < word.symbols.size(); ++i) {
      const bool here =
          word.symbols[i] == left && i + 1 < word.symbols.size() && word.symbols[i + 1] == right;
      word.symbols[length++] = here ? joined : word.symbols[i];
      i += here;
    }
    word.symbols.resize(length);
    count_word(number, word.count, joined);
  }
  // Pairs that became too rare leave the lists until min_count_ falls: older pairs only become
  // rarer.
  for (const int32_t symbol : {left, right, joined})
    std::erase_if(pairs_of_[size_t(symbol)], [this](Pair* pair) {
      rank(*pair);
      return pair->count < min_count_;
    });
}

// Puts the pair into the queue with its score, unless it is too rare.
void PairMerges::rank(Pair& pair) {
  pair.score = 0;
  if (pair.count < min_count_) return;
  pair.score = double(pair.count);
  if (score_ == Score::likelihood)
    pair.score /= double(count_[size_t(pair.left)]) * double(count_[size_t(pair.right)]);
  queue_.push({pair.score, pair.count, -pair.left, -pair.right});
}

}  // namespace minbert
