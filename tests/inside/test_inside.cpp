// Looking inside a model: the numbers are the model's own, and the page can hold any text and asks
// for nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "error_of.h"
#include "files/stored_types.h"
#include "golden_file.h"
#include "inside/look.h"
#include "models/encode_file.h"
#include "models/masked_words.h"
#include "small_run.h"
#include "tiny_bert.h"

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
  Json look(const InsideOptions& o) { return look_inside(*trained, "run", o); }
  std::unique_ptr<TrainedModel> trained;
};
const InsideOptions sst = {.text = "good film , not dull .", .task = "sst", .label = "3"};

Json data_of(const std::string& page) {
  const std::string open = "id=\"data\">";
  const size_t begin = page.find(open) + open.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin), "page");
}

// The numbers in a text of base64.
template <class Number>
std::vector<Number> numbers_of(const std::string& base64) {
  const std::string letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < base64.size() && base64[i] != '='; ++i) {
    bits = bits << 6 | uint32_t(letters.find(base64[i]));
    if (i % 4 > 0) bytes += char(bits >> (6 - 2 * (i % 4)));
  }
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  CHECK(numbers.size() * sizeof(Number) == bytes.size());
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::vector<std::vector<real>> values_of(const TrainedModel& trained) {
  std::vector<std::vector<real>> all;
  for (const Parameter& p : trained.model.parameters.items()) all.push_back(p.value.values());
  return all;
}
}  // namespace

TEST_CASE("inside: attention and last states are those that encode writes") {
  Look world;
  const Json inside = world.look(sst);
  write_file(world.path("text"), sst.text + "\n");
  {
    const Quiet quiet;
    encode(*world.trained, {.input = world.path("text"),
                            .output = world.path("encoded"),
                            .task = "sst",
                            .tokens = true,
                            .attention = true});
  }
  const SafeTensors encoded(world.path("encoded"));
  const std::vector<double> attention = inside["attention"].numbers();
  const std::vector<real> expected = encoded.read("attention.0"),
                          last = encoded.read("last_hidden_state");
  REQUIRE(attention.size() == expected.size());
  for (size_t i = 0; i < attention.size(); ++i)
    CHECK(std::abs(attention[i] - double(expected[i])) < 1e-5);
  const std::vector<double> lengths = inside["states"].items().back()["length"].numbers();
  const size_t T = inside["pieces"].items().size(), H = last.size() / T;
  for (size_t i = 0; i < T; ++i) {
    double squares = 0;
    for (size_t c = 0; c < H; ++c) squares += double(last[i * H + c]) * double(last[i * H + c]);
    CHECK(lengths[i] == doctest::Approx(std::sqrt(squares)).epsilon(1e-4));
  }
  const std::vector<real> gamma =
      world.trained->model.parameters
          .value(inside["gains"].items()[0]["module"].string() + ".weight")
          .values();
  const std::vector<double> gain = inside["gains"].items()[0]["weight"].items()[0].numbers();
  for (size_t c = 0; c < H; ++c) CHECK(gain[c] == doctest::Approx(double(gamma[c])).epsilon(1e-4));
  CHECK(inside["gains"].items()[0]["task_bias"].items().size() == 3);
}

TEST_CASE("inside: rows after a norm have its mean and variance, and every value is counted") {
  for (const Json& norm : Look("layer").look(sst)["norms"].items())
    for (const char* side : {"before", "after"}) {
      const std::vector<double> mean = norm[side]["mean"].numbers(),
                                counts = norm[side]["counts"].numbers();
      CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == double(mean.size()) * 8);
      CHECK(norm[side]["variance"].numbers().size() == mean.size());
    }
}

