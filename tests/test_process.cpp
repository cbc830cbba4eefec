// What prepares a process: OpenBLAS's kernels, and the threads of OpenMP.
#include <cblas.h>
#include <doctest/doctest.h>
#include <omp.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "engine/process.h"
#include "gradcheck.h"
#include "shell.h"

extern "C" {
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace minbert::test {

TEST_CASE("process: the OpenMP flavour of OpenBLAS is loaded where it is installed") {
  namespace fs = std::filesystem;
  bool installed = false;
  for (const char* root : {"/usr/lib", "/usr/lib64"})
    if (fs::is_directory(root))
      for (const auto& folder : fs::directory_iterator(root))
        installed = installed || fs::exists(folder.path() / "openblas-openmp/libopenblas.so.0");
  if (installed) CHECK(openblas_get_parallel() == 2);
  else std::cout << "OpenMP flavour of OpenBLAS: not run (it is not installed)\n";
}

TEST_CASE("process: kernels older than AVX2 or AVX-512 give way where the processor has it") {
  struct Case {
    const char *processor, *chosen;
    bool avx2, avx512;
    const char* better;
  };
  const Case cases[] = {
      {"Emerald Rapids, newer than its library", "Prescott", true, true, "SkylakeX"},
      {"Ice Lake server, taken for an older one", "Haswell", true, true, "SkylakeX"},
      {"Raptor Lake", "Prescott", true, false, "Haswell"},
      {"Zen 5, unknown to its library", "Barcelona", true, true, "SkylakeX"},
      {"Zen 4 as Zen: as fast", "Zen", true, true, ""},
      {"Cooper Lake as SkylakeX", "SkylakeX", true, true, ""},
      {"Haswell", "Haswell", true, false, ""},
      {"a virtual machine without AVX2", "Prescott", false, false, ""},
      {"a name that we do not know", "GraniteRapids", true, true, ""},
  };
  for (const Case& c : cases) {
    INFO(c.processor);
    CHECK(better_kernels(c.chosen, c.avx2, c.avx512) == c.better);
  }
}

TEST_CASE("process: its environment in another process" * doctest::skip()) {
  const char* const spin = std::getenv("GOMP_SPINCOUNT");
  std::cout << "spin " << (spin ? spin : "unset") << ", threads " << omp_get_max_threads() << std::endl;
}

TEST_CASE("process: threads that wait sleep soon, unless the environment says otherwise") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto said = [&](const std::string& environment) {
    return shell(".", formatted("env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY -u OMP_NUM_THREADS {} {} --no-skip "
                                "'--test-case=process: its environment in another process'", environment, self));
  };
  CHECK(said("").has(formatted("spin 3000, threads {}\n", usable_cores())));
  CHECK(said("GOMP_SPINCOUNT=7").has("spin 7,"));
  CHECK(said("OMP_WAIT_POLICY=active").has("spin unset,"));
  CHECK(said("OMP_NUM_THREADS=3").has("spin 3000, threads 3\n"));
  CHECK(said("taskset -c 0").has("threads 1\n"));   // cores that a cpuset gives
}

TEST_CASE("process: kernels are asked for by name") {
  if (!gotoblas_dynamic_quit) {
    std::cout << "kernels by name: not run (this OpenBLAS has those of one processor)\n";
    return;
  }
  const std::string before = openblas_kernels();
  const Tensor a = normal("a", {33, 70}), b = normal("b", {21, 70});
  const std::vector<real> expected = matmul_nt(a, b).values();
#ifdef __x86_64__
  CHECK(use_kernels("Prescott"));
  CHECK(difference(matmul_nt(a, b).values(), expected) < tolerance(1e-5, 1e-14));
#endif
  CHECK(!use_kernels("Haswel"));
  CHECK(use_kernels(before));
  CHECK(matmul_nt(a, b).values() == expected);
}

}  // namespace minbert::test
