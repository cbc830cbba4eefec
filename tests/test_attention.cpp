// What attention hands out, and what it keeps. That it equals its equation: test_plain_bert.cpp.
#include <doctest/doctest.h>

#include "engine/storage.h"
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
      for (int64_t i = begin; i < begin + L * L; ++i) {
        INFO("element " << i << ", of head " << head << " of a sentence of " << L
             << " tokens: without dropout, then with it");
        CHECK(a[i] == b[i]);
      }
  CHECK(begin == int64_t(a.size()));
  CHECK(difference(O.values(), dropped.values()) > 0.1);
}

// 4 heads of 256 x 256 scores are 64 times as many numbers as O.
TEST_CASE("attention: its forward keeps no scores for the backward") {
  const Batch batch = pack(sentences({256}));
  Inputs x = {normal("q", {256, 16}), normal("k", {256, 16}), normal("v", {256, 16})};
  for (Tensor& t : x) t.set_requires_grad(true);
  attention(x[0], x[1], x[2], batch, 4, 0.1, {3, 5});           // a GPU's products take their workspace once
  clear_tape();
  const int64_t before = pool_statistics().bytes_in_use;
  const Tensor O = attention(x[0], x[1], x[2], batch, 4, 0.1, {3, 5});
  CHECK(tape_length() == 1);
  const int64_t kept = pool_statistics().bytes_in_use - before, of_O = O.size() * int64_t(sizeof(real));
  INFO("bytes: O has " << of_O << ", the scores have " << 64 * of_O);
  CHECK(kept < 8 * of_O);
  clear_tape();
}

}  // namespace minbert::test
