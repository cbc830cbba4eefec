// What the page carries so that its script can compute: the weights in 16 bits, the vocabulary, the
// tasks, and the hidden states that the script's are compared with.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "files/stored_types.h"
#include "inside/look.h"
#include "minbert/error.h"
#include "text/pieces.h"

namespace minbert {
namespace {

constexpr int64_t most_numbers = 5'000'000;         // 10 MB in 16 bits, 13 MB as base64
constexpr double most_half = 65504;                 // the largest number of 16 bits

// Three bytes are four letters.                                          RFC 4648, sec. 4
std::string base64(std::span<const uint8_t> bytes) {
  constexpr const char* letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (k < count ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k)
      text += k <= count ? letters[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// The lowest byte of each number comes first.
template <class Number>
std::string base64_of(const std::vector<Number>& numbers) {
  std::vector<uint8_t> bytes(numbers.size() * sizeof(Number));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return base64(bytes);
}

}  // namespace

std::string why_not_carried(const BertConfig& c, const Tokenizer& tokenizer,
                            const std::vector<Parameter>& parameters) {
  const auto other = [](const char* what, const auto& has, const char* computes) {
    return formatted("the model's {} is {}, and the page computes {}", what, has, computes);
  };
  if (c.model_type != "bert") return other("type", c.model_type, "bert");
  if (c.norm != "layer" && c.norm != "conditional-layer")
    return other("norm", c.norm, "layer and conditional-layer");
  if (c.embeddings_norm != EmbeddingsNorm::same) return other("norm of the embeddings", c.embeddings_norm, "same");
  if (c.placement != Placement::post) return other("placement of norms", c.placement, "post");
  if (c.hidden_act != "gelu") return other("activation", c.hidden_act, "gelu");
  if (c.positions != Positions::learned) return other("kind of positions", c.positions, "learned ones");
  if (c.pairs != Pairs::cross) return other("form of pairs", c.pairs, "cross");
  if (c.pool != Pool::pooler) return other("pooling", c.pool, "pooler");
  if (c.cls_norm != "none") return other("norm of [CLS]", c.cls_norm, "none");
  if (c.type_vocab_size == 0) return "the model has no segment embeddings";
  for (const AddedToken& token : tokenizer.pieces().added)
    if (!std::ranges::count(tokenizer.pieces().special, token.id))
      return formatted("the model's vocabulary has the added token {}, and the page keeps none whole", token.content);
  int64_t count = 0;
  for (const Parameter& p : parameters) count += p.value.size();
  if (count > most_numbers)
    return formatted("the model has {} numbers; a page carries at most {}", count, most_numbers);
  for (const Parameter& p : parameters)
    for (const real x : p.value.values())
      if (!(std::abs(double(x)) <= most_half))
        return formatted("{} has a number that is too large for 16 bits", p.name);
  return "";
}

void round_to_half(const Parameters& parameters) {
  for (const Parameter& p : parameters.items()) {
    std::vector<real> values = p.value.values();
    for (real& x : values) x = real(from_f16(to_f16(double(x))));
    p.value.copy_from(values);
  }
}

Json carried_json(const TrainedModel& trained, const std::vector<Parameter>& parameters,
                  const std::vector<Tensor>& states, int most_tokens) {
  Json::Array names, tasks;
  std::vector<uint16_t> halves;
  for (const Parameter& p : parameters) {
    names.push_back(Json::array({p.name, p.value.rows(), p.value.cols()}));
    for (const real x : p.value.values()) halves.push_back(to_f16(double(x)));
  }
  std::vector<float> hidden;
  for (const Tensor& state : states)
    for (const real x : state.values()) hidden.push_back(float(x));
  for (const Task& task : trained.tasks) {
    const std::vector<std::string> labels = labels_of(task);
    tasks.push_back(Json::object({{"name", task.name},
                                  {"pair", task.is_pair()},
                                  {"low", task.low},
                                  {"high", task.high},
                                  {"labels", Json::array({labels.begin(), labels.end()})}}));
  }
  const std::vector<std::string>& tokens = trained.tokenizer.tokens();
  const Cleaning cleaning = trained.tokenizer.pieces().cleaning.value();      // WordPiece has one
  return Json::object(
      {{"parameters", Json::array(names)},
       {"weights", base64_of(halves)},
       {"states", base64_of(hidden)},
       {"eps", trained.config.layer_norm_eps},
       {"tasks", Json::array(tasks)},
       {"tokens", Json::array({tokens.begin(), tokens.end()})},
       {"most_tokens", most_tokens},
       {"cleaning",
        Json::object({{"lower_case", cleaning.lower_case},
                      {"strip_accents", cleaning.strip_accents},
                      {"chinese_apart", cleaning.chinese_apart}})}});
}

}  // namespace minbert
