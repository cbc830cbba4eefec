// The benchmark: minbert, PyTorch and OpenBLAS alone, side by side on the same work.
//
//   Step      forward, backward, clipping, AdamW over all parameters; dropout; 5 classes from pooled [CLS]
//   Pretrain  the same with BERT's two heads: 15 % of the tokens masked, the decoder tied to the 30,522 words and
//             computed at the masked places alone; next sentence
//   Encoder   the original Transformer's, of [NT model]: ReLU, no dropout, sentences of PhraseBank's lengths, plain SGD
//   Rounds    each program is a process of its own, and each round asks them in turn for the same batches, so
//             that a slow moment of the machine hits all. A round has as many steps as take half a second, as in
//             training: behind another program's turn the first step finds nothing in the caches. A share or ratio is
//             the median over the rounds; where two numbers stand behind it, its 95% interval (paired.h).
//   Against   --against FILE: another build of this benchmark beside this one, in pairs of blocks of steps
//   Work      6 x (weights of the layers' dense matrices) x (their rows: the tokens; behind the last layer's attention
//             [CLS] and the masked tokens alone); 2 x for a forward alone; pretrain: + 6 x (weights of decoder and
//             transform) x masked tokens. Attention's own products, the norms, the optimizer and so on count as no
//             work, though they take time. PyTorch computes every row of the last layer, as its modules do.
//   sgemm     the rate of the best of some large products; it is measured again in every round
//   Memory    the most that a process held in RAM, with all that it loads
//   PyTorch   torch_bench.py: as many threads, sentences padded to the batch's longest; eager, under torch.compile, and
//             with bf16 by autocast. Debian's has our OpenBLAS, that of a virtual environment its own library
//   bf16      minbert under --matmul bf16 where the processor has it; PyTorch's bf16 is then compared with that
//   Encode    encode.cpp: small batches, beside ONNX Runtime, too
//   Modes     modes.cpp; scaling.cpp, which --case scaling alone asks for
//   GPU       gpu.cpp has its own cases and table
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>

#include "bench/child.h"
#include "bench/common.h"
#include "bench/paired.h"
#include "bench/workers.h"
#include "engine/process.h"
#include "train/cli/command_line.h"
#include "train/cli/train_mode.h"

namespace minbert::bench {
namespace {

const Case cases[] = {
    {"base-16x128", "base", "train", 16, 128, 6, 0.88, 1.4, 0.61},
    {"base-8x64", "base", "train", 8, 64, 7, 0.82, 1.5, 0.75},
    {"base-real", "base", "train", 16, 0, 7, 0, 2.5, 0},
    {"mini-32x64", "mini", "train", 32, 64, 15, 0, 1.8, 0},
    {"mini-real", "mini", "train", 16, 0, 25, 0, 2.5, 0},
    {"tiny-32x64", "tiny", "train", 32, 64, 25, 0, 0, 0},
    {"pretrain-tiny", "tiny", "pretrain", 256, 64, 8, 0, 2, 0},
    {"pretrain-mini", "mini", "pretrain", 256, 64, 6, 0, 2, 0},
    {"narrow-1", "narrow-1", "encoder", 32, 0, 50, 0, 3, 0},
    {"normal-1", "normal-1", "encoder", 32, 0, 50, 0, 3, 0},
    {"wide-1", "wide-1", "encoder", 32, 0, 50, 0, 3, 0},
    {"narrow-5", "narrow-5", "encoder", 32, 0, 50, 0, 3, 0},
    {"normal-5", "normal-5", "encoder", 32, 0, 30, 0, 3, 0},
    {"wide-5", "wide-5", "encoder", 32, 0, 20, 0.5, 3, 0},
    {"forward-16x128", "base", "forward", 16, 128, 6, 0, 0, 0},
    {"forward-8x64", "base", "forward", 8, 64, 9, 0, 0, 0},
    {"forward-1x128", "base", "forward", 1, 128, 15, 0, 0, 0},
    {"forward-1x8", "base", "forward", 1, 8, 25, 0, 0, 0},
};

double least(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }

// One program of a case: its seconds for a step, one for each round; what minbert is to reach against it, 0: no goal.
struct Row {
  Program program;
  double faster = 0, memory = 0;                    // times its speed; of its memory
  size_t beside = 0;                                // the row of the minbert that it is compared with
  std::vector<double> seconds = {};
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), pytorch_(options) {
    environment_ = environment_of(options.threads);
    if (!options.against.empty()) return;
    sgemm_ = std::make_unique<Child>(worker_command(Device::cpu, "fp32", {"sgemm"}), environment_);
    std::printf("sgemm     %s\n", sgemm_->listen().c_str());
    find_best_product();
  }

