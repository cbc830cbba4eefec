// Writes the generated world: a corpus, the course's three sets, seven of GLUE's and a small Financial PhraseBank, from
// a grammar.
//
//   make-mini [--grammar data/grammar.txt] [--out data/mini] [--seed 11711]
//
// A row of a set is a text of one of its rules "SET:LABEL", with all labels equally often; ">>" separates the two texts
// of a pair. In "noise" percent of the rows the label is wrong. A training file uses only "seen" percent of each list
// of words; no two rows of a set are equal. The same seed writes the same bytes everywhere.
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "data/grammar.h"
#include "data/tsv_line.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/shipped.h"
#include "train/cli/command_line.h"

using namespace minbert;
using Fields = std::vector<std::string>;

namespace {

constexpr int train_rows = 5000, dev_rows = 500;   // test files are as long as dev files
constexpr int phrasebank_rows = 600;               // of its one file, which is both train and dev
constexpr size_t corpus_bytes = 5'000'000;

struct Row {
  Fields texts;
  std::string label;
};

Row draw_row(const Grammar& grammar, const std::string& set, Writer& writer, std::set<Fields>& known) {
  const std::vector<LabeledRule>& labels = grammar.labels(set);
  for (int tries = 0; tries < 1000; ++tries) {
    const size_t drawn = writer.random().below(labels.size());
    const std::string text = writer.write(*labels[drawn].rule);
    const size_t parting = text.find(" >> ");
    Row row{{text.substr(0, parting)}, labels[drawn].label};
    if (parting != text.npos) row.texts.push_back(text.substr(parting + 4));
    if (row.texts.size() == 2 && row.texts[0] == row.texts[1]) continue;
    if (!known.insert(row.texts).second) continue;
    if (writer.random().below(100) < uint64_t(grammar.percent("noise")))
      row.label = labels[(drawn + 1 + writer.random().below(labels.size() - 1)) % labels.size()].label;
    return row;
  }
  fail(formatted("{}: the set \"{}\" has no new texts left\n  expected more alternatives in its rules", grammar.file(),
                 set));
}

// ---- The layouts: the course's, and those of GLUE's sets

enum Split { train, dev, test, both };

int rows_of(Split split) { return split == train ? train_rows : split == both ? phrasebank_rows : dev_rows; }

std::string digits(Random& random, size_t count, std::string_view alphabet) {
  std::string id;
  for (size_t i = 0; i < count; ++i) id += alphabet[random.below(alphabet.size())];
  return id;
}

std::string plain_line(const Fields& fields) {     // GLUE's files have no quoting
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : "\t") + field;
  return line + "\n";
}

std::string course(Split split, int number, const Row& row, Random& random) {
  Fields fields = {std::to_string(number), digits(random, 25, "0123456789abcdef")};
  if (split == test && row.texts.size() == 1) fields.insert(fields.begin() + 1, std::to_string(number) + ".0");
  fields.insert(fields.end(), row.texts.begin(), row.texts.end());
  if (split != test) fields.push_back(row.label);
  return tsv_line(fields);
}

std::string mrpc(Split split, int number, const Row& row, Random& random) {
  const std::string first = digits(random, 7, "123456789"), second = digits(random, 7, "123456789");
  return plain_line({split == test ? std::to_string(number) : row.label, first, second, row.texts[0], row.texts[1]});
}

std::string rte(Split split, int number, const Row& row, Random&) {
  Fields fields = {std::to_string(number), row.texts[0], row.texts[1]};
  if (split != test) fields.push_back(row.label);
  return plain_line(fields);
}

std::string cola(Split split, int number, const Row& row, Random&) {
  if (split == test) return plain_line({std::to_string(number), row.texts[0]});
  return "mini\t" + row.label + "\t" + (row.label == "0" ? "*" : "") + "\t" + row.texts[0] + "\n";
}

std::string sst2(Split split, int number, const Row& row, Random&) {
  if (split == test) return plain_line({std::to_string(number), row.texts[0]});
  return plain_line({row.texts[0], row.label});
}

std::string stsb(Split split, int number, const Row& row, Random&) {
  Fields fields = {std::to_string(number), "mini", "mini", "2026", std::to_string(number), "none", "none",
                   row.texts[0], row.texts[1]};
  if (split != test) fields.push_back(row.label + ".000");
  return plain_line(fields);
}

