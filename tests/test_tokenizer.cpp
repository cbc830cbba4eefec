// The tokenizer against Hugging Face's (golden/tokenizer.js), each of its rules by hand, and bad input.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "error_of.h"
#include "folder.h"
#include "golden_file.h"
#include "minbert/json.h"
#include "minbert/tokenizer.h"
#include "real_data.h"

namespace minbert::test {
namespace fs = std::filesystem;

namespace {

// A folder with a vocabulary in it, for the time of a test.
struct VocabFolder : Folder {
  explicit VocabFolder(const std::string& vocab) { file("vocab.txt", vocab); }
  std::string vocab() const { return *this / "vocab.txt"; }
};

const std::string specials = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

// "un ##aff ##able": what a text becomes, readably.
std::string pieces(const Tokenizer& tokenizer, std::string_view text) {
  std::string out;
  for (const int32_t id : tokenizer.encode(text)) out += (out.empty() ? "" : " ") + tokenizer.token(id);
  return out;
}

std::vector<int32_t> integers(const Json& array) {
  std::vector<int32_t> out;
  for (const Json& item : array.items()) out.push_back(int32_t(item.integer()));
  return out;
}

std::vector<Json> read_json_lines(const fs::path& file) {
  std::vector<Json> rows;
  std::ifstream in(file);
  REQUIRE_MESSAGE(in.good(), file.string());
  for (std::string line; std::getline(in, line);) rows.push_back(Json::parse(line, file.string()));
  return rows;
}

void check_golden(const fs::path& file, const Tokenizer& uncased, const Tokenizer& cased) {
  for (const Json& row : read_json_lines(file)) {
    const std::string& text = row["text"].string();
    CAPTURE(text);
    CHECK(uncased.encode(text) == integers(row["uncased"]));
    CHECK(cased.encode(text) == integers(row["cased"]));
  }
}

std::string captured_stderr(auto&& action) {
  std::ostringstream out;
  std::streambuf* const before = std::cerr.rdbuf(out.rdbuf());
  action();
  std::cerr.rdbuf(before);
  return out.str();
}

std::string repeat(std::string_view unit, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += unit;
  return out;
}

}  // namespace

TEST_CASE("tokenizer: the ids are Hugging Face's") {
  const std::string vocab = golden_file("tokenizer-vocab.txt");
  check_golden(golden_file("tokenizer.jsonl"), Tokenizer(vocab, true), Tokenizer(vocab, false));
}

TEST_CASE("tokenizer: sequences are truncated as Hugging Face does it") {
  const Tokenizer tokenizer(golden_file("tokenizer-vocab.txt"), true);
  for (const Json& row : read_json_lines(golden_file("tokenizer-pairs.jsonl"))) {
    const auto x = [&](const std::string& key) {
      return std::vector<int32_t>(size_t(row[key].integer()), tokenizer.id("x"));
    };
    const int max_length = int(row["max_length"].integer());
    const std::vector<int32_t> a = x("a");
    std::vector<int32_t> b;
    std::optional<std::span<const int32_t>> pair;
    if (!row["b"].is_null()) pair = b = x("b");
    CAPTURE(a.size());
    CAPTURE(b.size());
    CAPTURE(max_length);
    bool truncated = false;
    const Sequence sequence = build_sequence(tokenizer, a, pair, max_length, &truncated);
    CHECK(sequence.ids == integers(row["ids"]));
    CHECK(sequence.segments == integers(row["segments"]));
    CHECK(truncated == (a.size() + b.size() + (pair ? 3 : 2) > size_t(max_length)));
  }
}

TEST_CASE("tokenizer: a sequence loses the ends of its texts") {
  const VocabFolder folder(specials + "a\nb\nc\nd\ne\n");
  const Tokenizer t(folder.vocab(), true);
  const auto a = t.encode("a b c d e"), b = t.encode("e d");
  const std::span<const int32_t> second = b;
  CHECK(build_sequence(t, a, {}, 512).ids == std::vector<int32_t>{2, 5, 6, 7, 8, 9, 3});
  CHECK(build_sequence(t, a, {}, 4).ids == std::vector<int32_t>{2, 5, 6, 3});
  CHECK(build_sequence(t, a, {}, 2).ids == std::vector<int32_t>{2, 3});
  CHECK(build_sequence(t, a, second, 8).ids == std::vector<int32_t>{2, 5, 6, 7, 3, 9, 8, 3});
  CHECK(build_sequence(t, a, second, 8).segments == std::vector<int32_t>{0, 0, 0, 0, 0, 1, 1, 1});
  CHECK(build_sequence(t, second, a, 6).ids == std::vector<int32_t>{2, 9, 3, 5, 6, 3});
  CHECK_THROWS_WITH_AS(build_sequence(t, a, second, 2),
                       "max_length is 2; the special tokens alone take 3", Error);
  CHECK_THROWS_AS(build_sequence(t, a, {}, -1), Error);
}

TEST_CASE("tokenizer: each rule by hand") {
  const VocabFolder folder(specials +
                           "un\n##aff\n##able\n##a\n##ab\ncafe\ncafé\nÀ\na\n.\n"
                           "$\n—\n京\n[\n]\n##sep\nsep\nx\n##x\n");
  const Tokenizer uncased(folder.vocab(), true), cased(folder.vocab(), false);
  CHECK(pieces(uncased, "unaffable") == "un ##aff ##able");              // the longest first: not ##a, ##ab
  CHECK(pieces(uncased, "unaffxyz") == "[UNK]");                         // one unknown piece spoils the word
  CHECK(pieces(uncased, "Café CAFE\xCC\x81") == "cafe cafe");            // é, and e with a combining accent
  CHECK(pieces(cased, "café Café À") == "café [UNK] À");
  CHECK(pieces(uncased, "À") == "a");
  CHECK(pieces(uncased, "$a.a—a") == "$ a . a — a");                     // $ is a symbol, but ASCII
  CHECK(pieces(uncased, "a京un") == "a 京 un");
  for (const char* c : {"\u3400", "\u4DBF", "\uF900", "\U00020000", "\U0002A700", "\U0002B740", "\U0002F800"})
    CHECK(pieces(uncased, formatted("a{}un", c)) == "a [UNK] un");       // the other blocks of Chinese characters
  CHECK(pieces(uncased, "a\u3072un") == "[UNK]");                        // kana are letters of a word
  CHECK(pieces(uncased, " \t\r\n\xC2\xA0\xE3\x80\x80") == "");           // no-break and ideographic space
  CHECK(pieces(uncased, "u\x01n\xE2\x80\x8B\xC2\xAD") == "un");          // U+0001, U+200B, U+00AD
  CHECK(pieces(uncased, std::string_view("u\0n", 3)) == "un");
  CHECK(pieces(uncased, "u\xEF\xBF\xBDn") == "un");                      // U+FFFD
  CHECK(pieces(uncased, std::string(100, 'x')).size() == 1 + 99 * 4);    // 100 characters are a word,
  CHECK(pieces(uncased, std::string(101, 'x')) == "[UNK]");              // 101 are not
  CHECK(pieces(uncased, "") == "");
}

TEST_CASE("tokenizer: special tokens in the text stay whole") {
  const VocabFolder folder(specials + "a\n[\n]\nmask\n");
  for (const bool lower_case : {true, false}) {
    const Tokenizer t(folder.vocab(), lower_case);
    CHECK(pieces(t, "a[MASK]a [SEP][CLS] [PAD] [UNK]") == "a [MASK] a [SEP] [CLS] [PAD] [UNK]");
    CHECK(pieces(t, "[mask]") == "[ mask ]");
    CHECK(pieces(t, "[[MASK]]") == "[ [MASK] ]");
    CHECK(pieces(t, "[") == "[");
    CHECK(pieces(t, "a[MASK").starts_with("a ["));
  }
  CHECK(pieces(Tokenizer(folder.vocab(), true), "[MA\x01SK]") == "[ mask ]");   // before the clean-up
}

TEST_CASE("tokenizer: bytes that are not UTF-8 vanish") {
  const VocabFolder folder(specials + "a\n##b\nab\n");
  const Tokenizer t(folder.vocab(), true);
  const std::string sequences[] = {"\xFF",     "\x80",         "\xC3",         "\xC0\xAF",
                                   "\xE2\x82", "\xED\xA0\x80", "\xF0\x9F\x98", "\xF4\x90\x80\x80"};
  for (const std::string& bad : sequences) {
    CHECK(pieces(t, "a" + bad + "b") == "ab");
    CHECK(pieces(t, bad) == "");
    CHECK(pieces(t, "a" + bad) == "a");
  }
}

TEST_CASE("tokenizer: any bytes give ids of the vocabulary") {
  const std::string vocab = golden_file("tokenizer-vocab.txt");
  const Tokenizer tokenizers[] = {Tokenizer(vocab, true), Tokenizer(vocab, false)};
  std::mt19937 random(11711);
  const std::string_view frequent[] = {"[MASK]", "[SEP",     "e",            "A",            " ",
                                       "##",     "\xCC\x81", "\xE3\x80\xAE", "\xED\x95\x9C", "["};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (auto left = random() % 40; left > 0; --left) {
      if (random() % 2) text += char(random() % 256);
      else text += frequent[random() % std::size(frequent)];
    }
    for (const Tokenizer& t : tokenizers) {
      const std::vector<int32_t> ids = t.encode(text);
      CHECK(ids.size() <= 4 * text.size());
      CHECK(std::all_of(ids.begin(), ids.end(), [&](int32_t id) { return id >= 0 && id < t.size(); }));
    }
  }
}

