// Scaled dot-product attention over packed sentences: the operation that mixes tokens.
//
//   Paper       Vaswani et al., Attention Is All You Need, 2017, eq. 1, for each head:
//               O = softmax(Q K^T / sqrt(d)) V
//   Shapes      q, k, v, result [T,H]; head h is in columns h d .. (h+1) d - 1
//               P: a block of L_b x L_b for each sentence b and head; each begins at a multiple of
//               4 numbers, the alignment that cuBLAS needs
//   No padding  every product is of one sentence and head, read in place
//   Causal      P_ij = 0 for j > i, as where S_ij = -infinity (sec. 3.2.3): softmax leaves out the
//               scores of later tokens, which are computed nonetheless. The backward needs nothing
//               else: dS_ij = P_ij (...) is 0 there, too.
//   Parts       A CPU thread takes some blocks at a time, from the first product to the last;
//               their scores stay in its cache. A GPU takes all blocks at once.
//   Plain       attention in examples/plain_bert.cpp; a test holds the two equal
//   Not kept    P: L_b numbers for each token and head. The backward computes it again from Q and K
#include <span>

#include "engine/dropout_mask.h"
#include "engine/gemm.h"
#include "engine/launch.h"
#include "engine/parallel.h"
#include "minbert/ops.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

// Where a part's rows and blocks of scores begin, in elements of the part. Scores stand sentence by
// sentence, and in sentence b head by head: a block of L_b x L_b for each, heads L_b rows in all.
struct Scores {
  const int32_t *offsets, *sentence, *start;        // [B+1]; [T]; [B] elements of a head before b
  int heads;
  bool causal;
  int64_t first_block, first_row, first_element;
  HD int64_t block(int64_t b, int64_t h, int64_t L) const {
    return int64_t(heads) * start[b] + h * attention_block(L) - first_element;
  }
  struct Row {
    int64_t begin;
    int L, head, query;                             // query: the token's place in its sentence
  };
  HD Row row(int64_t row_of_part) const {
    // Sentence b has heads L_b rows of scores, from heads offsets[b] on: so row / heads is one of
    // b's tokens, though not the one whose scores these are.
    const int row = int(first_row + row_of_part);   // a GPU divides 32 bits faster than 64
    const int b = sentence[row / heads], L = offsets[b + 1] - offsets[b];
    const int row_of_sentence = row - heads * offsets[b];
    const int head = row_of_sentence / L, query = row_of_sentence % L;
    return {block(b, head, L) + int64_t(query) * L, L, head, query};
  }
};

// P = softmax(S) over the tokens that the query sees, in place; 0 behind them
struct SoftmaxScores {
  Scores at;
  real* scores;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const Scores::Row r = at.row(row);
    const int seen = at.causal ? r.query + 1 : r.L;
    real* p = scores + r.begin;
    softmax_row(team, seen, p, p);
    team.each(r.L - seen, [=](int i) { p[seen + i] = 0; });
  }
};
// P' = m P / (1-p), with a mask for all scores of a block, since a row alone may have too few to
// fill the vectors of a processor.
struct DropScores {
  Scores at;
  const real* scores;
  real* dropped;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t block_of_part) const {
    const int64_t block = at.first_block + block_of_part, b = block / at.heads;
    const int64_t L = at.offsets[b + 1] - at.offsets[b];
    const int64_t begin = at.block(b, block % at.heads, L);
    const real* p = scores + begin;
    real* out = dropped + begin;
    mask.each(team, int(L * L), block, [=](int i, real factor) { out[i] = factor * p[i]; });
  }
};
// dP = m dP' / (1-p), so P_i dP_i = P'_i dP'_i; dS overwrites dP'
// dS_i = P_i (dP_i - sum_j dP_j P_j) = P'_i dP'_i - P_i sum_j P'_j dP'_j
struct ScoresBackward {
  Scores at;
  const real *scores, *after_dropout;
  real* d_scores;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const Scores::Row r = at.row(row);
    const real *p = scores + r.begin, *p_dropped = after_dropout + r.begin;
    real* dp = d_scores + r.begin;
    const real sum = team.sum(r.L, [=](int i) { return p_dropped[i] * dp[i]; });
    team.each(r.L, [=](int i) { dp[i] = p_dropped[i] * dp[i] - p[i] * sum; });
  }
};

