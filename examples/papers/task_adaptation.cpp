// Efficient Task Adaptation with Normalization (Zhou): every figure and table, for any BERT and any
// task, beside the printed numbers.
//
//   task_adaptation                                       all items, on data/mini, in some minutes
//   task_adaptation fig1 fig3 --model bert-base-uncased --data glue --limit 0 --out runs/base
//   task_adaptation tab1 --grid paper --tasks rte --jobs 4          the document's settings
#include "papers/ta/task_adaptation.h"

using namespace minbert;

int main(int argc, char** argv) {
  TaOptions o;
  o.tasks = "mrpc,rte,cola,sst2,mnli,qnli";
  o.record = 10;
  o.out = "runs/task_adaptation";
  DocumentProgram program("task_adaptation", "task-adaptation", o, argc, argv);
  CommandLine& line = program.line;
  line.option("--cls-norm-at", o.cls_norm_at,
              "where the methods stand: at h^l, before the pooler, or at h, after its tanh");
  line.option("--lr", o.lr, "learning rate", Range{0});
  line.option("--batch", o.batch, "examples in a batch", Range{1});
  line.option("--eps", o.eps, "epsilons of sec5.2", Range{0});
  line.option("--perplexity", o.perplexity, "of fig1's t-SNE", Range{1});
  line.option("--iterations", o.iterations, "of fig1's t-SNE", Range{1});
  line.option("--points", o.points, "of fig1: at most so many rows, from each class the same share", Range{3});
  line.option("--head-epochs", o.head_epochs, "passes of sec1's head over the stored features", Range{1});
  line.option("--head-lr", o.head_lr, "its learning rate", Range{0});
  const auto grids = [&] {
    o.large = BertConfig::load(model_folder(o.model) + "/config.json").hidden_size >= 1024;
    return Grids{{{"--epochs", "10"}, {"--lr", o.large ? "2e-5" : "5e-5"},   // sec.5.1
                  {"--seeds", "5"}, {"--limit", "0"}, {"--eps", "1e-5,1e-3,1e-2,0.1,1"}},
                 {{"--tasks", "mrpc,sst2,qnli"}, {"--eps", "1e-5,0.1"}, {"--perplexity", "10"},
                  {"--iterations", "250"}, {"--head-epochs", "3"}}};
  };
  return program.run(
      {"", "fig1 fig3 --model data/models/bert-base-uncased --data data/glue --limit 0 --out runs/base",
       "tab1 --grid paper --tasks rte,mrpc --jobs 4"},
      " Its methods: none, z, min-max, l2, gradient-0.5, gradient-1. tab2 is about MNLI and QNLI, tab1 and sec5.2 "
      "about the other tasks.",
      grids, [&](Document& document) { return ta_items(document, o); });
}
