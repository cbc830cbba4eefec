// Pre-training: the corpus, the examples that are made of it, the run.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "error_of.h"
#include "gradcheck.h"
#include "library.h"
#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/pretrainer.h"
#include "real_data.h"
#include "report/run_figures.h"
#include "small_run.h"
#include "tasks/corpus.h"

namespace minbert::test {
namespace {

struct Examples {
  Library library;
  Tokenizer tokenizer{library.path("vocab.txt"), true};
  Corpus corpus{{library.path("corpus.txt")}};
  PretrainingData data(bool whole_words = false) const {
    return PretrainingData(corpus, tokenizer,
                           {.max_length = 24, .whole_words = whole_words, .held_out = 0.1});
  }
  // The tokens before masking, of A (0) or of B (1).
  std::vector<std::string> tokens(const PretrainingExample& e, int segment) const {
    std::vector<int32_t> ids = e.sequence.ids;
    for (size_t i = 0; i < e.masked.size(); ++i) ids.at(size_t(e.masked[i])) = e.originals.at(i);
    std::vector<std::string> list;
    for (size_t i = 0; i < ids.size(); ++i)
      if (e.sequence.segments[i] == segment && ids[i] > 4) list.push_back(tokenizer.token(ids[i]));
    return list;
  }
  std::set<std::string> subjects(const PretrainingExample& e, int segment) const {
    std::set<std::string> found;
    for (std::string token : tokens(e, segment)) {
      if (token.starts_with("##")) token = token.substr(2);
      if (token.size() == 1 && token != ".") found.insert(token);
    }
    return found;
  }
};

std::vector<size_t> sizes(const Corpus& corpus) {
  std::vector<size_t> list;
  for (const Corpus::Part& part : corpus.parts()) list.push_back(size_t(part.bytes));
  return list;
}

Corpus corpus_of(const Library& library, const std::string& text) {
  write_file(library.path("other.txt"), text);
  return Corpus({library.path("other.txt")});
}

}  // namespace

TEST_CASE("corpus: blank lines part documents, however they are written, and need not end them") {
  const Library library;
  CHECK(sizes(corpus_of(library, "one\ntwo\n\nthree")) == std::vector<size_t>{8, 5});
  CHECK(sizes(corpus_of(library, "\n\n \t\r\none\r\n\r\n\r\ntwo\n\n")) ==
        std::vector<size_t>{5, 4});
  CHECK(Corpus({library.path("other.txt"), library.path("other.txt")}).documents() == 4);
}

TEST_CASE(
    "corpus: a long document is read in parts, a line of 10 MB as one; both are whole documents "
    "still") {
  const Library library;
  std::string line(1000, 'x'), text;
  for (int i = 0; i < 3000; ++i) text += line + "\n";
  const Corpus corpus = corpus_of(library, text + "\n" + std::string(10'000'000, 'y') + "\nz\n");
  CHECK(corpus.documents() == 2);
  REQUIRE(corpus.parts().size() == 5);
  CHECK(corpus.bytes() == text.size() + 10'000'003);
  CHECK(corpus.parts()[3].bytes == 10'000'001);
}

TEST_CASE("corpus: what cannot be learnt from is refused with the reason") {
  const Library library;
  const auto refused = [](auto&& f, const char* message) {
    CHECK_ERROR(f(), message);
  };
  refused([&] { corpus_of(library, ""); }, "other.txt: the file is empty");
  refused([&] { corpus_of(library, "a\n\ncaf\xE9\n"); },
          "other.txt:3: byte 4 of this line is 0xE9, which is not UTF");
  refused([&] { corpus_of(library, "\xFF\xFE" + std::string("a\0\n\0", 4)); },
          "other.txt: this is UTF-16; expected");
  refused([&] { corpus_of(library, "\n \n\t\n"); },
          "other.txt: there is no text in it; expected a paragraph a line");
  refused([&] { Corpus({library.path("none.txt")}); }, "none.txt: cannot read: No such file");
  refused([&] { Corpus({}); }, "name some with --corpus");
  const Corpus one = corpus_of(library, "a b\nc\n");
  const Tokenizer tokenizer(library.path("vocab.txt"), true);
  refused([&] { PretrainingData(one, tokenizer, {}); },
          "has only one document, so next-sentence prediction is impossible");
  CHECK(PretrainingData(one, tokenizer, {.next_sentence = false}).shard(0, 0).size() == 1);
}

TEST_CASE("pretraining data: half of the B follow their A; the others are of another document") {
  const Examples world;
  int follows = 0, other = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    for (const PretrainingExample& e : world.data().shard(epoch, 0)) {
      const std::set<std::string> a = world.subjects(e, 0), b = world.subjects(e, 1);
      REQUIRE(a.size() <= 1);
      REQUIRE(b.size() <= 1);
      REQUIRE(e.sequence.ids.size() > 2);
      REQUIRE(e.sequence.ids.size() <= 24);
      REQUIRE(e.sequence.ids.front() == world.tokenizer.cls());
      REQUIRE(e.sequence.ids.back() == world.tokenizer.sep());
      // documents 0 and 8 have one subject, so that the two of a pair may be alike by chance
      if (e.follows && !a.empty() && !b.empty()) REQUIRE(a == b);
      follows += e.follows, other += !e.follows;
    }
  CHECK(follows + other > 2000);
  CHECK(follows < other);                           // an A with nothing behind it has a foreign B

  const auto share_that_follows = [&](const std::string& text, PretrainingDataOptions options) {
    options.max_length = 24, options.held_out = 0;
    const Corpus corpus = corpus_of(world.library, text);
    const PretrainingData data(corpus, world.tokenizer, options);
    double of_own = 0, all = 0;
    for (int64_t epoch = 0; epoch < 20; ++epoch)
      for (const PretrainingExample& e : data.shard(epoch, 0)) of_own += e.follows, ++all;
    CHECK(all >= 20);
    return of_own / all;
  };
  std::string long_documents, short_documents;
  for (int document = 0; document < 4; ++document) {
    for (int sentence = 0; sentence < 300; ++sentence) long_documents += "the a is made .\n";
    long_documents += "\n", short_documents += "the a is\n\n";
  }
  CHECK(std::abs(share_that_follows(long_documents, {}) - 0.5) < 0.03);
  CHECK(share_that_follows(long_documents, {.next_sentence = false}) == 1);
  CHECK(share_that_follows(short_documents, {}) == 0);      // every A is all of its document
}

// Documents of 8 sentences of 5 tokens that say nothing but their number, a to h. All of one fit into a sequence of
// `room`, where nothing is cut.
TEST_CASE("pretraining data: behind a foreign B the sentences that follow A are used again") {
  const Examples world;
  std::string text;
  constexpr int documents = 6, sentences = 8;
  for (int document = 0; document < documents; ++document, text += "\n")
    for (int i = 0; i < sentences; ++i) text += "the " + Library::subject(i) + " is made .\n";
  const Corpus corpus = corpus_of(world.library, text);
  const PretrainingData data(corpus, world.tokenizer, {.max_length = 64, .held_out = 0});
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    std::map<std::string, int> count;               // in A, and in a B that follows
    for (const PretrainingExample& e : data.shard(epoch, 0))
      for (const int segment : {0, 1})
        if (segment == 0 || e.follows)
          for (const std::string& number : world.subjects(e, segment)) ++count[number];
    INFO("epoch " << epoch);
    for (int i = 0; i + 1 < sentences; ++i) {       // a last one alone may be left out
      INFO("sentence " << Library::subject(i) << " of " << documents << " documents");
      CHECK(count[Library::subject(i)] == documents);
    }
  }
}

