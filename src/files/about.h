// What this build of minbert is, and how its programs are started.
#pragma once

#include <string>

namespace minbert {

std::string version();                            // "0.9.0"
// As git describes it: "56eb4f4", with changes "56eb4f4-dirty"; built without git: "v0.9.0"
std::string build_commit();
std::string compiler();                           // "g++ 12.2.0"
// What --version prints: these, OpenBLAS and the kernels with which it computes
std::string about(const std::string& program);

// How another of minbert's programs is started from here: "build/bin/predict" beside a program of
// the repository, "minbert predict" once it is installed.
std::string command_of(const std::string& program);
// The name under which examples/minbert.cpp says to its tools how it was started
inline constexpr char front_variable[] = "MINBERT_COMMAND";

}  // namespace minbert