  void run(const Case& c) {
    const BertConfig config = BertConfig::named(c.config);
    std::vector<Row> rows = started(c);
    Random random(11711, "lengths");
    std::vector<double> tokens, share;
    int steps = 1;                                  // of a round
    for (int round = 0; round < warm_up + (options_.steps ? options_.steps : c.steps); ++round) {
      double T = 0;
      const std::string block = draw_block(c, steps, random, &T);
      for (size_t i = 0; i < rows.size(); ++i) {
        Row& row = rows[(i + size_t(round)) % rows.size()];
        const std::vector<double> answer = row.program.ask(block);
        if (!answer.empty()) row.seconds.push_back(answer[0] / steps);
      }
      const Row& ours = rows[0];
      MB_CHECK(ours.program.why_not.empty(), "{}: {}", c.name, ours.program.why_not);
      const double rate = best_flops_ / sgemm_->ask(best_product_);
      if (round + 1 < warm_up) continue;
      if (round + 1 == warm_up) {
        steps = steps_within(0.5, ours.seconds.back());
        for (Row& row : rows) row.seconds.clear();
        continue;
      }
      tokens.push_back(T / steps);
      share.push_back(work(c, config, T / steps) / ours.seconds.back() / rate);
    }
    std::printf("%-15s%7.0f%4zu", c.name.c_str(), median(tokens), tokens.size());
    const double ours_held = rows[0].program.child->finish() / 1e6;
    for (Row& row : rows) {
      const bool first = &row == &rows[0];
      std::printf("%*s  %-14s", first ? 0 : 26, "", row.program.name.c_str());
      if (row.seconds.empty() || !row.program.why_not.empty()) {
        std::printf(" %s\n", row.program.why_not.c_str());
        continue;
      }
      std::printf("%9.4f%9.4f%9.0f", median(row.seconds), least(row.seconds), median(tokens) / median(row.seconds));
      if (first) {
        std::printf("%7.2f%6s%33s%9.0f\n", median(share), goal_text(c.share).c_str(), "", ours_held);
      } else {
        const double held = row.program.child->finish() / 1e6;
        std::printf("%13s  %-19s%6s%15.0f%7.2f%6s\n", "",
                    interval_text(median_interval(ratios(row.seconds, rows[row.beside].seconds)), 2).c_str(),
                    goal_text(row.faster).c_str(), held, ours_held / held, goal_text(row.memory).c_str());
      }
    }
    std::fflush(stdout);
  }

