// The gradient of the loss on its way down through the sublayers: post-LN's product and pre-LN's sum [NT gradient].
//
//   post  dL/dx_l = dL/dx_m Π_{k=l}^{m-1} ∂N(y_k)/∂y_k (1 + ∂F(x_k)/∂x_k)     m = 2n sublayers
//   pre   dL/dx_l = dL/dx_m + Σ_{k=l}^{m-1} dL/dx_{k+1} ∂F(N(x_k))/∂x_k
//
//   Slide  prints "Post-LayerNorm" twice; the second is pre-LN. Its l-k is the last sublayer, its indices are one, k,
//          and F is one sublayer. A term of its sum has dL/dx_m in the place of dL/dx_{k+1}, and ∂x_l in that of
//          ∂x_k: it collects the paths by their highest sublayer, the recursion above by their lowest. The sum is the
//          same.
//   Each factor is applied by itself: g ← g J by one vector-Jacobian product of that part of the network.
#include "papers/nt/transformer_norms.h"
#include "papers/sizes.h"

namespace minbert {
namespace {

// The encoder's modules as a chain of sublayers.
class Sublayers {
 public:
  Sublayers(NtClassifier& network, const Batch& batch)
      : config_(network.bert().config()), post_(placement_of(config_.placement) == Placement::post), batch_(batch) {
    network.visit([&](Module& m) { modules_[m.path()] = &m; });
  }
  int count() const { return 2 * config_.num_hidden_layers; }
  bool post() const { return post_; }

  // Attention in even sublayers, feed-forward in odd ones; without the residual sum.
  Tensor F(int k, const Tensor& u) const {
    const std::string layer = layer_of(k);
    if (k % 2) return linear(layer + "output.dense", relu(linear(layer + "intermediate.dense", u)));
    const std::string self = layer + "attention.self.";
    const Tensor context = attention(linear(self + "query", u), linear(self + "key", u), linear(self + "value", u),
                                     batch_, config_.num_attention_heads, 0, {});
    return linear(layer + "attention.output.dense", context);
  }
  Tensor N(int k, const Tensor& u) const {
    return norm(layer_of(k) + (k % 2 ? "output.LayerNorm" : "attention.output.LayerNorm"), u);
  }
  Tensor forward(int k, const Tensor& x) const { return post_ ? N(k, x + F(k, x)) : x + F(k, N(k, x)); }
  // Behind the last sublayer; pre-LN has one more norm there.
  Tensor end(const Tensor& x) const { return post_ ? x : norm("bert.encoder.LayerNorm", x); }

 private:
  std::string layer_of(int k) const { return formatted("bert.encoder.layer.{}.", k / 2); }
  Tensor linear(const std::string& path, const Tensor& u) const {
    return dynamic_cast<const Linear&>(*modules_.at(path))(u);
  }
  Tensor norm(const std::string& path, const Tensor& u) const {
    return dynamic_cast<const Norm&>(*modules_.at(path))(u, batch_);
  }
  BertConfig config_;
  bool post_;
  const Batch& batch_;
  std::map<std::string, Module*> modules_;
};

// g J, J the Jacobian of f at x.
Tensor vector_jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& g) {
  const Tensor leaf = Tensor::from(x.shape(), x.values());
  leaf.set_requires_grad(true);
  const Tensor y = f(leaf);
  if (y.is(leaf)) return g;                         // the norm "none"
  backward(y, g);
  return leaf.grad();
}

}  // namespace

GradientWalk walk_gradient(NtModel& model, const Batch& batch, const Indices& classes) {
  model.network.train();
  const Sublayers chain(model.network, batch);
  const int m = chain.count();
  std::vector<Tensor> x = {model.network.bert().embeddings().forward(batch)};
  x[0].retain_grad();
  for (int k = 0; k < m; ++k) {
    x.push_back(chain.forward(k, x.back()));
    x.back().retain_grad();
  }
  const Indices cls = std::vector<int32_t>(batch.offsets.begin(), batch.offsets.end() - 1);
  backward(cross_entropy(model.network.head()(gather_rows(chain.end(x[size_t(m)]), cls)), classes));
  model.parameters.clear_gradients();
  model.parameters.set_trainable([](const std::string&) { return false; });

  GradientWalk walk{{}, {}, 0};
  for (const Tensor& x_k : x) walk.tape.push_back(norm_of(x_k.grad()));
  Tensor g = x[size_t(m)].grad();
  for (int k = m; k-- > 0;) {
    const Tensor& x_k = x[size_t(k)];
    const auto F = [&](const Tensor& u) { return chain.F(k, u); };
    if (chain.post()) {
      const Tensor y_k = x_k.detach() + chain.F(k, x_k.detach());
      g = vector_jacobian([&](const Tensor& y) { return chain.N(k, y); }, y_k, g);
      walk.factors.push_back({k, "norm", norm_of(g)});
      g = g + vector_jacobian(F, x_k, g);
      walk.factors.push_back({k, "1 + F'", norm_of(g)});
    } else {
      const Tensor term = vector_jacobian([&](const Tensor& u) { return chain.F(k, chain.N(k, u)); }, x_k, g);
      g = g + term;
      walk.factors.push_back({k, "term", norm_of(term)});
      walk.factors.push_back({k, "sum", norm_of(g)});
    }
    const double size = walk.tape[size_t(k)];
    if (size != 0) raise(walk.difference, norm_of(g - x_k.grad()) / size);
  }
  model.parameters.set_trainable([](const std::string&) { return true; });
  return walk;
}

}  // namespace minbert
