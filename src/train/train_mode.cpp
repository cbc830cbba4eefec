// The modes of training, by name and by mask.
#include "train/train_mode.h"

#include <regex.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>

#include "engine/names.h"
#include "minbert/random.h"
#include "minbert/safetensors.h"

namespace minbert {
namespace {

using Trains = std::function<bool(const std::string& name)>;

bool of_norm(const std::string& name) { return name.find("LayerNorm.") != name.npos; }
bool of_output_norm(const std::string& name) {
  return name.find(".output.LayerNorm.") != name.npos && name.find(".attention.") == name.npos;
}

// Modes without an argument: whether a parameter is trained beside the head, by its name.
struct NamedMode {
  std::string name;
  Trains trains;
};
const std::vector<NamedMode> named_modes = {
    {trained::full_model, [](const std::string&) { return true; }},
    {trained::heads, [](const std::string&) { return false; }},
    {trained::bitfit, [](const std::string& name) { return name.ends_with("bias"); }},
    {trained::layer_norm, of_output_norm},
    {trained::every_layer_norm, of_norm}};

const std::string random_prefix = trained::random + ":", mask_prefix = "mask:", regex_prefix = "regex:";

// The pattern of regex:PATTERN, an extended regular expression of POSIX; none for another mode.
using Pattern = std::shared_ptr<regex_t>;
Pattern pattern_of(const std::string& mode) {
  if (!mode.starts_with(regex_prefix)) return nullptr;
  regex_t compiled;
  const int error = regcomp(&compiled, mode.c_str() + regex_prefix.size(), REG_EXTENDED | REG_NOSUB);
  char why[200] = "";
  regerror(error, &compiled, why, sizeof(why));
  MB_CHECK(error == 0, "--train {}: this is no regular expression: {}", mode, why);
  return Pattern(new regex_t(compiled), [](regex_t* p) {
    regfree(p);
    delete p;
  });
}

// The N of random:N; none for another mode.
std::optional<int64_t> random_count(const std::string& mode) {
  if (!mode.starts_with(random_prefix)) return std::nullopt;
  int64_t count = 0;
  const char *begin = mode.data() + random_prefix.size(), *end = mode.data() + mode.size();
  const auto [rest, error] = std::from_chars(begin, end, count);
  MB_CHECK(error == std::errc() && rest == end && count > 0, "--train {}: \"{}\" is not a whole number above 0", mode,
           std::string(begin, end));
  return count;
}

int64_t count_of(const Parameters& parameters, const Trains& trains) {
  int64_t sum = 0;
  for (const Parameter& p : parameters.items()) sum += trains(p.name) ? p.value.size() : 0;
  return sum;
}

// `count` different numbers below `all`, every set of them equally likely: Floyd's algorithm (Bentley & Floyd,
// Communications of the ACM 30(9), 1987).
std::unordered_set<int64_t> sample(int64_t count, int64_t all, Random& random) {
  std::unordered_set<int64_t> chosen;
  for (int64_t most = all - count; most < all; ++most) {
    const int64_t drawn = int64_t(random.below(uint64_t(most + 1)));
    if (!chosen.insert(drawn).second) chosen.insert(most);
  }
  return chosen;
}

// The heads, and elements of all other parameters, counted in the parameters' order.
std::map<std::string, Mask> random_masks(const Parameters& parameters, const Trains& of_head, int64_t count,
                                         const std::string& mode, uint64_t seed) {
  const int64_t heads = count_of(parameters, of_head);
  MB_CHECK(count >= heads && count <= parameters.count(),
           "--train {}: expected a number from {}, the size of the heads, to {}, that of the model", mode, heads,
           parameters.count());
  Random random(seed, "trained elements");
  const std::unordered_set<int64_t> chosen = sample(count - heads, parameters.count() - heads, random);
  std::map<std::string, Mask> masks;
  int64_t place = 0;
  for (const Parameter& p : parameters.items()) {
    Mask& mask = masks[p.name] = Mask(size_t(p.value.size()), 1);
    if (of_head(p.name)) continue;
    for (uint8_t& learns : mask) learns = chosen.contains(place++);
  }
  return masks;
}

}  // namespace

std::string train_modes() { return joined(names_of(named_modes)) + ", random[:N], regex:PATTERN, mask:FILE"; }

std::string mask_file(const std::string& mode) {
  return mode.starts_with(mask_prefix) ? mode.substr(mask_prefix.size()) : "";
}

std::string check_train_mode(const std::string& mode) {
  if (mode == "finetune") return trained::full_model;
  if (mode == "pretrain") return trained::heads;
  const std::vector<std::string> names = names_of(named_modes);
  const bool named = std::ranges::find(names, mode) != names.end();
  MB_CHECK(named || mode == trained::random || random_count(mode) || pattern_of(mode) || !mask_file(mode).empty(),
           "--train: there is no \"{}\"; valid are: {}", mode, train_modes());
  return mode;
}

void set_trained(Parameters& parameters, const std::string& wanted, uint64_t seed, bool new_pooler) {
  const Trains of_head = [=](const std::string& name) {
    return name.starts_with("heads.") || (new_pooler && name.starts_with("bert.pooler."));
  };
  const std::string mode = check_train_mode(wanted);
  if (const std::string file = mask_file(mode); !file.empty())
    return parameters.set_trainable(read_masks(file, parameters));
  if (mode.starts_with(trained::random)) {
    const int64_t count = random_count(mode).value_or(
        count_of(parameters, [&](const std::string& name) { return of_head(name) || of_output_norm(name); }));
    return parameters.set_trainable(random_masks(parameters, of_head, count, mode, seed));
  }
  if (const Pattern pattern = pattern_of(mode)) {
    bool any = false;
    parameters.set_trainable([&](const std::string& name) {
      const bool found = regexec(pattern.get(), name.c_str(), 0, nullptr, 0) == 0;
      any |= found;
      return of_head(name) || found;
    });
    MB_CHECK(any, "--train {}: it is found in the name of no parameter; as an example, one is {}", mode,
             parameters.items()[0].name);
    return;
  }
  const auto named = std::ranges::find(named_modes, mode, &NamedMode::name);
  parameters.set_trainable([&](const std::string& name) { return of_head(name) || named->trains(name); });
}

std::map<std::string, Mask> read_masks(const std::string& file, const Parameters& parameters) {
  const SafeTensors stored(file);
  std::map<std::string, Mask> masks;
  for (const Parameter& p : parameters.items()) {
    MB_CHECK(stored.entries().contains(p.name), "{}: there is no mask for {}; expected one for every parameter", file,
             p.name);
    const std::vector<int64_t> shape = stored.entry(p.name).shape, expected = sizes_of(p.value.shape());
    MB_CHECK(shape == expected, "{}: the mask {} is {}, but the parameter is {}", file, p.name, sizes_text(shape),
             sizes_text(expected));
    masks[p.name] = stored.read_booleans(p.name);
  }
  for (const auto& [name, entry] : stored.entries())
    MB_CHECK(masks.contains(name), "{}: the model has no parameter {}; is the mask another model's?", file, name);
  return masks;
}

void write_masks(const std::string& file, const Parameters& parameters, const std::map<std::string, Mask>& masks) {
  SafeTensorsWriter writer;
  for (const Parameter& p : parameters.items())
    writer.add(p.name, sizes_of(p.value.shape()), std::span<const uint8_t>(masks.at(p.name)));
  writer.write(file);
}

}  // namespace minbert