std::string mnli(Split split, int number, const Row& row, const std::string& genre) {
  Fields fields = {std::to_string(number), "mini", "mini", genre, "none", "none", "none", "none",   // no parse trees
                   row.texts[0], row.texts[1]};
  const size_t labels = split == train ? 2 : split == dev ? 6 : 0;   // the annotators' and the gold label
  fields.insert(fields.end(), labels, row.label);
  return plain_line(fields);
}
std::string mnli_stories(Split split, int number, const Row& row, Random&) {
  return mnli(split, number, row, "stories");
}
std::string mnli_news(Split split, int number, const Row& row, Random&) { return mnli(split, number, row, "news"); }

std::string phrasebank(Split, int, const Row& row, Random&) { return row.texts[0] + "@" + row.label + "\n"; }

struct File {
  std::string name, header;
  Split split;
  std::string stream = name;                       // of random numbers
};
struct Set {
  std::string rules;                               // its name in the grammar
  std::string (*line)(Split, int, const Row&, Random&);
  std::vector<File> files;
};
const std::string stsb_columns = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2";
const std::string mnli_columns =
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2";
const std::string mnli_dev_columns = mnli_columns + "\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n";
const std::vector<Set> sets = {
    {"sst", course,
     {{"ids-sst-train.csv", "\tid\tsentence\tsentiment\n", train},
      {"ids-sst-dev.csv", "\tid\tsentence\tsentiment\n", dev},
      {"ids-sst-test-student.csv", "0\t\tid\tsentence\n", test}}},
    {"quora", course,
     {{"quora-train.csv", "\tid\tsentence1\tsentence2\tis_duplicate\n", train},
      {"quora-dev.csv", "\tid\tsentence1\tsentence2\tis_duplicate\n", dev},
      {"quora-test-student.csv", "\tid\tsentence1\tsentence2\n", test}}},
    {"sts", course,
     {{"sts-train.csv", "\tid\tsentence1\tsentence2\tsimilarity\n", train},
      {"sts-dev.csv", "\tid\tsentence1\tsentence2\tsimilarity\n", dev},
      {"sts-test-student.csv", "\tid\tsentence1\tsentence2\n", test}}},
    {"mrpc", mrpc,
     {{"glue/MRPC/train.tsv", "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n", train,
       "glue/MRPC/msr_paraphrase_train.txt"},     // older names of these two files, which keep their rows the same
      {"glue/MRPC/dev.tsv", "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n", dev,
       "glue/MRPC/msr_paraphrase_test.txt"},
      {"glue/MRPC/test.tsv", "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n", test}}},
    {"rte", rte,
     {{"glue/RTE/train.tsv", "index\tsentence1\tsentence2\tlabel\n", train},
      {"glue/RTE/dev.tsv", "index\tsentence1\tsentence2\tlabel\n", dev},
      {"glue/RTE/test.tsv", "index\tsentence1\tsentence2\n", test}}},
    {"cola", cola,
     {{"glue/CoLA/train.tsv", "", train},
      {"glue/CoLA/dev.tsv", "", dev},
      {"glue/CoLA/test.tsv", "index\tsentence\n", test}}},
    {"sst2", sst2,
     {{"glue/SST-2/train.tsv", "sentence\tlabel\n", train},
      {"glue/SST-2/dev.tsv", "sentence\tlabel\n", dev},
      {"glue/SST-2/test.tsv", "index\tsentence\n", test}}},
    {"sts", stsb,
     {{"glue/STS-B/train.tsv", stsb_columns + "\tscore\n", train},
      {"glue/STS-B/dev.tsv", stsb_columns + "\tscore\n", dev},
      {"glue/STS-B/test.tsv", stsb_columns + "\n", test}}},
    {"qnli", rte,                                  // QNLI's rows are laid out as RTE's
     {{"glue/QNLI/train.tsv", "index\tquestion\tsentence\tlabel\n", train},
      {"glue/QNLI/dev.tsv", "index\tquestion\tsentence\tlabel\n", dev},
      {"glue/QNLI/test.tsv", "index\tquestion\tsentence\n", test}}},
    {"mnli", mnli_stories,
     {{"glue/MNLI/train.tsv", mnli_columns + "\tlabel1\tgold_label\n", train},
      {"glue/MNLI/dev_matched.tsv", mnli_dev_columns, dev},
      {"glue/MNLI/test_matched.tsv", mnli_columns + "\n", test}}},
    {"mnli-mm", mnli_news,
     {{"glue/MNLI/dev_mismatched.tsv", mnli_dev_columns, dev},
      {"glue/MNLI/test_mismatched.tsv", mnli_columns + "\n", test}}},
    {"phrasebank", phrasebank, {{"phrasebank/Sentences_AllAgree.txt", "", both}}}};

