// The table of training options.
#include "minbert/train_options.h"

#include <omp.h>

#include <iostream>

#include "minbert/bert.h"
#include "minbert/names.h"
#include "minbert/norm.h"
#include "minbert/optimizer.h"
#include "minbert/tasks.h"

namespace minbert {

void add_norm_options(CommandLine& line, std::string& norm, std::string& placement) {
  line.norm("--norm", norm, norms(), "normalization of the hidden states");
  line.choice("--placement", placement, placement_names, "where the norms of a layer stand");
}

void add_learn_options(CommandLine& line, LearnOptions& o, const std::string& default_lr) {
  line.choice("--initialisation", o.initialisation, initialisation_names, "how new weights are drawn");
  line.option("--initializer-range", o.initializer_range, 0, "of normal and uniform; 0: as config.json has it");
  line.option("--batch", o.batch, 1, "examples in a batch");
  line.option("--accumulate", o.accumulate, 1, "batches that make one step: its loss is the mean over their examples");
  line.choice("--optimizer", o.optimizer, optimizer_names,
              "adamw-course has the course's bias correction");
  line.option("--lr", o.lr, 0, "learning rate; 0: " + default_lr);
  line.option("--momentum", o.momentum, 0, "of sgd", 0.999);
  line.option("--weight-decay", o.weight_decay, 0, "decoupled; not on biases and norms");
  line.option("--clip", o.clip, 0, "largest norm of the gradient; 0: off");
  line.option("--warmup", o.warmup, 0, "share of the steps over which the learning rate rises", 1);
  line.choice("--schedule", o.schedule, schedule_names, "after the warm-up: linear falls to 0");
}

void add_machine_options(CommandLine& line, MachineOptions& o) {
  line.choice("--device", o.device, device_names(), "what it runs on");
  line.choice("--matmul", o.matmul, precision_names(), "matrix products on a GPU, from exact to fast");
  line.option("--threads", o.threads, 0, "threads; 0: all cores", 1024);
}

void add_run_options(CommandLine& line, RunOptions& o) {
  line.option("--seed", o.seed, 0, "of every random number");
  line.option("--out", o.out, "folder for the results; must be new or empty, unless --resume", "DIR");
  line.flag("--resume", o.resume, "go on with the run in --out, with its options");
  line.option("--save-every", o.save_every, 0,
              "minutes from one save to the next, at most; 0: only after an epoch, or an evaluation");
  add_machine_options(line, o);
  line.flag("--check-nan", o.check_nan, "stop at the first operation that produces a NaN");
  line.flag("--profile", o.profile, "print calls, time, GFLOP/s and bytes of every operation at the end");
  line.flag("--trace", o.trace, "print the tape of the first step: names and shapes");
}

void add_train_options(CommandLine& line, TrainOptions& o) {
  line.section("Where it starts");
  line.option("--model", o.model,
              "a Hugging Face folder (config.json, vocab.txt, model.safetensors) to fine-tune", "DIR");
  line.flag("--from-scratch", o.from_scratch,
            "the sizes and vocabulary of --model, with new weights; with --compare: that too, for comparison");
  line.option("--config", o.config,
              "without --model: a new network: tiny, mini, small, base, large, or its config.json", "NAME");
  line.option("--vocab", o.vocab, "without --model: its vocabulary, one token a line", "FILE");
  line.flag("--cased", o.cased, "the vocabulary is cased; decides where tokenizer_config.json does not");

  line.section("What it learns");
  line.option("--data", o.data, "folder with ids-sst-train.csv, ..., or with GLUE's RTE/train.tsv, ...", "DIR");
  line.option("--tasks", o.tasks, "tasks, separated by commas: " + task_names(), "LIST");
  line.option("--metric", o.metric, "metrics that choose the best epoch: mrpc=accuracy,stsb=pearson", "LIST");
  line.option("--task-weights", o.task_weights, "weights of the tasks' losses: sst=2,sts=0.5; 1 each", "LIST");
  line.option("--limit", o.limit, 0, "only the first N rows of each file; 0: all");
  add_norm_options(line, o.norm, o.placement);
  line.norm("--cls-norm", o.cls_norm, cls_norms(), "normalization of [CLS]");
  line.choice("--cls-norm-at", o.cls_norm_at, {"per-method", "pre-pooler", "pooled"},
              "where --cls-norm and --grad-norm stand");
  line.gone("--iso-bn-preset", "ours", "--cls-norm iso-bn:preset=NAME");
  line.gone("--iso-bn-beta", "0", "--cls-norm iso-bn:beta=X");
  line.option("--grad-norm", o.grad_norm, 0, "gradient normalization of [CLS], of this strength; 0: off");
  line.choice("--pairs", o.pairs, {"cross", "siamese"}, "pairs as one sequence, or as two compared");
  line.choice("--fine-tune-mode", o.fine_tune_mode, {"full-model", "last-linear-layer"},
              "train everything, or the heads alone");
  line.alias("--option", "--fine-tune-mode", {{"finetune", "full-model"}, {"pretrain", "last-linear-layer"}},
             "the course's older spelling of --fine-tune-mode");

  line.section("How it learns");
  line.option("--epochs", o.epochs, 0, "passes over the data; 0 writes the initial model");
  line.option("--max-length", o.max_length, 3, "longer inputs are cut to this many tokens");
  line.choice("--sampling", o.sampling, sampling_names(),
              "order of the tasks' batches in an epoch");
  line.flag("--no-shuffle", o.no_shuffle, "examples in the order of the file");
  add_learn_options(line, o, "1e-5, or 1e-3 for the heads alone");
  line.option("--dropout", o.dropout, 0, "before the heads", 0.999);
  line.option("--encoder-dropout", o.encoder_dropout, -1, "inside the encoder; -1: as config.json has it",
              0.999);
  line.option("--patience", o.patience, 0, "stop after N epochs without a better dev score; 0: never");

  line.section("Runs");
  line.option("--seeds", o.seeds, 1, "repeat with N seeds: seed, seed+1, ...");
  line.flag("--compare", o.compare,
            "train with layer and with conditional-layer under the same seeds; print both");
  line.flag("--evaluate", o.evaluate, "print the dev scores of the run in --out, on its --tasks or on these, and stop");
  add_run_options(line, o);
}

void use_machine(const MachineOptions& o) {
  if (o.threads > 0) omp_set_num_threads(o.threads);
  set_default_device(o.device), set_matmul_precision(o.matmul);
  if (o.device != "cpu") std::cerr << device_text() << '\n';
}

}  // namespace minbert
