// What prepares a process: OpenBLAS's kernels, and the threads of OpenMP.
#include <cblas.h>
#include <unistd.h>
#include <doctest/doctest.h>
#include <omp.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>

#include "engine/process.h"
#include "folder.h"
#include "gradcheck.h"
#include "minbert/files.h"
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

TEST_CASE("process: the least limit of a process's control groups counts, of version 1 and 2") {
  const std::string v2 = "sys/fs/cgroup/", v1 = "sys/fs/cgroup/cpu/", of_this = "proc/self/cgroup";
  const double none = std::numeric_limits<double>::infinity();
  struct Case {
    const char* what;
    std::vector<std::pair<std::string, std::string>> files;
    double cores;
  };
  const auto quota = [&](const std::string& group, const char* microseconds, const char* period = "100000\n") {
    return std::vector<std::pair<std::string, std::string>>{{v1 + group + "cpu.cfs_quota_us", microseconds},
                                                            {v1 + group + "cpu.cfs_period_us", period}};
  };
  const auto with = [](std::vector<std::pair<std::string, std::string>> files, const auto& more) {
    files.insert(files.end(), more.begin(), more.end());
    return files;
  };
  const Case cases[] = {
      {"no control groups", {}, none},
      {"v2, a container with a namespace of its own", {{of_this, "0::/\n"}, {v2 + "cpu.max", "150000 100000\n"}}, 1.5},
      {"v2, no limit", {{of_this, "0::/\n"}, {v2 + "cpu.max", "max 100000\n"}}, none},
      {"v2, the group itself",
       {{of_this, "0::/user.slice/run.scope\n"}, {v2 + "user.slice/run.scope/cpu.max", "50000 100000\n"}}, 0.5},
      {"v2, the least of several, in the middle",
       {{of_this, "0::/a/b/c\n"}, {v2 + "a/cpu.max", "300000 100000\n"}, {v2 + "a/b/cpu.max", "20000 10000\n"},
        {v2 + "a/b/c/cpu.max", "max 100000\n"}},
       2},
      {"v2, a group beside its own", {{of_this, "0::/a\n"}, {v2 + "b/cpu.max", "50000 100000\n"}}, none},
      {"v2, a name with colons", {{of_this, "0::/a:b\n"}, {v2 + "a:b/cpu.max", "70000 100000"}}, 0.7},
      {"v1, a container that sees its own group as the root",
       with({{of_this, "4:cpu,cpuacct:/docker/1234\n"}}, quota("", "50000\n")), 0.5},
      {"v1, no limit", with({{of_this, "1:cpu:/\n"}}, quota("", "-1\n")), none},
      {"v1, a group of its own and the ones above",
       with(with({{of_this, "9:name=systemd:/x\n4:memory:/other\n1:cpuacct,cpu:/job/step\n0::/\n"}},
                 quota("job/", "250000\n")), quota("job/step/", "-1\n")), 2.5},
      {"v1, the path of another controller",
       with({{of_this, "4:memory:/m\n3:cpuset:/m\n1:cpu:/\n"}}, quota("m/", "50000\n")), none},
      {"both: the least", with({{of_this, "1:cpu:/j\n0::/j\n"}, {v2 + "j/cpu.max", "300000 100000"}},
                               quota("j/", "100000\n", "50000\n")), 2},
      {"v2 without /proc", {{v2 + "cpu.max", "250000 100000\n"}}, 2.5},
      {"broken files",
       {{of_this, "0::\nnonsense\n0:::::/a\n"}, {v2 + "cpu.max", "\n"}, {v1 + "cpu.cfs_quota_us", "50000"}}, none},
      {"a period of 0", with({{of_this, "1:cpu:/\n"}}, quota("", "50000\n", "0\n")), none},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    const Folder root;
    for (const auto& [name, text] : c.files) root.file(name, text);
    CHECK(cores_of_groups(root.path.string()) == c.cores);
  }
}

TEST_CASE("process: a program with closed streams" * doctest::skip()) {
  std::ofstream file(std::getenv("MINBERT_FILE"));
  std::cout << "on the screen" << std::endl;
  std::cerr << "on the screen, too" << std::endl;
  char c = 0;
  file << "stdin " << (read(STDIN_FILENO, &c, 1) < 0 ? "unread" : "read") << ", stdout "
       << (write(STDOUT_FILENO, "x", 1) < 0 ? "closed" : "open") << ", stderr "
       << (write(STDERR_FILENO, "x", 1) < 0 ? "closed" : "open") << '\n';
}

TEST_CASE("process: what is printed to a closed stream gets into no file, and still fails") {
  const Folder folder;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string(), file = folder / "table.csv";
  for (const bool in : {false, true})
    for (const bool out : {false, true})
      for (const bool error : {false, true})
        for (const char* spin : {"", "GOMP_SPINCOUNT=3000"}) {        // the program starts itself anew, or does not
          INFO(in << out << error << spin);
          shell(".", formatted("(env -u GOMP_SPINCOUNT {} MINBERT_FILE={} {} --no-skip '--test-case=process: a program "
                               "with closed streams' {} {} {})", spin, file, self, in ? "< /dev/null" : "<&-",
                               out ? "> /dev/null" : ">&-", error ? "2> /dev/null" : "2>&-"));
          CHECK(read_file(file) == formatted("stdin {}, stdout {}, stderr {}\n", in ? "read" : "unread",
                                             out ? "open" : "closed", error ? "open" : "closed"));
        }
}

// An instruction that no processor has, as a program meets one that was compiled for a newer processor: before main().
[[maybe_unused]] const bool trapped = std::getenv("MINBERT_ILLEGAL") && (__builtin_trap(), true);

TEST_CASE("process: an instruction that the processor does not have is said in one line") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const ShellResult result = shell(".", formatted("(MINBERT_ILLEGAL=1 {}; echo status $?)", self));
  INFO(result.said);
  CHECK(result.said.starts_with("illegal instruction: this program was compiled for another processor; compile it "));
  CHECK(result.has("make MARCH=x86-64-v3"));
  CHECK(result.has("status 132\n"));               // SIGILL
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
