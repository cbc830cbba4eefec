// Norms of [CLS]: every one in the table, against their equations in plain loops, and against numpy and PyTorch.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "cls_set.h"
#include "error_of.h"
#include "golden_file.h"
#include "lone_norm.h"
#include "minbert/safetensors.h"
#include "papers/isobn/isotropy.h"
#include "threads.h"

namespace minbert::test {

TEST_CASE("cls norm: every norm in the table passes the gradient check, in training and in evaluation") {
  const Tensor set = embeddings("set", 29, 6);
  for (const NormEntry& entry : cls_norms().entries)
    for (const bool training : {true, false}) {
      const std::string name = entry.name;
      if (name == "none" || (name == "iso-bn" && training)) continue;             // its statistics are detached
      const auto norm = fitted(name, 6, set);
      Parameters parameters(*norm, {});
      norm->train();
      (*norm)(rows_of(set, 0, 9));            // moving statistics
      norm->train(training);
      Inputs inputs = {rows_of(set, 3, 8)};
      for (const Parameter& item : parameters.items())
        inputs.push_back(item.value), item.value.copy_from(normal(item.name, item.value.shape()).values());
      gradcheck(formatted("{}, training {}", name, training), inputs,
                [&](const Inputs& in) { return (*norm)(in[0]); });
    }
}

TEST_CASE("cls norm: an unknown name or preset is an error that lists what there is, and shapes must fit") {
  CHECK_ERROR(cls_norms().make("zz", {6}), "[CLS] norm: there is no \"zz\"; valid are: none, z, min-max, l2, ");
  CHECK_ERROR(cls_norms().make("iso-bn:preset=theirs", {6}),
              "preset is \"theirs\", expected one of: ours, paper, authors");
  CHECK_ERROR(cls_norms().make("whitening:shrinkage=0", {6}), "shrinkage is \"0\"");
  CHECK_THROWS_AS(cls_norms().make("none", {6})->fit(normal("x", {2, 6})), Error);
  for (const NormEntry& entry : cls_norms().entries) {
    if (std::string(entry.name) == "none") continue;
    const auto norm = fitted(entry.name, 6, embeddings("set", 20, 6));
    norm->train();
    CHECK_THROWS_AS((*norm)(normal("x", {2, 5})), Error);
    CHECK(cls_norm_place(entry.name, ClsPlace::pooled) == ClsPlace::pooled);
    CHECK(cls_norm_place(entry.name, ClsPlace::per_method) == entry.place);
  }
}

TEST_CASE("cls norm: the README of src/norm has the table, row by row") {
  for (const NormEntry& e : cls_norms().entries) {
    check_readme(e);
    CHECK(contains(cls_norms().help(), e.formula));
    const auto norm = cls_norms().make(e.name, {64});
    const Parameters parameters(*norm, {});
    CHECK(parameters.count() == (e.parameters == std::string("2H") ? 128 : 0));
    CHECK(parameters.buffers().empty() == (e.name == std::string("none")));
  }
}

TEST_CASE("cls norm: without statistics, using a norm is an error that says so") {
  const Tensor x = normal("x", {3, 6});
  for (const std::string name : {"z", "min-max", "l2", "whitening"}) {
    const auto norm = cls_norms().make(name, {6});
    const std::string message = name + ": this norm has no statistics yet";
    CHECK_ERROR((*norm)(x), message);
    CHECK_ERROR(norm->finish_fit(), "empty set");
    std::vector<real> bad = x.values();
    bad[7] = std::numeric_limits<real>::quiet_NaN();
    CHECK_ERROR(norm->fit(Tensor::from({3, 6}, bad)), "nan");
  }
  const auto iso_bn = cls_norms().make("iso-bn", {6});
  iso_bn->train(false);
  CHECK_ERROR((*iso_bn)(x), "it has seen no batch");
}

TEST_CASE("cls norm: numpy's and PyTorch's values: z, min-max, l2, whitening, IsoBN by its authors, isotropy") {
  const SafeTensors file(golden_file("cls_norm.safetensors"));
  const auto stored = [&](const std::string& name, int64_t step = 0) {
    const std::vector<real> all = file.read(name);
    const std::vector<int64_t> s = file.entry(name).shape;
    const int64_t H = s.back(), rows = s.size() > 1 ? s[s.size() - 2] : 1;
    return Tensor::from({rows, H}, std::span(all).subspan(size_t(step * rows * H), size_t(rows * H)));
  };
  for (const std::string name : {"z", "min-max", "l2", "whitening"}) {
    INFO(name);
    const auto norm = fitted(name, 5, stored("fit"), 4);
    CHECK(difference((*norm)(stored("x")).values(), file.read(name)) < tolerance(3e-6, 1e-6));
  }
  for (const std::string name : {"iso-bn", "batch"}) {
    INFO(name);
    const auto norm = cls_norms().make(name == "iso-bn" ? "iso-bn:preset=authors" : name, {5});
    Parameters parameters(*norm, {});
    for (const Parameter& item : parameters.items()) item.value.copy_from(file.read(item.name));
    norm->train();
    std::vector<real> y, dx;
    for (int64_t step = 0; step < 20; ++step) {
      Tensor x = stored("x", step).set_requires_grad(true);
      const Tensor out = (*norm)(x);
      backward(out, stored("dy", step));
      for (const real v : out.values()) y.push_back(v);
      for (const real v : x.grad().values()) dx.push_back(v);
    }
    CHECK(difference(y, file.read(name + ".y")) < tolerance(3e-6, 1e-6));
    CHECK(difference(dx, file.read(name + ".dx")) < tolerance(1e-5, 1e-6));
    for (const Parameter& item : parameters.buffers())
      if (name == "batch") CHECK(difference(item.value.values(), file.read(item.name)) < tolerance(3e-6, 1e-6));
    norm->train(false);
    CHECK(difference((*norm)(stored("x", 19)).values(), file.read(name + ".y_eval")) < tolerance(3e-6, 1e-6));
  }
  const Tensor h = stored("fit");
  const auto same = [&](const Vector& values, const char* name) {
    const std::vector<real> expected = file.read(name);
    REQUIRE(values.size() == expected.size());
    for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx(double(expected[i])).epsilon(2e-6));
  };
  same(explained_variance(covariance_of(h)), "ev");
  same(pearson_matrix(covariance_of(h)), "pearson");
}

