// Attention against its equation written in other operations.
#include <doctest/doctest.h>

#include "gradcheck.h"
#include "ops/attention_composed.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

Inputs queries_keys_values() {
  return {normal("q", {15, 12}), normal("k", {15, 12}), normal("v", {15, 12})};
}

}  // namespace

TEST_CASE("attention: equals its composed form, forward and backward") {
  const Batch batch = pack(sentences({5, 1, 9}));
  const Inputs x = queries_keys_values();
  for (const int heads : {1, 2, 3}) {
    INFO(heads << " heads");
    const auto fused = values_and_gradients(
        x, [&](const Inputs& in) { return attention(in[0], in[1], in[2], batch, heads); });
    const auto composed = values_and_gradients(
        x, [&](const Inputs& in) { return attention_composed(in[0], in[1], in[2], batch, heads); });
    for (size_t i = 0; i < fused.size(); ++i)
      CHECK(difference(fused[i], composed[i]) < tolerance(1e-5, 1e-13));
  }
}

TEST_CASE("attention: the weights it hands out are those before dropout") {
  const Batch batch = pack(sentences({6, 1, 8}));
  const Inputs x = queries_keys_values();
  Tensor without, with;
  const RandomKey key{3, 5};
  const Tensor O = attention(x[0], x[1], x[2], batch, 2, 0, key, &without);
  const Tensor dropped = attention(x[0], x[1], x[2], batch, 2, 0.5, key, &with);
  const std::vector<real> a = without.values(), b = with.values();
  int64_t begin = 0;
  for (const int64_t L : {6, 1, 8})
    for (int head = 0; head < 2; ++head, begin += attention_block(L))
      for (int64_t i = begin; i < begin + L * L; ++i) CHECK(a[i] == b[i]);
  CHECK(begin == int64_t(a.size()));
  CHECK(difference(O.values(), dropped.values()) > 0.1);
}

}  // namespace minbert::test
