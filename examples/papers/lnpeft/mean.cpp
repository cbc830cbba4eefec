// What each norm takes its mean over: which elements of x move an element of y.
#include <algorithm>
#include <cmath>

#include "engine/names.h"
#include "minbert/norm.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

constexpr int64_t H = 6, T = 7;  // features, tokens: three sentences of 2, 3 and 2
constexpr int64_t row = 3, column = 2;  // the element of y: a token of the second sentence

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

// How much each element of x moves y[row,column]: |y(x + δ e) - y(x)| / δ. Differences of y and no
// derivatives, since the backward of PowerNorm is an approximation.
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
Names norm_names() {
  Names names = {"layer", "batch"};
  for (const NormEntry& entry : norms().entries)
    if (std::ranges::find(names, entry.name) == names.end()) names.push_back(entry.name);
  return names;
}

Run sensitivities() {
  return {"means", {{"norms", joined(norm_names())}}, [](const std::string&) {
            Json result = Json::object();
            for (const std::string& name : norm_names()) {
              Json::Array rows;
              for (const Numbers& values : sensitivity(name))
                rows.push_back(Json::array_of(values));
              result.set(name, Json::array(rows));
            }
            return result;
          }};
}

// [LN-PEFT fig.6] [LN-PEFT app.A]
void fig6(const Json& result, ItemReport& report) {
  LongTable table({"norm", "token", "feature", "change"});
  const auto names = [](int64_t count) {
    Names all;
    for (int64_t i = 1; i <= count; ++i) all.push_back(std::to_string(i));
    return all;
  };
  const auto draw_dependence = [&](const std::string& name) {
    Panel panel{.title = name,
                .x_label = "feature",
                .y_label = "token",
                .heat = {.min = 0, .max = 1, .color_bar = false, .borders = {2, 5}},
                .x_names = names(H),
                .y_names = names(T)};
    for (const Json& token : result[name].items()) {
      Numbers features;
      for (const double change : token.numbers()) {
        features.push_back(change > 0);
        table(name, panel.heat.values.size() + 1, features.size()) = change;
      }
      panel.heat.values.push_back(features);
    }
    return panel;
  };
  report.figure(
      "For each norm, the elements of x [7 tokens, 6 features] on which one element of y depends: "
      "feature 3 of token 4, in the second of three sentences, between which a line is drawn",
      norm_names(), draw_dependence, {.columns = 3});
  report.csv(table);
}

}  // namespace

Item lnpeft_mean_item(const LnPeftRuns& runs) {
  return {"fig6", [] { return std::vector{sensitivities()}; },
          [runs](ItemReport& report) { fig6(runs.document.result(sensitivities()), report); }};
}

std::vector<Item> lnpeft_items(Document& document, const LnPeftOptions& options) {
  const LnPeftRuns runs{document, options};
  return together({lnpeft_fisher_items(runs), lnpeft_tuning_items(runs), lnpeft_mask_items(runs),
                   {lnpeft_change_item(runs), lnpeft_disabled_item(runs), lnpeft_submission_item(runs),
                    lnpeft_mean_item(runs)}});
}

}  // namespace minbert
