// What is measured of [CLS], against the definitions.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "cls_set.h"
#include "error_of.h"
#include "papers/isobn/isotropy.h"

namespace minbert::test {
namespace {

constexpr int64_t N = 40, H = 6;

// Rows whose dimensions 1 and 2 follow dimension 0, and whose dimension 5 is constant.
Tensor some_cls() {
  std::vector<real> h = uniform("h", {N, H}, -1, 1).values();
  for (size_t i = 0; i < size_t(N); ++i) {
    h[i * H + 1] = real(2 * h[i * H] + 0.01 * h[i * H + 1]);
    h[i * H + 2] = real(-h[i * H] + 0.02 * h[i * H + 2]);
    h[i * H + 5] = real(0.25);
  }
  return Tensor::from({N, H}, h);
}

}  // namespace

TEST_CASE("isotropy: the covariance behind a norm of [CLS], from the norm's matrix, equals that of its outputs") {
  const Tensor h = some_cls();
  Covariance set(H);
  set.add(h);
  for (const char* name : {"batch", "iso-bn:beta=1,eps=0.1", "iso-bn:preset=eq3", "iso-bn:preset=eq5"}) {
    CAPTURE(name);
    const auto norm = cls_norms().make(name, {.hidden = H});
    norm->train(false);
    const Parameters parameters(*norm, {});
    set_statistics(*norm, set.mean(), set.matrix());
    const Vector fast = covariance_after(*norm, set.matrix()), slow = covariance_of((*norm)(h));
    for (size_t i = 0; i < fast.size(); ++i) CHECK(fast[i] == doctest::Approx(slow[i]).epsilon(1e-3).scale(1e-3));
  }
}

TEST_CASE("isotropy: whitening, fitted on the set, leaves every direction that varies the same share") {
  std::vector<real> values = uniform("free", {N, 4}, -1, 1).values();
  const Tensor h = Tensor::from({N, 4}, values);
  const auto norm = cls_norms().make("whitening", {.hidden = 4});
  const Parameters parameters(*norm, {});
  norm->fit(h);
  norm->finish_fit();
  const Vector ev = explained_variance(covariance_after(*norm, covariance_of(h)));
  for (size_t k = 0; k < ev.size(); ++k) CHECK(ev[k] == doctest::Approx(double(k + 1) / 4).epsilon(1e-3));
}

TEST_CASE("isotropy: whitening's matrix is measured exactly under --matmul bf16, too") {
  const int64_t wide = 64;                          // products that bf16 has
  const Tensor h = Tensor::from({256, wide}, uniform("wide", {256, wide}, -1, 1).values());
  const auto norm = cls_norms().make("whitening", {.hidden = wide});
  const Parameters parameters(*norm, {});
  norm->fit(h);
  norm->finish_fit();
  const Vector Sigma = covariance_of(h), exact = covariance_after(*norm, Sigma);
  const Precision before = matmul_precision();
  try {
    set_matmul_precision(Precision::bf16);
  } catch (const Error& error) {
    MESSAGE("bf16: not run (", error.what(), ")");
    return;
  }
  const Vector measured = covariance_after(*norm, Sigma);
  set_matmul_precision(before);
  CHECK(measured == exact);
}

TEST_CASE("isotropy: a norm with statistics of another kind, or one that is not linear, is an error") {
  const auto z = cls_norms().make("z", {.hidden = H});
  const Parameters parameters(*z, {});
  CHECK_ERROR(set_statistics(*z, Vector(H), Vector(H * H)), "do not follow from");
}

TEST_CASE("isotropy: average linkage puts dimensions that follow one another into one cluster, side by side") {
  const Clusters clusters = average_linkage(pearson_matrix(covariance_of(some_cls())), 0.2);
  CHECK(clusters.cluster[0] == clusters.cluster[1]);
  CHECK(clusters.cluster[0] == clusters.cluster[2]);
  for (const size_t other : {3, 4, 5}) CHECK(clusters.cluster[other] != clusters.cluster[0]);
  std::vector<int> place(H), sorted = clusters.order;
  for (size_t i = 0; i < size_t(H); ++i) place[size_t(clusters.order[i])] = int(i);
  CHECK(std::max({place[0], place[1], place[2]}) - std::min({place[0], place[1], place[2]}) == 2);
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < H; ++i) CHECK(sorted[size_t(i)] == i);       // each dimension once
}

TEST_CASE("isotropy: average linkage on four points equals the distances worked out by hand") {
  // |rho| of 0-1 .9, 2-3 .8, 0-2 .5, 0-3 .4, 1-2 .3, 1-3 .2: {0,1} at .1, {2,3} at .2, both at 1 - .35 = .65
  const Vector rho = {1, .9, .5, .4, .9, 1, .3, .2, .5, .3, 1, .8, .4, .2, .8, 1};
  const auto clusters_at = [&](double cut) {
    const std::vector<int> c = average_linkage(rho, cut).cluster;
    return std::set<int>(c.begin(), c.end()).size();
  };
  CHECK(clusters_at(0.05) == 4);
  CHECK(clusters_at(0.15) == 3);
  CHECK(clusters_at(0.64) == 2);
  CHECK(clusters_at(0.66) == 1);
}

}  // namespace minbert::test
