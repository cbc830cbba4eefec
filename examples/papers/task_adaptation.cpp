// Efficient Task Adaptation with Normalization (Zhou): every figure and table, for any BERT and any
// task, beside the printed numbers.
//
//   task_adaptation                                       all items, on data/mini, in some minutes
//   task_adaptation fig1 fig3 --model bert-base-uncased --data glue --limit 0 --out runs/base
//   task_adaptation tab1 --grid paper --tasks rte --jobs 4          the document's settings
#include "papers/ta/task_adaptation.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  TaOptions o;
  o.tasks = "mrpc,rte,cola,sst2,mnli,qnli";
  o.out = "runs/task_adaptation";
  o.command.assign(argv, argv + argc);
  CommandLine line("task_adaptation",
                   "Every figure and table of \"Efficient Task Adaptation with Normalization\".");
  add_document_options(line, o);
  line.option("--cls-norm-at", o.cls_norm_at,
              "where the methods stand: at h^l, before the pooler, or at h, after its tanh");
  line.option("--lr", o.lr, "learning rate", Range{0});
  line.option("--batch", o.batch, "examples in a batch", Range{1});
  line.option("--eps", o.eps, "epsilons of sec5.2", Range{0});
  line.option("--perplexity", o.perplexity, "of fig1's t-SNE", Range{1});
  line.option("--iterations", o.iterations, "of fig1's t-SNE", Range{1});
  line.option("--points", o.points, "of fig1: at most so many rows, from each class the same share",
              Range{3});
  line.option("--head-epochs", o.head_epochs, "passes of sec1's head over the stored features",
              Range{1});
  line.option("--head-lr", o.head_lr, "its learning rate", Range{0});
  line.closing(
      "Writes OUT/report.html, every item beside the printed numbers: sec1 sec3.1 fig1 fig2 eq1 fig3 "
      "fig4 tab1 tab2 sec5.2. Its methods: none, z, min-max, l2, gradient-0.5, gradient-1. tab2 is "
      "about MNLI and QNLI, tab1 and sec5.2 about the other tasks.",
      {"",
       "fig1 fig3 --model data/models/bert-base-uncased --data data/glue --limit 0 --out runs/base",
       "tab1 --grid paper --tasks rte,mrpc --jobs 4"});
  line.parse(
      argc, argv,
      "--model data/mini/bert --data data/mini/glue --grid reduced --out runs/task_adaptation");
  return run_program("task_adaptation", [&] {
    o.large = BertConfig::load(model_folder(o.model) + "/config.json").hidden_size >= 1024;
    const GridValues paper = {{"--epochs", "10"}, {"--lr", o.large ? "2e-5" : "5e-5"},   // sec.5.1
                              {"--seeds", "5"}, {"--limit", "0"}};
    use_grid(line, o, paper,
             {{"--tasks", "mrpc,sst2,qnli"},
              {"--eps", "1e-5,0.1"},
              {"--perplexity", "10"},
              {"--iterations", "250"},
              {"--head-epochs", "3"}});
    begin_document(line, o);
    Document document(o, "task-adaptation");
    return document.run(ta_items(document, o));
  });
}
