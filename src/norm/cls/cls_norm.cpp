// The table of the normalizations of [CLS], and what those with statistics of a set have in common.
#include "minbert/cls_norm.h"

#include <functional>

#include "minbert/names.h"
#include "norm/text_table.h"

namespace minbert {

void ClsNorm::fit(const Tensor&) { fail("this normalization of [CLS] takes no statistics from a set"); }
void ClsNorm::finish_fit() { fail("this normalization of [CLS] takes no statistics from a set"); }

FittedClsNorm::FittedClsNorm(std::string name, int64_t hidden)
    : name_(std::move(name)), hidden_(hidden), count_(&buffer("count", Tensor::zeros({1}))) {}

void FittedClsNorm::fit(const Tensor& h) {
  MB_CHECK(h.cols() == hidden_, "{}: a batch {} for statistics of {} dimensions", name_, h.shape(), hidden_);
  if (const auto v = non_finite(h.values()))
    fail(format("{}: the set has a row with the value {}; its statistics would be of no use", name_, *v));
  add(h);
  rows_ += h.rows();
}

void FittedClsNorm::finish_fit() {
  MB_CHECK(rows_ > 0, "{}: statistics of an empty set", name_);
  finish();
  for (const Buffer& b : own_buffers())
    if (const auto v = non_finite(b.value.values()))
      fail(format("{}: the set's values are too large: their {} has the value {}", name_, b.name, *v));
  count_->copy_from(std::vector<real>{real(rows_)});
  rows_ = 0;
}

Tensor FittedClsNorm::forward(const Tensor& h) const {
  const Scope scope(path());
  fitted_ = fitted_ || count_->item() > 0;
  MB_CHECK(fitted_,
           "{}: this norm has no statistics yet; they are taken from the training set, when a run begins", name_);
  return normalize(h);
}

namespace {

class NoNorm : public ClsNorm {
 public:
  Tensor forward(const Tensor& h) const override { return h; }
};

std::unique_ptr<ClsNorm> make_iso_bn(const ClsNormOptions& o) {
  const auto& presets = IsoBatchNorm::presets();
  IsoBatchNorm::Preset preset = presets[place_of(o.preset, names_of(presets), "iso-bn preset")];
  preset.momentum = o.momentum.value_or(preset.momentum);
  preset.eps = o.eps.value_or(preset.eps), preset.beta = o.beta.value_or(preset.beta);
  return std::make_unique<IsoBatchNorm>(o.hidden, preset);
}

struct Row {
  ClsNormEntry entry;
  std::function<std::unique_ptr<ClsNorm>(const ClsNormOptions&)> make;
};

constexpr const char *each = "each dimension, over the training set", *fitted = "one pass over the training set";

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {{"none", "h", "Devlin et al. 2019", "nothing", false, "none", "0", "pooled"},
       [](const ClsNormOptions&) { return std::make_unique<NoNorm>(); }},
      {{"z", "(h-μ)/(σ+ε)", "[TA eq.2]", each, false, fitted, "0", "pre-pooler"},
       [](const ClsNormOptions& o) { return std::make_unique<ZNorm>(o.hidden, o.eps.value_or(1e-5)); }},
      {{"min-max", "(2h-θ₁-θ₂)/(θ₂-θ₁+ε)", "[TA eq.3]", each, false, fitted, "0", "pre-pooler"},
       [](const ClsNormOptions& o) { return std::make_unique<MinMaxNorm>(o.hidden, o.eps.value_or(1e-5)); }},
      {{"l2", "h/(δ+ε)", "[TA eq.4]", each, false, fitted, "0", "pre-pooler"},
       [](const ClsNormOptions& o) { return std::make_unique<L2Norm>(o.hidden, o.eps.value_or(1e-5)); }},
      {{"batch", "(h-μ)/√(σ²+ε)⊙γ+β", "[IsoBN eq.2]", "each dimension, over the batch", true,
        "running mean, variance", "2H", "pooled"},
       [](const ClsNormOptions& o) {
         return std::make_unique<ClsBatchNorm>(o.hidden, o.momentum.value_or(0.1), o.eps.value_or(1e-5));
       }},
      {{"whitening", "Σ^(-1/2)(h-μ)", "[IsoBN eq.1]", "all dimensions, over the training set", false, fitted, "0",
        "pooled"},
       [](const ClsNormOptions& o) { return std::make_unique<Whitening>(o.hidden, o.shrinkage.value_or(0.01)); }},
      {{"iso-bn", "θ̄⊙h", "[IsoBN eq.4-8]", "all dimensions, over the batches so far", true, "moving covariance", "0",
        "pooled"},
       make_iso_bn},
  };
  return table;
}

}  // namespace

const std::vector<ClsNormEntry>& cls_norm_table() {
  static const std::vector<ClsNormEntry> entries = [] {
    std::vector<ClsNormEntry> list;
    for (const Row& row : rows()) list.push_back(row.entry);
    return list;
  }();
  return entries;
}

namespace {

const Row& find(const std::string& name) {
  return rows()[place_of(name, names_of(cls_norm_table()), "[CLS] norm")];
}

}  // namespace

std::string cls_norm_help() {
  std::vector<std::vector<std::string>> lines = {{"[CLS] norm", "formula", "normalizes", "couples the batch",
                                                  "statistics", "parameters", "at", "paper"}};
  for (const ClsNormEntry& e : cls_norm_table())
    lines.push_back({e.name, e.formula, e.over, e.couples_batch ? "yes" : "no", e.statistics, e.parameters, e.place,
                     e.paper});
  return text_table(lines);
}

std::unique_ptr<ClsNorm> make_cls_norm(const std::string& name, const ClsNormOptions& options) {
  return find(name).make(options);
}

std::string cls_norm_place(const std::string& name, const std::string& at) {
  return at == "per-method" ? find(name).entry.place : at;
}

}  // namespace minbert