TEST_CASE("cls norm: statistics of a set are the same in one batch and in many, and at a huge mean") {
  for (const double mean : {0.0, 3000.0}) {
    const Tensor set = embeddings("set", 40, 8, mean), x = rows_of(set, 5, 9);
    for (const std::string name : {"z", "min-max", "l2", "whitening"}) {
      INFO(name << " at " << mean);
      const auto whole = fitted(name, 8, set, 40), parts = fitted(name, 8, set, 7), single = fitted(name, 8, set, 1);
      const std::vector<real> expected = (*whole)(x).values();
      CHECK(difference((*parts)(x).values(), expected) < tolerance(2e-4, 1e-9));
      CHECK(difference((*single)(x).values(), expected) < tolerance(2e-4, 1e-9));
      whole->fit(x), whole->finish_fit();           // another set: nothing is left of the first
      CHECK(buffers_of(*whole) == buffers_of(*fitted(name, 8, x, 4)));
    }
    // z of its own set has mean 0 and variance 1, whatever the mean was.
    const Tensor z = (*fitted("z", 8, set))(set);
    for (int64_t i = 0; i < 8; ++i) {
      double sum = 0, squares = 0;
      for (int64_t row = 0; row < 40; ++row) sum += double(z.data()[8 * row + i]) / 40;
      for (int64_t row = 0; row < 40; ++row) squares += std::pow(double(z.data()[8 * row + i]) - sum, 2) / 40;
      if (i % 4 == 3 && mean > 0 && !is_double) continue;         // a deviation of 1e-3 at 3000 is float's own rounding
      CHECK(std::abs(sum) < (mean > 0 ? tolerance(0.02, 1e-9) : tolerance(1e-5, 1e-12)));
      CHECK(squares == doctest::Approx(1).epsilon(0.03));         // eps, beside a deviation of 1e-3
    }
  }
}

