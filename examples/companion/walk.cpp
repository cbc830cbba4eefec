// Walks on a page: sections of a README, of whose Markdown md4c makes HTML, where the build has found it.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "companion/code.h"
#include "minbert/shipped.h"
#include "report/html.h"
#include "report/svg.h"

#ifdef MINBERT_MD4C
#include <md4c-html.h>
const bool minbert::has_md4c = true;
#else
const bool minbert::has_md4c = false;
#endif

namespace minbert {
namespace {

// Links lead where they lead in the README, which is `file` for the page. A picture, which no page may load, is a link.
std::string html_of([[maybe_unused]] const std::string& markdown, const std::string& file) {
  std::string html;
#ifdef MINBERT_MD4C
  const auto append = [](const char* text, unsigned n, void* all) { static_cast<std::string*>(all)->append(text, n); };
  md_html(markdown.data(), unsigned(markdown.size()), append, &html, MD_DIALECT_GITHUB | MD_FLAG_NOHTML, 0);
#endif
  const std::pair<const char*, std::string> forms[] = {
      {"<(/?)h[12]>", "<$1h3>"},                    // the page has its own
      {"<table>", "<div class=\"scroll\">$&"},
      {"</table>", "$&</div>"},
      {"<img src=(\"[^\"]*\") alt=\"([^\"]*)\"[^>]*>", "<a href=$1>$2</a>"},
      {"<a href=\"(?![a-z]+:)([^\"#]+)[^\"]*", "<a href=\"" + file.substr(0, file.rfind('/') + 1) + "$1"},
      {"<a href=\"#[^\"]*", "<a href=\"" + file}};
  for (const auto& [form, replacement] : forms) html = std::regex_replace(html, std::regex(form), replacement);
  return html;
}

}  // namespace

// Blocks of code look as they do elsewhere on the page; in a console, commands stand out from what they print.
std::string Row::section(const Walk& walk) const {
  const std::string file = address(std::filesystem::proximate(shipped(walk.file), folder).string());
  bool code = !markdown;                            // all of it, then
  std::string text, kind, html = code ? "<pre tabindex=\"0\">" : "";
  for (const std::string& one : walk.lines) {
    if (!code && one.starts_with("<!--")) continue;
    if (markdown && one.starts_with("```")) {
      std::string path;
      kind.clear();
      std::istringstream(one.substr(3)) >> kind >> path;
      if (!path.empty()) path = formatted("<div class=\"file\">{}</div>\n", link(shipped(path), escaped(path)));
      html += html_of(text, file) + path;
      html += code ? "</pre>\n" : formatted("<pre class=\"{}\" tabindex=\"0\">", escaped(kind));
      text.clear();
      code = !code;
    } else if (!code) text += one + "\n";
    else if (kind == "console" && one.starts_with("$ ")) html += formatted("$ <b>{}</b>\n", escaped(one.substr(2)));
    else html += (kind == "cpp" ? line(one) : escaped(one)) + "\n";
  }
  return html + (code ? "</pre>\n" : html_of(text, file));
}

std::string Row::walk(const Walk& walk) const {
  const auto names = [&](const PaperItem& one) { return std::ranges::count(project.walks(paper.tag, one.tag), walk); };
  const PaperItem& first = *std::ranges::find_if(paper.items, names);
  const std::string place = formatted("{}:{}", walk.file, walk.line), heading = escaped(walk.heading);
  if (&first != &item)
    return formatted("<p class=\"note\">Walk: <a href=\"#{}\">{}</a>, at {}</p>\n", address(place), heading, first.tag);
  return details("Walk: " + heading,
                 formatted("<div class=\"walk\" id=\"{}\">\n<div class=\"file\">{}</div>\n{}</div>\n", place,
                           link(shipped(walk.file), place), section(walk)));
}

}  // namespace minbert
