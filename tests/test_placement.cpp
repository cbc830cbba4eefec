// Where a layer's norms stand: post, pre and normformer, each with every norm. (PyTorch's values: test_golden.cpp.)
#include <doctest/doctest.h>

#include <set>

#include "error_of.h"
#include "golden_file.h"
#include "lone_norm.h"
#include "small_run.h"

namespace minbert::test {
namespace {

const std::vector<Placement> placements = {Placement::post, Placement::pre, Placement::normformer};
const Indices all_tasks = {2, 0, 1};

BertConfig config_of(Placement placement, const std::string& norm = "layer", int hidden = 8,
                     double dropout = 0) {
  BertConfig config = tiny_config(norm, hidden, dropout);
  config.placement = placement, config.max_length = config.max_position_embeddings;
  return config;
}

struct Network {
  BertModel bert;
  Parameters parameters;
  explicit Network(const BertConfig& config, double deviation = 0.4) : bert(config, 3), parameters(bert, {}) {
    randomise(parameters, deviation);
    bert.train(false);
  }
  std::vector<real> hidden(const Batch& batch) const { return bert.forward(batch).last_hidden_state.values(); }
};

}  // namespace

TEST_CASE("placement: the gradient of a layer, with every norm, with dropout") {
  for (const Placement placement : placements)
    for (const NormEntry& entry : norms().entries) {
      // an epsilon so large that differences of two channels or one token bend gently
      std::string norm = in_groups(entry.name, 3);
      for (const NormOption& option : entry.options)
        if (std::string(option.name) == "eps") norm += (norm == entry.name ? ":" : ",") + std::string("eps=0.1");
      BertLayer layer(config_of(placement, norm, 6, 0.2), {6, 3});
      Parameters parameters(layer, {});
      randomise(parameters);
      for (const Parameter& b : parameters.buffers())
        b.value.copy_from(uniform(b.name, b.value.shape(), 0.5, 2).values());
      layer.train(std::string(entry.name) != "power");                   // whose backward in training is approximate
      const Batch batch = three_sentences(all_tasks);
      Inputs inputs = values_of(parameters);
      inputs.push_back(normal("x", {8, 6}));
      const Tensor x = inputs.back();
      // A fiftieth of y: a bias that a softmax or the next norm cancels has gradient 0, and what comes out instead is
      // the rounding of large terms, above the tolerances.
      gradcheck(formatted("{}, {}", placement, entry.name), inputs,
                [&](const Inputs&) { return scale(layer.forward(x, batch), real(0.02)); },
                some_are_flat);
    }
}

TEST_CASE("placement: dropout acts once, on what is added to the residual, on attention's weights and the embeddings") {
  const Batch batch = three_sentences(all_tasks);
  for (const Placement placement : placements) {
    INFO(placement);
    // Without norms, all weights 0; then `set` to a value. x is 0 or 1 everywhere.
    const auto result = [&](double of_sums, double of_weights, real x, auto... set) {
      BertConfig config = config_of(placement, "none");
      config.hidden_dropout_prob = of_sums, config.attention_probs_dropout_prob = of_weights;
      BertLayer layer(config, {8, 3});
      const Parameters parameters(layer, {});
      for (const Parameter& p : parameters.items())
        p.value.copy_from(std::vector<real>(size_t(p.value.size()), p.name.ends_with("head_scale") ? 1 : 0));
      for (const auto& [name, value] : {set...}) parameters.value(name).copy_from(value);
      layer.train();
      const NoGrad nothing_recorded;
      return layer.forward(Tensor::full({8, 8}, x), batch).values();
    };
    using Set = std::pair<const char*, std::vector<real>>;
    const std::vector<real> ones(8, 1);
    std::vector<real> identity(64, 0);
    for (size_t i = 0; i < 8; ++i) identity[9 * i] = 1;
    const Set attention = {"attention.output.dense.bias", ones}, feed = {"output.dense.bias", ones};
    const auto kept = [](const std::vector<real>& y) { return std::ranges::count(y, real(1.25)); };

    const auto a = result(0.2, 0, 0, attention), f = result(0.2, 0, 0, feed);          // each 0 or 1 / (1 - 0.2)
    for (const auto& y : {a, f}) {
      CHECK(std::ranges::count(y, real(0)) + kept(y) == 64);
      CHECK(kept(y) > 38);
      CHECK(kept(y) < 64);
    }
    CHECK(a != f);                                  // each with a mask of its own
    CHECK(result(0.2, 0, 1, Set{"output.dense.bias", std::vector<real>(8, 0)}) == std::vector<real>(64, 1));
    const auto w = result(0, 0.2, 0, Set{"attention.output.dense.weight", identity},
                          Set{"attention.self.value.bias", ones});
    CHECK(w != std::vector<real>(64, 1));           // each weight 0 or 1.25 times itself: no longer with sum 1
  }

  BertModel bert(config_of(Placement::post, "layer", 8, 0.2), 3);
  const Parameters parameters(bert, {});
  randomise(parameters);
  const NoGrad nothing_recorded;
  bert.train(false);
  const std::vector<real> whole = bert.embeddings().forward(batch).values();
  bert.train();
  const std::vector<real> dropped = bert.embeddings().forward(batch).values();
  size_t zeros = 0;
  for (size_t i = 0; i < whole.size(); ++i)
    if (dropped[i] == 0) ++zeros;
    else CHECK(double(dropped[i]) == doctest::Approx(1.25 * double(whole[i])).epsilon(1e-4));
  CHECK(zeros > 0);
  CHECK(zeros < 26);                                // of 64
}

TEST_CASE("placement: the gradient of a whole network, with its norm behind the last layer") {
  for (const Placement placement : placements) {
    const Network network(config_of(placement, "conditional-layer"));
    const Batch batch = three_sentences(all_tasks);
    gradcheck(name_of(placement), values_of(network.parameters),               // a tenth, for the same reason
              [&](const Inputs&) { return scale(network.bert.forward(batch).pooler_output, real(0.1)); },
              some_are_flat);
  }
}

TEST_CASE("placement: wanted rows are those of the whole, values and gradients, with every norm") {
  const Batch batch = three_sentences(all_tasks);
  const Indices wanted = {6, 1, 2}, none = std::vector<int32_t>{};
  const Tensor direction = normal("direction", {3, 64}, 0.1);
  for (const Placement placement : placements)
    for (const NormEntry& entry : norms().entries) {
      INFO(placement << ", " << std::string(entry.name));
      // OpenBLAS's products of fewer rows may differ in the last bit. Groups of two channels or values that grow from
      // layer to layer would magnify that: groups have four here, and parameters are small.
      const BertConfig config = config_of(placement, entry.name, 64);
      const Network whole(config, 0.1), some(config, 0.1);
      for (const Network* network : {&whole, &some})
        for (Tensor value : values_of(network->parameters)) value.set_requires_grad(true);
      const BertOutput all = whole.bert.forward(batch);
      const Tensor rows = index_select(all.last_hidden_state, wanted);
      const auto loss = [&](const Tensor& hidden, const Tensor& pooled) {
        return add(sum(mul(hidden, direction)), sum(mul(pooled, direction)));
      };
      backward(loss(rows, all.pooler_output));
      const BertOutput kept = some.bert.forward(batch, wanted);
      backward(loss(kept.last_hidden_state, kept.pooler_output));
      CHECK(difference(kept.last_hidden_state.values(), rows.values()) < tolerance(1e-5, 1e-13));
      CHECK(difference(kept.cls.values(), all.cls.values()) < tolerance(1e-5, 1e-13));
      CHECK(difference(some.bert.forward(batch, none).pooler_output.values(), all.pooler_output.values()) <
            tolerance(1e-5, 1e-13));
      for (const Parameter& item : whole.parameters.items()) {
        INFO(item.name);
        const Tensor grad = some.parameters.value(item.name).grad();
        CHECK(difference(grad.values(), item.value.grad().values()) < tolerance(1e-4, 1e-12));
      }
    }
}

TEST_CASE("placement: without norms all three are one network; with them no two are") {
  const Batch batch = three_sentences({1});
  for (const std::string norm : {"none", "layer"}) {
    const Network post(config_of(Placement::post, norm)), pre(config_of(Placement::pre, norm)),
        normformer(config_of(Placement::normformer, norm));
    for (const Parameter& item : normformer.parameters.items())   // as they start
      if (item.name.ends_with("head_scale")) item.value.copy_from(std::vector<real>{1, 1});
    CHECK((post.hidden(batch) == pre.hidden(batch)) == (norm == "none"));
    CHECK((difference(normformer.hidden(batch), pre.hidden(batch)) < tolerance(1e-5, 1e-13)) == (norm == "none"));
  }
}

TEST_CASE("placement: a head's scale is that of its columns of the matrix behind it") {
  const Network scaled(config_of(Placement::normformer)), folded(config_of(Placement::normformer));
  for (const int layer : {0, 1}) {
    const std::string at = formatted("encoder.layer.{}.attention.", layer);
    const Tensor scale = scaled.parameters.value(at + "self.head_scale"),
                 of_folded = folded.parameters.value(at + "self.head_scale"),
                 W = folded.parameters.value(at + "output.dense.weight");
    CHECK(scale.shape() == Shape{2});
    for (int64_t i = 0; i < W.size(); ++i) W.data()[i] *= scale.data()[i % 8 / 4];
    of_folded.copy_from(std::vector<real>{1, 1});
  }
  const Batch batch = three_sentences({});
  const std::vector<real> y = scaled.hidden(batch);
  CHECK(difference(y, folded.hidden(batch)) < tolerance(1e-5, 1e-13));
  for (const int layer : {0, 1})
    scaled.parameters.value(formatted("encoder.layer.{}.attention.self.head_scale", layer))
        .copy_from(std::vector<real>{1, 1});
  CHECK(difference(scaled.hidden(batch), y) > 1e-3);                    // not a constant
}

TEST_CASE("placement: a packed batch is its sentences one at a time, where the norm does not mix them") {
  const std::vector<Sequence> all = sentences({3, 1, 4});
  for (const Placement placement : placements)
    for (const NormEntry& entry : norms().entries) {
      INFO(placement << ", " << entry.name);
      const Network network(config_of(placement, entry.name, 32));       // in evaluation mode none mixes them
      std::vector<real> apart;
      for (size_t b = 0; b < 3; ++b) {
        const std::vector<real> one = network.hidden(pack({&all[b], 1}, {all_tasks[int64_t(b)]}));
        apart.insert(apart.end(), one.begin(), one.end());
      }
      CHECK(difference(network.hidden(pack(all, all_tasks)), apart) < tolerance(1e-4, 1e-12));
    }
}

TEST_CASE("placement: what pre and normformer add to BERT-base's parameters") {
  const int64_t H = 768, I = 3072, layers = 12, heads = 12, post = base_parameters("layer", Placement::post);
  CHECK(base_parameters("layer", Placement::pre) == post + 2 * H);
  CHECK(base_parameters("layer", Placement::normformer) == post + 2 * H + layers * (heads + 2 * H + 2 * I));
  CHECK(base_parameters("none", Placement::pre) == base_parameters("none", Placement::post));
  CHECK(base_parameters("none", Placement::normformer) == base_parameters("none", Placement::post) + layers * heads);
}

TEST_CASE("placement: what is saved loads again; post's weights load into all, and what they lack starts as identity") {
  const SmallWorld world;
  const std::string file = world.path("weights.safetensors"), config_file = world.path("config.json");
  const Batch batch = three_sentences({1});
  const Network post(config_of(Placement::post));
  for (const Placement placement : placements) {
    INFO(placement);
    const Network trained(config_of(placement)), loaded(config_of(placement)), taken(config_of(placement));
    save_weights(file, trained.parameters);
    const WeightsReport same = load_weights(file, loaded.parameters);
    CHECK(same.initialised.empty());
    CHECK(same.unused.empty());
    CHECK(difference(loaded.hidden(batch), trained.hidden(batch)) < tolerance(1e-12, 1e-5));   // stored as float32
    config_of(placement).save(config_file);
    CHECK(BertConfig::load(config_file).placement == placement);

    const WeightsReport back = load_weights(file, Network(config_of(Placement::post)).parameters);
    save_weights(file, post.parameters);
    const WeightsReport report = load_weights(file, taken.parameters);
    std::set<std::string> expected;
    if (placement != Placement::post) expected = {"encoder.LayerNorm.weight", "encoder.LayerNorm.bias"};
    if (placement == Placement::normformer)
      for (const char* name : {"attention.self.head_scale", "attention.LayerNorm.weight", "attention.LayerNorm.bias",
                               "intermediate.LayerNorm.weight", "intermediate.LayerNorm.bias"})
        for (const int layer : {0, 1}) expected.insert(formatted("encoder.layer.{}.{}", layer, name));
    CHECK(std::set<std::string>(report.initialised.begin(), report.initialised.end()) == expected);
    CHECK(std::set<std::string>(back.unused.begin(), back.unused.end()) == expected);
    CHECK(report.unused.empty());
    for (const std::string& name : report.initialised)
      for (const real v : taken.parameters.value(name).values()) CHECK(v == (name.ends_with("bias") ? 0 : 1));
  }
}

TEST_CASE("placement: a run that was stopped and resumed equals the uninterrupted one, and its folder is enough") {
  SmallWorld world;
  TrainOptions o = world.options();
  for (const Placement placement : placements) {
    INFO(placement);
    o.placement = placement;
    const RunResult result = world.run(o, name_of(placement), 0, "batch");
    CHECK_FALSE(result.interrupted);
    const std::string said = formatted("start: trained with --placement post, now {}: ", placement);
    CHECK(contains(world.printed, said) == (placement != Placement::post));
    while (world.run(o, name_of(placement) + "-parts", 1, "batch").interrupted) continue;
    CHECK(contents(world.path(name_of(placement))) == contents(world.path(name_of(placement) + "-parts")));
    CHECK(BertConfig::load(world.path(name_of(placement)) + "/model/config.json").placement == placement);
    const Quiet quiet;
    CHECK(evaluate(Experiment(o), world.path(name_of(placement))) == result.dev);
  }
}

}  // namespace minbert::test
