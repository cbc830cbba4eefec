// IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization (Zhou, Lin & Ren): every figure and
// table, for any BERT and any task, beside the printed numbers.
//
//   isotropy                                              all items, on data/mini, in some minutes
//   isotropy tab2 fig4 --model bert-base-cased --data glue --limit 0 --out runs/isotropy-base
//   isotropy tab1 --grid paper --tasks rte --jobs 4       the document's grid of settings
#include <algorithm>

#include "engine/names.h"
#include "papers/isobn/isobn.h"

using namespace minbert;

int main(int argc, char** argv) {
  IsoBnOptions o;
  o.tasks = "mnli,qnli,rte,sst2,mrpc,cola,stsb";
  o.record = 10;
  o.out = "runs/isotropy";
  DocumentProgram program("isotropy", "isobn", o, argc, argv);
  program.line.option("--cls-norm-at", o.cls_norm_at, "[CLS] after the pooler's tanh, or before");
  program.line.option("--lr", o.lr, "learning rates of tab1", Range{0});
  program.line.option("--batch", o.batch, "batch sizes of tab1", Range{1});
  program.line.option("--beta", o.beta, "strengths of IsoBN in tab1", Range{0});
  const auto grids = [&] {
    // the printed values are k/408
    if (std::ranges::count(split(o.tasks), "mrpc") && o.metric.find("mrpc=") == o.metric.npos)
      o.metric += std::string(o.metric.empty() ? "" : ",") + "mrpc=accuracy";
    return Grids{{{"--lr", "1e-5,2e-5,5e-5"}, {"--batch", "16,32"}, {"--beta", "0.25,0.5,1"},
                  {"--epochs", "10"}, {"--seeds", "5"}, {"--limit", "0"}}};
  };
  return program.run(
      {"", "tab2 fig1 --model data/models/bert-base-cased --data data/glue --limit 0 --out runs/base",
       "tab1 --grid paper --tasks rte,mrpc --jobs 4"},
      "", grids, [&](Document& document) {
        return together({isobn_cls_items(document, o), isobn_tuning_items(document, o)});
      });
}