  // A training step of BERT-base with each norm, beside one with layer that is taken right before it.
  void run_norms() {
    struct Goal {
      const char *norm, *cls_norm;
      double most;                                  // times the step with layer; 0: no goal
    };
    constexpr Goal goals[] = {{"none", "none", 0}, {"layer-simple", "none", 1.03}, {"variance-only", "none", 1.03},
                              {"rms", "none", 1.03}, {"conditional-layer", "none", 1.03}, {"batch", "none", 1.1},
                              {"power", "none", 1.1}, {"group", "none", 1.1}, {"group-sentence", "none", 1.1},
                              {"instance", "none", 1.1}, {"layer", "batch", 0}, {"layer", "iso-bn", 1.02}};
    std::string line;
    for (int b = 0; b < 16; ++b) line += "64 ";
    Child layer(bert("base", "train", "layer", "none"), environment_);
    layer.listen();
    std::printf("\n%-19s%-12s%5s%9s%9s  %-21s%6s           BERT-base, 16 x 64 tokens\n", "norm", "[CLS] norm", "n",
                "seconds", "layer's", "times [95%]", "goal");
    for (const Goal& goal : goals) {
      Child other(bert("base", "train", goal.norm, goal.cls_norm), environment_);
      other.listen();
      Pairs pairs;
      for (int round = 0; round < warm_up + (options_.steps ? options_.steps : 15); ++round) {
        if (round == warm_up) pairs = {};
        pairs.ask(other, layer, line);
      }
      other.finish();
      const Interval times = pairs.ratios();
      std::printf("%-19s%-12s%5zu%9.3f%9.3f  %-21s%6s  %s\n", goal.norm, goal.cls_norm, pairs.ratio.size(),
                  median(pairs.first), median(pairs.second), interval_text(times, 3).c_str(),
                  goal_text(goal.most).c_str(), goal.most > 0 ? verdict(times, goal.most).c_str() : "");
      std::fflush(stdout);
    }
  }

  // This build beside the other, in pairs of blocks that take about a second each.
  void run_against(const Case& c) {
    const std::vector<std::string> command = bert(c.config, c.mode, "layer", "none");
    std::vector<std::string> others = command;
    others[0] = options_.against;
    Child ours(command, environment_), theirs(others, environment_);
    const std::string our_libraries = ours.listen(), their_libraries = theirs.listen();
    if (!header_printed_)
      std::printf("this      %s\nother     %s: %s\n\n%-15s%7s%7s%7s%12s%12s  %-21s%7s%11s%10s%10s\n",
                  our_libraries.c_str(), options_.against.c_str(), their_libraries.c_str(), "case", "tokens", "steps",
                  "pairs", "this, s", "other's", "times [95%]", "bound", "", "this, MB", "other's");
    header_printed_ = true;
    Random random(11711, "lengths");
    double T = 0, slower = 0;
    for (int i = 0; i < warm_up; ++i) {
      const std::string line = draw_block(c, 1, random, &T);
      slower = std::max(ours.ask(line), theirs.ask(line));
    }
    const int steps = steps_within(1, slower);
    Pairs pairs;
    std::vector<double> tokens;
    while (int(pairs.ratio.size()) < (options_.steps ? options_.steps : 15)) {
      pairs.ask(ours, theirs, draw_block(c, steps, random, &T));
      tokens.push_back(T / steps);
    }
    const Interval times = pairs.ratios();
    const double held = ours.finish() / 1e6, others_held = theirs.finish() / 1e6;
    std::printf("%-15s%7.0f%7d%7zu%12.4f%12.4f  %-21s%7s%11s%10.0f%10.0f\n", c.name.c_str(), median(tokens), steps,
                pairs.ratio.size(), median(pairs.first) / steps, median(pairs.second) / steps,
                interval_text(times, 3).c_str(), goal_text(options_.bound).c_str(),
                verdict(times, options_.bound).c_str(), held, others_held);
    std::fflush(stdout);
  }

 private:
  std::vector<std::string> bert(const std::string& config, const std::string& mode, const std::string& norm,
                                const std::string& cls_norm) const {
    return bert_command(options_, "fp32", config, mode, norm, cls_norm, trained::full_model);
  }

  // So many batches; tokens: of all of them.
  static std::string draw_block(const Case& c, int steps, Random& random, double* tokens) {
    std::string block;
    *tokens = 0;
    for (int i = 0; i < steps; ++i) {
      if (i > 0) block += ';';
      for (const int length : draw_lengths(c, random)) block += std::to_string(length) + " ", *tokens += length;
    }
    return block;
  }
  static int steps_within(double seconds, double of_one_step) {
    return std::clamp(int(std::ceil(seconds / of_one_step)), 1, 50);
  }