TEST_CASE("tokenizer: time is linear in the text") {
  const Tokenizer t(golden_file("tokenizer-vocab.txt"), true);
  constexpr size_t size = 1'000'000;                                     // quadratic would be minutes
  CHECK(t.encode(repeat("a", size)) == std::vector<int32_t>{t.unk()});
  CHECK(t.encode(repeat("the cat ", size)).size() == size / 4);
  CHECK(t.encode(repeat("[", size)).size() == size);
  CHECK(t.encode(repeat("\xFF", size)).empty());
  CHECK(t.encode(repeat("\xE3\x80\xAF\xE3\x80\xAE", size)).size() == 1); // combining marks in the wrong order
}

TEST_CASE("tokenizer: the vocabulary's own questions") {
  const VocabFolder folder("\xEF\xBB\xBF[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nthe\r\n##s");
  const Tokenizer t(folder.vocab(), true);
  CHECK(t.size() == 7);
  CHECK(std::array{t.pad(), t.unk(), t.cls(), t.sep(), t.mask()} == std::array<int32_t, 5>{0, 1, 2, 3, 4});
  CHECK(t.id("the") == 5);
  CHECK(t.id("##s") == 6);
  CHECK(t.token(6) == "##s");
  CHECK(t.lower_case());
  CHECK(t.vocab_file() == folder.vocab());
  CHECK_THROWS_AS(t.token(7), Error);
  CHECK_THROWS_AS(t.token(-1), Error);
  CHECK_THROWS_WITH_AS(t.id("dog"), (folder.vocab() + " has no token \"dog\"").c_str(), Error);
}

