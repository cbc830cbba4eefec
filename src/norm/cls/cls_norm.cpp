// The table of the normalizations of [CLS], and the base class of those with statistics of a set.
#include "minbert/cls_norm.h"

#include "engine/text.h"
#include "minbert/names.h"
#include "norm/cls/fitted.h"

namespace minbert {

const std::vector<ClsNormEntry>& cls_norm_table() {
  static const std::vector<ClsNormEntry> table = [] {
    std::vector<ClsNormEntry> list;
    { extern ClsNormEntry cls_none;      list.push_back(cls_none); }      // at the end of its file
    { extern ClsNormEntry cls_z;         list.push_back(cls_z); }
    { extern ClsNormEntry cls_min_max;   list.push_back(cls_min_max); }
    { extern ClsNormEntry cls_l2;        list.push_back(cls_l2); }
    { extern ClsNormEntry cls_batch;     list.push_back(cls_batch); }
    { extern ClsNormEntry cls_whitening; list.push_back(cls_whitening); }
    { extern ClsNormEntry cls_iso_bn;    list.push_back(cls_iso_bn); }
    return list;
  }();
  return table;
}

const ClsNormEntry& find_cls_norm(const std::string& norm) {
  return cls_norm_table()[index_of(norm_name(norm), names_of(cls_norm_table()), "[CLS] norm")];
}

std::string cls_norm_help() {
  std::vector<std::vector<std::string>> lines = {{"[CLS] norm", "formula", "normalizes",
                                                  "couples the batch", "statistics", "parameters",
                                                  "at", "options", "paper"}};
  for (const ClsNormEntry& e : cls_norm_table())
    lines.push_back({e.name, e.formula, e.over, e.couples_batch ? "yes" : "no", e.statistics,
                     e.parameters, e.place, options_text(e.options), e.paper});
  return text_table(lines);
}

void check_cls_norm(const std::string& norm) { norm_values(norm, find_cls_norm(norm).options); }

std::unique_ptr<ClsNorm> make_cls_norm(const std::string& norm, NormOptions options) {
  const ClsNormEntry& entry = find_cls_norm(norm);
  options.values = norm_values(norm, entry.options);
  return entry.make(options);
}

std::string cls_norm_place(const std::string& norm, const std::string& place) {
  return place == "per-method" ? find_cls_norm(norm).place : place;
}

void ClsNorm::fit(const Tensor&) {
  fail("this normalization of [CLS] takes no statistics from a set");
}
void ClsNorm::finish_fit() { fail("this normalization of [CLS] takes no statistics from a set"); }

FittedClsNorm::FittedClsNorm(const char* name, int64_t hidden)
    : name_(name), hidden_(hidden), count_(buffer("count", Tensor::zeros({1}))) {}

void FittedClsNorm::fit(const Tensor& h) {
  MB_CHECK(h.cols() == hidden_, "{}: a batch {} for statistics of {} dimensions", name_, h.shape(),
           hidden_);
  if (const auto v = non_finite(h.values()))
    fail(format("{}: the set has a row with the value {}; its statistics would be of no use", name_,
                *v));
  add(h);
  rows_ += h.rows();
}

void FittedClsNorm::finish_fit() {
  MB_CHECK(rows_ > 0, "{}: statistics of an empty set", name_);
  finish();
  for (const Buffer& b : own_buffers())
    if (const auto v = non_finite(b.value.values()))
      fail(format("{}: the set's values are too large: their {} has the value {}", name_, b.name,
                  *v));
  count_.copy_from(std::vector<real>{real(rows_)});
  rows_ = 0;
}

Tensor FittedClsNorm::forward(const Tensor& h) const {
  fitted_ = fitted_ || count_.item() > 0;
  MB_CHECK(fitted_,
           "{}: this norm has no statistics yet; they are taken from the training set, when a run "
           "begins",
           name_);
  return normalize(h);
}

}  // namespace minbert
