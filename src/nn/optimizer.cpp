// AdamW, the course's AdamW, SGD: one fused pass over all parameters, gradients and moments.
// Plain: AdamW in examples/plain_bert.cpp
#include "minbert/optimizer.h"

#include <algorithm>
#include <cmath>

#include "engine/fill.h"
#include "engine/flat_buffer.h"
#include "engine/launch.h"
#include "engine/profile.h"
#include "engine/storage.h"
#include "minbert/choice.h"

namespace minbert {
namespace {

// One parameter, as a step sees it.
struct OptimizedParameter {
  int64_t size;
  real *p, *m, *v;
  const real* g;                                    // nullptr: no gradient, and nothing to do
  const real* factor;                               // on every gradient
  real lr, beta1, beta2, eps, momentum;
  // lr wd; of sgd: wd    1 - beta1^t    sqrt(1 - beta2^t)
  real decay, correction1, correction2;
};

// One number of a parameter, with its moments.
struct Weight {
  real p, m, v;
};

// Loshchilov & Hutter, Decoupled Weight Decay Regularization, 2019, alg. 2, with lr on the decay as
// in PyTorch:
//   m = β₁ m + (1-β₁) g    v = β₂ v + (1-β₂) g²    m̂ = m / (1-β₁ᵗ)    v̂ = v / (1-β₂ᵗ)
//   θ = θ - lr λ θ - lr m̂ / (√v̂ + ε)                                    θ: p   λ: weight decay
struct AdamW {
  static constexpr bool has_v = true;
  HD static Weight step(const OptimizedParameter& o, const Weight& e, real g) {
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
  static constexpr bool has_v = true;
  HD static Weight step(const OptimizedParameter& o, const Weight& e, real g) {
    const real m = o.beta1 * e.m + (1 - o.beta1) * g;
    const real v = o.beta2 * e.v + (1 - o.beta2) * g * g;
    const real moved = e.p - o.lr * o.correction2 / o.correction1 * m / (std::sqrt(v) + o.eps);
    return {moved - o.decay * moved, m, v};
  }
};

struct Sgd {
  static constexpr bool has_v = false;
  HD static Weight step(const OptimizedParameter& o, const Weight& e, real g) {
    const real b = o.momentum * e.m + g + o.decay * e.p;
    return {e.p - o.lr * b, b, 0};                                         // [NT training]
  }
};

// All parameters are cut into pieces of one size, which are the rows of one launch. A loop over
// parameters would do on the CPU; on a GPU it would be a launch for each of BERT-base's 199.
constexpr int piece_size = 8192;
struct Piece {
  const OptimizedParameter* parameters;
  const int32_t *parameter, *number;         // of each piece: its parameter, its number there
  HD OptimizedParameter operator[](int64_t i) const {         // the piece as a parameter of its own
    OptimizedParameter o = parameters[parameter[i]];
    const int64_t begin = int64_t(number[i]) * piece_size, left = o.size - begin;
    o.size = left < piece_size ? left : piece_size;
    o.p += begin, o.m += begin, o.v += o.v ? begin : 0, o.g += o.g ? begin : 0;
    return o;
  }
};

template <class Form>
struct StepPiece {
  template <class Team>
  HD void operator()(Team team, int, const OptimizedParameter& o) const {
    if (!o.g) return;
    team.each(int(o.size), [=](int i) {
      const Weight before = {o.p[i], o.m[i], Form::has_v ? o.v[i] : 0};
      const Weight after = Form::step(o, before, *o.factor * o.g[i]);
      o.p[i] = after.p;
      o.m[i] = after.m;
      if (Form::has_v) o.v[i] = after.v;
    });
  }
};
template <class Form>
void step_pieces(const Grid& grid, const Piece& pieces) {
  launch_rows(grid, StepPiece<Form>{}, pieces);
}

struct Kind {
  void (*step)(const Grid&, const Piece&);
  bool has_v;
};
template <class Form>
constexpr Kind kind_of = {step_pieces<Form>, Form::has_v};

const Kind& find(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adamw: return kind_of<AdamW>;
    case OptimizerKind::adamw_course: return kind_of<CourseAdamW>;
    case OptimizerKind::sgd: return kind_of<Sgd>;
  }
  fail("unknown kind of optimizer");
}

// The gradient of a frozen element is 0: its moments stay 0, and nothing moves it.
struct FreezeElement {
  real* g;
  const uint8_t* learns;
  HD void operator()(int64_t i) const { g[i] = learns[i] ? g[i] : 0; }
};

// |g|^2 of each piece of a gradient; then |g| of all of them, and the factor that brings it down to
// max_norm.
struct SquaresOfPiece {
  template <class Team>
  HD void operator()(Team team, int, const OptimizedParameter& o, real* square) const {
    const real* g = o.g;
    const real sum = team.sum(g ? int(o.size) : 0, [=](int i) { return g[i] * g[i]; });
    team.each(1, [=](int) { *square = sum; });
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

// Calls f(grid, pieces) for a launch over the pieces of the parameters in `list`.
template <class F>
void launch_pieces(const std::vector<OptimizedParameter>& list, const Indices& parameter,
                   const Indices& number, Device device, const F& f) {
  const auto copy = Storage::copy_of(list.data(), int64_t(list.size() * sizeof(list[0])), device);
  f(Grid(device, parameter.size(), piece_size),
    Piece{static_cast<const OptimizedParameter*>(copy->data()), parameter.data(device),
          number.data(device)});
}

}  // namespace

Optimizer::Optimizer(const Parameters& parameters, OptimizerOptions options)
    : parameters_(parameters), options_(options), norm_(Tensor::zeros({1})),
      factor_(Tensor::full({1}, 1)), steps_(parameters.items().size()),
      trainable_version_(parameters.trainable_version_) {
  int64_t offset = 0;
  std::vector<int32_t> piece_of, number;
  for (const Parameter& p : parameters.items()) {
    const auto index = int32_t(offsets_.size());
    offsets_.push_back(offset);
    if (!p.value.requires_grad()) continue;
    offset += p.value.size();
    for (int32_t i = 0; i * int64_t(piece_size) < p.value.size(); ++i) {
      piece_of.push_back(index);
      number.push_back(i);
    }
  }
  piece_of_ = std::move(piece_of), piece_number_ = std::move(number);
  first_ = FlatBuffer::zeros(offset);
  if (find(options.kind).has_v) second_ = FlatBuffer::zeros(offset);
}

void Optimizer::freeze() const {
  for (size_t i = 0; i < steps_.size(); ++i)
    if (const Tensor g = parameters_.items()[i].value.grad(); g && parameters_.mask(i))
      launch_elements(g.device(), g.size(), FreezeElement{g.data(), parameters_.mask(i)});
}

void Optimizer::clip(double max_norm) {
  freeze();
  const Device device = first_.device();
  const Tensor squares({piece_of_.size(), 1}, device);
  std::vector<OptimizedParameter> list(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i)
    if (const Tensor g = parameters_.items()[i].value.grad())
      list[i].size = g.size(), list[i].g = g.data();
  launch_pieces(list, piece_of_, piece_number_, device, [&](const Grid& grid, const Piece& pieces) {
    launch_rows(grid, SquaresOfPiece{}, pieces, squares);
  });
  launch_rows(device, 1, squares.size(),
              NormAndFactor{.squares = squares.data(), .count = int(squares.size()),
                            .max_norm = real(max_norm), .norm = norm_.data(),
                            .factor = factor_.data()});
  profile_charge("gradient norm", "", parameters_.trainable() * int64_t(sizeof(real)));
}

void Optimizer::step(double learning_rate) {
  MB_CHECK(trainable_version_ == parameters_.trainable_version_,
           "step: set_trainable() came after this Optimizer was made; make it afterwards");
  freeze();
  const OptimizerOptions& o = options_;
  bool any = false;
  std::vector<OptimizedParameter> list(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Parameter& p = parameters_.items()[i];
    const Tensor g = p.value.grad();
    if (!g) continue;
    any = true;
    const bool decays = p.decay == Decay::yes && !parameters_.mask(i);
    const double t = double(++steps_[i]), wd = decays ? o.weight_decay : 0;
    const double lr = learning_rate * (o.rate ? o.rate(p.name) : 1);
    list[i] = {.size = g.size(), .p = p.value.data(), .m = first_.data() + offsets_[i],
               .v = second_ ? second_.data() + offsets_[i] : nullptr,
               .g = g.data(), .factor = factor_.data(),
               .lr = real(lr), .beta1 = real(o.beta1), .beta2 = real(o.beta2),
               .eps = real(o.eps), .momentum = real(o.momentum),
               .decay = real(o.kind == OptimizerKind::sgd ? wd : lr * wd),
               .correction1 = real(1 - std::pow(o.beta1, t)),
               .correction2 = real(std::sqrt(1 - std::pow(o.beta2, t)))};
  }
  MB_CHECK(any, "step: no parameter has a gradient; call backward(loss) first");
  launch_pieces(list, piece_of_, piece_number_, first_.device(), find(o.kind).step);
  fill(factor_, 1);
  parameters_.zero_grad();
  const int64_t passes = second_ ? 7 : 5;           // reads p, m, v, g; writes p, m, v (SGD: no v)
  profile_charge(name_of(o.kind).c_str(), "",
                 parameters_.trainable() * int64_t(sizeof(real)) * passes);
}

std::vector<std::pair<std::string, Tensor>> Optimizer::moments() const {
  std::vector<std::pair<std::string, Tensor>> list = {{"first", first_}};
  if (second_) list.emplace_back("second", second_);
  return list;
}

// k < w: (k+1) / (w+1)     then constant: 1, linear: (S-k) / (S-w)
// S steps, w = floor(warmup_fraction S)                 [TA sec.5.1] is linear, with w 6% of S
double schedule_factor(Schedule schedule, int64_t step, int64_t steps, double warmup_fraction) {
  const double warmup = std::floor(warmup_fraction * double(steps)), k = double(step);
  if (k < warmup) return (k + 1) / (warmup + 1);
  if (schedule == Schedule::constant) return 1;
  return (double(steps) - k) / std::max(1.0, double(steps) - warmup);               // [TA sec.5.1]
}

}  // namespace minbert
