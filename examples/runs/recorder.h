// What happens inside of a network while it learns: FOLDER/sites.csv, with a value a row, and its picture.
//
//   step,task,site,what,value
//   0,sst,bert.encoder.layer.0.output.LayerNorm,|dL/dx|,0.0123
//
//   of each norm   |dL/dx| of its input x; the mean and deviation of all numbers of x; |γ-γ_0|, how far the gain has
//                  moved since the run began; |γ_t| of each task
//   of [CLS]       (the pooler's result h, of the batch) small 1-h²: the share of its numbers where tanh is nearly
//                  flat, 1-h² < .1 [TA sec.3.1]; EV_1, EV_2, EV_3 [IsoBN eq.9]
//
// Of a step's first batch alone (of several with --accumulate its share of the step's loss; of two texts that are read
// apart the first); where several ranks share a batch, the first one's part. A run that goes on writes what it would
// have written; one that was not recorded from its start has no |γ-γ_0|.
#pragma once

#include <fstream>
#include <map>
#include <optional>

#include "engine/tape.h"
#include "minbert/observer.h"
#include "minbert/trainer.h"
#include "report/item_report.h"

namespace minbert {

class Recorder : public Observer {
 public:
  // tasks: the names of the rows of γ_t
  Recorder(std::string folder, Names tasks) : folder_(std::move(folder)), tasks_(std::move(tasks)) {}
  void before_step(int64_t taken, const std::string& task, Module& network, const Parameters& parameters) override;
  void after_backward() override;

 private:
  void open();
  void row(const std::string& site, const std::string& what, double value);
  void gains_of(const std::string& norm);
  void cls();
  std::string folder_, task_;
  Names tasks_, norms_;
  int64_t step_ = 0;
  const Parameters* parameters_ = nullptr;
  std::optional<Trace> trace_;
  std::map<std::string, std::vector<real>> start_;  // γ_0
  std::ofstream out_;
};

// Trains in the folder, and records every RunOptions::record-th step.
RunResult train_recorded(const Experiment& experiment, const TrainOptions& options, const std::string& folder,
                         bool score_training = false);

// For a script: {columns: ["0 sst", ...], of: [{what, sites, values [sites,columns]}]}; null: there is no sites.csv
Json recorded_json(const std::string& folder);
// Its pictures, site by step, for a page; none where FOLDER has no sites.csv.
std::optional<ItemReport> sites_item(const std::string& folder);

}  // namespace minbert
