// How far single words go: regression on bags of word pieces, the yardstick for a network that
// reads word order.
//
//   bag_of_words --data data --vocab vocab.txt                   SST, Quora and STS
//   bag_of_words --data glue --tasks cola,mrpc,rte --model DIR   with the vocabulary of a model
#include <chrono>
#include <cstdio>
#include <iostream>

#include "minbert/checkpoint.h"
#include "minbert/metrics.h"
#include "runs/bag_of_words.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  std::string folder = "data", tasks = "sst,quora,sts", metric, vocab, model;
  int seed = 11711;
  bool skip_bad_rows = false;
  CommandLine line("bag_of_words",
                   "Regression on bags of word pieces: the yardstick for multitask's dev scores.");
  line.option("--data", folder,
              "folder with ids-sst-train.csv, ..., or with GLUE's RTE/train.tsv, ...", "DIR");
  line.option("--tasks", tasks, "tasks, separated by commas: " + task_names(), "LIST");
  line.option("--metric", metric, "metrics by which the best is chosen: mrpc=accuracy,stsb=pearson",
              "LIST");
  line.option("--vocab", vocab, "the vocabulary, one token a line", "FILE");
  line.option("--model", model, "instead: a model's folder, for its vocabulary", "DIR");
  line.option("--skip-bad-rows", skip_bad_rows, skip_bad_rows_help);
  line.option("--seed", seed, "of the order of the examples", Range{0});
  line.closing("Prints the dev scores of each task.",
               {"--data data/mini --model data/mini/bert", "--data data/mini/glue --tasks cola,rte "
                "--vocab data/mini/bert/vocab.txt"});
  line.parse(argc, argv, "--model data/mini/bert --data data/mini");
  return run_program("bag_of_words", [&] {
    MB_CHECK(vocab.empty() != model.empty(), "give --vocab FILE or --model DIR; see --help");
    const std::vector<Task> list_of_tasks = parse_tasks(tasks, metric, "", folder);
    check_files(folder, list_of_tasks);
    const Tokenizer tokenizer =
        vocab.empty() ? Tokenizer::from_folder(model_folder(model)) : Tokenizer::from_vocab(vocab);
    for (const Task& task : list_of_tasks) {
      const auto start = std::chrono::steady_clock::now();
      const BagSets sets = read_bags(folder, task, tokenizer, {.skip_bad_rows = skip_bad_rows}, std::cerr);
      const BagResult best = bag_of_words(task, sets, tokenizer.size(), uint64_t(seed));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      const std::vector<Measure> list = measures(task);
      for (size_t i = 0; i < list.size(); ++i) {
        const auto score = best.dev.empty() ? std::nullopt : best.dev[i];
        std::printf("  %-11sdev %-9s%-*s", title_of(task, list[i].set).c_str(),
                    metric_name(list[i].metric), i == 0 ? 10 : 0, score_text(score).c_str());
        if (i == 0)
          std::printf("(%s, weight decay %g, epoch %d; %.1f s)", best.mean ? "shares" : "counts",
                      best.weight_decay, best.epoch, seconds.count());
        std::puts("");
      }
      std::fflush(stdout);
    }
    return 0;
  });
}
