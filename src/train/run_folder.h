// The folder of a run: its tables, its best model, and the state from which it goes on.
//
//   options.json    what it was started with      state.safetensors   parameters, moments, where it stands
//   steps.csv       every step                    model/              the best model, a Hugging Face folder
//   epochs.csv      every epoch                   predictions/        dev and test predictions
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "minbert/bert.h"
#include "minbert/files.h"
#include "minbert/optimizer.h"
#include "minbert/tokenizer.h"

namespace minbert {

// Where a run stands, between two steps. All of it is saved: a resumed run equals an uninterrupted one.
struct Position {
  int64_t epoch = 0, step_in_epoch = 0;             // the next step to take
  int64_t step = 0;                                 // optimizer steps taken
  int64_t batches = 0;                              // batches seen: the clock of the dropout masks
  std::vector<double> loss_sums, loss_counts;       // of this epoch so far, for each task
  double best = -1e300;                             // the best mean dev score, and the epochs since
  int64_t best_epoch = -1, epochs_since_best = 0;
  double seconds = 0;                               // of training, over all sessions
  bool finished = false;
};

// A table that grows by rows, on disk at all times but for the last rows of a crash.
class CsvFile {
 public:
  // Keeps the first `rows` rows of an existing file (a resumed run), else begins anew with the header.
  CsvFile(const std::string& file, const std::string& header, int64_t rows);
  void row(const std::string& line);                // Error on a full disk
  void flush();

 private:
  std::string file_;
  std::ofstream out_;
};

void save_state(const std::string& folder, const Parameters& parameters, Optimizer& optimizer,
                const Position& position);
Position load_state(const std::string& folder, const Parameters& parameters, Optimizer& optimizer);
bool has_state(const std::string& folder);

// A Hugging Face folder: config.json, vocab.txt, tokenizer_config.json, model.safetensors.
void save_model(const std::string& folder, const BertConfig& config, const Tokenizer& tokenizer,
                const Parameters& parameters);

}  // namespace minbert
