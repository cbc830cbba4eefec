// Scaled dot-product attention over packed sentences: the only operation that mixes tokens.
//
//   Paper       Vaswani et al., Attention Is All You Need, 2017, eq. 1, for each head:
//               O = softmax(Q K^T / sqrt(d)) V
//   Shapes      q, k, v, result [T,H]; head h is in columns h d .. (h+1) d - 1
//               P: heads x L_b x L_b for each sentence b, packed; each L_b x L_b begins at a
//               multiple of 4 numbers, the alignment that cuBLAS needs
//   No padding  every product is of one sentence and head, read in place; nothing is masked.
#include "engine/dropout_mask.h"
#include "engine/gemm.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

// The packed scores: those of sentence b begin at element heads * start[b], head by head, each a
// block of L_b x L_b.
struct Layout {
  int heads;
  int64_t H, d, score_elements;
  Batch batch;
  Indices start;                                    // [B], elements of one head before sentence b

  Layout(const Tensor& q, const Batch& packed, int head_count)
      : heads(head_count), H(q.cols()), d(H / head_count), batch(packed) {
    std::vector<int32_t> starts;
    int64_t sum = 0;
    for (int64_t b = 0; b < batch.sentences(); ++b) {
      starts.push_back(int32_t(sum));
      sum += attention_block(length(b));
      MB_CHECK(sum <= INT32_MAX,
               "attention: the scores of {} sentences would be {} for each head; lower --batch or "
               "--max-length", batch.sentences(), sum);
    }
    score_elements = heads * sum;
    start = std::move(starts);
  }
  int64_t length(int64_t b) const { return batch.offsets[b + 1] - batch.offsets[b]; }
  int64_t score_rows() const { return heads * batch.tokens(); }

  // One product for each sentence and head. ld is H for tokens [T,H], and L for scores.
  enum class Kind { scores_from_tokens, tokens_from_scores };
  std::vector<Product> products(Kind kind, const real* a, const real* b, real* c) const {
    std::vector<Product> list;
    list.reserve(size_t(batch.sentences() * heads));
    for (int64_t s = 0; s < batch.sentences(); ++s)
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t L = length(s), score = int64_t(heads) * start[s] + h * attention_block(L);
        const int64_t token = batch.offsets[s] * H + h * d;
        if (kind == Kind::scores_from_tokens)
          list.push_back({L, L, d, a + token, H, b + token, H, c + score, L});
        else
          list.push_back({L, d, L, a + score, L, b + token, H, c + token, H});
      }
    return list;
  }
};

// Rows of scores are numbered sentence by sentence, head by head, query by query. Sentence b has
// heads * L_b of them, from row heads * offsets[b] on: so row / heads is one of b's tokens, and
// sentence[row / heads] is b.
struct ScoreRows {
  const int32_t *offsets, *sentence, *start;
  int heads;
  HD int64_t begin(int64_t row, int* length) const {
    const int64_t b = sentence[row / heads], L = offsets[b + 1] - offsets[b];
    *length = int(L);
    const int64_t in_sentence = row - int64_t(heads) * offsets[b];
    const int64_t head = in_sentence / L, query = in_sentence % L;
    return int64_t(heads) * start[b] + head * attention_block(L) + query * L;
  }
};
ScoreRows score_rows_of(const Layout& layout, Device device) {
  const Batch& batch = layout.batch;
  return {batch.offsets.data(device), batch.sentence.data(device), layout.start.data(device),
          layout.heads};
}

