// Parts of HTML pages: escaping, pictures, the style sheet.
#include "report/html.h"

#include <cctype>
#include <map>

#include "minbert/error.h"

namespace minbert {
namespace {

// System fonts, light and dark, from 400 pixels of width on.
constexpr const char* style = R"css(
:root { color-scheme: light dark; --back: #fff; --soft: #f6f6f4; --text: #1c1c1c; --muted: #595959; --line: #d6d6d2;
  --link: #0b57a4; --good: #14633a; --half: #7a4f00; --bad: #9b2a1e; --shade: rgb(0 0 0 / .18) }
@media (prefers-color-scheme: dark) {
  :root { --back: #17191c; --soft: #212428; --text: #e5e5e2; --muted: #a8acb2; --line: #41464d;
    --link: #8fbef6; --good: #84d3a4; --half: #e5bd6f; --bad: #f29d91; --shade: rgb(0 0 0 / .7) } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 82rem; padding: 1rem clamp(1rem, 4vw, 3rem) 4rem; background: var(--back);
  color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
a { color: var(--link) }
h1, h2, h3 { line-height: 1.25; font-weight: 600; text-wrap: balance }
h1 { font-size: 1.7rem; margin: 1rem 0 .25rem }
h2 { font-size: 1.25rem; margin: 3rem 0 1rem; padding-top: 1rem; border-top: 1px solid var(--line) }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem }
h2 a { color: inherit; text-decoration: none }
h2 a:hover { text-decoration: underline }
p, li, dd { max-width: 48rem }
p { margin: .5rem 0 }
.source, .note, .caption, .label, .where, .whose { color: var(--muted) }
.note, .label, .warning { font-size: .85rem; line-height: 1.35 }
.label { margin-bottom: 0 }
pre span { display: inline-block }
pre { margin: .25rem 0 .75rem; padding: .5rem .75rem; background: var(--soft); white-space: pre-wrap;
  font: .85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }
figure { margin: 1.25rem 0 }
figcaption { margin-bottom: .4rem; max-width: 48rem }
.scroll { overflow-x: auto; background:
  linear-gradient(to left, var(--back) 1rem, transparent) right / 3rem no-repeat local,
  linear-gradient(to left, var(--shade), transparent) right / .75rem no-repeat scroll }
table { border-collapse: collapse; overflow-wrap: normal }
th, td { padding: .3rem .75rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line) }
th { font-weight: 500 }
thead th { border-top: 0; white-space: nowrap }
.scroll tbody th:first-child { max-width: 15rem; overflow-wrap: break-word }
tbody + tbody { border-top: 1px solid var(--line) }
tr + tr > * { border-top: 0 }
.scroll tr:first-child > th:first-child { position: sticky; left: 0; background: var(--back) }
.whose { font-size: .85rem; font-weight: 400; line-height: 1.75 }
.printed { color: var(--muted) }
.number, .printed { white-space: nowrap }
.number:empty::before, .printed:empty::before { content: "–" }
td.good, td.half, td.bad { background: color-mix(in srgb, currentcolor 12%, transparent) }
td .note, td .warning { margin: .1rem 0; max-width: 11rem }
.warning { color: var(--bad) }
.dots { display: block; width: 6.25rem; height: 1rem; margin: .1rem 0; fill: var(--link); fill-opacity: .6 }
.dots path { stroke: var(--line); stroke-width: 1 }
.dots .bar { stroke: var(--text); stroke-width: 2 }
.picture { width: fit-content; max-width: 100%; overflow-x: auto; padding: .5rem; background: #fff; color: #000;
  border: 1px solid var(--line) }
.picture svg { display: block; max-width: max(100%, 42rem); height: auto }
.missing { padding: .5rem .75rem; border-left: 3px solid var(--muted); background: var(--soft) }
.verdict { display: inline-block; padding: 0 .5rem; border: 1px solid; border-radius: .25rem; margin: .1rem 0;
  font-size: .85rem }
.good { color: var(--good) } .half { color: var(--half) } .bad { color: var(--bad) } .none { color: var(--muted) }
.none { border-style: dashed }
.contents, .claims { list-style: none; padding: 0 }
.contents li, .claims li { display: grid; gap: .25rem 1.5rem; padding: .5rem 0; border-top: 1px solid var(--line);
  max-width: none; justify-items: start; align-items: start }
.claims p { margin: 0 0 .15rem }
dl { font-size: .85rem; display: grid; grid-template-columns: max-content 1fr; gap: .25rem .75rem; color: var(--muted) }
dd { margin: 0 }
.facts td { overflow-wrap: anywhere }
.facts tr:first-child > * { border-top: 0 }
.facts tr + tr > * { border-top: 1px solid var(--line) }
@media (max-width: 50rem) { th, td { padding: .3rem .4rem } .scroll tbody th:first-child { max-width: none } }
@media (min-width: 50rem) {
  .contents li { grid-template-columns: minmax(16rem, 2fr) 3fr }
  .claims li { grid-template-columns: 9rem 1fr } }
)css";

}  // namespace

std::string escaped(const std::string& text) {
  static const std::map<char, const char*> names = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}};
  std::string html;
  for (const char c : text) names.count(c) ? html += names.at(c) : html += c;
  return html;
}

std::string address(const std::string& name) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string link;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("-._~/").find(c) != std::string_view::npos) link += c;
    else link += {'%', digits[byte / 16], digits[byte % 16]};
  }
  return link;
}

std::string element(const char* pattern, const std::string& content) {
  return content.empty() ? "" : formatted(pattern, content);
}

std::string heading(const std::string& name, const std::string& html) {
  return formatted("<h2 id=\"{}\"><a href=\"#{}\">{}</a></h2>\n", escaped(name), address(name), html);
}

std::string inline_svg(const std::string& svg_file, const std::string& prefix) {
  std::string svg = svg_file;
  for (const std::string name : {"title", "desc"})           // gnuplot's own, which a reader would hear
    for (size_t begin; (begin = svg.find("<" + name + ">")) != svg.npos;) {
      const size_t end = svg.find("</" + name + ">", begin);
      svg.erase(begin, end == svg.npos ? end : end + name.size() + 3 - begin);
    }
  std::string result;
  bool tag = false;
  for (size_t i = svg.find("<svg"); i < svg.size(); ++i) {
    tag = (tag || svg[i] == '<') && svg[i] != '>';
    result += tag && std::isspace(static_cast<unsigned char>(svg[i])) ? ' ' : svg[i];
    for (const char* before : {" id=\"", " id='", "href=\"#", "href='#", "url(#"})
      if (tag && result.ends_with(before)) result += prefix;
  }
  return result;
}

std::string html_page(const std::string& title, const std::string& body) {
  return formatted("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                   "'unsafe-inline'; img-src data:\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
                   title, style, body);
}

}  // namespace minbert
