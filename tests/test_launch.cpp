// Row programs do not depend on the order of lanes: each is run as a GPU's block would, its lanes shuffled.
//
// A Block starts one thread a lane, but lets only one run at a time: a lane runs until it meets the others
// (in a sum, a maximum or sync()), then the next lane runs up to the same place. So a program that reads what
// another lane was to write, without a sync() between, reads the wrong value here every time, as a GPU would
// now and then.
//
// The programs live in anonymous namespaces. Each kernel file is therefore compiled here once more, within a
// namespace of its own and with launch_rows replaced.
#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <thread>
#include <type_traits>

#include "engine/dropout_mask.h"
#include "engine/gemm.h"
#include "engine/launch.h"
#include "ops/softmax_row.h"
#include "gradcheck.h"
#include "minbert/cls_norm.h"
#include "minbert/ops.h"

namespace minbert::test {

class Block {
 public:
  explicit Block(uint64_t seed) : turn_of_(lanes) {
    std::iota(turn_of_.begin(), turn_of_.end(), 0);
    Random random(seed, "lanes");
    for (size_t i = lanes; i-- > 1;) std::swap(turn_of_[i], turn_of_[random.below(i + 1)]);
  }
  struct Team {
    Block* block;
    size_t lane;
    void sync() const { block->pass_on(lane); }
    template <class F>
    void each(int n, F f) const {
      for (int i = int(lane); i < n; i += lanes) f(i);
    }
    template <class F>
    real sum(int n, F f) const {
      real s = 0;
      for (int i = int(lane); i < n; i += lanes) s += f(i);
      return block->combine(lane, s, [](real a, real b) { return a + b; });
    }
    template <class F>
    real max(int n, F f) const {
      real m = f(0);
      for (int i = int(lane); i < n; i += lanes) m = std::max(m, f(i));
      return block->combine(lane, m, [](real a, real b) { return std::max(a, b); });
    }
  };
  template <class Program>
  void run(int64_t row, const Program& program) {
    std::vector<std::thread> threads;
    for (size_t lane = 0; lane < lanes; ++lane)
      threads.emplace_back([&, lane] {
        wait_for_turn(lane);
        program(Team{this, lane}, row);
        end_turn();
      });
    for (std::thread& t : threads) t.join();
    turn_ = 0;
  }

 private:
  static constexpr int lanes = 3;
  void wait_for_turn(size_t lane) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ % lanes == turn_of_[lane]; });
  }
  void end_turn() {
    const std::lock_guard lock(mutex_);
    ++turn_;
    changed_.notify_all();
  }
  void pass_on(size_t lane) {
    end_turn();
    wait_for_turn(lane);
  }
  template <class Combine>
  real combine(size_t lane, real v, Combine f) {
    partial_[lane] = v;
    pass_on(lane);
    const real all = f(f(partial_[0], partial_[1]), partial_[2]);
    pass_on(lane);
    return all;
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  int turn_ = 0;
  std::vector<int> turn_of_;                        // of each lane
  real partial_[lanes];
};

int64_t shuffled_rows = 0;                          // how many the tests below have run

}  // namespace minbert::test

namespace minbert {
template <class Program>
void launch_rows_shuffled(Device, int64_t rows, int64_t, const Program& program) {
  for (int64_t row = rows; row-- > 0; ++test::shuffled_rows) test::Block(uint64_t(row)).run(row, program);
}
}  // namespace minbert

#define launch_rows launch_rows_shuffled
namespace in_attention { using namespace minbert; }
namespace in_binary { using namespace minbert; }
namespace in_gradient { using namespace minbert; }
namespace in_dropout { using namespace minbert; }
namespace in_layer_norm { using namespace minbert; }
namespace in_loss { using namespace minbert; }
namespace in_reduce { using namespace minbert; }
namespace in_shape { using namespace minbert; }
namespace in_softmax { using namespace minbert; }
#define minbert in_attention
#include "ops/attention.cpp"
#undef minbert
#define minbert in_binary
#include "ops/binary.cpp"
#undef minbert
#define minbert in_dropout
#include "ops/dropout.cpp"
#undef minbert
#define minbert in_gradient
#include "norm/cls/gradient.cpp"
#undef minbert
#define minbert in_layer_norm
#include "ops/layer_norm.cpp"
#undef minbert
#define minbert in_loss
#include "ops/loss.cpp"
#undef minbert
#define minbert in_reduce
#include "ops/reduce.cpp"
#undef minbert
#define minbert in_shape
#include "ops/shape.cpp"
#undef minbert
#define minbert in_softmax
#include "ops/softmax.cpp"
#undef minbert
#undef launch_rows

namespace minbert::test {
namespace {

// Values and gradients of the shuffled form against those of the library, up to the order of sums.
void same(const std::string& name, Inputs inputs, const Function& shuffled, const Function& library) {
  INFO(name);
  for (Tensor& x : inputs) x.set_requires_grad(true);
  std::vector<real> values[2];
  std::vector<std::vector<real>> gradients[2];
  const Function* forms[] = {&shuffled, &library};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t before = shuffled_rows;
    const Tensor y = (*forms[i])(inputs);
    values[i] = y.values();
    backward(y, normal("cotangent", y.shape()));
    gradients[i] = take_gradients(inputs);
    CHECK((shuffled_rows > before) == (i == 0));
  }
  CHECK(difference(values[0], values[1]) < tolerance(4e-6, 1e-14));
  for (size_t k = 0; k < inputs.size(); ++k)
    CHECK(difference(gradients[0][k], gradients[1][k]) < tolerance(4e-6, 1e-14));
}

}  // namespace

