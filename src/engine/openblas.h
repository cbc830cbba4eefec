// The OpenBLAS that this process has loaded, and the kernels with which it computes.
//
// OpenBLAS has kernels for many processors and chooses by the model number. For a model newer than the library it may
// choose the oldest kernels (Prescott: SSE3), 4 to 9 times slower than the best that the processor can run. This file
// corrects the choice before the first product, unless the environment variable OPENBLAS_CORETYPE names one.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace minbert {

int openblas_flavour();                             // 0 sequential, 1 pthread, 2 OpenMP
std::string openblas_kernels();                     // "Haswell"

struct Processor {
  std::string name;                                 // "AMD EPYC 9R14"
  std::set<std::string> features;                   // as /proc/cpuinfo lists them, and the vendor: "avx2", "ARM"
};
Processor this_processor();                         // empty where there is no /proc/cpuinfo

// Kernels to try instead of the chosen ones, best first: they use more of the processor's features, and this version of
// OpenBLAS has them. Empty if there are none, or if the chosen name is not known.
std::vector<std::string> better_kernels(const std::set<std::string>& features, const std::string& chosen,
                                        const std::string& version);

// The reason why the kernels of this name cannot be used: "the processor has no avx2"; "" if they can. Error for an
// unknown name.
std::string obstacle_to_kernels(const std::string& name, const std::set<std::string>& features,
                                const std::string& version);

// Uses the kernels of this name from now on, or returns the obstacle. Error if OpenBLAS then computes with others: it
// ignores a name that it does not know.
std::string use_kernels(const std::string& name);

// Uses the first of better_kernels() that OpenBLAS accepts, and returns a line that says so; "" if nothing changes.
// OPENBLAS_CORETYPE then names them, so that programs started by this one use the same.
std::string use_better_kernels(const Processor& processor);

// Once in a process, before its first product: use_better_kernels(), with the line on stderr.
void prepare_openblas();

}  // namespace minbert
