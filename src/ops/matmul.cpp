// Matrix products, the linear layer, and the feed-forward network of two linear layers.
// Plain: linear, feed_forward in examples/plain_bert.cpp
#include "engine/gemm.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/activations.h"
#include "ops/copy_row.h"

namespace minbert {

// c = a b         dL/da = dc b^T   dL/db = a^T dc             a [m,k]  b [k,n]  c [m,n]
Tensor matmul(const Tensor& a, const Tensor& b) {
  return record("matmul", gemm_nn(a, b), {a, b}, [a, b](const Tensor& dc, Grads& g) {
    g(0, [&](Sink da) { gemm_nt(dc, b, da); });
    g(1, [&](Sink db) { gemm_tn(a, dc, db); });
  });
}

// c = a b^T       dL/da = dc b     dL/db = dc^T a             a [m,k]  b [n,k]  c [m,n]
Tensor matmul_nt(const Tensor& a, const Tensor& b) {
  return record("matmul_nt", gemm_nt(a, b), {a, b}, [a, b](const Tensor& dc, Grads& g) {
    g(0, [&](Sink da) { gemm_nn(dc, b, da); });
    g(1, [&](Sink db) { gemm_tn(dc, a, db); });
  });
}

// c = a^T b       dL/da = b dc^T   dL/db = a dc               a [k,m]  b [k,n]  c [m,n]
Tensor matmul_tn(const Tensor& a, const Tensor& b) {
  return record("matmul_tn", gemm_tn(a, b), {a, b}, [a, b](const Tensor& dc, Grads& g) {
    g(0, [&](Sink da) { gemm_nt(b, dc, da); });
    g(1, [&](Sink db) { gemm_nn(a, dc, db); });
  });
}

namespace {

// y = x W^T + b. Where the product does not add b itself, each row of y starts as b, and the
// product is added to it: so OpenBLAS does not clear y first.
Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  MB_CHECK(x.cols() == weight.cols() && weight.rows() == bias.size(),
           "linear: x {}, weight {} and bias {} do not fit", x.shape(), weight.shape(),
           bias.shape());
  const Tensor y({x.rows(), weight.rows()}, x.device());
  if (gemm_nt_with_bias(x, weight, bias, y)) return y;
  launch_rows(y, CopyRow{}, RowView{bias.data(), 0}, Sink{y, false});
  gemm_nt(x, weight, {y, true});
  return y;
}

template <class F>
struct ActivateInPlace {                      // h becomes g = f(h), dg becomes dh = dg f'(h)
  real *h, *dg;
  HD void operator()(int64_t i) const {
    const real x = h[i];
    h[i] = F::f(x);
    dg[i] *= F::df(x);
  }
};

// Vaswani et al. 2017, eq. 2, whose f is ReLU; BERT's is GELU              x, y [T,H]   h, g [T,I]
// h = x W_1^T + b_1    g = f(h)    y = g W_2^T + b_2
// dg = dy W_2    dW_2 = dy^T g    db_2 = sum of dy's rows
// dh = dg f'(h)    dx = dh W_1    dW_1 = dh^T x    db_1 = sum of dh's rows
// Only h is kept, I numbers less for each token: the pass that computes dh computes g again.
template <class F>
Tensor feed_forward_of(const Tensor& x, const Tensor& W1, const Tensor& b1, const Tensor& W2,
                       const Tensor& b2) {
  const Tensor h = affine(x, W1, b1);
  const Tensor activated(h.shape(), h.device());
  launch_elements(h.device(), h.size(), Activate<F>{{}, h.data(), activated.data()});
  const Tensor y = affine(activated, W2, b2);
  const std::vector<Tensor> inputs = {x, W1, b1, W2, b2};
  const Tensor kept = W1.requires_grad() ? x : Tensor();           // a frozen W_1 needs no x
  return record("feed_forward", y, inputs, [kept, h, W1, W2](const Tensor& dy, Grads& grads) {
    const Tensor dg = gemm_nn(dy, W2);
    // One pass turns h into g and dg into dh, in place: their old values are not needed again.
    launch_elements(h.device(), h.size(), ActivateInPlace<F>{h.data(), dg.data()});
    const Tensor &g = h, &dh = dg;
    grads(4, [&](Sink db2) { add_rows(dy, db2); });
    grads(3, [&](Sink dW2) { gemm_tn(dy, g, dW2); });
    grads(2, [&](Sink db1) { add_rows(dh, db1); });
    grads(1, [&](Sink dW1) { gemm_tn(dh, kept, dW1); });
    grads(0, [&](Sink dx) { gemm_nn(dh, W1, dx); });
  });
}

}  // namespace

// y = x W^T + b   dL/dx = dy W   dL/dW = dy^T x   dL/db = sum of dy's rows
// x [T,in]  W [out,in]  b [out]  y [T,out]          of the last two layers: [TA sec.3.1]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor y = affine(x, weight, bias);
  const Tensor kept = weight.requires_grad() ? x : Tensor();       // a frozen W needs no x
  return record("linear", y, {x, weight, bias}, [kept, weight](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { gemm_nn(dy, weight, dx); });
    g(1, [&](Sink dW) { gemm_tn(dy, kept, dW); });
    g(2, [&](Sink db) { add_rows(dy, db); });
  });
}

Tensor feed_forward(const Tensor& x, const Tensor& W1, const Tensor& b1, const Tensor& W2,
                    const Tensor& b2, Activation f) {
  if (f == gelu) return feed_forward_of<Gelu>(x, W1, b1, W2, b2);
  if (f == relu) return feed_forward_of<Relu>(x, W1, b1, W2, b2);
  MB_CHECK(f == gelu_new, "feed_forward: only gelu, gelu_new and relu");
  return feed_forward_of<GeluNew>(x, W1, b1, W2, b2);
}

}  // namespace minbert