TEST_CASE("pretraining data: a foreign B is not longer than the B that it replaces, so that lengths tell no label") {
  const Examples world;
  std::string text;                                 // "for" begins each document of 4 sentences and no other sentence
  for (int document = 0; document < 6; ++document, text += "\n")
    for (const char* first : {"for", "the", "the", "the"}) text += first + std::string(" a is made .\n");
  const Corpus corpus = corpus_of(world.library, text);
  const PretrainingData data(corpus, world.tokenizer, {.max_length = 64, .held_out = 0});
  int foreign = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    for (const PretrainingExample& e : data.shard(epoch, 0)) {
      if (world.tokens(e, 0).front() != "for") continue;          // A's own B may be empty
      foreign += !e.follows;
      INFO("follows: " << e.follows << "; A and its own B have 20 tokens, or fewer where the sequence is a short one");
      CHECK(e.sequence.ids.size() <= 3 + 20);
    }
  CHECK(foreign > 20);
}

TEST_CASE("pretraining data: one sequence in ten is shorter") {
  const Examples world;
  std::string text;
  for (int document = 0; document < 4; ++document, text += "\n")
    for (int i = 0; i < 300; ++i) text += "the a is made .\n";
  const Corpus corpus = corpus_of(world.library, text);
  const PretrainingData data(corpus, world.tokenizer, {.max_length = 64, .held_out = 0});
  double shorter = 0, all = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    for (const PretrainingExample& e : data.shard(epoch, 0))
      if (e.follows) shorter += e.sequence.ids.size() < 64, ++all;
  INFO(shorter << " of " << all << " pairs that follow; one in 26 is shorter, since its document ends");
  CHECK(shorter / all > 0.08);
  CHECK(shorter / all < 0.2);
}

