// The texts of a file, read twice in constant memory: first their tokens are counted, then they come one by one.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "minbert/sequence.h"

namespace minbert {

class CountedTexts {
 public:
  // One text a line; two texts have a TAB between them. What can be read only once, a pipe, is copied to a file beside
  // `output` that has no name and is gone with the program. Error: it cannot be read, or there is no line in it.
  CountedTexts(const std::string& file, const std::string& output, const Tokenizer& tokenizer, int max_length);

  const std::vector<int32_t>& lengths() const { return lengths_; }         // tokens of each text
  int64_t tokens() const { return tokens_; }        // of all of them
  int64_t cut() const { return cut_; }              // texts that were longer than max_length

  // The next texts, at most so many; none behind the last. Error where one does not have its length any more: someone
  // writes to the file.
  std::vector<Sequence> next(size_t most);

 private:
  Sequence next();                                  // without an id behind the last

  std::string file_;
  const Tokenizer& tokenizer_;
  int max_length_;
  std::fstream in_;
  std::vector<int32_t> lengths_;
  int64_t tokens_ = 0, cut_ = 0;
  size_t at_ = 0;                                   // the next text
};

}  // namespace minbert
