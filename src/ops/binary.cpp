// Sums, differences, products and quotients of two tensors.
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/binary.h"

namespace minbert {
namespace {

// c = f(a, b)     dL/da = dc df/da     dL/db = dc df/db
struct Add {
  HD static real f(real a, real b) { return a + b; }
  HD static real db(real, real) { return 1; }
};
struct Sub {
  HD static real f(real a, real b) { return a - b; }
  HD static real db(real, real) { return -1; }
};
struct Mul {
  HD static real f(real a, real b) { return a * b; }
  HD static real da(real, real b) { return b; }
  HD static real db(real a, real) { return a; }
};
struct Div {
  HD static real f(real a, real b) { return a / nan_if_infinite(b); }
  HD static real da(real, real b) { return 1 / nan_if_infinite(b); }
  HD static real db(real a, real b) { return -f(a, b) / b; }
};

}  // namespace

// Where a is the smaller one, b stands first: a - b = -b + a, a / b = b^-1 a.
Tensor add(const Tensor& a, const Tensor& b) {
  return a.size() < b.size() ? binary<Add>("add", b, a) : binary<Add>("add", a, b);
}
Tensor sub(const Tensor& a, const Tensor& b) {
  return a.size() < b.size() ? binary<Add>("sub", -b, a) : binary<Sub>("sub", a, b);
}
Tensor mul(const Tensor& a, const Tensor& b) {
  return a.size() < b.size() ? binary<Mul>("mul", b, a) : binary<Mul>("mul", a, b);
}
Tensor div(const Tensor& a, const Tensor& b) {
  return a.size() < b.size() ? binary<Mul>("div", pow(b, -1), a) : binary<Div>("div", a, b);
}

}  // namespace minbert
