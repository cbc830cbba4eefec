// The tables of training options, and the options that a run folder remembers.
#include "train/cli/command_line.h"

#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "engine/names.h"
#include "engine/process.h"
#include "engine/ranks.h"
#include "minbert/checkpoint.h"
#include "minbert/files.h"
#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "minbert/task.h"
#include "minbert/vocabulary.h"
#include "train/cli/train_mode.h"
#include "train/sources.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

// They say what this start of the program does; the run does not remember them.
const std::set<std::string> of_this_start = {"--out",     "--resume", "--evaluate",
                                             "--profile", "--trace",  "--check-nan"};
// A resumed run may be given another value of these: they do not change what is learnt.
const std::set<std::string> may_differ = {"--threads", "--device", "--matmul", "--save-every",
                                          "--recompute", "--skip-bad-rows", "--record"};
// What stands in the folder of a run that made neither step nor model: an option was wrong.
const std::set<std::string> before_a_run = {"lock", "options.json", "run.json", "yardsticks.json"};
const std::string started_in = "started in";        // of options.json: the folder of that start

bool is_place(const std::string& option) { return std::ranges::count(place_options, option) > 0; }

std::string options_file(const std::string& folder) { return folder + "/options.json"; }

void add_network_options(OptionTable& table, RunOptions& o) {
  table.add({
      {"--config", &o.config,
       "or a new network: tiny, mini, small, base, large, narrow-1 to wide-5, or its config.json",
       "NAME"},
      {"--vocab", &o.vocab,
       "of a new network: its vocab.txt, or a folder with vocab.json and merges.txt", "FILE"},
      {"--cased", &o.cased, "of a new network: its vocabulary keeps capitals and accents"}});
}

void add_norm_options(OptionTable& table, RunOptions& o) {
  const std::string of_one =
      o.norm == "layer" ? "" : formatted("; {}: {}, for one task layer", o.norm, o.norm);
  table.add({
      {"--norm", &o.norm, "normalization of the hidden states" + of_one, &norms()},
      {"--placement", &o.placement, "where the norms of a layer stand"}});
}

}  // namespace

void add_learn_options(OptionTable& table, RunOptions& o, const std::string& default_lr) {
  table.add({
      {"--batch", &o.batch, "examples in a batch", Range{1}},
      {"--accumulate", &o.accumulate,
       "batches that make one step: its loss is the mean over their examples", Range{1}},
      {"--shards", &o.shards,
       "parts of a batch whose gradients are summed, a power of two; mpirun's ranks share them; "
       "0: one for each rank, as norms over the batch need it", Range{0}},
      {"--optimizer", &o.optimizer, "adamw-course has the course's bias correction"},
      {"--lr", &o.lr, "learning rate; 0: " + default_lr, Range{0}},
      {"--rate", &o.rate,
       "factors on it, for parameters in whose names a regular expression is found: "
       "task_weight=30,embeddings=0.1; 1 each", "LIST"},
      {"--momentum", &o.momentum, "of sgd", Range{0, 0.999}},
      {"--weight-decay", &o.weight_decay, "decoupled in adamw; not on biases and norms", Range{0}},
      {"--clip", &o.clip, "largest norm of the gradient; 0: off", Range{0}},
      {"--warmup", &o.warmup, "share of the steps over which the learning rate rises", Range{0, 1}},
      {"--schedule", &o.schedule, "after the warm-up; linear falls to 0"}});
}

void add_machine_options(OptionTable& table, MachineOptions& o) {
  table.add({
      {"--device", &o.device, "what it runs on"},
      {"--matmul", &o.matmul,
       "matrix products on a GPU, from exact to fast; on the CPU tf32 is fp32, and bf16 needs "
       "AVX512-BF16 or AMX"},
      {"--threads", &o.threads, "threads; 0: all cores, shared among the ranks of a host",
       Range{0, 1024}}});
}

void add_run_options(OptionTable& table, RunOptions& o) {
  table.add({
      {"--seed", &o.seed, "of every random number", Range{0}},
      {"--out", &o.out, "folder for the results; must be new or empty, unless --resume", "DIR"},
      {"--resume", &o.resume, "go on with the run in --out, with its options"},
      {"--save-every", &o.save_every,
       "minutes from one save to the next, at most; 0: only after an epoch, or an evaluation",
       Range{0}}});
  add_machine_options(table, o);
  table.add({
      {"--record", &o.record,
       "every N-th step measure the input, the gradient and the gain of every norm: sites.csv, and "
       "a picture; 0: never", Range{0}},
      {"--recompute", &o.recompute,
       "less memory, a third more time: a layer keeps its input alone, and runs again in backward"},
      {"--check-nan", &o.check_nan, "stop at the first operation that produces a NaN"},
      {"--profile", &o.profile,
       "print calls, time, GFLOP/s and bytes of every operation at the end"},
      {"--trace", &o.trace, "print the tape of the first step: names and shapes"}});
}

