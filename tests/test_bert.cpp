// BERT: gradients of a layer and of the whole, packed against one by one, heads, errors.
#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "engine/names.h"
#include "error_of.h"
#include "minbert/ops.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

constexpr int sst = 0, quora = 1, sts = 2;

struct Network {
  MultitaskBert model;
  Parameters parameters;
  explicit Network(const BertConfig& config, double head_dropout = 0)
      : model(config, three_heads(), head_dropout), parameters(model, {}) {
    randomise(parameters);
  }
};

BertConfig siamese(BertConfig config) {
  config.pairs = Pairs::siamese;
  return config;
}

}  // namespace

TEST_CASE("bert: the gradient of one layer, with dropout and with each activation") {
  const std::string said = error_of([] { activation("none"); }), valid = "valid are: ";
  const std::vector<std::string> all = split(split(said.substr(said.find(valid) + valid.size()), ';')[0]);
  CHECK(all.size() >= 3);
  for (const std::string& hidden_act : all) {
    BertConfig config = tiny_config("layer", 6, 0.2);
    config.hidden_act = hidden_act;
    BertLayer layer(config, {6});
    Parameters parameters(layer, {});
    randomise(parameters);
    layer.train();
    const Batch batch = pack(sentences({3, 1, 2}));
    Inputs inputs = values_of(parameters);
    inputs.push_back(normal("x", {6, 6}));
    const Tensor x = inputs.back();
    gradcheck("BertLayer with " + hidden_act, inputs, [&](const Inputs&) { return layer.forward(x, batch); },
              some_are_flat);
  }
}

TEST_CASE("bert: hidden_act of config.json says what stands between the matrices of the feed-forward network") {
  const Tensor x = Tensor::from({4}, std::vector<real>{-2, -0.5, 1, 3});
  const auto check = [&](const char* name, std::vector<real> expected) {
    CHECK(difference(activation(name)(x).values(), expected) < 1e-6);
  };
  check("gelu", {real(-0.0455003), real(-0.1542687), real(0.8413447), real(2.9959503)});
  check("gelu_new", {real(-0.0454023), real(-0.1542860), real(0.8411920), real(2.9963627)});       // of its formula
  check("relu", {0, 0, 1, 3});
  const auto hidden = [](const std::string& hidden_act) {
    BertConfig config = tiny_config("layer", 6);
    config.hidden_act = hidden_act;
    BertModel bert(config);
    const Parameters parameters(bert, {});
    randomise(parameters);
    return bert.forward(pack(sentences({3, 4}))).last_hidden_state.values();
  };
  CHECK(difference(hidden("gelu_new"), hidden("gelu")) < 0.01);
  CHECK(difference(hidden("gelu_new"), hidden("gelu")) > 1e-6);
  CHECK(difference(hidden("relu"), hidden("gelu")) > 0.01);
}

// Every parameter of the model, through a loss: embeddings, conditional norms, attention, pooler, head.
TEST_CASE("bert: the gradient of a whole multitask model, through each task's loss") {
  const Batch batch = pack(sentences({3, 1, 4, 2}), {0, 1, 2, 0});
  const Tensor targets = uniform("targets", {4}, 0, 1), similarity = uniform("similarity", {2}, 0, 5);
  const auto check = [&](const char* name, Network& network, int head, auto&& loss) {
    network.model.train();
    Inputs inputs;                                  // all but the heads that this loss does not see
    const std::string own = "heads." + network.model.heads()[size_t(head)].name + ".";
    for (const Parameter& item : network.parameters.items())
      if (!item.name.starts_with("heads.") || item.name.starts_with(own)) inputs.push_back(item.value);
    gradcheck(name, inputs, [&](const Inputs&) { return loss(network.model.forward(batch, head)); }, some_are_flat);
  };
  Network cross(tiny_config("conditional-layer", 8, 0.1), 0.3);
  Network pairs(siamese(tiny_config("conditional-layer", 6)));
  check("sst", cross, sst, [](const Tensor& y) { return cross_entropy(y, {0, 4, 2, 1}); });
  check("quora", cross, quora, [&](const Tensor& y) { return binary_cross_entropy_with_logits(y, targets); });
  check("siamese sts", pairs, sts, [&](const Tensor& y) { return mse_loss(y, similarity); });
}

