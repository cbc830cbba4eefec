// Reading, checking and writing config.json.
#include "minbert/config.h"

#include <algorithm>
#include <map>

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

// Calls field(key, value) for each of our additions.
void visit_additions(auto& c, const auto& field) {
  field("norm", c.norm), field("placement", c.placement);
  field("cls_norm", c.cls_norm), field("cls_norm_at", c.cls_norm_at);
  field("initialisation", c.initialisation), field("embeddings_norm", c.embeddings_norm);
  field("positions", c.positions), field("pairs", c.pairs), field("pool", c.pool);
}
void read(const Json& json, const char*, std::string& value) { value = json.string(); }
template <class E>
void read(const Json& json, const char* key, E& value) {
  value = choice<E>(json.string(), key);
}
std::string written(const std::string& value) { return value; }
std::string written(auto value) { return name_of(value); }

// Says of an error where the mistake is.
void within(const std::string& place, const auto& reading) {
  try {
    reading();
  } catch (const Error& e) {
    fail(formatted("{}: {}", place, e.what()));
  }
}

// Keys whose other values ask for a network that minbert does not compute.
void check_kind(const Json& json, const std::string& file) {
  const std::string positions = json.get("position_embedding_type", std::string("absolute"));
  MB_CHECK(positions == "absolute",
           "{}: \"position_embedding_type\" is \"{}\"; minbert computes \"absolute\" only, so this "
           "model would give wrong results",
           file, positions);
  for (const char* key : {"is_decoder", "add_cross_attention"})
    MB_CHECK(!json.get(key, false), "{}: \"{}\" is true; minbert reads encoders alone", file, key);
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
  within(file + ": \"minbert\"", [&] { norms().check(c.norm), cls_norms().check(c.cls_norm); });
  MB_CHECK(c.hidden_size % c.num_attention_heads == 0,
           "{}: \"hidden_size\" is {} and \"num_attention_heads\" is {}: expected a multiple of it",
           file, c.hidden_size, c.num_attention_heads);
  MB_CHECK(0 <= c.pad_token_id && c.pad_token_id < c.vocab_size,
           "{}: \"pad_token_id\" is {}, expected 0 to vocab_size - 1 = {}", file, c.pad_token_id,
           c.vocab_size - 1);
  within(file, [&] { activation(c.hidden_act); });
  MB_CHECK(c.max_tokens() > 0,
           "{}: \"max_position_embeddings\" is {}, expected {} or more: the first {} are padding's",
           file, c.max_position_embeddings, c.first_position() + 1, c.first_position());
  const std::string after = c.first_position() > 0 ? " - pad_token_id - 1" : "";
  MB_CHECK(0 < c.max_length && c.max_length <= c.max_tokens(),
           "{}: \"minbert.max_length\" is {}, expected 1 to max_position_embeddings{} = {}", file,
           c.max_length, after, c.max_tokens());
}

const std::string other_function = "minbert";       // the model_type of what is not plain

// Hugging Face's other names of the same functions.
const std::map<std::string, std::string> other_activation_names = {
    {"gelu_python", "gelu"}, {"gelu_fast", "gelu_new"}, {"gelu_pytorch_tanh", "gelu_new"}};

// The head of a ...ForSequenceClassification. Without id2label its labels are LABEL_0, LABEL_1,
// and so on, as transformers writes them: two, or num_labels.
ClassifierHead classifier_in(const Json& json, const std::string& file) {
  const Json::Array classes = json.find("architectures").items();
  if (classes.empty() || !classes[0].string().ends_with("ForSequenceClassification")) return {};
  ClassifierHead head;
  const bool named = !json.find("id2label").is_null();
  const Json::Object names = json.find("id2label").members();
  const size_t count = named ? names.size() : size_t(json.get("num_labels", 2));
  for (size_t id = 0; id < count; ++id) {
    const auto name = names.find(std::to_string(id));
    MB_CHECK(!named || name != names.end(),
             "{}: \"id2label\" has {} labels, but none for {}; expected one for each of 0 to {}",
             file, count, id, count - 1);
    head.labels.push_back(!named                       ? formatted("LABEL_{}", id)
                          : name->second.is_string() ? name->second.string()
                                                     : name->second.dump(-1));
  }
  head.problem_type = json.get(
      "problem_type", std::string(count == 1 ? "regression" : "single_label_classification"));
  head.dropout = json.find("classifier_dropout").number_if();
  return head;
}

void set_classifier(Json& json, const ClassifierHead& head) {
  Json names = Json::object(), ids = Json::object();
  for (size_t id = 0; id < head.labels.size(); ++id) {
    names.set(std::to_string(id), head.labels[id]);
    ids.set(head.labels[id], int(id));
  }
  json.set("num_labels", int(head.labels.size())).set("id2label", names).set("label2id", ids);
  json.set("problem_type", head.problem_type);
  if (head.dropout) json.set("classifier_dropout", *head.dropout);
}

struct Named {
  std::string name;
  int layers, hidden_size, heads;
  bool original = false;                  // the original Transformer's encoder
};

}  // namespace

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

bool BertConfig::is_plain() const {
  return norm == "layer" && placement == Placement::post && cls_norm == "none" &&
         embeddings_norm == EmbeddingsNorm::same && positions == Positions::learned &&
         type_vocab_size > 0 &&
         ((pairs == Pairs::cross && pool == Pool::pooler) || tasks.empty());
}

