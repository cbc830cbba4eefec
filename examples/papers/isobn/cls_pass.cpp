// One pass over a training set: mean and covariance of [CLS], and all that follows from them.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "norm/cls/covariance.h"
#include "papers/encoded_set.h"
#include "papers/isobn/isobn.h"
#include "papers/isobn/isotropy.h"

namespace minbert {
namespace {

// What tab.2 applies to [CLS] beside whitening, and what it is called. The first have the statistics of
// the whole set, the moving ones those that training would leave after its batches [IsoBN alg.1].
struct Transformation {
  const char *name, *norm;
};
const std::vector<Transformation> transformations = {
    {"batch", "batch"},
    {"iso-bn", "iso-bn:beta=1,eps=0.1"},
    {"eq3", "iso-bn:preset=eq3"},
    {"eq5", "iso-bn:preset=eq5"}};
const std::vector<Transformation> moving_transformations = {
    {"ours", "iso-bn:beta=1"},
    {"paper", "iso-bn:preset=paper,beta=1"},
    {"authors", "iso-bn:preset=authors,beta=1"}};

}  // namespace

Json cls_result(const IsoBnOptions& o, const Task& task, const std::string& folder) {
  EncodedSet set(o, task, Split::train,
                 o.cls_norm_at == ClsPlace::pooled ? Pooler::needed : Pooler::unused);
  MB_CHECK(set.data().examples.size() > 1,
           "{}: one sentence has no correlations; expected 2 or more", set.data().file);
  const int64_t H = set.config().hidden_size;
  Covariance covariance(H);
  const auto whitening = cls_norms().make("whitening", {.hidden = H});
  std::vector<std::unique_ptr<Norm>> moving;
  for (const Transformation& t : moving_transformations) {
    moving.push_back(cls_norms().make(t.norm, {.hidden = H}));
    moving.back()->train();
  }
  const auto add = [&](const Batch& batch, std::span<const int32_t> examples) {
    const Tensor h =
        cls_at(o.cls_norm_at, set.bert().forward(batch, cls_rows), set.data(), examples);
    covariance.add(h);
    whitening->fit(h);
    for (const auto& norm : moving) (*norm)(h);
  };
  set.for_each_batch(add);
  whitening->finish_fit();
  const Numbers Sigma = covariance.matrix(), rho = pearson_matrix(Sigma);
  Json ev = Json::object();
  const auto set_ev = [&](const char* name, const Norm& norm) {
    ev.set(name, Json::array_of(explained_variance(covariance_after(norm, Sigma))));
  };
  ev.set("none", Json::array_of(explained_variance(Sigma)));
  set_ev("whitening", *whitening);
  for (const Transformation& t : transformations) {
    const auto norm = cls_norms().make(t.norm, {.hidden = H});
    norm->train(false);
    const Parameters parameters(*norm, {});
    set_statistics(*norm, covariance.mean(), Sigma);
    set_ev(t.name, *norm);
  }
  for (size_t i = 0; i < moving.size(); ++i) {
    moving[i]->train(false);
    set_ev(moving_transformations[i].name, *moving[i]);
  }
  const Clusters clusters = average_linkage(rho, 0.2);
  Numbers std, order(clusters.order.begin(), clusters.order.end()),
      cluster(clusters.cluster.begin(), clusters.cluster.end());
  int64_t alike = 0;
  for (int64_t i = 0; i < H; ++i) {
    std.push_back(std::sqrt(Sigma[size_t(i * H + i)]));         // σ_i = √Σ_ii                       [IsoBN sec.2.1]
    int64_t others = 0;
    for (int64_t j = 0; j < H; ++j) others += i != j && std::abs(rho[size_t(i * H + j)]) > 0.8;
    alike += others >= 2;
  }
  SafeTensorsWriter file;
  const std::vector<real> values(rho.begin(), rho.end());
  file.add("rho", {H, H}, values);
  file.write(folder + "/correlation.safetensors");
  std::map<double, int64_t> classes;
  int64_t largest = 0;
  for (const Example& example : set.data().examples)
    largest = std::max(largest, ++classes[example.label]);
  const double rows = double(set.data().examples.size());
  const bool has_classes = task.kind != TaskKind::regression;
  return Json::object({{"rows", int64_t(rows)},
                       {"largest_class", has_classes ? Json(double(largest) / rows) : Json()},
                       {"std", Json::array_of(std)},
                       {"ev", ev},
                       {"order", Json::array_of(order)},
                       {"cluster", Json::array_of(cluster)},
                       {"alike", alike}});
}

}  // namespace minbert
