// Where the time goes: --profile. Between start and report, each operation is charged the time since the one
// before it.
#pragma once

#include <cstdint>
#include <ostream>

namespace minbert {

void profile_start();                               // clears the table and the clock, and switches profiling on
bool profile_is_on();
void profile_resume();                              // what happened since the last operation is charged to nobody
void profile_charge(const char* name, const char* suffix, int64_t bytes);   // the time since the last charge
void profile_flops(double flops);                   // floating-point operations of the operation at work
void profile_report(std::ostream& out);             // name, calls, seconds, share, GFLOP/s, GB/s: a table

}  // namespace minbert