TEST_CASE(
    "pretraining data: a foreign B is never of A's own document, and label 1 is a foreign B") {
  const Examples world;
  std::string text;  // two documents, the one about a, the other about b
  for (const char* sentences : {"the a is made . a has a .\n", "the b is made . b has b .\n"}) {
    for (int i = 0; i < 20; ++i) text += sentences;
    text += "\n";
  }
  const Corpus corpus = corpus_of(world.library, text);
  const PretrainingData data(corpus, world.tokenizer, {.max_length = 24, .held_out = 0});
  int foreign = 0;
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    const std::vector<PretrainingExample> examples = data.shard(epoch, 0);
    const PretrainingBatch batch = pack(examples);
    size_t next = 0;                                // of the masked words
    for (size_t i = 0; i < examples.size(); ++i) {
      const PretrainingExample& e = examples[i];
      CHECK((world.subjects(e, 0) == world.subjects(e, 1)) == e.follows);
      CHECK(batch.not_next[int64_t(i)] == (e.follows ? 0 : 1));
      foreign += !e.follows;
      for (const int32_t position : e.masked)
        CHECK(batch.masked[int64_t(next++)] == batch.batch.offsets[int64_t(i)] + position);
    }
    CHECK(int64_t(next) == batch.masked.size());
  }
  CHECK(foreign > 20);
}

TEST_CASE(
    "pretraining data: with pages, every other foreign B is of A's own page, in the held-out text "
    "too") {
  const Examples world;                             // pages of two: a and b, c and d, ...
  for (const int page : {1, 2}) {
    const PretrainingData data(world.corpus, world.tokenizer,
                               {.max_length = 24, .page = page, .held_out = 0.3});
    std::vector<PretrainingExample> all = data.held_out();
    for (const bool held_out : {true, false}) {
      for (int64_t epoch = 0; epoch < 20 && !held_out; ++epoch)
        for (PretrainingExample& e : data.shard(epoch, 0)) all.push_back(std::move(e));
      double foreign = 0, near = 0;
      for (const PretrainingExample& e : all) {
        const std::set<std::string> a = world.subjects(e, 0), b = world.subjects(e, 1);
        if (e.follows || a.empty() || b.empty()) continue;
        ++foreign, near += ((*a.begin())[0] - 'a') / 2 == ((*b.begin())[0] - 'a') / 2 && a != b;
      }
      INFO("page " << page << ", held out " << held_out << ", " << foreign << " foreign");
      REQUIRE(foreign > (held_out ? 8 : 500));
      const double by_chance = 1.0 / Library::subjects;         // of all documents
      const double expected = page == 1 ? by_chance : 0.5 + by_chance / 2;
      CHECK(near / foreign == doctest::Approx(expected).epsilon(held_out ? 0.8 : 0.15));
    }
  }
}

