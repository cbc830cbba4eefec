// The Benefits of Normalization Layers in Transformers (Yu): its tables and figures, from new
// encoders with any norms, beside the printed verdicts.
//
//   transformer_norms                               all items, on generated sentences, in minutes
//   transformer_norms tab1 tab4 --norm layer,batch,none,group:groups=4 --jobs 2
//   transformer_norms --grid paper --data FinancialPhraseBank-v1.0 --jobs 4 --out runs/phrasebank
#include "papers/nt/transformer_norms.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  NtOptions o;
  o.command.assign(argv, argv + argc);
  CommandLine line("transformer_norms",
                   "Tables and figures of \"The Benefits of Normalization Layers in Transformers\".");
  add_document_options(line, o);
  line.option("--norm", o.norms, "norms, a column of every item each", &norms());
  line.option("--lr", o.lr, "learning rates of tab1 to tab6", Range{0});
  line.option("--layers", o.layers, "two: of the shallow and of the deep models", Range{1});
  line.option("--widths", o.widths,
              "three: hidden sizes of the narrow, normal and wide models, multiples of 4",
              Range{4});
  line.option("--depths", o.depths, "layers of the gradient slide's networks", Range{1});
  line.option("--positions", o.positions, "positions, learned or as in the original Transformer");
  line.option("--read", o.read, "what the classifier reads: [CLS], or the mean of the sentence");
  line.option("--vocab", o.vocab, "a vocab.txt, such as BERT's, for one of the training sentences",
              "FILE");
  line.option("--vocab-size", o.vocab_size,
              "word pieces at most that are made of the training sentences", Range{100});
  line.option("--batch", o.batch, "sentences in a batch", Range{1});
  line.option("--measure-every", o.measure_every, "steps from point to point in fig5 and fig6",
              Range{1});
  line.closing(
      "Writes OUT/report.html, every item beside the printed numbers: fig1 gradient placement "
      "tab1 tab2 tab3 tab4 tab5 tab6 fig2 fig3 init fig4 fig5 fig6. Its models are new encoders, trained "
      "by plain SGD on the sentences on which all annotators of the Financial PhraseBank agree.",
      {"",
       "tab1 tab4 --norm layer,batch,none,group:groups=4 --jobs 2",
       "--grid paper --data data/phrasebank/FinancialPhraseBank-v1.0 --jobs 4 --out runs/phrasebank"});
  line.parse(argc, argv, "--data data/mini/phrasebank --grid reduced --out runs/transformer_norms");
  return run_program("transformer_norms", [&] {
    use_grid(line, o, nt_paper_grid, nt_quick_grid);
    check_nt_options(o);
    begin_document(line, o);
    Document document(o, "transformer-norms");
    return document.run(nt_items(document, o));
  });
}