TEST_CASE("launch: no row program depends on the order of its lanes") {
  const auto n = [](Shape shape) { return normal("launch", shape); };
  const Tensor a = n({4, 11}), b = normal("other", {4, 11}), row = n({11}), column = n({4, 1});
  const RandomKey key{3, 4};
  const std::vector<Sequence> sentences = {{{1, 2, 3, 4, 5}, {0, 0, 0, 0, 0}}, {{1}, {0}},
      {{1, 2, 3}, {0, 0, 0}}};
  const Batch batch = pack(sentences);
  const Tensor q = n({9, 4}), k = normal("k", {9, 4}), v = normal("v", {9, 4});
  const Indices labels = {3, 0, 10, 7}, group = {1, 0, 1, 2}, rows = {3, 1, 3};
  const Tensor gains = n({3, 11}), biases = normal("b", {3, 11});
#define SAME(space, inputs, call)                                                                     \
  same(#call, Inputs inputs, [&]([[maybe_unused]] const Inputs& x) { return in_##space::call; },       \
       [&]([[maybe_unused]] const Inputs& x) { return minbert::call; })
  for (const double p : {0.0, 0.4})
    SAME(attention, ({q, k, v}), attention(x[0], x[1], x[2], batch, 2, p, key, nullptr));
  SAME(binary, ({a, b}), mul(x[0], x[1]));
  SAME(binary, ({a, row}), mul(x[0], x[1]));
  SAME(binary, ({a, column}), sub(x[0], x[1]));
  SAME(dropout, ({a}), dropout(x[0], 0.4, key));
  SAME(dropout, ({a, b}), dropout_add(x[0], x[1], 0.4, key));
  SAME(gradient, ({a}), normalize_gradient(x[0], 0.5, 1e-5));
  SAME(layer_norm, ({a, row, row}), layer_norm(x[0], x[1], x[2], 1e-12, {}));
  SAME(layer_norm, ({a, gains, biases}), layer_norm(x[0], x[1], x[2], 1e-12, group));
  SAME(loss, ({a}), cross_entropy(x[0], labels));
  SAME(loss, ({a, b}), mean_squared_error(x[0], x[1]));
  SAME(loss, ({a, b}), cosine_similarity(x[0], x[1]));
  SAME(reduce, ({a}), sum(x[0]));
  SAME(reduce, ({a}), mean_rows(x[0]));
  SAME(reduce, ({q}), mean_sentences(x[0], batch));
  SAME(shape, ({a}), gather_rows(x[0], rows));
  SAME(shape, ({a, b}), concatenate_columns({x[0], x[1]}));
  SAME(shape, ({a}), slice_columns(x[0], 2, 9));
  SAME(softmax, ({a}), softmax(x[0]));
  SAME(softmax, ({a}), log_softmax(x[0]));
#undef SAME
}

TEST_CASE("launch: this test finds a lane that reads what another was to write") {
  std::vector<real> from(8, 1), to(8, 0);
  const auto racy = [&](bool with_sync) {
    std::fill(from.begin(), from.end(), real(1));
    Block(5).run(0, [&](auto team, int64_t) {
      team.each(8, [&](int i) { from[size_t(i)] = 2; });
      if (with_sync) team.sync();
      team.each(8, [&](int i) { to[size_t(i)] = from[size_t(7 - i)]; });
    });
    return to == std::vector<real>(8, 2);
  };
  CHECK(racy(true));
  CHECK_FALSE(racy(false));
}

TEST_CASE("launch: sums over columns are the same for any number of threads, and by group") {
  const int64_t rows = 300, cols = 130;
  const Tensor x = normal("columns", {rows, cols}), one({2, cols}), wide({2, cols});
  std::vector<int32_t> group;
  for (int32_t r = 0; r < rows; ++r) group.push_back(r % 3 == 0);
  const real* values = x.data();
  const auto element = [values](int64_t row, int64_t col) { return values[row * 130 + col]; };
  launch_column_sums(Device::cpu, rows, cols, 2, group.data(), {wide.data(), false}, element);
  for (int64_t g = 0; g < 2; ++g)
    for (int64_t c = 0; c < cols; ++c) {
      real s = 0;
      for (int64_t r = 0; r < rows; ++r)
        if (group[size_t(r)] == g) s += element(r, c);
      one.data()[g * cols + c] = s;
    }
  CHECK(one.values() == wide.values());
}

TEST_CASE("launch: every element once, for every length") {
  for (const int64_t n : {0, 1, 4095, 4096, 4097, 20000}) {
    std::vector<int> visits(size_t(n), 0);
    int* at = visits.data();
    launch_elements(Device::cpu, n, [at](int64_t i) { ++at[i]; });
    CHECK(std::count(visits.begin(), visits.end(), 1) == n);
  }
}

TEST_CASE("launch: OpenBLAS in its OpenMP flavour is loaded where it is installed") {
  namespace fs = std::filesystem;
  bool installed = false;
  for (const char* root : {"/usr/lib", "/usr/lib64"})
    if (fs::is_directory(root))
      for (const auto& folder : fs::directory_iterator(root))
        installed = installed || fs::exists(folder.path() / "openblas-openmp/libopenblas.so.0");
  if (installed) CHECK(openblas_flavour() == 2);
  else MESSAGE("the OpenMP flavour is not installed: not checked");
}

}  // namespace minbert::test
