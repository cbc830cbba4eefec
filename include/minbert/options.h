// The options of training runs with their defaults, and main() of a program.
// (src/train/cli/options.cpp has the options' help.)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/device.h"
#include "minbert/norm.h"
#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "minbert/vocabulary.h"

namespace minbert {

// What is trained beside the heads (TrainOptions::train_mode). Two more name what they take:
// "regex:PATTERN" every parameter in whose name it is found, "mask:FILE" single elements.
namespace trained {
// All of the model
inline const std::string full_model = "full-model";
// Nothing else
inline const std::string heads = "last-linear-layer";
// Every bias: Ben Zaken et al. 2021
inline const std::string bitfit = "bitfit";
// The LayerNorm of every layer's output [LN-PEFT sec.3.1]
inline const std::string layer_norm = "layer-norm";
// Every LayerNorm
inline const std::string every_layer_norm = "layer-norm:all";
// Elements drawn by the seed, as many as with layer_norm [LN-PEFT tab.2]
inline const std::string random = "random";
}  // namespace trained

// What a program runs on: use_machine() below sets it; train() and pretrain() do not.
struct MachineOptions {
  // Threads; 0: all cores, shared by the ranks of a host
  int threads = 0;
  Device device = Device::cpu;
  // Matrix products, from exact to fast; see device.h
  Precision matmul = Precision::tf32;
};

// What every training run has: its network, how that is learnt, how and where the run goes.
struct RunOptions : MachineOptions {
  // A new network: tiny, mini, small, base, large, ..., or the file of its config.json
  std::string config = "tiny";
  // Its vocabulary: a vocab.txt, or a folder with vocab.json and merges.txt
  std::string vocab;
  // Its vocabulary keeps capitals and accents
  bool cased = false;
  // The norm of the hidden states, with its options: "group:groups=8"; see norm.h
  std::string norm = "layer";
  // Where the norms of a layer stand
  Placement placement = Placement::post;

  // Examples in a batch
  int batch = 8;
  // Batches in a step, whose loss is the mean over their examples
  int accumulate = 1;
  // Longer inputs are cut to so many tokens
  int max_length = 512;
  // Parts of a batch whose gradients are summed, a power of two; 0: one for each rank
  int shards = 0;
  // See optimizer.h
  OptimizerKind optimizer = OptimizerKind::adamw;
  // How the learning rate goes on after the warm-up: it stays, or falls linearly to 0
  Schedule schedule = Schedule::constant;
  // The learning rate after the warm-up; 0: fine-tuning takes TrainOptions::learning_rate's, and
  // pre-training learns nothing
  double lr = 0;
  // Factors on it, of the parameters in whose names a pattern is found:
  // "task_weight|task_bias=30,embeddings=0.1"; the first that is found counts
  std::string rate;
  // The momentum of SGD, 0 to .999
  double momentum = 0;
  // The decay of all weights but biases and norms; with AdamW decoupled
  double weight_decay = 0;
  // The largest Euclidean norm of a step's gradient; 0: off
  double clip = 0;
  // The share of the steps in which the learning rate rises, 0 to 1
  double warmup = 0;

  // The seed of every random number
  int seed = 11711;
  // The folder of the results; new or empty, unless the run goes on
  std::string out;
  // Minutes from one save to the next, at most; 0: only after an epoch, or an evaluation
  double save_every = 10;
  // Go on with the run in `out`
  bool resume = false;
  // Steps from one in which an observer looks on (observer.h) to the next; 0: never
  int record = 0;
  // Layers keep their inputs alone, and run again in backward: less memory, a third more time
  bool recompute = false;
  // Stop at the first operation that produces a NaN
  bool check_nan = false;
  // Print calls, time, GFLOP/s and bytes of every operation at the end
  bool profile = false;
  // Print the tape of the first step
  bool trace = false;
};

// Fine-tuning on tasks.
struct TrainOptions : RunOptions {
  // A Hugging Face folder, or a run's; empty: a new network
  std::string model;
  // The folder with the tasks' files
  std::string data = "data";
  // Names of tasks, task files and tables, separated by commas
  std::string tasks = "sst,quora,sts";
  // Metrics that choose the best epoch: "mrpc=accuracy,stsb=pearson"; others: their task's first
  std::string metric;
  // Weights of the tasks' losses: "sst=2,sts=0.5"; others: 1
  std::string task_weights;
  // The sizes and vocabulary of `model`, with new weights
  bool from_scratch = false;
  // Go on without rows that cannot be used, however many
  bool skip_bad_rows = false;
  // Rows of each file, evenly spaced; 0: all
  int limit = 0;