  // The products of a layer of BERT-base at 2048 tokens in their three forms, and a large square.
  void find_best_product() {
    constexpr int shapes[][3] = {{2048, 3072, 768}, {2048, 768, 3072}, {768, 3072, 2048}, {3072, 3072, 3072}};
    double best = 0;
    for (const auto& [m, n, k] : shapes) {
      std::printf("          %5d x %4d x %4d", m, n, k);
      for (const char* form : {"nn", "nt", "tn"}) {
        const std::string product = formatted("{} {} {} {}", form, m, n, k);
        const double flops = 2.0 * m * n * k;
        double least = sgemm_->ask(product);
        for (int i = 0; i < 4; ++i) least = std::min(least, sgemm_->ask(product));
        if (flops / least > best) best = flops / least, best_product_ = product, best_flops_ = flops;
        std::printf("   %s %6.1f", form, flops / least * 1e-9);
      }
      std::printf("  GFLOP/s\n");
    }
    std::printf("          the yardstick: %s, %.1f GFLOP/s\n", best_product_.c_str(), best * 1e-9);
  }

  // minbert and the forms of PyTorch, which say before the first case what they run on.
  std::vector<Row> started(const Case& c) {
    std::vector<Row> rows;
    const auto start = [&](Row row, const std::vector<std::string>& command,
                           const std::vector<std::string>& environment) {
      const std::string hello = row.program.start(command, environment);
      if (!header_printed_) std::printf("%-14s %s\n", row.program.name.c_str(), hello.c_str());
      rows.push_back(std::move(row));
    };
    start({{"minbert"}}, bert(c.config, c.mode, "layer", "none"), environment_);
    start({{"minbert bf16"}},
          bert_command(options_, "bf16", c.config, c.mode, "layer", "none", trained::full_model), environment_);
    const size_t in_bf16 = rows[1].program.why_not.empty() ? 1 : 0;
    if (pytorch_.why_not.empty()) {
      const auto add = [&](const char* name, const char* precision, const char* form, double faster, double memory,
                           size_t beside) {
        start({{name}, faster, memory, beside}, pytorch_.command(c, precision, form), pytorch_.environment());
      };
      add("PyTorch", "fp32", "eager", c.ratio, c.memory, 0);
      add("torch.compile", "fp32", "compile", 0, 0, 0);
      add("PyTorch bf16", "bf16", "eager", 0, 0, in_bf16);
    } else if (!header_printed_) {
      std::printf("%-14s %s\n", "PyTorch", pytorch_.why_not.c_str());
    }
    if (!header_printed_)
      std::printf("\n%-15s%7s%4s  %-14s%9s%9s%9s%7s%6s  %-19s%6s%15s%7s%6s\n", "case", "tokens", "n", "program",
                  "median s", "least", "tokens/s", "share", "goal", "times faster", "goal", "peak MB", "ratio", "goal");
    header_printed_ = true;
    return rows;
  }