// The L x L weights of both heads of each sentence, without what stands between them.
static std::vector<real> matrices(const Tensor& weights, const std::vector<int>& lengths) {
  const std::vector<real> all = weights.values();
  std::vector<real> list;
  int64_t begin = 0;
  for (const int L : lengths)
    for (int head = 0; head < 2; ++head) {
      list.insert(list.end(), all.begin() + begin, all.begin() + begin + L * L);
      begin += attention_block(L);
    }
  CHECK(begin == weights.size());
  return list;
}

TEST_CASE("bert: packed sentences equal one sentence at a time") {
  const Network network(tiny_config("layer", 16));
  const std::vector<Sequence> all = sentences({5, 1, 17, 2, 9});
  const BertModel& bert = network.model.bert();
  std::vector<Tensor> packed_weights;
  const BertOutput packed = bert.forward(pack(all), {}, &packed_weights);
  std::vector<real> hidden, cls, pooled;
  std::vector<std::vector<real>> weights(2);
  for (const Sequence& s : all) {
    std::vector<Tensor> one_weights;
    const BertOutput one = bert.forward(pack({&s, 1}), {}, &one_weights);
    const auto append = [](std::vector<real>& to, const Tensor& from) {
      const std::vector<real> values = from.values();
      to.insert(to.end(), values.begin(), values.end());
    };
    append(hidden, one.last_hidden_state);
    append(cls, one.cls);
    append(pooled, one.pooler_output);
    for (size_t layer = 0; layer < 2; ++layer)
      for (const real w : matrices(one_weights[layer], {int(s.ids.size())})) weights[layer].push_back(w);
  }
  CHECK(difference(packed.last_hidden_state.values(), hidden) < tolerance(1e-5, 1e-13));
  CHECK(difference(packed.cls.values(), cls) < tolerance(1e-5, 1e-13));
  CHECK(difference(packed.pooler_output.values(), pooled) < tolerance(1e-5, 1e-13));
  REQUIRE(packed_weights.size() == 2);
  for (size_t layer = 0; layer < 2; ++layer)
    CHECK(difference(matrices(packed_weights[layer], {5, 1, 17, 2, 9}), weights[layer]) < tolerance(1e-5, 1e-13));
}

TEST_CASE("bert: attention weights are sentence by sentence, head by head, and sum to 1") {
  const Network network(tiny_config());
  const std::vector<int> lengths = {4, 1, 7};
  std::vector<Tensor> weights;
  network.model.bert().forward(pack(sentences(lengths)), {}, &weights);
  for (const Tensor& layer : weights) {
    const std::vector<real> all = matrices(layer, lengths);
    const real* w = all.data();
    for (const int L : lengths)
      for (int row = 0; row < 2 * L; ++row, w += L) {                   // two heads of L queries
        real sum = 0;
        for (int i = 0; i < L; ++i) sum += w[i];
        CHECK(double(sum) == doctest::Approx(1));
      }
    CHECK(w == all.data() + all.size());
  }
}

TEST_CASE("bert: every backward is followed by other dropout masks, though nobody sets the clock") {
  // 64 columns: two masks of few columns are now and then the same, by chance
  Network network(tiny_config("layer", 64), 0.3);
  network.model.train();
  const Batch batch = pack(sentences({4, 3}));
  const auto pass = [&] { return network.model.forward(batch, sst); };
  const Tensor first = pass();
  CHECK(pass().values() == first.values());         // nothing is learnt in between
  clear_tape();
  std::set<std::vector<real>> all;
  for (int step = 0; step < 5; ++step) {
    const Tensor y = pass();
    all.insert(y.values());
    backward(mean(y));
  }
  CHECK(all.size() == 5);
}

TEST_CASE("bert: dropout acts while training only, and its masks follow clock and path") {
  Network network(tiny_config("layer", 8, 0.2), 0.3);
  const Batch batch = pack(sentences({4, 3}));
  const auto run = [&](uint64_t step) {
    DropoutClock::current().step = step;
    return network.model.forward(batch, sst).values();
  };
  network.model.train(false);
  CHECK(run(1) == run(2));
  network.model.train();
  CHECK(network.model.bert().training());
  const std::vector<real> first = run(1);
  CHECK(first != run(2));
  CHECK(first == run(1));
  DropoutClock::current().seed += 1;
  CHECK(first != run(1));
  DropoutClock::current().seed -= 1;
  network.model.train(false);
  CHECK(first != run(1));
}

