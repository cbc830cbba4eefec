// A corpus so small that pre-training on it takes a moment.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "minbert/files.h"
#include "minbert/pretrainer.h"
#include "minbert/random.h"

namespace minbert::test {

// A folder with a corpus of 40 documents, each with a subject of its own, and a vocabulary.
class Library {
 public:
  // owner: the process that made the folder, and removes it.
  explicit Library(pid_t owner = getpid()) : owner_(owner) {
    if (owner_ != getpid()) return;
    std::filesystem::create_directories(root_);
    std::string vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n";
    for (int n = 0; n < subjects; ++n) vocab += subject(n) + "\n##" + subject(n) + "\n";
    for (const char* word : words) vocab += word + std::string("\n");
    write_file(path("vocab.txt"), vocab);
    Random random(3, "library");
    std::string text;
    for (int d = 0; d < 40; ++d) {
      for (int paragraph = 0; paragraph < 3; ++paragraph) {
        for (int sentence = 0; sentence < 3; ++sentence)
          text += "the " + subject(d) + " " + words[1 + random.below(5)] + " " + words[random.below(6)] + subject(d) +
                  " . ";
        text += "\n";
      }
      text += "\n";
    }
    write_file(path("corpus.txt"), text);
  }
  ~Library() {
    if (owner_ == getpid()) std::filesystem::remove_all(root_);
  }
  std::string path(const std::string& name) const { return (root_ / name).string(); }

  // a, b, c, ...: what a document is about
  static std::string subject(int document) { return std::string(1, char('a' + document % subjects)); }
  static constexpr int subjects = 8;

  PretrainOptions options(const std::string& out) const {
    PretrainOptions o;
    o.corpus = {path("corpus.txt")}, o.vocab = path("vocab.txt"), o.out = path(out);
    o.batch = 8, o.accumulate = 2, o.max_length = 24, o.steps = 6, o.evaluate_every = 4, o.held_out = 0.1;
    return o;
  }

 private:
  static constexpr const char* words[] = {"the", "is", "has", "made", "for", "with"};
  pid_t owner_;
  std::filesystem::path root_ = std::filesystem::temp_directory_path() / formatted("minbert_library_{}", owner_);
};

}  // namespace minbert::test
