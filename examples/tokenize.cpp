// Prints the ids of each line of its input, by WordPiece or by byte-level BPE.
//
//   $ tokenize --vocab vocab.txt <<< "Unaffable [MASK]!"
//   14477 20961 3468 103 999
//   $ tokenize --vocab vocab.txt --pieces <<< "Unaffable [MASK]!"
//   una ##ffa ##ble [MASK] !
//   $ tokenize --bpe roberta-base --pieces <<< "Unaffable<mask>!"
//   Una ff able <mask> !
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>

#include "files/progress.h"
#include "minbert/files.h"
#include "minbert/tokenizer.h"
#include "text/lines.h"
#include "train/cli/command_line.h"

using namespace minbert;

namespace {

std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view line, bool special) {
  return special ? build_sequence(tokenizer, line, std::numeric_limits<int>::max()).ids
                 : tokenizer.encode(line);
}

struct Form {
  bool special = false, pieces = false;
};

void tokenize(const Tokenizer& tokenizer, std::istream& in, const std::string& name, Form form) {
  Progress progress("", file_size(&in == &std::cin ? "/dev/stdin" : name),
                    Progress::Where::beside_results);
  Lines lines(in, name);
  for (std::string line, text; lines.next(line);) {
    text.clear();
    for (const int32_t id : encode(tokenizer, line, form.special))
      text += (text.empty() ? "" : " ") + (form.pieces ? tokenizer.token(id) : std::to_string(id));
    MB_CHECK(std::cout << text << '\n', "standard output cannot be written");
    if (progress.due())
      progress.show(lines.bytes(), formatted("{}: {} lines", name, lines.number()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string vocab, bpe;
  std::vector<std::string> files;
  bool cased = false;
  Form form;
  CommandLine line(
      "tokenize",
      "Cuts texts into the tokens of WordPiece (BERT) or of byte-level BPE (RoBERTa).");
  line.option("--vocab", vocab,
              "a BERT vocabulary: one token a line, its id the line's number from 0", "FILE");
  line.option("--bpe", bpe,
              "instead: a folder with vocab.json and merges.txt, or with a tokenizer.json", "DIR");
  line.option("--cased", cased,
              "keep capitals and accents (for a cased vocabulary); BPE always does");
  line.option("--special", form.special,
              "print [CLS] text [SEP], for BPE <s> text </s>; a TAB in a line separates a pair");
  line.option("--pieces", form.pieces,
              "print pieces, not ids: ## continues a word; BPE writes a space as Ġ, other bytes as "
              "letters too");
  line.option("files", files, "texts to tokenize; none: standard input", "FILE");
  line.closing("Prints the ids, or the pieces, of each line.",
               {"--vocab data/mini/bert/vocab.txt --pieces data/mini/corpus.txt",
                "--bpe data/models/roberta-base --special < FILE"});
  line.parse(argc, argv);
  return run_program("tokenize", [&] {
    MB_CHECK(vocab.empty() != bpe.empty(), "give one of --vocab and --bpe; see --help");
    const Tokenizer tokenizer =
        bpe.empty() ? Tokenizer::from_vocab(vocab, cased) : Tokenizer::from_folder(bpe);
    MB_CHECK(bpe.empty() || tokenizer.kind().name == "bpe",
             "--bpe {}: this is the folder of a {}; give --vocab {}", bpe, tokenizer.kind().model,
             bpe);
    if (files.empty() && isatty(STDIN_FILENO)) std::cerr << "one text a line; Ctrl-D ends\n";
    if (files.empty()) tokenize(tokenizer, std::cin, "standard input", form);
    for (const std::string& file : files) {
      std::ifstream in(file);
      MB_CHECK(in, "{}: cannot be read", file);
      tokenize(tokenizer, in, file, form);
    }
    return 0;
  });
}
