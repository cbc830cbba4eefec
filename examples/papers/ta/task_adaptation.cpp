// The recipe of the document, and its items in their order.
#include "papers/ta/task_adaptation.h"

namespace minbert {

std::vector<Task> TaskAdaptation::tasks(bool tab2) const {
  std::vector<Task> all = document.tasks();
  std::erase_if(
      all, [=](const Task& task) { return (task.name == "mnli" || task.name == "qnli") != tab2; });
  return all;
}

// [TA sec.5.1]
TrainOptions TaskAdaptation::train_options() const {
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

Run TaskAdaptation::fine_tuning(const Task& task, const TaMethod& method, int seed,
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

std::string TaskAdaptation::where_text() const {
  return o.cls_norm_at == ClsPlace::pooled ? "at h, after the pooler's tanh" : "at h^l, before the pooler";
}

std::vector<Item> ta_items(Document& document, const TaskAdaptationOptions& o) {
  const TaskAdaptation ta{document, o};
  const std::vector<Item> cls = ta_cls_items(ta), tuning = ta_tuning_items(ta);
  std::vector<Item> items = {ta_extraction_item(ta), ta_gradients_item(ta), ta_tsne_item(ta)};
  items.insert(items.end(), cls.begin(), cls.end());
  items.push_back(ta_tape_item(ta));
  items.insert(items.end(), tuning.begin(), tuning.end());
  return items;
}

}  // namespace minbert
