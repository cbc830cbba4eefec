// The OpenBLAS that this process has loaded, and the kernels with which it computes.
//
// OpenBLAS holds kernels for many processors and chooses by the model number. A model newer than the library may get
// the oldest kernels (Prescott: SSE3), 4 to 9 times slower than the best that the processor can run. The choice is
// mended here, before the first product, unless the environment variable OPENBLAS_CORETYPE names the user's own.
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

// The kernels to try in place of the chosen ones, best first: those that use more of the processor's features and that
// this version of OpenBLAS has. None where the choice is as good, or where we do not know the chosen name.
std::vector<std::string> better_kernels(const std::set<std::string>& features, const std::string& chosen,
                                        const std::string& version);

// Why the kernels of this name cannot be used: "the processor has no avx2"; "" where they can. An unknown name is an
// error.
std::string obstacle_to_kernels(const std::string& name, const std::set<std::string>& features,
                                const std::string& version);

// Uses the kernels of this name from here on, unless there is an obstacle, which it returns. An error where OpenBLAS
// then computes with others: it ignores a name that it does not know.
std::string use_kernels(const std::string& name);

// Takes the first of better_kernels() that OpenBLAS accepts, and returns a line that says so; "" where nothing changes.
// From then on OPENBLAS_CORETYPE names them, so that the programs that this one starts use the same.
std::string use_better_kernels(const Processor& processor);

// Once in a process, before its first product: use_better_kernels(), with the line on stderr.
void prepare_openblas();

}  // namespace minbert
