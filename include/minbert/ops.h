// All differentiable operations. Each has a backward beside its forward, and a gradient check.
// The headings name their files in src/ops.
//
// Shapes: x [T,H] is any tensor, read as rows() x cols(); all sizes but the last count as rows.
// Errors: shapes that do not fit, indices and labels out of range, and probabilities outside of
// 0 <= p < 1 throw minbert::Error with the name of the operation and its arguments.
#pragma once

#include <vector>

#include "minbert/autograd.h"
#include "minbert/batch.h"
#include "minbert/random.h"
#include "minbert/tensor.h"

namespace minbert {

// ---- element by element (binary.cpp, elementwise.cpp) -------------------------------------------
// Both have one shape, or one is broadcast: a row [H] or [1,H] for all rows, or a column [T,1].
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
// NaN, not 0, if b is infinite: overflows stay visible
Tensor div(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& x, double factor);   // factor x
Tensor shift(const Tensor& x, double number);   // x + number
Tensor pow(const Tensor& x, double exponent);   // x^exponent; NaN if x is infinite and exponent < 0
Tensor clamp(const Tensor& x, double low, double high);         // derivative 0 outside of low..high

using Activation = Tensor (*)(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor gelu(const Tensor& x);                   // the exact form, x Phi(x): Hendrycks & Gimpel 2016
Tensor gelu_new(const Tensor& x);               // its approximation by tanh: the same paper, sec. 2
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor abs(const Tensor& x);                    // derivative 0 at 0
Tensor sign(const Tensor& x);                   // -1, 0 or 1; derivative 0
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);

// Equations are written with operators: (x - mu) / sqrt(sigma2 + eps) * weight + bias
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor& operator+=(Tensor& a, const Tensor& b) { return a = a + b; }
inline Tensor operator+(const Tensor& a, double c) { return shift(a, c); }
inline Tensor operator-(const Tensor& a, double c) { return shift(a, -c); }
inline Tensor operator*(const Tensor& a, double c) { return scale(a, c); }
inline Tensor operator/(const Tensor& a, double c) { return scale(a, 1 / c); }
inline Tensor operator-(const Tensor& a) { return scale(a, -1); }
inline Tensor operator+(double c, const Tensor& a) { return shift(a, c); }
inline Tensor operator-(double c, const Tensor& a) { return shift(-a, c); }
inline Tensor operator*(double c, const Tensor& a) { return scale(a, c); }
inline Tensor operator/(double c, const Tensor& a) { return scale(pow(a, -1), c); }

// ---- matrix products (matmul.cpp) ---------------------------------------------------------------
Tensor matmul(const Tensor& a, const Tensor& b);    // a b      a [m,k]  b [k,n] -> [m,n]
Tensor matmul_nt(const Tensor& a, const Tensor& b); // a b^T    a [m,k]  b [n,k] -> [m,n]
Tensor matmul_tn(const Tensor& a, const Tensor& b); // a^T b    a [k,m]  b [k,n] -> [m,n]
// x W^T + b     x [T,in]  W [out,in]  b [out] -> [T,out]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
// f(x W1^T + b1) W2^T + b2     x [T,H]  W1 [I,H]  b1 [I]  W2 [H,I]  b2 [H] -> [T,H]
// Keeps less for its backward than its three parts do. f: gelu, gelu_new or relu, or an error.
Tensor feed_forward(const Tensor& x, const Tensor& W1, const Tensor& b1, const Tensor& W2,
                    const Tensor& b2, Activation f = gelu);

// ---- sums and means (reduce.cpp) ----------------------------------------------------------------
// A mean is corrected once, by the mean of x - mean: of equal numbers it is just that number.
Tensor sum(const Tensor& x);                        // [] over all elements
Tensor mean(const Tensor& x);
Tensor sum_rows(const Tensor& x);                   // [T,1] over each row
Tensor mean_rows(const Tensor& x);
Tensor mean_columns(const Tensor& x);               // [H] over each column
// [T,H] -> [B,H], over each sentence's tokens
Tensor mean_sentences(const Tensor& x, const Batch& batch);

// ---- choosing and joining (shape.cpp) -----------------------------------------------------------
// [T,H] -> [n,H]; a row may be chosen twice
Tensor index_select(const Tensor& x, const Indices& rows);
Tensor embedding(const Tensor& table, const Indices& ids);    // [V,H] -> [n,H]
Tensor cat(const std::vector<Tensor>& parts);  // [T,H1] [T,H2] ... -> [T,H1+H2+...]
Tensor slice_rows(const Tensor& x, int64_t begin, int64_t end);       // rows begin .. end-1
Tensor transpose(const Tensor& x);                  // [T,H] -> [H,T]
Indices argmax(const Tensor& x);                    // [T] the column of each row's largest value

// ---- rows (softmax.cpp, loss.cpp) ---------------------------------------------------------------
Tensor softmax(const Tensor& x);                    // of each row
// [B,H] [B,H] -> [B,1], norms at least 1e-8
Tensor cosine_similarity(const Tensor& u, const Tensor& v);

// ---- dropout (dropout.cpp) ----------------------------------------------------------------------
// Each element is 0 with probability p, else x/(1-p). The mask depends on key, row and column only.
Tensor dropout(const Tensor& x, double p, RandomKey key);
// residual + dropout(x)
Tensor dropout_add(const Tensor& residual, const Tensor& x, double p, RandomKey key);

// ---- layer normalization (layer_norm.cpp) -------------------------------------------------------
// (x-mu)/sqrt(sigma2+eps)*weight+bias for each row; weight, bias [H] [CLN eq.1-3]. With group [T]
// of 0..G-1, weight and bias are [G,H]: row t uses those of group[t]. The other norms are equations
// of these operations, in src/norm.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  const Indices& group = {});

// ---- attention (attention.cpp) ------------------------------------------------------------------
// softmax(Q K^T / sqrt(d)) V within each sentence, for `heads` heads of d = H/heads columns each,
// with dropout of probability p on the weights (Vaswani et al. 2017, eq. 1). batch.causal: each
// token sees itself and those before it, and the weights of later ones are 0 (sec. 3.2.3).
// q, k, v [T,H] -> [T,H]
// weights, if given, receives the weights before dropout, sentence by sentence, and in a sentence
// head by head, each in a block. No gradient passes through them.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Batch& batch, int heads,
                 double p = 0, RandomKey key = {}, Tensor* weights = nullptr);
// The numbers of a block: L x L weights, and 0 to 3 more without meaning, for a multiple of 4.
constexpr int64_t attention_block(int64_t L) { return (L * L + 3) / 4 * 4; }

// ---- losses, each the mean over the batch (loss.cpp) --------------------------------------------
// [B,C], labels [B] of 0..C-1 -> []
Tensor cross_entropy(const Tensor& logits, const Indices& labels);
// cross_entropy(linear(x, weight, bias), labels) without holding all logits: for a decoder into a
// large vocabulary.
// x [M,H]  weight [V,H]  bias [V]  labels [M] of 0..V-1 -> []
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Indices& labels);
// logits, targets of as many elements, in one shape or another -> []; targets 0..1, not checked
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets);
// both of as many elements, in one shape or another -> []
Tensor mse_loss(const Tensor& prediction, const Tensor& target);

}  // namespace minbert
