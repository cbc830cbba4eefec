// What the benchmark measures. A worker runs in a process of its own, so that its peak memory is its own.
// It prints a line that says what it runs on; then each line on its stdin is a piece of work, and its seconds
// are the answer. torch_bench.py speaks the same way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minbert::bench {

// A line of sentence lengths ("12 33 7") is one batch. On a GPU several stand there, with ; between them: a step for
// each, and the answer is the seconds of all, the bytes of the GPU held for them, the launches.
// mode: "train", a step on it with one head for 5 classes; "recompute", the same with --recompute; "encoder", with
// plain SGD; "pretrain", one with the two heads of pre-training; "forward", a forward alone; "encode", one that
// computes the last layer's rows of every token.
// norm, cls_norm, trained: --norm, --cls-norm, --train of the programs.
// profile: at the end, the table of operations without the first `warm_up` steps on stderr.
void bert_worker(const std::string& config, const std::string& mode, const std::string& norm,
                 const std::string& cls_norm, const std::string& trained, bool profile, int warm_up);

inline int64_t masked_among(int64_t tokens) { return tokens * 15 / 100; }

// "FORM M N K": one product C [M,N] = op(A) op(B) over K. FORM: nn, nt or tn, t an operand stored transposed.
void sgemm_worker();
// A sum of so many numbers, the same ones, for each batch of a line.
void sum_worker(int64_t count);
// "N": encodes N lines of data/mini/corpus.txt with the model of the folder, into a file there; "N;N": twice.
void sentences_worker(const std::string& folder);
// On the GPU, "PRECISION N TIMES": the seconds of one of TIMES products of two N x N matrices, by the project's gemm.
void gpu_product_worker();

void tokenizer_speed();                             // these two measure and print for themselves
void load_time();

std::string openblas_file();                        // the library that this process has loaded

}  // namespace minbert::bench
