// The tables of all normalizations, of hidden states and of [CLS].
#include "minbert/norm.h"

#include "engine/text.h"
#include "minbert/names.h"

namespace minbert {

// An entry stands at the end of its norm's file. To add one, name it here, in its table's order.
extern NormEntry norm_none, norm_layer, norm_layer_simple, norm_variance_only, norm_rms,
    norm_conditional_layer, norm_batch, norm_power, norm_group, norm_group_sentence, norm_instance;
extern NormEntry cls_none, cls_z, cls_min_max, cls_l2, cls_batch, cls_whitening, cls_iso_bn;

const NormTable& norms() {
  static const NormTable table = {
      "norm",
      {norm_none, norm_layer, norm_layer_simple, norm_variance_only, norm_rms,
       norm_conditional_layer, norm_batch, norm_power, norm_group, norm_group_sentence,
       norm_instance}};
  return table;
}
const NormTable& cls_norms() {
  static const NormTable table = {
      "[CLS] norm",
      {cls_none, cls_z, cls_min_max, cls_l2, cls_batch, cls_whitening, cls_iso_bn}};
  return table;
}

const NormEntry& NormTable::find(const std::string& norm) const {
  return entries[index_of(norm_name(norm), names_of(entries), what)];
}

void NormTable::check(const std::string& norm) const { norm_values(norm, find(norm).options); }

std::unique_ptr<Norm> NormTable::make(const std::string& norm, NormOptions options) const {
  const NormEntry& entry = find(norm);
  options.values = norm_values(norm, entry.options);
  return entry.make(options);
}

std::string NormTable::help() const {
  std::vector<std::vector<std::string>> lines = {
      {what, "formula", "a mean is taken over", "couples", "statistics", "parameters", "at",
       "options", "paper"}};
  for (const NormEntry& e : entries)
    lines.push_back({e.name, e.formula, e.over, name_of(e.couples), e.statistics, e.parameters,
                     e.place, options_text(e.options), e.paper});
  return text_table(lines);
}

const char* name_of(Couples couples) {
  constexpr const char* names[] = {"nothing", "a sentence", "the batch"};
  return names[int(couples)];
}

std::string cls_norm_place(const std::string& norm, const std::string& place) {
  return place == "per-method" ? cls_norms().find(norm).place : place;
}

void Norm::fit(const Tensor&) { fail("this normalization takes no statistics from a set"); }
void Norm::finish_fit() { fail("this normalization takes no statistics from a set"); }

AffineNorm::AffineNorm(const NormOptions& o)
    : eps_(o.number("eps", o.layer_norm_eps)),
      weight_(parameter("weight", {o.hidden}, Init::ones, Decay::no)),
      bias_(parameter("bias", {o.hidden}, Init::zeros, Decay::no)) {}

}  // namespace minbert