TEST_CASE("cls norm: min-max takes its set to -1 .. 1, and l2 the mean square of each dimension to 1") {
  const Tensor set = embeddings("set", 40, 4);
  const Tensor m = (*fitted("min-max", 4, set))(set), l = (*fitted("l2", 4, set))(set);
  for (int64_t i = 0; i < 4; ++i) {
    double least = 9, most = -9, squares = 0;
    for (int64_t row = 0; row < 40; ++row) {
      least = std::min(least, double(m.data()[4 * row + i])), most = std::max(most, double(m.data()[4 * row + i]));
      squares += std::pow(double(l.data()[4 * row + i]), 2) / 40;
    }
    CHECK(least == doctest::Approx(-1).epsilon(0.01));
    CHECK(most == doctest::Approx(1).epsilon(0.01));
    CHECK(squares == doctest::Approx(1).epsilon(1e-4));
  }
}

TEST_CASE("cls norm: whitening gives its set nearly the unit matrix, and shrinkage bounds what a singular one does") {
  const Tensor set = embeddings("set", 60, 6);
  const auto norm = cls_norms().make("whitening:shrinkage=1e-7", {6});
  norm->fit(set), norm->finish_fit();
  const Vector rho = pearson_matrix(covariance_of((*norm)(set)));
  for (size_t k = 0; k < 36; ++k)
    CHECK(std::abs(rho[k] - (k % 7 == 0)) < tolerance(0.02, 0.02));

  const Tensor few = embeddings("few", 16, 768), other = embeddings("other", 16, 768);     // rank 15 at most
  const Tensor y = (*fitted("whitening", 768, few))(other);
  CHECK(std::isfinite(largest(y.values())));
  CHECK(largest(y.values()) < 1000);
}

TEST_CASE("cls norm: a batch of one, a constant row, a dead dimension, a huge mean: always numbers") {
  Tensor set = embeddings("set", 30, 6);
  for (int64_t row = 0; row < 30; ++row) set.data()[6 * row + 2] = real(10.1);    // dead
  Tensor far = embeddings("far", 16, 6, 1e6);
  const Tensor one = rows_of(set, 4, 5), constant = Tensor::full({5, 6}, real(10.1));
  for (const NormEntry& entry : cls_norms().entries)
    for (const std::string& name : with_presets(entry)) {
      INFO(name);
      for (const Tensor& start : {one, constant, set, far}) {
        const auto norm = cls_norms().make(name, {6});
        const Parameters parameters(*norm, {});
        if (norm->wants_set()) norm->fit(start), norm->finish_fit();
        for (const bool training : {true, true, false, true, false})
          for (const Tensor& x : {one, constant, set, far}) {
            norm->train(training);
            Tensor in = Tensor::from(x.shape(), x.values());
            const Tensor y = (*norm)(in.set_requires_grad(true));
            CHECK(std::isfinite(largest(y.values())));
            backward(scale(y, 1));
            CHECK(std::isfinite(largest(in.grad().values())));
          }
      }
    }
  // Where nothing has varied yet, IsoBN changes nothing; what varies later is not shrunk by what is dead.
  const auto norm = cls_norms().make("iso-bn", {6});
  norm->train();
  CHECK((*norm)(constant).values() == constant.values());
  CHECK((*norm)(one).values() == one.values());
  const Vector rho = pearson_matrix(covariance_of(set));
  for (size_t i = 0; i < 6; ++i) CHECK(rho[6 * 2 + i] == 0);
  CHECK_ERROR(explained_variance(covariance_of(constant)), "no variance to explain");
}

TEST_CASE("cls norm: results do not depend on the number of threads") {
  // Half of 384 columns are whole blocks for each of OpenBLAS's kernels. Otherwise its products differ in the last bit.
  const Tensor set = embeddings("set", 40, 384), dy = normal("dy", {40, 384});
  for (const NormEntry& entry : cls_norms().entries) {
    INFO(std::string(entry.name));
    const auto results = [&] {
      std::vector<std::vector<real>> all;
      const auto norm = fitted(entry.name, 384, set);
      Parameters parameters(*norm, {});
      norm->train();
      Tensor x = rows_of(set, 0, 40);
      for (int step = 0; step < 3; ++step) {
        const Tensor y = (*norm)(normalize_gradient(x.set_requires_grad(true), 0.5));
        backward(scale(y, 1), dy);
        all.push_back(y.values());
      }
      all.push_back(x.grad().values());
      return all;
    };
    on_threads(results, {1, 2});
  }
}

}  // namespace minbert::test
