// Trains a vocabulary on plain text, of WordPiece or of byte-level BPE.
//
//   $ vocabulary --input corpus.txt --size 8000 --output vocab.txt
//   vocab.txt: 8000 tokens
//   $ tokenize --vocab vocab.txt corpus.txt
//   $ vocabulary --tokenizer bpe --input corpus.txt --size 8000 --output bpe
//   bpe: 8000 tokens
//   $ tokenize --bpe bpe corpus.txt
#include <filesystem>
#include <iostream>

#include "minbert/files.h"
#include "minbert/vocabulary.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  VocabularyOptions options;
  std::vector<std::string> files;
  std::string output;
  VocabularyKind tokenizer = VocabularyKind::wordpiece;
  bool cased = false;
  CommandLine line(
      "vocabulary",
      "Trains a vocabulary on plain text: of WordPiece (BERT) or of byte-level BPE (RoBERTa).");
  line.option("--tokenizer", tokenizer, "whose vocabulary it is");
  line.option("--input", files, "the texts, in UTF-8", "FILE");
  line.option("--output", output,
              "the vocabulary: one token a line, its id the line's number from 0; of bpe a folder "
              "for vocab.json and merges.txt", "FILE");
  line.option("--size", options.size, "tokens at most, special tokens and alphabet included",
              Range{1});
  line.option("--cased", cased, "keep capitals and accents; bpe always does");
  line.option("--alphabet", options.alphabet,
              "characters at most, the most frequent; words with others: [UNK]. bpe's alphabet are "
              "the 256 bytes",
              Range{1});
  line.option("--least-frequency", options.least_frequency,
              "of a pair of pieces that becomes a token", Range{1});
  line.closing("Writes vocab.txt, or a folder with vocab.json and merges.txt.",
               {"--input data/mini/corpus.txt --size 1600 --output vocab.txt",
                "--input data/mini/corpus.txt --size 1600 --tokenizer bpe --output bpe"});
  line.parse(argc, argv);
  return run_program("vocabulary", [&] {
    line.need({"--input", "--output"});
    if (tokenizer == VocabularyKind::wordpiece) check_folder_of(output);
    else make_folder(output);
    options.lower_case = !cased;
    std::vector<std::string> tokens;
    if (tokenizer == VocabularyKind::bpe) {
      constexpr int roberta_length = 512;          // of RoBERTa's models
      MB_CHECK(!std::filesystem::exists(output + "/vocab.txt"),
               "--output {}: has the vocab.txt of a BERT; choose "
               "another folder",
               output);
      for (const char* name : {"vocab.json", "merges.txt", "tokenizer_config.json"})
        for (const std::string& file : files) {
          std::error_code none;
          const std::string written = output + "/" + name;
          MB_CHECK(!std::filesystem::equivalent(written, file, none),
                   "--output {}: {} would replace --input {}; choose another folder", output, written, file);
        }
      const Tokenizer trained = train_bpe(files, options);
      trained.save(output, roberta_length);
      tokens = trained.tokens();
    } else {
      tokens = train_vocabulary(files, options);
      write_vocabulary(output, tokens);
    }
    std::cout << output << ": " << tokens.size() << " tokens";
    if (int(tokens.size()) < options.size)
      std::cout << "; no other pair of pieces occurs " << options.least_frequency
                << " times in the text";
    std::cout << '\n';
    return 0;
  });
}
