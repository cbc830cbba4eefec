// AdamW, the course's AdamW, SGD: one fused pass over parameters, gradients and moments.
#include "minbert/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/fill.h"
#include "engine/launch.h"
#include "engine/names.h"
#include "engine/profile.h"
#include "engine/storage.h"

namespace minbert {
namespace {

// One parameter, as a step sees it.
struct OptimizedParameter {
  real *p, *m, *v;
  const real* g;                                    // nullptr: it got no gradient and is left alone
  const uint8_t* mask;                              // nullptr: all of its elements learn
  int64_t size;
  real lr, beta1, beta2, eps, momentum;
  // lr wd; of sgd: wd    1 - beta1^t    sqrt(1 - beta2^t)
  real decay, correction1, correction2;
};

constexpr int64_t piece_size = 8192;

// An element and its moments; the next step's of an element that learns
struct Element {
  real p, m, v;
};

// Loshchilov & Hutter, Decoupled Weight Decay Regularization, 2019, alg. 2, with lr on the decay as
// in PyTorch:
//   m = β₁ m + (1-β₁) g    v = β₂ v + (1-β₂) g²    m̂ = m / (1-β₁ᵗ)    v̂ = v / (1-β₂ᵗ)
//   θ = θ - lr λ θ - lr m̂ / (√v̂ + ε)                                    θ: p   λ: weight decay
struct AdamW {
  static constexpr bool has_m = true, has_v = true;
  HD static Element step(const OptimizedParameter& o, const Element& e, real g) {
    const real m = o.beta1 * e.m + (1 - o.beta1) * g;
    const real v = o.beta2 * e.v + (1 - o.beta2) * g * g;
    const real p = e.p - o.decay * e.p -
                   o.lr * (m / o.correction1) / (std::sqrt(v) / o.correction2 + o.eps);
    return {p, m, v};
  }
};

// The course's: step size alpha sqrt(1-beta2^t)/(1-beta1^t), eps beside the uncorrected root, decay
// of the new value.
struct CourseAdamW {
  static constexpr bool has_m = true, has_v = true;
  HD static Element step(const OptimizedParameter& o, const Element& e, real g) {
    const real m = o.beta1 * e.m + (1 - o.beta1) * g;
    const real v = o.beta2 * e.v + (1 - o.beta2) * g * g;
    const real moved = e.p - o.lr * o.correction2 / o.correction1 * m / (std::sqrt(v) + o.eps);
    return {moved - o.decay * moved, m, v};
  }
};

struct Sgd {
  static constexpr bool has_m = true, has_v = false;
  HD static Element step(const OptimizedParameter& o, const Element& e, real g) {
    const real b = o.momentum * e.m + g + o.decay * e.p;
    return {e.p - o.lr * b, b, 0};
  }
};

struct PlainSgd {                                   // without momentum m is not touched
  static constexpr bool has_m = false, has_v = false;
  HD static Element step(const OptimizedParameter& o, const Element& e, real g) {
    return {e.p - o.lr * (g + o.decay * e.p), 0, 0};
  }
};

// All parameters in one launch: a row is a piece of one of them.
struct Pieces {
  const OptimizedParameter* parameters;
  const int32_t *owner, *begin;                     // of each piece: its parameter, its place there
  int64_t count;
  HD const OptimizedParameter& parameter_of(int64_t piece) const {
    return parameters[owner[piece]];
  }
  HD int size(int64_t piece) const {
    const int64_t left = parameter_of(piece).size - begin[piece];
    return int(left < piece_size ? left : piece_size);
  }
};
Pieces pieces_of(const Storage& list, const Indices& owner, const Indices& begin) {
  const Device device = list.device();
  return {static_cast<const OptimizedParameter*>(list.data()), owner.data(device),
          begin.data(device), owner.size()};
}

template <class Form>
struct StepPiece {
  Pieces pieces;
  const real* factor;                               // on every gradient
  template <class Team>
  HD void operator()(Team team, int64_t piece) const {
    const OptimizedParameter o = pieces.parameter_of(piece);
    const int64_t first = pieces.begin[piece];
    const real scale = *factor;
    if (!o.g) return;
    // A frozen element is written as it was read: a loop without a branch is vectorised.
    const auto step = [=](int64_t i, bool learns) {
      const Element before = {o.p[i], Form::has_m ? o.m[i] : 0, Form::has_v ? o.v[i] : 0};
      const Element after = Form::step(o, before, scale * o.g[i]);
      o.p[i] = learns ? after.p : before.p;
      if (Form::has_m) o.m[i] = learns ? after.m : before.m;
      if (Form::has_v) o.v[i] = learns ? after.v : before.v;
    };
    if (!o.mask) return team.each(pieces.size(piece), [=](int i) { step(first + i, true); });
    team.each(pieces.size(piece), [=](int i) { step(first + i, o.mask[first + i]); });
  }
};

// |g|^2 of each piece, frozen elements left out; then |g| of all of them, and the factor that
// brings it down to max_norm.
struct SquaresOfPiece {
  Pieces pieces;
  real* squares;
  template <class Team>
  HD void operator()(Team team, int64_t piece) const {
    const OptimizedParameter& o = pieces.parameter_of(piece);
    const real* g = o.g ? o.g + pieces.begin[piece] : nullptr;
    const uint8_t* mask = o.mask ? o.mask + pieces.begin[piece] : nullptr;
    const int n = g ? pieces.size(piece) : 0;
    const auto square_of = [=](int i) { return g[i] * g[i]; };
    const real sum =
        mask ? team.sum(n, [=](int i) { return mask[i] ? square_of(i) : real(0); })
             : team.sum(n, square_of);
    team.each(1, [sum, square = squares + piece](int) { *square = sum; });
  }
};
struct NormAndFactor {
  const real* squares;
  int count;
  real max_norm;
  real *norm, *factor;
  template <class Team>
  HD void operator()(Team team, int64_t) const {
    const real total_norm = std::sqrt(team.sum(count, [g2 = squares](int i) { return g2[i]; }));
    const bool clips = max_norm > 0 && total_norm > max_norm;
    const real clip_coef = clips ? max_norm / total_norm : real(1);
    team.each(1, [total_norm, clip_coef, results = *this](int) {
      *results.norm = total_norm;
      *results.factor = clip_coef;
    });
  }
};

template <class Form>
void step_pieces(const Tensor& m, const Pieces& pieces, const real* factor) {
  launch_rows(m.device(), pieces.count, m.size(), StepPiece<Form>{pieces, factor});
}

// In the order of optimizer_names.
constexpr std::array kinds = {step_pieces<AdamW>, step_pieces<CourseAdamW>, step_pieces<Sgd>};

Tensor flat_zeros(int64_t elements) {
  const Tensor t = Tensor::view(Storage::exact(elements * int64_t(sizeof(real)), default_device()),
                                0, {elements});
  fill(t, 0);
  return t;
}

}  // namespace

Optimizer::Optimizer(const Parameters& parameters, OptimizerOptions options)
    : parameters_(parameters), options_(options), norm_(Tensor::zeros({1})),
      factor_(Tensor::full({1}, 1)), steps_(parameters.items().size()),
      kind_(index_of(options.kind, optimizer_names, "optimizer")), choices_(parameters.choices_) {
  parameters.reserve_gradients();
  int64_t offset = 0;
  std::vector<int32_t> owner, begin;
  for (size_t i = 0; i < parameters.items().size(); ++i) {
    const Tensor& value = parameters.items()[i].value;
    offsets_.push_back(offset);
    if (!value.requires_grad()) continue;
    offset += value.size();
    for (int64_t pos = 0; pos < value.size(); pos += piece_size) {
      owner.push_back(int32_t(i));
      begin.push_back(int32_t(pos));
    }
  }
  piece_owner_ = std::move(owner);
  piece_begin_ = std::move(begin);
  first_ = flat_zeros(offset);
  if (options.kind != "sgd") second_ = flat_zeros(offset);
}

// Every OptimizedParameter, where the parameters are: its arrays' places, and its numbers for a
// step at this rate.
std::shared_ptr<Storage> Optimizer::table(double learning_rate) const {
  const OptimizerOptions& o = options_;
  std::vector<OptimizedParameter> list;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Parameter& p = parameters_.items()[i];
    const Tensor g = p.value.grad();
    const double t = double(steps_[i]), wd = p.decay == Decay::yes ? o.weight_decay : 0;
    const double lr = learning_rate * (o.rate ? o.rate(p.name) : 1);
    list.push_back({.p = p.value.data(), .m = first_.data() + offsets_[i],
                    .v = second_ ? second_.data() + offsets_[i] : nullptr,
                    .g = g ? g.data() : nullptr, .mask = parameters_.mask(i),
                    .size = p.value.size(),
                    .lr = real(lr), .beta1 = real(o.beta1), .beta2 = real(o.beta2),
                    .eps = real(o.eps), .momentum = real(o.momentum),
                    .decay = real(o.kind == "sgd" ? wd : lr * wd),
                    .correction1 = real(1 - std::pow(o.beta1, t)),
                    .correction2 = real(std::sqrt(1 - std::pow(o.beta2, t)))});
  }
  return Storage::copy_of(list.data(), int64_t(list.size() * sizeof(OptimizedParameter)),
                          first_.device());
}

