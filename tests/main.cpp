// The one main of all tests. It says what this build is and what it does not run.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>

#include "engine/gemm.h"
#include "minbert/tensor.h"

int main(int argc, char** argv) {
  const bool is_double = sizeof(minbert::real) == sizeof(double);
  std::cout << "real: " << (is_double ? "double" : "float") << ", OpenBLAS flavour "
            << minbert::openblas_flavour() << " (0 sequential, 1 pthread, 2 OpenMP)\n";
  if (!is_double)
    std::cout << "gradient checks: finite differences not run (they need the double build, MINBERT_DOUBLE)\n";
  std::cout << "cuda: not run (this build has no GPU backend)\n";
  if (!std::getenv("MINBERT_REAL_DATA")) std::cout << "real data: not run (MINBERT_REAL_DATA is not set)\n";
  std::cout << std::flush;
  doctest::Context context(argc, argv);
  return context.run();
}
