// Improving minBERT with Conditional Layer Normalization: its tables beside ours, a paired test over
// the seeds, and what conditional LayerNorm learns.
//
//   conditional_layer_norm                          all items, on data/mini, in some minutes
//   conditional_layer_norm --model data/models/minilm --data data/course --limit 0 --lr 5e-5 --out runs/course
#include "minbert/sampling.h"
#include "papers/cln/cln.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  ClnOptions o;
  o.command.assign(argv, argv + argc);
  CommandLine line("conditional_layer_norm",
                   "Tables of \"Improving minBERT with Conditional Layer Normalization\".");
  add_document_options(line, o);
  line.option("--lr", o.lr, "learning rate", Range{0});
  line.option("--batch", o.batch, "examples in a batch", Range{1});
  line.option("--dropout", o.dropout, "before each task's head", Range{0, 0.99});
  line.option("--sampling", o.sampling, "the order of the tasks' batches");
  line.closing(
      "Writes OUT/report.html, every item beside the printed numbers: train test gains epochs forgetting.",
      {"",
       "--model data/models/minilm --data data/course --limit 0 --lr 5e-5 --out runs/course"});
  line.parse(argc, argv,
             "--model data/mini/bert --data data/mini --grid reduced --out runs/conditional_layer_norm");
  return run_program("conditional_layer_norm", [&] {
    use_grid(line, o, {{"--limit", "0"}, {"--lr", "1e-5"}, {"--epochs", "10"}}, {{"--epochs", "2"}});
    begin_document(line, o);
    Document document(o, "cln");
    return document.run(cln_items(document, o));
  });
}
