// The position as it is stored.
#include "position.h"

namespace minbert {
namespace {

Json numbers(const std::vector<double>& values) {
  std::vector<Json> items(values.begin(), values.end());
  return Json::array(std::move(items));
}
std::vector<double> numbers(const Json& items) {
  std::vector<double> values;
  for (const Json& v : items.items()) values.push_back(v.number());
  return values;
}

}  // namespace

Json to_json(const Position& p) {
  return Json::object()
      .set("epoch", p.epoch)
      .set("batch_in_epoch", p.batch_in_epoch)
      .set("step", p.step)
      .set("batches", p.batches)
      .set("loss_sums", numbers(p.loss_sums))
      .set("loss_counts", numbers(p.loss_counts))
      .set("best", p.best)
      .set("best_epoch", p.best_epoch)
      .set("epochs_since_best", p.epochs_since_best)
      .set("first_gradient", p.first_gradient)
      .set("seconds", p.seconds)
      .set("finished", p.finished);
}

Position from_json(const Json& json) {
  Position p;
  p.epoch = json["epoch"].integer(), p.batch_in_epoch = json["batch_in_epoch"].integer(),
  p.step = json["step"].integer();
  p.batches = json["batches"].integer();
  p.loss_sums = numbers(json["loss_sums"]), p.loss_counts = numbers(json["loss_counts"]);
  p.best = json["best"].number(), p.best_epoch = json["best_epoch"].integer();
  p.epochs_since_best = json["epochs_since_best"].integer();
  p.first_gradient = json["first_gradient"].number();
  p.seconds = json["seconds"].number(), p.finished = json["finished"].boolean();
  return p;
}

}  // namespace minbert
