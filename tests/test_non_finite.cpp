// What is broken shows: a NaN, an infinity or an overflow spreads to all that depends on it, and no
// state holds one.
#include <doctest/doctest.h>

#include <limits>
#include <map>

#include "cls_set.h"
#include "error_of.h"
#include "lone_norm.h"
#include "models/encode_file.h"
#include "op_cases.h"
#include "small_run.h"

namespace minbert::test {
namespace {

using Parts = std::map<std::string, std::vector<real>>;  // results by name: y, dx, a buffer, ...

constexpr real not_a_number = std::numeric_limits<real>::quiet_NaN(),
               infinity = std::numeric_limits<real>::infinity();
constexpr real huge = is_double ? real(1e170) : real(1e25);      // finite, but its square is not

Tensor with(const Tensor& x, int64_t element, real value) {
  std::vector<real> values = x.values();
  values[size_t(element)] = value;
  return Tensor::from(x.shape(), values);
}

// The places of part `name` that depend on an input: those where two results of different inputs
// differ.
std::vector<size_t> dependents(const Parts& a, const Parts& b, const std::string& name) {
  std::vector<size_t> places;
  for (size_t i = 0; i < a.at(name).size(); ++i)
    if (a.at(name)[i] != b.at(name)[i]) places.push_back(i);
  return places;
}

size_t finite_ones(const std::vector<real>& values, const std::vector<size_t>& places) {
  size_t count = 0;
  for (const size_t i : places) count += std::isfinite(values[i]);
  return count;
}

// run(v): the results where one element of the input is v.
template <class Run>
void check_spreads(const Run& run) {
  const Parts one = run(real(0.3)), other = run(real(0.9));
  for (const real broken : {not_a_number, infinity, -infinity, huge}) {
    INFO("with " << broken);
    const Parts parts = run(broken);
    size_t of_buffers = 0, finite_buffers = 0;
    for (const auto& [name, values] : parts) {
      INFO(name);
      const std::vector<size_t> places = dependents(one, other, name);
      const size_t finite = finite_ones(values, places);
      const bool buffer = name.starts_with("buffer ");
      if (buffer) of_buffers += places.size(), finite_buffers += finite;
      // A huge number alone is no statistic, and a mean of it need not overflow.
      if (broken != huge || (!buffer && places.size() > 1)) CHECK(finite == 0);
    }
    if (of_buffers > 0) CHECK(finite_buffers < of_buffers);
  }
}

// A step of training, what it leaves in the buffers, and evaluation of what is sound.
template <class Forward>
Parts train_and_evaluate(Module& module, const Tensor& x, const Tensor& sound,
                         const Forward& forward) {
  Parts parts;
  module.train();
  Tensor in = x.detach();
  const Tensor y = scale(forward(in.set_requires_grad(true)), 1);
  parts["y"] = y.values();
  backward(y, normal("dy", y.shape()));
  parts["dx"] = in.grad().values();
  for (const Parameter& b : module.own_buffers())
    if (b.name != "count") parts["buffer " + b.name] = b.value.values();
  module.train(false);
  parts["evaluation"] = forward(sound).values();
  return parts;
}

}  // namespace

TEST_CASE("non-finite: a NaN spreads through every operation to all that depends on it") {
  for (const Case& c : cases())
    for (size_t input = 0; input < c.inputs.size(); ++input)
      for (int64_t k = 0; k < c.inputs[input].size(); k += 5) {
        const auto run = [&](real value) {
          Inputs inputs = c.inputs;
          inputs[input] = with(inputs[input], k, value);
          return Parts{{"y", c.f(inputs).values()}};
        };
        const real now = c.inputs[input].values()[size_t(k)];
        const Parts sound = run(now), other = run(now + real(0.25));
        INFO(c.operation << " " << c.form << ", input " << input << ", element " << k);
        CHECK(finite_ones(run(not_a_number).at("y"), dependents(sound, other, "y")) == 0);
      }
}

TEST_CASE("non-finite: what is broken or overflows in a norm spreads as far as its statistics do") {
  const Batch batch = three_sentences(tasks_of_sentences);
  const Tensor x = normal("x", {8, 6});
  for (const NormEntry& entry : norms().entries)
    for (const int64_t row : {0, 3, 7}) {           // the second sentence is row 3 alone
      INFO(std::string(entry.name) << ", row " << row);
      check_spreads([&](real value) {
        const Lone lone(entry.name, {6, 3, 1e-5});
        return train_and_evaluate(*lone.norm, with(x, 6 * row + 2, value), x,
                                  [&](const Tensor& in) { return (*lone.norm)(in, batch); });
      });
    }
}

TEST_CASE(
    "non-finite: in every norm of [CLS] too, and none takes its statistics from what is broken") {
  const Tensor set = embeddings("set", 21, 6), h = embeddings("h", 7, 6);
  for (const NormEntry& entry : cls_norms().entries)
    for (const std::string& norm_text : with_presets(entry)) {
      INFO(norm_text);
      const auto make = [&] { return cls_norms().make(norm_text, {6}); };
      for (const int64_t row : {0, 4}) {
        if (make()->wants_set()) continue;
        check_spreads([&](real value) {
          const auto norm = make();
          const Parameters parameters(*norm, {});
          return train_and_evaluate(*norm, with(h, 6 * row + 2, value), h,
                                    [&](const Tensor& in) { return (*norm)(in); });
        });
      }
      if (!make()->wants_set()) continue;
      for (const real broken : {not_a_number, infinity, huge}) {
        INFO("with " << broken);
        const auto norm = make();
        const std::string error =
            error_of([&] { norm->fit(with(set, 8, broken)), norm->finish_fit(); });
        if (broken != huge)
          CHECK(error.starts_with(formatted("{}: the set has a row with the value", entry.name)));
        else if (error == "no error")
          for (const auto& [buffer, values] : buffers_of(*norm))
            CHECK(std::isfinite(largest(values)));
        if (broken != huge)
          CHECK_FALSE(
              std::isfinite(largest((*fitted(entry.name, 6, set))(with(h, 8, broken)).values())));
      }
    }
}

TEST_CASE("non-finite: gradient normalization spreads it over the whole gradient") {
  const Tensor h = normal("h", {7, 6});
  const auto gradient_of = [&](const Tensor& dy) {
    Tensor in = h.detach();
    backward(normalize_gradient(in.set_requires_grad(true), 0.5), dy);
    return in.grad().values();
  };
  const auto all_broken = [&](const Tensor& dy) {
    for (const real g : gradient_of(dy))
      if (std::isfinite(g)) return false;
    return true;
  };
  CHECK_FALSE(all_broken(h));
  for (const real broken : {not_a_number, infinity, -infinity})
    CHECK(all_broken(with(h, 8, broken)));
  CHECK(all_broken(Tensor::full({7, 6}, std::numeric_limits<real>::max())));  // their sum overflows
}

TEST_CASE("non-finite: a run does not save a statistic or a moment that is broken, and names it") {
  BertModel bert(tiny_config("batch"));
  Parameters parameters(bert, {});
  const Optimizer optimizer(parameters, {});
  const auto error = [&] {
    return error_of([&] { check_finite(parameters, optimizer, 7, "Try less."); });
  };
  CHECK(error() == "no error");
  const auto named = [&](const std::string& name, const Tensor& values, real broken,
                         const char* text) {
    const std::vector<real> sound = values.values();
    values.copy_from(with(values, values.size() - 1, broken).values());
    CHECK(error() == formatted("{} has the value {} after step 7\n  Try less.", name, text));
    values.copy_from(sound);
  };
  for (const std::string name : {"pooler.dense.weight", "embeddings.LayerNorm.running_var"})
    named(name, parameters.value(name), infinity, "inf");
  for (const auto& [name, values] : optimizer.moments())
    named("optimizer." + name, values, -infinity, "-inf");
}

TEST_CASE("non-finite: what is loaded holds none; the error names file and tensor") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.cls_norm = "iso-bn";
  world.run(o, "run", 1, "batch");
  world.run(o, "whole", 0, "batch");
  // The tensor's last number becomes a NaN: all bits of its bytes are set.
  const auto refused = [&](const std::string& file, const std::string& name, auto&& load) {
    INFO(name);
    const std::string sound = read_file(file);
    uint64_t header = 0;
    std::copy_n(sound.begin(), 8, reinterpret_cast<char*>(&header));
    const SafeTensors::Entry entry = SafeTensors(file).entry(name);
    std::string broken = sound;
    const size_t size = entry.type == "F64" ? 8 : 4;
    std::fill_n(broken.begin() + int64_t(8 + header + entry.end - size), size, '\xff');
    write_file(file, broken);
    const std::string error = error_of(load);
    CHECK(error.starts_with(formatted("{}: {} has the value ", file, name)));
    CHECK_FALSE(contains(error, "another run"));
    write_file(file, sound);
    CHECK(error_of(load) == "no error");
  };
  for (const std::string name : {"bert.pooler.dense.weight", "bert.cls_norm.covariance"})
    refused(world.path("whole/model/model.safetensors"), name, [&] {
      const Quiet quiet;
      TrainedModel(world.path("whole"));            // as encode, predict and --evaluate begin
    });
  for (const std::string name :
       {"bert.pooler.dense.weight", "bert.embeddings.LayerNorm.running_var", "optimizer.second"})
    refused(world.path("run/state.safetensors"), name, [&] {
      std::filesystem::remove_all(world.path("again"));
      std::filesystem::copy(world.path("run"), world.path("again"),
                            std::filesystem::copy_options::recursive);
      try {
        world.run(o, "again", 0, "batch");
      } catch (const Error& e) {                    // names the copy
        std::string text = e.what();
        fail(world.path("run") + text.substr(world.path("again").size()));
      }
    });
}

TEST_CASE("non-finite: encode says what overflows, and writes nothing") {
  const SmallWorld world;
  TrainedModel trained(world.path("start"));
  trained.model.parameters.value("bert.encoder.layer.0.output.LayerNorm.weight")
      .copy_from(std::vector<real>(8, std::numeric_limits<real>::max()));
  write_file(world.path("texts"), "a good film\na bad plot\n");
  EncodeOptions o;
  o.input = world.path("texts"), o.output = world.path("vectors");
  const Quiet quiet;
  CHECK(error_of([&] { encode(trained, o); }).starts_with("pooler_output has the value "));
  CHECK_FALSE(std::filesystem::exists(o.output));
}

}  // namespace minbert::test