// The scores of one head of one sentence, L x L.
struct Block {
  int64_t L;
  int64_t token;                                    // its first element in q, k, v and O
  int64_t row, element;                             // rows and elements of scores before it
};

// All blocks; the last is empty and stands for their end.
struct Layout {
  int heads;
  int64_t H, d;
  Batch batch;
  std::vector<Block> blocks;                        // [B heads + 1]
  Indices start;                                    // [B], elements of one head before sentence b

  Layout(const Tensor& q, const Batch& packed, int head_count)
      : heads(head_count), H(q.cols()), d(H / head_count), batch(packed) {
    std::vector<int32_t> starts;
    Block next{};
    for (int64_t b = 0; b < batch.sentences(); ++b) {
      starts.push_back(int32_t(next.element / heads));
      next.L = batch.offsets[b + 1] - batch.offsets[b];
      for (int64_t h = 0; h < heads; ++h) {
        next.token = batch.offsets[b] * H + h * d;
        blocks.push_back(next);
        next.row += next.L;
        next.element += attention_block(next.L);
      }
    }
    blocks.push_back(next);
    MB_CHECK(next.element / heads <= INT32_MAX,
             "attention: the scores of {} sentences would be {} for each head; lower --batch or "
             "--max-length", batch.sentences(), next.element / heads);
    start = std::move(starts);
  }
};

// The blocks first .. last-1. Their rows and elements are counted from the first block's.
struct Part {
  const Layout& layout;
  size_t first, last;
  const Block& begin() const { return layout.blocks[first]; }
  const Block& end() const { return layout.blocks[last]; }
  int64_t rows() const { return end().row - begin().row; }
  int64_t elements() const { return end().element - begin().element; }

  // One product for each block. ld is H for tokens [T,H], and L for scores.
  enum class Kind { scores_from_tokens, tokens_from_scores };
  std::vector<Product> products(Kind kind, const real* a, const real* b, real* c) const {
    std::vector<Product> list;
    list.reserve(last - first);
    const int64_t H = layout.H, d = layout.d;
    for (const Block& block : std::span(layout.blocks).subspan(first, last - first)) {
      const int64_t L = block.L, token = block.token, score = block.element - begin().element;
      if (kind == Kind::scores_from_tokens)
        list.push_back({L, L, d, a + token, H, b + token, H, c + score, L});
      else
        list.push_back({L, d, L, a + score, L, b + token, H, c + token, H});
    }
    return list;
  }
};

// Calls f for parts that together are all blocks.
template <class F>
void each_part(const Layout& layout, Device device, const F& f) {
  const Part all{layout, 0, layout.blocks.size() - 1};
  if (device == Device::cuda) return f(all);
  constexpr int64_t in_cache = 65536;               // 256 KB in float, a head of 256 tokens
  const int64_t most_elements = std::min(in_cache, all.elements() / omp_get_max_threads());
  std::vector<Part> parts;
  for (size_t first = 0; first < all.last; first = parts.back().last) {
    Part part{layout, first, first + 1};
    while (part.last < all.last && Part{layout, first, part.last + 1}.elements() <= most_elements)
      ++part.last;
    parts.push_back(part);
  }
  parallel_each(parts.size(), [&](size_t i) { f(parts[i]); });
}