void write_set(const Grammar& grammar, const Set& set, const std::string& out, uint64_t seed) {
  const Cut cut = cut_lists(grammar, set.rules, seed), nothing;
  std::set<Fields> known;
  for (const File& file : set.files) {
    Writer writer(grammar, Random(seed, "mini/" + file.stream), file.split == train ? cut : nothing);
    std::string text = file.header;
    for (int number = 0; number < rows_of(file.split); ++number) {
      const Row row = draw_row(grammar, set.rules, writer, known);
      text += set.line(file.split, number, row, writer.random());
    }
    const std::filesystem::path path = std::filesystem::path(out) / file.name;
    make_folder(path.parent_path().string());
    write_file(path.string(), text);
  }
}

std::string corpus(const Grammar& grammar, uint64_t seed) {
  const Cut nothing;
  Writer writer(grammar, Random(seed, "mini/corpus.txt"), nothing);
  std::string text;
  while (text.size() < corpus_bytes) text += (text.empty() ? "" : "\n") + writer.write(grammar.rule("corpus")) + "\n";
  return text;
}

std::string readme(const Grammar& grammar, uint64_t seed) {
  return formatted(
      "# A generated world\n\n"
      "Written by `make-mini --seed {}` from `data/grammar.txt`; edit that file, not these.\n\n"
      "- `corpus.txt`: documents for pre-training, one paragraph a line, a blank line between documents. Each four\n"
      "  are a page: of one kind, two of them nearly alike (`pretrain --page 4`).\n"
      "- `ids-sst-*`, `quora-*`, `sts-*`: sentiment 0 to 4, question pairs, similarity 0 to 5, in the course's\n"
      "  columns.\n"
      "- `glue/MRPC`, `glue/RTE`, `glue/CoLA`: paraphrases, entailment, acceptability, in GLUE's columns.\n"
      "- `glue/SST-2`, `glue/STS-B`: two classes of sentiment, and similarity, in GLUE's columns.\n"
      "- `glue/QNLI`: questions with sentences that answer them or do not, in GLUE's columns.\n"
      "- `glue/MNLI`: pairs whose second text follows from the first, stays open or contradicts it, in GLUE's\n"
      "  columns: stories in train.tsv and the matched files, news in the mismatched ones.\n"
      "- `phrasebank`: {} sentences of companies in three classes, in the Financial PhraseBank's form: one file.\n\n"
      "{} training rows a set, {} to develop on and {} to test on; no row twice in a set. In {} % of the rows, of\n"
      "all files, the label is a wrong one: about {} % is the best accuracy there can be. Training files use {} % of\n"
      "each long list of words, the others all of it, and so does the corpus.\n",
      seed, phrasebank_rows, train_rows, dev_rows, dev_rows, grammar.percent("noise"), 100 - grammar.percent("noise"),
      grammar.percent("seen"));
}

}  // namespace

int main(int argc, char** argv) {
  std::string out = "data/mini", file = shipped("data/grammar.txt");
  int seed = 11711;
  CommandLine line("make-mini", "Makes the generated world: a corpus and sets of labeled sentences, from a grammar.");
  line.option("--grammar", file, "the grammar; its first lines explain how to edit it", "FILE");
  line.option("--out", out, "folder for the files", "DIR");
  line.option("--seed", seed, "of every random number", Range{0});
  line.closing("Writes corpus.txt, README.md and the files of the tasks.", {"--out build/mini"});
  line.parse(argc, argv);
  return run_program("make-mini", [&] {
    const Grammar grammar(file);
    make_folder(out);
    for (const Set& set : sets) write_set(grammar, set, out, uint64_t(seed));
    write_file(out + "/corpus.txt", corpus(grammar, uint64_t(seed)));
    write_file(out + "/README.md", readme(grammar, uint64_t(seed)));
    std::cout << out << ": " << train_rows << " training rows a set, and a corpus of " << corpus_bytes / 1000
              << " KB\n";
    return 0;
  });
}
