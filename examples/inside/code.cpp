// The lines of the sources that compute what a page shows.
#include <filesystem>
#include <regex>

#include "inside/look.h"
#include "minbert/shipped.h"
#include "report/source.h"

namespace minbert {
namespace {

constexpr struct {
  const char *view, *file, *name;
} places[] = {
    {"words", "src/text/word_piece.cpp", "encode_word"},
    {"attention", "src/ops/attention.cpp", "const auto attend"},
    {"attention", "examples/plain_bert.cpp", "attention"},
    {"layers", "src/bert/layer.cpp", "Tensor BertLayer::forward"},
    {"lens", "src/bert/pretraining.cpp", "Tensor MaskedWordHead::transform"},
    {"lens", "src/bert/pretraining.cpp", "Tensor MaskedWordHead::logits"},
    {"gradients", "src/engine/autograd.cpp", "void Tape::backward"},
    {"tape", "src/engine/autograd.cpp", "Tensor Tape::record"},
    {"compute", "examples/inside/forward.js", "  normalized(name, x, t) {"},
    {"predictions", "src/bert/model.cpp", "Tensor MultitaskBert::logits"},
};

Json json_of(const std::string& file, const Quote& quote) {
  return Json::object({{"file", file}, {"line", quote.first}, {"text", quote.text}});
}

// The class of a norm: its entry in the table names it, where it makes one.
Json::Array norm_code(const std::string& norm) {
  namespace fs = std::filesystem;
  const std::string folder = "src/norm/hidden/";
  std::error_code none;
  for (const auto& one : fs::directory_iterator(shipped(folder), none)) {
    const std::string file = folder + one.path().filename().string();
    const int entry = defining_line(file, formatted(".name = \"{}\"", norm_name(norm)));
    const std::string text = quote_around(file, entry).text;
    std::smatch made;
    if (entry && std::regex_search(text, made, std::regex("(new_norm|make_unique)<(\\w+)>")))
      return {json_of(file, quote(file, defining_line(file, made[2])))};
  }
  return {};
}

}  // namespace

Json code_json(const std::string& norm, const Json& tape) {
  Json code = Json::object();
  for (const auto& place : places) {
    Json::Array all = code.has(place.view) ? code[place.view].items() : Json::Array();
    all.push_back(json_of(place.file, quote(place.file, defining_line(place.file, place.name))));
    code.set(place.view, Json::array(all));
  }
  for (const char* view : {"norms", "gains"}) code.set(view, Json::array(norm_code(norm)));
  for (const Json& operation : tape.items()) {
    const std::string file = operation["file"].string();
    const int line = int(operation["line"].integer());
    const std::string at = formatted("{}:{}", file, line);
    if (!code.has(at)) code.set(at, Json::array({json_of(file, quote_around(file, line))}));     // every layer's again
  }
  return code;
}

}  // namespace minbert