Scores scores_of(const Part& part, Device device) {
  const Layout& l = part.layout;
  return {l.batch.offsets.data(device), l.batch.sentence.data(device), l.start.data(device),
          l.heads, l.batch.causal, int64_t(part.first), part.begin().row, part.begin().element};
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Batch& batch, int heads,
                 double p, RandomKey key, Tensor* weights) {
  MB_CHECK(heads > 0 && q.cols() % heads == 0, "attention: {} columns cannot be shared by {} heads",
           q.cols(), heads);
  MB_CHECK(q.shape() == k.shape() && k.shape() == v.shape() && q.rows() == batch.tokens(),
           "attention: q {}, k {}, v {} for a batch of {} tokens", q.shape(), k.shape(), v.shape(),
           batch.tokens());
  MB_CHECK(batch.offsets, "attention: a batch without offsets");
  MB_CHECK(p >= 0 && p < 1, "attention: the dropout probability {} is outside of 0 <= p < 1", p);
  using enum Part::Kind;
  const Layout layout(q, batch, heads);
  const Device device = q.device();
  const real scaling = real(1 / std::sqrt(double(layout.d)));
  const DropoutMask mask(p, key);
  const auto multiply = [device](const Part& part, Transpose form, Part::Kind kind, const real* a,
                                 const real* b, real* c, real alpha, real beta) {
    gemm_batch(device, form, part.products(kind, a, b, c), alpha, beta);
  };

  // P = softmax(Q K^T / sqrt(d)) of a part. Returns P': in `dropped`, or without dropout P itself
  const auto attend = [=](const Part& part, real* P, const Tensor& dropped) -> const real* {
    const Scores at = scores_of(part, device);
    multiply(part, Transpose::nt, scores_from_tokens, q.data(), k.data(), P, scaling, 0);
    launch_rows(device, part.rows(), part.elements(), SoftmaxScores{at, P});
    if (!dropped) return P;
    launch_rows(device, int64_t(part.last - part.first), part.elements(),
                DropScores{at, P, dropped.data(), mask});
    return dropped.data();
  };
  const auto scratch = [=](const Part& part, bool wanted) {
    return wanted ? Tensor({part.elements()}, device) : Tensor();
  };

  const Tensor O(q.shape(), device);
  if (weights) *weights = Tensor({layout.blocks.back().element}, device);
  each_part(layout, device, [&](const Part& part) {
    const Tensor own = scratch(part, !weights), dropped = scratch(part, p > 0);
    real* const P = weights ? weights->data() + part.begin().element : own.data();
    const real* const after_dropout = attend(part, P, dropped);
    multiply(part, Transpose::nn, tokens_from_scores, after_dropout, v.data(), O.data(), 1, 0);
  });

  return record("attention", O, {q, k, v}, [=](const Tensor& dO, Grads& g) {
    // Asked for in the order in which they are written: where q, k and v are one tensor, the first
    // sink overwrites, and the others add.
    Sink dQ{}, dK{}, dV{};
    g(2, [&](const Sink& sink) { dV = sink; });
    g(0, [&](const Sink& sink) { dQ = sink; });
    g(1, [&](const Sink& sink) { dK = sink; });
    each_part(layout, device, [&](const Part& part) {
      const Tensor P = scratch(part, true), dropped = scratch(part, p > 0);
      const real* const after_dropout = attend(part, P.data(), dropped);
      const auto add_to = [&](const Sink& sink, Transpose form, const real* a, const real* b,
                              real alpha) {
        if (sink.tensor)
          multiply(part, form, tokens_from_scores, a, b, sink.tensor.data(), alpha,
                   sink.add ? 1 : 0);
      };
      add_to(dV, Transpose::tn, after_dropout, dO.data(), 1);                       // dV = P'^T dO
      if (!dQ.tensor && !dK.tensor) return;
      const Tensor dS = scratch(part, true);                         // holds dP' = dO V^T, then dS
      multiply(part, Transpose::nt, scores_from_tokens, dO.data(), v.data(), dS.data(), 1, 0);
      launch_rows(device, part.rows(), part.elements(),
                  ScoresBackward{.at = scores_of(part, device), .scores = P.data(),
                                 .after_dropout = after_dropout, .d_scores = dS.data()});
      add_to(dQ, Transpose::nn, dS.data(), k.data(), scaling);              // dQ = dS K / sqrt(d)
      add_to(dK, Transpose::tn, dS.data(), q.data(), scaling);            // dK = dS^T Q / sqrt(d)
    });
  });
}

}  // namespace minbert
