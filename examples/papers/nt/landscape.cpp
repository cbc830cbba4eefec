// How far the loss and its gradient change along a step of gradient descent.
//
//   Paper    The Benefits of Normalization Layers in Transformers, after Santurkar et al. 2018,
//            sec. 3.2
//   fig.5    max over a in (0,lr) of |L(W) - L(W - a ∇L)|
//   fig.6    max over a in (0,lr) of ‖∇L(W) - ∇L(W - a ∇L)‖
//   Ours     a = i lr / 11, i = 1..10; L is the loss of one batch, always the same, in training
//            mode
#include <cmath>

#include "papers/nt/transformer_norms.h"
#include "papers/statistics/sizes.h"

namespace minbert {
namespace {

using Values = std::vector<std::vector<real>>;

Values values_of(const std::vector<Parameter>& list) {
  Values all;
  for (const Parameter& p : list) all.push_back(p.value.values());
  return all;
}
void set_values(const std::vector<Parameter>& list, const Values& values) {
  for (size_t i = 0; i < list.size(); ++i) list[i].value.copy_from(values[i]);
}

// The pooler, which this network does not use, has no gradient: 0.
double loss_and_gradient(NtModel& model, const Batch& batch, const Indices& classes,
                         Values& gradient) {
  const Tensor loss = cross_entropy(model.network.forward(batch), classes);
  backward(loss);
  gradient.clear();
  for (const Parameter& p : model.parameters.items())
    gradient.push_back(p.value.grad() ? p.value.grad().values()
                                      : std::vector<real>(size_t(p.value.size())));
  model.parameters.zero_grad();
  return double(loss.item());
}

double distance(const Values& a, const Values& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].size(); ++j)
      squares += std::pow(double(a[i][j]) - double(b[i][j]), 2);
  return std::sqrt(squares);
}

}  // namespace

LossChange loss_change(NtModel& model, const Batch& batch, const Indices& classes, double lr) {
  const std::vector<Parameter>& parameters = model.parameters.items();
  const Values W = values_of(parameters), statistics = values_of(model.parameters.buffers());
  Values g, g_moved;
  const double L = loss_and_gradient(model, batch, classes, g);
  LossChange change{0, 0};
  for (int i = 1; i <= 10; ++i) {
    const double a = i * lr / 11;
    Values moved = W;
    for (size_t p = 0; p < W.size(); ++p)
      for (size_t j = 0; j < W[p].size(); ++j) moved[p][j] -= real(a) * g[p][j];
    set_values(parameters, moved);
    // all losses from the same statistics
    set_values(model.parameters.buffers(), statistics);
    raise(change.loss, std::abs(L - loss_and_gradient(model, batch, classes, g_moved)));     // [NT fig.5]
    raise(change.gradient, distance(g, g_moved));                                            // [NT fig.6]
  }
  set_values(parameters, W);
  set_values(model.parameters.buffers(), statistics);
  return change;
}

}  // namespace minbert
