// Reading, checking and writing config.json.
#include "minbert/config.h"

#include <algorithm>
#include <functional>

#include "bert/family.h"
#include "engine/names.h"
#include "minbert/bert.h"
#include "minbert/files.h"

namespace minbert {
namespace {

constexpr std::pair<const char*, int BertConfig::*> sizes[] = {
    {"vocab_size", &BertConfig::vocab_size},
    {"hidden_size", &BertConfig::hidden_size},
    {"num_hidden_layers", &BertConfig::num_hidden_layers},
    {"num_attention_heads", &BertConfig::num_attention_heads},
    {"intermediate_size", &BertConfig::intermediate_size},
    {"max_position_embeddings", &BertConfig::max_position_embeddings},
    {"type_vocab_size", &BertConfig::type_vocab_size}};

struct Number {
  const char* key;
  double BertConfig::*value;
  bool dropout;
};
constexpr Number numbers[] = {
    {"hidden_dropout_prob", &BertConfig::hidden_dropout_prob, true},
    {"attention_probs_dropout_prob", &BertConfig::attention_probs_dropout_prob, true},
    {"initializer_range", &BertConfig::initializer_range, false},
    {"layer_norm_eps", &BertConfig::layer_norm_eps, false}};

struct Choice {
  const char* key;
  std::string BertConfig::*value;
  std::function<void(const std::string& value)> check;     // Error for what is not valid
};
auto one_of(const char* what, const std::vector<std::string>& names) {
  return [=](const std::string& name) { index_of(name, names, what); };
}
const Choice choices[] = {
    {"norm", &BertConfig::norm, [](const std::string& norm) { norms().check(norm); }},
    {"placement", &BertConfig::placement, one_of("placement", placement_names)},
    {"cls_norm", &BertConfig::cls_norm, [](const std::string& norm) { cls_norms().check(norm); }},
    {"cls_norm_at", &BertConfig::cls_norm_at, one_of("place", cls_norm_places)},
    {"initialisation", &BertConfig::initialisation,
     one_of("initialisation", initialisation_names())},
    {"embeddings_norm", &BertConfig::embeddings_norm,
     one_of("embeddings norm", embeddings_norm_names)},
    {"positions", &BertConfig::positions, one_of("position embedding", position_names)},
    {"pairs", &BertConfig::pairs, one_of("kind", pair_names)}};

// Keys whose other values ask for a network that minbert does not compute.
void check_kind(const Json& json, const std::string& file) {
  const std::string positions = json.get("position_embedding_type", std::string("absolute"));
  MB_CHECK(positions == "absolute",
           "{}: \"position_embedding_type\" is \"{}\"; minbert computes \"absolute\" only, so this "
           "model would give wrong results",
           file, positions);
  for (const char* key : {"is_decoder", "add_cross_attention"})
    MB_CHECK(!json.get(key, false), "{}: \"{}\" is true; minbert is an encoder and has no decoder",
             file, key);
}

void check_values(const BertConfig& c, const std::string& file) {
  for (const auto& [key, size] : sizes)
    MB_CHECK(c.*size > 0 || (c.*size == 0 && size == &BertConfig::type_vocab_size),
             "{}: \"{}\" is {}, expected a positive number", file, key, c.*size);
  for (const Number& n : numbers) {
    const double v = c.*n.value;
    MB_CHECK(n.dropout ? 0 <= v && v < 1 : 0 < v && v < 1e30, "{}: \"{}\" is {}, expected {}", file,
             n.key, v, n.dropout ? "a probability from 0 to below 1" : "a positive number");
  }
  for (const Choice& choice : choices) {
    try {
      choice.check(c.*choice.value);
    } catch (const Error& e) {
      fail(formatted("{}: \"minbert.{}\": {}", file, choice.key, e.what()));
    }
  }
  MB_CHECK(c.hidden_size % c.num_attention_heads == 0,
           "{}: \"hidden_size\" is {} and \"num_attention_heads\" is {}: expected a multiple of it",
           file, c.hidden_size, c.num_attention_heads);
  MB_CHECK(0 <= c.pad_token_id && c.pad_token_id < c.vocab_size,
           "{}: \"pad_token_id\" is {}, expected 0 to vocab_size - 1 = {}", file, c.pad_token_id,
           c.vocab_size - 1);
  MB_CHECK(std::ranges::count(activation_names, c.hidden_act) > 0,
           "{}: \"hidden_act\" is \"{}\"; minbert computes {}", file, c.hidden_act,
           joined(activation_names));
  MB_CHECK(c.max_tokens() > 0,
           "{}: \"max_position_embeddings\" is {}, expected {} or more: the first {} are padding's",
           file, c.max_position_embeddings, c.first_position() + 1, c.first_position());
  const std::string behind = c.first_position() > 0 ? " - pad_token_id - 1" : "";
  MB_CHECK(0 < c.max_length && c.max_length <= c.max_tokens(),
           "{}: \"minbert.max_length\" is {}, expected 1 to max_position_embeddings{} = {}", file,
           c.max_length, behind, c.max_tokens());
}

// The encoder of Vaswani et al. 2017 with learned positions [NT model], initialised as the slides
// say [NT init]. The widths are choices of ours: the slides give none.
BertConfig transformer_encoder(int layers, int hidden_size) {
  BertConfig c;
  c.num_hidden_layers = layers;
  c.hidden_size = hidden_size;
  c.num_attention_heads = 4;
  c.intermediate_size = 4 * hidden_size;
  c.vocab_size = 4000;
  c.type_vocab_size = 0;
  c.hidden_act = "relu";
  c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
  c.embeddings_norm = "none";
  c.initialisation = "xavier-kaiming";
  return c;
}

}  // namespace

Pairs pairs_of(const std::string& name) {
  return Pairs(index_of(name, pair_names, "form of pairs"));
}

void BertConfig::set_norm(const std::string& text) {
  norm = text;
  const std::vector<NormOption>& options = norms().find(text).options;
  const NormOptions given{.hidden = hidden_size, .values = norm_values(text, options)};
  for (const NormOption& option : options)
    if (option.in_config) {                        // the value goes where transformers reads it
      layer_norm_eps = given.number(option.name, layer_norm_eps);
      MB_CHECK(layer_norm_eps > 0, "{}: eps is {}, expected a positive number", text,
               layer_norm_eps);
      norm = norm_name(text);                      // eps is the only option of these norms
    }
}

void BertConfig::set_family(const std::string& type) {
  const Family old = family();              // what differs from its values is the user's wish
  max_position_embeddings -= first_position();
  model_type = type;
  pad_token_id = family().pad_token_id;
  if (type_vocab_size == old.type_vocab_size) type_vocab_size = family().type_vocab_size;
  if (layer_norm_eps == old.layer_norm_eps) layer_norm_eps = family().layer_norm_eps;
  max_position_embeddings += first_position();
}

const Family& BertConfig::family() const { return family_of(model_type, "config.json"); }

bool BertConfig::has_trained_pooler() const { return family().next_sentence || !tasks.empty(); }

int BertConfig::first_position() const {
  return family().positions_behind_padding ? pad_token_id + 1 : 0;
}

BertConfig BertConfig::named(const std::string& name) {
  if (name.ends_with(".json")) return load(name);
  struct Named {
    const char* name;
    int layers, hidden_size;
  };
  std::string names;
  for (const Named& n : {Named{"tiny", 2, 128}, {"mini", 4, 256}, {"small", 4, 512},
                         {"base", 12, 768}, {"large", 24, 1024}}) {
    if (name == n.name) {
      BertConfig c;
      c.num_hidden_layers = n.layers;
      c.hidden_size = n.hidden_size;
      c.num_attention_heads = n.hidden_size / 64;
      c.intermediate_size = 4 * n.hidden_size;
      return c;
    }
    names += formatted("{}{} ({} layers of {})", names.empty() ? "" : ", ", n.name, n.layers,
                       n.hidden_size);
  }
  for (const int layers : {1, 5})
    for (const auto& [width, hidden_size] :
         {std::pair("narrow", 64), std::pair("normal", 128), std::pair("wide", 256)}) {
      const std::string encoder = formatted("{}-{}", width, layers);
      if (name == encoder) return transformer_encoder(layers, hidden_size);
      names += ", " + encoder;
    }
  fail(formatted("there is no configuration \"{}\"; the names are {}; or give a config.json", name,
                 names));
}

BertConfig BertConfig::load(const std::string& file) {
  BertConfig c;
  c.loaded = Json::load(file);
  check_kind(c.loaded, file);
  c.model_type = family_of(c.loaded.get("model_type", c.model_type), file).model_type;
  // Sizes are required: a default would be a guess. Numbers have defaults: old files lack some.
  for (const auto& [key, size] : sizes) {
    c.loaded[key].integer();                       // fails if it is missing
    c.*size = c.loaded.get(key, 0);
  }
  for (const Number& n : numbers) c.*n.value = c.loaded.get(n.key, c.*n.value);
  c.pad_token_id = c.loaded.get("pad_token_id", c.family().pad_token_id);
  c.hidden_act = c.loaded.get("hidden_act", c.hidden_act);

  const Json ours = c.loaded.has("minbert") ? c.loaded["minbert"] : Json::object();
  for (const Choice& choice : choices) c.*choice.value = ours.get(choice.key, c.*choice.value);
  if (ours.has("tasks"))
    for (const Json& task : ours["tasks"].items()) c.tasks.push_back(task.string());
  c.max_length = ours.get("max_length", std::min(c.max_length, c.max_tokens()));
  check_values(c, file);
  return c;
}

void BertConfig::save(const std::string& file) const {
  check_values(*this, file);
  Json json = loaded, ours = loaded.has("minbert") ? loaded["minbert"] : Json::object();
  json.set("model_type", model_type).set("hidden_act", hidden_act);
  json.set("pad_token_id", pad_token_id);
  for (const auto& [key, size] : sizes) json.set(key, this->*size);
  for (const Number& n : numbers) json.set(n.key, this->*n.value);
  for (const Choice& choice : choices) ours.set(choice.key, this->*choice.value);
  ours.set("tasks", Json::array({tasks.begin(), tasks.end()})).set("max_length", max_length);
  write_file(file, json.set("minbert", std::move(ours)).dump() + "\n");
}

}  // namespace minbert
