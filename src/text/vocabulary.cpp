// The vocabulary trainers: count words, choose an alphabet, then join pair after pair.
#include "minbert/vocabulary.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "engine/names.h"
#include "files/progress.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "text/lines.h"
#include "text/pair_merges.h"
#include "text/pieces.h"
#include "text/words.h"

namespace minbert {
namespace {

using Counts = std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>>;

void add(Counts& counts, std::string_view text, int64_t count) {
  const auto entry = counts.find(text);
  if (entry != counts.end()) entry->second += count;
  else counts.emplace(text, count);
}

// on_word for cut(line, on_word), which calls it for each word of a line.
auto counting(Counts& words) {
  return [&words](std::string_view word) { add(words, word, 1); };
}

void check_words(const Counts& words, const std::string& source) {
  MB_CHECK(!words.empty(), "{}: no words in it; a vocabulary is trained on plain text", source);
}

template <class Cut>
Counts count_words_of_files(std::span<const std::string> files, Cut cut) {
  Counts words;
  for (const std::string& name : files) {
    const InputFile file(name);
    Progress progress("", int64_t(file.size()));
    int64_t bytes = 0;
    for_each_line(file, [&](std::string_view line) {
      cut(line, counting(words));
      bytes += int64_t(line.size());
      if (progress.due())
        progress.show(bytes, formatted("{}: {} different words", name, words.size()));
    });
  }
  check_words(words, joined({files.begin(), files.end()}));
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

// Removes words with other characters than the `size` most frequent ones; of equally frequent ones,
// those with smaller code points stay. Returns the number of characters.
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
    return !std::ranges::all_of(characters(entry.first),
                                [&](std::string_view x) { return alphabet.contains(x); });
  });
  return alphabet.size();
}

// The pieces of single characters that occur in the words: first those that begin a word, each in
// the order of code points.
std::vector<std::string> character_pieces(const Counts& words) {
  std::set<std::pair<bool, std::string>> pieces;             // (goes on in a word, piece)
  for (const auto& entry : words)
    for (const std::string& x : spelled(entry.first)) pieces.emplace(x.starts_with(continues), x);
  std::vector<std::string> in_order;
  for (const auto& [goes_on, x] : pieces) in_order.push_back(x);
  return in_order;
}

// Adds tokens until there are `size`. text_of(left, right): what the two become.
//
// No token is made twice: all occurrences of a text that become one token were joined in the same
// order, so ab + c excludes a + bc.
template <class TextOf>
void join_pairs(PairMerges& merges, int size, std::vector<std::string>& tokens, TextOf text_of) {
  Progress progress("", size);
  while (int64_t(tokens.size()) < size) {
    const auto best = merges.best();
    if (!best) break;
    const auto [left, right] = *best;
    tokens.push_back(text_of(left, right));
    merges.join(left, right);
    if (progress.due())
      progress.show(int64_t(tokens.size()), formatted("{} tokens", tokens.size()));
  }
}

const AddedTokens& special_tokens() {
  static const AddedTokens all([] {
    std::vector<AddedToken> tokens;
    for (const std::string_view name : special_names) tokens.push_back({std::string(name), 0});
    return tokens;
  }());
  return all;
}

// Calls on_word for the words of a line of which WordPiece makes pieces.
auto short_words(bool lower_case) {
  return [lower_case](std::string_view line, auto on_word) {
    const auto on_short = [&](std::string_view word) {
      if (!is_too_long(word)) on_word(word);
    };
    const auto on_text = [&](std::string_view part) {
      for_each_clean_word(normalize(part, {lower_case, lower_case}), on_short);
    };
    special_tokens().cut(line, on_text, [](int32_t) {});
  };
}

std::vector<std::string> word_pieces(Counts words, const VocabularyOptions& options) {
  const size_t alphabet = choose_alphabet(words, size_t(std::max(options.alphabet, 0)));
  MB_CHECK(!words.empty(), "every word has a character that is not among the {} most frequent; "
           "ask for a larger alphabet", alphabet);
  std::vector<std::string> tokens(special_names.begin(), special_names.end());
  for (std::string& x : character_pieces(words)) tokens.push_back(std::move(x));
  MB_CHECK(int64_t(tokens.size()) <= options.size,
           "a vocabulary of {} tokens: the {} special tokens and the alphabet "
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

  join_pairs(merges, options.size, tokens, [&](int32_t left, int32_t right) {
    return tokens[size_t(left)] + tokens[size_t(right)].substr(continues.size());
  });
  return tokens;
}

}  // namespace

std::vector<std::string> train_vocabulary(std::span<const std::string> files,
                                          const VocabularyOptions& options) {
  return word_pieces(count_words_of_files(files, short_words(options.lower_case)), options);
}

std::vector<std::string> train_vocabulary_on(std::span<const std::string> texts,
                                             const std::string& source,
                                             const VocabularyOptions& options) {
  Counts words;
  for (const std::string& text : texts) {
    check_utf8(text, source);
    for (std::string_view rest = text; !rest.empty();)
      short_words(options.lower_case)(take_line(rest), counting(words));
  }
  check_words(words, source);
  return word_pieces(std::move(words), options);
}

Tokenizer train_bpe(std::span<const std::string> files, const VocabularyOptions& options) {
  const Counts words = count_words_of_files(files, [](std::string_view line, auto on_word) {
    for_each_byte_word(line, on_word);
  });
  // In the order of RoBERTa's ids.
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
  const size_t specials = tokens.size();
  std::map<std::string, uint8_t> alphabet;
  for (int byte = 0; byte < 256; ++byte)
    alphabet[to_letters(std::string(1, char(byte)))] = uint8_t(byte);
  std::array<int32_t, 256> id_of;
  for (const auto& [letter, byte] : alphabet) {
    id_of[byte] = int32_t(tokens.size());
    tokens.push_back(letter);
  }
  MB_CHECK(int64_t(tokens.size()) <= options.size,
           "a vocabulary of {} tokens: the {} special tokens and the bytes "
           "take {}; ask for a size of {} or more",
           options.size, specials, tokens.size(), tokens.size());

  PairMerges pairs(int32_t(tokens.size()), options.least_frequency, PairMerges::Score::frequency);
  for (const auto& [word, count] : words) {
    std::vector<int32_t> ids;
    for (const char byte : word) ids.push_back(id_of[uint8_t(byte)]);
    pairs.add_word(ids, count);
  }
  Merges merges;
  join_pairs(pairs, options.size, tokens, [&](int32_t left, int32_t right) {
    merges.emplace_back(left, right);
    return tokens[size_t(left)] + tokens[size_t(right)];
  });
  const std::string source = "the new vocabulary";
  return Tokenizer(
      byte_level_bpe({source, TokenTable(std::move(tokens), source)}, std::move(merges), false));
}

void write_vocabulary(const std::string& file, std::span<const std::string> tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token + '\n';
  write_file(file, text);
}

}  // namespace minbert
