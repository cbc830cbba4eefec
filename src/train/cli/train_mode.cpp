// The modes of training, by name and by mask.
#include "train/cli/train_mode.h"

#include <algorithm>
#include <regex>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/random.h"
#include "minbert/safetensors.h"

namespace minbert {
namespace {

// What is trained beside the heads: the parameters in whose names the pattern is found.
struct NamedMode {
  std::string name, pattern;
};
const std::vector<NamedMode> named_modes = {
    {trained::full_model, ""},
    {trained::heads, "^$"},
    {trained::bitfit, "bias$"},
    {trained::layer_norm, "layer[.][0-9]+[.]output[.]LayerNorm[.]"},
    {trained::every_layer_norm, "LayerNorm[.]"}};

const std::string mask_prefix = "mask:", regex_prefix = "regex:";

// option: with its value, for the error
std::regex regex_of(const std::string& pattern, const std::string& option) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& e) {
    fail(formatted("{}: this is no regular expression: {}", option, e.what()));
  }
}

std::regex pattern_of(const std::string& mode) {
  const auto named = std::ranges::find(named_modes, mode, &NamedMode::name);
  if (named != named_modes.end()) return std::regex(named->pattern);
  MB_CHECK(mode.starts_with(regex_prefix), "--train: there is no \"{}\"; valid are: {}", mode,
           train_modes());
  return regex_of(mode.substr(regex_prefix.size()), "--train " + mode);
}

void check_found(bool found, const std::string& option, const Parameters& parameters) {
  MB_CHECK(found, "{}: it is found in the name of no parameter; as an example, one is {}", option,
           parameters.items()[0].name);
}

// Everything of the heads, and `count` elements of all other parameters, every set of so many
// equally likely: of `left` elements that are still to be looked at, one is drawn for each of
// `wanted` (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S).
template <class OfHead>
std::map<std::string, Mask> random_masks(const Parameters& parameters, const OfHead& of_head,
                                         int64_t count, uint64_t seed) {
  int64_t wanted = count, left = 0;
  for (const Parameter& p : parameters.items()) left += of_head(p.name) ? 0 : p.value.size();
  Random random(seed, "trained elements");
  std::map<std::string, Mask> masks;
  for (const Parameter& p : parameters.items()) {
    Mask& mask = masks[p.name] = Mask(size_t(p.value.size()), 1);
    if (of_head(p.name)) continue;
    for (uint8_t& learns : mask) {
      learns = int64_t(random.below(uint64_t(left--))) < wanted;
      wanted -= learns;
    }
  }
  return masks;
}

}  // namespace

std::string train_modes() {
  return joined(names_of(named_modes)) + ", random, regex:PATTERN, mask:FILE";
}

std::string mask_file(const std::string& mode) {
  return mode.starts_with(mask_prefix) ? mode.substr(mask_prefix.size()) : "";
}

void check_train_mode(const std::string& mode) {
  if (mode != trained::random && mask_file(mode).empty()) pattern_of(mode);
}

// The heads are always trained. Beside them bitfit trains every bias, layer-norm the
// output.LayerNorm of every layer, and random as many elements as layer-norm [LN-PEFT sec.3.1];
// how many these are: [LN-PEFT fact.parameters]
void set_trained(Parameters& parameters, const std::string& mode, uint64_t seed, bool new_pooler) {
  const auto of_head = [=](const std::string& name) {
    return name.starts_with("heads.") || (new_pooler && name.starts_with("bert.pooler."));
  };
  if (const std::string file = mask_file(mode); !file.empty())
    return parameters.set_trainable(read_masks(file, parameters));
  const std::regex pattern = pattern_of(mode == trained::random ? trained::layer_norm : mode);
  int64_t found = 0;                                // elements, beside the heads
  parameters.set_trainable([&](const std::string& name) {
    const bool is_found = !of_head(name) && std::regex_search(name, pattern);
    if (is_found) found += parameters.value(name).size();
    return of_head(name) || is_found;
  });
  if (mode == trained::random)
    return parameters.set_trainable(random_masks(parameters, of_head, found, seed));
  check_found(found > 0 || mode == trained::heads, "--train " + mode, parameters);
}

RateOf rates_of(const std::string& list, const Parameters& parameters) {
  std::map<std::string, double> factors;            // the first pattern's alone
  for (const std::string& part : split(list)) {
    const std::string option = "--rate " + part;
    const size_t equals = part.rfind('=');
    const double factor =
        equals == part.npos ? -1 : number_in(part.substr(equals + 1)).value_or(-1);
    MB_CHECK(equals > 0 && factor >= 0,
             "{}: expected PATTERN=FACTOR, such as task_weight=30, with a factor of 0 or more",
             option);
    const std::regex pattern = regex_of(part.substr(0, equals), option);
    bool found = false;
    for (const Parameter& p : parameters.items()) {
      if (!std::regex_search(p.name, pattern)) continue;
      found = true;
      factors.insert({p.name, factor});
    }
    check_found(found, option, parameters);
  }
  return [factors](const std::string& name) {
    const auto own = factors.find(name);
    return own == factors.end() ? 1 : own->second;
  };
}

std::map<std::string, Mask> read_masks(const std::string& file, const Parameters& parameters) {
  const SafeTensors stored(file);
  std::map<std::string, Mask> masks;
  for (const Parameter& p : parameters.items()) {
    MB_CHECK(stored.entry(p.name).shape == sizes_of(p.value.shape()),
             "{}: the mask {} is {}, but the parameter is {}", file, p.name,
             sizes_text(stored.entry(p.name).shape), p.value.shape());
    masks[p.name] = stored.read_booleans(p.name);
  }
  for (const auto& [name, entry] : stored.entries())
    MB_CHECK(masks.contains(name),
             "{}: the model has no parameter {}; is the mask another model's?", file, name);
  return masks;
}

}  // namespace minbert
