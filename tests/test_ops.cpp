// Every operation of ops.h, enrolled in the gradient check by a line in the table.
#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "error_of.h"
#include "golden_file.h"
#include "minbert/files.h"
#include "op_cases.h"

namespace minbert::test {

TEST_CASE(every_backward) {
  for (const Case& c : cases())
    if (is_called(c, only_operation))
      gradcheck(formatted("{} {}", c.operation, c.form), c.inputs, c.f);
}

TEST_CASE("ops: every operation of ops.h is enrolled, and is recorded under its own name") {
  std::istringstream in(read_file(repository("include/minbert/ops.h")));
  std::set<std::string> declared = {"reshape"}, enrolled;
  const std::string type = "Tensor ";               // "Tensor name(...": a prototype
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(type)) declared.insert(line.substr(type.size(), line.find('(') - type.size()));
  CHECK(declared.size() > 30);
  for (const Case& c : cases()) enrolled.insert(c.operation);
  CHECK(declared == enrolled);

  for (Case& c : cases()) {
    for (Tensor& x : c.inputs) x.set_requires_grad(true);
    const Tensor y = c.f(c.inputs);
    std::ostringstream tape;
    print_tape(tape);
    const std::string &name = c.operation, text = tape.str();
    if (name != "dropout_add" || c.form.empty()) CHECK(contains(text, name + " -> "));
    clear_tape();
  }
}

TEST_CASE("ops: a shape that does not fit is an error naming the operation and both shapes") {
  const Tensor a = n({3, 4}), b = n({5, 3});
  const std::vector<std::pair<std::string, std::function<void()>>> wrong = {
      {"add", [&] { add(a, b); }},
      {"mul", [&] { mul(a, b); }},
      {"sub", [&] { sub(a, n({3, 2})); }},
      {"matmul", [&] { matmul(a, b); }},
      {"matmul_nt", [&] { matmul_nt(a, b); }},
      {"matmul_tn", [&] { matmul_tn(a, b); }},
      {"linear", [&] { linear(a, b, n({5})); }},
      {"cosine_similarity", [&] { cosine_similarity(a, b); }},
      {"dropout_add", [&] { dropout_add(a, b, p, key); }},
      {"cat", [&] { cat({a, b}); }},
      {"layer_norm", [&] { layer_norm(a, n({3}), n({3}), 1e-12); }},
      {"attention", [&] { attention(a, b, a, ragged(), 2, 0, key); }},
      {"cross_entropy", [&] { cross_entropy(a, {1, 2}); }},
      {"linear_cross_entropy", [&] { linear_cross_entropy(a, n({5, 4}), n({5}), {1, 2}); }},
      {"mse_loss", [&] { mse_loss(a, b); }},
      {"binary_cross_entropy_with_logits", [&] { binary_cross_entropy_with_logits(a, b); }},
      {"reshape", [&] { a.reshape({5}); }},
  };
  for (const auto& [name, f] : wrong) {
    const std::string text = error_of(f);
    INFO(text);
    CHECK(text.starts_with(name + ":"));
    CHECK(contains(text, "[3, 4]"));
  }
  CHECK(error_of([&] { embedding(a, {0, 3}); }) == "embedding: index 3 is outside of 0..2");
  CHECK(error_of([&] { cross_entropy(a, {0, 4, 1}); }) == "cross_entropy: label 4 is outside of 0..3");
  CHECK(error_of([&] { linear_cross_entropy(a, n({5, 4}), n({5}), {0, 5, 1}); }) ==
        "linear_cross_entropy: label 5 is outside of 0..4");
  CHECK(error_of([&] { dropout(a, 1, key); }).starts_with("dropout: "));
  CHECK(error_of([&] { attention(a, a, a, ragged(), 3, 0, key); }).starts_with("attention: "));
  const Tensor gains = n({2, 4}), q = n({9, 4});
  CHECK(error_of([&] { layer_norm(a, gains, gains, 1e-12, {0, 2, 1}); }).starts_with("layer_norm: group 2"));
  CHECK(error_of([&] { attention(q, q, q, ragged(), 2, 1, key); }).starts_with("attention: "));
}

}  // namespace minbert::test
