// Lab 12, a norm of one's own: examples/labs/12-own-norm/mine has a line "ID NAME". Without this file nothing
// is asserted here. What holds for every norm of the table is in test_norm.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "engine/names.h"
#include "error_of.h"
#include "golden_file.h"
#include "lone_norm.h"
#include "minbert/files.h"

namespace minbert::test {
namespace {

std::string lab(const std::string& file) { return repository("examples/labs/12-own-norm/" + file); }

// Of one row the norm makes what its equation says: a file of the lab has the numbers.
void check_values(const NormEntry& entry) {
  std::istringstream values(read_file(lab("values")));
  int rows = 0;
  for (std::string line; std::getline(values, line);) {
    const std::string name = line.substr(0, line.find('\t'));               // as in ada:c=2,k=0.3
    if (name.substr(0, name.find(':')) != entry.name) continue;
    INFO(name << " of 1 2 3 6 -1 0.5, beside 2 4 6 12 -2 1 in its sentence");
    const Lone lone(name, {6, 3, 1e-12});
    for (const Parameter& p : lone.parameters.items())
      p.value.copy_from(std::vector<real>(size_t(p.value.size()), p.name == "weight" ? 1 : 0));
    const std::vector<real> rows_of_x = {1, 2, 3, 6, -1, 0.5, 2, 4, 6, 12, -2, 1};
    const Tensor y = (*lone.norm)(Tensor::from({2, 6}, rows_of_x), pack(sentences({2})));
    std::istringstream expected(line.substr(name.size()));
    for (size_t i = 0; i < 6; ++i) {
      double e = 0;
      REQUIRE(bool(expected >> e));
      CHECK(double(y.values()[i]) == doctest::Approx(e).epsilon(1e-4));
    }
    ++rows;
  }
  CHECK(rows > 0);
}

// The norm's entry, or nullptr and a line that says why. An Error where it is not the one that was drawn. In every test
// it makes what its equation says: y = x, or numbers that are all the same, pass none.
const NormEntry* own_norm() {
  if (!std::filesystem::exists(lab("mine"))) {
    std::cout << "own norm: not run (examples/labs/12-own-norm/mine is not there)\n";
    return nullptr;
  }
  std::istringstream mine(read_file(lab("mine"))), drawn(read_file(lab("drawn")));
  uint64_t id = 0;
  std::string name, line;
  MB_CHECK(mine >> id >> name,
           "examples/labs/12-own-norm/mine: expected a line \"ID NAME\", as in \"4713 dyt\"");
  std::vector<std::string> names;
  while (std::getline(drawn, line))
    if (!line.empty() && line[0] != '#') names.push_back(line.substr(0, line.find('\t')));
  const std::string& expected = names[id % names.size()];
  MB_CHECK(name == expected, "examples/labs/12-own-norm/mine: {} draws \"{}\", not \"{}\"", id, expected, name);
  const NormEntry& entry = norms().find(name);
  check_values(entry);
  return &entry;
}

size_t operations_on_tape() {
  const auto length = size_t(tape_length());
  clear_tape();
  return length;
}

}  // namespace

TEST_CASE("own norm: it is the one that was drawn, in the table, in a file of its own, in README's table") {
  const NormEntry* entry = own_norm();
  if (!entry) return;
  std::string file_name = entry->name;
  std::ranges::replace(file_name, '-', '_');
  const std::string file = repository("src/norm/hidden/" + file_name + ".cpp");
  REQUIRE_MESSAGE(std::filesystem::exists(file), file << " is not there");
  const std::string text = read_file(file);
  for (const char* heading : {"//   Paper ", "//   Equation ", "//   Shapes ", "//   Starts as ", "//   Deviations "}) {
    INFO(file << " begins with the five headings that every norm's file has");
    CHECK(contains(text, heading));
  }
  const std::string row = formatted("| `{}` | {} |", entry->name, entry->formula);
  INFO(row);
  CHECK(contains(read_file(repository("src/norm/README.md")), row));
  CHECK(std::string(entry->paper).size() > 4);
}

TEST_CASE("own norm: of one row it makes what its equation says, with its options as they are and with others") {
  own_norm();                                       // checks it
}

TEST_CASE("own norm: its backward is the derivative of its forward") {
  const NormEntry* entry = own_norm();
  if (!entry) return;
  for (const bool training : {true, false}) {
    const Lone lone(entry->name);
    lone.norm->train(training);
    const Batch batch = three_sentences(tasks_of_sentences);
    gradcheck(formatted("{}, training {}", entry->name, training), lone.inputs(batch, normal("x", {8, 6})),
              [&](const Inputs& in) { return scale((*lone.norm)(in[0], batch), 1); });
    gradcheck(formatted("{}, composed, training {}", entry->name, training), lone.inputs(batch, normal("x", {8, 6})),
              [&](const Inputs& in) { return scale(lone.norm->composed(in[0], batch), 1); });
  }
}

TEST_CASE("own norm: forward is one operation with a backward of its own, and equals composed") {
  const NormEntry* entry = own_norm();
  if (!entry) return;
  for (const auto& lengths : {std::vector<int>{7, 1, 12, 3}, std::vector<int>{5}, std::vector<int>{1}}) {
    const Lone lone(entry->name, {32, 3, 1e-5}, 8);
    const Batch batch = pack(sentences(lengths));
    const Tensor x = normal("x", {batch.tokens(), 32}, 3);
    const Inputs inputs = lone.inputs(batch, x);
    const auto composed =
        values_and_gradients(inputs, [&](const Inputs& in) { return lone.norm->composed(in[0], batch); });
    const auto fused =
        values_and_gradients(inputs, [&](const Inputs& in) { return (*lone.norm)(in[0], batch); });
    for (size_t i = 0; i < composed.size(); ++i) {
      INFO("input " << i << ", or the result");
      CHECK(difference(fused[i], composed[i], 1) < tolerance(1e-4, 1e-12));
    }
    Tensor leaf = x.detach();
    leaf.set_requires_grad(true);
    (void)(*lone.norm)(leaf, batch);
    CHECK(operations_on_tape() == 1);
    (void)lone.norm->composed(leaf, batch);
    CHECK(operations_on_tape() > 1);
  }
}

TEST_CASE("own norm: a packed batch is its sentences one at a time, and a NaN stays in its sentence") {
  const NormEntry* entry = own_norm();
  if (!entry) return;
  const Lone lone(entry->name);
  lone.norm->train(false);
  const std::vector<Sequence> all = sentences({3, 1, 4});
  std::vector<real> values = normal("x", {8, 6}).values(), apart;
  const auto run = [&](std::span<const real> x, const Batch& batch) {
    const Tensor rows = Tensor::from({int64_t(x.size()) / 6, 6}, std::vector<real>(x.begin(), x.end()));
    return (*lone.norm)(rows, batch).values();
  };
  const std::vector<real> together = run(values, pack(all));
  for (size_t b = 0, row = 0; b < 3; row += all[b++].ids.size()) {
    const std::vector<real> y = run(std::span(values).subspan(6 * row, 6 * all[b].ids.size()), pack({&all[b], 1}));
    apart.insert(apart.end(), y.begin(), y.end());
  }
  CHECK(difference(together, apart) < tolerance(1e-6, 1e-14));

  values[6 * 3 + 2] = std::numeric_limits<real>::quiet_NaN();                // the second sentence is row 3 alone
  const std::vector<real> broken = run(values, pack(all));
  CHECK(std::isnan(broken[6 * 3 + 2]));
  for (size_t i = 0; i < broken.size(); ++i)
    if (i / 6 != 3) CHECK(broken[i] == together[i]);
}

TEST_CASE("own norm: a model with it is saved and loaded, and takes over a LayerNorm's checkpoint") {
  const NormEntry* entry = own_norm();
  if (entry) check_saved(*entry);
}

}  // namespace minbert::test