TEST_CASE("inside: the tape names modules, parameters, and lines of files that are there") {
  Look world;
  const Json inside = world.look(sst);
  const Json::Array tape = inside["tape"].items();
  int attentions = 0, parameters = 0;
  for (size_t n = 0; n < tape.size(); ++n) {
    const std::string operation = tape[n]["operation"].string(), file = tape[n]["file"].string();
    CAPTURE(operation);
    CHECK(tape[n]["line"].integer() > 0);
    CHECK((file.starts_with("src/") && std::filesystem::exists(repository(file))));
    CHECK(!tape[n]["gradient"].is_null());
    for (const Json& input : tape[n]["inputs"].items()) {
      const int64_t from = input.items()[0].integer();
      const std::string name = input.items()[1].string();
      CHECK(from < int64_t(n));
      parameters += name.starts_with("bert.") || name.starts_with("heads.sst");
      if (operation == "attention") CHECK(tape[size_t(from)]["operation"].string() == "linear");
    }
    attentions += operation == "attention" && file == "src/ops/attention.cpp";
  }
  CHECK(attentions == inside["layers"].integer());
  CHECK(parameters > 10);
  CHECK(tape.back()["operation"].string() == "cross_entropy");
  CHECK(tape_length() == 0);
}

TEST_CASE("inside: gradients are those of the task's loss, and none without a label") {
  Look world;
  const Json inside = world.look(sst);
  CHECK(inside["label"].string() == "positive");
  CHECK(inside["loss"].number() > 0);
  const auto of = [&](const std::string& name) {
    return std::ranges::any_of(inside["gradients"].items(), [&](const Json& g) {
      return g.items()[0].string() == name && g.items()[1].number() > 0;
    });
  };
  CHECK(of("heads.sst.weight"));
  CHECK(of("bert.encoder.layer.0.output.LayerNorm.task_weight"));
  CHECK(!of("heads.quora.weight"));
  const Json none = world.look({.text = sst.text, .task = "sst"});
  CHECK(none["gradients"].items().empty());
  CHECK(none["states"].items()[0]["gradient"].items().empty());
}

TEST_CASE("inside: every head predicts what predict says, or says why not") {
  Look world;
  const Json::Array all =
      world.look({.text = "good film", .text_b = "fine plot", .task = "quora"})["predictions"]
          .items();
  REQUIRE(all.size() == 3);
  for (const Json& p : all) CHECK((p["not_run"].string().empty() && !p["text"].string().empty()));
  double sum = 0;
  for (const Json& choice : all[0]["choices"].items()) sum += choice.items()[1].number();
  CHECK(sum == doctest::Approx(1));
  for (const Json& p : world.look(sst)["predictions"].items())
    CHECK(p["not_run"].string().empty() == (p["task"].string() == "sst"));
}

TEST_CASE("inside: the page carries what it computes with, in 16 bits, and so do its numbers") {
  Look world;
  const auto trained = values_of(*world.trained);
  const Json inside = world.look(sst), carried = inside["carried"];
  const std::vector<uint16_t> weights = numbers_of<uint16_t>(carried["weights"].string());
  const std::vector<Parameter>& parameters = world.trained->model.parameters.items();
  const Json::Array names = carried["parameters"].items();
  REQUIRE(names.size() == parameters.size());
  size_t at = 0;
  bool rounded = false;
  for (size_t i = 0; i < names.size(); ++i) {
    CHECK(names[i].items()[0].string() == parameters[i].name);
    const std::vector<real> values = parameters[i].value.values();
    CHECK(names[i].items()[1].integer() * names[i].items()[2].integer() == int64_t(values.size()));
    for (size_t k = 0; k < values.size(); ++k) {
      CHECK(real(from_f16(weights.at(at++))) == values[k]);
      CHECK(std::abs(double(values[k] - trained[i][k])) <= 5e-4 * std::abs(double(trained[i][k])) + 3e-8);
      rounded = rounded || values[k] != trained[i][k];
    }
  }
  CHECK(at == weights.size());
  CHECK(rounded);

  const std::vector<float> states = numbers_of<float>(carried["states"].string());
  const std::vector<double> lengths = inside["states"].items().back()["length"].numbers();
  const size_t H = size_t(inside["hidden"].integer()), T = lengths.size();
  REQUIRE(states.size() == inside["states"].items().size() * T * H);
  for (size_t i = 0; i < T; ++i) {
    double squares = 0;
    for (size_t c = 0; c < H; ++c)
      squares += std::pow(double(states[states.size() - (T - i) * H + c]), 2);
    CHECK(lengths[i] == doctest::Approx(std::sqrt(squares)).epsilon(1e-4));
  }
  for (size_t i = 0; i < T; ++i)
    CHECK(carried["tokens"].items()[size_t(inside["ids"].items()[i].integer())].string() ==
          inside["pieces"].items()[i].string());
  CHECK(carried["tasks"].items()[1]["pair"].boolean());
  CHECK(carried["tasks"].items()[0]["labels"].items()[3].string() == "positive");
}

