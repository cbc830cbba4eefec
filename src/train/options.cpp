// The tables of training options, and the options that a run folder remembers.
#include "train/command_line.h"

#include <omp.h>
#include <sys/resource.h>

#include <filesystem>
#include <iostream>

#include "engine/process.h"
#include "engine/ranks.h"
#include "minbert/bert.h"
#include "minbert/files.h"
#include "minbert/norm.h"
#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "minbert/task.h"
#include "minbert/tokenizer.h"
#include "minbert/vocabulary.h"
#include "train/train_mode.h"

namespace minbert {
namespace {

// They say what this start of the program does; the run does not remember them.
const std::set<std::string> of_this_start = {"--out", "--resume", "--evaluate", "--profile", "--trace", "--check-nan"};
// A resumed run may be given another value of these: they do not change what is learnt.
const std::set<std::string> may_differ = {"--threads", "--device", "--matmul", "--save-every", "--recompute"};

std::string options_file(const std::string& folder) { return folder + "/options.json"; }

// pretrained: the option that brings a network.
void add_network_options(CommandLine& line, RunOptions& o, const std::string& pretrained) {
  line.option("--config", o.config, "without " + pretrained +
              ": a new network: tiny, mini, small, base, large, narrow-1 to wide-5, or its config.json", "NAME");
  line.option("--vocab", o.vocab,
              "without " + pretrained + ": its vocab.txt, or a folder with vocab.json and merges.txt", "FILE");
  line.flag("--cased", o.cased, "the vocabulary is cased; decides where tokenizer_config.json does not");
}

void add_norm_options(CommandLine& line, RunOptions& o) {
  line.norm("--norm", o.norm, norms(), "normalization of the hidden states");
  line.choice("--placement", o.placement, placement_names, "where the norms of a layer stand");
}

}  // namespace

void add_learn_options(CommandLine& line, RunOptions& o, const std::string& default_lr) {
  std::vector<std::string> initialisations = initialisation_names;
  initialisations.insert(initialisations.begin(), "config");
  line.choice("--initialisation", o.initialisation, initialisations,
              "how new weights are drawn; config: as config.json has it");
  line.option("--initializer-range", o.initializer_range, 0, "of normal and uniform; 0: as config.json has it");
  line.option("--batch", o.batch, 1, "examples in a batch");
  line.option("--accumulate", o.accumulate, 1, "batches that make one step: its loss is the mean over their examples");
  line.option("--shards", o.shards, 0, "parts of a batch whose gradients are summed, a power of two; mpirun's ranks "
              "share them; 0: one for each rank, as norms over the batch need it");
  line.choice("--optimizer", o.optimizer, optimizer_names, "adamw-course has the course's bias correction; one of");
  line.option("--lr", o.lr, 0, "learning rate; 0: " + default_lr);
  line.option("--momentum", o.momentum, 0, "of sgd", 0.999);
  line.option("--weight-decay", o.weight_decay, 0, "decoupled in adamw; not on biases and norms");
  line.option("--clip", o.clip, 0, "largest norm of the gradient; 0: off");
  line.option("--warmup", o.warmup, 0, "share of the steps over which the learning rate rises", 1);
  line.choice("--schedule", o.schedule, schedule_names, "after the warm-up; linear falls to 0; one of");
}

void add_machine_options(CommandLine& line, MachineOptions& o) {
  line.choice("--device", o.device, device_names(), "what it runs on");
  line.choice("--matmul", o.matmul, precision_names(), "matrix products on a GPU, from exact to fast");
  line.option("--threads", o.threads, 0, "threads; 0: all cores, shared among the ranks of a host", 1024);
}

void add_run_options(CommandLine& line, RunOptions& o) {
  line.option("--seed", o.seed, 0, "of every random number");
  line.option("--out", o.out, "folder for the results; must be new or empty, unless --resume", "DIR");
  line.flag("--resume", o.resume, "go on with the run in --out, with its options");
  line.option("--save-every", o.save_every, 0,
              "minutes from one save to the next, at most; 0: only after an epoch, or an evaluation");
  add_machine_options(line, o);
  line.flag("--recompute", o.recompute,
            "less memory, a third more time: a layer keeps its input alone, and runs again in backward");
  line.flag("--check-nan", o.check_nan, "stop at the first operation that produces a NaN");
  line.flag("--profile", o.profile, "print calls, time, GFLOP/s and bytes of every operation at the end");
  line.flag("--trace", o.trace, "print the tape of the first step: names and shapes");
}

void add_train_options(CommandLine& line, TrainOptions& o) {
  line.section("Where it starts");
  line.option("--model", o.model,
              "a Hugging Face folder, of a BERT or a RoBERTa, to fine-tune", "DIR");
  line.flag("--from-scratch", o.from_scratch,
            "the sizes and vocabulary of --model, with new weights; with --compare: that too, for comparison");
  add_network_options(line, o, "--model");

  line.section("What it learns");
  line.option("--data", o.data, "folder with ids-sst-train.csv, ..., or with GLUE's RTE/train.tsv, ...", "DIR");
  line.option("--tasks", o.tasks, "tasks, separated by commas: " + task_names(), "LIST");
  line.option("--metric", o.metric, "metrics that choose the best epoch: mrpc=accuracy,stsb=pearson", "LIST");
  line.option("--task-weights", o.task_weights, "weights of the tasks' losses: sst=2,sts=0.5; 1 each", "LIST");
  line.option("--limit", o.limit, 0, "only N rows of each file, evenly spaced; 0: all");
  add_norm_options(line, o);
  line.norm("--cls-norm", o.cls_norm, cls_norms(), "normalization of [CLS]");
  line.choice("--cls-norm-at", o.cls_norm_at, cls_norm_places, "where --cls-norm and --grad-norm stand");
  line.gone("--iso-bn-preset", "ours", "--cls-norm iso-bn:preset=NAME");
  line.gone("--iso-bn-beta", "0", "--cls-norm iso-bn:beta=X");
  line.option("--grad-norm", o.grad_norm, 0, "gradient normalization of [CLS], of this strength; 0: off");
  line.choice("--pairs", o.pairs, pair_names, "pairs as one sequence, or as two compared");
  line.option("--train,--fine-tune-mode,--option", o.train_mode, check_train_mode,
              "what is trained beside the heads: " + train_modes() + "; older: finetune = full-model, "
              "pretrain = last-linear-layer", "MODE");

  line.section("How it learns");
  line.option("--epochs", o.epochs, 0, "passes over the data; 0 writes the initial model");
  line.option("--max-length", o.max_length, 3, "longer inputs are cut to this many tokens");
  line.choice("--sampling", o.sampling, sampling_names(),
              "order of the tasks' batches in an epoch; the dev scores are taken at its end, "
              "when sequential has trained other tasks since");
  line.flag("--no-shuffle", o.no_shuffle, "examples in the order of the file");
  add_learn_options(line, o, "1e-5, or 1e-3 where a part is trained");
  line.option("--dropout", o.dropout, 0, "before the heads", 0.999);
  line.option("--encoder-dropout", o.encoder_dropout, -1, "inside the encoder; -1: as config.json has it", 0.999);
  line.option("--patience", o.patience, 0, "stop after N epochs without a better dev score; 0: never");

  line.section("Runs");
  line.option("--seeds", o.seeds, 1, "repeat with N seeds: seed, seed+1, ...");
  line.flag("--compare", o.compare,
            "train with layer and with conditional-layer under the same seeds; print both");
  line.flag("--evaluate", o.evaluate, "print the dev scores of the run in --out, on its --tasks or on these, and stop");
  add_run_options(line, o);
}

void add_pretrain_options(CommandLine& line, PretrainOptions& o) {
  line.section("What it reads");
  line.option("--corpus", o.corpus, "plain text: a paragraph a line, a blank line between documents");
  line.option("--max-length", o.max_length, 5, "tokens of a sequence");
  line.flag("--whole-words", o.whole_words, "mask all pieces of a word together");
  line.flag("--no-nsp", o.no_nsp, "masked words alone, without next-sentence prediction");
  line.option("--page", o.page, 1,
              "documents that stand together, and are alike: half of the foreign next sentences are of the same page");
  line.option("--held-out", o.held_out, 0, "share of the text that is kept for evaluation, 1 MB at most", 0.5);

  line.section("Where it starts");
  line.option("--init", o.init, "a Hugging Face folder, or a run's, to go on from with its vocabulary", "DIR");
  add_network_options(line, o, "--init");
  line.option("--vocab-size", o.vocab_size, 0, "instead of --vocab: make one of N tokens from the corpus");
  line.choice("--tokenizer", o.tokenizer, tokenizer_names,
              "of --vocab-size: wordpiece, for a BERT; bpe, for a RoBERTa, which learns masked words alone");
  add_norm_options(line, o);

  line.section("How it learns");
  line.option("--steps", o.steps, 1, "optimizer steps");
  add_learn_options(line, o, "learn nothing");
  line.option("--dropout", o.dropout, 0, "in the encoder", 0.999);
  line.option("--evaluate-every", o.evaluate_every, 1, "steps between two evaluations, each with a checkpoint");
  line.flag("--f16", o.f16, "write model.safetensors in 16 bits: half the size");

  line.section("Runs");
  add_run_options(line, o);
}

void configure(BertConfig& config, const RunOptions& o) {
  config.set_norm(o.norm);
  config.placement = o.placement;
  if (o.initialisation != "config") config.initialisation = o.initialisation;
  if (o.initializer_range > 0) config.initializer_range = o.initializer_range;
  MB_CHECK(!o.recompute || norms().find(config.norm).couples != Couples::batch,
           "--recompute: the norm {} moves its statistics each time it runs; leave --recompute out", config.norm);
}

namespace {

std::map<std::string, std::string> settings_in(const CommandLine& line, const RunOptions& o) {
  std::map<std::string, std::string> settings = line.values();
  std::erase_if(settings, [&](const auto& setting) {
    const std::string& name = setting.first;
    return of_this_start.contains(name) || may_differ.contains(name) || name == "--seeds" || name == "--compare" ||
           (name == "--shards" && o.shards <= 1);   // as runs from before there were shards
  });
  return settings;
}

}  // namespace

std::map<std::string, std::string> settings_of(TrainOptions options) {
  CommandLine line("run", "");
  add_train_options(line, options);
  return settings_in(line, options);
}
std::map<std::string, std::string> settings_of(PretrainOptions options) {
  CommandLine line("run", "");
  add_pretrain_options(line, options);
  return settings_in(line, options);
}

void use_machine(const MachineOptions& o) {
  const int cores = std::max(1, usable_cores() / ranks().on_this_host());
  if (o.threads > 0 || ranks().size() > 1) omp_set_num_threads(o.threads > 0 ? o.threads : cores);
  if (o.threads > cores)
    std::cerr << formatted("--threads {}: more than the {} cores that this process may use, where threads wait for "
                           "each other; --threads {} is likely faster\n", o.threads, cores, cores);
  if (ranks().size() > 1)
    std::cerr << formatted("{} ranks, {} of them on this host; threads of each: {}\n", ranks().size(),
                           ranks().on_this_host(), omp_get_max_threads());
  set_default_device(o.device);
  set_matmul_precision(o.matmul);
  if (o.device != "cpu") std::cerr << device_text() << '\n';
}

void begin_run(CommandLine& line, const RunOptions& o, bool again, const std::set<std::string>& others) {
  if (again) recall_options(line, o.out, others);
  use_machine(o);
  set_check_nan(o.check_nan);
  set_recompute(o.recompute);
  // The run remembers its shards, so that it can go on with another number of ranks. An older run has one.
  if (o.shards == 0) line.set("--shards", std::to_string(again ? 1 : ranks().size()));
  if (again) return;
  MB_CHECK(!o.out.empty(), "--out is empty; expected the name of a folder");
  std::error_code none;
  MB_CHECK(!std::filesystem::exists(o.out, none) || std::filesystem::is_empty(o.out, none),
           "--out {}: exists already. Go on with it by --resume, or choose another folder", o.out);
  ranks().wait();                                   // until all have looked
  make_folder(o.out);
}

void remember_options(const CommandLine& line, const std::string& folder) {
  if (!ranks().first()) return;
  Json stored = Json::object();
  for (const auto& [name, value] : line.values()) stored.set(name, value);
  write_file(options_file(folder), stored.dump() + "\n");
}

void recall_options(CommandLine& line, const std::string& folder, const std::set<std::string>& others) {
  const std::string file = options_file(folder);
  MB_CHECK(std::filesystem::exists(file), "--out {}: there is no run: {} is missing", folder, file);
  std::string conflicts;
  const Json stored = Json::load(file);
  for (const auto& [name, value] : stored.members()) {
    if (of_this_start.contains(name)) continue;
    if (!line.given(name)) line.set(name, value.string());
    else if (const std::string now = line.value(name);
             now != value.string() && !may_differ.contains(name) && !others.contains(name))
      conflicts += formatted("\n  {} {}, but the run was started with {}", name, now, value.string());
  }
  MB_CHECK(conflicts.empty(), "these options contradict {}; leave them out:{}", file, conflicts);
}

int64_t peak_memory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;           // Linux counts in KiB
}

}  // namespace minbert
