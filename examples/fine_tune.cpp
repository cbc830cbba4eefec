// Fine-tuning, whole: the loop of multitask without what a run needs around it (tables,
// saving, going on, figures).
//
//   $ fine_tune --model bert-base-uncased --data data --tasks sst --lr 2e-5 --out runs/sst
//
// OUT/model is the model of the last epoch: byte for byte that of multitask with these options,
// --norm layer and --clip 1, where the last epoch is its best.
#include <iostream>

#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "minbert/shipped.h"
#include "minbert/trainer.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  std::string folder = shipped("data/mini/bert"), data = shipped("data/mini");
  std::string list = "sst,quora,sts", out = "runs/fine_tune";
  int epochs = 3, batch = 8, seed = 11711;
  double lr = 1e-5;
  bool skip_bad_rows = false;
  CommandLine line("fine_tune", "Fine-tunes a BERT or RoBERTa on one or several tasks.");
  line.option("--model", folder, "a Hugging Face folder to fine-tune", "DIR");
  line.option("--data", data,
              "folder with ids-sst-train.csv, ..., or with GLUE's RTE/train.tsv, ...", "DIR");
  line.option("--tasks", list, "tasks, separated by commas: " + task_names(), "LIST");
  line.option("--skip-bad-rows", skip_bad_rows, skip_bad_rows_help);
  line.option("--epochs", epochs, "passes over the data", Range{0});
  line.option("--batch", batch, "examples in a batch", Range{1});
  line.option("--lr", lr, "learning rate", Range{0});
  line.option("--seed", seed, "of every random number", Range{0});
  line.option("--out", out, "the model goes to DIR/model", "DIR");
  line.closing("Writes the model of the last epoch to OUT/model.",
               {"--model data/mini/bert --data data/mini --tasks sst --lr 3e-4 --out runs/sst"});
  line.parse(argc, argv, "--model data/mini/bert --data data/mini --epochs 1 --batch 16 --lr 3e-4");

  return run_program("fine_tune", [&] {
    const std::string used = "there is something in it already; give a new folder";
    MB_CHECK(is_free(out), "--out {}: {}", out, used);
    make_folder(out);
    const FolderLock lock(out);                     // no other run writes there
    MB_CHECK(is_free(out), "--out {}: {}", out, used);
    const std::vector<Task> tasks = parse_tasks(list, "", "", data);
    check_files(data, tasks);
    Model model =
        Model::from_pretrained(folder, tasks, {.seed = uint64_t(seed), .head_dropout = 0.3});
    const BertConfig& config = model.network.bert().config();
    const Tokenizer tokenizer = tokenizer_of(model_folder(folder), config);

    const DatasetOptions reading{.max_length = config.max_length, .skip_bad_rows = skip_bad_rows};
    std::vector<Dataset> train, dev;
    std::vector<TaskSize> sizes;
    for (const Task& task : tasks) {
      train.push_back(read_set(data, task, Split::train, 0, tokenizer, reading, std::cerr));
      dev.push_back(read_set(data, task, Split::dev, 0, tokenizer, reading, std::cerr));
      sizes.push_back({task.name, int64_t(train.back().examples.size())});
    }

    Optimizer optimizer(model.parameters, {.kind = OptimizerKind::adamw});
    DropoutClock::current() = {uint64_t(seed), 0};
    for (int epoch = 0; epoch < epochs; ++epoch) {
      model.network.train();
      for (const auto& [t, examples] :
           epoch_batches(sizes, epoch, {.batch = batch, .seed = uint64_t(seed)})) {
        const auto [input, labels] = labeled(train[t], examples, {t});
        const Tensor logits = model.network.forward(input, t);
        const Tensor loss = task_loss(tasks[t], logits, labels);
        backward(loss);
        optimizer.clip(1);
        optimizer.step(lr);
      }
      std::cout << "epoch " << epoch + 1;
      for (size_t t = 0; t < tasks.size(); ++t)
        std::cout << "   " << tasks[t].name << " dev " << metric_name(tasks[t].metrics[0]) << ' '
                  << score_text(
                         scores(tasks[t], dev[t], predict(model.network, tasks[t], dev[t]))[0]);
      std::cout << std::endl;
    }
    save_model(out + "/model", config, tokenizer, model.parameters);
    std::cout << "the model is in " << out << "/model\n";
    return 0;
  });
}
