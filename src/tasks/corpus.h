// Plain text for pre-training, and the examples made from it.
//
//   A corpus file has one paragraph on each line and a blank line between documents. It is read in
//   parts as they are needed: it may be larger than the memory.
//
//   Paper   BERT: Devlin, Chang, Lee & Toutanova 2019, sec. 3.1 (tasks) and app. A.1-2 (procedure)
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "minbert/random.h"
#include "minbert/tokenizer.h"

namespace minbert {

class Corpus {
 public:
  // A document of more than 1 MB counts as several parts, so that parts stay small.
  struct Part {
    size_t file;                                // which of the corpus's files
    uint64_t begin, bytes;                      // where its text stands in it
    int64_t document;                           // its number; all parts of a document have the same
  };
  // Errors: no file, one that cannot be read, one that is not UTF-8, no text in
  // any of them.
  explicit Corpus(const std::vector<std::string>& files);

  const std::vector<Part>& parts() const { return parts_; }
  // Throws FileChanged if its file is not what it was.
  std::string text(const Part& part) const;
  int64_t documents() const { return documents_; }
  uint64_t bytes() const { return bytes_; }         // in all parts
  const std::string& name() const { return name_; } // for messages: the first file

 private:
  std::string name_;
  struct File {
    std::string name;
    uint64_t size;
    std::filesystem::file_time_type written;        // when it was last written
  };
  std::vector<File> files_;
  std::vector<Part> parts_;
  int64_t documents_ = 0;
  uint64_t bytes_ = 0;
};

// [CLS] A [SEP] B [SEP], some of its words masked. B follows A, or comes from another document.
struct PretrainingExample {
  Sequence sequence;                              // the input of the network
  std::vector<int32_t> masked, originals;         // masked positions, and their ids before masking
  bool follows = true;
};

struct PretrainingDataOptions {
  int max_length = 128;                     // tokens of a sequence, with [CLS] and [SEP]
  bool whole_words = false;                 // mask all pieces of a word, or each piece by itself
  bool next_sentence = true;                // false: every B follows its A
  bool one_text = false;                    // A and B are one text, [CLS] A B [SEP]: RoBERTa's
  int page = 1;                             // neighbouring documents that form a page: half of the
                                            // foreign B come from A's own; 1: no pages
  double held_out = 0.01;                   // share of the text for evaluation
  uint64_t seed = 11711;
};

// The examples of a corpus, shard by shard: a shard is some 16 MB of text of random documents, with
// its examples shuffled. Every example is a pure function of seed, epoch and shard, so that a run
// can resume anywhere.
class PretrainingData {
 public:
  // The share of masked words; 80% of these become [MASK], 10% another word, 10% stay
  static constexpr double mask_share = 0.15;

  // The tokenizer and the corpus must outlive it. Error for next_sentence with only one document:
  // no B can come from another.
  PretrainingData(const Corpus& corpus, const Tokenizer& tokenizer, PretrainingDataOptions options);

  int64_t shards() const { return shards_; }        // of an epoch
  std::vector<PretrainingExample> shard(int64_t epoch, int64_t shard) const;
  // Examples of the held-out pages, the same each time. None if the corpus has fewer than 4 pages.
  std::vector<PretrainingExample> held_out() const;

  // -1/M sum log p(w) over the masked words of these examples: the loss of a network that ignores
  // the context. p are the words' frequencies in the training text (at most 64 MB of it), with 1
  // added to each count.
  double unigram_entropy(const std::vector<PretrainingExample>& examples) const;

 private:
  using Parts = std::vector<const Corpus::Part*>;
  struct Sentences;
  Sentences sentences_of(const Corpus::Part& part) const;
  int room() const;                                 // for the ids of an example's texts
  int64_t page_of(int64_t document) const { return document / options_.page; }
  std::vector<PretrainingExample> examples_of(const Parts& parts, const std::string& stream) const;
  void add_examples(const std::vector<Sentences>& all, size_t index, Random& random,
                    std::vector<PretrainingExample>& examples) const;
  const Sentences* foreign(const std::vector<Sentences>& all, size_t index, Random& random) const;
  void mask(PretrainingExample& example, Random& random) const;

  const Corpus& corpus_;
  const Tokenizer& tokenizer_;
  PretrainingDataOptions options_;
  Parts training_, held_out_;
  uint64_t training_bytes_ = 0;
  int64_t shards_ = 1;
  std::vector<char> continues_, ends_;      // for each id: does it continue a word, end a sentence?
};

// Examples laid end to end: the input of BertForPreTraining.
struct PretrainingBatch {
  Batch batch;
  Indices masked, originals;          // [M] rows of the batch, and their ids before masking
  Indices not_next;                   // [B] 0: B follows A   1: it does not (Hugging Face's order)
};
PretrainingBatch pack(std::span<const PretrainingExample> examples);

}  // namespace minbert