TEST_CASE("tokenizer: a bad vocabulary is an error that says where") {
  const auto with = [](const std::string& vocab) { Tokenizer(VocabFolder(vocab).vocab(), true); };
  CHECK_ERROR(with(specials + "a\nb\na\n"), "vocab.txt:8: \"a\" stands on line 6 already");
  CHECK_ERROR(with(specials + "a\n\nb\n"), "vocab.txt:7: the line is empty");
  CHECK_ERROR(with(specials + "a\n\xC3\n"), "vocab.txt:7: the token is not UTF-8");
  CHECK_ERROR(with("[PAD]\n[UNK]\n[CLS]\nthe\n"), "4 tokens, but no [SEP], [MASK]");
  CHECK_ERROR(with(""), "0 tokens, but no [PAD], [UNK], [CLS], [SEP], [MASK]");
  CHECK_NOTHROW(with(specials + "\xEF\xBF\xBD\n"));          // U+FFFD itself is valid
  CHECK_NOTHROW(with(specials + "a\n\n \r\n"));               // empty lines at the end take no id
  CHECK_THROWS_AS(Tokenizer((fs::temp_directory_path() / "no-such-folder/vocab.txt").string(), true), Error);
}

TEST_CASE("tokenizer: a folder's settings, and who decides the case") {
  const VocabFolder plain(specials + "the\ncat\n"), capitals(specials + "The\nCat\n");
  const auto lower_case = [](const VocabFolder& folder) {
    return Tokenizer::from_folder(folder.path.string()).lower_case();
  };
  CHECK(captured_stderr([&] { CHECK(lower_case(plain)); }) == "");
  CHECK(contains(captured_stderr([&] { CHECK(lower_case(capitals)); }), "2 of 7 tokens are capitalised"));
  const std::string file = capitals.vocab();
  CHECK(captured_stderr([&] { CHECK_FALSE(Tokenizer::from_vocab(file, true).lower_case()); }) == "");

  capitals.file("tokenizer_config.json", R"({"model_max_length": 512})");
  CHECK(contains(captured_stderr([&] { CHECK(lower_case(capitals)); }),
                 "\"do_lower_case\": false in its tokenizer_config.json"));
  capitals.file("tokenizer_config.json", R"({"do_lower_case": false})");
  CHECK(captured_stderr([&] { CHECK_FALSE(lower_case(capitals)); }) == "");
  capitals.file("tokenizer_config.json", R"({"do_lower_case": true})");
  CHECK(captured_stderr([&] { CHECK(lower_case(capitals)); }) == "");

  plain.file("tokenizer_config.json", R"({"do_lower_case": true, "strip_accents": null})");
  CHECK(lower_case(plain));
}

TEST_CASE("tokenizer: real text, every line, both vocabularies") {
  const char* const data = real_data("the tokens of real text");
  if (!data) return;
  const Tokenizer uncased((fs::path(data) / "vocab" / "bert-base-uncased-vocab.txt").string(), true);
  const Tokenizer cased((fs::path(data) / "vocab" / "bert-base-cased-vocab.txt").string(), false);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(data) / "tokenizer")) {
    if (entry.path().extension() != ".jsonl") continue;
    check_golden(entry.path(), uncased, cased);
    ++files;
  }
  CHECK(files > 0);
}

}  // namespace minbert::test
