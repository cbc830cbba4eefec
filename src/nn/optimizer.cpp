// AdamW, the course's AdamW, SGD: one fused pass over parameters, gradients and moments.
#include "minbert/optimizer.h"

#include <algorithm>
#include <cmath>

#include "engine/fill.h"
#include "engine/launch.h"
#include "engine/storage.h"
#include "minbert/names.h"
#include "minbert/profile.h"

namespace minbert {
namespace {

// One parameter, as a step sees it.
struct OptimizedParameter {
  real *p, *m, *v;
  const real* g;                                    // nullptr: it got no gradient and is left alone
  int64_t size;
  // lr wd; of sgd: wd    1 - beta1^t    sqrt(1 - beta2^t)
  real decay, correction1, correction2;
};

constexpr int64_t piece_size = 8192;

struct Rates {
  real lr, beta1, beta2, eps, momentum;
};

// Loshchilov & Hutter, Decoupled Weight Decay Regularization, 2019, alg. 2, with lr on the decay as
// in PyTorch:
//   m = β₁ m + (1-β₁) g    v = β₂ v + (1-β₂) g²    m̂ = m / (1-β₁ᵗ)    v̂ = v / (1-β₂ᵗ)
//   θ = θ - lr λ θ - lr m̂ / (√v̂ + ε)                                    θ: p   λ: weight decay
struct AdamW {
  HD static void step(const OptimizedParameter& at, int64_t i, real g, const Rates& r) {
    real *p = at.p + i, *m = at.m + i, *v = at.v + i;
    const real m_now = r.beta1 * *m + (1 - r.beta1) * g;
    const real v_now = r.beta2 * *v + (1 - r.beta2) * g * g, before = *p;
    *m = m_now, *v = v_now;
    *p = before - at.decay * before -
         r.lr * (m_now / at.correction1) / (std::sqrt(v_now) / at.correction2 + r.eps);
  }
};

// The course's: step size alpha sqrt(1-beta2^t)/(1-beta1^t), eps beside the uncorrected root, decay
// of the new value.
struct CourseAdamW {
  HD static void step(const OptimizedParameter& at, int64_t i, real g, const Rates& r) {
    real *p = at.p + i, *m = at.m + i, *v = at.v + i;
    const real m_now = r.beta1 * *m + (1 - r.beta1) * g;
    const real v_now = r.beta2 * *v + (1 - r.beta2) * g * g;
    const real moved =
        *p - r.lr * at.correction2 / at.correction1 * m_now / (std::sqrt(v_now) + r.eps);
    *m = m_now, *v = v_now;
    *p = moved - at.decay * moved;
  }
};

struct Sgd {
  HD static void step(const OptimizedParameter& at, int64_t i, real g, const Rates& r) {
    real *p = at.p + i, *b = at.m + i;
    *b = r.momentum * *b + g + at.decay * *p;
    *p -= r.lr * *b;
  }
};

// All parameters in one launch: a row is a piece of one of them.
struct Pieces {
  const OptimizedParameter* parameters;
  // Of each piece: its parameter, and where in it it begins
  const int32_t *owner, *begin;
  HD const OptimizedParameter& of(int64_t piece) const { return parameters[owner[piece]]; }
  HD int size(int64_t piece) const {
    const int64_t left = of(piece).size - begin[piece];
    return int(left < piece_size ? left : piece_size);
  }
};
Pieces pieces_of(const Storage& table, const Indices& owner, const Indices& begin) {
  const Device device = table.device();
  return {static_cast<const OptimizedParameter*>(table.data()), owner.data(device),
          begin.data(device)};
}
template <class Form>
struct StepPiece {
  Pieces pieces;
  const real* factor;                               // on every gradient
  Rates rates;
  template <class Team>
  HD void operator()(Team team, int64_t piece) const {
    const OptimizedParameter at = pieces.of(piece);
    const int64_t first = pieces.begin[piece];
    const real scale = *factor;
    const Rates r = rates;
    if (at.g)
      team.each(pieces.size(piece),
                [=](int i) { Form::step(at, first + i, scale * at.g[first + i], r); });
  }
};

// |g|^2 of each piece; then |g| of all of them, and the factor that brings it down to max_norm.
struct SquaresOfPiece {
  Pieces pieces;
  real* squares;
  template <class Team>
  HD void operator()(Team team, int64_t piece) const {
    const real* g = pieces.of(piece).g;
    if (g) g += pieces.begin[piece];
    const real sum = team.sum(g ? pieces.size(piece) : 0, [=](int i) { return g[i] * g[i]; });
    real* to = squares + piece;
    team.each(1, [=](int) { *to = sum; });
  }
};
struct NormAndFactor {
  const real* squares;
  int count;
  real max_norm;
  real *norm, *factor;
  template <class Team>
  HD void operator()(Team team, int64_t) const {
    const real* from = squares;
    const real n = std::sqrt(team.sum(count, [=](int i) { return from[i]; })), most = max_norm;
    real *norm_to = norm, *factor_to = factor;
    team.each(1,
              [=](int) { *norm_to = n, *factor_to = most > 0 && n > most ? most / n : real(1); });
  }
};

Tensor flat_zeros(int64_t elements) {
  const Tensor t = Tensor::view(Storage::exact(elements * int64_t(sizeof(real)), default_device()),
                                0, {elements});
  fill(t, 0);
  return t;
}

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = {"adamw", "adamw-course", "sgd"};
  return names;
}
const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"linear", "constant"};
  return names;
}