TEST_CASE("bert: heads see the pooled [CLS]; a siamese head u, v, |u-v| and perhaps the cosine") {
  const Network cross(tiny_config()), pairs(siamese(tiny_config()));
  const Batch batch = pack(sentences({3, 5, 2, 4}));
  CHECK(cross.model.forward(batch, sst).shape() == Shape{4, 5});
  CHECK(cross.model.forward(batch, sts).shape() == Shape{4, 1});
  CHECK(pairs.model.forward(batch, sst).shape() == Shape{4, 5});        // not a pair's head
  CHECK(pairs.model.forward(batch, quora).shape() == Shape{2, 1});
  CHECK(pairs.parameters.value("heads.quora.weight").shape() == Shape{1, 24});
  CHECK(pairs.parameters.value("heads.sts.weight").shape() == Shape{1, 25});

  const Tensor pooled = pairs.model.bert().forward(batch).pooler_output;
  const Tensor weight = pairs.parameters.value("heads.sts.weight"), y = pairs.model.forward(batch, sts);
  const real bias = pairs.parameters.value("heads.sts.bias").item();
  for (int64_t pair = 0; pair < 2; ++pair) {
    const real *u = pooled.data() + pair * 16, *v = u + 8, *w = weight.data();
    real sum = bias, uv = 0, uu = 0, vv = 0;
    for (int i = 0; i < 8; ++i) {
      sum += w[i] * u[i] + w[8 + i] * v[i] + w[16 + i] * std::abs(u[i] - v[i]);
      uv += u[i] * v[i], uu += u[i] * u[i], vv += v[i] * v[i];
    }
    CHECK(double(y.data()[pair]) ==
        doctest::Approx(double(sum + w[24] * uv / std::sqrt(uu * vv))).epsilon(1e-5));
  }
}

TEST_CASE("bert: a head reads what config.pool names: the pooler's output, [CLS], or the mean of all tokens") {
  const Batch batch = pack(sentences({3, 5, 2}));
  for (const Pool pool : {Pool::pooler, Pool::cls, Pool::mean}) {
    INFO(pool);
    BertConfig config = tiny_config();
    config.pool = pool;
    const Network network(config);
    const BertOutput out = network.model.bert().forward(batch);
    std::vector<real> read = (pool == Pool::cls ? out.cls : out.pooler_output).values();
    for (size_t b = 0; pool == Pool::mean && b < 3; ++b)
      for (size_t h = 0; h < 8; ++h) {
        real sum = 0;
        for (int64_t t = batch.offsets[int64_t(b)]; t < batch.offsets[int64_t(b) + 1]; ++t)
          sum += out.last_hidden_state.data()[t * 8 + int64_t(h)];
        read[b * 8 + h] = sum / real(batch.offsets[int64_t(b) + 1] - batch.offsets[int64_t(b)]);
      }
    const Tensor expected = linear(Tensor::from({3, 8}, read), network.parameters.value("heads.sst.weight"),
                                   network.parameters.value("heads.sst.bias"));
    CHECK(difference(network.model.forward(batch, sst).values(), expected.values()) < 1e-5);
  }
}

TEST_CASE("bert: a siamese pair that lacks its second text, and a head that is not there, are errors") {
  const Network pairs(siamese(tiny_config()));
  CHECK_ERROR(pairs.model.forward(pack(sentences({3, 5, 2})), quora), "3");
  CHECK_THROWS_AS(pairs.model.forward(pack(sentences({3, 5})), 3), Error);
  CHECK_THROWS_AS(pairs.model.forward(pack(sentences({3, 5})), -1), Error);
}

