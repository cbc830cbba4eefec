// Which OpenBLAS is loaded, and which of its kernels are used.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "engine/openblas.h"
#include "gradcheck.h"

extern "C" {
[[gnu::weak]] void gotoblas_dynamic_quit();
[[gnu::weak]] void gotoblas_dynamic_init();
}

namespace minbert::test {
namespace {

const std::string sse = "fpu sse sse2 pni ssse3 sse4_1 sse4_2 ", avx2 = sse + "avx f16c fma avx2 bmi2 ",
                  avx512 = avx2 + "avx512f avx512cd avx512bw avx512dq avx512vl ",
                  bf16 = avx512 + "avx512_vnni avx512_bf16 ", amx = bf16 + "amx_tile amx_bf16 ", amd = "AuthenticAMD ",
                  armv8 = "fp asimd evtstrm aes crc32 ", armv8_2 = armv8 + "atomics asimdhp asimdrdm dcpop ";

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return std::set<std::string>(std::istream_iterator<std::string>(words), {});
}

// The first of the better kernels, "stays" where there are none.
std::string decision(const std::string& features, const std::string& chosen, const std::string& version) {
  const std::vector<std::string> names = better_kernels(words_of(features), chosen, version);
  return names.empty() ? "stays" : names[0];
}

// OpenBLAS as it would have started with this name in OPENBLAS_CORETYPE, or where it is nullptr by its own choice.
void start_openblas(const char* name) {
  if (name) setenv("OPENBLAS_CORETYPE", name, 1);
  else unsetenv("OPENBLAS_CORETYPE");
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
}

}  // namespace

TEST_CASE("openblas: the OpenMP flavour is loaded where it is installed") {
  namespace fs = std::filesystem;
  bool installed = false;
  for (const char* root : {"/usr/lib", "/usr/lib64"})
    if (fs::is_directory(root))
      for (const auto& folder : fs::directory_iterator(root))
        installed = installed || fs::exists(folder.path() / "openblas-openmp/libopenblas.so.0");
  if (installed) CHECK(openblas_flavour() == 2);
  else MESSAGE("the OpenMP flavour is not installed: not checked");
}

TEST_CASE("openblas: kernels are chosen by what the processor can do, over a table of processors") {
  struct Case {
    const char* processor;
    std::string features, chosen, version, expected;
  };
  const Case cases[] = {
      {"Emerald Rapids, Debian 12", amx, "Prescott", "0.3.21", "Cooperlake"},
      {"Emerald Rapids, a later library", amx, "Prescott", "0.3.24", "SapphireRapids"},
      {"Emerald Rapids, Ubuntu 20.04", amx, "Prescott", "0.3.8", "SkylakeX"},
      {"Ice Lake server without bf16", avx512, "Haswell", "0.3.21", "SkylakeX"},
      {"Raptor Lake", avx2, "Prescott", "0.3.23", "Haswell"},
      {"a virtual machine without AVX", sse, "Prescott", "0.3.21", "Nehalem"},
      {"Ivy Bridge", sse + "avx", "Nehalem", "0.3.21", "Sandybridge"},
      {"Zen 3, unknown to its library", amd + avx2, "Barcelona", "0.3.7", "Zen"},
      {"Zen 5, unknown to its library", amd + bf16, "Barcelona", "0.3.21", "Cooperlake"},
      {"Zen 4 as Zen", amd + bf16, "Zen", "0.3.21", "stays"},
      {"Cooper Lake as SkylakeX", bf16, "SkylakeX", "0.3.21", "stays"},
      {"Haswell", avx2, "Haswell", "0.3.21", "stays"},
      {"an old Xeon", "fpu sse sse2 pni", "Prescott", "0.3.21", "stays"},
      {"a name that we do not know", amx, "GraniteRapids", "0.3.40", "stays"},
      {"Bulldozer, which has no better", amd + sse + "avx fma4", "Bulldozer", "0.3.21", "stays"},
      {"a system without /proc/cpuinfo", "", "Prescott", "0.3.21", "stays"},
      {"Graviton 4, Debian 12", armv8_2 + "sve", "armv8", "0.3.21", "neoversen1"},
      {"Graviton 4, a later library", armv8_2 + "sve", "armv8", "0.3.26", "armv8sve"},
      {"Raspberry Pi 4", armv8, "armv8", "0.3.21", "stays"},
      {"Graviton 2", armv8_2, "neoversen1", "0.3.21", "stays"},
  };
  for (const Case& c : cases) {
    INFO(c.processor);
    CHECK(decision(c.features, c.chosen, c.version) == c.expected);
  }
}

