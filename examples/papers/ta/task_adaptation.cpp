// The recipe of the document, and its items in their order.
#include "papers/ta/task_adaptation.h"

namespace minbert {

std::vector<Task> ta_tasks(const Document& document, bool tab2) {
  std::vector<Task> all;
  for (const Task& task : document.tasks())
    if ((task.name == "mnli" || task.name == "qnli") == tab2) all.push_back(task);
  return all;
}

// [TA sec.5.1]
TrainOptions ta_options(const TaskAdaptationOptions& o) {
  TrainOptions t;
  t.lr = o.lr;
  t.batch = o.batch;
  t.epochs = o.epochs;
  t.warmup = 0.06;
  t.schedule = "linear";
  t.weight_decay = 0.01;
  t.dropout = 0.1;
  return t;
}

Run ta_fine_tuning(Document& document, const TaskAdaptationOptions& o, const Task& task, const TaMethod& method,
                   int seed, double eps) {
  TrainOptions t = ta_options(o);
  t.cls_norm = method.cls_norm;
  t.grad_norm = method.grad_norm;
  if (std::string(method.name) != "none") t.cls_norm_at = o.cls_norm_at;
  std::string name = formatted("{}-{}", task.name, method.name);
  if (eps != ta_eps) {
    t.cls_norm += formatted(":eps={}", eps);
    name += formatted("-eps{}", eps);
  }
  t.seed = seed;
  return document.fine_tuning(task, t, formatted("{}-seed{}", name, seed));
}

std::vector<Item> ta_items(Document& document, const TaskAdaptationOptions& o) {
  std::vector<Item> items = {ta_extraction_item(document, o), ta_gradients_item(document, o),
                             ta_tsne_item(document, o)};
  for (Item& item : ta_cls_items(document, o)) items.push_back(std::move(item));
  items.push_back(ta_tape_item(document, o));
  for (Item& item : ta_tuning_items(document, o)) items.push_back(std::move(item));
  return items;
}

}  // namespace minbert