void Optimizer::clip(double max_norm) {
  const Device device = first_.device();
  const auto list = table(0);                       // for the places of g alone
  const Pieces pieces = pieces_of(*list, piece_owner_, piece_begin_);
  const Tensor squares({pieces.count}, device);
  launch_rows(device, pieces.count, first_.size(), SquaresOfPiece{pieces, squares.data()});
  launch_rows(device, 1, pieces.count,
              NormAndFactor{.squares = squares.data(), .count = int(pieces.count),
                            .max_norm = real(max_norm), .norm = norm_.data(),
                            .factor = factor_.data()});
  profile_charge("gradient norm", "", parameters_.trainable() * int64_t(sizeof(real)));
}

void Optimizer::step(double learning_rate) {
  MB_CHECK(choices_ == parameters_.choices_,
           "step: set_trainable() came after this Optimizer was made; make it afterwards");
  bool any = false;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const bool reached = bool(parameters_.items()[i].value.grad());
    steps_[i] += reached;
    any |= reached;
  }
  MB_CHECK(any, "step: no parameter has a gradient; call backward(loss) first");
  const auto list = table(learning_rate);
  const bool plain = options_.kind == "sgd" && options_.momentum == 0;
  const auto step_all = plain ? step_pieces<PlainSgd> : kinds.at(kind_);
  step_all(first_, pieces_of(*list, piece_owner_, piece_begin_), factor_.data());
  fill(factor_, 1);
  parameters_.zero_grad();
  // Reads p, m, v, g and writes p, m, v; SGD has no v, and plain SGD no m.
  const int64_t passes = second_ ? 7 : options_.momentum > 0 ? 5 : 3;
  profile_charge(options_.kind.c_str(), "",
                 parameters_.trainable() * int64_t(sizeof(real)) * passes);
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
  index_of(schedule, schedule_names, "schedule");
  const double warmup = std::floor(warmup_fraction * double(steps)), k = double(step);
  if (k < warmup) return (k + 1) / (warmup + 1);
  if (schedule == "constant") return 1;
  return (double(steps) - k) / std::max(1.0, double(steps) - warmup);
}

}  // namespace minbert