TEST_CASE("openblas: kernels that cannot be used are refused with the reason, unknown ones with the list") {
  const auto obstacle = [](const char* name, const std::string& features, const char* version) {
    return obstacle_to_kernels(name, words_of(features), version);
  };
  CHECK(obstacle("SkylakeX", avx2, "0.3.21") == "the processor has no avx512f");
  CHECK(obstacle("Cooperlake", avx512, "0.3.21") == "the processor has no avx512_vnni");
  CHECK(obstacle("SapphireRapids", amx, "0.3.21") == "OpenBLAS 0.3.21 has none, 0.3.24 has");
  CHECK(obstacle("armv8", amx, "0.3.21") == "the processor has no asimd");
  CHECK(obstacle("Zen", avx2, "0.3.21") == "");                   // an Intel runs them, too
  CHECK(obstacle("Prescott", sse, "0.3.21") == "");
  CHECK_THROWS_WITH_AS(obstacle("Haswel", avx2, "0.3.21"),
                       doctest::Contains("no OpenBLAS kernel \"Haswel\"; the OpenBLAS kernels are: Sapphire"), Error);
}

TEST_CASE("openblas: what the processor is, is read from /proc/cpuinfo") {
  const Processor p = this_processor();
#if defined(__x86_64__)
  CHECK(!p.name.empty());
  CHECK(p.features.contains("sse2"));
  CHECK(p.features.contains("avx2") == bool(__builtin_cpu_supports("avx2")));
#endif
}

TEST_CASE("openblas: a bad choice is mended, a user's is kept, and products stay right") {
  if (!gotoblas_dynamic_quit || !this_processor().features.contains("avx2")) {
    MESSAGE("openblas: switching kernels: not run (a library with one kernel, or a processor without AVX2)");
    return;
  }
  const char* set = std::getenv("OPENBLAS_CORETYPE");
  const std::string before = set ? set : "";
  const Tensor a = normal("a", {33, 70}), b = normal("b", {21, 70});
  const std::vector<real> expected = matmul_nt(a, b).values();

  start_openblas("Prescott");
  CHECK(use_better_kernels(this_processor()) == "");              // OPENBLAS_CORETYPE is set
  CHECK(openblas_kernels() == "Prescott");
  CHECK(difference(matmul_nt(a, b).values(), expected) < tolerance(1e-5, 1e-14));

  unsetenv("OPENBLAS_CORETYPE");                                  // as if OpenBLAS had chosen so by itself
  const std::string said = use_better_kernels(this_processor());
  CHECK(openblas_kernels() != "Prescott");
  CHECK(std::getenv("OPENBLAS_CORETYPE") == openblas_kernels());  // for the programs that this one starts
  CHECK(said.find("chose its Prescott kernels") != said.npos);
  CHECK(said.find("its " + openblas_kernels() + " kernels are used") != said.npos);
  CHECK(difference(matmul_nt(a, b).values(), expected) < tolerance(1e-5, 1e-14));

  start_openblas("Prescott");
  unsetenv("OPENBLAS_CORETYPE");
  CHECK(use_better_kernels({"processor of long ago", {"pni"}}) == "");
  CHECK(openblas_kernels() == "Prescott");

  CHECK(use_kernels("Haswell") == "");                            // as asked, whatever is better
  CHECK(openblas_kernels() == "Haswell");
  CHECK(use_kernels("armv8") == "the processor has no asimd");
  CHECK(openblas_kernels() == "Haswell");

  start_openblas(set ? before.c_str() : nullptr);
}

}  // namespace minbert::test
