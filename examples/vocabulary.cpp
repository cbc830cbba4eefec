// Trains a WordPiece vocabulary on plain text.
//
//   $ vocabulary --input corpus.txt --size 8000 --output vocab.txt
//   vocab.txt: 8000 tokens
//   $ tokenize --vocab vocab.txt corpus.txt
#include <iostream>

#include "minbert/error.h"
#include "minbert/options.h"
#include "minbert/vocabulary.h"

using namespace minbert;

int main(int argc, char** argv) {
  VocabularyOptions options;
  std::vector<std::string> files;
  std::string output;
  bool cased = false;
  CommandLine line("vocabulary", "Trains a WordPiece vocabulary on plain text.");
  line.option("--input", files, "the texts, in UTF-8");
  line.option("--output", output, "the vocabulary: one token a line, its id the line's number from 0", "FILE");
  line.option("--size", options.size, 1, "tokens at most, special tokens and alphabet included");
  line.flag("--cased", cased, "keep capitals and accents");
  line.option("--alphabet", options.alphabet, 1, "characters at most, the most frequent; words with others: [UNK]");
  line.option("--least-frequency", options.least_frequency, 1, "of a pair of pieces that becomes a token");
  line.parse(argc, argv);
  return run_program("vocabulary", [&] {
    MB_CHECK(!files.empty(), "--input is missing; see --help");
    MB_CHECK(!output.empty(), "--output is missing; see --help");
    options.lower_case = !cased;
    const std::vector<std::string> tokens = train_vocabulary(files, options);
    write_vocabulary(output, tokens);
    std::cerr << output << ": " << tokens.size() << " tokens";
    if (int(tokens.size()) < options.size) {
      std::cerr << "; no other pair of pieces occurs " << options.least_frequency << " times in the text";
    }
    std::cerr << '\n';
    return 0;
  });
}
