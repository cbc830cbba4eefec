// The vocabulary trainer: counts words, chooses an alphabet, then joins pair after pair.
#include "minbert/vocabulary.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <unordered_map>

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

// Calls on_character(x, is_first) for each character x of the word.
template <class OnCharacter>
void for_each_character(std::string_view word, OnCharacter on_character) {
  for (size_t pos = 0; pos < word.size();) {
    const size_t begin = pos;
    next_code_point(word, pos);
    on_character(word.substr(begin, pos - begin), begin == 0);
  }
}

std::string piece(std::string_view text, bool is_first) {
  return std::string(is_first ? "" : continues).append(text);
}

// The `size` most frequent characters; of equally frequent ones, those with smaller code points.
std::set<std::string, std::less<>> choose_alphabet(const Counts& words, size_t size) {
  Counts counts;
  for (const auto& entry : words) {
    for_each_character(entry.first, [&](std::string_view x, bool) { add(counts, x, entry.second); });
  }
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [x, count] : counts) order.emplace_back(-count, x);
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), size));
  std::set<std::string, std::less<>> alphabet;
  for (auto& [count, x] : order) alphabet.insert(std::move(x));
  return alphabet;
}

void remove_words_outside(const std::set<std::string, std::less<>>& alphabet, Counts& words) {
  std::erase_if(words, [&](const auto& entry) {
    bool outside = false;
    for_each_character(entry.first, [&](std::string_view x, bool) { outside = outside || !alphabet.contains(x); });
    return outside;
  });
}

// The forms x and ##x that occur in the words: first those that begin a word, each in the order of code points.
std::vector<std::string> character_pieces(const Counts& words) {
  std::set<std::pair<bool, std::string>> forms;
  for (const auto& entry : words) {
    for_each_character(entry.first, [&](std::string_view x, bool is_first) { forms.emplace(!is_first, x); });
  }
  std::vector<std::string> pieces;
  for (const auto& [goes_on, x] : forms) pieces.push_back(piece(x, !goes_on));
  return pieces;
}

}  // namespace

std::vector<std::string> train_vocabulary(std::span<const std::string> files, const VocabularyOptions& options) {
  Counts words = count_words(files, options.lower_case);
  MB_CHECK(!words.empty(), "{}: no words in it; a vocabulary is trained on plain text",
           files.empty() ? "no file" : files[0] + (files.size() > 1 ? " and the others" : ""));
  const auto alphabet = choose_alphabet(words, size_t(std::max(options.alphabet, 0)));
  remove_words_outside(alphabet, words);
  MB_CHECK(!words.empty(), "every word has a character that is not among the {} most frequent; "
           "ask for a larger alphabet", alphabet.size());
  std::vector<std::string> tokens(special_names.begin(), special_names.end());
  for (std::string& x : character_pieces(words)) tokens.push_back(std::move(x));
  MB_CHECK(int64_t(tokens.size()) <= options.size, "a vocabulary of {} tokens: the {} special tokens and the alphabet "
           "take {} ({} characters, those counted twice that both begin words and stand within)\n"
           "ask for a size of {} or more, or for fewer characters (words with others become [UNK])",
           options.size, special_names.size(), tokens.size(), alphabet.size(), tokens.size());

  std::unordered_map<std::string, int32_t> id_of;
  for (size_t id = 0; id < tokens.size(); ++id) id_of[tokens[id]] = int32_t(id);
  PairMerges merges(int32_t(tokens.size()), options.least_frequency);
  std::vector<int32_t> spelled;
  for (const auto& entry : words) {
    spelled.clear();
    for_each_character(entry.first, [&](std::string_view x, bool is_first) {
      spelled.push_back(id_of.at(piece(x, is_first)));
    });
    merges.add_word(spelled, entry.second);
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

void write_vocabulary(const std::string& file, std::span<const std::string> tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token + '\n';
  write_file(file, text);
}

}  // namespace minbert
