// LayerNorm: A key component in parameter-efficient fine-tuning (ValizadehAslani & Liang): its
// figures and tables, for any BERT and any task, beside the printed numbers.
//
//   layernorm_tuning                                      all items, on data/mini, in some minutes
//   layernorm_tuning fig1 tab1 --model bert-large-cased --data glue --limit 0 --out runs/large
//   layernorm_tuning tab2 --grid paper --tasks rte --jobs 4        the document's grid of settings
#include "papers/lnpeft/lnpeft.h"

using namespace minbert;

int main(int argc, char** argv) {
  LnPeftOptions o;
  o.tasks = "rte,mrpc,stsb,sst2";              // fig1's
  o.limit = 300;
  o.out = "runs/layernorm_tuning";
  DocumentProgram program("layernorm_tuning", "lnpeft", o, argc, argv);
  CommandLine& line = program.line;
  line.option("--lr-full", o.lr_full, "learning rates of full fine-tuning", Range{0});
  line.option("--lr-part", o.lr_part, "learning rates of BitFit, LayerNorm and random", Range{0});
  line.option("--fraction", o.fraction, "shares of LayerNorm that are trained in fig2 and fig5", Range{0});
  line.option("--fisher-examples", o.fisher_examples, "examples of the Fisher information; 0: all", Range{0});
  line.option("--corpus", o.corpus, "plain text of which a part is held out for the MLM loss of sec2.3", "FILE");
  const auto grids = [&] {
    for (const double f : o.fraction)
      MB_CHECK(f > 0 && f <= 1, "--fraction {}: expected a share above 0 and at most 1", f);
    return Grids{{{"--lr-full", "1e-5,2e-5,3e-5,5e-5"},
                  {"--lr-part", "1e-4,4e-4,7e-4,1e-3"},
                  {"--fraction", "0.05,0.1,0.2,0.4,0.6,0.8,1"},
                  {"--fisher-examples", "0"},
                  {"--epochs", "20"},
                  {"--seeds", "1"},
                  {"--limit", "0"},
                  {"--tasks", "qnli,sst2,mnli,cola,mrpc,stsb,rte,qqp"}}};
  };
  return program.run(
      {"", "fig1 tab1 --model data/models/bert-large-cased --data data/glue --limit 0 --out runs/large",
       "tab2 --grid paper --tasks rte,mrpc --jobs 4"},
      "", grids, [&](Document& document) { return lnpeft_items(document, o); });
}
