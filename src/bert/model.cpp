// The encoder as a whole, and the multitask heads on its pooled [CLS] [TA sec.2].
// Plain: pooled, logits in examples/plain_bert.cpp
#include "minbert/bert.h"

#include <algorithm>

#include "engine/names.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

Indices first_rows(const Batch& batch) {
  return std::vector<int32_t>(batch.offsets.begin(), batch.offsets.end() - 1);
}

}  // namespace

void check_recompute(const BertConfig& config) {
  MB_CHECK(norms().find(config.norm).mixes != Mixes::batch,
           "--recompute: the norm {} moves its statistics each time it runs; leave --recompute out",
           config.norm);
}

BertModel::BertModel(const BertConfig& config, int tasks)
    : config_(config), embeddings_(config, {config.hidden_size, tasks, config.layer_norm_eps}),
      pooler_(config.hidden_size, config.hidden_size),
      cls_norm_(cls_norms().make(config.cls_norm, {.hidden = config.hidden_size})),
      norm_mixes_(norms().find(config.norm).mixes),
      norm_place_(cls_norm_place(config.cls_norm, config.cls_norm_at)) {
  const NormOptions norm{config.hidden_size, tasks, config.layer_norm_eps};
  child("embeddings", embeddings_);
  for (int i = 0; i < config.num_hidden_layers; ++i) {
    layers_.push_back(std::make_unique<BertLayer>(config, norm));
    child(formatted("encoder.layer.{}", i), *layers_.back());
  }
  if (config.placement != Placement::post) {
    final_norm_ = norms().make(config.norm, norm);
    child("encoder.LayerNorm", *final_norm_);
  }
  child("pooler.dense", pooler_);
  child("cls_norm", *cls_norm_);
}

Tensor BertModel::encode(const Batch& batch, const Rows& rows,
                         std::vector<Tensor>* attention_weights) const {
  if (recomputes() && training()) check_recompute(config_);
  // Later layers need every token, so the last alone may drop rows, and only if no norm mixes them.
  const Rows last_rows = norm_mixes_ != Mixes::nothing ? all_rows : rows;
  Tensor x = embeddings_.forward(batch);
  for (const auto& layer : layers_) {
    const Rows& layer_rows = layer == layers_.back() ? last_rows : all_rows;
    Tensor weights;
    if (attention_weights) x = layer->forward(x, batch, layer_rows, &weights);
    else
      x = recompute(x, [&layer = *layer, batch, layer_rows](const Tensor& u) {
        return layer.forward(u, batch, layer_rows, nullptr);
      });
    if (attention_weights) attention_weights->push_back(weights);
  }
  if (final_norm_) x = (*final_norm_)(x, last_rows(batch));
  return last_rows.all ? rows(x) : x;
}

// Gradient normalization comes before the norm, so the backward runs it after the norm's backward.
Tensor BertModel::normalize_cls(ClsPlace place, Tensor h) const {
  if (training() && gradient_alpha_ > 0 && gradient_place_ == place)
    h = normalize_gradient(h, gradient_alpha_);
  return norm_place_ == place ? (*cls_norm_)(h) : h;
}

BertOutput BertModel::forward(const Batch& batch, const Rows& rows,
                              std::vector<Tensor>* attention_weights) const {
  const Scope scope(path());
  const Indices first = first_rows(batch);
  Tensor x, h;
  if (rows.all) {
    x = encode(batch, all_rows, attention_weights);
    h = index_select(x, first);
  } else {                                          // the last layer computes them, then each [CLS]
    const int64_t R = rows.list.size();
    std::vector<int32_t> rows_and_cls(rows.list.begin(), rows.list.end());
    rows_and_cls.insert(rows_and_cls.end(), first.begin(), first.end());
    const Tensor both = encode(batch, Indices(std::move(rows_and_cls)), attention_weights);
    h = index_select(both, Indices::range(R, both.rows()));
    if (R > 0) x = index_select(both, Indices::range(0, R));
  }
  const Tensor pooled = tanh(pooler_(normalize_cls(ClsPlace::pre_pooler, h)));
  return {x, h, normalize_cls(ClsPlace::pooled, pooled)};
}

Tensor pooled_of(const BertOutput& out, const Batch& batch, Pool pool) {
  switch (pool) {
    case Pool::pooler: return out.pooler_output;
    case Pool::cls: return out.cls;
    case Pool::mean: return mean_sentences(out.last_hidden_state, batch);
  }
  fail("unknown pooling");
}

Tensor BertModel::pooled(const Batch& batch, Pool pool) const {
  return pooled_of(forward(batch, pool == Pool::mean ? all_rows : cls_rows), batch, pool);
}

Tensor BertModel::cls_before_norm(const Batch& batch) const {
  const NoGrad no_tape;
  const Scope scope(path());
  const Tensor h = encode(batch, first_rows(batch), nullptr);
  return norm_place_ == ClsPlace::pooled ? tanh(pooler_(h)) : h;
}

void BertModel::normalize_gradients(double alpha, ClsPlace place) {
  MB_CHECK(place != ClsPlace::per_method, "normalize_gradients: expected pre_pooler or pooled");
  gradient_alpha_ = alpha;
  gradient_place_ = place;
}

MultitaskBert::MultitaskBert(const BertConfig& config, const std::vector<HeadSpec>& heads,
                             double head_dropout)
    : bert_(config, int(heads.size())), specs_(heads),
      siamese_(config.pairs == Pairs::siamese), dropout_(head_dropout) {
  child("bert", bert_);
  child("dropout", dropout_);
  for (const HeadSpec& head : specs_) {
    const int64_t H = config.hidden_size;
    const int64_t features = siamese_ && head.pair ? 3 * H + head.cosine : H;
    heads_.push_back(std::make_unique<Linear>(features, head.outputs));
    child("heads." + head.name, *heads_.back());
  }
}

int MultitaskBert::task_id(const std::string& name) const {
  const auto found = std::ranges::find(specs_, name, &HeadSpec::name);
  MB_CHECK(found != specs_.end(), "this model was not trained on \"{}\"; its tasks: {}{}", name,
           specs_.empty() ? "none" : joined(names_of(specs_), " "),
           specs_.empty() ? "" : "; the nearest is " + nearest(name, names_of(specs_)));
  return int(found - specs_.begin());
}

Tensor MultitaskBert::forward(const Batch& batch, int head) const {
  return logits(bert_.pooled(batch, bert_.config().pool), head);
}

Tensor MultitaskBert::logits(const Tensor& pooled, int head) const {
  MB_CHECK(head >= 0 && size_t(head) < specs_.size(), "there is no head {}: the model has {}", head,
           specs_.size());
  const HeadSpec& spec = specs_[size_t(head)];
  const Linear& linear = *heads_[size_t(head)];
  if (!siamese_ || !spec.pair) return linear(dropout_(pooled));

  MB_CHECK(pooled.rows() % 2 == 0,
           "heads.{}: a siamese batch is u_0, v_0, u_1, v_1, ...; {} sentences are not pairs",
           spec.name, pooled.rows());
  std::vector<int32_t> even, odd;
  for (int32_t row = 0; row < int32_t(pooled.rows()); row += 2) {
    even.push_back(row);
    odd.push_back(row + 1);
  }
  const Tensor u = index_select(pooled, even), v = index_select(pooled, odd);
  std::vector<Tensor> features = {u, v, abs(u - v)};
  if (spec.cosine) features.push_back(cosine_similarity(u, v));
  return linear(dropout_(cat(features)));
}

}  // namespace minbert
