// Looking inside a model: the numbers are the model's own, and the page can hold any text and asks for nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "error_of.h"
#include "inside/look.h"
#include "inside/mixing.h"
#include "small_run.h"
#include "tiny_bert.h"
#include "train/encode.h"

namespace minbert::test {
namespace {

struct Look : SmallWorld {
  explicit Look(const std::string& norm = "conditional-layer") {
    TrainOptions o = options();
    o.epochs = 1;
    run(o, "run", 0, norm);
    const Quiet quiet;
    trained = std::make_unique<TrainedModel>(path("run"));
  }
  Inside look(const InsideOptions& o) { return look_inside(*trained, "run", o); }
  std::unique_ptr<TrainedModel> trained;
};
const InsideOptions sst = {.text = "good film , not dull .", .task = "sst", .label = "3"};

Json data_of(const std::string& page) {
  const std::string open = "id=\"data\">";
  const size_t begin = page.find(open) + open.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin), "page");
}
std::vector<double> unpacked(const Json& packed) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned> bytes;
  unsigned bits = 0, held = 0;
  for (const char c : packed["data"].string()) {
    if (c == '=') break;
    bits = (bits << 6 | unsigned(digits.find(c))) & 0xffff;
    held += 6;
    if (held >= 8) bytes.push_back(bits >> (held -= 8) & 255);
  }
  std::vector<double> numbers;
  const auto size = size_t(packed["bytes"].integer());
  for (size_t i = 0; i + size <= bytes.size(); i += size)
    numbers.push_back(packed["low"].number() +
                      packed["step"].number() * (bytes[i] + (size == 2 ? 256 * bytes[i + 1] : 0)));
  return numbers;
}
void check_close(std::span<const real> a, std::span<const real> b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(double(a[i]) == doctest::Approx(double(b[i])).epsilon(1e-4));
}

}  // namespace

TEST_CASE("inside: attention and last states are those that encode writes, and a row of attention sums to 1") {
  Look world;
  const Inside inside = world.look(sst);
  write_file(world.path("text"), sst.text + "\n");
  {
    const Quiet quiet;
    encode(*world.trained, {.input = world.path("text"), .output = world.path("encoded"), .task = "sst",
                            .tokens = true, .attention = true});
  }
  const SafeTensors encoded(world.path("encoded"));
  check_close(inside.attention, encoded.read("attention.0"));
  const size_t T = inside.pieces.size(), H = size_t(inside.hidden);
  for (size_t begin = 0; begin < inside.attention.size(); begin += T)
    CHECK(std::accumulate(inside.attention.begin() + long(begin), inside.attention.begin() + long(begin + T), 0.0) ==
          doctest::Approx(1));
  const std::vector<real> last = encoded.read("last_hidden_state");
  for (size_t i = 0; i < T; ++i) {
    double squares = 0;
    for (size_t c = 0; c < H; ++c) squares += double(last[i * H + c]) * double(last[i * H + c]);
    CHECK(inside.states.back().length[i] == doctest::Approx(std::sqrt(squares)).epsilon(1e-4));
  }
}

TEST_CASE("inside: the contributions to an attention block, with the biases, are its output") {
  const int64_t T = 3, H = 4, heads = 2;
  const Tensor x = normal("x", {T, H}), v = normal("v", {T, H}), W_O = normal("W_O", {H, H}), b_O = normal("b_O", {H}),
               gamma = normal("gamma", {H}), beta = normal("beta", {H}),
               alpha = softmax(normal("alpha", {heads * T, T}));
  std::vector<real> context(size_t(T * H));
  const std::vector<real> a = alpha.values(), values = v.values();
  for (int64_t i = 0; i < T; ++i)
    for (int64_t c = 0; c < H; ++c)
      for (int64_t j = 0; j < T; ++j)
        context[size_t(i * H + c)] += a[size_t((c / 2 * T + i) * T + j)] * values[size_t(j * H + c)];
  const Tensor sum = x + linear(Tensor::from({T, H}, context), W_O, b_O);
  const std::vector<real> y = layer_norm(sum, gamma, beta, 1e-3).values(), rows = sum.values(), b = b_O.values(),
                          g = gamma.values(), shift = beta.values(), x_rows = x.values(), W = W_O.values();
  const AttentionBlock block{.T = T, .H = H, .heads = heads, .x = x_rows, .a = rows, .v = values, .alpha = a, .W_O = W,
                             .gamma = g, .eps = 1e-3};
  const std::vector<real> parts = contributions_of(block);
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / double(H);
  for (int64_t i = 0; i < T; ++i) {
    const real* row = rows.data() + i * H;
    const double mu = std::accumulate(row, row + H, 0.0) / double(H);
    double s2 = 1e-3;
    for (int64_t c = 0; c < H; ++c) s2 += (double(row[c]) - mu) * (double(row[c]) - mu) / double(H);
    for (int64_t c = 0; c < H; ++c) {
      double total = double(shift[size_t(c)]) + (double(b[size_t(c)]) - mean_b) / std::sqrt(s2) * double(g[size_t(c)]);
      for (int64_t j = 0; j < T; ++j) total += double(parts[size_t((i * T + j) * H + c)]);
      CHECK(total == doctest::Approx(double(y[size_t(i * H + c)])).epsilon(1e-4));
    }
  }
  AttentionBlock own = block;
  std::vector<real> identity(size_t(heads * T * T));
  for (int64_t r = 0; r < heads * T; ++r) identity[size_t(r * T + r % T)] = 1;
  own.alpha = identity;
  for (const real ratio : mixing_of(contributions_of(own), T, H).ratios) CHECK(ratio == 0);   // looks at itself
  for (const real ratio : mixing_of(parts, T, H).ratios) CHECK((ratio > 0 && ratio < 1));
}

