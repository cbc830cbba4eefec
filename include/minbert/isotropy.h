// How evenly [CLS] fills its space [IsoBN].
#pragma once

#include <vector>

#include "minbert/tensor.h"

namespace minbert {

// EV_k for k = 1 .. H: the share of the k largest squared singular values of h [N,H]   [IsoBN eq.9]
// centered: of h - mu, so that the mean of the embeddings does not count. Error if nothing varies.
std::vector<double> explained_variance(const Tensor& h, bool centered = true);

// Pearson's correlation of each two dimensions, [H,H]; 0 if one does not vary       [IsoBN sec.2.2]
std::vector<double> pearson_matrix(const Tensor& h);

}  // namespace minbert
