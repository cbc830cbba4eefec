// Linear, Embedding, Dropout.
#include "minbert/nn.h"

namespace minbert {

Linear::Linear(int64_t in, int64_t out)
    : weight_(parameter("weight", {out, in}, Init::random)),
      bias_(parameter("bias", {out}, Init::zeros, Decay::no)) {}

Tensor Linear::operator()(const Tensor& x) const {
  const Scope scope(path());
  return linear(x, weight_, bias_);
}

Embedding::Embedding(int64_t vocabulary, int64_t hidden)
    : weight_(parameter("weight", {vocabulary, hidden}, Init::random)) {}

Tensor Embedding::operator()(const Indices& ids) const {
  const Scope scope(path());
  return embedding(weight_, ids);
}

Dropout::Dropout(double p) : p_(p) {
  MB_CHECK(p >= 0 && p < 1, "a dropout probability must be at least 0 and under 1, not {}", p);
}

RandomKey Dropout::key() const {
  const DropoutClock& clock = DropoutClock::current();
  return {clock.seed, stream_of(format("dropout/{}/{}", clock.step, path()))};
}

Tensor Dropout::operator()(const Tensor& x) const {
  const Scope scope(path());
  return dropout(x, p(), key());
}
Tensor Dropout::add(const Tensor& residual, const Tensor& x) const {
  return dropout_add(residual, x, p(), key());
}

}  // namespace minbert
