// What attention hands out. That it equals its equation: test_plain_bert.cpp.
#include <doctest/doctest.h>

#include "gradcheck.h"
#include "tiny_bert.h"

namespace minbert::test {
TEST_CASE("attention: the weights it hands out are those before dropout") {
  const Batch batch = pack(sentences({6, 1, 8}));
  const Inputs x = {normal("q", {15, 12}), normal("k", {15, 12}), normal("v", {15, 12})};
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
