// The page of a look inside: the numbers as JSON, the script inside.js and the style inside.css, in one file. The build
// writes both files into build/inside_page.h, as the strings page_js and page_css.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "inside/look.h"
#include "minbert/json.h"

namespace minbert {
namespace {

std::string base64(const std::vector<unsigned char>& bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes.size() ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// Numbers as unsigned integers of so many bytes, the low byte first: number = low + step integer.
Json packed(std::span<const real> numbers, int bytes) {
  const auto [least, most] = std::ranges::minmax_element(numbers);
  const double low = numbers.empty() ? 0 : double(*least), high = numbers.empty() ? 0 : double(*most);
  const double step = (high - low) / (bytes == 1 ? 255 : 65535);
  std::vector<unsigned char> all;
  for (const real x : numbers) {
    const auto integer = uint32_t(step > 0 ? std::lround((double(x) - low) / step) : 0);
    for (int k = 0; k < bytes; ++k) all.push_back(static_cast<unsigned char>(integer >> (8 * k) & 255));
  }
  return Json::object().set("low", low).set("step", step).set("bytes", bytes).set("data", base64(all));
}

template <class T, class F>
Json each(const std::vector<T>& values, const F& json_of) {
  Json::Array list;
  for (const T& value : values) list.push_back(json_of(value));
  return Json::array(list);
}
template <class T>
Json list_of(const std::vector<T>& values) {
  return each(values, [](const T& value) { return Json(value); });
}

Json rounded(double x) {                            // to five digits
  std::ostringstream digits;
  digits.precision(5);
  digits << x;
  return std::isfinite(x) ? std::strtod(digits.str().c_str(), nullptr) : x;
}
Json rounded(const std::vector<double>& numbers) {
  return each(numbers, [](double x) { return rounded(x); });
}

Json json_of(const Inside::State& s) {
  return Json::object().set("name", s.name).set("start", rounded(s.to_start)).set("previous", rounded(s.to_previous))
      .set("length", rounded(s.length)).set("gradient", rounded(s.gradient));
}
Json json_of(const Inside::Rows& r) {
  return Json::object().set("mean", rounded(r.mean)).set("variance", rounded(r.variance))
      .set("counts", list_of(r.counts))
      .set("largest", rounded(r.largest)).set("dimension", r.dimension);
}
Json json_of(const Inside::NormRows& n) {
  return Json::object().set("module", n.module).set("range", rounded(n.range)).set("before", json_of(n.before))
      .set("after", json_of(n.after));
}
// Each row [H] with a scale of its own: a task's are much smaller than the shared ones.
Json json_of(const Inside::Gains& g, int64_t H) {
  Json all = Json::object().set("module", g.module);
  for (const auto& [name, values] : g.parameters) {
    Json::Array rows;
    const size_t cols = name.starts_with("task_") ? size_t(H) : values.size();
    for (size_t begin = 0; begin < values.size(); begin += cols)
      rows.push_back(packed(std::span(values).subspan(begin, cols), 1));
    all.set(name, Json::array(rows));
  }
  return all;
}
Json json_of(const Inside::Gradient& g) {
  return Json::array({g.parameter, rounded(g.gradient), rounded(g.value)});
}
Json json_of(const Inside::Node& n) {
  const auto input = [](const Inside::Node::Input& i) { return Json::array({i.node, i.name, i.shape}); };
  return Json::object().set("operation", n.operation).set("module", n.module).set("shape", n.shape)
      .set("file", n.file).set("line", n.line).set("gradient", rounded(n.gradient))
      .set("inputs", each(n.inputs, input));
}
Json json_of(const Inside::Prediction& p) {
  const auto choice = [](const auto& c) { return Json::array({c.first, rounded(c.second)}); };
  return Json::object().set("task", p.task).set("text", p.text).set("not_run", p.not_run)
      .set("choices", each(p.choices, choice));
}
Json json_of(const Inside& i) {
  const auto any = [](const auto& part) { return json_of(part); };
  return Json::object().set("model", i.model).set("norm", i.norm).set("formula", i.formula)
      .set("placement", i.placement)
      .set("layers", i.layers).set("heads", i.heads).set("hidden", i.hidden).set("tasks", list_of(i.tasks))
      .set("text", i.text).set("text_b", i.text_b).set("task", i.task).set("label", i.label).set("cut", i.cut)
      .set("pieces", list_of(i.pieces)).set("ids", list_of(i.ids)).set("segments", list_of(i.segments))
      .set("attention", packed(i.attention, 2)).set("value_norms", packed(i.value_norms, 2))
      .set("contributions", packed(i.contributions, 2)).set("mixing", packed(i.mixing, 2)).set("no_mixing", i.no_mixing)
      .set("states", each(i.states, any)).set("norms", each(i.norms, any))
      .set("gains", each(i.gains, [&](const Inside::Gains& g) { return json_of(g, i.hidden); }))
      .set("loss", rounded(i.loss)).set("gradients", each(i.gradients, any)).set("tape", each(i.tape, any))
      .set("predictions", each(i.predictions, any));
}

// Without "<", so that no text can end the element or open another.
std::string for_script(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1)) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

}  // namespace

std::string inside_page(std::span<const Inside> models) {
  for (const Inside& other : models)
    for (size_t i = 0; i < std::max(models[0].pieces.size(), other.pieces.size()); ++i) {
      const auto piece = [&](const Inside& m) { return i < m.pieces.size() ? "\"" + m.pieces[i] + "\"" : "its end"; };
      MB_CHECK(piece(models[0]) == piece(other),
               "{} and {} cut the text into different pieces: piece {} is {} and {}; models side by side need the same "
               "vocabulary, and pairs in the same form",
               models[0].model, other.model, i + 1, piece(models[0]), piece(other));
    }
  Json::Array list;
  for (const Inside& model : models) list.push_back(json_of(model));
  return formatted("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                   "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
                   "Inside BERT</title>\n<style>{}</style>\n</head>\n<body>\n<svg hidden></svg>\n<main>"
                   "<noscript>This page draws with a script.</noscript></main>\n"
                   "<script type=\"application/json\" id=\"data\">{}</script>\n"
                   "<script>{}</script>\n</body>\n</html>\n",
                   page_css, for_script(Json::object().set("models", Json::array(list))), page_js);
}

}  // namespace minbert