TEST_CASE("inside: a page without weights says why, and its numbers are the model's as they are") {
  CHECK(contains(Look("rms").look(sst)["carried"]["not_run"].string(), "norm is rms"));
  Look world;
  const auto trained = values_of(*world.trained);
  const Json inside = world.look({.text = sst.text, .without_weights = true});
  CHECK(contains(inside["carried"]["not_run"].string(), "--without-weights"));
  CHECK(values_of(*world.trained) == trained);
  CHECK(inside_page({inside}).size() + 1000 < inside_page({world.look(sst)}).size());

  BertConfig config;
  const auto why = [&](const Tensor& x) { return why_not_carried(config, world.trained->tokenizer, {{"x", x}}); };
  CHECK(why(Tensor::zeros({3})) == "");
  CHECK(contains(why(Tensor::from({1}, {real(1e5)})), "x has a number that is too large"));
  CHECK(contains(why(Tensor::zeros({5001, 1000})), "5001000 numbers"));
  const std::string folder = world.path("added");   // the page knows the five special tokens alone
  make_folder(folder);
  std::filesystem::copy(world.path("vocab.txt"), folder + "/vocab.txt");
  write_file(folder + "/tokenizer_config.json", R"({"added_tokens_decoder": {")" +
             std::to_string(world.trained->tokenizer.size()) + R"(": {"content": "<url>", "special": false}}})");
  CHECK(contains(why_not_carried(config, Tokenizer::from_folder(folder), {}), "added token <url>"));
  config.placement = Placement::pre;
  CHECK(contains(why(Tensor::zeros({3})), "placement of norms is pre"));
}

TEST_CASE("inside: a page quotes the code of its norm, of every view and of every operation") {
  for (const std::string norm : {"layer", "rms", "group-sentence:groups=2", "none"}) {
    CAPTURE(norm);
    const Json inside = Look(norm).look(sst), code = inside["code"];
    for (const auto& [view, quotes] : code.members())
      for (const Json& quote : quotes.items()) {
        CAPTURE(view);
        CHECK(contains(read_file(repository(quote["file"].string())), quote["text"].string().substr(0, 20)));
        CHECK(quote["text"].string().size() > 20);
      }
    for (const Json& operation : inside["tape"].items())
      CHECK(code.has(formatted("{}:{}", operation["file"].string(), operation["line"].integer())));
    REQUIRE(code["norms"].items().size() == 1);
    CHECK(contains(code["norms"].items()[0]["text"].string(), norm.starts_with("group") ? "struct GroupNormOfSentence"
                                                              : norm == "layer"        ? "mean_rows(square(x - mu))"
                                                                                       : "Tensor forward("));
  }
}

