// Attention as its equation says it, head by head of one sentence after the other: slow, and made
// to be read. The tests of ops/attention.cpp compare the two.
//
//   Paper   Vaswani et al. 2017, eq. 1: O = softmax(Q K^T / sqrt(d)) V
#pragma once

#include <cmath>

#include "minbert/ops.h"

namespace minbert {

// q, k, v [T,H] -> [T,H]; without dropout.
inline Tensor attention_composed(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const Batch& batch, int heads) {
  const int64_t d = q.cols() / heads;
  std::vector<Tensor> sentences;                    // O^T of each
  for (int64_t b = 0; b < batch.sentences(); ++b) {
    std::vector<Tensor> O;
    for (int64_t h = 0; h < heads; ++h) {
      const auto of_head = [&](const Tensor& x) {   // [L_b,d]
        const Tensor rows = slice_rows(x, batch.offsets[b], batch.offsets[b + 1]);
        return transpose(slice_rows(transpose(rows), h * d, (h + 1) * d));
      };
      const Tensor P = softmax(matmul_nt(of_head(q), of_head(k)) / std::sqrt(double(d)));
      O.push_back(matmul(P, of_head(v)));
    }
    sentences.push_back(transpose(cat(O)));
  }
  return transpose(cat(sentences));
}

}  // namespace minbert