void add_train_options(OptionTable& table, TrainOptions& o) {
  table.section("Where it starts");
  table.add({
      {"--model", &o.model, "a Hugging Face folder, of a BERT or a RoBERTa, to fine-tune", "DIR"},
      {"--from-scratch", &o.from_scratch,
       "the sizes and vocabulary of --model, with new weights; with --compare: that too, for "
       "comparison"}});
  add_network_options(table, o);

  table.section("What it learns");
  table.add({
      {"--data", &o.data, "folder with ids-sst-train.csv, ..., or with GLUE's RTE/train.tsv, ...",
       "DIR"},
      {"--tasks", &o.tasks, "tasks, separated by commas: " + task_names(), "LIST"},
      {"--metric", &o.metric, "metrics that choose the best epoch: mrpc=accuracy,stsb=pearson",
       "LIST"},
      {"--task-weights", &o.task_weights, "weights of the tasks' losses: sst=2,sts=0.5; 1 each",
       "LIST"},
      {"--limit", &o.limit, "only N rows of each file, evenly spaced; 0: all", Range{0}},
      {"--skip-bad-rows", &o.skip_bad_rows, skip_bad_rows_help}});
  add_norm_options(table, o);
  table.add({
      {"--cls-norm", &o.cls_norm, "normalization of [CLS]", &cls_norms()},
      {"--cls-norm-at", &o.cls_norm_at, "where --cls-norm and --grad-norm stand"},
      {"--grad-norm", &o.grad_norm,
       "gradient normalization of [CLS], of this strength; 0: off", Range{0}},
      {"--pairs", &o.pairs, "pairs as one sequence, or as two compared"},
      {"--pool", &o.pool,
       "what a head reads: the pooler's output, [CLS], or the mean of all tokens"},
      {"--train,--fine-tune-mode", &o.train_mode,
       "what is trained beside the heads: " + train_modes(), "MODE"}});

  table.section("How it learns");
  table.add({
      {"--epochs", &o.epochs, "passes over the data; 0 writes the initial model", Range{0}},
      {"--max-length", &o.max_length, "longer inputs are cut to this many tokens", Range{3}},
      {"--sampling", &o.sampling,
       "order of the tasks' batches in an epoch; the dev scores are taken at its end, when "
       "sequential has trained other tasks since"},
      {"--no-shuffle", &o.no_shuffle, "examples in the order of the file"}});
  add_learn_options(table, o, "1e-5, or 1e-3 where a part is trained");
  table.add({
      {"--dropout", &o.dropout, "before the heads", Range{0, 0.999}},
      {"--encoder-dropout", &o.encoder_dropout,
       "inside the encoder; -1: as the model's config.json has it", Range{-1, 0.999}},
      {"--patience", &o.patience, "stop after N epochs without a better dev score; 0: never",
       Range{0}}});

  table.section("Runs");
  table.add({
      {"--seeds", &o.seeds, "repeat with N seeds: seed, seed+1, ...", Range{1}},
      {"--compare", &o.compare,
       "train with layer and with conditional-layer under the same seeds; print both"},
      {"--evaluate", &o.evaluate,
       "print the dev scores of the run in --out, on its --tasks or on these, and stop"}});
  add_run_options(table, o);
}

void add_pretrain_options(OptionTable& table, PretrainOptions& o) {
  table.section("What it reads");
  table.add({
      {"--corpus", &o.corpus,
       "plain text: a paragraph a line, a blank line between documents", "FILE"},
      {"--max-length", &o.max_length, "tokens of a sequence", Range{5}},
      {"--whole-words", &o.whole_words, "mask all pieces of a word together"},
      {"--no-nsp", &o.no_nsp, "masked words alone, without next-sentence prediction"},
      {"--page", &o.page,
       "documents that stand together, and are alike: half of the foreign next sentences are of "
       "the same page", Range{1}},
      {"--held-out", &o.held_out,
       "share of the text that is kept for evaluation, 1 MB at most", Range{0, 0.5}}});

  table.section("Where it starts");
  table.add({
      {"--init", &o.init, "a Hugging Face folder, or a run's, to go on from with its vocabulary",
       "DIR"}});
  add_network_options(table, o);
  table.add({
      {"--vocab-size", &o.vocab_size,
       "instead of --vocab: make one of N tokens from the corpus; 0: none", Range{0}},
      {"--tokenizer", &o.tokenizer,
       "of --vocab-size: wordpiece, for a BERT; bpe, for a RoBERTa, which learns masked words "
       "alone"}});
  add_norm_options(table, o);

  table.section("How it learns");
  table.add({{"--steps", &o.steps, "optimizer steps", Range{1}}});
  add_learn_options(table, o, "learn nothing");
  table.add({
      {"--dropout", &o.dropout, "in the encoder; -1: as config.json has it", Range{-1, 0.999}},
      {"--evaluate-every", &o.evaluate_every,
       "steps between two evaluations, each with a checkpoint", Range{1}},
      {"--f16", &o.f16, "write model.safetensors in 16 bits: half the size"}});

  table.section("Runs");
  add_run_options(table, o);
}

BertConfig start_config(const std::string& folder, const RunOptions& o) {
  return folder.empty() ? BertConfig::named(o.config)
                        : BertConfig::load(model_folder(folder) + "/config.json");
}