bool BertConfig::has_trained_pooler() const { return family().next_sentence || !tasks.empty(); }

int BertConfig::first_position() const {
  return family().positions_after_padding ? pad_token_id + 1 : 0;
}

// The encoder of Vaswani et al. 2017 has learned positions [NT model] and is initialised as the
// slides say [NT init]. The widths are choices of ours: the slides give none.
BertConfig BertConfig::named(const std::string& name) {
  if (name.ends_with(".json")) return load(name);
  static const std::vector<Named> all = {
      {"tiny", 2, 128, 2},          {"mini", 4, 256, 4},          {"small", 4, 512, 8},
      {"base", 12, 768, 12},        {"large", 24, 1024, 16},      {"narrow-1", 1, 64, 4, true},
      {"normal-1", 1, 128, 4, true}, {"wide-1", 1, 256, 4, true},  {"narrow-5", 5, 64, 4, true},
      {"normal-5", 5, 128, 4, true}, {"wide-5", 5, 256, 4, true}};
  const auto found = std::ranges::find(all, name, &Named::name);
  MB_CHECK(found != all.end(),
           "there is no configuration \"{}\"; the names are {}; or give a config.json", name,
           joined(names_of(all)));
  BertConfig c;
  c.num_hidden_layers = found->layers;
  c.hidden_size = found->hidden_size;
  c.num_attention_heads = found->heads;
  c.intermediate_size = 4 * found->hidden_size;
  if (!found->original) return c;
  c.vocab_size = 4000;
  c.type_vocab_size = 0;
  c.hidden_act = "relu";
  c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
  c.embeddings_norm = EmbeddingsNorm::none;
  c.initialisation = Initialisation::xavier_kaiming;                          // [NT init]
  return c;
}

BertConfig BertConfig::load(const std::string& file) {
  BertConfig c;
  c.loaded = Json::load(file);
  check_kind(c.loaded, file);
  const Json ours = c.loaded.has("minbert") ? c.loaded["minbert"] : Json::object();
  std::string model_type = c.loaded.get("model_type", c.model_type);
  if (model_type == other_function) model_type = ours["model_type"].string();
  c.model_type = family_of(model_type, file).name;
  // Sizes are required: a default would be a guess. Numbers have defaults: old files lack some.
  for (const auto& [key, size] : sizes) {
    c.loaded[key].integer();                       // fails if it is missing
    c.*size = c.loaded.get(key, 0);
  }
  for (const Number& n : numbers) c.*n.value = c.loaded.get(n.key, c.*n.value);
  c.pad_token_id = c.loaded.get("pad_token_id", c.family().pad_token_id);
  c.hidden_act = c.loaded.get("hidden_act", c.hidden_act);
  if (const auto same = other_activation_names.find(c.hidden_act);
      same != other_activation_names.end())
    c.hidden_act = same->second;

  within(file + ": \"minbert\"", [&] {
    visit_additions(c, [&](const char* key, auto& value) {
      if (ours.has(key)) read(ours[key], key, value);
    });
  });
  for (const Json& task : ours.find("tasks").items()) {
    c.tasks.push_back((task.is_object() ? task["name"] : task).string());
    MB_CHECK(std::ranges::count(c.tasks, c.tasks.back()) == 1,
             "{}: \"minbert.tasks\": \"{}\" is named 2 times; once is enough", file,
             c.tasks.back());
    if (task.is_object()) c.described[c.tasks.back()] = task;
  }
  c.classifier = classifier_in(c.loaded, file);
  if (c.tasks.empty() && !c.classifier.labels.empty()) c.tasks = {foreign_task};
  c.max_length = ours.get("max_length", std::min(c.max_length, c.max_tokens()));
  check_values(c, file);
  return c;
}

void BertConfig::save(const std::string& file) const {
  check_values(*this, file);
  Json::Object kept = loaded.is_null() ? Json::Object() : loaded.members();
  for (const char* of_a_head : {"architectures", "num_labels", "id2label", "label2id",
                                "problem_type", "classifier_dropout", "minbert",
                                "tie_word_embeddings"})
    kept.erase(of_a_head);
  Json json = Json::object(kept);
  json.set("model_type", is_plain() ? model_type : other_function).set("hidden_act", hidden_act);
  if (is_plain()) json.set("architectures", Json::array({family().architecture[size_t(heads())]}));
  if (heads() == Heads::classifier && !classifier.labels.empty()) set_classifier(json, classifier);
  json.set("pad_token_id", pad_token_id);
  for (const auto& [key, size] : sizes) json.set(key, this->*size);
  for (const Number& n : numbers) json.set(n.key, this->*n.value);
  Json ours = loaded.has("minbert") ? loaded["minbert"] : Json::object();
  visit_additions(*this, [&](const char* key, const auto& value) {
    ours.set(key, written(value));
  });
  Json::Array list(tasks.begin(), tasks.end());
  for (Json& task : list)
    if (const auto fields = described.find(task.string()); fields != described.end())
      task = fields->second;
  ours.set("tasks", Json::array(list)).set("max_length", max_length);
  if (!is_plain()) ours.set("model_type", model_type);
  if (!is_foreign()) json.set("minbert", ours);
  write_file(file, json.dump() + "\n");
}

}  // namespace minbert
