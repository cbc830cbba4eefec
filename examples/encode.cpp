// Encodes texts with any folder of a BERT or RoBERTa and writes what the encoder says of them to a
// safetensors file.
//
//   $ encode --model bert-base-uncased --input texts.txt --output vectors.safetensors --tokens
//   1101 texts, 27785 tokens -> vectors.safetensors
//
// models/encode_file.h says what the file holds.
#include <iostream>

#include "minbert/files.h"
#include "models/encode_file.h"
#include "runs/predicted.h"
#include "runs/run_record.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"

using namespace minbert;

int main(int argc, char** argv) {
  EncodeOptions o;
  std::string model, pool;
  CommandLine line("encode",
                   "Encodes each line of a file (two texts: TAB between them) by a BERT.");
  line.option("--model", model, "a Hugging Face folder, or a run's", "DIR");
  line.option("--input", o.input, "one text a line", "FILE");
  line.option("--output", o.output, "the safetensors file to write", "FILE");
  line.option("--task", o.task,
              "for a conditional norm: as which task; without, as plain LayerNorm", "NAME");
  line.option("--max-length", o.max_length,
              "longer texts are cut to this many tokens; 0: to as many as a sentence-transformers "
              "folder says, else 512", Range{0});
  line.option("--pool", pool,
              "also write sentence_embedding: the pooler's output, [CLS]'s last hidden state or "
              "the mean of all tokens'; a sentence-transformers folder says which", choices<Pool>());
  line.option("--normalize", o.normalize, "each sentence_embedding to length 1");
  line.option("--tokens", o.tokens,
              "also write every token's last hidden state, and the offsets of the texts");
  line.option("--attention", o.attention,
              "also write the attention weights of every layer and head");
  MachineOptions machine;
  add_machine_options(line, machine);
  line.closing("Writes cls and pooler_output, with --pool sentence_embedding, one row a line, all [N,H].",
               {"--model data/mini/bert --input texts.txt --output vectors.safetensors --tokens"});
  line.parse(argc, argv);
  return run_program("encode", [&] {
    use_machine(machine);
    line.need({"--model", "--input", "--output"});
    MB_CHECK(!is_table(o.input),
             "--input {}: a table; write its column of texts to a file of plain text, a text a line", o.input);
    if (!pool.empty()) o.pool = choice<Pool>(pool, "--pool");
    check_folder_of(o.output);
    check_ending("--output", o.output, {".safetensors"});
    watch_for_interrupt();
    const TrainedModel trained(one_run(model));
    if (!trained.has_pooler())
      std::cerr << model << ": the weights have no pooler, so the file has no pooler_output\n";
    else if (!trained.config.has_trained_pooler())
      std::cerr << model
                << " was pre-trained without a pooler: pooler_output says nothing; take cls\n";
    const EncodeReport report = encode(trained, o);
    std::cout << report.texts << (report.texts == 1 ? " text, " : " texts, ") << report.tokens
              << " tokens -> " << o.output << '\n';
    return 0;
  });
}