TEST_CASE(
    "pretraining data: 15% of the words are masked: 8 in 10 [MASK], one another word, one itself") {
  const Examples world;
  double tokens = 0, masked = 0, as_mask = 0, itself = 0;
  std::set<int32_t> random_words;
  for (int64_t epoch = 0; epoch < 30; ++epoch)
    for (const PretrainingExample& e : world.data().shard(epoch, 0)) {
      tokens += double(e.sequence.ids.size()) - 3, masked += double(e.masked.size());
      for (size_t i = 0; i < e.masked.size(); ++i) {
        const int32_t now = e.sequence.ids.at(size_t(e.masked[i]));
        REQUIRE(e.originals[i] > 4);                // never [CLS] or [SEP]
        as_mask += now == world.tokenizer.mask(), itself += now == e.originals[i];
        if (now != e.originals[i]) random_words.insert(now);
      }
    }
  CHECK(std::abs(masked / tokens - 0.15) < 0.01);
  // a random word is [MASK] or the word itself in one case of 28 each
  CHECK(std::abs(as_mask / masked - (0.8 + 0.1 / 28)) < 0.02);
  CHECK(std::abs(itself / masked - (0.1 + 0.1 / 28)) < 0.02);
  CHECK(random_words.size() ==
        size_t(world.tokenizer.size()));  // any of them, [PAD] and the last too
}

TEST_CASE("pretraining data: with whole words, a word's pieces are masked together") {
  const Examples world;
  int joined = 0;
  for (const PretrainingExample& e : world.data(true).shard(0, 0)) {
    const std::set<int32_t> masked(e.masked.begin(), e.masked.end());
    for (size_t i = 0; i < e.masked.size(); ++i) {
      const bool continues = world.tokenizer.token(e.originals[i]).starts_with("##");
      const int32_t before = e.masked[i] - 1;
      const bool after_word = e.sequence.ids.at(size_t(before)) > 5 || masked.contains(before);
      if (continues && after_word &&
          e.sequence.segments[size_t(before)] == e.sequence.segments[size_t(before) + 1]) {
        REQUIRE(masked.contains(before));
        ++joined;
      }
    }
  }
  CHECK(joined > 20);

  // Words of three and eight pieces: all of one or none, and one even where each is more than 15%.
  const Corpus corpus =
      corpus_of(world.library, "abc abcdabcd a abc\n\nabcdabcd\n\nabcdabcd abcdabcd\n");
  const PretrainingData data(corpus, world.tokenizer,
                             {.max_length = 40, .whole_words = true, .next_sentence = false});
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    for (const PretrainingExample& e : data.shard(epoch, 0)) {
      CHECK_FALSE(e.masked.empty());
      std::vector<int32_t> ids = e.sequence.ids;
      for (size_t i = 0; i < e.masked.size(); ++i) ids[size_t(e.masked[i])] = e.originals[i];
      for (int32_t i = 1; i < int32_t(ids.size()); ++i)
        if (world.tokenizer.token(ids[size_t(i)]).starts_with("##"))
          CHECK(std::ranges::count(e.masked, i) == std::ranges::count(e.masked, i - 1));
    }
}

TEST_CASE("pretraining data: what is too long is cut at its beginning as well as at its end") {
  const Examples world;                             // every sentence is "the ... ."
  int begins = 0, ends = 0;
  for (const PretrainingExample& e : world.data().shard(0, 0))
    for (const int segment : {0, 1}) {
      const std::vector<std::string> tokens = world.tokens(e, segment);
      begins += tokens.front() != "the";
      ends += tokens.back() != ".";
    }
  CHECK(begins > 5);
  CHECK(ends > 5);
}

