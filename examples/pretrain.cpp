// Pre-trains a BERT on plain text: masked words and next sentences (Devlin et al. 2019, sec. 3.1);
// or a RoBERTa: masked words alone, of one run of sentences (Liu et al. 2019, sec. 4.2:
// DOC-SENTENCES).
//
//   pretrain --corpus text.txt --vocab-size 8000 --config mini --out runs/first     from nothing
//   pretrain --corpus reviews.txt --init bert-base-uncased --out runs/further
#include <iostream>

#include "engine/ranks.h"
#include "minbert/pretrainer.h"
#include "runs/recorder.h"
#include "runs/run_page.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"

using namespace minbert;

int main(int argc, char** argv) {
  PretrainOptions o;
  CommandLine line("pretrain",
                   "Pre-trains a BERT or RoBERTa on plain text: masked words and next sentences.");
  add_pretrain_options(line, o);
  line.closing(
      "Writes the run's folder --out: the model/, for multitask to fine-tune, report.html, tables.",
      {"--corpus data/mini/corpus.txt --vocab-size 1600 --config mini --steps 2000 --out runs/first",
       "--corpus reviews.txt --init data/models/bert-base-uncased --lr 5e-5 --out runs/further",
       "--corpus data/mini/corpus.txt --tokenizer bpe --vocab-size 1600 --out runs/roberta",
       "--out runs/first --resume"});
  line.parse(
      argc, argv,
      "--corpus data/mini/corpus.txt --vocab-size 1600 --config data/mini-bert.json --page 4 "
      "--max-length 64 --batch 32 --lr 1e-3 --steps 200 --evaluate-every 50");
  return run_program("pretrain", [&] {
    const auto lock = begin_run(line, o, o.resume ? Start::resume : Start::fresh);
    watch_for_interrupt();
    Json start = run_start(line, o.out);
    const auto started = [&](const Json& sources) {
      start.set("data", sources_by(sources, "--corpus"))
          .set("model", facts_of_model(o.init, sources_by(sources, "--init")));
      if (!o.resume) remember_options(line, o.out);
      write_record(o.out, start);
    };
    Recorder recorder(o.out, {});
    const PretrainResult result = pretrain(o, started, 0, &recorder);
    if (result.interrupted) return 130;
    report_pretraining(o, result, start);
    std::cout << formatted("peak memory {} MB; the model is in {}/model\n",
                           peak_memory() / 1000000, o.out);
    return 0;
  });
}
