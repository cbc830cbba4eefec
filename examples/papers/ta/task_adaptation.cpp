// The recipe of the document, and all its items.
#include "papers/ta/task_adaptation.h"

namespace minbert {

std::vector<Task> TaRuns::tasks(bool tab2) const {
  std::vector<Task> all = document.tasks();
  std::erase_if(
      all, [=](const Task& task) { return (task.name == "mnli" || task.name == "qnli") != tab2; });
  return all;
}

// [TA sec.5.1]
TrainOptions TaRuns::train_options() const {
  TrainOptions t;
  t.lr = o.lr;
  t.batch = o.batch;
  t.epochs = o.epochs;
  t.warmup = 0.06;
  t.schedule = Schedule::linear;
  t.weight_decay = 0.01;
  t.dropout = 0.1;
  return t;
}

Run TaRuns::fine_tuning(const Task& task, const TaMethod& method, int seed,
                                double eps) const {
  TrainOptions t = train_options();
  t.cls_norm = method.cls_norm;
  t.grad_norm = method.grad_norm;
  if (!method.is_none()) t.cls_norm_at = o.cls_norm_at;
  std::string name = formatted("{}-{}", task.name, method.title);
  if (eps != ta_eps) {
    t.cls_norm += formatted(":eps={}", eps);
    name += formatted("-eps{}", eps);
  }
  t.seed = seed;
  return document.fine_tuning(task, t, formatted("{}-seed{}", name, seed));
}

std::string TaRuns::where_text() const {
  return o.cls_norm_at == ClsPlace::pooled ? "at h, after the pooler's tanh" : "at h^l, before the pooler";
}

std::vector<Item> ta_items(Document& document, const TaOptions& o) {
  const TaRuns ta{document, o};
  return together({{ta_extraction_item(ta), ta_gradients_item(ta), ta_tsne_item(ta), ta_tape_item(ta)},
                   ta_cls_items(ta), ta_tuning_items(ta)});
}

}  // namespace minbert