// Ten pieces are two sentences of five, which cut words of three: most B begin within a word.
TEST_CASE("pretraining data: a piece at the start of B belongs to no word of A") {
  const Examples world;
  const Corpus corpus = corpus_of(world.library, "abc abc abc abc abc abc abc abc\n");
  const PretrainingData data(corpus, world.tokenizer,
                             {.max_length = 13, .whole_words = true, .next_sentence = false});
  int masked_alone = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    for (const PretrainingExample& e : data.shard(epoch, 0))
      for (size_t i = 0; i < e.masked.size(); ++i) {
        const int32_t first = e.masked[i], last_of_a = first - 2;             // [SEP] stands between
        const bool begins_b =
            e.sequence.segments.at(size_t(first) - 1) < e.sequence.segments.at(size_t(first));
        if (begins_b && world.tokenizer.token(e.originals[i]).starts_with("##"))
          masked_alone += std::ranges::count(e.masked, last_of_a) == 0;
      }
  CHECK(masked_alone > 0);
}

TEST_CASE(
    "pretraining data: an epoch reads every document but those held out, and repeats itself on no "
    "other") {
  const Examples world;
  const PretrainingData data = world.data();
  const auto ids = [](const std::vector<PretrainingExample>& examples) {
    std::vector<std::vector<int32_t>> all;
    for (const PretrainingExample& e : examples) all.push_back(e.sequence.ids);
    return all;
  };
  CHECK(ids(data.shard(1, 0)) == ids(data.shard(1, 0)));
  CHECK(ids(data.shard(1, 0)) != ids(data.shard(2, 0)));
  CHECK(ids(data.held_out()) == ids(world.data().held_out()));
  CHECK(data.held_out().size() > 4);
  std::set<std::string> seen;
  for (const PretrainingExample& e : data.shard(0, 0)) seen.merge(world.subjects(e, 0));
  CHECK(seen.size() == Library::subjects);
}

// Two words at p = 1/2 each, say, would give log 2: here every token of the corpus is counted by
// hand.
TEST_CASE("pretraining data: the unigram entropy is that of the words' frequencies") {
  const Library library;
  const Tokenizer tokenizer(library.path("vocab.txt"), true);
  const Corpus corpus = corpus_of(library, "a a a b\n\na a a b\n");
  const PretrainingData data(corpus, tokenizer, {.held_out = 0});
  PretrainingExample example;
  example.originals = {tokenizer.id("a"), tokenizer.id("a"), tokenizer.id("b"), tokenizer.id(".")};
  const double total = 8 + double(tokenizer.size());
  CHECK(
      data.unigram_entropy({example}) ==
      doctest::Approx(-(2 * std::log(7 / total) + std::log(3 / total) + std::log(1 / total)) / 4));
}

