// AdamW, the course's AdamW, SGD: one fused pass over parameters, gradients and moments.
#include "minbert/optimizer.h"

#include <algorithm>
#include <cmath>

#include "engine/launch.h"
#include "engine/storage.h"
#include "minbert/profile.h"

namespace minbert {
namespace {

// Loshchilov & Hutter, Decoupled Weight Decay Regularization, 2019, alg. 2; operations in PyTorch's order.
struct AdamW {
  real *p, *m, *v;
  const real* gradient;
  real scale, lr, beta1, beta2, eps, decay;         // decay = lr wd
  real correction1, correction2;                    // 1 - beta1^t, sqrt(1 - beta2^t)
  HD void operator()(int64_t i) const {
    const real g = scale * gradient[i];
    m[i] = beta1 * m[i] + (1 - beta1) * g;
    v[i] = beta2 * v[i] + (1 - beta2) * g * g;
    p[i] = p[i] - decay * p[i] - lr * (m[i] / correction1) / (std::sqrt(v[i]) / correction2 + eps);
  }
};

// The course's: step size alpha sqrt(1-beta2^t)/(1-beta1^t), eps beside the uncorrected root, decay of the
// new value.
struct CourseAdamW {
  real *p, *m, *v;
  const real* gradient;
  real scale, lr, beta1, beta2, eps, decay, correction1, correction2;
  HD void operator()(int64_t i) const {
    const real g = scale * gradient[i];
    m[i] = beta1 * m[i] + (1 - beta1) * g;
    v[i] = beta2 * v[i] + (1 - beta2) * g * g;
    const real moved = p[i] - lr * correction2 / correction1 * m[i] / (std::sqrt(v[i]) + eps);
    p[i] = moved - decay * moved;
  }
};

struct Sgd {
  real *p, *b;
  const real* gradient;
  real scale, lr, momentum, weight_decay;
  HD void operator()(int64_t i) const {
    b[i] = momentum * b[i] + scale * gradient[i] + weight_decay * p[i];
    p[i] -= lr * b[i];
  }
};

Tensor flat_zeros(int64_t elements) {
  const Tensor t = Tensor::at(Storage::exact(elements * int64_t(sizeof(real)), Device::cpu), 0, {elements});
  std::fill_n(t.data(), elements, real(0));
  return t;
}

// In chunks of fixed size, so that the result does not depend on the number of threads.
double sum_of_squares(const real* x, int64_t n) {
  constexpr int64_t chunk = 1 << 16;
  std::vector<double> sums(size_t((n + chunk - 1) / chunk));
#pragma omp parallel for schedule(static)
  for (size_t c = 0; c < sums.size(); ++c) {
    const real* from = x + int64_t(c) * chunk;
    sums[c] = double(SerialTeam{}.sum(int(std::min(chunk, n - int64_t(c) * chunk)),
                                      [=](int i) { return from[i] * from[i]; }));
  }
  double total = 0;
  for (const double s : sums) total += s;
  return total;
}

}  // namespace

Optimizer::Optimizer(const Parameters& parameters, OptimizerOptions options)
    : parameters_(parameters), options_(options), steps_(parameters.items().size()) {
  MB_CHECK(options.kind == "adamw" || options.kind == "adamw-course" || options.kind == "sgd",
           "there is no optimizer \"{}\"; the optimizers are: adamw, adamw-course, sgd", options.kind);
  int64_t offset = 0;
  for (const auto& item : parameters.items()) {
    offsets_.push_back(offset);
    offset += item.value.requires_grad() ? item.value.size() : 0;
  }
  first_ = flat_zeros(offset);
  if (options.kind != "sgd") second_ = flat_zeros(offset);
}

double Optimizer::clip(double max_norm) {
  double squares = 0;
  for (const auto& item : parameters_.items())
    if (const Tensor g = item.value.grad()) squares += sum_of_squares(g.data(), g.size());
  const double norm = std::sqrt(squares);
  scale_ = max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
  profile_charge("gradient norm", "", parameters_.trainable() * int64_t(sizeof(real)));
  return norm;
}

void Optimizer::step(double learning_rate) {
  const OptimizerOptions& o = options_;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Parameters::Item& item = parameters_.items()[i];
    const Tensor g = item.value.grad();
    if (!g) continue;
    const double t = double(++steps_[i]), wd = item.decay == Decay::yes ? o.weight_decay : 0;
    real *p = item.value.data(), *m = first_.data() + offsets_[i],
         *v = second_ ? second_.data() + offsets_[i] : nullptr;
    const auto adam = [&]<class Form>(Form) {
      launch_elements(item.value.device(), g.size(),
                      Form{p, m, v, g.data(), real(scale_), real(learning_rate), real(o.beta1), real(o.beta2),
                           real(o.eps), real(learning_rate * wd), real(1 - std::pow(o.beta1, t)),
                           real(std::sqrt(1 - std::pow(o.beta2, t)))});
    };
    if (o.kind == "adamw") adam(AdamW{});
    else if (o.kind == "adamw-course") adam(CourseAdamW{});
    else
      launch_elements(item.value.device(), g.size(),
                      Sgd{p, m, g.data(), real(scale_), real(learning_rate), real(o.momentum), real(wd)});
  }
  scale_ = 1;
  parameters_.clear_gradients();
  profile_charge(o.kind.c_str(), "", parameters_.trainable() * int64_t(sizeof(real)) * (second_ ? 7 : 5));
}

std::vector<std::pair<std::string, std::span<real>>> Optimizer::moments() {
  std::vector<std::pair<std::string, std::span<real>>> list = {
      {"first", {first_.data(), size_t(first_.size())}}};
  if (second_) list.emplace_back("second", std::span<real>(second_.data(), size_t(second_.size())));
  return list;
}

double schedule_factor(const std::string& schedule, int64_t step, int64_t steps, double warmup_fraction) {
  MB_CHECK(schedule == "linear" || schedule == "constant",
           "there is no schedule \"{}\"; the schedules are: linear, constant", schedule);
  const double warmup = std::floor(warmup_fraction * double(steps)), k = double(step);
  if (k < warmup) return (k + 1) / (warmup + 1);
  if (schedule == "constant") return 1;
  return (double(steps) - k) / std::max(1.0, double(steps) - warmup);
}

}  // namespace minbert
