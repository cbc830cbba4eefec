// One pass over a training set: mean and covariance of [CLS], and all that follows from them.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "minbert/heads.h"
#include "minbert/isobn.h"
#include "minbert/isotropy.h"
#include "norm/cls/covariance.h"

namespace minbert {
namespace {

// What tab.2 applies to [CLS], and what it is called.
struct Transformation {
  const char *name, *norm;
};
const std::vector<Transformation> transformations = {
    {"none", "none"}, {"batch", "batch"}, {"iso-bn", "iso-bn:beta=1,eps=0.1"}, {"whitening", "whitening"},
    {"eq3", "iso-bn:preset=eq3"}, {"eq5", "iso-bn:preset=eq5"}};

Json array(const std::vector<double>& values) { return Json::array({values.begin(), values.end()}); }

}  // namespace

std::optional<Json> measure_cls(const IsoBnOptions& o, const Task& task, const std::string& folder) {
  const std::string model_dir = model_folder(o.model);
  const BertConfig config = BertConfig::load(model_dir + "/config.json");
  const Tokenizer tokenizer = tokenizer_of(model_dir, config);
  const std::vector<Task> trained = tasks_named(config.tasks, "\"minbert.tasks\" in config.json");
  Model model(config, 0, false, heads_of(trained), 0);
  const WeightsReport weights = load_all_layers(model_dir, config, model.parameters);
  for (const std::string& name : weights.initialised)
    MB_CHECK(o.cls_norm_at != cls_place::pooled || name.find("pooler") == name.npos,
             "{}: has no trained pooler ({} is missing), so [CLS] behind it means nothing\n  give --cls-norm-at "
             "{}", o.model, name, cls_place::pre_pooler);
  const Dataset data = read_set(o.data, task, Split::train, 0, tokenizer,
                                {.max_length = std::min(o.max_length, config.max_position_embeddings),
                                 .limit = o.limit}, std::cout);
  MB_CHECK(data.examples.size() > 1, "{}: one sentence has no correlations; expected 2 or more", data.file);
  const int64_t H = config.hidden_size;
  Covariance set(H);
  const auto whitening = cls_norms().make("whitening", {.hidden = H});
  const auto add = [&](const Tensor& h) {
    set.add(h);
    whitening->fit(h);
  };
  if (!for_each_cls(model.network.bert(), data, o.cls_norm_at, add)) return std::nullopt;
  whitening->finish_fit();
  const std::vector<double> Sigma = set.matrix(), rho = pearson_matrix(Sigma);
  Json ev = Json::object();
  for (const Transformation& t : transformations) {
    if (t.norm == std::string("none")) {
      ev.set(t.name, array(explained_variance(Sigma)));
      continue;
    }
    const auto norm = cls_norms().make(t.norm, {.hidden = H});
    const Parameters parameters(*norm, {});
    if (t.norm != std::string("whitening")) set_statistics(*norm, set.mean(), Sigma);
    const Norm& used = t.norm == std::string("whitening") ? *whitening : *norm;
    ev.set(t.name, array(explained_variance(covariance_after(used, Sigma))));
  }
  const Clusters clusters = average_linkage(rho, 0.2);
  std::vector<double> std, order(clusters.order.begin(), clusters.order.end()),
      cluster(clusters.cluster.begin(), clusters.cluster.end());
  int64_t alike = 0;
  for (int64_t i = 0; i < H; ++i) {
    std.push_back(std::sqrt(Sigma[size_t(i * H + i)]));
    int64_t others = 0;
    for (int64_t j = 0; j < H; ++j) others += i != j && std::abs(rho[size_t(i * H + j)]) > 0.8;
    alike += others >= 2;
  }
  SafeTensorsWriter file;
  const std::vector<real> values(rho.begin(), rho.end());
  file.add("rho", {H, H}, values);
  file.write(folder + "/correlation.safetensors");
  return Json::object().set("rows", int64_t(data.examples.size())).set("std", array(std)).set("ev", ev)
      .set("order", array(order)).set("cluster", array(cluster)).set("alike", alike);
}

}  // namespace minbert