TEST_CASE("bert: errors and the tape name the module's path") {
  Network network(tiny_config());
  CHECK_THROWS_WITH_AS(
      network.model.forward(pack(sentences({65})), sst),
      "embedding: index 64 is outside of 0..63   (bert.embeddings.position_embeddings)", Error);
  std::vector<Sequence> unknown = sentences({3});
  unknown[0].ids[1] = 20;
  CHECK_THROWS_WITH_AS(network.model.forward(pack(unknown), sst),
                       "embedding: index 20 is outside of 0..19   (bert.embeddings.word_embeddings)", Error);
  CHECK(Scope::current() == nullptr);

  clear_tape();                                     // of the forwards that failed
  network.parameters.set_trainable(
      [](const std::string& name) { return name == "bert.encoder.layer.1.output.dense.weight"; });
  network.model.forward(pack(sentences({3})), sst);
  std::ostringstream tape;
  print_tape(tape);
  const std::string recorded = tape.str();
  INFO(recorded);
  CHECK(recorded.starts_with("feed_forward -> [1, 8]"));                // [CLS] alone; nothing before it is recorded
  CHECK(contains(recorded, "(bert.encoder.layer.1)"));
  CHECK(contains(recorded, "(heads.sst)"));
  clear_tape();
}

TEST_CASE("bert: a frozen encoder leaves no record and takes no gradient; heads learn") {
  Network network(tiny_config("conditional-layer"));
  network.parameters.set_trainable([](const std::string& name) { return name.starts_with("heads."); });
  CHECK(network.parameters.trainable() == 5 * 8 + 5 + 2 * (8 + 1));
  const Tensor y = network.model.forward(pack(sentences({3, 2}), {0}), sst);
  CHECK(tape_length() == 1);
  backward(cross_entropy(y, {1, 2}));
  for (const Parameter& item : network.parameters.items())
    CHECK(bool(item.value.grad()) == item.name.starts_with("heads.sst."));
}

// Behind what ends at `end`, at the next multiple of 64 bytes.
static bool follows(const real* place, const real* end) {
  return reinterpret_cast<uintptr_t>(place) % 64 == 0 && place >= end && place - end < int64_t(64 / sizeof(real));
}

TEST_CASE("bert: parameters and their gradients lie in flat buffers, in the order of items, each aligned") {
  Network network(tiny_config());
  network.parameters.set_trainable(
      [](const std::string& name) { return name.find("embeddings") == name.npos; });
  CHECK_ERROR(network.parameters.gradients(), "call reserve_gradients() first");
  network.parameters.reserve_gradients();
  backward(cross_entropy(network.model.forward(pack(sentences({3, 2})), sst), {1, 2}));
  const real *value = network.parameters.items()[0].value.data(), *gradient = nullptr;
  for (const Parameter& item : network.parameters.items()) {
    CHECK(follows(item.value.data(), value));
    value = item.value.data() + item.value.size();
    if (!item.value.grad()) continue;
    if (gradient) CHECK(follows(item.value.grad().data(), gradient));
    gradient = item.value.grad().data() + item.value.size();
  }
  network.parameters.zero_grad();
  for (const Parameter& item : network.parameters.items()) CHECK_FALSE(bool(item.value.grad()));
}

TEST_CASE("bert: initial numbers are a truncated N(0, 0.02), biases 0, gains 1, by seed and name") {
  MultitaskBert one(tiny_config("layer", 64), three_heads(), 0),
      two(tiny_config("layer", 64), three_heads(), 0);
  const Parameters p(one, {}), other_seed(two, {.seed = 12});
  for (const Parameter& item : p.items()) {
    const std::vector<real> v = item.value.values();
    if (item.name.ends_with("LayerNorm.weight")) CHECK(v == std::vector<real>(v.size(), 1));
    else if (item.name.ends_with("bias")) CHECK(v == std::vector<real>(v.size(), 0));
    else {
      CHECK(largest(v) <= 0.04 + 1e-9);
      CHECK(v != other_seed.value(item.name).values());
    }
    CHECK((item.decay == Decay::no) ==
        (item.name.find("LayerNorm") != item.name.npos || item.name.ends_with("bias")));
  }
  double squares = 0;
  const Tensor words = p.value("bert.encoder.layer.0.intermediate.dense.weight");
  for (const real v : words.values()) squares += double(v) * double(v);
  CHECK(std::sqrt(squares / double(words.size())) == doctest::Approx(0.02 * 0.8796).epsilon(0.03));
}

