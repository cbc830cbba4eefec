// Fitting the norm of [CLS].
#include "cls_statistics.h"

#include "clock.h"
#include "engine/text.h"
#include "minbert/evaluate.h"
#include "minbert/interrupt.h"
#include "minbert/progress.h"

namespace minbert {

// All tasks' training sets are one set; each example is encoded as a sentence of its own task.
bool fit_cls_norm(MultitaskBert& network, const std::vector<TaskData>& data) {
  BertModel& bert = network.bert();
  if (!bert.cls_norm().wants_set()) return true;
  size_t total = 0, done = 0;
  for (const TaskData& d : data) total += d.train.examples.size();
  const std::string what =
      format("{}: statistics of [CLS] over {} examples to learn from", bert.config().cls_norm, total);
  Progress progress(what, int64_t(total));
  const double start = now();
  network.train(false);
  for (const TaskData& d : data)
    for (size_t begin = 0; begin < d.train.examples.size();) {
      const std::vector<int32_t> examples = evaluation_batch(d.train, begin);
      bert.fit_cls_norm(pack(inputs(d.train, examples), {network.task_id(d.task.name)}));
      begin += examples.size(), done += examples.size();
      if (interrupted()) return false;
      progress.update(int64_t(done));
    }
  bert.cls_norm().finish_fit();
  progress.line(what + format(", {} s", fixed(now() - start, 1)));
  return true;
}

}  // namespace minbert
