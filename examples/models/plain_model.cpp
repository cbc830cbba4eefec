// Folding what is minbert's own into the weights of a plain BERT.
#include "models/plain_model.h"

#include <cmath>

#include "engine/names.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

// What no plain BERT computes; "": nothing.
std::string why_not(const BertConfig& c, const Task& task) {
  const std::string norm = norm_name(c.norm);
  if (norm != "layer" && norm != "conditional-layer")
    return formatted("its norm is {}, a BERT's is LayerNorm", c.norm);
  if (c.placement != Placement::post)
    return formatted("its norms stand as in {}, a BERT's behind each sum (post)", c.placement);
  if (c.embeddings_norm != EmbeddingsNorm::same) return "its embeddings have no norm";
  if (c.positions != Positions::learned) return formatted("its positions are {}, a BERT's learned", c.positions);
  if (c.type_vocab_size == 0) return "it has no segment embeddings";
  if (c.pool != Pool::pooler)
    return formatted("its heads read {} (--pool), a BERT's the pooler's output",
                     c.pool == Pool::mean ? "the mean of all tokens" : "[CLS] itself");
  if (c.pairs == Pairs::siamese && task.is_pair())
    return "it encodes the two texts of a pair apart (siamese); a BERT reads them as one sequence";
  return "";
}

// y = A x + b, for rows x [N,H]
struct Affine {
  Tensor A, b;                                      // [H,H], [H]
};

// N(0) = b, and the columns of A are (N(s e_i) - N(-s e_i)) / 2s: with a large s few digits are lost
// to b. Error where random rows do not agree.
Affine affine_form(const Norm& norm, const std::string& name, int64_t H) {
  constexpr real s = 1024;
  std::vector<real> unit(size_t(H * H));
  for (int64_t i = 0; i < H; ++i) unit[size_t(i * H + i)] = s;
  const Tensor e = Tensor::from({H, H}, unit);
  const Affine found{transpose(scale(norm(e) - norm(scale(e, -1)), 1 / (2 * s))),
                     norm(Tensor::zeros({1, H})).reshape({H})};
  const Tensor x = Tensor::randn({8, H}, 1);
  const std::vector<real> wanted = norm(x).values(), got = linear(x, found.A, found.b).values();
  for (size_t i = 0; i < wanted.size(); ++i)
    MB_CHECK(std::abs(wanted[i] - got[i]) <= 1e-3 * (1 + std::abs(wanted[i])),
             "--cls-norm {}: this norm is no fixed affine function of [CLS], so neither the pooler "
             "nor the classifier can take it in", name);
  return found;
}

// W N(x) + c as W' x + c'
void fold(const Affine& norm, const Tensor& W, const Tensor& c) {
  const int64_t H = W.cols();
  const Tensor moved = linear(norm.b.reshape({1, H}), W, c);
  c.copy_from(moved.values());
  W.copy_from(matmul(W, norm.A).values());
}

void set_sum(const Tensor& to, const Tensor& base, const Tensor& rows, int row) {
  std::vector<real> sum = base.values();
  const std::vector<real> all = rows.values();
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += all[size_t(row) * sum.size() + i];
  to.copy_from(sum);
}

}  // namespace

std::unique_ptr<Model> plain_model(TrainedModel& trained, const std::string& name, double head_dropout) {
  const Task& task = trained.task(name);
  const BertConfig& from = trained.config;
  const std::string reason = why_not(from, task);
  MB_CHECK(reason.empty(), "{}: no plain BERT computes what this model does: {}", trained.folder,
           reason);
  const int id = trained.model.network.task_id(name);

  BertConfig config = from;
  config.norm = "layer";
  config.cls_norm = "none";
  config.pairs = Pairs::cross;
  config.tasks = {foreign_task};
  config.classifier = classifier_of(task, head_dropout);
  const bool two_rows = task.kind == TaskKind::binary && name != foreign_task;
  if (two_rows) {
    config.classifier.labels = labels_of(task);
    config.classifier.problem_type = "single_label_classification";
  }
  auto plain = std::make_unique<Model>(config, 0, false, heads_of(tasks_of(config)), head_dropout);

  const NoGrad no_tape;
  std::map<std::string, Tensor> source;
  for (const Parameter& p : trained.model.parameters.all()) source[p.name] = p.value;
  const std::string head = "heads." + foreign_task + ".", own_head = "heads." + name + ".";
  for (const Parameter& p : plain->parameters.items()) {
    if (p.name.starts_with(head)) {
      std::vector<real> values = source.at(own_head + p.name.substr(head.size())).values();
      if (two_rows) values.insert(values.begin(), values.size(), 0);
      p.value.copy_from(values);
      continue;
    }
    const size_t dot = p.name.rfind('.') + 1;
    const auto of_tasks = source.find(p.name.substr(0, dot) + "task_" + p.name.substr(dot));
    if (of_tasks == source.end()) p.value.copy_from(source.at(p.name).values());
    else set_sum(p.value, source.at(p.name), of_tasks->second, id);
  }
  if (from.cls_norm != "none") {
    const std::string to =
        cls_norm_place(from.cls_norm, from.cls_norm_at) == ClsPlace::pooled
            ? head
            : std::string("bert.pooler.dense.");
    const Norm& norm = trained.model.network.bert().cls_norm();
    fold(affine_form(norm, from.cls_norm, from.hidden_size),
         plain->parameters.value(to + "weight"), plain->parameters.value(to + "bias"));
  }
  plain->network.train(false);
  return plain;
}

}  // namespace minbert
