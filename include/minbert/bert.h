// BERT: embeddings, layers of attention and feed-forward, pooler; and the multitask model.
//
//   Papers   BERT: Devlin, Chang, Lee & Toutanova 2019; the layer: Vaswani et al. 2017
//   Letters  T tokens in the batch, B sentences, L_b tokens of sentence b
//            H hidden size, heads of d = H/heads columns
//   Sources  src/bert: embeddings.cpp, layer.cpp, pretraining.cpp, and model.cpp for both models
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/nn.h"
#include "minbert/norm.h"

namespace minbert {

// The rows of last_hidden_state that are needed: all of them, or those of a list. The states of
// [CLS] are there beside them in any case.
struct Rows {
  Rows() = default;                                 // all
  Rows(Indices some) : all(false), list(std::move(some)) {}
  Tensor operator()(const Tensor& x) const;         // these rows of x
  Batch operator()(const Batch& batch) const;       // the batch of these rows alone
  bool all = true;
  Indices list;
};
inline const Rows all_rows;
inline const Rows cls_rows = Indices(std::vector<int32_t>{});         // none but those of [CLS]

struct BertOutput {
  Tensor last_hidden_state;                 // [T,H], or [R,H]: the selected rows
  Tensor cls;                               // [B,H] the last hidden state of each sentence's [CLS]
  Tensor pooler_output;                     // [B,H] tanh(W_f cls + b_f), with the norm of [CLS]
};

// [B,H] What stands for each text; Pool::mean needs the last hidden state of all rows.
Tensor pooled_of(const BertOutput& out, const Batch& batch, Pool pool);

// Dropout(Norm(word + position + segment)); positions count from config.first_position() on.
class BertEmbeddings : public Module {
 public:
  BertEmbeddings(const BertConfig& config, const NormOptions& norm);
  Tensor forward(const Batch& batch) const;         // [T,H]
  const Tensor& word_weight() const { return word_.weight(); }       // [V,H]

 private:
  Embedding word_;
  std::unique_ptr<Embedding> position_, segment_;   // none where sinusoidal; none without segments
  Tensor sinusoids_;                                // [max_position_embeddings,H]
  int first_position_;
  std::unique_ptr<Norm> norm_;
  Dropout dropout_;
};

// The function between the two matrices of a feed-forward network: hidden_act of config.json.
Activation activation(const std::string& name);     // Error lists the names: gelu, gelu_new, relu

class BertLayer : public Module {
 public:
  BertLayer(const BertConfig& config, const NormOptions& norm);
  // [T,H] -> [T,H]. rows [R]: everything after the attention is computed for these rows of the
  // batch alone, and the result is [R,H]; the norms must not mix tokens.
  Tensor forward(const Tensor& x, const Batch& batch, const Rows& rows = all_rows,
                 Tensor* attention_weights = nullptr) const;
  // Its parts, of which src/bert/layer.cpp has the equations: A(u), F(u), N₁ and N₂
  Tensor attend(const Tensor& u, const Batch& batch, const Rows& rows = all_rows,
                Tensor* attention_weights = nullptr) const;
  Tensor feed(const Tensor& u, const Batch& batch) const;
  const Norm& attention_norm() const { return *attention_norm_; }
  const Norm& output_norm() const { return *output_norm_; }

 private:
  void add_normformer(const BertConfig& config, const NormOptions& norm);
  Tensor scale_heads(const Tensor& context) const;
  Placement placement_;
  int heads_;
  Activation activation_;
  Linear query_, key_, value_, attention_dense_, intermediate_, output_;
  Dropout weights_dropout_, attention_dropout_, output_dropout_;
  std::unique_ptr<Norm> attention_norm_, output_norm_;
  Tensor head_scale_;                               // this and the rest: normformer only
  Indices head_of_column_;                          // [H]
  std::unique_ptr<Norm> after_attention_norm_, intermediate_norm_;
};

// Error for a network that --recompute cannot run a second time: its norm would move its statistics
// again.
void check_recompute(const BertConfig& config);

class BertModel : public Module {
 public:
  // tasks: the number of task ids of a conditional norm.
  explicit BertModel(const BertConfig& config, int tasks = 0);
  // rows [R]: rows of the batch for last_hidden_state. If no norm mixes tokens, the last layer
  // computes only these and the [CLS] rows after its attention.
  // attention_weights, if given, receives one tensor for each layer (see attention() in ops.h).
  // Errors: an id, a position (of a sequence of more than max_tokens()) or a segment outside of its
  // table.
  BertOutput forward(const Batch& batch, const Rows& rows = all_rows,
                     std::vector<Tensor>* attention_weights = nullptr) const;
  Tensor pooled(const Batch& batch, Pool pool) const;   // [B,H] pooled_of, with no row too many
  const BertConfig& config() const { return config_; }
  const BertEmbeddings& embeddings() const { return embeddings_; }
  const BertLayer& layer(int i) const { return *layers_.at(size_t(i)); }
  const Norm* final_norm() const { return final_norm_.get(); }   // null with placement post

