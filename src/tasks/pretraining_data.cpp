// Examples for the two pre-training tasks             Devlin et al. 2019, sec. 3.1, app. A.1-2
//
//   A and B are runs of sentences that fill the sequence; one sequence in ten is shorter. Half of
//   the B are the sentences after A; the others come from another document, and the sentences after
//   A are then used for the next example. 15% of the words are masked.
//
//   Deviations  An A with nothing after it gets a foreign B, so that in short documents fewer than
//               half follow (as by Google's code). A sentence of more than half a sequence is cut
//               into several. A sentence ends at a token . ! or ?, or with its paragraph. A foreign
//               B is about as long as A's own, if there is one: if it filled the sequence, as in
//               Google's code, its length would give it away in short documents.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "engine/parallel.h"
#include "files/progress.h"
#include "minbert/random.h"
#include "tasks/corpus.h"
#include "text/lines.h"

namespace minbert {
namespace {

constexpr uint64_t shard_bytes = 16 << 20, max_held_out = 1 << 20, max_counted = 64 << 20;

using Ids = std::span<const int32_t>;

// Removes ids from the longer of the two, at a random end, until both fit into `room`.
void truncate(Ids& a, Ids& b, size_t room, Random& random) {
  while (a.size() + b.size() > room) {
    Ids& longer = a.size() > b.size() ? a : b;
    longer = random.below(2) ? longer.subspan(1) : longer.first(longer.size() - 1);
  }
}

// Pages are held out in random order: at least two, until held_out of the text is reached, and at
// least two stay for training. No page of a corpus with fewer than four.
std::vector<bool> choose_held_out(const Corpus& corpus, const PretrainingDataOptions& options) {
  std::vector<uint64_t> size(size_t((corpus.documents() - 1) / options.page + 1), 0);
  for (const Corpus::Part& part : corpus.parts())
    size[size_t(part.document / options.page)] += part.bytes;
  std::vector<bool> out(size.size(), false);
  if (options.held_out <= 0 || size.size() < 4) return out;
  std::vector<int64_t> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  Random(options.seed, "pretrain/held out").shuffle(order);
  const double wanted = std::min(options.held_out * double(corpus.bytes()), double(max_held_out));
  uint64_t bytes = 0;
  for (size_t i = 0; i + 2 < order.size() && (i < 2 || double(bytes) < wanted); ++i) {
    out[size_t(order[i])] = true;
    bytes += size[size_t(order[i])];
  }
  return out;
}

}  // namespace

// The sentences of a document, laid end to end.
struct PretrainingData::Sentences {
  int64_t document;
  std::vector<int32_t> ids;
  std::vector<size_t> starts = {0};                 // sentence i is starts[i] .. starts[i+1] - 1
  size_t count() const { return starts.size() - 1; }
  Ids run(size_t begin, size_t end) const {
    return Ids(ids).subspan(starts[begin], starts[end] - starts[begin]);
  }
};

PretrainingData::PretrainingData(const Corpus& corpus, const Tokenizer& tokenizer,
                                 PretrainingDataOptions options)
    : corpus_(corpus), tokenizer_(tokenizer), options_(options) {
  MB_CHECK(room() >= 2, "--max-length {}: A and B with their special tokens need at least {}",
           options.max_length, options.max_length - room() + 2);
  MB_CHECK(corpus.documents() > 1 || !options.next_sentence,
           "{}: the corpus has only one document, so next-sentence prediction is impossible: no B "
           "can come from "
           "another\n  put a blank line between documents, or give --no-nsp to train the masked "
           "words alone",
           corpus.name());
  MB_CHECK(options.page >= 1, "--page {}: expected 1 document or more", options.page);
  const std::vector<bool> held_out_pages = choose_held_out(corpus, options);
  for (const Corpus::Part& part : corpus.parts())
    (held_out_pages[size_t(page_of(part.document))] ? held_out_ : training_).push_back(&part);
  for (const Corpus::Part* part : training_) training_bytes_ += part->bytes;
  shards_ = int64_t((training_bytes_ + shard_bytes - 1) / shard_bytes);
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string& token = tokenizer.token(id);
    continues_.push_back(tokenizer.kind().continues_word(token));
    ends_.push_back(token == "." || token == "!" || token == "?");
  }
}

