// The gradient of the loss on its way down through the sublayers: post-LN's product and pre-LN's
// sum [NT gradient].
//
//   post  dL/dx_l = dL/dx_m Π_{k=l}^{m-1} ∂N(y_k)/∂y_k (1 + ∂F(x_k)/∂x_k)     m = 2n sublayers
//   pre   dL/dx_l = dL/dx_m + Σ_{k=l}^{m-1} dL/dx_{k+1} ∂F(N(x_k))/∂x_k
//
//   Slide  prints "Post-LayerNorm" twice; the second is pre-LN. Its l-k is the last sublayer, its
//          indices are one, k, and F is one sublayer. A term of its sum has dL/dx_m in the place of
//          dL/dx_{k+1}, and ∂x_l in that of ∂x_k: it collects the paths by their highest sublayer,
//          the recursion above by their lowest. The sum is the same.
//   Each factor is applied by itself: g ← g J by one vector-Jacobian product of that part of the
//   network.
#include "papers/nt/transformer_norms.h"
#include "papers/statistics/sizes.h"

namespace minbert {
namespace {

// The encoder as a chain of sublayers: attention in even ones, feed-forward in odd ones.
struct Sublayers {
  const BertModel& bert;
  const Batch& batch;
  bool post = bert.config().placement == Placement::post;

  // Without the residual sum
  Tensor F(int k, const Tensor& u) const {
    return k % 2 ? bert.layer(k / 2).feed(u, batch) : bert.layer(k / 2).attend(u, batch);
  }
  Tensor N(int k, const Tensor& u) const {
    const BertLayer& layer = bert.layer(k / 2);
    return k % 2 ? layer.output_norm()(u, batch) : layer.attention_norm()(u, batch);
  }
  // x_{k+1}
  Tensor forward(int k, const Tensor& x) const {
    return post ? N(k, x + F(k, x)) : x + F(k, N(k, x));
  }
};

// g J, J the Jacobian of f at x.
Tensor vector_jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                       const Tensor& g) {
  const Tensor leaf = Tensor::from(x.shape(), x.values());
  leaf.set_requires_grad(true);
  const Tensor y = f(leaf);
  if (y.is(leaf)) return g;  // the norm "none"
  backward(y, g);
  return leaf.grad();
}

}  // namespace

GradientWalk walk_gradient(NtModel& model, const Batch& batch, const Indices& classes) {
  model.network.train();
  const BertModel& bert = model.network.bert();
  const Sublayers chain{bert, batch};
  const int m = 2 * bert.config().num_hidden_layers;
  std::vector<Tensor> x = {bert.embeddings().forward(batch)};
  x[0].retain_grad();
  for (int k = 0; k < m; ++k) {
    x.push_back(chain.forward(k, x.back()));
    x.back().retain_grad();
  }
  const Tensor end = bert.final_norm() ? (*bert.final_norm())(x.back(), batch) : x.back();
  backward(cross_entropy(model.network.of_hidden(end, batch), classes));
  model.parameters.zero_grad();
  model.parameters.set_trainable([](const std::string&) { return false; });

  GradientWalk walk{{}, {}, 0};
  for (const Tensor& x_k : x) walk.tape.push_back(norm_of(x_k.grad()));
  Tensor g = x[size_t(m)].grad();
  for (int k = m; k-- > 0;) {
    const Tensor& x_k = x[size_t(k)];
    const auto F = [&](const Tensor& u) { return chain.F(k, u); };
    if (chain.post) {
      const Tensor y_k = x_k.detach() + chain.F(k, x_k.detach());
      g = vector_jacobian([&](const Tensor& y) { return chain.N(k, y); }, y_k, g);  // g ∂N(y_k)/∂y_k  [NT gradient]
      walk.factors.push_back({k, "norm", norm_of(g)});
      g = g + vector_jacobian(F, x_k, g);               // g ← g (1 + ∂F(x_k)/∂x_k)           [NT gradient]
      walk.factors.push_back({k, "1 + F'", norm_of(g)});
    } else {
      const Tensor term =
          vector_jacobian([&](const Tensor& u) { return chain.F(k, chain.N(k, u)); }, x_k, g);
      g = g + term;                                     // g ← g + g ∂F(N(x_k))/∂x_k          [NT gradient]
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
