// The benchmark: minbert, PyTorch and OpenBLAS alone, side by side on the same work.
//
//   Step      forward, backward, clipping, AdamW over all parameters; dropout; 5 classes from pooled [CLS]
//   Pretrain  the same with BERT's two heads: 15 % of the tokens masked, the decoder tied to the 30,522 words and
//             computed at the masked places alone; next sentence
//   Encoder   the original Transformer's, of [NT model]: ReLU, no dropout, sentences of PhraseBank's lengths, plain SGD
//   Rounds    turns.h: programs are asked by turns for the same work; a line says what comes, and one row of the table
//             and of the page (page.h) what each program took
//   Against   --against FILE: another build of this benchmark beside this one
//   Work      6 x (weights of the layers' dense matrices) x (their rows: the tokens; behind the last layer's attention
//             [CLS] and the masked tokens alone); 2 x for a forward alone; pretrain: + 6 x (weights of decoder and
//             transform) x masked tokens. Attention's own products, the norms, the optimizer and so on count as no
//             work, though they take time. PyTorch computes every row of the last layer, as its modules do.
//   sgemm     the rate of the best of some large products; it is measured again in every round
//   Memory    the most that a process held in RAM, with all that it loads
//   PyTorch   torch_bench.py: as many threads, sentences padded to the batch's longest; eager, under torch.compile, and
//             with bf16 by autocast. Debian's has our OpenBLAS, that of a virtual environment its own library
//   bf16      minbert under --matmul bf16 where the processor has it; PyTorch's bf16 is then compared with that
//   Encode    encode.cpp: sentences beside sentence-transformers; small batches, beside ONNX Runtime, too
//   Modes     modes.cpp; scaling.cpp, which --case scaling alone asks for
//   GPU       gpu.cpp has its own cases and table
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "bench/page.h"
#include "bench/turns.h"
#include "bench/workers.h"
#include "engine/process.h"
#include "engine/text.h"
#include "train/cli/command_line.h"

