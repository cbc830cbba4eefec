// The one main of all tests. It says what this build is and what it does not run. --device cuda: on the GPU.
// --kernels NAME: with OpenBLAS's kernels of this name. --operation NAME: the gradient check of this operation of ops.h
// alone, and its golden values, where there are some; --operation "NAME FORM": of this form of it.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cblas.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <set>

#include "engine/cuda.h"
#include "engine/process.h"
#include "golden_file.h"
#include "minbert/autograd.h"
#include "minbert/safetensors.h"
#include "op_cases.h"

namespace minbert::test {

extern const bool is_control;                       // control.cpp

// In the forms in which tests compare.
constexpr const char* all_wrong = "control: statements that are wrong";
TEST_CASE(all_wrong * doctest::skip()) {
  const std::vector<real> one = {1, 2, 3}, other = {1, 2, 4};
  const std::string text = "text";
  CHECK(text.empty());
  CHECK_FALSE(text.starts_with("te"));
  CHECK(text == "word");
  CHECK(one.size() == 4);
  CHECK(one == other);
  CHECK(one[0] == other[1]);
  CHECK(one[0] > other[1]);
  CHECK(double(one[2]) == doctest::Approx(double(other[2])).epsilon(1e-4));
  CHECK(largest(one) < 1);
  CHECK(difference(one, other) < tolerance(1e-4, 1e-13));
}

}  // namespace minbert::test

namespace {

// With MINBERT_RECEIPT in the environment: a word, one line on stdin, stands in the last line of the output, before the
// counts. .build/grade believes no other counts. It takes 128 random bits for the word, which is read before objects of
// other files are made.
struct Receipt {
  char word[64] = {};
  Receipt() {
    if (!std::getenv("MINBERT_RECEIPT")) return;
    for (size_t i = 0; i + 1 < sizeof word && read(STDIN_FILENO, word + i, 1) == 1 && word[i] != '\n';) ++i;
    for (char& c : word)
      if (c == '\n') c = 0;
  }
};
[[gnu::init_priority(101)]] Receipt receipt;
doctest::TestRunStats counted{};

// Every test, with its tensors on the GPU; products as exact as the CPU's, and memory that a test may look into.
void use_gpu() {
  minbert::set_default_device(minbert::Device::cuda);
  minbert::set_matmul_precision(minbert::Precision::fp32);
  minbert::cuda::set_debug(true);
  std::cout << minbert::device_text() << '\n';
}

// A test that fails half-way leaves its tape behind, and there the paths of modules that are gone: none begins with it.
struct NewTape : doctest::IReporter {
  explicit NewTape(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData&) override { minbert::clear_tape(); }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& run) override { counted = run; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("new tape", 1, NewTape);

// The gradient checks of one operation, and no other test.
void choose_operation(const std::string& name, doctest::Context& context) {
  std::set<std::string> names;
  std::string operation;
  for (const minbert::test::Case& c : minbert::test::cases()) {
    names.insert(c.operation);
    if (minbert::test::is_called(c, name)) operation = c.operation;
  }
  if (operation.empty()) {
    std::cerr << "--operation " << name << ": there is no such operation; those of ops.h are\n ";
    for (const std::string& known : names) std::cerr << " " << known;
    std::cerr << "\n";
    std::exit(1);
  }
  minbert::test::only_operation = name;
  context.addFilter("test-case", minbert::test::every_backward);
  const minbert::SafeTensors golden(minbert::test::golden_file("ops.safetensors"));
  if (golden.entries().contains(operation + ".value"))
    context.addFilter("test-case", minbert::test::golden_operations);
}

// What the control makes of a run: a failure, if each wrong statement is found to be wrong. So no test passes there but
// one that passes whatever it compares.
int control_status() {
  std::ostream nowhere(nullptr);
  doctest::Context context;
  context.addFilter("test-case", minbert::test::all_wrong);
  context.setOption("no-skip", true);
  context.setCout(&nowhere);
  context.run();
  return counted.numAsserts > 0 && counted.numAssertsFailed == counted.numAsserts ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_double = sizeof(minbert::real) == sizeof(double);
  bool gpu = false;
  std::string kernels, operation;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--device" && std::string(argv[i + 1]) == "cuda") gpu = true;
    if (std::string(argv[i]) == "--kernels") kernels = argv[i + 1];
    if (std::string(argv[i]) == "--operation") operation = argv[i + 1];
  }
  minbert::prepare_threads();
  if (!kernels.empty() && !minbert::use_kernels(kernels)) {
    std::cerr << "OpenBLAS was asked for its " << kernels << " kernels and computes with "
              << minbert::openblas_kernels() << '\n';
    return 1;
  }
  minbert::prepare_openblas();
  std::cout << "real: " << (is_double ? "double" : "float") << ", OpenBLAS flavour " << openblas_get_parallel()
            << " (0 sequential, 1 pthread, 2 OpenMP), " << minbert::openblas_kernels() << " kernels\n";
  if (!is_double)
    std::cout << "gradient checks: finite differences not run (they need the double build, MINBERT_DOUBLE)\n";
  if (gpu && !minbert::cuda::present()) {
    std::cout << "cuda: not run (no device)\n";
    return 0;
  }
  if (gpu) use_gpu();
#ifdef MINBERT_CUDA
  else std::cout << "cuda: not run (--device cuda runs the tests there)\n";
#else
  else std::cout << "cuda: not run (this build has no GPU backend)\n";
#endif
  std::cout << std::flush;
  std::ostream shown(std::cout.rdbuf());            // whatever a test does with std::cout
  doctest::Context context(argc, argv);
  context.setCout(&shown);
  if (!operation.empty()) choose_operation(operation, context);
  if (!gpu) context.addFilter("test-case-exclude", "cuda:*");
  int status = context.run();
  const doctest::TestRunStats run = counted;
  if (minbert::test::is_control) status = control_status();
  if (receipt.word[0])
    shown << "\nreceipt " << receipt.word << ": cases " << run.numTestCasesPassingFilters << ", assertions "
          << run.numAsserts << ", status " << status << std::endl;
  return status;
}
