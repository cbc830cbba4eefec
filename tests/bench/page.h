// What the benchmark found. FOLDER/report.html shows the last run: bars of time and memory, tables, the machine.
// FOLDER/results.json keeps all runs, the last one at the end:
//
//   date, command, environment    as in a run's record; "best product": the yardstick
//   cases       {"base-16x128": {"minbert": {seconds, low, high, ...}, "PyTorch": {"why not": "..."}, ...}, ...}
#pragma once

#include <string>
#include <vector>

#include "bench/turns.h"
#include "minbert/json.h"

namespace minbert::bench {

class Record {
 public:
  Record(const Options& options, const std::string& command);
  Yardstick yardstick = {};                         // of every measurement without one of its own
  void fact(const std::string& name, const std::string& text);     // of the machine
  // Runs it and writes both files anew: what was measured stays where the rest is stopped. Did minbert run?
  bool run(Measurement m);
  bool empty() const { return all_.empty(); }

 private:
  std::string before(const Measurement& m, const Program& p) const;
  Json item(size_t first) const;
  void write();

  const Options& options_;
  Json::Array earlier_;
  Json run_;
  std::vector<Measurement> all_;
};

}  // namespace minbert::bench