  std::string best_product_;
  double best_flops_ = 0;
  bool header_printed_ = false;
  const Options& options_;
  const PyTorch pytorch_;
  std::vector<std::string> environment_;
  std::unique_ptr<Child> sgemm_;
};

// What a child is asked to be: --worker DEVICE PRECISION NAME ... What goes wrong is an answer, too.
int worker(const std::vector<std::string>& words) try {
  set_default_device(choice<Device>(words[0], "--device"));
  set_matmul_precision(choice<Precision>(words[1], "--matmul"));
  if (words[2] == "sgemm") sgemm_worker();
  else if (words[2] == "sum") sum_worker();
  else if (words[2] == "product") gpu_product_worker();
  else bert_worker(words[3], words[4], words[5], words[6], words[9], words[7] == "profile", std::stoi(words[8]));
  return 0;
} catch (const Error& e) {
  std::cout << "not run (" << e.what() << ")" << std::endl;
  return 1;
}

int bench(int argc, char** argv) {
  Options options;
  options.threads = omp_get_max_threads();
  std::vector<std::string> on_cpu = {"all"}, on_gpu = {"all"};
  std::vector<Case> of_bert(std::begin(cases), std::end(cases));          // those of --against
  for (const Case& c : encode_cases()) of_bert.push_back(c);
  for (const Case& c : of_bert) on_cpu.push_back(c.name);
  for (const Case& c : gpu_cases()) on_gpu.push_back(c.name);
  on_cpu.insert(on_cpu.end(), {"encode", "norms", "modes", "scaling", "tokenizer", "load"});
  std::vector<std::string> names = on_cpu;
  for (const std::string& name : on_gpu)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  CommandLine line("bench", "Measures minbert beside PyTorch and beside the machine's best product of matrices.");
  line.option("--device", options.device, "what it runs on");
  line.option("--case", options.only, "what to measure", names);
  line.option("--steps", options.steps, "steps of each case that count (--device cuda: groups); 0: its own number",
              Range{0});
  line.option("--threads", options.threads, "threads of every program", Range{1});
  line.option("--no-torch", options.no_torch, "leave PyTorch out");
  line.option("--profile", options.profile, "print the time of each operation of each case");
  line.option("--against", options.against, "another build of this benchmark, asked by turns with this one", "FILE");
  line.option("--bound", options.bound, "with --against: times as long as the other it may take", Range{0});
  line.section("On a GPU");
  line.option("--matmul", options.matmul, "precisions of the products", choices<Precision>());
  line.option("--group", options.group, "steps between two waits for the GPU", Range{1});
  line.closing("Prints a table.", {"--case all --no-torch"});
  line.parse(argc, argv);
  const auto& here = options.device == Device::cuda ? on_gpu : on_cpu;
  MB_CHECK(std::ranges::find(here, options.only) != here.end(),
           "--case {}: it is not measured on {}; --help lists what is", options.only, options.device);
  const auto is_here = [&](const Case& c) { return is_chosen(options, c); };
  MB_CHECK(options.against.empty() || (options.device == Device::cpu && std::ranges::any_of(of_bert, is_here)),
           "--against: measures BERT on the CPU alone, not --device {} --case {}", options.device, options.only);
  MB_CHECK(options.against.empty() || access(options.against.c_str(), X_OK) == 0,
           "--against {}: this is no program; give the build/bin/bench of another build", options.against);
  if (options.device == Device::cuda) return run_on_gpu(options);

  prepare_openblas();                               // for PyTorch and --against, too: they inherit the choice
  const auto chosen = [&](const std::string& name) { return options.only == "all" || options.only == name; };
  std::printf("OpenBLAS  %s kernels, %d threads on %d cores, %s\n", openblas_kernels().c_str(), options.threads,
              omp_get_num_procs(), openblas_file().c_str());
  if (!options.against.empty()) {
    Bench bench(options);
    for (const Case& c : of_bert)
      if (is_here(c)) bench.run_against(c);
    return 0;
  }
  if (chosen("norms") || std::ranges::any_of(cases, is_here)) {
    Bench bench(options);
    for (const Case& c : cases)
      if (is_here(c)) bench.run(c);
    if (chosen("norms")) bench.run_norms();
  }
  if (std::ranges::any_of(encode_cases(), is_here)) run_encode(options);
  if (chosen("modes")) run_modes(options);
  if (options.only == "scaling") run_scaling(options);      // some ten minutes: not among "all"
  omp_set_num_threads(options.threads);
  if (chosen("tokenizer")) tokenizer_speed();
  if (chosen("load")) load_time();
  return 0;
}

}  // namespace
}  // namespace minbert::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);                    // a worker that has died is told from its missing answer
  return minbert::run_program("bench", [&] {
    using namespace minbert::bench;
    if (argc > 2 && std::string(argv[1]) == "--worker") return worker({argv + 2, argv + argc});
    return bench(argc, argv);
  });
}
