// Prints the WordPiece ids of each line of its input.
//
//   $ tokenize --vocab vocab.txt <<< "Unaffable [MASK]!"
//   14477 20961 3468 103 999
#include <fstream>
#include <iostream>
#include <limits>

#include "minbert/tokenizer.h"

namespace {

constexpr const char* usage =
    "usage: tokenize --vocab VOCAB [--cased] [--special] [FILE ...]\n"
    "Prints the WordPiece ids of each line of the files, or of standard input, separated by spaces.\n"
    "  --vocab VOCAB  a BERT vocabulary (vocab.txt): one token a line, its id is the line number from 0\n"
    "  --cased        keep capitals and accents (for a cased vocabulary)\n"
    "  --special      print [CLS] text [SEP]; a TAB in a line separates a pair: [CLS] a [SEP] b [SEP]\n";

struct Options {
  std::string vocab;
  std::optional<bool> cased;
  bool special = false;
  std::vector<std::string> files;
};

// Nothing: --help was asked for and printed.
std::optional<Options> parse(std::span<char*> arguments) {
  Options options;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      std::cout << usage;
      return {};
    } else if (argument == "--vocab" && i + 1 < arguments.size()) {
      options.vocab = arguments[++i];
    } else if (argument == "--cased") {
      options.cased = true;
    } else if (argument == "--special") {
      options.special = true;
    } else {
      MB_CHECK(!argument.starts_with("-"), "{}\n{}", argument == "--vocab" ? "--vocab needs a file" :
               "unknown option " + argument, usage);
      options.files.push_back(argument);
    }
  }
  MB_CHECK(!options.vocab.empty(), "--vocab is missing\n{}", usage);
  return options;
}

std::vector<int32_t> encode(const minbert::Tokenizer& tokenizer, std::string_view line, bool special) {
  if (!special) return tokenizer.encode(line);
  const size_t tab = line.find('\t');
  const std::vector<int32_t> a = tokenizer.encode(line.substr(0, tab));
  std::vector<int32_t> b;
  std::optional<std::span<const int32_t>> pair;
  if (tab != line.npos) pair = b = tokenizer.encode(line.substr(tab + 1));
  return minbert::build_sequence(tokenizer, a, pair, std::numeric_limits<int>::max()).ids;
}

void tokenize(const minbert::Tokenizer& tokenizer, std::istream& in, bool special) {
  std::string line, out;
  while (std::getline(in, line)) {
    out.clear();
    for (const int32_t id : encode(tokenizer, line, special)) {
      if (!out.empty()) out += ' ';
      out += std::to_string(id);
    }
    std::cout << out << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::ios::sync_with_stdio(false);
  const std::optional<Options> options = parse({argv, size_t(argc)});
  if (!options) return 0;
  const auto tokenizer = minbert::Tokenizer::from_vocab(options->vocab, options->cased);
  if (options->files.empty()) tokenize(tokenizer, std::cin, options->special);
  for (const std::string& file : options->files) {
    std::ifstream in(file);
    tokenize(tokenizer, in, options->special);
    MB_CHECK(in.is_open() && !in.bad(), "{}: cannot be read", file);
  }
  MB_CHECK(std::cout.flush().good(), "standard output cannot be written");
  return 0;
} catch (const std::exception& error) {
  std::cerr << "tokenize: " << error.what() << '\n';
  return 1;
}
