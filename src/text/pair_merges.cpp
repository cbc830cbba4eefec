// Pairs of symbols, their counts, and a heap of their scores. See pair_merges.h.
#include "pair_merges.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace minbert {

void PairMerges::add_word(std::span<const int32_t> symbols, int64_t count) {
  words_.push_back({text_.size(), int32_t(symbols.size()), count});
  text_.insert(text_.end(), symbols.begin(), symbols.end());
  count_word(int32_t(words_.size()) - 1, count, none);
}

// Adds `count`, which may be negative, to the counts of the symbols and pairs of a word. After a join only pairs with
// the joined symbol are new in the word; the others have it in their lists.
void PairMerges::count_word(int32_t word, int64_t count, int32_t joined) {
  const int32_t* const symbol = &text_[words_[size_t(word)].begin];
  for (int32_t i = 0; i < words_[size_t(word)].length; ++i) {
    count_[size_t(symbol[i])] += count;
    if (i == 0) continue;
    const int32_t left = symbol[i - 1], right = symbol[i], number = pair_of(left, right);
    Pair& pair = pairs_[size_t(number)];
    pair.count += count;
    if (count < 0) continue;
    const bool is_new = joined == none || left == joined || right == joined;
    if (is_new && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
    list_if_frequent(number);
  }
}

int32_t PairMerges::pair_of(int32_t left, int32_t right) {
  const auto [entry, made] = number_.try_emplace(uint64_t(left) << 32 | uint32_t(right), int32_t(pairs_.size()));
  if (made) pairs_.push_back({left, right, 0, nowhere, false, {}});
  return entry->second;
}

void PairMerges::list_if_frequent(int32_t number) {
  Pair& pair = pairs_[size_t(number)];
  if (pair.count < min_count_ || pair.listed) return;
  pair.listed = true;
  pairs_of_[size_t(pair.left)].push_back(number);
  if (pair.left != pair.right) pairs_of_[size_t(pair.right)].push_back(number);
}

std::optional<std::pair<int32_t, int32_t>> PairMerges::best() {
  if (heap_.empty()) lower_min_count();
  if (heap_.empty()) return {};
  const Pair& pair = pairs_[size_t(heap_[0].pair)];
  return {{pair.left, pair.right}};
}

// Sets min_count_ to the greatest power of two that a pair's count reaches, but not below the floor.
void PairMerges::lower_min_count() {
  int64_t max = 1;
  for (const Pair& pair : pairs_) max = std::max(max, pair.count);
  min_count_ = std::max(floor_, int64_t(std::bit_floor(uint64_t(max))));
  for (int32_t number = 0; number < int32_t(pairs_.size()); ++number) {
    list_if_frequent(number);
    score(number);
  }
}

void PairMerges::join(int32_t left, int32_t right) {
  const auto joined = int32_t(count_.size());
  count_.push_back(0);
  pairs_of_.emplace_back();
  for (const int32_t number : std::exchange(pairs_[size_t(pair_of(left, right))].words, {})) {
    Word& word = words_[size_t(number)];
    count_word(number, -word.count, joined);
    int32_t* const symbol = &text_[word.begin];
    int32_t length = 0;
    for (int32_t i = 0; i < word.length; ++i) {
      const bool here = symbol[i] == left && i + 1 < word.length && symbol[i + 1] == right;
      symbol[length++] = here ? joined : symbol[i];
      i += here;
    }
    word.length = length;
    count_word(number, word.count, joined);
  }
  for (const int32_t symbol : {left, right, joined}) score_pairs_of(symbol);
}

// Pairs that became too rare leave the list until min_count_ falls: older pairs only become rarer.
void PairMerges::score_pairs_of(int32_t symbol) {
  std::erase_if(pairs_of_[size_t(symbol)], [&](int32_t number) {
    score(number);
    return !pairs_[size_t(number)].listed;
  });
}

// Puts the pair into the heap with its score freq(ab) / (freq(a) freq(b)), or removes it if it is too rare.
void PairMerges::score(int32_t number) {
  Pair& pair = pairs_[size_t(number)];
  if (pair.count >= min_count_) {
    if (pair.place == nowhere) {
      pair.place = int32_t(heap_.size());
      heap_.emplace_back();
    }
    const double parts = double(count_[size_t(pair.left)]) * double(count_[size_t(pair.right)]);
    return sift({double(pair.count) / parts, pair.count, number}, size_t(pair.place));
  }
  pair.listed = false;
  if (pair.place == nowhere) return;
  const Scored last = heap_.back();
  heap_.pop_back();
  if (last.pair != number) sift(last, size_t(pair.place));
  pair.place = nowhere;
}

bool PairMerges::before(const Scored& a, const Scored& b) const {
  if (a.score != b.score) return a.score > b.score;
  const Pair &p = pairs_[size_t(a.pair)], &q = pairs_[size_t(b.pair)];
  return std::tuple(b.count, p.left, p.right) < std::tuple(a.count, q.left, q.right);
}

void PairMerges::put(const Scored& scored, size_t place) {
  heap_[place] = scored;
  pairs_[size_t(scored.pair)].place = int32_t(place);
}

// Moves the pair from `place` up or down to its position in the heap's order.
void PairMerges::sift(const Scored& scored, size_t place) {
  for (size_t parent; place > 0 && before(scored, heap_[parent = (place - 1) / 2]); place = parent) {
    put(heap_[parent], place);
  }
  for (size_t child; (child = 2 * place + 1) < heap_.size(); place = child) {
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], scored)) break;
    put(heap_[child], place);
  }
  put(scored, place);
}

}  // namespace minbert
