// The map of h^l by t-SNE, and numbers for what the eye sees on it.
#include <algorithm>
#include <numeric>

#include "engine/text.h"
#include "minbert/ops.h"
#include "papers/encoded_set.h"
#include "papers/statistics/clusters.h"
#include "papers/statistics/tsne.h"
#include "papers/ta/task_adaptation.h"

namespace minbert {
namespace {

int class_of(const Task& task, const Example& example) {
  return task.kind == TaskKind::regression ? 0 : int(example.label);
}

// At most `most` examples, from each class the same share, in the order of the file.
std::vector<int32_t> stratified(const Task& task, const Dataset& data, size_t most, uint64_t seed) {
  const size_t N = data.examples.size();
  std::vector<int32_t> order(N), chosen;
  std::iota(order.begin(), order.end(), 0);
  if (N <= most) return order;
  Random(seed, "sample of " + task.name).shuffle(order);
  std::map<int, size_t> count, taken;
  for (const Example& e : data.examples) ++count[class_of(task, e)];
  for (const int32_t i : order) {
    const int k = class_of(task, data.examples[size_t(i)]);
    if (double(taken[k]) < double(most) * double(count[k]) / double(N) && chosen.size() < most) {
      ++taken[k];
      chosen.push_back(i);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

// The logit "B follows A" minus the logit "it does not", of each row of h [TA sec.2]. None: no such
// head in the file.
std::optional<Numbers> nsp_difference(const std::string& weights, const Tensor& h) {
  const SafeTensors file(weights);
  const std::string name = "cls.seq_relationship.";
  if (!file.entries().contains(name + "weight") || !file.entries().contains(name + "bias"))
    return std::nullopt;
  const Tensor W = Tensor::from({2, h.cols()}, file.read(name + "weight"));
  const Tensor b = Tensor::from({2}, file.read(name + "bias"));
  const std::vector<real> logits = linear(h, W, b).values();
  Numbers difference;
  for (size_t row = 0; row < size_t(h.rows()); ++row)
    difference.push_back(double(logits[2 * row] - logits[2 * row + 1]));
  return difference;
}

// The mean of told_apart() over random directions of h: what a direction does that has nothing to do with
// NSP.
double random_direction(const Tensor& h, const std::vector<int>& cluster, uint64_t seed, int directions) {
  Random random(seed, "directions");
  std::vector<real> w;
  while (int64_t(w.size()) < directions * h.cols()) w.push_back(real(random.normal()));
  const std::vector<real> projected =
      matmul_nt(h, Tensor::from({directions, h.cols()}, w)).values();
  double sum = 0;
  for (size_t d = 0; d < size_t(directions); ++d) {
    Numbers score;
    for (size_t row = 0; row < size_t(h.rows()); ++row)
      score.push_back(double(projected[row * size_t(directions) + d]));
    sum += told_apart(score, cluster) / directions;
  }
  return sum;
}

// Two clusters of some rows of h^l, and how well NSP's difference and random directions of h tell them
// apart: of the rows as they are 100, and of rows drawn again one, since NSP's is one direction, too. The
// starts of 2-means and the directions are of the seed.
struct TwoClusters {
  Tensor hl, h;
  std::optional<Numbers> nsp;
  uint64_t seed;
  Statistics operator()(const std::vector<int32_t>& rows, int sample) const {
    const uint64_t own = seed + uint64_t(sample);
    const TwoMeans two = two_means(index_select(hl, rows), own, sample == 0 ? 100 : 10);
    Statistics all = {{"between", two.variance_between}};
    if (!nsp) return all;
    Numbers difference;
    for (const int32_t row : rows) difference.push_back((*nsp)[size_t(row)]);
    all["AUC"] = told_apart(difference, two.cluster);
    all["random direction"] = random_direction(index_select(h, rows), two.cluster, own, sample == 0 ? 100 : 1);
    return all;
  }
};

Json map_result(const TaOptions& o, const Task& task, const std::string& folder) {
  EncodedSet set(o, task, Split::train, ClsPlace::pooled);
  const std::vector<int32_t> sample =
      stratified(task, set.data(), size_t(o.points), uint64_t(o.seed));
  const auto [x, h] = set.cls(sample);
  const TsneMap map =
      tsne(x, {.perplexity = o.perplexity, .iterations = o.iterations, .seed = uint64_t(o.seed)});
  const Tensor h_of_sample = Tensor::from(h.shape(), h.values());
  const TwoClusters clusters{x, h_of_sample, nsp_difference(set.weights_file(), h_of_sample), uint64_t(o.seed)};
  Json result = Json::object(
      {{"rows", int64_t(set.data().examples.size())},
       {"kl", map.kl},
       {"samples", resampled(x.rows(), {o.resamples(), uint64_t(o.seed), task.name}, clusters)}});
  std::vector<real> labels, examples(sample.begin(), sample.end());
  for (const int32_t i : sample)
    labels.push_back(real(class_of(task, set.data().examples[size_t(i)])));
  const std::vector<real> y = map.y.values();
  SafeTensorsWriter file;
  file.add("y", {x.rows(), 2}, y);
  file.add("label", {x.rows()}, labels);
  file.add("example", {x.rows()}, examples);
  file.write(folder + "/map.safetensors");
  return result;
}

Run map_run(const TaRuns& ta, const Task& task) {
  const TaOptions& o = ta.o;
  Run run = ta.document.run_on(
      task, "tsne", 3,
      {{"perplexity", formatted("{}", o.perplexity)},
       {"iterations", std::to_string(o.iterations)},
       {"points", std::to_string(o.points)},
       {"resamples", std::to_string(o.resamples())},
       {"seed", std::to_string(o.seed)}},
      [o, task](const std::string& folder) { return map_result(o, task, folder); });
  run.version = 2;                                  // 2: one direction for each drawing of the rows
  return run;
}

Panel panel(const TaRuns& ta, const Task& task, LongTable& table) {
  const SafeTensors file(ta.document.folder(map_run(ta, task)) + "/map.safetensors");
  const std::vector<real> y = file.read("y"), label = file.read("label"),
                          example = file.read("example");
  Panel panel{.title = task.title, .x_label = "", .y_label = ""};
  std::map<int, Curve> classes;
  for (size_t i = 0; i < label.size(); ++i) {
    Curve& curve = classes[int(label[i])];
    curve.title = task.kind == TaskKind::regression ? "" : in_words(task, double(label[i]));
    curve.style = Curve::Style::points;
    curve.x.push_back(double(y[2 * i]));
    curve.y.push_back(double(y[2 * i + 1]));
    table(task.name, int(example[i]), curve.title, y[2 * i]) = curve.y.back();
  }
  for (const auto& [k, curve] : classes) panel.curves.push_back(curve);
  return panel;
}

// [TA fig.1]
void fig1(const TaRuns& ta, ItemReport& report) {
  LongTable table({"task", "example", "label", "x", "y"}), evidence({"task", "what", "sample", "value"});
  report.figure("For each task, h^l of the training set on a plane by t-SNE, colored by class",
                ta.document.tasks(), [&](const Task& task) { return panel(ta, task, table); });
  for (const Task& task : ta.document.tasks())
    for (const auto& [name, values] : ta.document.result(map_run(ta, task))["samples"].members())
      add_samples(evidence, {task.name, name}, values.numbers());
  report.table("Two clusters, by 2-means on h^l", "",
               Names{"between", "AUC of NSP", "AUC of a random direction", "KL(P||Q)", "points"},
               ta.document.tasks(), [&](const std::string& row, const Task& task) -> std::string {
                 const Json result = ta.document.result(map_run(ta, task)), samples = result["samples"];
                 const int64_t read = result["rows"].integer();
                 if (row == "between") return fixed(100 * samples["between"].numbers()[0], 1) + " %";
                 if (row == "KL(P||Q)") return fixed(result["kl"].number(), 3);
                 if (row == "points")
                   return formatted("{} of {}", std::min<int64_t>(read, ta.o.points), read);
                 const bool nsp = row == "AUC of NSP";
                 if (!samples.has("AUC")) return nsp ? "not run: no NSP head" : "";
                 return fixed(samples[nsp ? "AUC" : "random direction"].numbers()[0], 3);
               });
  report.csv(table);
  report.judge_by(evidence, {.digits = 3});
  report.caption(formatted("perplexity {}, {} iterations", ta.o.perplexity, ta.o.iterations));
}

}  // namespace

Item ta_tsne_item(const TaRuns& ta) {
  return {"fig1", RunGrid(std::bind_front(map_run, ta), ta.document.tasks()),
          std::bind_front(fig1, ta)};
}

}  // namespace minbert
