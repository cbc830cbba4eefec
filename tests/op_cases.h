// Every operation of ops.h, each with inputs: for the gradient check, and for the comparison of devices.
#pragma once

#include "gradcheck.h"
#include "minbert/ops.h"
#include "minbert/tokenizer.h"

namespace minbert::test {

struct Case {
  std::string operation, form;
  Inputs inputs;
  Function f;
};

inline Tensor n(Shape shape) { return normal("n" + formatted("{}", shape), shape); }
inline Tensor m(Shape shape) { return normal("m" + formatted("{}", shape), shape); }
inline Tensor kinked(Shape shape) { return normal("kinked", shape, 1, 0.1); }         // no value near 0
inline Tensor positive(Shape shape) { return uniform("positive", shape, 0.5, 2); }

inline Sequence sentence(int length) {
  const size_t L = size_t(length);
  return {std::vector<int32_t>(L, 1), std::vector<int32_t>(L, 0)};
}
inline Batch ragged() { return pack(std::vector{sentence(3), sentence(1), sentence(5)}); }   // T = 9

inline constexpr RandomKey key{7, 8};
inline constexpr double p = 0.3;

// --operation of tests/main.cpp: an operation, or "operation form", whose cases alone this test checks; empty: all.
inline std::string only_operation;
inline bool is_called(const Case& c, const std::string& name) {
  return name.empty() || name == c.operation || name == c.operation + " " + c.form;
}
inline bool is_asked_for(const std::string& operation) {
  return only_operation.empty() || (only_operation + " ").starts_with(operation + " ");
}
inline constexpr const char* every_backward = "ops: every backward is the derivative of its forward";
inline constexpr const char* golden_operations = "golden: operations have PyTorch's values and gradients";

inline std::vector<Case> cases() {
  const Batch batch = ragged();
  const Indices rows = {2, 0, 2, 1, 2}, groups = {1, 0, 1, 2, 1}, labels = {2, 0, 3};
  Batch causal = batch;
  causal.causal = true;
  const auto attend = [=](int heads, double drop) {
    return [=](const Inputs& x) { return attention(x[0], x[1], x[2], batch, heads, drop, key); };
  };
  const Inputs qkv = {n({9, 6}), m({9, 6}), kinked({9, 6})}, frozen = {n({9, 6}), m({9, 6}), kinked({9, 6})};
  return {
      {"add", "same", {n({3, 4}), m({3, 4})}, [](const Inputs& x) { return add(x[0], x[1]); }},
      {"add", "row", {n({3, 4}), m({4})}, [](const Inputs& x) { return add(x[0], x[1]); }},
      {"add", "row [1,H]", {n({3, 4}), m({1, 4})}, [](const Inputs& x) { return add(x[0], x[1]); }},
      {"add", "column", {n({3, 4}), m({3, 1})}, [](const Inputs& x) { return add(x[0], x[1]); }},
      {"add", "to itself", {n({3, 4})}, [](const Inputs& x) { return add(x[0], x[0]); }},
      {"add", "row first", {n({4}), m({3, 4})}, [](const Inputs& x) { return x[0] + x[1]; }},
      {"sub", "row first", {n({4}), m({3, 4})}, [](const Inputs& x) { return x[0] - x[1]; }},
      {"mul", "column first", {n({3, 1}), m({3, 4})}, [](const Inputs& x) { return x[0] * x[1]; }},
      {"div", "row first", {n({4}), positive({3, 4})}, [](const Inputs& x) { return x[0] / x[1]; }},
      {"sub", "same", {n({3, 4}), m({3, 4})}, [](const Inputs& x) { return sub(x[0], x[1]); }},
      {"sub", "row", {n({3, 4}), m({4})}, [](const Inputs& x) { return sub(x[0], x[1]); }},
      {"sub", "column", {n({3, 4}), m({3, 1})}, [](const Inputs& x) { return sub(x[0], x[1]); }},
      {"mul", "same", {n({3, 4}), m({3, 4})}, [](const Inputs& x) { return mul(x[0], x[1]); }},
      {"mul", "row", {n({3, 4}), m({4})}, [](const Inputs& x) { return mul(x[0], x[1]); }},
      {"mul", "column", {n({3, 4}), m({3, 1})}, [](const Inputs& x) { return mul(x[0], x[1]); }},
      {"mul", "of one column", {n({3, 1}), m({1})}, [](const Inputs& x) { return mul(x[0], x[1]); }},
      {"mul", "by itself", {n({3, 4})}, [](const Inputs& x) { return mul(x[0], x[0]); }},
      {"div", "same", {n({3, 4}), positive({3, 4})}, [](const Inputs& x) { return x[0] / x[1]; }},
      {"div", "row", {n({3, 4}), positive({4})}, [](const Inputs& x) { return x[0] / x[1]; }},
      {"div", "column", {n({3, 4}), positive({3, 1})}, [](const Inputs& x) { return x[0] / x[1]; }},
      {"scale", "", {n({3, 4})}, [](const Inputs& x) { return -1.7 * x[0]; }},
      {"shift", "", {n({3, 4})}, [](const Inputs& x) { return 0.3 - x[0]; }},
      {"pow", "", {positive({3, 4})}, [](const Inputs& x) { return pow(x[0], -0.5); }},
      {"pow", "of a quotient", {positive({3, 4})}, [](const Inputs& x) { return 2 / x[0]; }},
      {"clamp", "", {kinked({3, 4})}, [](const Inputs& x) { return clamp(x[0], -0.05, 0.05) + clamp(x[0], -5, 5); }},
      {"sign", "", {kinked({3, 4})}, [](const Inputs& x) { return sign(x[0]) * x[0]; }},
      {"relu", "", {kinked({3, 4})}, [](const Inputs& x) { return relu(x[0]); }},
      {"gelu", "", {n({3, 4})}, [](const Inputs& x) { return gelu(x[0]); }},
      {"gelu_new", "", {n({3, 4})}, [](const Inputs& x) { return gelu_new(x[0]); }},
      {"tanh", "", {n({3, 4})}, [](const Inputs& x) { return tanh(x[0]); }},
      {"sigmoid", "", {n({3, 4})}, [](const Inputs& x) { return sigmoid(x[0]); }},
      {"abs", "", {kinked({3, 4})}, [](const Inputs& x) { return abs(x[0]); }},
      {"exp", "", {n({3, 4})}, [](const Inputs& x) { return exp(x[0]); }},
      {"log", "", {positive({3, 4})}, [](const Inputs& x) { return log(x[0]); }},
      {"square", "", {n({3, 4})}, [](const Inputs& x) { return square(x[0]); }},
      {"sqrt", "", {positive({3, 4})}, [](const Inputs& x) { return sqrt(x[0]); }},
      {"matmul", "", {n({3, 4}), m({4, 5})}, [](const Inputs& x) { return matmul(x[0], x[1]); }},
      {"matmul_nt", "", {n({3, 4}), m({5, 4})}, [](const Inputs& x) { return matmul_nt(x[0], x[1]); }},
      {"matmul_nt", "with itself", {n({3, 4})}, [](const Inputs& x) { return matmul_nt(x[0], x[0]); }},
      {"matmul_tn", "", {n({4, 3}), m({4, 5})}, [](const Inputs& x) { return matmul_tn(x[0], x[1]); }},
      {"linear", "", {n({3, 4}), m({5, 4}), m({5})},
       [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
      {"feed_forward", "", {n({3, 4}), m({5, 4}), m({5}), m({4, 5}), m({4})},
       [](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4]); }},
      {"feed_forward", "relu", {n({3, 4}), m({5, 4}), m({5}), m({4, 5}), m({4})},
       [](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4], relu); }},
      {"feed_forward", "gelu_new", {n({3, 4}), m({5, 4}), m({5}), m({4, 5}), m({4})},
       [](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4], gelu_new); }},
      {"sum", "", {n({3, 4})}, [](const Inputs& x) { return sum(x[0]); }},
      {"mean", "", {n({3, 4})}, [](const Inputs& x) { return mean(x[0]); }},
      {"sum_rows", "", {n({3, 4})}, [](const Inputs& x) { return sum_rows(x[0]); }},
      {"mean_rows", "", {n({3, 4})}, [](const Inputs& x) { return mean_rows(x[0]); }},
      {"mean_columns", "", {n({3, 4})}, [](const Inputs& x) { return mean_columns(x[0]); }},
      {"mean_sentences", "", {n({9, 4})}, [=](const Inputs& x) { return mean_sentences(x[0], batch); }},
      {"index_select", "one row three times", {n({3, 4})},
       [=](const Inputs& x) { return index_select(x[0], rows); }},
      {"index_select", "over 64 columns", {n({3, 70})},
       [=](const Inputs& x) { return index_select(x[0], rows); }},
      {"embedding", "an id no one asks for", {n({6, 4})},
       [=](const Inputs& x) { return embedding(x[0], rows); }},
      {"embedding", "of many ids", {n({40, 4})},
       [](const Inputs& x) { return embedding(x[0], {39, 7, 39, 0, 7, 20, 39}); }},
      {"slice_rows", "", {n({5, 4})}, [](const Inputs& x) { return slice_rows(x[0], 1, 4); }},
      {"transpose", "", {n({3, 4})}, [](const Inputs& x) { return transpose(x[0]); }},
      {"cat", "", {n({3, 4}), m({3, 1}), m({3, 2})},
       [](const Inputs& x) { return cat(x); }},
      {"cat", "one part twice", {n({3, 4}), m({3, 2})},
       [](const Inputs& x) { return cat({x[0], x[1], x[0]}); }},
      {"softmax", "", {n({3, 5})}, [](const Inputs& x) { return softmax(x[0]); }},
      {"layer_norm", "plain", {n({5, 4}), m({4}), m({1, 4})},
       [](const Inputs& x) { return layer_norm(x[0], x[1], x[2], 1e-12); }},
      {"layer_norm", "large epsilon", {n({5, 4}), m({4}), m({1, 4})},
       [](const Inputs& x) { return layer_norm(x[0], x[1], x[2], 0.5); }},
      {"layer_norm", "grouped", {n({5, 4}), m({4, 4}), kinked({4, 4})},
       [=](const Inputs& x) { return layer_norm(x[0], x[1], x[2], 1e-12, groups); }},
      {"cosine_similarity", "", {n({3, 4}), m({3, 4})},
       [](const Inputs& x) { return cosine_similarity(x[0], x[1]); }},
      {"dropout", "", {n({3, 7})}, [](const Inputs& x) { return dropout(x[0], p, key); }},
      {"dropout_add", "", {n({3, 7}), m({3, 7})},
       [](const Inputs& x) { return dropout_add(x[0], x[1], p, key); }},
      {"dropout_add", "without dropout", {n({3, 7}), m({3, 7})},
       [](const Inputs& x) { return dropout_add(x[0], x[1], 0, key); }},
      {"attention", "one head", qkv, attend(1, 0)},
      {"attention", "three heads", qkv, attend(3, 0)},
      {"attention", "two heads with dropout", qkv, attend(2, p)},
      {"attention", "causal, with dropout", qkv,
       [=](const Inputs& x) { return attention(x[0], x[1], x[2], causal, 2, p, key); }},
      {"attention", "to itself", {n({9, 6})},
       [=](const Inputs& x) { return attention(x[0], x[0], x[0], batch, 2, 0, key); }},
      {"attention", "dV", {n({9, 6})},
       [=](const Inputs& x) { return attention(frozen[0], frozen[1], x[0], batch, 3, 0, key); }},
      {"attention", "dQ", {n({9, 6})},
       [=](const Inputs& x) { return attention(x[0], frozen[1], frozen[2], batch, 3, 0, key); }},
      {"attention", "dK", {n({9, 6})},
       [=](const Inputs& x) { return attention(frozen[0], x[0], frozen[2], batch, 3, 0, key); }},
      {"cross_entropy", "", {n({3, 4})}, [=](const Inputs& x) { return cross_entropy(x[0], labels); }},
      {"linear_cross_entropy", "", {n({3, 4}), m({5, 4}), m({5})},
       [=](const Inputs& x) { return linear_cross_entropy(x[0], x[1], x[2], labels); }},
      {"linear_cross_entropy", "one row", {n({1, 4}), m({5, 4}), m({5})},
       [=](const Inputs& x) { return linear_cross_entropy(x[0], x[1], x[2], {4}); }},
      {"binary_cross_entropy_with_logits", "", {n({4, 1}), positive({4})},
       [](const Inputs& x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"mse_loss", "", {n({4, 1}), m({4})},
       [](const Inputs& x) { return mse_loss(x[0], x[1]); }},
      {"reshape", "", {n({3, 4})}, [](const Inputs& x) { return x[0].reshape({2, 6}); }},
      {"reshape", "of a sum", {n({3, 4}), m({3, 4})},
       [](const Inputs& x) { return add(x[0], x[1]).reshape({12}); }},
  };
}

}  // namespace minbert::test
