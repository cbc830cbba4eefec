// LAPACK, by its Fortran symbols in OpenBLAS. Always in double, since training steps do not call
// it.
#pragma once

#include <vector>

namespace minbert {

// A = sum_k values[k] v_k v_k^T of a symmetric A [n,n].
struct SymmetricEigen {
  std::vector<double> values;                       // [n], rising
  std::vector<double> vectors;                     // [n,n], row k is v_k; empty unless with_vectors
};
// Error: A has a NaN
SymmetricEigen symmetric_eigen(std::vector<double> A, int n, bool with_vectors);

}  // namespace minbert
