// Scaled dot-product attention over packed sentences: the one place where tokens of a sentence meet.
//
//   Paper       Vaswani et al., Attention Is All You Need, 2017, eq. 1:   softmax(Q K^T / sqrt(d)) V, head by head
//   Shapes      q, k, v, result [T,H], head h in columns h d .. (h+1) d - 1
//               P: heads x L_b x L_b for each sentence, packed; each L_b x L_b begins at a multiple of 4 numbers, as
//               cuBLAS wants it
//   No padding  every product is of one sentence and head, read in place from [T,H]; there is nothing to mask.
#include "engine/dropout_mask.h"
#include "engine/gemm.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

// Where everything stands: sentence b's scores start at element heads * start[b], head h's L_b x L_b after h blocks.
struct Layout {
  int heads;
  int64_t H, d, score_elements;
  Batch batch;
  Indices start;                                    // [B], the elements before sentence b in the blocks of one head

  Layout(const Tensor& q, const Batch& packed, int head_count)
      : heads(head_count), H(q.cols()), d(H / head_count), batch(packed) {
    std::vector<int32_t> starts;
    int64_t sum = 0;
    for (int64_t b = 0; b < batch.sentences(); ++b) {
      starts.push_back(int32_t(sum));
      sum += attention_block(length(b));
      MB_CHECK(sum <= INT32_MAX, "attention: the scores of {} sentences would be {} for each head; lower --batch or "
               "--max-length", batch.sentences(), sum);
    }
    score_elements = heads * sum;
    start = std::move(starts);
  }
  int64_t length(int64_t b) const { return batch.offsets[b + 1] - batch.offsets[b]; }
  int64_t score_rows() const { return heads * batch.tokens(); }

  // One product for each sentence and head. Operands that are tokens [T,H] step by H from row to row, scores by L.
  enum class Kind { scores_from_tokens, tokens_from_scores };
  std::vector<Product> products(Kind kind, const real* a, const real* b, real* c) const {
    std::vector<Product> list;
    list.reserve(size_t(batch.sentences() * heads));
    for (int64_t s = 0; s < batch.sentences(); ++s)
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t L = length(s), score = int64_t(heads) * start[s] + h * attention_block(L);
        const int64_t token = batch.offsets[s] * H + h * d;
        if (kind == Kind::scores_from_tokens) list.push_back({L, L, d, a + token, H, b + token, H, c + score, L});
        else list.push_back({L, d, L, a + score, L, b + token, H, c + token, H});
      }
    return list;
  }
};

// The row of scores that a row program is called for: rows run sentence by sentence, head by head, query by query.
struct ScoreRow {
  const int32_t *offsets, *sentence, *start;
  int heads;
  HD int64_t begin(int64_t row, int* length) const {
    // row / heads is a token of the row's sentence, though seldom the row's own: b has heads L_b rows.
    const int64_t b = sentence[row / heads], L = offsets[b + 1] - offsets[b];
    *length = int(L);
    const int64_t of_sentence = row - int64_t(heads) * offsets[b];
    return int64_t(heads) * start[b] + of_sentence / L * attention_block(L) + of_sentence % L * L;
  }
};
ScoreRow score_row(const Layout& at, Device device) {
  return {at.batch.offsets.data(device), at.batch.sentence.data(device), at.start.data(device), at.heads};
}