Optimizer::Optimizer(const Parameters& parameters, OptimizerOptions options)
    : parameters_(parameters), options_(options), norm_(Tensor::zeros({1})),
      factor_(Tensor::full({1}, 1)), steps_(parameters.items().size()) {
  index_of(options.kind, optimizer_names(), "optimizer");
  parameters.reserve_gradients();
  int64_t offset = 0;
  std::vector<int32_t> owner, begin;
  for (size_t i = 0; i < parameters.items().size(); ++i) {
    const Tensor& value = parameters.items()[i].value;
    offsets_.push_back(offset);
    if (!value.requires_grad()) continue;
    offset += value.size();
    for (int64_t at = 0; at < value.size(); at += piece_size) {
      owner.push_back(int32_t(i));
      begin.push_back(int32_t(at));
    }
  }
  piece_owner_ = std::move(owner), piece_begin_ = std::move(begin);
  first_ = flat_zeros(offset);
  if (options.kind != "sgd") second_ = flat_zeros(offset);
}

// Every OptimizedParameter, where the parameters are: its arrays' places, and its numbers for a
// step at this rate.
std::shared_ptr<Storage> Optimizer::table(double learning_rate) const {
  const OptimizerOptions& o = options_;
  std::vector<OptimizedParameter> list;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Parameters::Item& item = parameters_.items()[i];
    const Tensor g = item.value.grad();
    const double t = double(steps_[i]), wd = item.decay == Decay::yes ? o.weight_decay : 0;
    const real decay = real(o.kind == "sgd" ? wd : learning_rate * wd);
    list.push_back({item.value.data(), first_.data() + offsets_[i],
                    second_ ? second_.data() + offsets_[i] : nullptr, g ? g.data() : nullptr,
                    item.value.size(), decay, real(1 - std::pow(o.beta1, t)),
                    real(std::sqrt(1 - std::pow(o.beta2, t)))});
  }
  return Storage::copy_of(list.data(), int64_t(list.size() * sizeof(OptimizedParameter)),
                          first_.device());
}

void Optimizer::clip(double max_norm) {
  const Device device = first_.device();
  const int64_t pieces = piece_owner_.size();
  const auto of = table(0);                         // for the places of g alone
  const Tensor squares({pieces}, device);
  launch_rows(device, pieces, first_.size(),
              SquaresOfPiece{pieces_of(*of, piece_owner_, piece_begin_), squares.data()});
  launch_rows(
      device, 1, pieces,
      NormAndFactor{squares.data(), int(pieces), real(max_norm), norm_.data(), factor_.data()});
  profile_charge("gradient norm", "", parameters_.trainable() * int64_t(sizeof(real)));
}

void Optimizer::step(double learning_rate) {
  const OptimizerOptions& o = options_;
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i] += bool(parameters_.items()[i].value.grad());
  const Device device = first_.device();
  const auto of = table(learning_rate);
  const auto take = [&]<class Form>(Form) {
    launch_rows(device, piece_owner_.size(), first_.size(),
                StepPiece<Form>{pieces_of(*of, piece_owner_, piece_begin_),
                                factor_.data(),
                                {real(learning_rate), real(o.beta1), real(o.beta2), real(o.eps),
                                 real(o.momentum)}});
  };
  if (o.kind == "adamw") take(AdamW{});
  else if (o.kind == "adamw-course") take(CourseAdamW{});
  else if (o.kind == "sgd") take(Sgd{});
  else fail(format("the optimizer {} has a name, but no step", o.kind));
  fill(factor_, 1);
  parameters_.clear_gradients();
  // Reads p, m, v, g and writes p, m, v; SGD has no v.
  profile_charge(o.kind.c_str(), "",
                 parameters_.trainable() * int64_t(sizeof(real)) * (second_ ? 7 : 5));
}

std::vector<std::pair<std::string, Tensor>> Optimizer::moments() const {
  std::vector<std::pair<std::string, Tensor>> list = {{"first", first_}};
  if (second_) list.emplace_back("second", second_);
  return list;
}

// k < w: (k+1) / (w+1)     then constant: 1, linear: (S-k) / (S-w)
// S steps, w = floor(warmup_fraction S)
double schedule_factor(const std::string& schedule, int64_t step, int64_t steps,
                       double warmup_fraction) {
  index_of(schedule, schedule_names(), "schedule");
  const double warmup = std::floor(warmup_fraction * double(steps)), k = double(step);
  if (k < warmup) return (k + 1) / (warmup + 1);
  if (schedule == "constant") return 1;
  return (double(steps) - k) / std::max(1.0, double(steps) - warmup);
}

}  // namespace minbert
