// What each norm takes its mean over: which elements of x move an element of y.
#include <algorithm>
#include <cmath>

#include "engine/names.h"
#include "minbert/norm.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

constexpr int64_t H = 6, T = 7;                     // features, tokens: three sentences of 2, 3 and 2
constexpr int64_t row = 3, column = 2;              // the element of y: a token of the second sentence

Batch small_batch() {
  std::vector<Sequence> sentences;
  for (const size_t length : {2, 3, 2})
    sentences.push_back({std::vector<int32_t>(length, 5), std::vector<int32_t>(length, 0)});
  return pack(sentences, {0});
}

// y[row,column] of a norm that is new, in training: earlier batches have left no statistics.
double element_of_y(const std::string& name, const std::vector<real>& x) {
  const NoGrad no_tape;
  const std::string text = name.starts_with("group") ? name + ":groups=2" : name;
  const auto norm = norms().make(text, {.hidden = H, .tasks = 1});
  const Parameters parameters(*norm, {});
  norm->train();
  return double((*norm)(Tensor::from({T, H}, x), small_batch()).values()[size_t(row * H + column)]);
}

// How much each element of x moves y[row,column]: |y(x + δ e) - y(x)| / δ. Differences of y and no derivatives, since
// the backward of PowerNorm is an approximation.
Matrix sensitivity(const std::string& name) {
  constexpr double delta = 0.125;
  Random random(1, "fig6");
  std::vector<real> x(size_t(T * H));
  for (real& v : x) v = real(random.normal());
  const double y = element_of_y(name, x);
  Matrix matrix(static_cast<size_t>(T));
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<real> moved = x;
    moved[i] += real(delta);
    matrix[i / size_t(H)].push_back(std::abs(element_of_y(name, moved) - y) / delta);
  }
  return matrix;
}

// The norms, the document's two first.
std::vector<std::string> norm_names() {
  std::vector<std::string> names = {"layer", "batch"};
  for (const NormEntry& entry : norms().entries)
    if (std::ranges::find(names, entry.name) == names.end()) names.push_back(entry.name);
  return names;
}

Run sensitivities() {
  Run run{"means", {{"norms", joined(norm_names())}}, {}, 1};
  run.work = [](const std::string&) {
    Json result = Json::object();
    for (const std::string& name : norm_names()) {
      Json::Array rows;
      for (const std::vector<double>& values : sensitivity(name))
        rows.push_back(Json::array({values.begin(), values.end()}));
      result.set(name, Json::array(rows));
    }
    return result;
  };
  return run;
}

// [LN-PEFT fig.6] [LN-PEFT app.A]
void fig6(const Json& measured, ItemReport& report) {
  LongTable table({"norm", "token", "feature", "change"});
  Figure figure{.title = "", .columns = 4};
  for (const std::string& name : norm_names()) {
    figure.panels.push_back({.title = name, .x_label = "feature", .y_label = "token"});
    Panel& panel = figure.panels.back();
    panel.heat.min = 0;
    panel.heat.max = 1;
    for (int64_t h = 1; h <= H; ++h) panel.x_names.push_back(std::to_string(h));
    for (int64_t t = 1; t <= T; ++t) panel.y_names.push_back(std::to_string(t));
    for (const Json& token : measured[name].items()) {
      panel.heat.values.emplace_back();
      for (const Json& value : token.items()) {
        std::vector<double>& features = panel.heat.values.back();
        features.push_back(value.number() > 0);
        table.add({name, std::to_string(panel.heat.values.size()), std::to_string(features.size())}, value.number());
      }
    }
  }
  report.csv(std::move(table));
  report.figure(figure, "For each norm, the elements of x [7 tokens, 6 features] on which one element of y depends: "
                        "feature 3 of token 4, in the second of three sentences (tokens 1-2, 3-5, 6-7)");
  report.caption("drawn from the norms themselves, in training: where y changes with x; groups: 2; the means of power "
                 "are those of earlier batches");
  report.differs("the document draws a sketch of two norms");
}

}  // namespace

Item lnpeft_mean_item(const SharedRuns& runs) {
  return {"fig6", "What a norm takes its mean over", [] { return std::vector<Run>{sensitivities()}; },
          [runs](ItemReport& report) { fig6(runs->result(sensitivities()), report); }};
}

std::vector<Item> lnpeft_items(Document& document, const LnPeftOptions& options) {
  const auto runs = std::make_shared<const LnPeftRuns>(document, options);
  std::vector<Item> items = lnpeft_change_items(runs);
  const std::vector<Item> fisher = lnpeft_fisher_items(runs), masks = lnpeft_mask_items(runs);
  items.push_back(fisher[0]);
  const std::vector<Item> tuning = lnpeft_tuning_items(runs);
  items.insert(items.end(), {tuning[0], lnpeft_submission_item(runs), tuning[1], masks[0], fisher[1], fisher[2],
                             masks[1], lnpeft_mean_item(runs)});
  return items;
}

}  // namespace minbert
