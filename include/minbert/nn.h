// The layers that everything is made of.
#pragma once

#include "minbert/module.h"
#include "minbert/ops.h"

namespace minbert {

// y = x W^T + b          x [T,in]   weight [out,in]   bias [out]   y [T,out]
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, Init init = Init::random)
      : weight_(parameter("weight", {out, in}, init)),
        bias_(parameter("bias", {out}, Init::zeros, Decay::no)) {}
  Tensor operator()(const Tensor& x) const {
    const Scope scope(path());
    return linear(x, weight_, bias_);
  }
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }

 private:
  Tensor weight_, bias_;
};

// Each row by its own mean and variance, then scaled and shifted [CLN eq.1-3].
//   x [T,H]   weight, bias [H], which begin as 1 and 0   y [T,H]
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t hidden, double eps = 1e-5)
      : eps_(eps),
        weight_(parameter("weight", {hidden}, Init::ones, Decay::no)),
        bias_(parameter("bias", {hidden}, Init::zeros, Decay::no)) {}
  Tensor operator()(const Tensor& x) const {
    const Scope scope(path());
    return layer_norm(x, weight_, bias_, eps_);
  }

 private:
  double eps_;
  Tensor weight_, bias_;
};

// Row id of the table, for each id          weight [V,H]   ids [T]   y [T,H]
class Embedding : public Module {
 public:
  Embedding(int64_t vocabulary, int64_t hidden)
      : weight_(parameter("weight", {vocabulary, hidden}, Init::random)) {}
  Tensor operator()(const Indices& ids) const {
    const Scope scope(path());
    return embedding(weight_, ids);
  }
  const Tensor& weight() const { return weight_; }

 private:
  Tensor weight_;
};

// Dropout while training; nothing otherwise. Its mask is a function of the DropoutClock and the
// module's path.
class Dropout : public Module {
 public:
  explicit Dropout(double p) : p_(p) {
    MB_CHECK(p >= 0 && p < 1, "a dropout probability must be at least 0 and under 1, not {}", p);
  }
  Tensor operator()(const Tensor& x) const {
    const Scope scope(path());
    return dropout(x, p(), key());
  }
  Tensor add(const Tensor& residual, const Tensor& x) const {    // residual + dropout(x)
    return dropout_add(residual, x, p(), key());
  }
  double p() const { return training() ? p_ : 0; }               // 0 unless training
  RandomKey key() const {                                        // of this step's mask
    const DropoutClock& clock = DropoutClock::current();
    return {clock.seed, stream_of(formatted("dropout/{}/{}", clock.step, path()))};
  }

 private:
  double p_;
};

}  // namespace minbert
