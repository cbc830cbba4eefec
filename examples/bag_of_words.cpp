// How far single words go: regression on bags of word pieces, the yardstick for a network that reads word order.
//
//   bag_of_words --data data --vocab vocab.txt                   SST, Quora and STS
//   bag_of_words --data glue --tasks cola,mrpc,rte --model DIR   with the vocabulary of a model
#include <chrono>
#include <cstdio>
#include <iostream>

#include "minbert/bag_of_words.h"
#include "minbert/metrics.h"
#include "minbert/options.h"

using namespace minbert;

namespace {

Dataset read(const Task& task, const std::string& folder, Split split, const Tokenizer& tokenizer) {
  LoadReport report;
  Dataset data = load_dataset(task, data_file(folder, task, split), tokenizer,
                              {.pairs = Pairs::siamese, .split = split}, report);
  std::cerr << report.text();
  return data;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = "data", tasks = "sst,quora,sts", vocab, model;
  int seed = 11711;
  CommandLine line("bag_of_words", "Regression on bags of word pieces: the yardstick for multitask's dev scores.");
  line.option("--data", folder, "folder with ids-sst-train.csv, ..., or with GLUE's RTE/train.tsv, ...", "DIR");
  line.option("--tasks", tasks, "tasks, separated by commas: " + task_names(), "LIST");
  line.option("--vocab", vocab, "the vocabulary, one token a line", "FILE");
  line.option("--model", model, "instead: a model's folder with its vocab.txt", "DIR");
  line.option("--seed", seed, 0, "of the order of the examples");
  line.parse(argc, argv);
  return run_program("bag_of_words", [&] {
    MB_CHECK(vocab.empty() != model.empty(), "give --vocab FILE or --model DIR; see --help");
    const Tokenizer tokenizer = vocab.empty() ? Tokenizer::from_folder(model) : Tokenizer::from_vocab(vocab);
    for (const Task& task : parse_tasks(tasks)) {
      const auto start = std::chrono::steady_clock::now();
      const Dataset train = read(task, folder, Split::train, tokenizer);
      const Dataset dev = read(task, folder, Split::dev, tokenizer);
      const BagResult best = bag_of_words(task, train, dev, tokenizer.size(), uint64_t(seed));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      std::printf("  %-11sdev %-9s%-10s(%s, weight decay %g, epoch %d; %.1f s)\n", task.title.c_str(),
                  metric_name(task.metric), score_text(best.dev).c_str(), best.mean ? "shares" : "counts",
                  best.weight_decay, best.epoch, seconds.count());
      std::fflush(stdout);
    }
    return 0;
  });
}
