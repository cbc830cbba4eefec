// What the norms with statistics of a set share: checks of the set, and a forward that needs them.
#include "norm/cls/fitted.h"

namespace minbert {

FittedNorm::FittedNorm(const char* name, const NormOptions& o)
    : hidden_(o.hidden), name_(name), count_(buffer("count", Tensor::zeros({1}))) {}

void FittedNorm::fit(const Tensor& h) {
  MB_CHECK(h.cols() == hidden_, "{}: a batch {} for statistics of {} dimensions", name_, h.shape(),
           hidden_);
  if (const auto v = non_finite(h.values()))
    fail(formatted("{}: the set has a row with the value {}; its statistics would be of no use",
                   name_, *v));
  add(h);
  rows_ += h.rows();
}

void FittedNorm::finish_fit() {
  MB_CHECK(rows_ > 0, "{}: statistics of an empty set", name_);
  finish();
  for (const Parameter& b : own_buffers())
    if (const auto v = non_finite(b.value.values()))
      fail(formatted("{}: the set's values are too large: their {} has the value {}", name_, b.name,
                     *v));
  count_.copy_from(std::vector<real>{real(rows_)});
  rows_ = 0;
}

Tensor FittedNorm::forward(const Tensor& h, const Batch&) const {
  fitted_ = fitted_ || count_.item() > 0;
  MB_CHECK(fitted_,
           "{}: this norm has no statistics yet; they are taken from the training set, when a run "
           "begins",
           name_);
  return normalize(h);
}

Tensor FittedNorm::statistic(const char* name) {
  return buffer(name, Tensor::zeros({hidden_}));
}

void FittedNorm::store(std::vector<double>& sums, const Tensor& statistic, double start) {
  statistic.copy_from(std::vector<real>(sums.begin(), sums.end()));
  sums.assign(sums.size(), start);
}

}  // namespace minbert