TEST_CASE("pretraining: a run lowers the loss, and writes a folder from which another goes on") {
  const Library library;
  const Quiet quiet;
  PretrainOptions o = library.options("first");
  o.steps = 60, o.lr = 3e-3, o.dropout = 0;
  const PretrainResult first = pretrain(o);
  CHECK(first.steps == 60);
  CHECK(first.held_out.mlm_loss < first.untrained.mlm_loss - 0.3);
  CHECK(first.held_out.mlm_loss < first.unigram_entropy);
  CHECK(first.untrained.mlm_loss ==
        doctest::Approx(std::log(28)).epsilon(0.05));  // 28 tokens, as good as a guess
  CHECK(csv(o.out + "/steps.csv").size() == 1 + 60 * 2);
  CHECK(csv(o.out + "/evaluations.csv").size() == 1 + 15);
  draw_pretraining(o, first);
  std::map<std::string, int> points;                // of each curve of the figure
  for (const auto& row : csv(o.out + "/figures/pretraining.csv")) ++points[row[0] + ": " + row[1]];
  CHECK(points["masked words: training"] == 40);    // 120 batches, in windows of 3
  CHECK(points["masked words: held out"] == 15);
  CHECK(points["masked words: untrained"] == 2);
  CHECK(points["next sentence: "] == 15);

  const SafeTensors written(o.out + "/model/model.safetensors");
  CHECK(written.entries().contains("bert.embeddings.word_embeddings.weight"));
  CHECK(written.entries().contains("cls.predictions.transform.dense.weight"));
  CHECK(written.entries().contains("cls.predictions.bias"));
  CHECK(written.entries().contains("cls.seq_relationship.weight"));
  CHECK_FALSE(written.entries().contains(
      "cls.predictions.decoder.weight"));  // tied: transformers restores it
  CHECK(Json::load(o.out + "/model/config.json")["architectures"].items().at(0).string() ==
        "BertForPreTraining");

  PretrainOptions further = library.options("further");
  further.vocab.clear(), further.init = o.out + "/model", further.f16 = true, further.lr = 0,
                         further.steps = 1;
  further.evaluate_every = 1;
  const PretrainResult second = pretrain(further);
  CHECK(second.held_out.mlm_loss ==
        doctest::Approx(first.held_out.mlm_loss).epsilon(1e-5));  // lr 0
  CHECK(SafeTensors(further.out + "/model/model.safetensors").entry("cls.predictions.bias").type ==
        "F16");
  CHECK_FALSE(contains(quiet.text(), "trained with --placement"));

  const std::string model = o.out + "/model/model.safetensors", bytes = read_file(model);
  std::string large = bytes;  // the last value of the biases of NSP becomes 100,000
  const auto& entry = written.entry("cls.seq_relationship.bias");
  const float value = 1e5f;
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(&large[8 + header + entry.end - sizeof value], &value, sizeof value);
  write_file(model, large);
  further.out = library.path("large");
  CHECK(error_of([&] { pretrain(further); }) ==
        further.out +
            "/model/model.safetensors: cls.seq_relationship.bias has the value 100000, which 16 "
            "bits cannot "
            "hold: their largest number is 65504\n  leave out --f16; a run that has it goes on "
            "with \"--f16\": \"no\" in "
            "its options.json");
  write_file(model, bytes);

  BertConfig tuned = BertConfig::load(o.out + "/model/config.json");
  tuned.tasks = {"sst"};  // a fine-tuned model's: its heads are not in what is written
  tuned.save(o.out + "/model/config.json");
  further.out = library.path("pre"), further.placement = Placement::pre,
  further.init = o.out;  // the run itself
  CHECK(pretrain(further).held_out.mlm_loss !=
        doctest::Approx(first.held_out.mlm_loss).epsilon(1e-6));
  CHECK(contains(quiet.text(), "first/model: trained with --placement post, now pre: "));
  CHECK(BertConfig::load(further.out + "/model/config.json").placement == Placement::pre);
  CHECK(BertConfig::load(further.out + "/model/config.json").tasks.empty());
}

TEST_CASE(
    "pretraining: a stopped and resumed run equals an uninterrupted one, wherever it was stopped") {
  const Library library;
  std::string reports;                              // the lines that it printed of its losses
  const auto run = [&](const PretrainOptions& o, int64_t stop = 0) {
    const Quiet quiet;
    const PretrainResult result = pretrain(o, {}, stop);
    std::istringstream printed(quiet.text());
    for (std::string line; std::getline(printed, line);)
      if (line.find("   training: ") != line.npos) reports += line + "\n";
    return result;
  };
  for (const std::string placement : {"post", "normformer"}) {
    PretrainOptions o = library.options(placement);
    o.placement = choice<Placement>(placement, "");
    run(o);
    const auto whole = contents(o.out);
    const std::string reported = std::exchange(reports, "");
    for (const int64_t stop : {1, 4, 5}) {
      INFO(placement, ", stopped after step ", stop);
      o.out = library.path(formatted("{}-parts-{}", placement, stop)), o.resume = false;
      CHECK(run(o, stop).interrupted);
      o.resume = true;
      CHECK_FALSE(run(o).interrupted);
      CHECK(contents(o.out) == whole);
      CHECK(std::exchange(reports, "") == reported);
    }
  }
}