TEST_CASE("bert: an initialisation is drawn as its paper says, by seed and name") {
  Linear layer(300, 200);
  const auto draw = [&](Initialisation initialisation, uint64_t seed = 1) {
    const Parameters drawn(layer, {.seed = seed, .initializer_range = 0.1, .initialisation = initialisation});
    return drawn.value("weight").values();
  };
  const auto deviation = [](const std::vector<real>& v) {
    double squares = 0;
    for (const real x : v) squares += double(x) * double(x);
    return std::sqrt(squares / double(v.size()));
  };
  CHECK(deviation(draw(Initialisation::normal)) == doctest::Approx(0.1 * 0.8796).epsilon(0.01));
  CHECK(deviation(draw(Initialisation::uniform)) == doctest::Approx(0.1 / std::sqrt(3)).epsilon(0.01));
  CHECK(deviation(draw(Initialisation::xavier)) == doctest::Approx(std::sqrt(2 / 500.0)).epsilon(0.01));
  CHECK(deviation(draw(Initialisation::kaiming)) == doctest::Approx(std::sqrt(2 / 300.0)).epsilon(0.01));
  CHECK(largest(draw(Initialisation::uniform)) <= 0.1);
  CHECK(largest(draw(Initialisation::xavier)) <= std::sqrt(6 / 500.0) + 1e-7);
  CHECK(draw(Initialisation::xavier) == draw(Initialisation::xavier));
  CHECK(draw(Initialisation::xavier) != draw(Initialisation::xavier, 2));

  // Kaiming for the two layers with the ReLU, Xavier for all others; without a ReLU, Xavier for all
  for (const std::string act : {"relu", "gelu"}) {
    BertConfig config = BertConfig::named("narrow-1");
    config.vocab_size = 50, config.hidden_act = act;
    MultitaskBert model(config, {}, 0);
    const Parameters p(model, {.initialisation = config.initialisation});
    for (const Parameter& item : p.items()) {
      if (item.value.shape().rank() < 2 || item.name.find("LayerNorm") != item.name.npos) continue;
      INFO(item.name);
      const double in = double(item.value.cols()), out = double(item.value.rows());
      const bool kaiming = act == "relu" && (item.name.ends_with("layer.0.intermediate.dense.weight") ||
                                             item.name.ends_with("layer.0.output.dense.weight"));
      CHECK(deviation(item.value.values()) ==
            doctest::Approx(kaiming ? std::sqrt(2 / in) : std::sqrt(2 / (in + out))).epsilon(0.05));
    }
  }
}

TEST_CASE("bert: pack lays sentences end to end and says what is wrong with a batch") {
  const Batch b = pack(sentences({2, 1, 3}), {7, 8, 9});
  const auto list = [](const Indices& i) { return std::vector<int32_t>(i.begin(), i.end()); };
  std::vector<int32_t> ids, segments;
  for (const Sequence& sequence : sentences({2, 1, 3})) {
    ids.insert(ids.end(), sequence.ids.begin(), sequence.ids.end());
    segments.insert(segments.end(), sequence.segments.begin(), sequence.segments.end());
  }
  CHECK(list(b.ids) == ids);
  CHECK(list(b.segments) == segments);
  CHECK(std::ranges::count(segments, 1) > 0);
  CHECK(list(b.offsets) == std::vector<int32_t>{0, 2, 3, 6});
  CHECK(list(b.positions) == std::vector<int32_t>{0, 1, 0, 0, 1, 2});
  CHECK(list(b.sentence) == std::vector<int32_t>{0, 0, 1, 2, 2, 2});
  CHECK(list(b.row_task) == std::vector<int32_t>{7, 7, 8, 9, 9, 9});
  CHECK(list(pack(sentences({2, 1}), {4}).task) == std::vector<int32_t>{4, 4});
  CHECK_FALSE(bool(pack(sentences({2})).row_task));
  CHECK_ERROR(pack(std::vector<Sequence>{}), "at least one sequence");
  CHECK_ERROR(pack(sentences({2, 0})), "sequence 1 of the batch is empty");
  CHECK_ERROR(pack(sentences({2, 1, 1}), {1, 2}), "2 task ids for 3");
  std::vector<Sequence> bad = sentences({2});
  bad[0].segments.pop_back();
  CHECK_ERROR(pack(bad), "2 ids but 1 segments");
  CHECK_ERROR(select_rows(b, {0, 6}), "row 6 is outside of 0..5");
}

}  // namespace minbert::test
