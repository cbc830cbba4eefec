// Normalizations side by side.
//
//   $ norms                     trains the small multitask model with three norms, in a minute
//   $ norms --seeds 2           with every norm in every placement
//   $ norms --norm layer,rms --placement post,pre --seeds 3

#include "engine/names.h"
#include "minbert/bert.h"
#include "minbert/norm.h"
#include "minbert/sampling.h"
#include "minbert/shipped.h"
#include "runs/comparison.h"
#include "runs/run_record.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"

using namespace minbert;

int main(int argc, char** argv) {
  NormLists lists{names_of(norms().entries), choices<Placement>(), {"none"}, {0}};
  double to_loss = 1.4;
  TrainOptions o;
  o.model = shipped("data/mini/bert");
  o.data = shipped("data/mini");
  o.out = "runs/norms";
  o.sampling = Sampling::round_robin;
  o.epochs = 2;
  o.limit = 1200;
  o.batch = 16;
  o.lr = 3e-4;
  o.warmup = 0.1;
  o.schedule = Schedule::linear;
  o.dropout = 0.1;
  o.seeds = 2;
  CommandLine line(
      "norms",
      "Trains one BERT with every normalization, under the same seeds, and prints them side by "
      "side.");
  line.section("What is compared: every one with every other");
  line.option("--norm", lists.norms, "normalizations of the hidden states", &norms());
  line.option("--placement", lists.placements, "where the norms of a layer stand",
              choices<Placement>());
  line.option("--cls-norm", lists.cls_norms, "normalizations of [CLS]", &cls_norms());
  line.option("--grad-norm", lists.grad_norms,
              "gradient normalization of [CLS]: strengths, 0: none", Range{0});
  line.option("--seeds", o.seeds, "repeat each with N seeds: seed, seed+1, ...", Range{1});
  line.option("--to-loss", to_loss,
              "count the steps until the first task's loss, over ten batches, is below", Range{0});
  line.section("What they learn");
  line.option("--model", o.model, "a Hugging Face folder to fine-tune", "DIR");
  line.option("--from-scratch", o.from_scratch, "its sizes and vocabulary, with new weights");
  line.option("--data", o.data,
              "folder with ids-sst-train.csv, ..., or with GLUE's RTE/train.tsv, ...", "DIR");
  line.option("--tasks", o.tasks, "tasks, separated by commas", "LIST");
  line.option("--metric", o.metric,
              "metrics that choose the best epoch: mrpc=accuracy,stsb=pearson", "LIST");
  line.option("--limit", o.limit, "only N rows of each file, evenly spaced; 0: all", Range{0});
  line.option("--skip-bad-rows", o.skip_bad_rows, skip_bad_rows_help);
  line.option("--epochs", o.epochs, "passes over the data", Range{1});
  line.option("--max-length", o.max_length, "longer inputs are cut to this many tokens", Range{3});
  line.option("--sampling", o.sampling, "order of the tasks' batches in an epoch");
  line.section("How they learn");
  add_learn_options(line, o, "1e-5");
  line.option("--dropout", o.dropout, "before the heads", Range{0, 0.999});
  line.section("Runs");
  add_run_options(line, o);
  line.closing(
      "Writes the folder --out: a table of the norms, their loss curves, a run's folder for each.",
      {"--seeds 2",
       "--norm layer,conditional-layer,rms --placement post,pre --seeds 3 --out runs/three",
       "--norm layer --placement post --cls-norm none,z,whitening,iso-bn --out runs/cls",
       "--model data/models/bert-base-uncased --data data --tasks sst --epochs 1 --out runs/base",
       "--out runs/base --resume"});
  line.parse(argc, argv, "--norm layer,conditional-layer,rms --placement post --seeds 1");
  return run_program("norms", [&] {
    const auto lock = begin_run(line, o, o.resume ? Start::resume : Start::fresh,
                                {"--norm", "--placement", "--cls-norm", "--grad-norm", "--seeds"});
    MB_CHECK(o.lr > 0, "--lr 0: expected a number above 0");
    const std::vector<Variant> variants = norm_variants(lists, o.from_scratch);
    std::vector<TrainOptions> runs;
    for (const Variant& variant : variants) runs.push_back(options_of(o, variant));
    const Experiment experiment(o, runs);
    if (!o.resume) remember_options(line, o.out);
    watch_for_interrupt();
    const Json start = with_sources(run_start(line, o.out), experiment);
    return compare_norms(experiment, variants, start, to_loss);
  });
}
