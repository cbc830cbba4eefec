// The vocabulary trainer: join by join against a reference that counts everything anew, and what it makes of any text.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "error_of.h"
#include "folder.h"
#include "minbert/error.h"
#include "minbert/random.h"
#include "minbert/tokenizer.h"
#include "minbert/vocabulary.h"
#include "text/pair_merges.h"
#include "text/words.h"

namespace minbert::test {
namespace {

using Tokens = std::vector<std::string>;
using Spelled = std::vector<int32_t>;
using Pair = std::pair<int32_t, int32_t>;

// The rule of vocabulary.h, with nothing kept from one join to the next but the least frequency.
struct Reference {
  std::vector<std::pair<Spelled, int64_t>> words;
  int64_t floor, least = INT64_MAX;

  std::optional<Pair> best() {
    std::map<int32_t, int64_t> symbols;
    std::map<Pair, int64_t> pairs;
    for (const auto& [word, count] : words) {
      for (size_t i = 0; i < word.size(); ++i) {
        symbols[word[i]] += count;
        if (i > 0) pairs[{word[i - 1], word[i]}] += count;
      }
    }
    int64_t most = 0;
    for (const auto& [pair, count] : pairs) most = std::max(most, count);
    if (most < floor) return {};
    if (most < least) least = std::max(floor, int64_t(std::bit_floor(uint64_t(most))));
    std::vector<std::tuple<double, int64_t, Pair>> order;
    for (const auto& [pair, count] : pairs) {
      const double parts = double(symbols[pair.first]) * double(symbols[pair.second]);
      if (count >= least) order.emplace_back(-double(count) / parts, -count, pair);
    }
    return std::get<Pair>(*std::min_element(order.begin(), order.end()));
  }

  void join(int32_t left, int32_t right, int32_t joined) {
    for (auto& [word, count] : words) {
      Spelled out;
      for (size_t i = 0; i < word.size(); ++i) {
        const bool here = word[i] == left && i + 1 < word.size() && word[i + 1] == right;
        out.push_back(here ? joined : word[i]);
        i += here;
      }
      word = out;
    }
  }
};

// A folder for the time of a test, with corpora in it.
struct Corpus : Folder {
  Tokens train(const std::string& text, const VocabularyOptions& options) const {
    return train_vocabulary(Tokens{file("corpus.txt", text)}, options);
  }
  Tokenizer tokenizer(const Tokens& tokens, bool lower_case) const {
    write_vocabulary(*this / "vocab.txt", tokens);
    return Tokenizer(*this / "vocab.txt", lower_case);
  }
};

const Tokens specials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
Tokens with_specials(const Tokens& rest) {
  Tokens all = specials;
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

std::string repeat(std::string_view unit, size_t times) {
  std::string out;
  while (times-- > 0) out += unit;
  return out;
}

std::string random_word(Random& random, const Tokens& letters, uint64_t longest) {
  std::string word;
  for (uint64_t n = 1 + random.below(longest); n > 0; --n) word += letters[random.below(letters.size())];
  return word;
}

// "2 times  0 3 1 1", with each symbol's name: 0 a, 1 b, ...
std::string shown(const Reference& reference, const Tokens& names) {
  std::string text = "the symbols ";
  for (size_t i = 0; i < names.size(); ++i) text += formatted("{} {}, ", i, names[i]);
  for (const auto& [word, count] : reference.words) {
    text += formatted("\n{} times ", count);
    for (const int32_t symbol : word) text += " " + std::to_string(symbol);
  }
  return text;
}

}  // namespace

TEST_CASE("vocabulary: every join is the one that counting anew would choose") {
  int joins = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, "vocabulary");
    const int32_t letters = 2 + int32_t(random.below(4));
    const int64_t floor = 1 + int64_t(random.below(3));
    Tokens names;
    for (int32_t i = 0; i < letters; ++i) names.emplace_back(1, char('a' + i));
    PairMerges merges(letters, floor);
    Reference reference{{}, floor};
    for (uint64_t words = 1 + random.below(40); words > 0; --words) {
      Spelled word;
      for (const char letter : random_word(random, names, 12)) word.push_back(letter - 'a');
      const int64_t count = 1 + int64_t(random.below(random.below(4) ? 4 : 100));
      merges.add_word(word, count);
      reference.words.emplace_back(word, count);
    }
    for (;;) {
      const auto expected = reference.best();
      const auto best = merges.best();
      INFO("seed " << seed << ", join " << names.size() + 1 - size_t(letters) << "\n" << shown(reference, names));
      REQUIRE(best == expected);
      if (!best) break;
      const auto [left, right] = *best;
      names.push_back(names[size_t(left)] + names[size_t(right)]);
      merges.join(left, right);
      reference.join(left, right, int32_t(names.size()) - 1);
      ++joins;
    }
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());      // ab + c excludes a + bc
  }
  CHECK(joins > 1000);
}

