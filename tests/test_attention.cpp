// What attention hands out, and what it keeps. That it equals its equation: test_plain_bert.cpp.
#include <doctest/doctest.h>

#include "engine/gemm/bf16_gemm.h"
#include "engine/storage.h"
#include "gradcheck.h"
#include "on_device.h"
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

TEST_CASE("attention: in a causal batch a token has what the text up to it alone gives") {
  const int T = 70, heads = 2;
  const Inputs x = {normal("q", {T, 12}), normal("k", {T, 12}), normal("v", {T, 12})};
  Batch text = pack(sentences({T}));
  text.causal = true;
  Tensor weights;
  const Tensor O = attention(x[0], x[1], x[2], text, heads, 0, {}, &weights);
  // The weights of the last of L tokens, head by head, each with zeros up to T
  const auto last_rows = [&](const Tensor& all, int stride, int L) {
    const std::vector<real> P = all.values();
    std::vector<real> list;
    for (int head = 0; head < heads; ++head) {
      const real* row = P.data() + head * attention_block(stride) + (L - 1) * stride;
      list.insert(list.end(), row, row + stride);
      list.resize(size_t((head + 1) * T));
    }
    return list;
  };
  for (const int L : {1, 2, 7, 64, T}) {
    INFO("token " << L << " of " << T);
    Tensor of_begin;
    const Tensor begin = attention(slice_rows(x[0], 0, L), slice_rows(x[1], 0, L), slice_rows(x[2], 0, L),
                                   pack(sentences({L})), heads, 0, {}, &of_begin);
    CHECK(difference(O[L - 1].values(), begin[L - 1].values()) < tolerance(1e-5, 1e-13));
    const std::vector<real> seen = last_rows(weights, T, L);
    CHECK(difference(seen, last_rows(of_begin, L, L)) < tolerance(1e-5, 1e-13));
    for (int j = L; j < T; ++j) CHECK(seen[size_t(j)] == 0);
  }
  CHECK(difference(O[0].values(), O[T - 1].values()) > 0.01);           // not a constant
}

// Of several sentences, with dropout, and in bf16 where the processor has it
TEST_CASE("attention: in a causal batch later tokens change no bit, forward and backward") {
  Batch batch = pack(sentences({33, 1, 70}));
  batch.causal = true;
  const int64_t T = batch.tokens(), end = 34 + 50;  // from here on, in the last sentence, tokens differ
  const auto run = [&](const char* later) {
    Inputs x;
    for (const char* name : {"q", "k", "v"}) {
      const Tensor same = normal(name, {T, 64}), other = normal(name + std::string(later), {T, 64});
      x.push_back(transpose(cat({transpose(slice_rows(same, 0, end)), transpose(slice_rows(other, end, T))})));
      x.back().set_requires_grad(true);
    }
    const Tensor O = attention(x[0], x[1], x[2], batch, 2, 0.2, {3, 5});
    std::vector<std::vector<real>> first = {slice_rows(O, 0, end).values()};
    backward(slice_rows(O, 0, end), normal("cotangent", {end, 64}));
    for (const std::vector<real>& g : take_gradients(x)) {
      first.emplace_back(g.begin(), g.begin() + end * 64);
      CHECK(largest({g.begin() + end * 64, g.end()}) == 0);
    }
    return first;
  };
  const auto exact = run("one");
  CHECK(exact == run("another"));
  if (bf16_instructions().empty()) return;
  const In bf16(Precision::bf16);
  const auto rounded = run("one");
  CHECK(rounded == run("another"));
  CHECK(difference(rounded[0], exact[0]) < 0.02);
}

TEST_CASE("attention: a BERT reads a causal batch so, also where its layers are computed again") {
  BertModel bert(tiny_config("layer", 8, 0.1));
  const Parameters parameters(bert, {});
  randomise(parameters);
  const auto states = [&](const std::vector<Sequence>& texts) {
    Batch batch = pack(texts);
    batch.causal = true;
    return bert.forward(batch).last_hidden_state;
  };
  const std::vector<Sequence> texts = sentences({9, 4});
  bert.train(false);
  const Sequence begin = {{texts[0].ids.begin(), texts[0].ids.begin() + 5}, {0, 0, 0, 0, 1}};
  CHECK(difference(states({begin}).values(), slice_rows(states(texts), 0, 5).values()) < tolerance(1e-5, 1e-13));
  bert.train();
  const auto gradients = [&](bool again) {
    DropoutClock::current() = {3, 7};
    set_recompute(again);
    const Tensor x = states(texts);
    set_recompute(false);
    backward(x, normal("cotangent", x.shape()));
    return take_gradients(values_of(parameters));
  };
  CHECK(gradients(true) == gradients(false));
}

}  // namespace minbert::test
