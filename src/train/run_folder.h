// The folder of a run: its tables, its best model, and the state from which it goes on.
//
//   options.json        what it was started with
//   state.safetensors   parameters, moments, where it stands
//   steps.csv           every step
//   epochs.csv          every epoch
//   model/              the best model, a Hugging Face folder
//   predictions/        dev and test predictions
//   figures/            losses and dev scores, drawn
#pragma once

#include <fstream>
#include <string>

#include "minbert/json.h"
#include "minbert/optimizer.h"

namespace minbert {

// A table that grows by rows. A crash loses only the last rows, which are not yet on the disk.
class CsvFile {
 public:
  // Keeps the first `rows` rows of an existing file (a resumed run); 0: begins anew.
  CsvFile(const std::string& file, const std::string& header, int64_t rows);
  void row(const std::string& line);
  // To the disk itself: a state never counts rows that are not there. Error on a full disk.
  void flush();

 private:
  std::string file_;
  std::ofstream out_;
};

// Parameters, moments, and where the run stands: an object of the training loop's own. All of it is
// saved: a resumed run equals an uninterrupted one.
void save_state(const std::string& folder, const Parameters& parameters, Optimizer& optimizer,
                const Json& position);
Json load_state(const std::string& folder, const Parameters& parameters, Optimizer& optimizer);
bool has_state(const std::string& folder);
Json saved_position(const std::string& folder);     // where the run stood when it was last saved
// Removes what a run that was killed had begun to write: the temporary files of AtomicFile.
void remove_unfinished(const std::string& folder);

// A weight, a statistic or a moment that is no number any more must not replace the last good ones:
// Error, with this advice.
void check_finite(const Parameters& parameters, const Optimizer& optimizer, int64_t step,
                  const std::string& advice);

}  // namespace minbert
