// The calls of LAPACK.
#include "engine/lapack.h"

#include <omp.h>

#include <cmath>

#include "engine/process.h"
#include "minbert/error.h"

// Eigenvalues and eigenvectors of a symmetric matrix, by divide and conquer
extern "C" void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda,
                        double* w, double* work, const int* lwork, int* iwork, const int* liwork,
                        int* info);

namespace minbert {

// On one thread, so that the last digits do not depend on the number of threads.
SymmetricEigen symmetric_eigen(std::vector<double> A, int n, bool with_vectors) {
  for (const double a : A)
    MB_CHECK(std::isfinite(a), "symmetric_eigen: the matrix has an element {}", a);
  prepare_openblas();
  const char job = with_vectors ? 'V' : 'N';
  std::vector<double> values(size_t(n), 0);
  double work_size = 0;
  int iwork_size = 0, info = 0, ask = -1;
  dsyevd_(&job, "L", &n, A.data(), &n, values.data(), &work_size, &ask, &iwork_size, &ask, &info);
  const int work_length = int(work_size);
  std::vector<double> work(size_t(work_length), 0);
  std::vector<int> iwork(size_t(iwork_size), 0);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  dsyevd_(&job, "L", &n, A.data(), &n, values.data(), work.data(), &work_length, iwork.data(),
          &iwork_size, &info);
  omp_set_num_threads(threads);
  MB_CHECK(info == 0,
           "symmetric_eigen: LAPACK's dsyevd did not converge on a matrix [{}, {}] (info {})", n, n,
           info);
  if (!with_vectors) A.clear();
  return {std::move(values), std::move(A)};         // Fortran's column k is our row k
}

}  // namespace minbert
