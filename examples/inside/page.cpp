// The page of a look inside: the numbers as JSON, the script page.js and the style page.css, in one
// file. The build writes both files into build/inside_page.h, as the strings page_js and page_css.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "inside/look.h"
#include "report/html.h"

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

// Without "<", so that no text can end the element or open another.
std::string for_script(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1)) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

}  // namespace

Json packed(std::span<const real> numbers) {
  const auto [least, most] = std::ranges::minmax_element(numbers);
  const double low = numbers.empty() ? 0 : double(*least),
               high = numbers.empty() ? 0 : double(*most);
  const double step = (high - low) / 65535;
  std::vector<unsigned char> all;
  for (const real x : numbers) {
    const auto integer = uint32_t(step > 0 ? std::lround((double(x) - low) / step) : 0);
    for (int shift : {0, 8}) all.push_back(static_cast<unsigned char>(integer >> shift & 255));
  }
  return Json::object().set("low", low).set("step", step).set("data", base64(all));
}

Json rounded(double x) {
  std::ostringstream digits;
  digits.precision(5);
  digits << x;
  return std::isfinite(x) ? std::strtod(digits.str().c_str(), nullptr) : x;
}
Json rounded(const std::vector<double>& numbers) {
  Json::Array list;
  for (const double x : numbers) list.push_back(rounded(x));
  return Json::array(list);
}

std::string inside_page(const std::vector<Json>& models) {
  const auto piece = [](const Json& model, size_t i) {
    const Json::Array pieces = model["pieces"].items();
    return i < pieces.size() ? pieces[i].dump() : "its end";
  };
  const Json &a = models.front(), &b = models.back();
  for (size_t i = 0; i < std::max(a["pieces"].items().size(), b["pieces"].items().size()); ++i)
    MB_CHECK(
        piece(a, i) == piece(b, i),
        "{} and {} cut the text into different pieces: piece {} is {} and {}; models side by side need the same "
        "vocabulary, and pairs in the same form",
        a["model"].string(), b["model"].string(), i + 1, piece(a, i), piece(b, i));
  return html_page(
      "Inside BERT", page_css,
      formatted("<svg hidden></svg><noscript>This page draws with a script.</noscript>\n"
                "<script type=\"application/json\" id=\"data\">{}</script>\n",
                for_script(Json::array(models))),
      page_js);
}

}  // namespace minbert
