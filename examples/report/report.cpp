// The pages of reports. Every text of the JSON passes through escaped() or address() of html.h.
#include "report/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "engine/text.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "report/html.h"

namespace minbert {
namespace {

Json member(const Json& json, const std::string& key) {
  static const Json null;
  return json.has(key) ? json[key] : null;
}
Json::Array list(const Json& json, const std::string& key) {
  static const Json::Array empty;
  return member(json, key).is_null() ? empty : json[key].items();
}

// A text as it is, a number as the JSON file writes it, nothing for null.
std::string plain(const Json& value) {
  const std::string dumped = value.is_null() ? "" : value.dump(-1);
  return dumped.starts_with('"') ? value.string() : dumped;
}

std::string text(const Json& json, const std::string& key) { return escaped(plain(member(json, key))); }

struct Verdict {
  const char *word, *style, *shown, *meaning;
};
constexpr std::array<Verdict, 5> verdicts = {{
    {"reproduced", "good", "reproduced", "our runs show what the document says"},
    {"direction only", "half", "direction only", "our runs point the same way, but chance alone could do that"},
    {"not", "bad", "not reproduced", "our runs do not show it"},
    {"not comparable", "none", "not comparable", "the document says too little to tell, or our runs are too different"},
    {"not run", "none", "not run", "there are no runs to tell"}}};

// where: "sec.4.3", or nothing
std::string verdict(const std::string& word, const std::string& where = "") {
  const std::string before = element("{}: ", escaped(where));
  for (const Verdict& v : verdicts)
    if (word == v.word) return formatted("<span class=\"verdict {}\">{}{}</span>", v.style, before, v.shown);
  return formatted("<span class=\"verdict none\">{}{}</span>", before, word.empty() ? "no verdict" : escaped(word));
}

// ---- Tables

struct Scale {
  double min = INFINITY, max = -INFINITY;
  void take(const Json& value) {
    if (value.is_null()) return;
    min = std::min(min, value.number());
    max = std::max(max, value.number());
  }
  // The place of a value in a plot that is 100 wide.
  std::string place(const Json& value) const {
    return fixed(max > min ? 5 + 90 * (value.number() - min) / (max - min) : 50, 1);
  }
};

std::string dot_plot(const Json& cell, const Scale& scale) {
  const Json printed = member(cell, "printed_point");
  std::string seeds, marks;
  for (const Json& point : list(cell, "points")) {
    seeds += (seeds.empty() ? "" : ", ") + (point.is_null() ? "undefined" : plain(point));
    if (!point.is_null()) marks += formatted("<circle cx=\"{}\" cy=\"8\" r=\"3.5\"/>", scale.place(point));
  }
  if (seeds.empty()) return "";
  if (!printed.is_null()) marks += formatted("<path class=\"bar\" d=\"M{} 1v14\"/>", scale.place(printed));
  return formatted("<svg class=\"dots\" viewBox=\"0 0 100 16\" role=\"img\"><title>seeds: {}{}</title>"
                   "<path d=\"M1 8h98\"/>{}</svg>", seeds, element("; printed: {}", plain(printed)), marks);
}

bool has_printed(const Json& row) {
  return std::ranges::any_of(list(row, "cells"), [](const Json& c) { return !text(c, "printed").empty(); });
}

// A row takes two lines where the document prints numbers: printed above ours.
std::string table(const Json& table) {
  const Json::Array &rows = list(table, "rows"), &columns = list(table, "columns");
  const bool printed = std::ranges::any_of(rows, has_printed), by_row = text(table, "scale") == "row";
  std::vector<Scale> scales(by_row ? rows.size() : 0);
  bool points = false;
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t c = 0; c < list(rows[r], "cells").size(); ++c) {
      const Json cell = list(rows[r], "cells")[c];
      scales.resize(std::max(scales.size(), c + 1));
      for (const Json& point : list(cell, "points")) scales[by_row ? r : c].take(point), points = true;
      if (!list(cell, "points").empty()) scales[by_row ? r : c].take(member(cell, "printed_point"));
    }

