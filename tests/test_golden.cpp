// Values and gradients against PyTorch's, from files that golden/reference.py made.
//
// Both sides compute from the same float32 inputs. In the double build what differs is the file's rounding to
// float32, 6e-8 of the largest value: it holds the formulas. In the float build our own roundings come on top, through
// a few dozen sums of a few dozen terms each, in an order that is each processor's own.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "golden_file.h"
#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/safetensors.h"
#include "op_cases.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

Tensor stored(const SafeTensors& file, const std::string& name) {
  const std::vector<int64_t>& s = file.entry(name).shape;
  const Shape shape = s.empty() ? Shape{} : s.size() == 1 ? Shape{s[0]} : Shape{s[0], s[1]};
  return Tensor::from(shape, file.read(name));
}

std::vector<Sequence> stored_sequences(const SafeTensors& file, const std::string& ids_name = "ids") {
  const std::vector<int64_t> ids = file.read_integers(ids_name), segments = file.read_integers("segments");
  std::vector<Sequence> sequences;
  size_t at = 0;
  for (const int64_t length : file.read_integers("lengths")) {
    Sequence s;
    for (int64_t i = 0; i < length; ++i, ++at) {
      s.ids.push_back(int32_t(ids[at]));
      s.segments.push_back(int32_t(segments[at]));
    }
    sequences.push_back(s);
  }
  return sequences;
}
Indices stored_indices(const SafeTensors& file, const std::string& name) {
  const std::vector<int64_t> values = file.read_integers(name);
  return std::vector<int32_t>(values.begin(), values.end());
}

BertConfig config_of(const std::string& form) {
  BertConfig config = golden_config();
  if (form == "transformer") {
    config.hidden_act = "relu", config.positions = Positions::sinusoidal, config.embeddings_norm = EmbeddingsNorm::none;
    config.type_vocab_size = 0;
  } else {
    config.placement = choice<Placement>(form, "");
  }
  return config;
}

// The root mean square of a - b, beside that of b or `least`, whichever is larger.
double rms_difference(const std::vector<real>& a, const std::vector<real>& b, double least) {
  if (a.size() != b.size()) return INFINITY;
  double squares = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(double(a[i]) - double(b[i]), 2);
    size += std::pow(double(b[i]), 2);
  }
  const double n = double(a.size());
  return std::sqrt(squares / n) / std::max(std::sqrt(size / n), least);
}

// A gradient that is the small sum of large terms (a key's bias changes no softmax: 0) is held beside a tenth of the
// largest gradient. In float that gave, with seven of OpenBLAS's kernels, 4e-7 on average and 4.5e-6 at most (SSE3);
// the bound leaves four times as much for other kernels and compilers.
using Rename = std::function<std::string(const std::string&)>;
void check_gradients(const Parameters& parameters, const SafeTensors& file,
                     const Rename& name = [](const std::string& ours) { return "gradient." + ours; }) {
  double size = 0;
  for (const Parameter& item : parameters.items())
    if (item.value.grad()) size = std::max(size, largest(item.value.grad().values()));
  for (const Parameter& item : parameters.items()) {
    INFO(item.name);
    if (!item.value.grad()) CHECK_FALSE(file.entries().contains(name(item.name)));
    else CHECK(rms_difference(item.value.grad().values(), file.read(name(item.name)), size / 10) <
               tolerance(2e-5, 1e-7));
  }
}

// The name in a RoBERTa's file, by hand.
std::string roberta_name(std::string name) {
  for (const auto& [ours, theirs] :
       {std::pair("heads.mnli", "classifier.out_proj"), std::pair("bert.pooler", "classifier"),
        std::pair("cls.predictions.transform.dense", "lm_head.dense"),
        std::pair("cls.predictions.transform.LayerNorm", "lm_head.layer_norm"),
        std::pair("cls.predictions.bias", "lm_head.bias"), std::pair("bert.", "roberta.")})
    if (name.starts_with(ours)) return theirs + name.substr(std::string(ours).size());
  return name;
}

}  // namespace

