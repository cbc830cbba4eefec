// The table behind --profile.
#include "engine/profile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iomanip>
#include <map>
#include <string>
#include <vector>

#include "engine/cuda.h"

namespace minbert {
namespace {

struct Row {
  int64_t calls = 0;
  double seconds = 0, flops = 0, bytes = 0;
};
struct Profile {
  bool on = false;
  std::chrono::steady_clock::time_point last;
  std::map<std::string, Row> rows;
};
thread_local Profile profile;                       // operations run on the training thread, parts of them on all
std::atomic<double> flops = 0;                      // since the last charge, on all threads

}  // namespace

bool profile_is_on() { return profile.on; }

void profile_start() {
  profile.on = true;
  profile.rows.clear();
  profile_resume();
}

void profile_resume() {
  profile.last = std::chrono::steady_clock::now();
  flops = 0;
}

void profile_flops(double count) { flops += count; }

void profile_charge(const char* name, const char* suffix, int64_t bytes) {
  if (!profile.on) return;
  if (default_device() == Device::cuda) cuda::synchronize();       // the time of kernels, not of their launches
  Row& row = profile.rows[std::string(name) + suffix];
  const auto now = std::chrono::steady_clock::now();
  ++row.calls;
  row.seconds += std::chrono::duration<double>(now - profile.last).count();
  row.flops += flops;
  row.bytes += double(bytes);
  profile_resume();
}

void profile_report(std::ostream& out) {
  std::vector<std::pair<std::string, Row>> rows(profile.rows.begin(), profile.rows.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  double total = 0;
  for (const auto& [name, row] : rows) total += row.seconds;
  const auto cell = [&](int width, int digits, double v) -> std::ostream& {
    return out << std::setw(width) << std::fixed << std::setprecision(digits) << v;
  };
  out << std::left << std::setw(32) << "operation" << std::right << std::setw(9) << "calls" << std::setw(10)
      << "seconds" << std::setw(8) << "share" << std::setw(10) << "GFLOP/s" << std::setw(9) << "GB/s" << '\n';
  for (const auto& [name, row] : rows) {
    out << std::left << std::setw(32) << name << std::right << std::setw(9) << row.calls;
    cell(10, 3, row.seconds);
    cell(7, 1, 100 * row.seconds / std::max(total, 1e-9)) << '%';
    cell(10, 1, row.flops / std::max(row.seconds, 1e-9) * 1e-9);
    cell(9, 2, row.bytes / std::max(row.seconds, 1e-9) * 1e-9) << '\n';
  }
  out << "(bytes: every input and the result counted once; backward: inputs and their gradients)\n";
}

}  // namespace minbert
