// What each mode of training costs beside full fine-tuning.
//
//   Modes   --train: a step of BERT-base (as in bench.cpp) in each mode
//   --recompute  full fine-tuning whose layers keep their input alone
#include "bench/page.h"
#include "bench/turns.h"

namespace minbert::bench {

bool run_modes(const Options& options, Record& record) {
  Case c{.name = "modes", .config = "base", .mode = "train", .sentences = 16, .length = 128, .steps = 9};
  Measurement m{.work = c, .programs = {}, .at_most = true, .group = "Modes of training, BERT-base"};
  const auto add = [&](const std::string& name, const std::string& trained, double times, double memory) {
    m.programs.push_back({name, bert_command(options, "fp32", c, {.trained = trained}),
                          environment_of(options.threads), m.programs.empty() ? nothing : 0, times, memory});
  };
  add(trained::full_model, trained::full_model, 0, 0);
  add(trained::layer_norm, trained::layer_norm, 0.7, 0.45);
  add(trained::bitfit, trained::bitfit, 0.735, 0.4725);                    // LayerNorm's, and 5%
  add(trained::random, trained::random, 0, 0);
  c.mode = "recompute";                             // the worker's
  add("--recompute", trained::full_model, 1.35, 0.75);                     // .45 of PyTorch's memory
  return record.run(std::move(m));
}

}  // namespace minbert::bench