int PretrainingData::room() const {
  return options_.max_length - tokenizer_.special_tokens(!options_.one_text);
}

PretrainingData::Sentences PretrainingData::sentences_of(const Corpus::Part& part) const {
  const size_t longest = size_t(room() / 2);
  Sentences s{part.document, {}};
  const std::string text = corpus_.text(part);
  for (std::string_view rest = text; !rest.empty();) {
    for (const int32_t id : tokenizer_.encode(without_end(take_line(rest)))) {
      s.ids.push_back(id);
      if (ends_[size_t(id)] || s.ids.size() - s.starts.back() == longest)
        s.starts.push_back(s.ids.size());
    }
    if (s.ids.size() > s.starts.back()) s.starts.push_back(s.ids.size());
  }
  return s;
}

std::vector<PretrainingExample> PretrainingData::shard(int64_t epoch, int64_t shard) const {
  std::vector<Parts> pages;                         // without pages, each part by itself
  for (const Corpus::Part* part : training_) {
    const bool same = options_.page > 1 && !pages.empty() &&
                      page_of(part->document) == page_of(pages.back()[0]->document);
    if (same) pages.back().push_back(part);
    else pages.push_back({part});
  }
  Random(options_.seed, formatted("pretrain/epoch {}", epoch)).shuffle(pages);
  Parts parts;                                      // those whose middle byte lies in this shard
  uint64_t before = 0;
  for (const Parts& page : pages)
    for (const Corpus::Part* part : page) {
      const uint64_t middle = before + part->bytes / 2;
      if (int64_t(double(middle) / double(training_bytes_) * double(shards_)) == shard)
        parts.push_back(part);
      before += part->bytes;
    }
  return examples_of(parts, formatted("pretrain/epoch {}/shard {}", epoch, shard));
}

std::vector<PretrainingExample> PretrainingData::held_out() const {
  return examples_of(held_out_, "pretrain/held out");
}

std::vector<PretrainingExample> PretrainingData::examples_of(const Parts& parts,
                                                             const std::string& stream) const {
  std::vector<Sentences> all(parts.size());
  Progress progress("making examples of " + corpus_.name(), int64_t(2 * parts.size()));
  std::atomic<int64_t> done = 0;
  parallel_each(parts.size(), [&](size_t i) {
    all[i] = sentences_of(*parts[i]);
    ++done;
    if (omp_get_thread_num() == 0) progress.update(done);
  });
  Random random(options_.seed, stream);
  std::vector<PretrainingExample> examples;
  for (size_t i = 0; i < all.size(); ++i) {
    add_examples(all, i, random, examples);
    progress.update(++done);
  }
  random.shuffle(examples);
  for (PretrainingExample& example : examples) mask(example, random);
  return examples;
}

void PretrainingData::add_examples(const std::vector<Sentences>& all, size_t index, Random& random,
                                   std::vector<PretrainingExample>& examples) const {
  const Sentences& own = all[index];
  const size_t most = size_t(room());
  for (size_t begin = 0, end; begin < own.count(); begin = end) {
    const size_t target = random.below(10) == 0 ? 2 + random.below(most - 1) : most;
    end = begin + 1;
    while (end < own.count() && own.run(begin, end).size() < target) ++end;
    size_t middle = end;                            // where B begins
    if (end - begin > 1 && !options_.one_text) middle = begin + 1 + random.below(end - begin - 1);
    Ids a = own.run(begin, middle), b = own.run(middle, end);

    const bool next = !options_.next_sentence || (!b.empty() && random.below(2) == 0);
    const Sentences* other = next ? nullptr : foreign(all, index, random);
    if (other) {
      const size_t wanted = b.empty() ? target - std::min(target, a.size()) : b.size();
      const size_t first = random.below(other->count());
      size_t last = first + 1;
      while (last < other->count() && other->run(first, last).size() < wanted) ++last;
      b = other->run(first, last);
      if (own.count() - middle > 1)
        end = middle;  // the sentences after A are used for the next example
    }
    if (b.empty() && options_.next_sentence) continue;
    truncate(a, b, most, random);
    const std::optional<Ids> second = b.empty() ? std::nullopt : std::optional(b);
    examples.push_back(
        {build_sequence(tokenizer_, a, second, options_.max_length), {}, {}, other == nullptr});
  }
}

