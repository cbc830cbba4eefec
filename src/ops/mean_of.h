// The mean of the losses of a batch's rows.
#pragma once

#include "engine/launch.h"

namespace minbert {

struct MeanOf {                                     // all elements are one row
  const real* x;
  int n;
  real* mean;
  template <class Team>
  HD void operator()(Team team, int64_t) const {
    const real* in = x;
    real* out = mean;
    const real m = team.sum(n, [=](int i) { return in[i]; }) / real(n);
    team.each(1, [=](int) { out[0] = m; });
  }
};
inline Tensor mean_of(const Tensor& losses) {
  Tensor loss(Shape{}, losses.device());
  launch_rows(losses.device(), 1, losses.size(),
              MeanOf{losses.data(), int(losses.size()), loss.data()});
  return loss;
}

}  // namespace minbert
