// Scaled dot-product attention over packed sentences: the operation that mixes tokens.
//
//   Paper       Vaswani et al., Attention Is All You Need, 2017, eq. 1, for each head:
//               O = softmax(Q K^T / sqrt(d)) V
//   Shapes      q, k, v, result [T,H]; head h is in columns h d .. (h+1) d - 1
//               P: L_b x L_b for each head and sentence b, packed; each begins at a multiple of
//               4 numbers, the alignment that cuBLAS needs
//   No padding  every product is of one sentence and head, read in place; nothing is masked.
//   Parts       On the CPU a thread takes a few heads at a time from the first product to the last:
//               their scores stay in its cache. A GPU takes all heads at once.
//   Not kept    P: L_b numbers for each token and head. The backward computes it again from Q and K
#include "engine/dropout_mask.h"
#include "engine/gemm.h"
#include "engine/launch.h"
#include "engine/parallel.h"
#include "minbert/ops.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

// Where the scores stand: head by head, and in a head sentence by sentence, the L_b x L_b of block
// h * sentences + b.
struct Layout {
  int heads;
  int64_t H, d;
  Batch batch;
  Indices start;                                    // [B+1], elements of a head before sentence b

  Layout(const Tensor& q, const Batch& packed, int head_count)
      : heads(head_count), H(q.cols()), d(H / head_count), batch(packed) {
    std::vector<int32_t> starts = {0};
    for (int64_t b = 0; b < batch.sentences(); ++b) {
      const int64_t end = starts.back() + attention_block(length(b));
      MB_CHECK(end <= INT32_MAX,
               "attention: the scores of {} sentences would be {} for each head; lower --batch or "
               "--max-length", batch.sentences(), end);
      starts.push_back(int32_t(end));
    }
    start = std::move(starts);
  }
  int64_t B() const { return batch.sentences(); }
  int64_t length(int64_t b) const { return batch.offsets[b + 1] - batch.offsets[b]; }
  int64_t blocks() const { return heads * B(); }
  int64_t head_elements() const { return start[B()]; }
  int64_t elements() const { return heads * head_elements(); }
  int64_t elements_before(int64_t block) const {
    return block / B() * head_elements() + start[block % B()];
  }
  int64_t rows_before(int64_t block) const {
    return block / B() * batch.tokens() + batch.offsets[block % B()];
  }
};

// Some blocks in a row, first .. last-1.
struct Part {
  const Layout& layout;
  int64_t first, last;
  int64_t begin() const { return layout.elements_before(first); }
  int64_t elements() const { return layout.elements_before(last) - begin(); }
  int64_t rows() const { return layout.rows_before(last) - layout.rows_before(first); }