namespace minbert::bench {
namespace {

// share of sgemm; PyTorch's time and memory over ours; with --quick?
const Case cases[] = {
    {"base-16x128", "base", "train", 16, 128, 6, 0.88, 1.4, 1.64},
    {"base-8x64", "base", "train", 8, 64, 7, 0.82, 1.5, 1.33, true},
    {"base-real", "base", "train", 16, 0, 7, 0, 2.5},
    {"mini-32x64", "mini", "train", 32, 64, 15, 0, 1.8, 0, true},
    {"mini-real", "mini", "train", 16, 0, 25, 0, 2.5, 0, true},
    {"tiny-32x64", "tiny", "train", 32, 64, 25},
    {"pretrain-tiny", "tiny", "pretrain", 256, 64, 8, 0, 2},
    {"pretrain-mini", "mini", "pretrain", 256, 64, 6, 0, 2},
    {"narrow-1", "narrow-1", "encoder", 32, 0, 50, 0, 3},
    {"normal-1", "normal-1", "encoder", 32, 0, 50, 0, 3},
    {"wide-1", "wide-1", "encoder", 32, 0, 50, 0, 3},
    {"narrow-5", "narrow-5", "encoder", 32, 0, 50, 0, 3},
    {"normal-5", "normal-5", "encoder", 32, 0, 30, 0, 3},
    {"wide-5", "wide-5", "encoder", 32, 0, 20, 0.5, 3},
    {"forward-16x128", "base", "forward", 16, 128, 6},
    {"forward-8x64", "base", "forward", 8, 64, 9, 0, 0, 0, true},
    {"forward-1x128", "base", "forward", 1, 128, 15},
    {"forward-1x8", "base", "forward", 1, 8, 25},
};

// The products of a layer of BERT-base at 2048 tokens in their three forms, and a large square.
Yardstick best_product(Child& sgemm, Record& record) {
  constexpr int shapes[][3] = {{2048, 3072, 768}, {2048, 768, 3072}, {768, 3072, 2048}, {3072, 3072, 3072}};
  std::printf("sgemm     %s\n", sgemm.listen().c_str());
  Yardstick found{.worker = &sgemm};
  double best = 0;
  for (const auto& [m, n, k] : shapes) {
    std::printf("          %5d x %4d x %4d", m, n, k);
    for (const char* form : {"nn", "nt", "tn"}) {
      const std::string product = formatted("{} {} {} {}", form, m, n, k);
      const double flops = 2.0 * m * n * k;
      double least = sgemm.ask(product);
      for (int i = 0; i < 4; ++i) least = std::min(least, sgemm.ask(product));
      if (flops / least > best) best = flops / least, found.line = product, found.flops = flops;
      std::printf("   %s %6.1f", form, flops / least * 1e-9);
      std::fflush(stdout);
    }
    std::printf("  GFLOP/s\n");
  }
  const std::string text = formatted("{} GFLOP/s ({})", fixed(best * 1e-9, 1), found.line);
  std::printf("          the yardstick: %s\n", text.c_str());
  record.fact("best product", text);
  return found;
}

// minbert and the forms of PyTorch.
bool run_case(const Case& c, const Options& options, const PyTorch& pytorch, Record& record) {
  const std::vector<std::string> environment = environment_of(options.threads);
  Measurement m{.work = c, .programs = {}};
  m.programs.push_back({"minbert", bert_command(options, "fp32", c), environment});
  m.programs.push_back({"minbert bf16", bert_command(options, "bf16", c), environment, 0});
  m.programs.push_back(pytorch.program(c, "PyTorch", "fp32", "eager"));
  m.programs.back().times = c.times, m.programs.back().memory = c.memory;
  if (!pytorch.why_not.empty()) return record.run(std::move(m));
  m.programs.push_back(pytorch.program(c, "torch.compile", "fp32", "compile"));
  if (options.quick) m.programs.back().why_not = "left out: compiling takes long (--quick)";
  m.programs.push_back(pytorch.program(c, "PyTorch bf16", "bf16", "eager", 1));
  m.programs.back().plain = 2;
  return record.run(std::move(m));
}

// A training step of BERT-base with each norm, beside one with layer that is taken right before it.
bool run_norms(const Options& options, Record& record) {
  struct Goal {
    std::string norm, cls_norm = "none";
    double most = 0;                                // times the step with layer; 0: no goal
  };
  const Goal goals[] = {{"none"}, {"layer-simple", "none", 1.03}, {"variance-only", "none", 1.03},
                        {"rms", "none", 1.03}, {"conditional-layer", "none", 1.03}, {"batch", "none", 1.1},
                        {"power", "none", 1.1}, {"group", "none", 1.1}, {"group-sentence", "none", 1.1},
                        {"instance", "none", 1.1}, {"layer", "batch"}, {"layer", "iso-bn", 1.02}};
  const std::vector<std::string> environment = environment_of(options.threads);
  bool ran = true;
  for (const Goal& goal : goals) {
    const std::string name = goal.cls_norm == "none" ? goal.norm : "[CLS] " + goal.cls_norm;
    const Case c{"norm " + name, "base", "train", 16, 64, 15};
    Measurement m{.work = c, .programs = {}, .at_most = true, .group = "Norms, a training step of BERT-base, 16 x 64",
                  .label = name};
    m.programs.push_back({"layer", bert_command(options, "fp32", c), environment});
    m.programs.push_back({"this norm", bert_command(options, "fp32", c, {goal.norm, goal.cls_norm}), environment, 0,
                          goal.most});
    ran = record.run(std::move(m)) && ran;
  }
  return ran;
}

// This build beside the other.
bool run_against(const Case& c, const Options& options, Record& record) {
  const std::vector<std::string> environment = environment_of(options.threads);
  const std::vector<std::string> command = bert_command(options, "fp32", c);
  Measurement m{.work = c, .programs = {}, .at_most = true};
  m.programs.push_back({"other", command, environment});
  m.programs[0].command[0] = options.against;
  m.programs.push_back({"this", command, environment, 0, options.bound});
  m.work.name += " against", m.work.steps = 15;
  return record.run(std::move(m));
}

// What a child is asked to be: --worker DEVICE PRECISION NAME ... What goes wrong is an answer, too.
int worker(const std::vector<std::string>& words) try {
  set_default_device(choice<Device>(words[0], "--device"));
  set_matmul_precision(choice<Precision>(words[1], "--matmul"));
  if (words[2] == "sgemm") sgemm_worker();
  else if (words[2] == "sum") sum_worker(std::stoll(words[3]));
  else if (words[2] == "sentences") sentences_worker(words[3]);
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
  on_cpu.insert(on_cpu.end(), {"encode", "sentences", "norms", "modes", "scaling", "tokenizer", "load"});
  std::vector<std::string> names = on_cpu;
  for (const std::string& name : on_gpu)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  CommandLine line("bench", "Measures minbert beside PyTorch and beside the machine's best product of matrices.");
  line.option("--device", options.device, "what it runs on");
  line.option("--case", options.only, "what to measure", names);
  line.option("--quick", options.quick, "four cases and vectors of sentences, in about two minutes");
  line.option("--out", options.out, "folder of the page and of the results of all runs", "DIR");
  line.option("--steps", options.steps, "rounds of each case that count; 0: its own number", Range{0});
  line.option("--threads", options.threads, "threads of every program", Range{1});
  line.option("--no-torch", options.no_torch, "leave PyTorch out");
  line.option("--profile", options.profile, "print the time of each operation of each case");
  line.option("--against", options.against, "another build of this benchmark, asked by turns with this one", "FILE");
  line.option("--bound", options.bound, "with --against: times as long as the other it may take", Range{0});
  line.section("On a GPU");
  line.option("--matmul", options.matmul, "precisions of the products", choices<Precision>());
  line.option("--group", options.group, "steps between two waits for the GPU", Range{1});
  line.closing("Prints a table and writes report.html and results.json.", {"--quick", "--case all --no-torch"});
  line.parse(argc, argv);
  const auto& here = options.device == Device::cuda ? on_gpu : on_cpu;
  MB_CHECK(std::ranges::find(here, options.only) != here.end(),
           "--case {}: it is not measured on {}; --help lists what is", options.only, options.device);
  const auto is_here = [&](const Case& c) { return is_chosen(options, c); };
  MB_CHECK(options.against.empty() || (options.device == Device::cpu && std::ranges::any_of(of_bert, is_here)),
           "--against: measures BERT on the CPU alone, not --device {} --case {}", options.device, options.only);
  MB_CHECK(options.against.empty() || access(options.against.c_str(), X_OK) == 0,
           "--against {}: this is no program; give the build/bin/bench of another build", options.against);
  omp_set_num_threads(options.threads);
  prepare_openblas();                               // for PyTorch and --against, too: they inherit the choice
  set_default_device(options.device);               // or its error, before any worker starts
  Record record(options, line.command());
  const auto end = [&](bool ran) {
    if (!record.empty()) std::printf("\n%s/report.html, results.json\n", options.out.c_str());
    return ran ? 0 : 1;
  };
  if (options.device == Device::cuda) return end(run_on_gpu(options, record));

  const auto chosen = [&](const std::string& name, bool quick) {
    return options.only == name || (options.only == "all" && (quick || !options.quick));
  };
  std::printf("OpenBLAS  %s kernels, %d threads on %d cores, %s\n", openblas_kernels().c_str(), options.threads,
              omp_get_num_procs(), openblas_file().c_str());
  Child sgemm(worker_command(Device::cpu, "fp32", {"sgemm"}), environment_of(options.threads));
  record.yardstick = best_product(sgemm, record);
  const PyTorch pytorch(options);
  bool ran = true;
  if (!options.against.empty()) {
    for (const Case& c : of_bert)
      if (is_here(c)) ran = run_against(c, options, record) && ran;
    return end(ran);
  }
  for (const Case& c : cases)
    if (is_here(c)) ran = run_case(c, options, pytorch, record) && ran;
  if (chosen("sentences", true)) ran = run_sentences(options, pytorch, record) && ran;
  if (std::ranges::any_of(encode_cases(), is_here)) ran = run_encode(options, pytorch, record) && ran;
  if (chosen("norms", false)) ran = run_norms(options, record) && ran;
  if (chosen("modes", false)) ran = run_modes(options, record) && ran;
  if (options.only == "scaling") ran = run_scaling(options, pytorch) && ran;        // some ten minutes: not among "all"
  if (chosen("tokenizer", true)) tokenizer_speed();
  if (chosen("load", true)) load_time();
  return end(ran);
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