// With --operation: the values alone, since the gradients are those that the gradient check asks for.
TEST_CASE(golden_operations) {
  const SafeTensors file(golden_file("ops.safetensors"));
  const Indices labels = {2, 0, 5, 5}, rows = {3, 0, 3, 1, 3};
  const Tensor targets = Tensor::from({4, 1}, std::vector<real>{0, 1, 1, real(0.25)});
  const std::vector<std::pair<std::string, Function>> operations = {
      {"layer_norm", [](const Inputs& x) { return layer_norm(x[0], x[1], x[2], 1e-12); }},
      {"gelu", [](const Inputs& x) { return gelu(x[0]); }},
      {"tanh", [](const Inputs& x) { return tanh(x[0]); }},
      {"sigmoid", [](const Inputs& x) { return sigmoid(x[0]); }},
      {"softmax", [](const Inputs& x) { return softmax(x[0]); }},
      {"log_softmax", [](const Inputs& x) { return log(softmax(x[0])); }},
      {"linear", [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
      {"embedding", [&](const Inputs& x) { return embedding(x[0], rows); }},
      {"cosine_similarity", [](const Inputs& x) { return cosine_similarity(x[0], x[1]); }},
      {"cross_entropy", [&](const Inputs& x) { return cross_entropy(x[0], labels); }},
      {"binary_cross_entropy_with_logits",
       [&](const Inputs& x) { return binary_cross_entropy_with_logits(x[0], targets); }},
      {"mse_loss", [](const Inputs& x) { return mse_loss(x[0], x[1]); }},
      {"add", [](const Inputs& x) { return add(x[0], x[1]); }},
      {"sqrt", [](const Inputs& x) { return sqrt(x[0]); }},
      {"gelu_new", [](const Inputs& x) { return gelu_new(x[0]); }},
      {"matmul_tn", [](const Inputs& x) { return matmul_tn(x[0], x[1]); }},
      {"feed_forward", [](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4]); }},
      {"attention", [](const Inputs& x) { return attention(x[0], x[1], x[2], ragged(), 3, 0, key); }},
  };
  for (const auto& [name, f] : operations) {
    if (!is_asked_for(name)) continue;
    INFO(std::string(name));
    Inputs inputs;
    for (int i = 0; file.entries().count(formatted("{}.input{}", name, i)); ++i)
      inputs.push_back(stored(file, formatted("{}.input{}", name, i)).set_requires_grad(true));
    REQUIRE_FALSE(inputs.empty());
    const Tensor y = f(inputs);
    CHECK(y.shape() == stored(file, name + ".value").shape());
    CHECK(difference(y.values(), file.read(name + ".value")) < tolerance(1e-6, 1e-7));
    if (!only_operation.empty()) continue;
    backward(y, stored(file, name + ".cotangent"));
    for (size_t i = 0; i < inputs.size(); ++i)
      CHECK(difference(inputs[i].grad().values(), file.read(formatted("{}.gradient{}", name, i))) <
            tolerance(2e-6, 1e-7));
  }
}

TEST_CASE("golden: a packed BERT equals a padded one made of PyTorch's modules, forward and backward") {
  for (const auto& [form, name] :
       {std::pair("post", "bert"), std::pair("pre", "bert-pre"), std::pair("normformer", "bert-normformer"),
        std::pair("transformer", "transformer")}) {
    INFO(std::string(name));
    const SafeTensors file(golden_file(formatted("{}-expected.safetensors", name)));
    MultitaskBert model(config_of(form), {}, 0);
    model.train(false);
    Parameters parameters(model, {});
    const WeightsReport report = load_weights(golden_file(formatted("{}.safetensors", name)), parameters);
    CHECK(report.loaded.size() == parameters.items().size());
    CHECK(report.unused.empty());

    const BertOutput out = model.bert().forward(pack(stored_sequences(file)));
    CHECK(difference(out.last_hidden_state.values(), file.read("last_hidden_state")) < tolerance(1e-5, 1e-7));
    CHECK(difference(out.pooler_output.values(), file.read("pooler_output")) < tolerance(1e-5, 1e-7));
    const Tensor d_hidden = stored(file, "d_last_hidden_state"), d_pooled = stored(file, "d_pooler_output");
    backward(add(sum(mul(out.last_hidden_state, d_hidden)), sum(mul(out.pooler_output, d_pooled))));
    check_gradients(parameters, file);
  }
}