  std::string html = formatted("<figure><figcaption>{}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" "
                               "role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>",
                               text(table, "title"), text(table, "title"));
  for (const Json& column : columns)
    html += formatted("<th scope=\"col\"{}>{}</th>", printed && &column == &columns[0] ? " colspan=\"2\"" : "",
                      escaped(plain(column)));
  html += "</tr></thead>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string above, ours;
    for (size_t c = 0; const Json& cell : list(rows[r], "cells")) {
      above += formatted("<td class=\"printed{}\">{}</td>", element(" {}", text(cell, "printed_mark")),
                         text(cell, "printed"));
      ours += formatted("<td{}><span class=\"number\">{}</span>{}{}{}</td>",
                        element(" class=\"{}\"", text(cell, "mark")), text(cell, "ours"),
                        dot_plot(cell, scales[by_row ? r : c++]),
                        element("<p class=\"note\">{}</p>", text(cell, "note")),
                        element("<p class=\"warning\">Warning: {}</p>", text(cell, "warning")));
    }
    const bool two_lines = has_printed(rows[r]);
    html += formatted("<tbody><tr><th scope=\"{}>{}</th>", two_lines ? "rowgroup\" rowspan=\"2\"" : "row\"",
                      text(rows[r], "head"));
    if (two_lines) html += formatted("<th scope=\"row\" class=\"whose\">printed</th>{}</tr>\n<tr>", above);
    html += (printed ? "<th scope=\"row\" class=\"whose\">ours</th>" : "") + ours + "</tr></tbody>\n";
  }
  html += "</table></div>";
  if (points)
    html += formatted("<p class=\"note\">A dot is a seed, a bar the printed value; the plots of a {} share one "
                      "scale.</p>", by_row ? "row" : "column");
  return html + "</figure>\n";
}

