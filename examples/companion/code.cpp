// Code on a page.
#include "companion/code.h"

#include <algorithm>
#include <filesystem>

#include "engine/text.h"
#include "minbert/shipped.h"
#include "report/html.h"
#include "report/svg.h"

namespace minbert {

std::string details(const std::string& summary, const std::string& body, bool open) {
  return body.empty() ? "" : formatted("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open" : "",
                                       summary, body);
}

std::string Row::link(const std::string& file, const std::string& words, const std::string& part) const {
  return formatted("<a href=\"{}{}\">{}</a>", address(std::filesystem::proximate(file, folder).string()),
                   element("#{}", address(part)), words);
}

// [CLN eq.1-3] is a link to the row of eq.1.
std::string Row::comment(const std::string& text) const {
  std::string html;
  size_t at = 0;
  for (const Tag& tag : tags_in(text)) {
    const auto of = std::ranges::find(all, tag.document, &Paper::tag);
    if (tag.begin < at || of == all.end() || !of->find(tag.item)) continue;
    html += ties.comment(text.substr(at, tag.begin - at)) +
            formatted("<a class=\"tag\" href=\"{}#{}\">{}</a>", &*of == &paper ? "" : of->name + ".html",
                      address(tag.item), escaped(text.substr(tag.begin, tag.end - tag.begin)));
    at = tag.end;
  }
  return formatted("<em>{}{}</em>", html, ties.comment(text.substr(at)));
}

std::string Row::line(const std::string& text) const {
  std::string html;
  for (size_t at = 0, end; at < text.size(); at = end) {
    end = std::min(text.find_first_of("\"/", at), text.size());
    html += ties.code(text.substr(at, end - at));
    if (text.compare(end, 2, "//") == 0) return html + comment(text.substr(end));
    const size_t from = end;
    if (end < text.size() && text[end++] == '"')
      while (end < text.size() && text[end++] != '"') end += text[end - 1] == '\\';
    const std::string rest = escaped(text.substr(from, end - from));
    html += rest.size() > 1 ? formatted("<i>{}</i>", rest) : rest;
  }
  return html;
}

std::string Row::code(const Definition& d) const {
  constexpr int screen = 44, around = 10, beginning = 30;
  const std::vector<std::string> lines = lines_of(d.quote.text);
  const int above = int(std::ranges::find_if(lines, [](auto& one) { return !one.starts_with("//"); }) - lines.begin());
  std::vector<int> lit;
  for (const Tag& tag : project.tags(paper.tag, item.tag))
    if (d.has(tag.file, tag.line)) {
      lit.push_back(tag.line - d.quote.first);
      while (lit.back() >= above && trimmed(lines[size_t(lit.back())]).starts_with("//")) lit.push_back(lit.back() + 1);
    }
  const bool inside = std::ranges::any_of(lit, [&](int n) { return n >= above; });
  const auto is_near = [&](int i) {
    return lines.size() <= screen || i < 4 || (!inside && i < beginning) ||
           (inside && std::ranges::any_of(lit, [&](int n) { return std::abs(n - i) <= around; }));
  };
  std::string html, folded;
  int count = 0;
  for (int i = 0; i <= int(lines.size()); ++i) {
    const bool end = i == int(lines.size());
    if (count && (end || is_near(i))) {
      html += count < 4 ? folded : details(formatted("… {} lines", count), folded);
      folded.clear(), count = 0;
    }
    if (end) break;
    const std::string row =
        formatted("<span class=\"line{}\"><s>{}</s>{}\n</span>", std::ranges::count(lit, i) ? " own" : "",
                  d.quote.first + i, line(lines[size_t(i)]));
    if (is_near(i)) html += row;
    else folded += row, ++count;
  }
  return formatted("<div class=\"file\">{}</div>\n<pre class=\"code\" tabindex=\"0\">{}</pre>\n",
                   link(shipped(d.file), formatted("{}:{}", d.file, d.quote.first)), html);
}

}  // namespace minbert