TEST_CASE("inside: the mixing ratio is said to be undefined where no LayerNorm stands behind the sum") {
  Look rms("rms");
  const Inside inside = rms.look(sst);
  CHECK(inside.mixing.empty());
  CHECK(contains(inside.no_mixing, "the norm here is rms, placed post"));
  CHECK(!inside.norms.empty());
}

TEST_CASE("inside: rows behind a norm have its mean and variance, and every value is counted") {
  Look world("layer");
  for (const auto& norm : world.look(sst).norms) {
    CAPTURE(norm.module);
    CHECK(norm.before.mean.size() == norm.after.mean.size());
    for (const Inside::Rows* rows : {&norm.before, &norm.after})
      CHECK(std::accumulate(rows->counts.begin(), rows->counts.end(), 0) == int(rows->mean.size()) * 8);
  }
}

TEST_CASE("inside: the tape names modules, parameters, and lines of files that are there") {
  Look world;
  const Inside inside = world.look(sst);
  const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  int attentions = 0, parameters = 0;
  for (size_t n = 0; n < inside.tape.size(); ++n) {
    const Inside::Node& node = inside.tape[n];
    CAPTURE(node.operation);
    CHECK(node.line > 0);
    CHECK((node.file.starts_with("src/") && std::filesystem::exists(root / node.file)));
    CHECK(std::isfinite(node.gradient));
    for (const auto& input : node.inputs) {
      CHECK(input.node < int(n));
      parameters += input.name.starts_with("bert.") || input.name.starts_with("heads.sst");
    }
    if (node.operation != "attention") continue;
    ++attentions;
    CHECK(node.file == "src/ops/attention.cpp");
    for (const auto& input : node.inputs) CHECK(inside.tape[size_t(input.node)].operation == "linear");
  }
  CHECK(attentions == inside.layers);
  CHECK(parameters > 10);
  CHECK(inside.tape.back().operation == "cross_entropy");
  CHECK(tape_length() == 0);
}

TEST_CASE("inside: gradients are those of the task's loss, and none without a label") {
  Look world;
  const Inside inside = world.look(sst);
  CHECK(inside.label == "positive");
  CHECK(inside.loss > 0);
  const auto of = [&](const std::string& name) {
    return std::ranges::any_of(inside.gradients, [&](const auto& g) { return g.parameter == name && g.gradient > 0; });
  };
  CHECK(of("heads.sst.weight"));
  CHECK(of("bert.encoder.layer.0.output.LayerNorm.task_weight"));
  CHECK(!of("heads.quora.weight"));
  for (const double length : inside.states[0].gradient) CHECK(std::isfinite(length));
  InsideOptions without = sst;
  without.label = "";
  const Inside none = world.look(without);
  CHECK(none.gradients.empty());
  CHECK(none.states[0].gradient.empty());
}

TEST_CASE("inside: every head predicts what predict says, or says why not") {
  Look world;
  const Inside inside = world.look({.text = "good film", .text_b = "fine plot", .task = "quora"});
  REQUIRE(inside.predictions.size() == 3);
  for (const auto& p : inside.predictions) CHECK((p.not_run.empty() && !p.text.empty()));
  double sum = 0;
  for (const auto& [name, probability] : inside.predictions[0].choices) sum += probability;
  CHECK(sum == doctest::Approx(1));
  for (const auto& p : world.look(sst).predictions) CHECK(p.not_run.empty() == (p.task == "sst"));
}

TEST_CASE("inside: errors say what there is, and a long text is cut") {
  Look world;
  const auto error = [&](InsideOptions o) { return error_of([&] { world.look(o); }); };
  CHECK(contains(error({.text = "a", .task = "rte"}), "its tasks: sst quora sts"));
  CHECK(contains(error({.text = "a", .task = "sst", .label = "9"}), "a label is a whole number from 0 to 4, or its "
                                                                    "name: very negative, negative, neutral, "));
  CHECK(world.look({.text = "a", .task = "sst", .label = "positive"}).loss ==
        world.look({.text = "a", .task = "sst", .label = "3"}).loss);
  CHECK(contains(error({.text = "a", .label = "1"}), "Give --task"));
  CHECK(contains(error({.text = "a", .task = "quora"}), "quora takes two texts; give --text-b"));
  CHECK(contains(error({.text = "a", .text_b = "b", .task = "sst"}), "leave --text-b out"));
  CHECK(contains(error({.text = ""}), "--text is empty"));
  CHECK(contains(error({.text = "caf\xE9"}), "--text:1: byte 4 of this line is 0xE9, which is not UTF-8"));
  const Inside cut = world.look({.text = "good film , not dull .", .tokens = 5});
  CHECK(cut.cut);
  CHECK(cut.pieces.size() == 5);
  CHECK(contains(inside_page(std::vector{cut}), "\"cut\":true"));
  CHECK(!world.look({.text = "good"}).cut);
}