  // The norm of [CLS]: before the pooler or after its tanh, as the config says.
  Norm& cls_norm() { return *cls_norm_; }
  Tensor cls_before_norm(const Batch& batch) const;  // [B,H] what it sees, for fit(); not recorded
  // From now on, gradient normalization of this alpha (0: none), at pre_pooler or pooled. Error for
  // per_method.
  void normalize_gradients(double alpha, ClsPlace place);

 private:
  Tensor encode(const Batch& batch, const Rows& rows,
                std::vector<Tensor>* attention_weights) const;
  Tensor normalize_cls(ClsPlace place, Tensor h) const;
  BertConfig config_;
  BertEmbeddings embeddings_;
  std::vector<std::unique_ptr<BertLayer>> layers_;
  std::unique_ptr<Norm> final_norm_;                // encoder.LayerNorm; none with placement post
  Linear pooler_;
  std::unique_ptr<Norm> cls_norm_;
  Mixes norm_mixes_;
  ClsPlace norm_place_;                             // of the norm of [CLS]
  ClsPlace gradient_place_ = ClsPlace::pre_pooler;  // of its gradient
  double gradient_alpha_ = 0;
};

struct HeadSpec {
  // "sst": its parameters are heads.sst.weight and .bias
  std::string name;
  // Classes, or 1
  int outputs;
  // Has it two texts?
  bool pair;
  // Of siamese pairs: is the cosine of u and v among the features?
  bool cosine;
};

// One BERT with several heads: config.pool -> dropout -> linear. Siamese pairs are packed as u_0,
// v_0, u_1, v_1, ..., and the features of their head are (u, v, |u-v|), for a similarity also
// cos(u, v).
class MultitaskBert : public Module {
 public:
  MultitaskBert(const BertConfig& config, const std::vector<HeadSpec>& heads, double head_dropout);
  Tensor forward(const Batch& batch, int head) const;   // [B,outputs]; siamese pairs: [B/2,outputs]
  Tensor logits(const Tensor& pooled, int head) const;  // the same of bert().pooled() [B,H]
  // The index of a task's head, which is its id in a Batch, too. Error lists the model's tasks.
  int task_id(const std::string& name) const;
  const BertModel& bert() const { return bert_; }
  BertModel& bert() { return bert_; }
  const std::vector<HeadSpec>& heads() const { return specs_; }

 private:
  BertModel bert_;
  std::vector<HeadSpec> specs_;
  bool siamese_;
  Dropout dropout_;
  std::vector<std::unique_ptr<Linear>> heads_;
};

struct PretrainingOutput {
  Tensor mlm_loss;                                  // [] the mean cross-entropy of the masked words
  Tensor nsp_logits;                                // [B,2]: B follows A, or it does not
};

// The head for masked words: what it says of hidden states x [M,H], of any layer. Its decoder's
// weights are the word embeddings E [V,H]. Names as Hugging Face's, cls.predictions.*, for a module
// that stands at the top: alone, or as the child "" of one that does.
class MaskedWordHead : public Module {
 public:
  explicit MaskedWordHead(const BertConfig& config);
  Tensor logits(const Tensor& x, const Tensor& E) const;             // [M,V]
  // originals [M]: the words' ids. [] the mean cross-entropy
  Tensor loss(const Tensor& x, const Tensor& E, const Indices& originals) const;

 private:
  Tensor transform(const Tensor& x) const;
  Activation activation_;
  Linear transform_;
  std::unique_ptr<Norm> norm_;
  Tensor bias_;
};

// BERT with its two pre-training heads. Names as in Hugging Face's BertForPreTraining.
class BertForPreTraining : public Module {
 public:
  explicit BertForPreTraining(const BertConfig& config);
  // masked [M]: rows of the batch; originals [M]: their ids before masking.
  PretrainingOutput forward(const Batch& batch, const Indices& masked,
                            const Indices& originals) const;
  const BertModel& bert() const { return bert_; }

 private:
  BertModel bert_;
  MaskedWordHead masked_words_;
  Linear seq_relationship_;
};

}  // namespace minbert
