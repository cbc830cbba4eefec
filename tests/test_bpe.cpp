// Byte-level BPE against Hugging Face's (golden/bpe.js) and against plain loops, its training, its files and bad input.
#include <doctest/doctest.h>

#include <utf8proc.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "golden_file.h"
#include "library.h"
#include "minbert/checkpoint.h"
#include "minbert/json.h"
#include "minbert/pretrainer.h"
#include "minbert/random.h"
#include "minbert/tokenizer.h"
#include "minbert/vocabulary.h"
#include "real_data.h"
#include "small_run.h"
#include "task_files.h"
#include "text/unicode.h"

namespace minbert::test {
namespace {

using Ids = std::vector<int32_t>;

std::string golden_vocab() { return read_file(golden_file("bpe-vocab.json")); }
std::string golden_merges() { return read_file(golden_file("bpe-merges.txt")); }

Tokenizer bpe(const Folder& folder, const std::string& vocab = golden_vocab(),
              const std::string& merges = golden_merges()) {
  folder.file("vocab.json", vocab);
  folder.file("merges.txt", merges);
  return Tokenizer::from_folder(folder.path.string());
}

std::string pieces(const Tokenizer& tokenizer, std::string_view text) {
  std::string out;
  for (const int32_t id : tokenizer.encode(text)) out += (out.empty() ? "" : " ") + tokenizer.token(id);
  return out;
}

// {"t0":0,"t1":1,...}
std::string vocab_of(const std::vector<std::string>& tokens) {
  Json ids = Json::object();
  for (size_t id = 0; id < tokens.size(); ++id) ids.set(tokens[id], int(id));
  return ids.dump();
}
const std::vector<std::string> specials = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
std::string with_specials(std::vector<std::string> tokens) {
  tokens.insert(tokens.begin(), specials.begin(), specials.end());
  return vocab_of(tokens);
}

std::string random_bytes(Random& random, uint64_t longest) {
  const std::string_view frequent[] = {" ", "  ", "'s", "'ll", "\n", "the", "Alice", "12", "!", "<", "\xC3\xA9",
                                       "\xC2\xA0", "\xE3\x80\x80", "\xF0\x9F\x98\x80", "\xE6\x9D\xB1"};
  std::string text;
  for (uint64_t left = random.below(longest); left > 0; --left) {
    if (random.below(3)) text += frequent[random.below(std::size(frequent))];
    else text += char(random.below(256));
  }
  return text;
}

}  // namespace

TEST_CASE("bpe: the ids are Hugging Face's") {
  const Folder folder;
  const Tokenizer tokenizer = bpe(folder);
  std::istringstream lines(read_file(golden_file("bpe.jsonl")));
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const Json row = Json::parse(line, "bpe.jsonl");
    Ids expected;
    for (const Json& id : row["ids"].items()) expected.push_back(int32_t(id.integer()));
    const std::string text = row["text"].string();
    CAPTURE(text);
    const Ids a = tokenizer.encode(text);
    if (row["pair"].is_null()) CHECK(build_sequence(tokenizer, a, {}, 1000).ids == expected);
    else CHECK(build_sequence(tokenizer, a, tokenizer.encode(row["pair"].string()), 1000).ids == expected);
  }
  CHECK(rows == 35);
}

// The classes of all code points, a line for each range that has one: letter 1C89 1C8A.
TEST_CASE("bpe: letters, numbers and white space are Hugging Face's") {
  if (utf8proc_unicode_version() < std::string("15")) {
    std::cout << "bpe: classes of code points: not run (utf8proc has Unicode " << utf8proc_unicode_version() << ")\n";
    return;
  }
  const bool newer_than_theirs = utf8proc_unicode_version() > std::string("16.1");
  std::istringstream lines(read_file(golden_file("bpe-classes.txt")));
  const std::map<std::string, CharacterClass> classes = {
      {"letter", CharacterClass::letter}, {"number", CharacterClass::number}, {"space", CharacterClass::space}};
  std::vector<CharacterClass> theirs(0x110000, CharacterClass::other);
  std::string name;
  for (size_t first, last; lines >> name >> std::hex >> first >> last;)
    std::fill(theirs.begin() + ptrdiff_t(first), theirs.begin() + ptrdiff_t(last) + 1, classes.at(name));
  int differ = 0;
  for (int32_t c = 0; c < 0x110000; ++c)
    if (utf8proc_category(c) != UTF8PROC_CATEGORY_CN)       // what utf8proc does not know yet
      differ += class_of(c) != theirs[size_t(c)] && !(newer_than_theirs && theirs[size_t(c)] == CharacterClass::other);
  CHECK(differ == 0);
}