TEST_CASE("inside: the page holds any text, asks for nothing, and is the same each time") {
  Look world;
  Inside inside = world.look(sst);
  const std::string page = inside_page(std::vector{inside});
  CHECK((page == inside_page(std::vector{world.look(sst)})));
  for (const char* outside : {"http:", "https:", "src=", "fetch(", "import ", "import(", "@import", "url("}) {
    CAPTURE(outside);
    CHECK(times(page, outside) == 0);
  }
  CHECK(contains(page, "default-src 'none'"));
  const std::string hostile = "</script><!--<script>alert(1)</script>";
  inside.pieces[1] = inside.text = inside.model = hostile;
  const std::string hostile_page = inside_page(std::vector{inside});
  CHECK(times(hostile_page, "</script>") == 2);
  CHECK(times(hostile_page, "<!--") == 0);
  CHECK(data_of(hostile_page)["models"].items()[0]["pieces"].items()[1].string() == hostile);
}

TEST_CASE("inside: what the page unpacks is what was measured") {
  Look world;
  const Inside inside = world.look(sst);
  const Json model = data_of(inside_page(std::vector{inside}))["models"].items()[0];
  const std::vector<double> attention = unpacked(model["attention"]);
  REQUIRE(attention.size() == inside.attention.size());
  for (size_t i = 0; i < attention.size(); ++i) CHECK(std::abs(attention[i] - double(inside.attention[i])) < 1e-5);
  const std::vector<double> gain = unpacked(model["gains"].items()[0]["weight"].items()[0]);
  const std::vector<real>& weight = inside.gains[0].parameters[0].second;
  REQUIRE(gain.size() == weight.size());
  const auto [low, high] = std::ranges::minmax(weight);
  for (size_t i = 0; i < gain.size(); ++i) CHECK(std::abs(gain[i] - double(weight[i])) <= double(high - low) / 500);
  CHECK(model["gains"].items()[0]["task_bias"].items().size() == 3);
}

TEST_CASE("inside: two models stand side by side where they cut the text into the same pieces") {
  Look world;
  const Inside one = world.look(sst);
  Inside other = one;
  CHECK(data_of(inside_page(std::vector{one, other}))["models"].items().size() == 2);
  other.pieces[2] = "other";
  CHECK(contains(error_of([&] { inside_page(std::vector{one, other}); }), "piece 3 is \"film\" and \"other\""));
}

// The sizes of BERT-base with conditional LayerNorm, three tasks and 40 tokens, filled with numbers of many digits.
TEST_CASE("inside: a page of BERT-base and 40 tokens stays under 2 MB") {
  const size_t T = 40, L = 12, heads = 12, H = 768;
  const auto filled = [](size_t count) { return normal("filled", {int64_t(count)}).values(); };
  const auto list = [&](size_t count) {
    const std::vector<real> values = filled(count);
    return std::vector<double>(values.begin(), values.end());
  };
  Inside base;
  base.layers = int64_t(L), base.heads = int64_t(heads), base.hidden = int64_t(H);
  base.pieces.assign(T, "##ization"), base.ids.assign(T, 30521), base.segments.assign(T, 1);
  base.attention = filled(L * heads * T * T), base.value_norms = filled(L * heads * T);
  base.contributions = filled(L * T * T), base.mixing = filled(L * T);
  base.states.assign(L + 1, {"layer 10", list(T), list(T), list(T), list(T)});
  const Inside::Rows rows{list(T), list(T), std::vector<int>(64, 12345), 12.3456, 307};
  base.norms.assign(2 * L + 1, {"bert.encoder.layer.10.attention.output.LayerNorm", 3.14159, rows, rows});
  base.gains.assign(2 * L + 1, {"bert.encoder.layer.10.attention.output.LayerNorm", {{"weight", filled(H)},
      {"bias", filled(H)}, {"task_weight", filled(3 * H)}, {"task_bias", filled(3 * H)}}});
  base.gradients.assign(203, {"bert.encoder.layer.10.attention.output.LayerNorm.task_weight", 0.00123456, 12.3456});
  const Inside::Node::Input input{150, "bert.encoder.layer.10.attention.output.LayerNorm.weight", "[30522, 768]"};
  base.tape.assign(190, {"layer_norm", "bert.encoder.layer.10.attention.output.LayerNorm", "[40, 768]",
                         "src/ops/layer_norm.cpp", 70, 0.00123456, {input, input, input}});
  const size_t bytes = inside_page(std::vector{base}).size();
  MESSAGE(bytes << " bytes");
  CHECK(bytes < 2'000'000);
}

}  // namespace minbert::test
