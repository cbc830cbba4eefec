// The configuration of a BERT or RoBERTa: the sizes of the network, in Hugging Face's names and
// file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "minbert/json.h"
#include "minbert/norm.h"

namespace minbert {

// A pair of texts.
enum class Pairs {
  cross,                                           // [CLS] a [SEP] b [SEP], one sequence
  siamese                                          // [CLS] a [SEP] and [CLS] b [SEP], encoded apart
};

// What stands for a text before a head: the pooler's output, the last hidden state of [CLS], or the
// mean of the last hidden states of all its tokens, [CLS] and [SEP] included.
enum class Pool { pooler, cls, mean };

// Where the norms of a layer stand; src/bert/layer.cpp has the equations.
enum class Placement { post, pre, normformer };

// What the embeddings may be, beside BERT's own; src/bert/embeddings.cpp has the equations.
enum class Positions { learned, sinusoidal };
enum class EmbeddingsNorm { same, none };          // as in the layers, or none

// The heads of a model: pre-training's, where there is no task; one task's, as Hugging Face has it;
// those of several, or siamese.
enum class Heads { pretraining, classifier, several };

struct Family;                                     // src/bert/family.h

// What config.json says of a classifier's head: of our one task, or of one trained elsewhere.
struct ClassifierHead {
  std::vector<std::string> labels;                 // id2label; empty: there is no such head
  // "single_label_classification", "multi_label_classification", "regression"
  std::string problem_type;
  std::optional<double> dropout;                   // before it; none: hidden_dropout_prob
};
// The only task of a classifier that was trained elsewhere: its name in BertConfig::tasks
inline const std::string foreign_task = "classifier";

struct BertConfig {
  // "bert", or another of src/bert/family.cpp
  std::string model_type = "bert";
  // Tokens, the rows of the word embeddings
  int vocab_size = 30522;
  // H, the columns of a hidden state
  int hidden_size = 768;
  int num_hidden_layers = 12;
  // Each has H / heads columns
  int num_attention_heads = 12;
  // I, the columns between the two matrices of a feed-forward network
  int intermediate_size = 3072;
  // Rows of the table of positions; see max_tokens()
  int max_position_embeddings = 512;
  // Segments; 0: no segment embeddings
  int type_vocab_size = 2;
  // Dropout of hidden states, 0 to below 1
  double hidden_dropout_prob = 0.1;
  // Dropout of attention weights, 0 to below 1
  double attention_probs_dropout_prob = 0.1;
  // The deviation of new weights, above 0
  double initializer_range = 0.02;
  // ε of the norms, above 0
  double layer_norm_eps = 1e-12;
  // See activation() in bert.h
  std::string hidden_act = "gelu";
  // The id of [PAD]; a RoBERTa counts positions from behind it
  int pad_token_id = 0;

  // Additions of minbert, under the key "minbert" of config.json. Without it these defaults hold,
  // and max_length is at most max_tokens().

  // The norm of the hidden states, with its options: "group:groups=8"
  std::string norm = "layer";
  Placement placement = Placement::post;
  // The norm of [CLS], with its options
  std::string cls_norm = "none";
  ClsPlace cls_norm_at = ClsPlace::per_method;
  Pairs pairs = Pairs::cross;
  Pool pool = Pool::pooler;
  Initialisation initialisation = Initialisation::normal;
  EmbeddingsNorm embeddings_norm = EmbeddingsNorm::same;
  Positions positions = Positions::learned;
  // The names of the tasks that have a head
  std::vector<std::string> tasks;
  // The fields of a Task, by the task's name
  std::map<std::string, Json> described;
  // Tokens of a sequence, 1 to max_tokens()
  int max_length = 512;

  // Where heads() is Heads::classifier
  ClassifierHead classifier;
  // Is this a ...ForSequenceClassification without our additions? Then foreign_task is its task.
  bool is_foreign() const { return tasks == std::vector{foreign_task}; }

  // tiny, mini, small, base, large; narrow-1, normal-1, wide-1, narrow-5, normal-5, wide-5: the
  // original Transformer's encoder in the sizes of [NT model]; or a file's name that ends in .json.
  // The error lists the names.
  static BertConfig named(const std::string& name);
  // Also Google's bert_config.json; every value is checked
  static BertConfig load(const std::string& file);
  void save(const std::string& file) const;
  // Sets the norm with its options; an eps whose default is layer_norm_eps is stored there.
  void set_norm(const std::string& norm);
  // The sizes of a new network as those of another family: model_type, pad_token_id, ...
  void set_family(const std::string& model_type);
  const Family& family() const;
  int first_position() const;           // in the table of positions: of a sequence's first token
  int max_tokens() const { return max_position_embeddings - first_position(); }   // of a sequence
  // Does Hugging Face's class of this model_type compute the same function? If not, config.json has
  // the model_type "minbert", which no other program takes for a BERT.
  bool is_plain() const;
  // false for a pre-trained RoBERTa, whose pooler is new
  bool has_trained_pooler() const;
  Heads heads() const {
    if (tasks.empty()) return Heads::pretraining;
    return tasks.size() == 1 && pairs == Pairs::cross ? Heads::classifier : Heads::several;
  }
  int head_size() const { return hidden_size / num_attention_heads; }

  Json loaded;                          // as read: save() keeps the keys that minbert does not know
};

}  // namespace minbert