TEST_CASE("bpe: each rule by hand") {
  const Folder folder;
  const std::vector<std::string> tokens = {"l", "o", "w", "e", "r", "s", "t", "i", "d", "n", "Ġ", "Ġl", "Ġn", "Ġlo",
                                           "Ġlow", "er", "Ġlowest", "Ġnewer", "Ġwider", "<unk>", "<s>", "<pad>", "</s>",
                                           "<mask>"};
  const Tokenizer t = bpe(folder, vocab_of(tokens), "#version: 0.2\nĠ l\nĠl o\nĠlo w\ne r\n");
  CHECK(t.encode("lower newer") == Ids{0, 1, 2, 15, 10, 9, 3, 2, 15});         // Hugging Face's test of RoBERTa
  CHECK(pieces(t, " lower") == "Ġlow er");                                     // not as "lower" without a space
  CHECK(pieces(t, "  lower") == "Ġ Ġlow er");
  CHECK(pieces(t, "loz") == "l o <unk>");                                      // a byte without a token
  CHECK(pieces(t, "lo <mask> lo <s>lo") == "l o <mask> Ġlo Ġ <s> l o");        // <mask> alone takes the space
  CHECK(std::array{t.pad(), t.unk(), t.cls(), t.sep(), t.mask()} == std::array{21, 19, 20, 22, 23});
  CHECK_FALSE(t.lower_case());
  CHECK(t.kind().continues_word("er"));
  CHECK_FALSE(t.kind().continues_word("Ġlo"));
  // When a becomes ab, the join of a and bc that had waited is none of ab and c d's.
  const Tokenizer waits = bpe(folder, with_specials({"a", "b", "c", "d", "bc", "ab", "bcd", "abc"}),
                              "#version: 0.2\nb c\na b\nbc d\na bc\n");
  CHECK(pieces(waits, "abcd") == "a bcd");
}

TEST_CASE("bpe: a pair has two separators and no segments, and is cut to its length") {
  const Folder folder;
  const Tokenizer t = bpe(folder, with_specials({"a", "b", "c"}), "");
  const Ids a = t.encode("aaaa"), b = t.encode("bb");
  const std::span<const int32_t> second = b;
  CHECK(build_sequence(t, a, {}, 4).ids == Ids{0, 5, 5, 2});
  CHECK(build_sequence(t, a, second, 10).ids == Ids{0, 5, 5, 5, 5, 2, 2, 6, 6, 2});
  CHECK(build_sequence(t, a, second, 10).segments == Ids(10, 0));
  CHECK(build_sequence(t, a, second, 9).ids == Ids{0, 5, 5, 5, 2, 2, 6, 6, 2});
  CHECK(build_sequence(t, a, second, 7).ids == Ids{0, 5, 5, 2, 2, 6, 2});
  CHECK_THROWS_WITH_AS(build_sequence(t, a, second, 3), "max_length is 3; the special tokens alone take 4", Error);
}

TEST_CASE("bpe: a word's merges are those of a plain loop") {
  const Folder folder;
  Random random(5, "bpe");
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> tokens = {"a", "b", "c"};
    std::map<std::pair<std::string, std::string>, int> ranks;
    std::string merges;
    while (ranks.size() < 20) {
      const std::string left = tokens[random.below(tokens.size())], right = tokens[random.below(tokens.size())];
      if (!ranks.emplace(std::pair(left, right), int(ranks.size())).second) continue;
      merges += left + " " + right + "\n";
      if (!std::ranges::count(tokens, left + right)) tokens.push_back(left + right);
    }
    const Tokenizer t = bpe(folder, with_specials(tokens), merges);
    std::string word;
    for (uint64_t left = 1 + random.below(40); left > 0; --left) word += "abc"[random.below(3)];
    std::vector<std::string> parts;
    for (const char c : word) parts.emplace_back(1, c);
    for (;;) {
      size_t best = parts.size();
      int rank = 1 << 30;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks.find({parts[i], parts[i + 1]});
        if (found != ranks.end() && found->second < rank) best = i, rank = found->second;
      }
      if (best == parts.size()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + ptrdiff_t(best) + 1);
    }
    std::string expected;
    for (const std::string& part : parts) expected += (expected.empty() ? "" : " ") + part;
    CHECK(pieces(t, word) == expected);
  }
}

TEST_CASE("bpe: decoding gives the bytes back, whatever they are") {
  const Folder folder;
  const Tokenizer t = bpe(folder);
  Random random(6, "bpe");
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_bytes(random, 40);
    const Ids ids = t.encode(text);
    CHECK(t.decode(ids) == text);
    CHECK(t.encode(text) == ids);                  // the second time from memory
  }
  const std::string mixed = "<s>caf\xC3\xA9 \xFF<mask></s>";
  CHECK(t.decode(t.encode(mixed)) == mixed);
  CHECK_THROWS_AS(t.decode(Ids{600}), Error);
  const Tokenizer words(folder.file("words.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\na\n"), true);
  CHECK(words.decode(words.encode("a unable [MASK]")) == "a unable [MASK]");
}

