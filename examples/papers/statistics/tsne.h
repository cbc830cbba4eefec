// t-SNE: a map of points with many dimensions on a plane, where near neighbours stay neighbours.
//
//   Paper    van der Maaten & Hinton, Visualizing Data using t-SNE, JMLR 9, 2008
//   Shapes   x [N,H], the points   p [N,N]   y [N,2], their places on the map
//
// Exact: every pair of points counts, so time and memory grow with N².
#pragma once

#include "minbert/tensor.h"

namespace minbert {

struct TsneOptions {
  double perplexity = 30;       // the effective number of neighbours of a point
  int iterations = 1000;
  double learning_rate = 100;
  uint64_t seed = 11711;
};
struct TsneMap {
  Tensor y;                     // [N,2] on the CPU, with mean 0
  double kl;                    // KL(P‖Q) in nats: what the map has lost
};

// The map does not depend on the number of threads. Throws Interrupted.
// Errors: a NaN or an infinity among the points, only equal points, a perplexity below 1, fewer
// points than three times the perplexity, a learning rate so high that the map diverges.
TsneMap tsne(const Tensor& x, const TsneOptions& options = {});

// Its parts. All results are on the CPU; P, y and the gradient must be, too.
// p_ij [N,N]: symmetric, adds up to 1. Errors: as above.
Tensor joint_probabilities(const Tensor& x, double perplexity);
// KL(P‖Q) of a map
double kl_divergence(const Tensor& P, const Tensor& y);
// dKL/dy [N,2], where P is multiplied by `exaggeration`
Tensor kl_gradient(const Tensor& P, const Tensor& y, double exaggeration = 1);

}  // namespace minbert
