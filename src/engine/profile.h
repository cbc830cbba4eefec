// The time of each operation: --profile. Between start and report, an operation is charged the time
// since the previous one ended.
#pragma once

#include <cstdint>
#include <ostream>

namespace minbert {

void profile_start();               // clears the table and the clock, and switches profiling on
bool profile_is_on();
void profile_resume();              // restarts the clock: time since the last charge is not counted
// Charges the time since the last charge to `name` + `suffix`, with the bytes that it read and
// wrote.
void profile_charge(const char* name, const char* suffix, int64_t bytes);
void profile_flops(double flops);   // on any thread; counted for the next charge
void profile_report(std::ostream& out);       // name, calls, seconds, share, GFLOP/s, GB/s: a table

}  // namespace minbert
