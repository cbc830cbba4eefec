// The Benefits of Normalization Layers in Transformers (Yu): its tables and figures, from new
// encoders with any norms, beside the printed verdicts.
//
//   transformer_norms                               all items, on generated sentences, in minutes
//   transformer_norms tab1 tab4 --norm layer,batch,none,group:groups=4 --jobs 2
//   transformer_norms --grid paper --data FinancialPhraseBank-v1.0 --jobs 4 --out runs/phrasebank
#include "papers/nt/transformer_norms.h"

using namespace minbert;

int main(int argc, char** argv) {
  NtOptions o;
  DocumentProgram program("transformer_norms", "transformer-norms", o, argc, argv);
  CommandLine& line = program.line;
  line.option("--norm", o.norms, "norms, a column of every item each", &norms());
  line.option("--lr", o.lr, "learning rates of tab1 to tab6", Range{0});
  line.option("--layers", o.layers, "two: of the shallow and of the deep models", Range{1});
  line.option("--widths", o.widths, "three: hidden sizes of the narrow, normal and wide models, multiples of 4",
              Range{4});
  line.option("--depths", o.depths, "layers of the gradient slide's networks", Range{1});
  line.option("--positions", o.positions, "positions, learned or as in the original Transformer");
  line.option("--read", o.read, "what the classifier reads: [CLS], or the mean of the sentence");
  line.option("--vocab", o.vocab, "a vocab.txt, such as BERT's, for one of the training sentences", "FILE");
  line.option("--vocab-size", o.vocab_size, "word pieces at most that are made of the training sentences", Range{100});
  line.option("--batch", o.batch, "sentences in a batch", Range{1});
  line.option("--measure-every", o.measure_every, "steps from point to point in fig5 and fig6", Range{1});
  const auto grids = [&] {
    check_nt_options(o);
    return nt_grids;
  };
  return program.run(
      {"", "tab1 tab4 --norm layer,batch,none,group:groups=4 --jobs 2",
       "--grid paper --data data/phrasebank/FinancialPhraseBank-v1.0 --jobs 4 --out runs/phrasebank"},
      " Its models are new encoders, trained by plain SGD on the sentences on which all annotators of the Financial "
      "PhraseBank agree.",
      grids, [&](Document& document) { return nt_items(document, o); });
}