  // The norm of [CLS], with its options; see norm.h
  std::string cls_norm = "none";
  // Where it stands
  ClsPlace cls_norm_at = ClsPlace::per_method;
  // The strength of [CLS]'s gradient normalization [TA sec.4.3]; 0: off
  double grad_norm = 0;
  // Two texts as one sequence, or as two
  Pairs pairs = Pairs::cross;
  // What a head reads
  Pool pool = Pool::pooler;
  // The order of the tasks' batches in an epoch
  Sampling sampling = Sampling::sequential;
  // What is trained beside the heads: see trained, above
  std::string train_mode = trained::full_model;
  // Passes over the data; 0 writes the initial model
  int epochs = 10;
  // Examples in the order of their files
  bool no_shuffle = false;
  // Dropout before the heads, 0 to .999
  double dropout = 0.3;
  // Dropout inside the encoder; -1: as config.json has it
  double encoder_dropout = -1;
  // Epochs without a better dev score, after which a run stops; 0: it never does
  int patience = 0;

  // What build/bin/multitask does with runs; train() makes one, and does not look
  // Runs with the seeds seed, seed+1, ...
  int seeds = 1;
  // Train with LayerNorm and with conditional LayerNorm
  bool compare = false;
  // Print the dev scores of the run in `out`, and stop
  bool evaluate = false;

  TrainOptions() { out = "runs/multitask"; }
  double learning_rate() const {
    return lr > 0 ? lr : train_mode == trained::full_model ? 1e-5 : 1e-3;
  }
};

// Pre-training on plain text.
struct PretrainOptions : RunOptions {
  // Files of plain text: a paragraph a line, a blank line between documents
  std::vector<std::string> corpus;
  // A Hugging Face folder, or a run's, to go on from with its vocabulary
  std::string init;
  // The kind of a vocabulary that is made of the corpus; bpe: for a RoBERTa
  VocabularyKind tokenizer = VocabularyKind::wordpiece;
  // Its tokens; 0: none is made
  int vocab_size = 0;
  // Neighbouring documents that form a page: half of the foreign next sentences come from the same
  // page; 1: no pages
  int page = 1;
  // Optimizer steps
  int steps = 10000;
  // Steps between two evaluations, each with a checkpoint
  int evaluate_every = 500;
  // Mask all pieces of a word together
  bool whole_words = false;
  // Masked words alone, without next-sentence prediction
  bool no_nsp = false;
  // Write model.safetensors in 16 bits
  bool f16 = false;
  // The share of the text that is kept for evaluation, 0 to .5; 1 MB at most
  double held_out = 0.01;
  // Dropout in the encoder, 0 to .999; -1: as config.json has it
  double dropout = -1;

  PretrainOptions() {
    batch = 64;
    max_length = 128;
    lr = 5e-4;
    warmup = 0.1;
    schedule = Schedule::linear;
    weight_decay = 0.01;
    clip = 1;
    out = "runs/pretrain";
  }
};

// Threads and default device; says on stderr what GPU it is. Error where there is none that can be
// used.
void use_machine(const MachineOptions& options);

// main() for a program: prints an exception as "program: message" on stderr and returns 1, or 130
// if it was interrupted; also where stdout could not be written. Where there are several ranks, the
// message names the rank, and all of them end.
int run_program(const std::string& program, const std::function<int()>& body);

}  // namespace minbert
