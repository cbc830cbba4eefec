// Prepares the process for its work: OpenBLAS's kernels, and how long OpenMP's threads wait.
#pragma once

#include <string>

namespace minbert {

std::string openblas_kernels();                     // "Haswell"
std::string openblas_version();                     // "0.3.21"

// OpenBLAS chooses kernels by the processor's model number; for a model newer than itself it may
// take the oldest ones, 4 to 9 times slower. Better kernels than the chosen, "" if they will do:
// those for AVX-512 or AVX2, where the processor has it and the chosen kernels are of an older
// kind.
std::string better_kernels(const std::string& chosen, bool avx2, bool avx512);

// Uses the kernels of this name from now on. false: OpenBLAS computes with others, since it has
// none of this name, or sees that the processor cannot run them.
bool use_kernels(const std::string& name);

// Once in a process, before its first product: takes better kernels and says so, unless
// OPENBLAS_CORETYPE names some.
void prepare_openblas();

// For programs, at their very beginning; a library restarts nobody. Threads of GNU OpenMP spin for
// milliseconds where they wait for each other; beside other programs on the same cores that makes
// training up to 70 times slower. With GOMP_SPINCOUNT=3000 (LLVM's OpenMP: KMP_BLOCKTIME=1) they
// sleep after some microseconds. The variable is read when OpenMP is loaded, so the program starts
// itself anew with it, unless GOMP_SPINCOUNT or OMP_WAIT_POLICY is set. Also takes no more threads
// than the container may use cores, unless OMP_NUM_THREADS is set; and opens /dev/null in place of
// a closed stdin, stdout or stderr.
void prepare_threads();

// The cores that this process may use: its affinity and, in a container or a job, the limit of its
// control groups, rounded up.
int usable_cores();

// That limit, infinity if there is none: the least of this process's own group (cgroup v2 or v1)
// and those above it. root: "", or in a test a folder with proc/ and sys/.
double cores_of_groups(const std::string& root = "");

}  // namespace minbert