TEST_CASE("inside: pre-training's head says of the last state what it predicts for a mask, after fine-tuning, too") {
  Look world;
  CHECK(contains(world.look(sst)["lens"]["not_run"].string(), "predicts no masked words"));
  const InsideOptions masked = {.text = "good [MASK] , not dull .", .task = "sst"};

  const BertConfig config = BertConfig::load(world.path("start/config.json"));
  save_model(world.path("pretrained"), config, Tokenizer(world.path("vocab.txt"), true),
             WithParameters<BertForPreTraining>(config, 3, true).parameters);
  TrainOptions o = world.options();
  o.model = world.path("pretrained"), o.epochs = 1;
  world.run(o, "tuned");
  const Quiet quiet;
  TrainedModel tuned(world.path("tuned"));
  const Json inside = look_inside(tuned, "tuned", masked);
  CHECK(inside["lens"]["not_run"].string() == "");
  const Json::Array words = inside["lens"]["words"].items();
  REQUIRE(words.size() == inside["states"].items().size());
  for (const Json& state : words) CHECK(state.items().size() == inside["pieces"].items().size());
  CHECK(words.back().items()[2].items().size() == 10);
  CHECK(words.back().items()[2].dump() != words.front().items()[2].dump());
  const auto filled = MaskedWords(tuned).fill(masked.text);         // of plain LayerNorm, without a task
  const Json plain = look_inside(tuned, "tuned", {.text = masked.text})["lens"]["words"].items().back().items()[2];
  for (size_t i = 0; i < 3; ++i) CHECK(plain.items()[i].items()[0].string() == filled.at(0)[i].first);
  CHECK(inside["carried"]["parameters"].items().size() == tuned.model.parameters.items().size() + 5);
}

TEST_CASE("inside: a step moves the rows of its task, and the next one moves them on by their moments") {
  Look world;
  const Json first = world.look(sst);
  const auto trained = values_of(*world.trained);
  const Json steps = world.look(sst)["steps"];
  CHECK(values_of(*world.trained) == trained);
  CHECK(steps.dump() == first["steps"].dump());
  CHECK(steps["steps"].items()[0]["task"].string() == "sst");
  CHECK(steps["steps"].items()[0]["loss"].number() == first["loss"].number());
  CHECK(steps["steps"].items()[1]["task"].string() == "quora");
  const auto group = [&](const std::string& name) {
    for (const Json& g : steps["groups"].items())
      if (g["name"].string() == name) return g;
    FAIL("no group ", name);
    return Json();
  };
  const auto gradient = [&](const std::string& name) { return group(name)["gradient"].numbers(); };
  const auto moved = [&](const std::string& name) { return group(name)["moved"].numbers(); };
  for (const std::string letter : {"γ", "β"}) {
    CHECK((gradient(letter + "_sst")[0] > 0 && moved(letter + "_sst")[0] > 0));
    CHECK((gradient(letter + "_sst")[1] == 0 && moved(letter + "_sst")[1] > 0));
    CHECK((gradient(letter + "_quora")[0] == 0 && moved(letter + "_quora")[0] == 0));
    CHECK((gradient(letter + "_quora")[1] > 0 && moved(letter + "_quora")[1] > 0));
    CHECK((moved(letter + "_sts")[0] == 0 && moved(letter + "_sts")[1] == 0));
  }
  CHECK((std::isnan(gradient("heads.sst")[1]) && moved("heads.sst")[1] == 0));
  CHECK((std::isnan(gradient("heads.quora")[0]) && moved("heads.quora")[1] > 0));
  CHECK(moved("embeddings of all other tokens")[1] == 0);
  int64_t numbers = 0;
  for (const Json& g : steps["groups"].items()) numbers += g["numbers"].integer();
  CHECK(numbers == world.trained->model.parameters.count());
}