// P' = m P / (1-p)
struct DropScores {
  ScoreRows rows;
  const real* scores;
  real* dropped;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    int n;
    const int64_t begin = rows.begin(row, &n);
    const real* p = scores + begin;
    real* out = dropped + begin;
    mask.each(team, n, row, [=](int i, real factor) { out[i] = factor * p[i]; });
  }
};
// P = softmax(S), in place; then P', unless dropped is nullptr
struct SoftmaxScores {
  ScoreRows rows;
  real *scores, *dropped;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    int n;
    real* p = scores + rows.begin(row, &n);
    softmax_row(team, n, p, p);
    if (!dropped) return;
    team.sync();                                    // lanes have other elements in the mask's loop
    DropScores{rows, scores, dropped, mask}(team, row);
  }
};
// dP = m dP' / (1-p)    dS_i = P_i (dP_i - sum_j dP_j P_j); dS overwrites dP'
struct ScoresBackward {
  ScoreRows rows;
  const real* scores;
  real* d_scores;
  bool drop;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    int n;
    const int64_t begin = rows.begin(row, &n);
    const real* p = scores + begin;
    real* dp = d_scores + begin;
    if (drop) mask.each(team, n, row, [=](int i, real factor) { dp[i] *= factor; });
    team.sync();                                    // lanes had other elements in the mask's loop
    softmax_row_backward(team, n, p, dp, {dp, false});
  }
};

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Batch& batch, int heads,
                 double p, RandomKey key, Tensor* weights) {
  MB_CHECK(heads > 0 && q.cols() % heads == 0, "attention: {} columns cannot be shared by {} heads",
           q.cols(), heads);
  MB_CHECK(q.shape() == k.shape() && k.shape() == v.shape() && q.rows() == batch.tokens(),
           "attention: q {}, k {}, v {} for a batch of {} tokens", q.shape(), k.shape(), v.shape(),
           batch.tokens());
  MB_CHECK(p >= 0 && p < 1, "attention: the dropout probability {} is outside of 0 <= p < 1", p);
  using enum Layout::Kind;
  const Layout layout(q, batch, heads);
  const Device device = q.device();
  const int64_t rows = layout.score_rows(), elements = layout.score_elements;
  const real scaling = real(1 / std::sqrt(double(layout.d)));
  const DropoutMask mask(p, key);
  const auto multiply = [=](Transpose form, Layout::Kind kind, const Tensor& a, const Tensor& b,
                            const Sink& c, real alpha) {
    c.check_whole();
    const auto products = layout.products(kind, a.data(), b.data(), c.tensor.data());
    gemm_batch(device, form, products, alpha, c.beta());
  };

  // O = dropout(softmax(Q K^T / sqrt(d))) V
  const Tensor P({elements}, device), O(q.shape(), device);
  multiply(Transpose::nt, scores_from_tokens, q, k, {P, false}, scaling);
  const Tensor dropped = p > 0 ? Tensor(P.shape(), device) : P;
  launch_rows(device, rows, elements,
              SoftmaxScores{.rows = score_rows_of(layout, device), .scores = P.data(),
                            .dropped = p > 0 ? dropped.data() : nullptr, .mask = mask});
  if (weights) *weights = P;
  multiply(Transpose::nn, tokens_from_scores, dropped, v, {O, false}, 1);

  return record("attention", O, {q, k, v}, [=](const Tensor& dO, Grads& g) {
    const ScoreRows score_rows = score_rows_of(layout, device);
    const Tensor dS(P.shape(), device);                            // holds P', then dP', then dS
    g(2, [&](Sink dV) {                                            // dV = P'^T dO
      const DropScores drop{score_rows, P.data(), dS.data(), mask};
      if (p > 0) launch_rows(device, rows, elements, drop);
      multiply(Transpose::tn, tokens_from_scores, p > 0 ? dS : P, dO, dV, 1);
    });
    if (!g.wants(0) && !g.wants(1)) return;
    multiply(Transpose::nt, scores_from_tokens, dO, v, {dS, false}, 1);              // dP' = dO V^T
    launch_rows(device, rows, elements,
                ScoresBackward{.rows = score_rows, .scores = P.data(), .d_scores = dS.data(),
                               .drop = p > 0, .mask = mask});
    // dQ = dS K / sqrt(d)      dK = dS^T Q / sqrt(d)
    g(0, [&](Sink dQ) { multiply(Transpose::nn, tokens_from_scores, dS, k, dQ, scaling); });
    g(1, [&](Sink dK) { multiply(Transpose::tn, tokens_from_scores, dS, q, dK, scaling); });
  });
}

}  // namespace minbert