TEST_CASE("vocabulary: by hand") {
  const Corpus corpus;
  const auto train = [&](const std::string& text, int least_frequency) {
    return corpus.train(text, {.least_frequency = least_frequency});
  };
  CHECK(train("ab ab\nAB ac", 2) == with_specials({"a", "##b", "##c", "ab"}));
  CHECK(train("ab ab\nab ac", 1) == with_specials({"a", "##b", "##c", "ab", "ac"}));
  // x ##y is rarer than a ##b and scores higher, 4/(4*4) and 5/(10*5). Both occur four times: they compete.
  CHECK(train(repeat("ab a ", 5) + repeat("xy ", 4), 2) == with_specials({"a", "x", "##b", "##y", "xy", "ab"}));
  // With three it has to wait until no pair occurs four times.
  CHECK(train(repeat("ab a ", 5) + repeat("xy ", 3), 2) == with_specials({"a", "x", "##b", "##y", "ab", "xy"}));
  CHECK(train("aa. É", 9) == with_specials({".", "a", "e", "##a"}));           // as the tokenizer cuts and cleans
  CHECK(corpus.train("aa. É", {.lower_case = false, .least_frequency = 9}) == with_specials({".", "a", "É", "##a"}));
  CHECK(train("a [MASK] [SEP]b", 1) == with_specials({"a", "b"}));             // these are whole already
  CHECK(corpus.train("abcd abcd", {.size = 11}) == with_specials({"a", "##b", "##c", "##d", "ab", "##cd"}));
}

TEST_CASE("vocabulary: the tokenizer reads it and cuts every word of the text into its pieces") {
  const Corpus corpus;
  const Tokens letters = {"a", "e", "N", "é", "ß", "京", "한", "ʰ", "\xF0\x9D\x84\x9E", "-", "e\xCC\x81"};
  for (const bool lower_case : {true, false}) {
    Random random(11711, "text");
    std::string text;
    for (int i = 0; i < 2000; ++i) text += random_word(random, letters, 9) + (i % 10 ? " " : "\n");
    const Tokens tokens = corpus.train(text, {.size = 300, .lower_case = lower_case});
    CHECK(tokens.size() == 300);
    CHECK(std::equal(specials.begin(), specials.end(), tokens.begin()));
    const Tokenizer tokenizer = corpus.tokenizer(tokens, lower_case);
    CHECK(tokenizer.size() == 300);
    const std::vector<int32_t> ids = tokenizer.encode(text);
    CHECK(std::count(ids.begin(), ids.end(), tokenizer.unk()) == 0);
    CHECK(corpus.train(text, {.size = 300, .lower_case = lower_case}) == tokens);
  }
}

TEST_CASE("vocabulary: words outside the alphabet do not count") {
  const Corpus corpus;
  CHECK(corpus.train("aab aab aab cz cz", {.alphabet = 2}) ==
        with_specials({"a", "##a", "##b", "aa", "aab"}));
  CHECK(corpus.train("b a", {.alphabet = 1}) == with_specials({"a"}));         // a tie: the smaller code point
}

TEST_CASE("vocabulary: neither the size of blocks nor the order of files matters") {
  const Corpus corpus;
  Random random(7, "blocks");
  const Tokens letters = {"a", "b", "c", "D", "é", "-", "[MASK]", "e\xCC\x81"};
  std::string lines;
  while (lines.size() < 2'500'000) lines += random_word(random, letters, 4) + '\n';
  std::string one_line = lines;
  std::replace(one_line.begin(), one_line.end(), '\n', '\t');
  const Tokens tokens = corpus.train(lines, {.size = 300});
  CHECK(tokens.size() == 300);
  CHECK(corpus.train(one_line, {.size = 300}) == tokens);
  const size_t middle = lines.find('\n', lines.size() / 3) + 1;
  const std::string one = corpus.file("1", lines.substr(0, middle)), two = corpus.file("2", lines.substr(middle));
  CHECK(train_vocabulary(Tokens{one, two}, {.size = 300}) == tokens);
  CHECK(train_vocabulary(Tokens{two, one}, {.size = 300}) == tokens);
}

TEST_CASE("vocabulary: errors name the file and the numbers") {
  const Corpus corpus;
  const std::string file = corpus / "corpus.txt";
  const auto error = [&](const std::string& text, const VocabularyOptions& options) {
    return error_of([&] { corpus.train(text, options); });
  };
  CHECK(error("", {}) == file + ": the file is empty");
  CHECK(error(" \n\n [MASK]", {}) == file + ": no words in it; a vocabulary is trained on plain text");
  CHECK(error("ab\n\xFF [MASK]", {}).starts_with(file + ":2: byte 1 of this line is 0xFF, which is not UTF-8"));
  CHECK(contains(error(repeat("x", 101), {}), "no words"));
  CHECK(error("abc cba", {.size = 9}) ==
        "a vocabulary of 9 tokens: the 5 special tokens and the alphabet take 10 (3 characters, those counted twice "
        "that both begin words and stand within)\n"
        "ask for a size of 10 or more, or for fewer characters (words with others become [UNK])");
  CHECK(error("abc cba", {.size = 10}) == "no error");
  CHECK(error("ab", {.alphabet = 1}) ==
        "every word has a character that is not among the 1 most frequent; ask for a larger alphabet");
  CHECK(error_of([&] { train_vocabulary(Tokens{corpus / "missing"}); }) ==
        corpus / "missing" + ": cannot read: No such file or directory");
  CHECK(error_of([&] { train_vocabulary(Tokens{corpus.path.string()}); }) ==
        corpus.path.string() + ": cannot read: this is not a file");
}

}  // namespace minbert::test