TEST_CASE("inside: a classifier from elsewhere has one task, which needs no name, of one text or of two") {
  const SmallWorld world;
  BertConfig config = BertConfig::load(world.path("start/config.json"));
  config.tasks = {foreign_task};
  config.classifier = {{"contradiction", "neutral", "entailment"}, "single_label_classification", {}};
  const Model model(config, 3, true, heads_of(tasks_of(config)), 0);
  const Tokenizer tokenizer = Tokenizer::from_folder(world.path("start"));
  save_model(world.path("foreign"), config, tokenizer, model.parameters);
  const Quiet quiet;
  for (const std::string second : {"", "fine plot"}) {
    TrainedModel trained(world.path("foreign"));
    const InsideOptions named = {.text = "good film", .text_b = second, .task = foreign_task, .label = "neutral"};
    InsideOptions short_form = named;
    short_form.task = "";
    const Json page = look_inside(trained, "x", short_form);
    CHECK(page.dump() == look_inside(trained, "x", named).dump());
    CHECK(page["task"].string() == foreign_task);
    CHECK(page["loss"].number() > 0);
    const Sequence sequence = build_sequence(tokenizer, second.empty() ? "good film" : "good film\tfine plot", 16);
    CHECK(page["ids"].items().size() == sequence.ids.size());
    const NoGrad no_tape;
    trained.model.network.train(false);
    const std::vector<real> values = trained.model.network.forward(pack(std::span(&sequence, 1), {0}), 0).values();
    const std::vector<double> logits(values.begin(), values.end());
    const Json::Array choices = page["predictions"].items()[0]["choices"].items();
    for (size_t c = 0; c < 3; ++c)
      CHECK(choices[c].items()[1].number() ==
            doctest::Approx(probabilities(TaskKind::classification, logits)[c]).epsilon(1e-3));
  }
}

TEST_CASE("inside: errors say what there is, and a long text is cut") {
  Look world;
  const auto error = [&](InsideOptions o) { return error_of([&] { world.look(o); }); };
  CHECK(contains(error({.text = "a", .task = "rte"}), "its tasks: sst quora sts"));
  CHECK(contains(error({.text = "a", .task = "sst", .label = "9"}),
                 "a label is a whole number from 0 to 4, or its "
                 "name: very negative, negative, neutral, "));
  CHECK(world.look({.text = "a", .task = "sst", .label = "positive"})["loss"].number() ==
        world.look({.text = "a", .task = "sst", .label = "3"})["loss"].number());
  CHECK(contains(error({.text = "a", .label = "1"}), "which of its tasks? --task takes one of sst, quora, sts"));
  CHECK(contains(error({.text = "a", .task = "quora"}), "quora takes two texts; give --text-b"));
  CHECK(contains(error({.text = "a", .text_b = "b", .task = "sst"}), "leave --text-b out"));
  CHECK(contains(error({.text = ""}), "--text is empty"));
  CHECK(contains(error({.text = "caf\xE9"}),
                 "--text:1: byte 4 of this line is 0xE9, which is not UTF-8"));
  const Json cut = world.look({.text = "good film , not dull .", .tokens = 5});
  CHECK(cut["cut"].boolean());
  CHECK(cut["pieces"].items().size() == 5);
  CHECK(!world.look({.text = "good"})["cut"].boolean());
}

TEST_CASE(
    "inside: the page holds any text, asks for nothing, is the same each time, and shows equal pieces") {
  Look world;
  Json inside = world.look(sst);
  const std::string page = inside_page({inside});
  CHECK((page == inside_page({world.look(sst)})));
  for (const char* outside :
       {"http:", "https:", "src=", "fetch(", "import ", "import(", "@import", "url("}) {
    CAPTURE(outside);
    CHECK(times(page, outside) == 0);
  }
  CHECK(contains(page, "default-src 'none'"));
  const std::string hostile = "</script><!--<script>alert(1)</script>";
  Json other = world.look(sst);
  other.set("text", hostile).set("pieces", Json::array({"[CLS]", hostile}));
  const std::string hostile_page = inside_page({other});
  CHECK(times(hostile_page, "</script>") == 2);
  CHECK(times(hostile_page, "<!--") == 0);
  CHECK(data_of(hostile_page).items()[0]["pieces"].items()[1].string() == hostile);
  CHECK(data_of(inside_page({inside, inside})).items().size() == 2);
  CHECK_ERROR(inside_page({inside, other}), "piece 2 is \"good\" and \"</script>");
}

}  // namespace minbert::test