void set_dropout(BertConfig& config, double p, const char* option) {
  MB_CHECK(p >= 0 || p == -1, "{} {}: expected 0 or more, or -1 for that of config.json", option,
           p);
  if (p >= 0) config.hidden_dropout_prob = config.attention_probs_dropout_prob = p;
}

void configure(BertConfig& config, const RunOptions& o) {
  config.set_norm(o.norm);
  config.placement = o.placement;
  if (o.recompute) check_recompute(config);
  MB_CHECK(!o.recompute || o.record == 0,
           "--record: --recompute keeps no input of a layer's norms; leave one of them out");
}

namespace {

std::map<std::string, std::string> settings_in(const OptionTable& table) {
  for (const Option& option : table.options()) option.set(option.text());          // or its Error
  std::map<std::string, std::string> settings = table.values();
  std::erase_if(settings, [](const auto& setting) {
    const std::string& name = setting.first;
    return of_this_start.contains(name) || may_differ.contains(name) || name == "--seeds" ||
           name == "--compare";
  });
  return settings;
}

}  // namespace

std::map<std::string, std::string> settings_of(TrainOptions options) {
  OptionTable table;
  add_train_options(table, options);
  return settings_in(table);
}
std::map<std::string, std::string> settings_of(PretrainOptions options) {
  OptionTable table;
  add_pretrain_options(table, options);
  return settings_in(table);
}

void use_machine(const MachineOptions& o) {
  const int cores = std::max(1, usable_cores() / ranks().on_this_host());
  if (o.threads > 0 || ranks().size() > 1) omp_set_num_threads(o.threads > 0 ? o.threads : cores);
  set_default_device(o.device);
  set_matmul_precision(o.matmul);
  if (device_text() != "cpu") std::cerr << device_text() << '\n';
}

std::optional<FolderLock> begin_run(CommandLine& line, const RunOptions& o, Start start,
                                    const std::set<std::string>& others) {
  const bool fresh = start == Start::fresh;
  for (const char* source : {"--model", "--init"})
    for (const char* own : {"--config", "--tokenizer"})
      MB_CHECK(!line.given(source) || !line.given(own),
               "{} brings its own network and vocabulary; leave out {}", source, own);
  if (!fresh) recall_options(line, o.out, others);
  use_machine(o);
  set_check_nan(o.check_nan);                       // for --evaluate, too
  // The run remembers its shards, so that it can go on with another number of ranks.
  if (o.shards == 0) line.set("--shards", std::to_string(ranks().size()));
  std::optional<FolderLock> lock;
  if (!ranks().first() || start == Start::look) return lock;
  MB_CHECK(!fresh || is_free(o.out, before_a_run),
           "--out {}: exists already. Go on with it by --resume, or choose another folder", o.out);
  make_folder(o.out);
  lock.emplace(o.out);
  MB_CHECK(!fresh || is_free(o.out, before_a_run),
           "--out {}: another run was made there just now; choose another folder", o.out);
  return lock;
}

void remember_options(const OptionTable& table, const std::string& folder) {
  if (!ranks().first()) return;
  Json stored = Json::object();
  for (const auto& [name, value] : table.values()) stored.set(name, value);
  stored.set(started_in, fs::current_path().string());
  write_file(options_file(folder), stored.dump() + "\n");
}

namespace {
// The places that an option names, as seen from here: they are relative to the folder in which the
// run was started.
std::string from_here(const Option& option, const std::string& value, const fs::path& started) {
  const bool tasks = option.name() == "--tasks";     // some are files
  const std::string mask = option.name() == "--train" && value.starts_with("mask:") ? "mask:" : "";
  if (!tasks && mask.empty() && !is_place(option.name()) && option.name() != "--config")
    return value;
  std::vector<std::string> places = {value.substr(mask.size())};
  if (tasks || option.is_words()) places = split(value);
  std::error_code none;
  for (std::string& place : places)
    if (!place.empty() && (!tasks || place.find_first_of("./") != place.npos) &&
        !fs::equivalent(started, ".", none) && fs::exists(started / place, none))
      place = (started / place).lexically_normal().string();
  return mask + joined(places, ",");
}
}  // namespace

void recall_options(CommandLine& line, const std::string& folder,
                    const std::set<std::string>& others) {
  const std::string file = options_file(folder);
  MB_CHECK(fs::exists(file), "--out {}: there is no run: {} is missing", folder, file);
  std::string conflicts;
  const Json stored = Json::load(file);
  const std::string none;
  for (const auto& [name, value] : stored.members()) {
    if (of_this_start.contains(name) || name == started_in) continue;
    if (!line.given(name))
      line.set(name, from_here(line.find(name), value.string(), stored.get(started_in, none)));
    else if (const std::string now = line.find(name).text();
             now != value.string() && !may_differ.contains(name) && !is_place(name) &&
             !others.contains(name))
      conflicts +=
          formatted("\n  {} {}, but the run was started with {}", name, now, value.string());
  }
  MB_CHECK(conflicts.empty(), "these options contradict {}; leave them out:{}", file, conflicts);
}

int64_t peak_memory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;           // Linux counts in KiB
}

}  // namespace minbert
