// One pass over a training set: mean and covariance of [CLS], and all that follows from them.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "minbert/metrics.h"
#include "minbert/ops.h"
#include "norm/cls/covariance.h"
#include "papers/encoded_set.h"
#include "papers/isobn/isobn.h"
#include "papers/isobn/isotropy.h"
#include "papers/statistics/resampling.h"
#include "train/batches.h"

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

// EV_k [H] of a set after a norm of its own statistics
Numbers explained_after(const std::string& name, const Numbers& mean, const Numbers& Sigma) {
  const auto norm = cls_norms().make(name, {.hidden = int64_t(mean.size())});
  norm->train(false);
  const Parameters parameters(*norm, {});
  set_statistics(*norm, mean, Sigma);
  return explained_variance(covariance_after(*norm, Sigma));
}

// The medians over the dimensions that vary, without eps: (σγ)⁻¹, the deviation of h, and of (h-μ)/(σγ)    [IsoBN eq.5]
void add_scale(Statistics& all, const Numbers& sigma, const Numbers& rho) {
  const size_t H = sigma.size();
  Numbers scale, before, after;
  for (size_t i = 0; i < H; ++i) {
    const auto row = rho.begin() + int64_t(i * H);
    const double gamma = std::inner_product(row, row + int64_t(H), row, 0.0);      // Σ_j ρ_ij²      [IsoBN eq.4]
    if (sigma[i] == 0) continue;
    scale.push_back(1 / (sigma[i] * gamma)), before.push_back(sigma[i]), after.push_back(1 / gamma);
  }
  all["(σγ)⁻¹"] = median(scale);
  all["deviation of h"] = median(before);
  all["deviation of (h-μ)/(σγ)"] = median(after);
}

// σ_i = √Σ_ii                                                                         [IsoBN sec.2.1]
Numbers deviations(const Numbers& Sigma) {
  const auto H = size_t(std::sqrt(double(Sigma.size())));
  Numbers std;
  for (size_t i = 0; i < H; ++i) std.push_back(std::sqrt(Sigma[i * H + i]));
  return std;
}

// What the document claims of [CLS], of some rows of it. Nothing, where these rows are all equal.
Statistics statistics_of(const Tensor& h) {
  const size_t H = size_t(h.cols());
  Covariance covariance{h.cols()};
  covariance.add(h);
  const Numbers Sigma = covariance.matrix(), rho = pearson_matrix(Sigma);
  const Numbers sigma = deviations(Sigma);
  if (std::ranges::max(sigma) == 0) return {};
  Statistics all;
  const auto within = std::ranges::count_if(sigma, [](double s) { return s >= 0.01 && s <= 1; });
  all["between .01 and 1"] = double(within) / double(H);
  std::map<int, int> sizes;
  int largest = 0;
  for (const int c : average_linkage(rho, 0.2).cluster) largest = std::max(largest, ++sizes[c]);
  all["in the largest cluster"] = largest / double(H);
  add_scale(all, sigma, rho);
  for (const char* name : {"none", "batch", "iso-bn"}) {
    const auto t = std::ranges::find(transformations, std::string(name), &Transformation::name);
    const Numbers ev = t == std::end(transformations) ? explained_variance(Sigma)
                                                      : explained_after(t->norm, covariance.mean(), Sigma);
    for (size_t k = 1; k <= std::min<size_t>(3, H); ++k) all[formatted("{} EV_{}", name, k)] = ev[k - 1];
    all[formatted("{} EV", name)] = summarize({ev.data(), most_k(H)}).mean;
  }
  return all;
}

// Its share; null: there are no classes
Json largest_class(const Task& task, const Dataset& data) {
  if (task.kind == TaskKind::regression) return {};
  std::map<double, int64_t> classes;
  int64_t largest = 0;
  for (const Example& example : data.examples) largest = std::max(largest, ++classes[example.label]);
  return double(largest) / double(data.examples.size());
}

}  // namespace

Json cls_result(const IsoBnOptions& o, const Task& task, const std::string& folder) {
  EncodedSet set(o, task, Split::train, o.cls_norm_at);
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
  const Tensor of_all = set.cls(set.all()).h, h = Tensor::from(of_all.shape(), of_all.values());
  for_each_batch("statistics of " + set.data().file, set.all(), [&](std::span<const int32_t> some) {
    const Tensor x = index_select(h, std::vector<int32_t>(some.begin(), some.end()));
    covariance.add(x);
    whitening->fit(x);
    for (const auto& norm : moving) (*norm)(x);
  });
  whitening->finish_fit();
  const Numbers Sigma = covariance.matrix(), rho = pearson_matrix(Sigma);
  Json ev = Json::object();
  const auto set_ev = [&](const char* name, const Norm& norm) {
    ev.set(name, Json::array_of(explained_variance(covariance_after(norm, Sigma))));
  };
  ev.set("none", Json::array_of(explained_variance(Sigma)));
  set_ev("whitening", *whitening);
  for (const Transformation& t : transformations)
    ev.set(t.name, Json::array_of(explained_after(t.norm, covariance.mean(), Sigma)));
  for (size_t i = 0; i < moving.size(); ++i) {
    moving[i]->train(false);
    set_ev(moving_transformations[i].name, *moving[i]);
  }
  const Clusters clusters = average_linkage(rho, 0.2);
  const Numbers order(clusters.order.begin(), clusters.order.end()),
      cluster(clusters.cluster.begin(), clusters.cluster.end());
  SafeTensorsWriter file;
  const std::vector<real> values(rho.begin(), rho.end());
  file.add("rho", {H, H}, values);
  file.write(folder + "/correlation.safetensors");
  const Json samples = resampled(h.rows(), {o.resamples(), uint64_t(o.seed), task.name},
                                 [&](const auto& some, int) { return statistics_of(index_select(h, some)); });
  return Json::object({{"largest_class", largest_class(task, set.data())},
                       {"std", Json::array_of(deviations(Sigma))},
                       {"ev", ev},
                       {"samples", samples},
                       {"order", Json::array_of(order)},
                       {"cluster", Json::array_of(cluster)}});
}

}  // namespace minbert
