// Normalizations side by side, and one of them held against another framework.
//
//   $ norms                           trains the small multitask model with three norms, in a minute
//   $ norms --seeds 2                 with every norm in every placement
//   $ norms --norm layer,rms --placement post,pre --seeds 3
//
//   $ norms apply --cls-norm iso-bn:preset=authors --input steps.safetensors --output ours.safetensors
//   20 steps of 16 x 768 -> ours.safetensors
//
// examples/papers/norm_apply.h says what the two files hold.
#include <iostream>

#include "engine/names.h"
#include "files/about.h"
#include "minbert/bert.h"
#include "minbert/files.h"
#include "minbert/norm.h"
#include "minbert/sampling.h"
#include "papers/comparison.h"
#include "papers/norm_apply.h"
#include "train/command_line.h"
#include "train/interrupt.h"

using namespace minbert;

namespace {

int compare(int argc, char** argv) {
  NormLists lists{names_of(norms().entries), placement_names, {"none"}, {0}};
  double to_loss = 1.4;
  TrainOptions o;
  o.model = shipped("data/mini/bert");
  o.data = shipped("data/mini");
  o.out = "runs/norms";
  o.sampling = "round-robin";
  o.epochs = 2;
  o.limit = 1200;
  o.batch = 16;
  o.lr = 3e-4;
  o.warmup = 0.1;
  o.schedule = "linear";
  o.dropout = 0.1;
  o.seeds = 2;
  CommandLine line("norms", "Trains one BERT with every normalization, under the same seeds, and prints them side by "
                            "side.\nnorms apply runs one of them on the tensors of a file: see norms apply --help.");
  line.section("What is compared: every one with every other");
  line.option("--norm", lists.norms, "normalizations of the hidden states", &norms());
  line.option("--placement", lists.placements, "where the norms of a layer stand", placement_names);
  line.option("--cls-norm", lists.cls_norms, "normalizations of [CLS]", &cls_norms());
  line.option("--grad-norm", lists.grad_norms, "gradient normalization of [CLS]: strengths, 0: none", Range{0});
  line.option("--seeds", o.seeds, "repeat each with N seeds: seed, seed+1, ...", Range{1});
  line.option("--to-loss", to_loss, "count the steps until the first task's loss, over ten batches, is below",
              Range{0});
  line.section("What they learn");
  line.option("--model", o.model, "a Hugging Face folder to fine-tune", "DIR");
  line.option("--from-scratch", o.from_scratch, "its sizes and vocabulary, with new weights");
  line.option("--data", o.data, "folder with ids-sst-train.csv, ..., or with GLUE's RTE/train.tsv, ...", "DIR");
  line.option("--tasks", o.tasks, "tasks, separated by commas", "LIST");
  line.option("--metric", o.metric, "metrics that choose the best epoch: mrpc=accuracy,stsb=pearson", "LIST");
  line.option("--limit", o.limit, "only N rows of each file, evenly spaced; 0: all", Range{0});
  line.option("--epochs", o.epochs, "passes over the data", Range{1});
  line.option("--max-length", o.max_length, "longer inputs are cut to this many tokens", Range{3});
  line.option("--sampling", o.sampling, "order of the tasks' batches in an epoch", sampling_names());
  line.section("How they learn");
  add_learn_options(line, o, "1e-5");
  line.option("--dropout", o.dropout, "before the heads", Range{0, 0.999});
  line.section("Runs");
  add_run_options(line, o);
  line.examples("  norms --seeds 2\n"
                "  norms --norm layer,conditional-layer,rms --placement post,pre --seeds 3 --out runs/three\n"
                "  norms --norm layer --placement post --cls-norm none,z,whitening,iso-bn --out runs/cls\n"
                "  norms --model bert-base-uncased --data data --tasks sst --epochs 1 --out runs/base\n"
                "  norms --out runs/base --resume\n");
  line.parse(argc, argv, "--norm layer,conditional-layer,rms --placement post --seeds 1");
  return run_program("norms", [&] {
    begin_run(line, o, o.resume, {"--norm", "--placement", "--cls-norm", "--grad-norm", "--seeds"});
    const std::vector<Variant> variants = norm_variants(lists, o.from_scratch);
    std::vector<TrainOptions> runs;
    for (const Variant& variant : variants) runs.push_back(options_of(o, variant));
    const Experiment experiment(o, runs);
    if (!o.resume) remember_options(line, o.out);
    watch_for_interrupt();
    return compare_norms(experiment, variants, to_loss);
  });
}

void say(const char* what, const std::vector<std::string>& tensors) {
  if (tensors.empty()) return;
  std::cerr << what;
  for (const std::string& name : tensors) std::cerr << ' ' << name;
  std::cerr << '\n';
}

int apply(int argc, char** argv) {
  NormApplyOptions o;
  double grad_norm = 0;
  std::string input, output;
  CommandLine line("norms apply", "Runs one normalization on the tensors of a file: training steps, then evaluation.");
  line.option("--norm", o.norm, "normalization of the hidden states", &norms());
  line.option("--cls-norm", o.cls_norm, "or of [CLS]", &cls_norms());
  line.option("--grad-norm", grad_norm, "or of the gradient of [CLS], of this strength", Range{0});
  line.option("--input", input, "a safetensors file: x, dy [S,N,H], of S steps of N rows; offsets [B+1], tasks [B]; "
              "fit [M,H]; parameters by their names", "FILE");
  line.option("--output", output, "the safetensors file to write: y, dx [S,N,H], y_eval [N,H], d.NAME of every "
              "parameter, every buffer", "FILE");
  line.section("What it runs on");
  MachineOptions machine;
  add_machine_options(line, machine);
  line.parse(argc, argv);
  return run_program("norms apply", [&] {
    use_machine(machine);
    if (line.given("--grad-norm")) o.grad_norm = grad_norm;
    line.need({"--input", "--output"});
    check_folder_of(output);
    const NormApplyReport report = apply_norm(o, input, output);
    std::cout << report.steps << (report.steps == 1 ? " step of " : " steps of ") << report.rows << " x "
              << report.hidden << " -> " << output << '\n';
    say("not in the input, so as in a new norm:", report.initial);
    say("in the input, but of no use here:", report.unused);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) {
  return argc > 1 && std::string(argv[1]) == "apply" ? apply(argc - 1, argv + 1) : compare(argc, argv);
}
