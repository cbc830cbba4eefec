// The vocabulary trainer: counts words, chooses an alphabet, then joins pair after pair.
#include "minbert/vocabulary.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/progress.h"
#include "pair_merges.h"
#include "words.h"

namespace minbert {
namespace {

struct Hash {
  using is_transparent = void;                     // looks up a string_view without making a string
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Counts = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;

void add(Counts& counts, std::string_view text, int64_t count) {
  const auto entry = counts.find(text);
  if (entry != counts.end()) entry->second += count;
  else counts.emplace(text, count);
}

Counts count_words(std::span<const std::string> files, bool lower_case) {
  Counts words;
  int64_t total = 0;
  for (const std::string& file : files) {
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    MB_CHECK(in, "{}: cannot be read: {}", file, std::strerror(errno));
    Progress progress("", file_size(file));
    int64_t bytes = 0;
    const auto on_word = [&](std::string_view word) {
      if (is_too_long(word)) return;
      add(words, word, 1);
      ++total;
    };
    for (std::string line; std::getline(in, line);) {
      for_each_word(line, lower_case, on_word, [](size_t) {});
      bytes += int64_t(line.size()) + 1;
      if (progress.due()) progress.show(bytes, format("{}: {} words, {} different", file, total, words.size()));
    }
    MB_CHECK(!in.bad(), "{}: cannot be read: {}", file, std::strerror(errno));
  }
  return words;
}

std::vector<std::string_view> characters(std::string_view word) {
  std::vector<std::string_view> all;
  for (size_t pos = 0, begin = 0; pos < word.size(); begin = pos) {
    next_code_point(word, pos);
    all.push_back(word.substr(begin, pos - begin));
  }
  return all;
}

// The tokens of a word's characters: u ##n ##d ##o
std::vector<std::string> spelled(std::string_view word) {
  std::vector<std::string> pieces;
  for (const std::string_view x : characters(word))
    pieces.push_back(std::string(pieces.empty() ? "" : continues).append(x));
  return pieces;
}

// Removes words with other characters than the `size` most frequent ones; of equally frequent ones, those with smaller
// code points stay. Returns the number of characters.
size_t choose_alphabet(Counts& words, size_t size) {
  Counts counts;
  for (const auto& [word, count] : words)
    for (const std::string_view x : characters(word)) add(counts, x, count);
  std::vector<std::pair<int64_t, std::string_view>> order;
  for (const auto& [x, count] : counts) order.emplace_back(-count, x);
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), size));
  std::unordered_set<std::string_view> alphabet;
  for (const auto& [count, x] : order) alphabet.insert(x);
  std::erase_if(words, [&](const auto& entry) {
    return !std::ranges::all_of(characters(entry.first), [&](std::string_view x) { return alphabet.contains(x); });
  });
  return alphabet.size();
}

// The pieces of single characters that occur in the words: first those that begin a word, each in the order of code
// points.
std::vector<std::string> character_pieces(const Counts& words) {
  std::set<std::pair<bool, std::string>> pieces;             // (goes on in a word, piece)
  for (const auto& entry : words)
    for (const std::string& x : spelled(entry.first)) pieces.emplace(x.starts_with(continues), x);
  std::vector<std::string> in_order;
  for (const auto& [goes_on, x] : pieces) in_order.push_back(x);
  return in_order;
}

std::vector<std::string> join_pieces(Counts words, const std::string& source, const VocabularyOptions& options) {
  MB_CHECK(!words.empty(), "{}: no words in it; a vocabulary is trained on plain text", source);
  const size_t alphabet = choose_alphabet(words, size_t(std::max(options.alphabet, 0)));
  MB_CHECK(!words.empty(), "every word has a character that is not among the {} most frequent; "
           "ask for a larger alphabet", alphabet);
  std::vector<std::string> tokens(special_names.begin(), special_names.end());
  for (std::string& x : character_pieces(words)) tokens.push_back(std::move(x));
  MB_CHECK(int64_t(tokens.size()) <= options.size, "a vocabulary of {} tokens: the {} special tokens and the alphabet "
           "take {} ({} characters, those counted twice that both begin words and stand within)\n"
           "ask for a size of {} or more, or for fewer characters (words with others become [UNK])",
           options.size, special_names.size(), tokens.size(), alphabet, tokens.size());

  std::unordered_map<std::string, int32_t> id_of;
  for (size_t id = 0; id < tokens.size(); ++id) id_of[tokens[id]] = int32_t(id);
  PairMerges merges(int32_t(tokens.size()), options.least_frequency);
  for (const auto& [word, count] : words) {
    std::vector<int32_t> ids;
    for (const std::string& x : spelled(word)) ids.push_back(id_of.at(x));
    merges.add_word(ids, count);
  }

  // No token is made twice: all occurrences of a text that become one token were joined in the same order, so ab + c
  // excludes a + bc.
  Progress progress("", options.size);
  while (int64_t(tokens.size()) < options.size) {
    const auto best = merges.best();
    if (!best) break;
    const auto [left, right] = *best;
    tokens.push_back(tokens[size_t(left)] + tokens[size_t(right)].substr(continues.size()));
    merges.join(left, right);
    if (progress.due()) progress.show(int64_t(tokens.size()), format("{} tokens", tokens.size()));
  }
  return tokens;
}

}  // namespace

std::vector<std::string> train_vocabulary(std::span<const std::string> files, const VocabularyOptions& options) {
  return join_pieces(count_words(files, options.lower_case),
                     files.empty() ? "no file" : files[0] + (files.size() > 1 ? " and the others" : ""), options);
}

std::vector<std::string> train_vocabulary_on(std::span<const std::string> texts, const std::string& source,
                                             const VocabularyOptions& options) {
  Counts words;
  const auto on_word = [&](std::string_view word) {
    if (!is_too_long(word)) add(words, word, 1);
  };
  for (const std::string& text : texts) for_each_word(text, options.lower_case, on_word, [](size_t) {});
  return join_pieces(std::move(words), source, options);
}

void write_vocabulary(const std::string& file, std::span<const std::string> tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token + '\n';
  write_file(file, text);
}

}  // namespace minbert