  // One product for each block. ld is H for tokens [T,H], and L for scores, which are this part's.
  enum class Kind { scores_from_tokens, tokens_from_scores };
  std::vector<Product> products(Kind kind, const real* a, const real* b, real* c) const {
    std::vector<Product> list;
    list.reserve(size_t(last - first));
    const int64_t H = layout.H, d = layout.d;
    for (int64_t block = first; block < last; ++block) {
      const int64_t s = block % layout.B(), h = block / layout.B(), L = layout.length(s);
      const int64_t token = layout.batch.offsets[s] * H + h * d;
      const int64_t score = layout.elements_before(block) - begin();
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
  if (device == Device::cuda) return f(Part{layout, 0, layout.blocks()});
  constexpr int64_t in_cache = 65536;               // 256 KB in float, a head of 256 tokens
  const int64_t most_elements = std::min(in_cache, layout.elements() / omp_get_max_threads());
  std::vector<int64_t> ends = {0};
  for (int64_t block = 1; block <= layout.blocks(); ++block) {
    const int64_t before = layout.elements_before(ends.back());
    if (block == layout.blocks() || layout.elements_before(block + 1) - before > most_elements)
      ends.push_back(block);
  }
  parallel_each(ends.size() - 1, [&](size_t i) { f(Part{layout, ends[i], ends[i + 1]}); });
}

// The rows of a part's scores: row h * T + t of all is token t's in head h.
struct ScoreRows {
  const int32_t *offsets, *sentence, *start;
  int64_t T, head_elements, first_row, first_element;
  HD int64_t begin_of_block(int64_t h, int64_t b) const {
    return h * head_elements + start[b] - first_element;
  }
  HD int64_t begin(int64_t row_of_part, int* length) const {
    const int64_t row = first_row + row_of_part, t = row % T, b = sentence[t];
    *length = offsets[b + 1] - offsets[b];
    return begin_of_block(row / T, b) + (t - offsets[b]) * *length;
  }
};
ScoreRows rows_of(const Part& part, Device device) {
  const Layout& l = part.layout;
  return {l.batch.offsets.data(device), l.batch.sentence.data(device), l.start.data(device),
          l.batch.tokens(), l.head_elements(), l.rows_before(part.first), part.begin()};
}

// P = softmax(S), in place
struct SoftmaxScores {
  ScoreRows rows;
  real* scores;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    int n;
    real* p = scores + rows.begin(row, &n);
    softmax_row(team, n, p, p);
  }
};
// P' = m P / (1-p), with a mask for all scores of a block, since a row alone may have too few to
// fill the vectors of a processor.
struct DropScores {
  ScoreRows rows;
  int64_t heads, B, first_block;
  const real* scores;
  real* dropped;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t block_of_part) const {
    const int64_t block = first_block + block_of_part, h = block / B, b = block % B;
    const int64_t begin = rows.begin_of_block(h, b), L = rows.offsets[b + 1] - rows.offsets[b];
    const real* p = scores + begin;
    real* out = dropped + begin;
    mask.each(team, int(L * L), b * heads + h, [=](int i, real factor) { out[i] = factor * p[i]; });
  }
};
// dP = m dP' / (1-p), so P_i dP_i = P'_i dP'_i; dS overwrites dP'
// dS_i = P_i (dP_i - sum_j dP_j P_j) = P'_i dP'_i - P_i sum_j P'_j dP'_j
struct ScoresBackward {
  ScoreRows rows;
  const real *scores, *after_dropout;
  real* d_scores;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    int n;
    const int64_t begin = rows.begin(row, &n);
    const real *p = scores + begin, *p_dropped = after_dropout + begin;
    real* dp = d_scores + begin;
    const real sum = team.sum(n, [=](int i) { return p_dropped[i] * dp[i]; });
    team.each(n, [=](int i) { dp[i] = p_dropped[i] * dp[i] - p[i] * sum; });
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
    const ScoreRows rows = rows_of(part, device);
    multiply(part, Transpose::nt, scores_from_tokens, q.data(), k.data(), P, scaling, 0);
    launch_rows(device, part.rows(), part.elements(), SoftmaxScores{rows, P});
    if (!dropped) return P;
    launch_rows(device, part.last - part.first, part.elements(),
                DropScores{rows, heads, layout.B(), part.first, P, dropped.data(), mask});
    return dropped.data();
  };
  const auto scratch = [=](const Part& part, bool wanted) {
    return wanted ? Tensor({part.elements()}, device, "attention") : Tensor();
  };

  const Tensor O(q.shape(), device);
  if (weights) *weights = Tensor({layout.elements()}, device);
  each_part(layout, device, [&](const Part& part) {
    const Tensor own = scratch(part, !weights), dropped = scratch(part, p > 0);
    real* const P = weights ? weights->data() + part.begin() : own.data();
    const real* const after_dropout = attend(part, P, dropped);
    multiply(part, Transpose::nn, tokens_from_scores, after_dropout, v.data(), O.data(), 1, 0);
  });

  return record("attention", O, {q, k, v}, [=](const Tensor& dO, Grads& g) {
    Sink dQ{}, dK{}, dV{};                          // written in this order
    g(2, [&](const Sink& sink) { dV = sink; });     // where q, k, v are one, the later ones add
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
                  ScoresBackward{.rows = rows_of(part, device), .scores = P.data(),
                                 .after_dropout = after_dropout, .d_scores = dS.data()});
      add_to(dQ, Transpose::nn, dS.data(), k.data(), scaling);              // dQ = dS K / sqrt(d)
      add_to(dK, Transpose::tn, dS.data(), q.data(), scaling);            // dK = dS^T Q / sqrt(d)
    });
  });
}

}  // namespace minbert
