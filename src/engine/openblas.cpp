// Choosing OpenBLAS's kernels by what the processor can do.
#include "engine/openblas.h"

#include <cblas.h>
#include <strings.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "minbert/error.h"
#include "minbert/names.h"

// Functions of OpenBLAS: drop its kernels, and choose again as OPENBLAS_CORETYPE says. Every build with kernels for
// several processors exports both; a build for a single processor has neither, and nothing to choose.
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_quit();
[[gnu::weak]] void gotoblas_dynamic_init();
}

namespace minbert {
namespace {

struct Kernels {
  const char* name;
  int level;                                        // 0 SSE3, 1 SSE4.2, 2 AVX, 3 AVX2, 4 AVX-512; for arm64 likewise
  const char* needs;                                // features
  const char* since = "0.3.0";                      // the first version that has them
  const char* vendor = "";                          // they are offered only to processors of this vendor
};

#define AVX512 "avx512f avx512cd avx512bw avx512dq avx512vl"
// The best first. Zen's kernels use AVX2, but count as level 4: an AMD with AVX-512 is as fast with them.
constexpr Kernels table[] = {
    {.name = "SapphireRapids", .level = 4, .needs = AVX512 " avx512_vnni avx512_bf16 amx_bf16", .since = "0.3.24"},
    {.name = "Cooperlake", .level = 4, .needs = AVX512 " avx512_vnni avx512_bf16", .since = "0.3.11"},
    {.name = "SkylakeX", .level = 4, .needs = AVX512},
    {.name = "Zen", .level = 4, .needs = "avx2 fma", .vendor = "AuthenticAMD"},
    {.name = "Haswell", .level = 3, .needs = "avx2 fma"},
    {.name = "Sandybridge", .level = 2, .needs = "avx"},
    {.name = "Nehalem", .level = 1, .needs = "sse4_2"},
    {.name = "Prescott", .level = 0, .needs = "pni"},
    // arm64
    {.name = "armv8sve", .level = 2, .needs = "sve", .since = "0.3.24"},
    {.name = "neoversen1", .level = 1, .needs = "asimd asimdrdm atomics crc32 dcpop", .since = "0.3.10"},
    {.name = "armv8", .level = 0, .needs = "asimd"},
};
#undef AVX512
// Also level 0. OpenBLAS may choose these for an AMD that it does not know.
constexpr const char* as_old_as_prescott[] = {"Core2", "Penryn", "Dunnington", "Atom", "Nano", "Athlon", "Opteron",
                                              "Opteron_SSE3", "Barcelona", "Bobcat"};

bool same(const std::string& a, const char* b) { return strcasecmp(a.c_str(), b) == 0; }

int level_of(const std::string& chosen) {           // -1: not known
  for (const Kernels& k : table)
    if (same(chosen, k.name)) return k.level;
  for (const char* name : as_old_as_prescott)
    if (same(chosen, name)) return 0;
  return -1;
}

std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  std::istringstream in(version);
  for (std::string part; std::getline(in, part, '.');) numbers.push_back(std::atoi(part.c_str()));
  return numbers;
}

// Why these kernels cannot be used; "" where they can.
std::string obstacle(const Kernels& k, const std::set<std::string>& features, const std::string& version) {
  std::istringstream needs(k.needs);
  for (std::string feature; needs >> feature;)
    if (!features.contains(feature)) return "the processor has no " + feature;
  return numbers_of(version) < numbers_of(k.since) ? formatted("OpenBLAS {} has none, {} has", version, k.since) : "";
}

std::string openblas_version() {                    // of "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  std::istringstream in(openblas_get_config());
  std::string name, version;
  in >> name >> version;
  return version;
}

bool switch_to(const std::string& name) {
  gotoblas_dynamic_quit();
  setenv("OPENBLAS_CORETYPE", name.c_str(), 1);
  gotoblas_dynamic_init();                          // chooses by itself if it does not know the name
  return same(openblas_kernels(), name.c_str());
}

}  // namespace

int openblas_flavour() { return openblas_get_parallel(); }
std::string openblas_kernels() { return openblas_get_corename(); }

Processor this_processor() {
  Processor p;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line) && !line.empty();) {      // "flags\t\t: fpu vme"; "" ends a core
    const size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    const std::string key = line.substr(0, line.find('\t')), value = line.substr(colon + 2);
    if (key == "model name") p.name = value;
    if (key != "vendor_id" && key != "flags" && key != "Features") continue;
    std::istringstream words(value);
    for (std::string word; words >> word;) p.features.insert(word);
  }
  return p;
}

std::vector<std::string> better_kernels(const std::set<std::string>& features, const std::string& chosen,
                                        const std::string& version) {
  std::vector<std::string> names;
  const int level = level_of(chosen);
  for (const Kernels& k : table)
    if (level >= 0 && k.level > level && (!*k.vendor || features.contains(k.vendor)) &&
        obstacle(k, features, version).empty())
      names.push_back(k.name);
  return names;
}

std::string obstacle_to_kernels(const std::string& name, const std::set<std::string>& features,
                                const std::string& version) {
  const std::vector<Kernels> all(std::begin(table), std::end(table));
  return obstacle(all[index_of(name, names_of(all), "OpenBLAS kernel")], features, version);
}

std::string use_kernels(const std::string& name) {
  const std::string obstacle = obstacle_to_kernels(name, this_processor().features, openblas_version());
  if (!obstacle.empty()) return obstacle;
  if (gotoblas_dynamic_quit && gotoblas_dynamic_init) switch_to(name);
  MB_CHECK(same(openblas_kernels(), name.c_str()), "OpenBLAS {} was asked for its {} kernels and computes with {}",
           openblas_version(), name, openblas_kernels());
  return "";
}

std::string use_better_kernels(const Processor& processor) {
  const std::string chosen = openblas_kernels(), version = openblas_version();
  if (!gotoblas_dynamic_quit || !gotoblas_dynamic_init || std::getenv("OPENBLAS_CORETYPE")) return "";
  for (const std::string& name : better_kernels(processor.features, chosen, version))
    if (switch_to(name))
      return formatted("OpenBLAS {} chose its {} kernels for this {}; its {} kernels are used instead "
                       "(OPENBLAS_CORETYPE=NAME chooses others)",
                       version, chosen, processor.name.empty() ? "processor" : processor.name, name);
  if (std::getenv("OPENBLAS_CORETYPE")) {
    switch_to(chosen);
    unsetenv("OPENBLAS_CORETYPE");
  }
  return "";
}

void prepare_openblas() {
  static const bool once = [] {
    if (const std::string line = use_better_kernels(this_processor()); !line.empty()) std::cerr << line << std::endl;
    return true;
  }();
  (void)once;
}

}  // namespace minbert
