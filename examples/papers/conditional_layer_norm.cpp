// Improving minBERT with Conditional Layer Normalization: its tables beside ours, a paired test over
// the seeds, and what conditional LayerNorm learns.
//
//   conditional_layer_norm                          all items, on data/mini, in some minutes
//   conditional_layer_norm --model data/models/minilm --data data --limit 0 --lr 5e-5 --out runs/course
#include "papers/cln/cln.h"

using namespace minbert;

int main(int argc, char** argv) {
  ClnOptions o;
  DocumentProgram program("conditional_layer_norm", "cln", o, argc, argv);
  program.line.option("--lr", o.lr, "learning rate", Range{0});
  program.line.option("--warmup", o.warmup, "share of the steps over which the learning rate rises", Range{0, 1});
  program.line.option("--schedule", o.schedule, "after the warm-up; linear falls to 0");
  program.line.option("--batch", o.batch, "examples in a batch", Range{1});
  program.line.option("--dropout", o.dropout, "before each task's head", Range{0, 0.99});
  program.line.option("--sampling", o.sampling, "the order of the tasks' batches");
  program.line.option("--factors", o.factors,
                      "factors on the rate of γ_t and β_t, for rate, controls and turns; a single one is taken",
                      Range{0});
  return program.run(
      {"", "--model data/models/minilm --data data --limit 0 --lr 5e-5 --out runs/course",
       "rate controls turns --jobs 2"},
      " rate, controls, turns, order and readings have many runs, and are computed only where they are named. The "
      "document prints no rate and no number of epochs: --grid paper has all rows, 1e-5 and 10 epochs of ours.",
      [] {
        return Grids{{{"--limit", "0"}, {"--lr", "1e-5"}, {"--epochs", "10"}}, {{"--epochs", "2"}, {"--record", "4"}}};
      },
      [&](Document& document) { return cln_items(document, o); });
}