TEST_CASE("pretraining: batches that are accumulated are one larger batch, to rounding") {
  const Library library;
  const Quiet quiet;
  std::vector<Weights> all;
  std::vector<std::string> reports;                 // the lines that it printed of its losses
  for (const bool next_sentence : {true, false})
    for (const int accumulate : {1, 4}) {           // their batches of 6 differ in masked words
      PretrainOptions o =
          library.options(formatted("accumulated-{}-{}", next_sentence, accumulate));
      o.batch = 24 / accumulate, o.accumulate = accumulate, o.no_nsp = !next_sentence;
      o.steps = 2, o.optimizer = OptimizerKind::sgd, o.lr = 0.5, o.dropout = 0;
      const size_t before = quiet.text().size();
      pretrain(o);
      reports.push_back(quiet.text().substr(quiet.text().find("   training: ", before)));
      all.push_back(weights(o.out));
    }
  const auto loss = [](const std::string& report, const std::string& name) {
    return std::stod(report.substr(report.find(name + " loss ") + name.size() + 6));
  };
  CHECK(loss(reports[0], "MLM") == doctest::Approx(loss(reports[1], "MLM")).epsilon(1e-4));
  CHECK(loss(reports[0], "NSP") == doctest::Approx(loss(reports[1], "NSP")).epsilon(2e-4));
  CHECK(loss(reports[2], "MLM") == doctest::Approx(loss(reports[3], "MLM")).epsilon(1e-4));
  for (const size_t first : {0, 2})
    for (const auto& [name, values] : all[first]) {
      INFO(name);
      CHECK(difference(values, all[first + 1].at(name)) < 1e-5);
    }
}

TEST_CASE(
    "pretraining: a loss that is no number stops the run, says where, and leaves the last good "
    "state") {
  const Library library;
  PretrainOptions o = library.options("diverged");
  o.accumulate = 1, o.clip = 0, o.warmup = 0;
  const Quiet quiet;
  pretrain(o, {}, 4);
  const auto state = contents(o.out).at("state.safetensors");
  o.lr = is_double ? 1e300 : 1e30;
  const std::string message = error_of([&] { pretrain(o); });
  INFO(message);
  CHECK(message.find("the loss became ") == 0);
  CHECK(contains(message, " in step 6\n"));
  CHECK(contains(message, "/diverged/model keeps the last good weights"));
  CHECK(contents(o.out).at("state.safetensors") == state);
}

TEST_CASE("pretraining: a vocabulary comes from one place") {
  const Library library;
  const Quiet quiet;
  PretrainOptions o = library.options("vocabulary");
  o.vocab_size = 40;
  CHECK_ERROR(pretrain(o), "give one of the three");
  o.vocab.clear();
  o.steps = 1;
  pretrain(o);
  const Tokenizer made(o.out + "/model/vocab.txt", true);
  CHECK(made.size() <= 40);
  for (const int32_t id : made.encode("the abc is made for h .")) CHECK(id != made.unk());
}

TEST_CASE("real data: a published-style checkpoint has the held-out losses that its makers give") {
  const char* folder = real_data("the losses of a published-style checkpoint");
  if (!folder) return;
  const std::string model = folder + std::string("/bert-tiny-wiki");
  const Tokenizer tokenizer = Tokenizer::from_folder(model);
  const Corpus corpus({folder + std::string("/corpus/wiki-small.txt")});
  const PretrainingData data(corpus, tokenizer, {.max_length = 64, .held_out = 0.002});
  BertForPreTraining network(BertConfig::load(model + "/config.json"));
  network.train(false);
  Parameters parameters(network, {.initialise = false});
  CHECK(load_weights(model, parameters).initialised.empty());
  const NoGrad no_tape;
  double mlm = 0, nsp = 0, words = 0, pairs = 0;
  const std::vector<PretrainingExample> examples = data.held_out();
  for (size_t begin = 0; begin + 32 <= examples.size(); begin += 32) {
    const PretrainingBatch batch = pack(std::span(examples).subspan(begin, 32));
    const PretrainingOutput out = network.forward(batch.batch, batch.masked, batch.originals);
    mlm += double(out.mlm_loss.item()) * double(batch.masked.size()),
        words += double(batch.masked.size());
    nsp += double(cross_entropy(out.nsp_logits, batch.not_next).item()), ++pairs;
  }
  MESSAGE("MLM loss ", mlm / words, ", NSP loss ", nsp / pairs, ", unigram entropy ",
          data.unigram_entropy(examples));
  CHECK(mlm / words == doctest::Approx(5.47).epsilon(0.05));
  CHECK(data.unigram_entropy(examples) == doctest::Approx(7.05).epsilon(0.1));
}

}  // namespace minbert::test
