// Prints the WordPiece ids of each line of its input.
//
//   $ tokenize --vocab vocab.txt <<< "Unaffable [MASK]!"
//   14477 20961 3468 103 999
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>

#include "minbert/files.h"
#include "minbert/options.h"
#include "minbert/progress.h"
#include "minbert/sequence.h"

using namespace minbert;

namespace {

std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view line, bool special) {
  return special ? build_sequence(tokenizer, line, std::numeric_limits<int>::max()).ids
                 : tokenizer.encode(line);
}

void tokenize(const Tokenizer& tokenizer, std::istream& in, const std::string& name, bool special) {
  Progress progress("", file_size(&in == &std::cin ? "/dev/stdin" : name), Progress::Where::beside_results);
  std::string line, text;
  int64_t lines = 0, bytes = 0;
  while (std::getline(in, line)) {
    text.clear();
    for (const int32_t id : encode(tokenizer, line, special))
      text += (text.empty() ? "" : " ") + std::to_string(id);
    MB_CHECK(std::cout << text << '\n', "standard output cannot be written");
    ++lines;
    bytes += int64_t(line.size()) + 1;
    if (progress.due()) progress.show(bytes, format("{}: {} lines", name, lines));
  }
  MB_CHECK(!in.bad() && !std::ferror(stdin), "{}: cannot be read", name);
}

}  // namespace

int main(int argc, char** argv) {
  std::string vocab;
  std::vector<std::string> files;
  bool cased = false, special = false;
  CommandLine line("tokenize", "Prints the WordPiece ids of each line of the files, or of standard input.");
  line.option("--vocab", vocab, "a BERT vocabulary: one token a line, its id the line's number from 0",
              "FILE");
  line.flag("--cased", cased, "keep capitals and accents (for a cased vocabulary)");
  line.flag("--special", special, "print [CLS] text [SEP]; a TAB in a line separates a pair");
  line.option("files", files, "texts to tokenize; none: standard input");
  line.parse(argc, argv);
  return run_program("tokenize", [&] {
    MB_CHECK(!vocab.empty(), "--vocab is missing; see --help");
    const Tokenizer tokenizer = Tokenizer::from_vocab(vocab, cased ? std::optional(true) : std::nullopt);
    if (files.empty()) tokenize(tokenizer, std::cin, "standard input", special);
    for (const std::string& file : files) {
      std::ifstream in(file);
      MB_CHECK(in, "{}: cannot be read", file);
      tokenize(tokenizer, in, file, special);
    }
    MB_CHECK(std::cout.flush(), "standard output cannot be written");
    return 0;
  });
}