TEST_CASE("bpe: a long word takes no quadratic time") {
  const Folder folder;
  const Tokenizer t = bpe(folder, with_specials({"a", "aa", "aaaa"}), "a a\naa aa\n");
  CHECK(t.encode(std::string(400'000, 'a')) == Ids(100'000, 7));         // quadratic would be minutes
}

TEST_CASE("bpe: each tokenizer of a thread has words of its own") {
  const Folder folder;
  const Tokenizer joined = bpe(folder, with_specials({"a", "b", "ab"}), "a b\n");
  const Tokenizer apart = bpe(folder, with_specials({"b", "a"}), "");
  for (int round = 0; round < 2; ++round) {
    CHECK(joined.encode("ab") == Ids{7});
    CHECK(apart.encode("ab") == Ids{6, 5});
  }
}

TEST_CASE("bpe: the files of a folder decide, and are saved as they were") {
  const Folder folder;
  const Tokenizer two_files = bpe(folder);
  const std::string saved = folder / "saved";
  two_files.save(saved, 512);
  CHECK(read_file(saved + "/vocab.json") == golden_vocab());
  CHECK(read_file(saved + "/merges.txt") == golden_merges());
  const Json config = Json::load(saved + "/tokenizer_config.json");
  CHECK(config["tokenizer_class"].string() == "RobertaTokenizer");
  CHECK(config["model_max_length"].integer() == 512);
  CHECK_FALSE(config["add_prefix_space"].boolean());

  folder.file("saved/tokenizer_config.json", R"({"add_prefix_space": true})");
  CHECK(Tokenizer::from_folder(saved).encode("Alice <s>Alice") == two_files.encode(" Alice <s> Alice"));

  folder.file("saved/vocab.txt", "[PAD]\n");
  CHECK_ERROR(Tokenizer::from_folder(saved), "the vocab.txt of a BERT and the merges.txt");
}

TEST_CASE("bpe: a tokenizer.json has the ids of the two files") {
  const Folder folder;
  const Tokenizer two_files = bpe(folder);
  Json::Array as_texts, as_arrays;
  std::istringstream lines(golden_merges());
  lines.ignore(100, '\n');                         // the comment
  for (std::string left, right; lines >> left >> right;) {
    as_texts.push_back(left + " " + right);
    as_arrays.push_back(Json::array({left, right}));
  }
  const auto token = [](const char* name, int id) { return Json::array({name, id}); };
  const Json post = Json::object().set("type", "RobertaProcessing").set("sep", token("</s>", 2))
                        .set("cls", token("<s>", 0));
  const std::string text = "Alice's hatchet <mask>";
  for (const Json::Array& merges : {as_texts, as_arrays})
    for (const bool space : {false, true}) {
      const Json model = Json::object().set("type", "BPE").set("vocab", Json::parse(golden_vocab(), "vocab.json"))
                             .set("dropout", Json()).set("continuing_subword_prefix", "").set("ignore_merges", false)
                             .set("merges", Json::array(merges));
      const Json all = Json::object().set("model", model).set("normalizer", Json()).set("post_processor", post)
                           .set("pre_tokenizer",
                                Json::object().set("type", "ByteLevel").set("add_prefix_space", space));
      folder.file("one/tokenizer.json", all.dump());
      CHECK(Tokenizer::from_folder(folder / "one").encode(text) == two_files.encode((space ? " " : "") + text));
    }
}

TEST_CASE("bpe: bad files are errors that say where") {
  const Folder folder;
  const auto error = [&](const std::string& vocab, const std::string& merges) {
    return error_of([&] { bpe(folder, vocab, merges); });
  };
  const std::string good = with_specials({"a", "b", "ab", "#", "##"});
  CHECK(error(good, "#version: 0.2\na b\n# #\n") == "no error");
  CHECK(error(good, "# #\na b") == "no error");                                // without a comment
  CHECK(error(good, "#version: 0.2\r\na b\r\n") == "no error");
  CHECK(contains(error(good, "#version: 0.2\n# #\na c\n"),
                 "merges.txt:3: joins \"a\" and \"c\", but the vocabulary has no token \"c\""));
  CHECK(contains(error(good, "b a\n"), "merges.txt:1: joins \"b\" and \"a\", but the vocabulary has no token \"ba\""));
  CHECK(contains(error(good, "a b\n# a comment\n"), "merges.txt:2: expected two pieces with a space between them"));
  CHECK(contains(error(good, "a b\n\n# #\n"), "merges.txt:2: expected two pieces"));
  CHECK(contains(error(good, "ab\n"), "merges.txt:1: expected two pieces"));
  CHECK(contains(error(R"({"a": 0, "b": 2})", ""), "\"b\" has the id 2, but there are 2 tokens; their ids are 0 to 1"));
  CHECK(contains(error(R"({"a": -1})", ""), "\"a\" has the id -1"));
  CHECK(contains(error(R"({"a": 1, "b": 1, "c": 0})", ""), "\"a\" and \"b\" both have the id 1"));
  CHECK(contains(error(R"({"a": 0, "a": 1})", ""), "\"a\" has the id 1, but there are 1 tokens"));
  CHECK(contains(error(R"({"a": "0"})", ""), "expected an integer"));
  CHECK(contains(error(vocab_of({"<s>", "<pad>", "a"}), ""), "3 tokens, but no <unk>, </s>, <mask>"));
  CHECK(contains(error(vocab_of({"a"}), ""), "a RoBERTa vocabulary has <pad>, <unk>, <s>, </s>, <mask>"));
  std::filesystem::remove(folder.path / "merges.txt");
  CHECK_ERROR(Tokenizer::from_folder(folder.path.string()), "merges.txt");
}

TEST_CASE("bpe: a new RoBERTa has as many positions, whichever token pads") {
  const Folder folder;
  const Tokenizer padding_last = bpe(folder, vocab_of({"<s>", "</s>", "<unk>", "<mask>", "<pad>"}), "");
  const BertConfig config = new_config("tiny", padding_last);
  CHECK(config.pad_token_id == 4);
  CHECK(config.first_position() == 5);
  CHECK(config.max_position_embeddings == 517);
}

TEST_CASE("bpe: training makes the vocabulary that Hugging Face's trainer makes") {
  const Folder folder;
  const std::string corpus = read_file(repository("data/mini/corpus.txt"));
  const std::string file = folder.file("text", corpus.substr(0, corpus.rfind('\n', 300000) + 1));
  train_bpe(std::vector{file}, {.size = 600}).save(folder.path.string(), 512);
  CHECK(read_file(folder / "vocab.json") == golden_vocab());
  CHECK(read_file(folder / "merges.txt") == golden_merges());
}

TEST_CASE("bpe: training joins the most frequent pair, as in the paper's figure") {
  const Folder folder;
  std::string text;                                // Sennrich et al. 2016, fig. 1
  const std::vector<std::pair<std::string, int>> words = {{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}};
  for (const auto& [word, count] : words)
    for (int i = 0; i < count; ++i) text += word + "\n";
  const std::string file = folder.file("text", text);
  const Tokenizer t = train_bpe(std::vector{file}, {.size = 261 + 4});
  CHECK(t.size() == 265);
  CHECK(Ids{t.id("es"), t.id("est"), t.id("lo"), t.id("low")} == Ids{261, 262, 263, 264});
  CHECK(pieces(t, "lowest newer") == "low est Ġ n e w e r");
  CHECK(train_bpe(std::vector{file}, {.size = 1000, .least_frequency = 7}).size() == 265);
  CHECK_ERROR(train_bpe(std::vector{file}, {.size = 260}), "ask for a size of 261 or more");
  CHECK_ERROR(train_bpe(std::vector{folder.file("empty", "")}), "the file is empty");
}

TEST_CASE("bpe: pre-training makes its own vocabulary") {
  const Library library;
  const Quiet quiet;
  PretrainOptions o = library.options("bpe");
  o.vocab.clear(), o.vocab_size = 300, o.tokenizer = VocabularyKind::bpe, o.steps = 1, o.whole_words = true;
  pretrain(o);
  const Tokenizer made = Tokenizer::from_folder(o.out + "/model");
  CHECK(made.size() <= 300);
  CHECK(made.kind().name == "bpe");
  CHECK(made.decode(made.encode("the abc is made")) == "the abc is made");
}

TEST_CASE("bpe: RoBERTa's ids, as Hugging Face publishes them") {
  const char* const data = real_data("the tokens of RoBERTa");
  if (!data) return;
  const Tokenizer t = Tokenizer::from_folder(data + std::string("/roberta"));
  const auto ids = [&](std::string_view text) { return build_sequence(t, text, 512).ids; };
  CHECK(ids("Hello world! cécé herlolip") == Ids{0, 31414, 232, 328, 740, 1140, 12695, 69, 46078, 1588, 2});
  CHECK(ids("A,<mask> AllenNLP sentence.") == Ids{0, 250, 6, 50264, 3823, 487, 21992, 3645, 4, 2});
  CHECK(ids(" Hello") == Ids{0, 20920, 2});
}

}  // namespace minbert::test