TEST_CASE("golden: both pre-training losses and their gradients are PyTorch's; the decoder is the word embeddings") {
  const SafeTensors file(golden_file("pretraining-expected.safetensors"));
  BertForPreTraining model(golden_config());
  model.train(false);
  Parameters parameters(model, {});
  const WeightsReport report = load_weights(golden_file("pretraining.safetensors"), parameters);
  CHECK(report.loaded.size() == parameters.items().size());
  CHECK(report.unused.empty());

  const PretrainingOutput out = model.forward(pack(stored_sequences(file)), stored_indices(file, "masked"),
                                              stored_indices(file, "originals"));
  const Tensor nsp = cross_entropy(out.nsp_logits, stored_indices(file, "not_next"));
  CHECK(double(out.mlm_loss.item()) == doctest::Approx(double(file.read("mlm_loss").at(0))).epsilon(1e-6));
  CHECK(double(nsp.item()) == doctest::Approx(double(file.read("nsp_loss").at(0))).epsilon(1e-6));
  backward(add(out.mlm_loss, nsp));
  check_gradients(parameters, file);
}

TEST_CASE("golden: a RoBERTa's two heads and their gradients are those of one written out from its definition") {
  const SafeTensors file(golden_file("roberta-expected.safetensors"));
  const Batch batch = pack(stored_sequences(file));
  const BertConfig plain = golden_roberta(), tuned = golden_roberta({"mnli"});
  CHECK(plain.max_position_embeddings == 14);       // two more than tokens: padding_idx + 1
  CHECK(plain.max_tokens() == 12);
  BertForPreTraining masked(plain);
  masked.train(false);
  Parameters parameters(masked, {});
  const WeightsReport report = load_weights(golden_file("roberta.safetensors"), parameters, &plain);
  CHECK(report.initialised == std::vector<std::string>{"bert.pooler.dense.weight", "bert.pooler.dense.bias"});
  CHECK(report.unused.size() == 4);                 // classifier.*: no task is said to have trained it
  CHECK(difference(masked.bert().forward(batch).last_hidden_state.values(), file.read("last_hidden_state")) <
        tolerance(1e-5, 1e-7));
  const std::vector<Sequence> with_pads = stored_sequences(file, "ids_with_pads");       // <pad> has position 1
  CHECK(difference(masked.bert().forward(pack(with_pads)).last_hidden_state.values(),
                   file.read("last_hidden_state_with_pads")) < tolerance(1e-5, 1e-7));
  const Indices rows = stored_indices(file, "masked");
  const PretrainingOutput out = masked.forward(batch, rows, stored_indices(file, "originals"));
  CHECK(double(out.mlm_loss.item()) == doctest::Approx(double(file.read("mlm_loss").at(0))).epsilon(1e-6));
  backward(out.mlm_loss);
  check_gradients(parameters, file, [](const std::string& ours) { return "mlm." + roberta_name(ours); });

  MultitaskBert model(tuned, {{"mnli", 3, true, false}}, 0);
  model.train(false);
  Parameters all(model, {});
  const WeightsReport whole = load_weights(golden_file("roberta.safetensors"), all, &tuned);
  CHECK(whole.loaded.size() == all.items().size());
  CHECK(whole.unused.empty());
  const Tensor logits = model.forward(batch, 0);
  CHECK(difference(logits.values(), file.read("logits")) < tolerance(1e-5, 1e-7));
  backward(cross_entropy(logits, stored_indices(file, "labels")));
  check_gradients(all, file, [](const std::string& ours) { return "task." + roberta_name(ours); });
}

}  // namespace minbert::test
