// The small encoders of the slides on normalization in Transformers: their gradients, their loss along a step, their
// first weights.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/tape.h"
#include "papers/nt/transformer_norms.h"
#include "small_run.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

// A network of this placement and norm, a batch for it, and its classes.
struct SmallNetwork {
  explicit SmallNetwork(const std::string& norm, Placement placement = Placement::post, int layers = 3)
      : model(config(norm, placement, layers), 7, true, 3), batch(pack(sentences({5, 3, 6, 2, 4}))) {
    randomise(model.parameters, 0.2);
  }
  static BertConfig config(const std::string& norm, Placement placement, int layers) {
    BertConfig c = BertConfig::named("narrow-1");
    c.vocab_size = 20, c.max_position_embeddings = 16, c.hidden_size = 8, c.intermediate_size = 32;
    c.num_hidden_layers = layers, c.placement = placement;
    c.set_norm(norm);
    return c;
  }
  double loss() const { return double(cross_entropy(model.network.forward(batch), classes).item()); }
  NtModel model;
  Batch batch;
  Indices classes = {0, 2, 1, 2, 0};
};

}  // namespace

TEST_CASE("transformer_norms: products of Jacobians carry the gradient down as the tape does [NT gradient]") {
  for (const std::string norm : {"layer", "batch", "none", "rms", "instance", "group:groups=2"})
    for (const Placement placement : {Placement::post, Placement::pre}) {
      INFO(norm << ' ' << placement);
      SmallNetwork n(norm, placement);
      const GradientWalk walk = walk_gradient(n.model, n.batch, n.classes);
      REQUIRE(walk.tape.size() == 7);
      CHECK(walk.factors.size() == 12);
      CHECK(walk.difference < 1e-5);
      CHECK(walk.factors.back().gradient == doctest::Approx(walk.tape[0]).epsilon(1e-4));
      CHECK(walk.tape[0] > 0);

      // The chain of sublayers is the network: dL/dx_0 is that of the network's own forward pass.
      const Trace trace;
      backward(cross_entropy(n.model.network.forward(n.batch), n.classes));
      const Trace::Operation* sum = nullptr;
      for (const Trace::Operation& operation : trace.operations())
        if (operation.module == "bert.embeddings" && operation.name == "add") sum = &operation;
      REQUIRE(sum);
      double squares = 0;
      for (const real v : sum->result.grad().values()) squares += double(v) * double(v);
      CHECK(std::sqrt(squares) == doctest::Approx(walk.tape[0]).epsilon(1e-4));
    }
}

TEST_CASE("transformer_norms: fig5 and fig6 are the largest changes of ten steps, and leave the model as it was") {
  for (const std::string norm : {"layer", "batch"}) {
    INFO(norm);
    SmallNetwork n(norm);
    n.model.network.train();
    const Tensor bias = n.model.parameters.value("head.bias");
    const auto state = [&] {
      std::vector<std::vector<real>> all;
      for (const Parameter& p : n.model.parameters.all()) all.push_back(p.value.values());
      return all;
    };
    const auto before = state();
    const double lr = 0.7;
    const LossChange change = loss_change(n.model, n.batch, n.classes, lr);
    CHECK(state() == before);
    CHECK_FALSE(bias.grad());

    // Plain loops: gradients as lists, one step after another
    const auto gradient = [&] {
      backward(cross_entropy(n.model.network.forward(n.batch), n.classes));
      std::map<std::string, std::vector<real>> g;
      for (const Parameter& p : n.model.parameters.items())
        if (p.value.grad()) g[p.name] = p.value.grad().values();
      n.model.parameters.zero_grad();
      return g;
    };
    const double L = n.loss();
    clear_tape();
    const auto g = gradient();
    double most_loss = 0, most_gradient = 0;
    for (int i = 1; i <= 10; ++i) {
      for (size_t p = 0; p < n.model.parameters.items().size(); ++p) {
        const Parameter& item = n.model.parameters.items()[p];
        if (!g.contains(item.name)) continue;
        std::vector<real> moved = before[p];
        for (size_t j = 0; j < moved.size(); ++j) moved[j] -= real(i * lr / 11) * g.at(item.name)[j];
        item.value.copy_from(moved);
      }
      most_loss = std::max(most_loss, std::abs(n.loss() - L));
      clear_tape();
      double squares = 0;
      for (const auto& [name, values] : gradient())
        for (size_t j = 0; j < values.size(); ++j) squares += std::pow(double(values[j]) - double(g.at(name)[j]), 2);
      most_gradient = std::max(most_gradient, std::sqrt(squares));
    }
    CHECK(change.loss == doctest::Approx(most_loss).epsilon(1e-4));
    CHECK(change.gradient == doctest::Approx(most_gradient).epsilon(1e-4));
    CHECK(most_loss > 0.01);
  }
  SmallNetwork n("none");
  CHECK(std::isinf(loss_change(n.model, n.batch, n.classes, 1e300).loss));
}

TEST_CASE("transformer_norms: each initialisation draws the weights that it says [NT init.uniform]") {
  const SmallWorld world;
  NtOptions o;
  o.max_length = 16;
  const Tokenizer tokenizer(world.path("vocab.txt"), true);
  const auto largest = [&](double uniform, const std::string& name) {
    const NtSetup setup{.layers = 1, .width = 32, .norm = "layer", .uniform = uniform};
    const NtModel model(nt_config(o, setup, tokenizer), 3, true, 3);
    double most = 0;
    for (const real v : model.parameters.value(name).values()) most = std::max(most, std::abs(double(v)));
    return most;
  };
  const std::string dense = "bert.encoder.layer.0.intermediate.dense.weight", head = "head.weight";
  CHECK(largest(0, head) == doctest::Approx(std::sqrt(6.0 / 35)).epsilon(0.1));        // Xavier, 32 in and 3 out
  CHECK(largest(0, dense) > 3 * std::sqrt(2.0 / 32));           // Kaiming: 4096 normal values
  CHECK(largest(0, "bert.encoder.layer.0.attention.self.query.weight") < std::sqrt(6.0 / 64));
  for (const double b : {0.1, 100.0})
    for (const std::string& name : {dense, head}) {
      CHECK(largest(b, name) <= b);
      CHECK(largest(b, name) > 0.9 * b);
    }
}

}  // namespace minbert::test
