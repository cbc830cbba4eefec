// The tokenizer's speed, and the time to load a model: measured in this process, on one thread and on all.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "bench/workers.h"
#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/files.h"
#include "minbert/random.h"
#include "minbert/tokenizer.h"

namespace minbert::bench {
namespace {

namespace fs = std::filesystem;

template <class Work>
double best_of(int times, Work&& work) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Words of one to four syllables: the short ones are in the vocabulary, the long ones are made of pieces.
struct Invented {
  std::vector<std::string> vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ","};
  std::vector<std::string> lines;

  Invented() {
    std::vector<std::string> syllables;
    for (const char c : std::string("bcdfghklmnprstvw"))
      for (const std::string v : {"a", "e", "i", "o", "u", "an", "er", "is", "on"})
        syllables.push_back(c + v);
    for (const std::string& s : syllables) {
      vocabulary.insert(vocabulary.end(), {s, "##" + s});
      for (const std::string& t : syllables) vocabulary.push_back(s + t);
    }
    Random random(11711, "tokenizer");
    while (lines.size() < 40000) {
      std::string& line = lines.emplace_back();
      for (int word = 0; word < 25; ++word) {
        if (word) line += random.below(8) ? " " : ", ";
        const size_t begin = line.size();
        for (uint64_t left = 1 + random.below(2) + random.below(3); left > 0; --left)
          line += syllables[random.below(syllables.size())];
        if (random.below(7) == 0) line[begin] = char(line[begin] - 'a' + 'A');
      }
      line += random.below(10) ? "." : " caf\u00e9.";
    }
  }
};

void measure(const std::string& what, const Tokenizer& tokenizer, const std::vector<std::string>& lines,
             int goal = 10) {
  size_t bytes = 0, ids = 0;
  for (const std::string& line : lines) bytes += line.size() + 1;
  const double seconds = best_of(3, [&] {
    ids = 0;
    for (const std::string& line : lines) ids += tokenizer.encode(line).size();
  });
  std::printf("tokenizer      %-20s%6.1f MB/s  (goal %d; one thread, %.1f MB, %.2f bytes a token)\n",
              what.c_str(), double(bytes) / seconds * 1e-6, goal, double(bytes) * 1e-6,
              double(bytes) / double(ids));
}

}  // namespace

void tokenizer_speed() {
  const fs::path file = fs::temp_directory_path() / formatted("minbert-bench-vocab-{}.txt", getpid());
  const Invented invented;
  std::string text;
  for (const std::string& token : invented.vocabulary) text += token + "\n";
  write_file(file, text);
  measure("invented words", Tokenizer(file, true), invented.lines);
  fs::remove(file);

  const char* data = std::getenv("MINBERT_REAL_DATA");
  if (!data) return void(std::printf("tokenizer      real text: not run (MINBERT_REAL_DATA is not set)\n"));
  std::vector<std::string> lines;
  size_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(data) / "corpus")) {
    std::ifstream in(entry.path());
    for (std::string line; bytes < 20'000'000 && std::getline(in, line); bytes += line.size())
      lines.push_back(line);
  }
  for (const std::string form : {"uncased", "cased"}) {
    const std::string vocabulary = formatted("{}/vocab/bert-base-{}-vocab.txt", data, form);
    measure("Wikipedia, " + form, Tokenizer(vocabulary, form == "uncased"), lines);
  }
  measure("Wikipedia, BPE", Tokenizer::from_folder(data + std::string("/roberta")), lines, 20);
}

void load_time() {
  const fs::path file = fs::temp_directory_path() / formatted("minbert-bench-{}.safetensors", getpid());
  MultitaskBert model(BertConfig::named("base"), {{"sst", 5, false, false}}, 0.1);
  std::unique_ptr<Parameters> parameters;
  const Parameters::Options initial;
  const double draw = best_of(1, [&] { parameters = std::make_unique<Parameters>(model, initial); });
  save_weights(file, *parameters);
  const double load = best_of(5, [&] { load_weights(file, *parameters); });
  std::printf("load           BERT-base, %.0f MB   %6.2f s     (goal 0.5; warm disk cache)\n"
              "initial values BERT-base           %6.2f s\n", double(fs::file_size(file)) * 1e-6, load, draw);
  fs::remove(file);
}

}  // namespace minbert::bench