// P' = m P / (1-p)
struct DropScores {
  ScoreRow at;
  const real* scores;
  real* dropped;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    int n;
    const int64_t begin = at.begin(row, &n);
    const real* p = scores + begin;
    real* to = dropped + begin;
    mask.each(team, n, row, [=](int i, real factor) { to[i] = factor * p[i]; });
  }
};
// P = softmax(S), in place; and P' of it, where it has a place
struct SoftmaxScores {
  ScoreRow at;
  real *scores, *dropped;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    int n;
    real* p = scores + at.begin(row, &n);
    softmax_row(team, n, p, p);
    if (!dropped) return;
    team.sync();                                    // the mask's lanes are not the softmax's
    DropScores{at, scores, dropped, mask}(team, row);
  }
};
// dP = m dP' / (1-p)    dS_i = P_i (dP_i - sum_j dP_j P_j), in place of dP'
struct ScoresBackward {
  ScoreRow at;
  const real* scores;
  real* d_scores;
  bool drop;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    int n;
    const int64_t begin = at.begin(row, &n);
    const real* p = scores + begin;
    real* dp = d_scores + begin;
    if (drop) mask.each(team, n, row, [=](int i, real factor) { dp[i] *= factor; });
    team.sync();                                    // the mask's lanes are not the sum's
    softmax_row_backward(team, n, p, dp, {dp, false});
  }
};

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Batch& batch, int heads, double p,
                 RandomKey key, Tensor* weights) {
  MB_CHECK(heads > 0 && q.cols() % heads == 0, "attention: {} columns cannot be shared by {} heads", q.cols(), heads);
  MB_CHECK(q.shape() == k.shape() && k.shape() == v.shape() && q.rows() == batch.tokens(),
           "attention: q {}, k {}, v {} for a batch of {} tokens", q.shape(), k.shape(), v.shape(), batch.tokens());
  MB_CHECK(p >= 0 && p < 1, "attention: the dropout probability {} is outside of 0 <= p < 1", p);
  using enum Layout::Kind;
  const Layout at(q, batch, heads);
  const Device device = q.device();
  const int64_t rows = at.score_rows(), elements = at.score_elements;
  const real scaling = real(1 / std::sqrt(double(at.d)));
  const DropoutMask mask(p, key);

  // O = dropout(softmax(Q K^T / sqrt(d))) V
  const Tensor P({elements}, device), O(q.shape(), device);
  gemm_batch(device, Transpose::nt, at.products(scores_from_tokens, q.data(), k.data(), P.data()), scaling, 0);
  const Tensor dropped = p > 0 ? Tensor(P.shape(), device) : P;
  launch_rows(device, rows, elements,
              SoftmaxScores{score_row(at, device), P.data(), p > 0 ? dropped.data() : nullptr, mask});
  if (weights) *weights = P;
  gemm_batch(device, Transpose::nn, at.products(tokens_from_scores, dropped.data(), v.data(), O.data()), 1, 0);

  return record("attention", O, {q, k, v}, [=](const Tensor& dO, Grads& g) {
    const Tensor dS(P.shape(), device);                                               // P' again, then dP', then dS
    g(2, [&](Sink dV) {                                                               // dV = P'^T dO
      if (p > 0) launch_rows(device, rows, elements, DropScores{score_row(at, device), P.data(), dS.data(), mask});
      gemm_batch(device, Transpose::tn,
                 at.products(tokens_from_scores, p > 0 ? dS.data() : P.data(), dO.data(), dV.to.data()), 1, dV.beta());
    });
    if (!g.wants(0) && !g.wants(1)) return;
    gemm_batch(device, Transpose::nt, at.products(scores_from_tokens, dO.data(), v.data(), dS.data()), 1, 0);   // dP'
    launch_rows(device, rows, elements,
                ScoresBackward{score_row(at, device), P.data(), dS.data(), p > 0, mask});              // dP, then dS
    g(0, [&](Sink dQ) {                                                               // dQ = dS K / sqrt(d)
      gemm_batch(device, Transpose::nn,
                 at.products(tokens_from_scores, dS.data(), k.data(), dQ.to.data()), scaling, dQ.beta());
    });
    g(1, [&](Sink dK) {                                                               // dK = dS^T Q / sqrt(d)
      gemm_batch(device, Transpose::tn,
                 at.products(tokens_from_scores, dS.data(), q.data(), dK.to.data()), scaling, dK.beta());
    });
  });
}

}  // namespace minbert
