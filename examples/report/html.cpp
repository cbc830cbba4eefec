// Parts of HTML pages.
#include "report/html.h"

#include <cctype>

#include "minbert/error.h"
#include "report/mathml.h"
#include "report/svg.h"

namespace minbert {
namespace {

// What all pages share: system fonts, light and dark, from 400 pixels of width on.
constexpr const char* shared_style = R"css(
:root { color-scheme: light dark; --back: #fff; --soft: #f5f6f8; --text: #1b1d21; --muted: #565b63;
  --line: #d5d9df; --accent: #0b57a4 }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181c; --soft: #1f242a; --text: #e6e7e4; --muted: #a6adb6; --line: #3c434c;
    --accent: #8fbef6 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem clamp(.75rem, 3vw, 2.5rem) 4rem; background: var(--back);
  color: var(--text); font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
h1, h2, h3 { line-height: 1.25; font-weight: 600 }
h1 { font-size: 1.6rem; margin: .5rem 0 .25rem }
h2 { font-size: 1.25rem; margin: 0 0 .5rem }
h3 { font-size: 1rem; margin: 1.5rem 0 .4rem }
p { margin: .4rem 0; max-width: 50rem }
figure { margin: 1rem 0 }
figcaption { font-size: .9rem; margin-bottom: .35rem }
.muted, figcaption { color: var(--muted) }
.scroll { overflow-x: auto }
.scroll table { overflow-wrap: normal }
table { border-collapse: collapse }
th { font-weight: 500 }
)css";

}  // namespace

std::string address(const std::string& name) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string link;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("-._~/").find(c) != std::string_view::npos)
      link += c;
    else link += {'%', digits[byte / 16], digits[byte % 16]};
  }
  return link;
}

std::string element(const char* pattern, const std::string& content) {
  return content.empty() ? "" : formatted(pattern, content);
}

std::string formula(const std::string& mathml) {
  std::string html = escaped(mathml);
  std::vector<std::string> elements = mathml_elements();
  elements.push_back("mo stretchy=\"false\"");
  for (const std::string& tag : elements)
    for (const std::string& name : {tag, formatted("/{}", tag)}) {
      const std::string shown = formatted("&lt;{}&gt;", escaped(name));
      for (size_t at; (at = html.find(shown)) != html.npos;)
        html.replace(at, shown.size(), formatted("<{}>", name));
    }
  return formatted("<div class=\"scroll\"><math display=\"block\">{}</math></div>\n", html);
}

std::string html_page(const std::string& title, const std::string& style, const std::string& body,
                      const std::string& script) {
  return formatted(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n{}</main>\n{}</body>\n</"
      "html>\n",
      script.empty() ? "" : "; script-src 'unsafe-inline'", title, shared_style, style, body,
      element("<script>{}</script>\n", script));
}

}  // namespace minbert