// Settings, environment: a name and a text in each row.
std::string facts(const Json& json) {
  std::string rows;
  for (const auto& [name, value] : json.is_null() ? Json::Object() : json.members())
    rows += formatted("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(plain(value)));
  return rows.empty() ? "<p>None is recorded.</p>\n" : "<table class=\"facts\">\n" + rows + "</table>\n";
}

// ---- Figures

std::string figure(const Json& figure, const std::string& folder, const std::string& item) {
  const std::string name = plain(member(figure, "file")), file = (std::filesystem::path(folder) / name).string();
  const bool found = std::filesystem::is_regular_file(file);
  const std::string svg = found ? inline_svg(read_file(file), address(item + "-" + name + "-")) : "";
  const std::string shown = element("<figcaption>{}</figcaption>\n", text(figure, "text"));
  if (svg.empty())
    return formatted("<figure>{}<p class=\"missing\">The picture {} is missing. gnuplot draws it, where it is "
                     "installed.</p></figure>\n", shown, escaped(name));
  return formatted("<figure>{}<div class=\"picture\" tabindex=\"0\" role=\"img\" "
                   "aria-label=\"{}\">\n{}</div></figure>\n", shown, text(figure, "text"), svg);
}

// ---- Pages

bool was_run(const Json& item) { return plain(member(item, "status")) != "not run"; }

// "[IsoBN tab.2] Explained variance"
std::string title_of(const Json& item) { return element("{} ", text(item, "reference")) + text(item, "title"); }

// The items with their verdicts. page: where the items are; nothing for this page
std::string contents(const Json& report, const std::string& page) {
  std::string html = "<ul class=\"contents\">\n";
  for (const Json& item : list(report, "items")) {
    std::string words;
    for (const Json& claim : list(item, "claims"))
      words += verdict(plain(member(claim, "verdict")), plain(member(claim, "where"))) + ' ';
    if (!was_run(item)) words = verdict("not run") + element(" <span class=\"note\">{}</span>", text(item, "why"));
    html += formatted("<li><a href=\"{}#{}\">{}</a><div>{}</div></li>\n", page, address(plain(member(item, "name"))),
                      title_of(item), words.empty() ? "<span class=\"note\">no claim</span>" : words);
  }
  return html + "</ul>\n";
}

// Its lines break between words alone, never after the hyphens of an option.
std::string command(const Json& json) {
  std::string words;
  for (const char c : text(json, "command")) words += c == ' ' ? std::string("</span> <span>") : std::string(1, c);
  return element("<pre><span>{}</span></pre>\n", words);
}

std::string item_html(const Json& item, const std::string& folder) {
  const std::string name = plain(member(item, "name"));
  std::string html = heading(name, title_of(item)), claims, differs, files;
  if (!was_run(item)) html += formatted("<p class=\"missing\">Not run: {}</p>\n", text(item, "why"));
  for (const Json& t : list(item, "tables")) html += table(t);
  for (const Json& f : list(item, "figures")) html += figure(f, folder, name);
  for (const Json& claim : list(item, "claims"))
    claims += formatted("<li>{}<div><p>{}{}</p>{}</div></li>\n", verdict(plain(member(claim, "verdict"))),
                        element("<span class=\"where\">{}</span> ", text(claim, "where")), text(claim, "text"),
                        element("<p class=\"note\">{}</p>", text(claim, "why")));
  for (const Json& sentence : list(item, "differs")) differs += formatted("<li>{}</li>\n", escaped(plain(sentence)));
  for (const Json& file : list(item, "files"))
    files += formatted("{}<a href=\"{}\">{}</a>", files.empty() ? "" : ", ", address(plain(file)),
                       escaped(plain(file)));
  return html + element("<p class=\"caption\">{}</p>\n", text(item, "caption")) +
         element("<p class=\"label\">The command that makes it again</p>\n{}", command(item)) +
         element("<h3>What the document says, and our verdict</h3>\n<ul class=\"claims\">\n{}</ul>\n", claims) +
         element("<h3>What is different from the document</h3>\n<ul>\n{}</ul>\n", differs) +
         element("<p>All values: {}</p>\n", files);
}

std::string document_title(const Json& report) {
  const std::string title = text(member(report, "document"), "title");
  return title.empty() ? "A report" : title;
}
std::string source_and_grid(const Json& report) {
  return element("<p class=\"source\">{}</p>\n", text(member(report, "document"), "source")) +
         element("<p>What was run: {}</p>\n", text(report, "grid"));
}

}  // namespace

std::string report_html(const Json& report, const std::string& folder) {
  std::string items, meanings;
  for (const Json& item : list(report, "items")) items += item_html(item, folder);
  for (const Verdict& v : verdicts) meanings += formatted("<dt>{}</dt><dd>{}</dd>\n", verdict(v.word), v.meaning);
  Json environment = member(report, "environment");
  if (report.has("seconds")) environment.set("time", plain(report["seconds"]) + " s");
  if (report.has("memory")) environment.set("memory", plain(report["memory"]));
  return html_page(document_title(report),
      formatted("<h1>{}</h1>\n", document_title(report)) + source_and_grid(report) +
      command(report) + heading("contents", "Contents and verdicts") +
      contents(report, "") + "<p><a href=\"#settings\">Settings</a>, "
      "<a href=\"#environment\">environment</a></p>\n<dl>\n" + meanings + "</dl>\n" +
      (items.empty() ? "<p class=\"missing\">This report has no items.</p>\n" : items) +
      heading("settings", "Settings") + facts(member(report, "settings")) +
      heading("environment", "Environment") + facts(environment));
}

std::string index_html(const std::vector<std::pair<std::string, Json>>& reports) {
  std::string body = "<h1>Studies</h1>\n";
  for (const auto& [folder, report] : reports) {
    const std::string link = address((std::filesystem::path(folder) / "report.html").string());
    body += formatted("<h2><a href=\"{}\">{}</a></h2>\n", link, document_title(report)) + source_and_grid(report) +
            contents(report, link);
  }
  return html_page("Studies", body + (reports.empty() ? "<p class=\"missing\">There are no reports yet.</p>\n" : ""));
}

}  // namespace minbert
