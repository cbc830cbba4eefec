// The table that --profile prints.
#include "engine/profile.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/clock.h"
#include "engine/cuda.h"
#include "engine/text.h"

namespace minbert {
namespace {

struct Row {
  int64_t calls = 0;
  double seconds = 0, flops = 0, bytes = 0;
};
struct Profile {
  bool on = false;
  double last = 0;                                  // when the last charge was
  std::map<std::string, Row> rows;
};
thread_local Profile profile;         // operations run on the training thread, parts of them on all
std::atomic<double> flops = 0;                      // since the last charge, on all threads

}  // namespace

bool profile_is_on() { return profile.on; }

void profile_start() {
  profile.on = true;
  profile.rows.clear();
  profile_resume();
}

void profile_resume() {
  profile.last = now();
  flops = 0;
}

void profile_flops(double count) { flops += count; }

void profile_charge(const char* name, const char* suffix, int64_t bytes) {
  if (!profile.on) return;
  // The time is that of kernels, not of their launches.
  if (default_device() == Device::cuda) cuda::synchronize();
  Row& row = profile.rows[std::string(name) + suffix];
  ++row.calls;
  row.seconds += now() - profile.last;
  row.flops += flops;
  row.bytes += double(bytes);
  profile_resume();
}

void profile_report(std::ostream& out) {
  std::vector<std::pair<std::string, Row>> rows(profile.rows.begin(), profile.rows.end());
  std::ranges::sort(rows, std::greater(), [](const auto& row) { return row.second.seconds; });
  double total = 0;
  for (const auto& [name, row] : rows) total += row.seconds;
  std::vector<std::vector<std::string>> lines = {
      {"operation", "calls", "seconds", "share", "GFLOP/s", "GB/s"}};
  for (const auto& [name, row] : rows) {
    const double seconds = std::max(row.seconds, 1e-9);
    lines.push_back({name, std::to_string(row.calls), fixed(row.seconds, 3),
                     fixed(100 * row.seconds / std::max(total, 1e-9), 1) + "%",
                     fixed(row.flops / seconds * 1e-9, 1), fixed(row.bytes / seconds * 1e-9, 2)});
  }
  out << text_table(lines);
  out << "(bytes: every input and the result counted once; backward: inputs and their gradients)\n";
}

}  // namespace minbert
