// One layer of the encoder: attention A, then a feed-forward network F, each in a residual sum,
// with norms N in one of three placements. D is dropout; every matrix has a bias, not written here.
//
//   A(u) = W_o Attention(W_q u, W_k u, W_v u)                     Vaswani et al. 2017, sec. 3.2
//   F(u) = W_2 GELU(W_1 u)                              sec. 3.3; GELU: or config.json's hidden_act
//
//   post        a = N₁(x + D A(x))       y = N₂(a + D F(a))
//   pre         a = x + D A(N₁ x)        y = a + D F(N₂ a)
//   normformer  a = x + D N₃(A'(N₁ x))   y = a + D F'(N₂ a)
//               A': head h of Attention's result is multiplied by γ_h, before W_o
//               F'(u) = W_2 N₄(GELU(W_1 u))
//
//   Papers      post: Vaswani et al. 2017, sec. 3.1, and BERT [NT fig.1]
//               pre: Xiong et al. 2020 [NT fig.1] [LN-PEFT app.A.pre-ln]
//               normformer: Shleifer et al. 2021, sec. 2 [LN-PEFT app.A.normformer]
//   Shapes      x, a, y [T,H]   W_q, W_k, W_v, W_o [H,H]   W_1 [I,H]   W_2 [H,I]   γ [heads]
//               I: the intermediate size; N₁, N₂, N₃ over H columns, N₄ over I
//   Rows        only attention looks at other tokens, if the norms mix none. If only some rows
//               of y are needed (of the last layer: [CLS], masked tokens), everything after
//               Attention is then computed for these alone.
//   Names       N₁ is attention.output.LayerNorm and N₂ output.LayerNorm, Hugging Face's names of
//               post-LN, in every placement, so that a checkpoint loads into each. normformer alone
//               has N₃, attention.LayerNorm, N₄, intermediate.LayerNorm, and γ,
//               attention.self.head_scale.
//   Starts as   the checkpoint; without one γ = 1, and norms start as their files say
//   Deviations  the embeddings keep BERT's norm in every placement. With pre and normformer the sum
//               is normalized once more after the last layer: encoder.LayerNorm (model.cpp).
//               NormFormer's scaled residual sum, an option of its paper, is left out; γ comes
//               before W_o, as in the paper (after it in the authors' code).
//   Plain       self_attention, feed_forward, layer in examples/plain_bert.cpp
#include "engine/names.h"
#include "minbert/bert.h"

namespace minbert {
namespace {

Init init_beside(Activation f) { return f == relu ? Init::random_relu : Init::random; }

}  // namespace

Tensor Rows::operator()(const Tensor& x) const { return all ? x : index_select(x, list); }
Batch Rows::operator()(const Batch& batch) const { return all ? batch : select_rows(batch, list); }

Activation activation(const std::string& name) {
  struct {
    std::string name;
    Activation function;
  } const all[] = {{"gelu", gelu}, {"gelu_new", gelu_new}, {"relu", relu}};
  return all[index_of(name, names_of(all), "\"hidden_act\"")].function;
}

BertLayer::BertLayer(const BertConfig& config, const NormOptions& norm)
    : placement_(config.placement), heads_(config.num_attention_heads),
      activation_(activation(config.hidden_act)), query_(config.hidden_size, config.hidden_size),
      key_(config.hidden_size, config.hidden_size), value_(config.hidden_size, config.hidden_size),
      attention_dense_(config.hidden_size, config.hidden_size),
      intermediate_(config.hidden_size, config.intermediate_size, init_beside(activation_)),
      output_(config.intermediate_size, config.hidden_size, init_beside(activation_)),
      weights_dropout_(config.attention_probs_dropout_prob),
      attention_dropout_(config.hidden_dropout_prob), output_dropout_(config.hidden_dropout_prob),
      attention_norm_(norms().make(config.norm, norm)),
      output_norm_(norms().make(config.norm, norm)) {
  child("attention.self.query", query_);
  child("attention.self.key", key_);
  child("attention.self.value", value_);
  child("attention.self.dropout", weights_dropout_);
  child("attention.output.dense", attention_dense_);
  child("attention.output.dropout", attention_dropout_);
  child("attention.output.LayerNorm", *attention_norm_);
  child("intermediate.dense", intermediate_);
  child("output.dense", output_);
  child("output.dropout", output_dropout_);
  child("output.LayerNorm", *output_norm_);
  if (placement_ == Placement::normformer) add_normformer(config, norm);
}

void BertLayer::add_normformer(const BertConfig& config, const NormOptions& norm) {
  head_scale_ = parameter("attention.self.head_scale", {heads_}, Init::ones, Decay::no);
  std::vector<int32_t> heads;                       // 0 0 0 1 1 1 ...
  for (int i = 0; i < config.hidden_size; ++i) heads.push_back(i / config.head_size());
  head_of_column_ = heads;
  NormOptions wide = norm;
  wide.hidden = config.intermediate_size;
  after_attention_norm_ = norms().make(config.norm, norm);
  intermediate_norm_ = norms().make(config.norm, wide);
  child("attention.LayerNorm", *after_attention_norm_);
  child("intermediate.LayerNorm", *intermediate_norm_);
}

Tensor BertLayer::scale_heads(const Tensor& context) const {
  if (!head_scale_) return context;
  const Tensor scale = index_select(head_scale_.reshape({heads_, 1}), head_of_column_);  // [H,1]
  return context * scale.reshape({context.cols()});
}

Tensor BertLayer::feed(const Tensor& u, const Batch& batch) const {
  if (intermediate_norm_)
    return output_((*intermediate_norm_)(activation_(intermediate_(u)), batch));
  return feed_forward(u, intermediate_.weight(), intermediate_.bias(), output_.weight(),
                      output_.bias(), activation_);
}

Tensor BertLayer::attend(const Tensor& u, const Batch& batch, const Rows& rows,
                         Tensor* attention_weights) const {
  const Tensor context =
      attention(query_(u), key_(u), value_(u), batch, heads_, weights_dropout_.p(),
                weights_dropout_.key(), attention_weights);
  return attention_dense_(scale_heads(rows(context)));
}

Tensor BertLayer::forward(const Tensor& x, const Batch& batch, const Rows& rows,
                          Tensor* attention_weights) const {
  const Scope scope(path());
  const Batch selected = rows(batch);
  const auto A = [&](const Tensor& u) { return attend(u, batch, rows, attention_weights); };
  const auto F = [&](const Tensor& u) { return feed(u, selected); };
  const auto N1 = [&](const Tensor& u, const Batch& b) { return (*attention_norm_)(u, b); };
  const auto N2 = [&](const Tensor& u) { return (*output_norm_)(u, selected); };
  const auto N3 = [&](const Tensor& u) { return (*after_attention_norm_)(u, selected); };
  const Dropout &D1 = attention_dropout_, &D2 = output_dropout_;         // D.add(x, u) = x + D u

  if (placement_ == Placement::post) {
    const Tensor a = N1(D1.add(rows(x), A(x)), selected);
    return N2(D2.add(a, F(a)));
  }
  if (placement_ == Placement::pre) {
    const Tensor a = D1.add(rows(x), A(N1(x, batch)));
    return D2.add(a, F(N2(a)));
  }
  const Tensor a = D1.add(rows(x), N3(A(N1(x, batch))));               // normformer
  return D2.add(a, F(N2(a)));
}

}  // namespace minbert