// Another document than A's; with pages, half of the time one of A's own page. nullptr if none was
// found.
const PretrainingData::Sentences* PretrainingData::foreign(const std::vector<Sentences>& all,
                                                           size_t index, Random& random) const {
  const int64_t document = all[index].document;
  const auto same_page = [&](size_t i) { return page_of(all[i].document) == page_of(document); };
  size_t begin = 0, end = all.size();
  if (options_.page > 1 && random.below(2)) {
    for (begin = index; begin > 0 && same_page(begin - 1);) --begin;
    for (end = index + 1; end < all.size() && same_page(end);) ++end;
  }
  for (int tries = 0; tries < 10; ++tries)
    if (const Sentences& s = all[begin + random.below(end - begin)];
        s.document != document && s.count() > 0)
      return &s;
  return nullptr;
}

void PretrainingData::mask(PretrainingExample& example, Random& random) const {
  std::vector<int32_t>& ids = example.sequence.ids;
  std::vector<std::vector<int32_t>>
      words;  // positions; with whole_words all pieces of a word together
  size_t count = 0;
  for (int32_t i = 0; i < int32_t(ids.size()); ++i) {
    const int32_t id = ids[size_t(i)];
    if (id == tokenizer_.cls() || id == tokenizer_.sep()) continue;
    ++count;
    const bool continues = continues_[size_t(id)] && !words.empty() && words.back().back() == i - 1;
    if (options_.whole_words && continues) words.back().push_back(i);
    else words.push_back({i});
  }
  random.shuffle(words);
  const size_t wanted = std::max<size_t>(1, size_t(std::lround(mask_share * double(count))));
  for (const std::vector<int32_t>& word : words)
    if (example.masked.empty() || example.masked.size() + word.size() <= wanted)
      example.masked.insert(example.masked.end(), word.begin(), word.end());
  std::sort(example.masked.begin(), example.masked.end());
  for (const int32_t position : example.masked) {
    int32_t& id = ids[size_t(position)];
    example.originals.push_back(id);
    const uint64_t draw = random.below(10);
    if (draw < 8) id = tokenizer_.mask();
    else if (draw == 8) id = int32_t(random.below(uint64_t(tokenizer_.size())));
  }
}

double PretrainingData::unigram_entropy(const std::vector<PretrainingExample>& examples) const {
  std::vector<double> counts(size_t(tokenizer_.size()), 1);
  double total = double(tokenizer_.size()), nats = 0, words = 0;
  uint64_t read = 0;
  Progress progress("counting the words of " + corpus_.name(),
                    int64_t(std::min(training_bytes_, max_counted)));
  for (const Corpus::Part* part : training_) {
    progress.update(int64_t(read));
    const std::vector<int32_t> ids =
        sentences_of(*part).ids;  // without the line ends, which none masks
    for (const int32_t id : ids) ++counts[size_t(id)];
    total += double(ids.size());
    if ((read += part->bytes) > max_counted) break;
  }
  for (const PretrainingExample& example : examples) {
    for (const int32_t id : example.originals) nats -= std::log(counts[size_t(id)] / total);
    words += double(example.originals.size());
  }
  return nats / words;
}

PretrainingBatch pack(std::span<const PretrainingExample> examples) {
  std::vector<Sequence> sequences;
  std::vector<int32_t> masked, originals, not_next;
  int32_t row = 0;                                  // the first of the example
  for (const PretrainingExample& example : examples) {
    for (const int32_t position : example.masked) masked.push_back(row + position);
    originals.insert(originals.end(), example.originals.begin(), example.originals.end());
    not_next.push_back(!example.follows);
    row += int32_t(example.sequence.ids.size());
    sequences.push_back(example.sequence);
  }
  return {pack(sequences), std::move(masked), std::move(originals), std::move(not_next)};
}

}  // namespace minbert
