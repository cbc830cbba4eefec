// The benchmark's workers: what runs in a process of its own, so that its peak memory is its own.
//
// A worker prints a line that says what it runs on. Then each line on its stdin is a piece of work, and a line with the
// seconds that it took is the answer. torch_bench.py speaks the same way.
#pragma once

#include <string>
#include <vector>

namespace minbert::bench {

// A line of sentence lengths ("12 33 7") is one batch: a training step on it, or a forward alone without a tape.
// profile: the table of operations on stderr at the end, its first `warm_up` steps left out.
void bert_worker(const std::string& config, bool train, bool profile, int warm_up);

// "FORM M N K": one product C [M,N] = op(A) op(B) over K; FORM is nn, nt or tn, the operands that are transposed in memory.
void sgemm_worker();

// Each of these measures once and prints for itself.
void tokenizer_speed();
void load_time();

std::string openblas_file();                        // the library that this process has loaded
}  // namespace minbert::bench
