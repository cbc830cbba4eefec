// The page of a look inside: the numbers as JSON, the scripts and the style page.css, in one file.
// The build writes these into build/inside_page.h, as the strings page_js, page_css and so on.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "inside/look.h"
#include "report/html.h"

namespace minbert {
namespace {

// Without "<", so that no text can end the element or open another.
std::string for_script(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1)) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

}  // namespace

double rounded(double x) {
  std::ostringstream digits;
  digits.precision(5);
  digits << x;
  return std::isfinite(x) ? std::strtod(digits.str().c_str(), nullptr) : x;
}
Json rounded(std::vector<double> numbers) {
  for (double& x : numbers) x = rounded(x);
  return Json::array_of(numbers);
}

std::string inside_page(const std::vector<Json>& models) {
  const auto piece = [](const Json& model, size_t i) {
    const Json::Array pieces = model["pieces"].items();
    return i < pieces.size() ? pieces[i].dump() : "its end";
  };
  const Json &a = models.front(), &b = models.back();
  for (size_t i = 0; i < std::max(a["pieces"].items().size(), b["pieces"].items().size()); ++i)
    MB_CHECK(piece(a, i) == piece(b, i),
             "{} and {} cut the text into different pieces: piece {} is {} and {}; models side by "
             "side need the same "
             "vocabulary, and pairs in the same form",
             a["model"].string(), b["model"].string(), i + 1, piece(a, i), piece(b, i));
  return html_page(
      "Inside BERT", page_css,
      formatted("<noscript>This page draws with a script.</noscript>\n"
                "<script type=\"application/json\" id=\"data\">{}</script>\n",
                for_script(Json::array(models))),
      std::string(forward_js) + word_piece_js + compute_js + views_js + page_js);
}

}  // namespace minbert
