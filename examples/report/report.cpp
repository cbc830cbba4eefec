// The pages of reports. Every text of the JSON passes through escaped(), address() or Svg.
#include "report/report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <ranges>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/shipped.h"
#include "report/figure.h"
#include "report/html.h"
#include "report/svg.h"
#include "report/verdict.h"

namespace minbert {
namespace {

// The dark form turns the pictures' lightness around.
constexpr const char* style = R"css(
:root { --good: #14633a; --half: #7a4f00; --bad: #9b2a1e }
@media (prefers-color-scheme: dark) {
  :root { --good: #84d3a4; --half: #e5bd6f; --bad: #f29d91 }
  .picture { filter: invert(.92) hue-rotate(180deg) } }
body { max-width: 90rem }
a { color: var(--accent) }
h2 { margin: 3rem 0 1rem; padding-top: 1rem; border-top: 1px solid var(--line) }
h2 a { color: inherit; text-decoration: none }
li, dd { max-width: 48rem; margin: .4rem 0 }
dl, .printed { color: var(--muted) }
.note, .warning, dl { font-size: .85rem; line-height: 1.35 }
.inputs pre { max-width: 100%; box-sizing: border-box; font-size: .8rem; user-select: all }
pre { padding: .5rem .75rem; background: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere }
.picture { overflow-x: auto }
th, td { padding: .3rem .75rem; text-align: left; vertical-align: top }
tbody { border-top: 1px solid var(--line) }
tr:first-child > th:first-child { position: sticky; left: 0; background: var(--back) }
.number { white-space: nowrap }
.number:empty::before { content: "–" }
td.good, td.half, td.bad { background: color-mix(in srgb, currentcolor 12%, transparent) }
td p { max-width: 11rem; margin: .1rem 0 }
.warning { color: var(--bad) }
.dots { display: block; width: 6.25rem; height: 1rem; color: var(--accent) }
.picture svg { display: block; max-width: max(100%, 42rem); height: auto }
.picture a { cursor: zoom-in }
.verdict { display: inline-block; padding: 0 .5rem; border: 1px solid; border-radius: .25rem;
  font-size: .85rem }
math { font-size: 1.3rem; width: fit-content; margin: .5rem 0 }
mtd { text-align: left }
.good { color: var(--good) } .half { color: var(--half) } .bad { color: var(--bad) }
.none { color: var(--muted); border-style: dashed }
.claim { display: grid; grid-template-columns: 9rem 1fr; gap: .75rem; justify-items: start;
  align-items: baseline; max-width: 48rem; margin: 0 0 .3rem; font-size: .85rem; line-height: 1.35 }
.claim a { color: inherit; text-decoration-color: var(--line) }
.list { list-style: none; padding: 0 }
.list li { display: grid; gap: .25rem 1.5rem; padding: .5rem 0; border-top: 1px solid var(--line);
  max-width: none; justify-items: start; align-items: start }
.list li > * { min-width: 0; max-width: 100% }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem .75rem }
dd { margin: 0 }
@media (min-width: 50rem) {
  .contents li { grid-template-columns: minmax(16rem, 2fr) 3fr }
  .claims li { grid-template-columns: 9rem 1fr }
  .inputs li { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr) } }
@media print {
  body { padding: 0; font-size: .8rem }
  h2, h3, figcaption, math, .note { break-after: avoid }
  figure, .claims li, tr, dd { break-inside: avoid }
  .picture, .scroll { overflow: visible }
  math { font-size: 1rem }
  .picture svg { max-width: 100%; max-height: 22cm } }
)css";

std::string text(const Json& json, const std::string& key) {
  return escaped(json[key].string());
}

// ---- Tables

// The least and the greatest point of a column.
struct Scale {
  double min = INFINITY, max = -INFINITY;
  void take(double value) {
    if (!std::isfinite(value)) return;
    min = std::min(min, value);
    max = std::max(max, value);
  }
  // A value's x in a plot that is 100 wide.
  double x(double value) const { return max > min ? 5 + 90 * (value - min) / (max - min) : 50; }
};

// A dot for each value, a bar at `mark`, whose name and value are the last words of the title.
std::string dots(const std::string& what, const Numbers& values, const Scale& scale,
                 std::optional<double> mark, const std::string& mark_title) {
  Svg svg;
  svg.stroke("M1 8h98", "var(--line)");
  std::string title;
  for (const double v : values) {
    title += (title.empty() ? "" : ", ") + (std::isfinite(v) ? formatted("{}", v) : "undefined");
    if (std::isfinite(v))
      svg.add("circle", {{"cx", scale.x(v)}, {"cy", 8}, {"r", 3.5},
                         {"fill", "currentcolor"}, {"fill-opacity", 0.6}});
  }
  if (mark) svg.stroke(point('M', scale.x(*mark), 1) + "v14", "var(--text)", 2);
  return formatted(
      "<svg class=\"dots\" viewBox=\"0 0 100 16\" role=\"img\"><title>{}: {}{}</title>{}</svg>",
      what, title, element("; {}", mark_title), svg.elements());
}

std::string dot_plot(const Json& cell, const Scale& scale) {
  const Numbers points = cell["points"].numbers();
  if (points.empty()) return "";
  const auto printed = cell["printed_point"].number_if();
  return dots("seeds", points, scale, printed, printed ? formatted("printed: {}", *printed) : "");
}

// The differences that a verdict rests on; the bar is at 0.
std::string pair_plot(const Json& claim) {
  const Numbers pairs = claim.has("pairs") ? claim["pairs"].numbers() : Numbers();
  if (pairs.size() < 2) return "";
  Scale scale;
  for (const double v : pairs) scale.take(v);
  scale.take(0);
  return dots("differences", pairs, scale, 0, "the bar: 0");
}

bool has_printed(const Json& row) {
  return std::ranges::any_of(row["cells"].items(),
                             [](const Json& c) { return !text(c, "printed").empty(); });
}

// A row takes two lines where the document prints numbers: printed above ours.
std::string table(const Json& table) {
  const Json::Array &rows = table["rows"].items(), &columns = table["columns"].items();
  const bool printed = std::ranges::any_of(rows, has_printed);
  std::vector<Scale> scales;
  bool points = false;
  for (const Json& row : rows)
    for (size_t c = 0; const Json& cell : row["cells"].items()) {
      scales.resize(std::max(scales.size(), ++c));
      const Numbers seeds = cell["points"].numbers();
      for (const double v : seeds) scales[c - 1].take(v), points = true;
      if (!seeds.empty()) scales[c - 1].take(cell["printed_point"].number_if().value_or(NAN));
    }

  std::string html = formatted(
      "<figure><figcaption>{}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" "
      "role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>",
      text(table, "title"), text(table, "title"));
  for (const Json& column : columns)
    html += formatted("<th scope=\"col\"{}>{}</th>",
                      printed && &column == &columns[0] ? " colspan=\"2\"" : "",
                      escaped(column.string()));
  html += "</tr></thead>\n";
  for (const Json& row : rows) {
    std::string above, ours;
    for (size_t c = 0; const Json& cell : row["cells"].items()) {
      above += formatted("<td class=\"printed {}\"><span class=\"number\">{}</span></td>",
                         text(cell, "printed_mark"), text(cell, "printed"));
      ours += formatted("<td{}><span class=\"number\">{}</span>{}{}{}</td>",
                        element(" class=\"{}\"", text(cell, "mark")), text(cell, "ours"),
                        dot_plot(cell, scales[c++]),
                        element("<p class=\"note\">{}</p>", text(cell, "note")),
                        element("<p class=\"warning\">Warning: {}</p>", text(cell, "warning")));
    }
    const bool two_lines = has_printed(row);
    html += formatted("<tbody><tr><th scope=\"{}>{}</th>",
                      two_lines ? "rowgroup\" rowspan=\"2\"" : "row\"", text(row, "head"));
    if (two_lines)
      html += formatted("<th scope=\"row\" class=\"note\">printed</th>{}</tr>\n<tr>", above);
    html +=
        (printed ? "<th scope=\"row\" class=\"note\">ours</th>" : "") + ours + "</tr></tbody>\n";
  }
  html += "</table></div>";
  if (points)
    html += "<p class=\"note muted\">A dot is a seed, a bar the printed value; the plots of a "
            "column share one scale.</p>";
  return html + "</figure>\n";
}

// Settings, environment: a name and a text in each row.
std::string facts(const Json& json) {
  std::string rows;
  for (const auto& [name, value] : json.members())
    rows += formatted("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name),
                      escaped(value.is_string() ? value.string() : value.dump(-1)));
  return "<table>\n" + rows + "</table>\n";
}

// ---- Inputs

std::string inputs(const Json& list) {
  std::string items;
  for (const Json& input : list["list"].items()) {
    std::string texts;
    for (const Json& t : input["texts"].items()) texts += formatted("<p>{}</p>", escaped(t.string()));
    items += formatted("<li><div>{}</div><div><p class=\"note\">{}</p><pre>{}</pre></div></li>\n",
                       texts, text(input, "said"), text(input, "command"));
  }
  return formatted("<h3>{}</h3>\n<ul class=\"list inputs\">\n{}</ul>\n", text(list, "title"),
                   items);
}

// ---- Figures

std::string figure(const Json& figure, const std::string& folder, const std::string& page_folder) {
  const std::string words = text(figure, "text"), file = folder + "/" + figure["file"].string();
  std::string svg = read_file(file);
  svg.insert(svg.find('>'), formatted(" aria-label=\"{}\"><title>{}</title", words, words));
  return formatted(
      "<figure><figcaption>{}</figcaption>\n<div class=\"picture\" tabindex=\"0\">\n"
      "<a href=\"{}\">{}</a></div></figure>\n",
      words, address(std::filesystem::proximate(file, page_folder).string()), svg);
}

// ---- Pages

bool was_run(const Json& item) { return item["status"].string() != "not run"; }
auto items_run(const Json& report) {
  return report["items"].items() | std::views::filter(was_run);
}

// "[IsoBN tab.2] Explained variance"
std::string title_of(const Json& item) {
  return element("{} ", text(item, "reference")) + text(item, "title");
}

// A run's own page has none.
bool has_claims(const Json& report) {
  return std::ranges::any_of(report["items"].items(),
                             [](const Json& item) { return !item["claims"].items().empty(); });
}

// The name of an item's claim in a link.
std::string claim_name(const Json& item, size_t number) {
  return formatted("{}-claim-{}", item["name"].string(), number);
}

// The items with their verdicts; those that were not run stand here alone. page: where the items
// are; nothing for this page
std::string contents(const Json& report, const std::string& page) {
  const char* const no_claim =
      has_claims(report) ? "<span class=\"note muted\">no claim</span>" : "";
  std::string html = "<ul class=\"list contents\">\n";
  for (const Json& item : report["items"].items()) {
    if (!was_run(item)) {
      html += formatted("<li>{}<div>{}{}</div></li>\n", title_of(item), verdict_html("not run"),
                        element(" <span class=\"note muted\">{}</span>", text(item, "why")));
      continue;
    }
    std::string claims;
    for (size_t i = 0; const Json& claim : item["claims"].items())
      claims += formatted("<p class=\"claim\">{}<a href=\"{}#{}\">{}{}</a></p>\n",
                          verdict_html(claim["verdict"].string()), page, address(claim_name(item, ++i)),
                          element("{} ", text(claim, "where")), text(claim, "text"));
    html += formatted("<li><a href=\"{}#{}\">{}</a><div>{}</div></li>\n", page,
                      address(item["name"].string()), title_of(item),
                      claims.empty() ? no_claim : claims);
  }
  return html + "</ul>\n";
}

// An <h2> that links to itself, as #NAME.
std::string heading(const std::string& name, const std::string& html) {
  return formatted("<h2 id=\"{}\"><a href=\"#{}\">{}</a></h2>\n", escaped(name), address(name),
                   html);
}

// "src/ops/loss.cpp:12 mse_loss", which links to that file.
std::string place(const std::string& where, const std::string& folder) {
  const std::string file = shipped(where.substr(0, where.find_first_of(": ")));
  const std::string words = formatted("<code>{}</code>", escaped(where));
  if (!std::filesystem::exists(file)) return words;
  const std::string link = std::filesystem::proximate(file, folder).string();
  return formatted("<a href=\"{}\">{}</a>", address(link), words);
}

std::string equations(const Json& part, const std::string& folder) {
  std::string html;
  if (part.has("equations"))
    for (const Json& e : part["equations"].items()) {
      std::string places;
      for (const Json& where : e["code"].items())
        places += (places.empty() ? " " : ", ") + place(where.string(), folder);
      html += formula(e["math"].string()) +
              formatted("<p class=\"note muted\">{}{}</p>\n", text(e, "reference"), places);
    }
  return html;
}

// Where an item's code is, and how its tests are run.
std::string code_and_tests(const Json& item, const std::string& folder) {
  std::string html;
  if (!item.has("code")) return html;
  for (const Json& where : item["code"].items())
    html += formatted("<dt>code</dt><dd>{}</dd>\n", place(where.string(), folder));
  for (const Json& name : item["test"].items())
    html += formatted("<dt>test</dt><dd><code>make test T=\"{}\"</code></dd>\n", escaped(name.string()));
  return html;
}

// What is different from the document in several of the items that were run: said once, for all.
using Differences = std::vector<std::pair<std::string, Names>>;     // a sentence, references
Differences shared_differences(const Json& report) {
  Differences all;
  for (const Json& item : items_run(report)) {
    for (const Json& sentence : item["differs"].items()) {
      auto at = std::ranges::find(all, sentence.string(), &Differences::value_type::first);
      if (at == all.end()) at = all.insert(at, {sentence.string(), {}});
      at->second.push_back(formatted("<a href=\"#{}\">{}</a>", address(item["name"].string()),
                                     escaped(item["name"].string())));
    }
  }
  std::erase_if(all, [](const auto& d) { return d.second.size() < 2; });
  return all;
}

// The item's row in the pages of `make papers`, where these are.
std::string beside(const Json& report, const Json& item, const std::string& folder) {
  const std::string page = shipped(formatted("build/papers/{}.html", report["document"].get("page", std::string())));
  if (!std::filesystem::is_regular_file(page)) return "";
  return formatted("<p class=\"note\"><a href=\"{}#{}\">Beside its code</a></p>\n",
                   address(std::filesystem::proximate(page, folder).string()), address(item["tag"].string()));
}

std::string item_html(const Json& report, const Json& item, const std::string& folder, const std::string& figures,
                      const Differences& shared) {
  const std::string name = item["name"].string();
  std::string html = heading(name, title_of(item)) + beside(report, item, folder) + equations(item, folder);
  std::string claims, differs, files;
  html += tables_html(item);
  for (const Json& f : item["figures"].items()) html += figure(f, figures.empty() ? folder : figures, folder);
  if (item.has("inputs"))
    for (const Json& list : item["inputs"].items()) html += inputs(list);
  for (size_t i = 0; const Json& claim : item["claims"].items())
    claims += formatted(
        "<li id=\"{}\">{}<div><p>{}{}</p>{}{}</div></li>\n", escaped(claim_name(item, ++i)),
        verdict_html(claim["verdict"].string()),
        element("<span class=\"muted\">{}</span> ", text(claim, "where")), text(claim, "text"),
        element("<p class=\"note muted\">{}</p>", text(claim, "why")), pair_plot(claim));
  bool above = false;
  for (const Json& sentence : item["differs"].items())
    if (std::ranges::count(shared, sentence.string(), &Differences::value_type::first)) above = true;
    else differs += formatted("<li>{}</li>\n", escaped(sentence.string()));
  if (above) differs += "<li><a href=\"#different\">What is said of several items</a></li>\n";
  for (const Json& file : item["files"].items())
    files += formatted("{}<a href=\"{}\">{}</a>", files.empty() ? "" : ", ", address(file.string()),
                       escaped(file.string()));
  return html + element("<p class=\"muted\">{}</p>\n", text(item, "caption")) +
         element("<p class=\"note muted\">The command that makes it again</p>\n<pre>{}</pre>\n",
                 text(item, "command")) +
         element(
             "<h3>What the document says, and our verdict</h3>\n<ul class=\"list "
             "claims\">\n{}</ul>\n",
             claims) +
         element("<h3>What is different from the document</h3>\n<ul>\n{}</ul>\n", differs) +
         element("<p>Files: {}</p>\n", files) +
         element("<dl>\n{}</dl>\n", code_and_tests(item, folder));
}

// Whose data these are, the source, and what the document says.
std::string about(const Json& document) {
  const std::string link = escaped(document.get<std::string>("address", ""));
  const std::string linked = formatted("; <a href=\"{}\">{}</a>", link, link);
  return (document.get("generated", false) ? generated_warning : "") +
         formatted("<p class=\"muted\">{}{}</p>\n", text(document, "source"),
                   link.starts_with("https://") ? linked : "") +
         element("<p>{}</p>\n", escaped(document.get<std::string>("says", ""))) +
         element("<p class=\"muted\">{}</p>\n", escaped(document.get<std::string>("open", "")));
}

std::string grid(const Json& report) {
  return element("<p>What was run: {}</p>\n", text(report, "grid"));
}

}  // namespace

std::string tables_html(const Json& item) {
  std::string html;
  for (const Json& t : item["tables"].items()) html += table(t);
  return html;
}
std::string figures_html(const Json& item, const std::string& folder, const std::string& page_folder) {
  std::string html;
  for (const Json& f : item["figures"].items()) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(folder + "/" + f["file"].string(), none);
    if (!none && bytes < 100'000) html += figure(f, folder, page_folder);
  }
  return html;
}
std::string verdict_html(const std::string& word) {
  const auto v = std::ranges::find(verdict_words, word, &VerdictWord::word);
  MB_CHECK(v != verdict_words.end(), "there is no verdict \"{}\"", word);
  return formatted("<span class=\"verdict {}\">{}</span>", v->style, v->word);
}
std::string chance_text(const Json& report) {
  int64_t compared = 0;
  double by_chance = 0;
  for (const Json& item : report["items"].items())
    for (const Json& claim : item["claims"].items()) {
      const double share = claim.get("by_chance", 0.0);
      compared += share > 0;
      by_chance += share;
    }
  if (compared == 0) return "";
  return formatted("{} of its claims could get a colored word by chance. If nothing had an effect, {} of them would.",
                   compared, fixed(by_chance, by_chance < 1 ? 2 : 1));
}
std::string report_style() { return style; }

std::string report_html(const Json& report, const std::string& folder, const std::string& figures) {
  const bool claims = has_claims(report);
  const Differences shared = shared_differences(report);
  const auto run = size_t(std::ranges::distance(items_run(report)));
  std::string items, meanings, differs;
  for (const Json& item : items_run(report)) items += item_html(report, item, folder, figures, shared);
  for (const auto& [sentence, where] : shared)
    differs += formatted("<li>{} <span class=\"note\">({})</span></li>\n", escaped(sentence),
                         where.size() == run ? "all items" : joined(where));
  for (const VerdictWord& v : verdict_words)
    if (claims) meanings += formatted("<dt>{}</dt><dd>{}</dd>\n", verdict_html(v.word), v.meaning);
  return html_page(
      text(report["document"], "title"), style,
      formatted("<h1>{}</h1>\n", text(report["document"], "title")) + about(report["document"]) +
          equations(report["document"], folder) + grid(report) +
          element("<pre>{}</pre>\n", text(report, "command")) +
          heading("contents", claims ? "Contents and verdicts" : "Contents") + contents(report, "") +
          "<p><a href=\"#settings\">Settings</a>, "
          "<a href=\"#environment\">environment</a></p>\n" +
          element("<p>{}</p>\n", chance_text(report)) + element("<dl>\n{}</dl>\n", meanings) +
          element("<h3 id=\"different\">What is different from the document</h3>\n<ul>\n{}</ul>\n",
                  differs) +
          items + heading("settings", "Settings") + facts(report["settings"]) +
          heading("environment", "Environment") + facts(report["environment"]));
}

// "On generated data: supported 3, undecided 2": the claims of all reports, those on generated data apart
std::string counted_claims(const std::vector<StudyReport>& reports, bool generated) {
  std::string html;
  for (const VerdictWord& v : verdict_words) {
    int64_t count = 0;
    for (const auto& [folder, report] : reports)
      if (report["document"].get("generated", false) == generated)
        for (const Json& item : report["items"].items())
          count += std::ranges::count(item["claims"].items(), v.word,
                                      [](const Json& c) { return c["verdict"].string(); });
    if (count) html += formatted("{} {} ", verdict_html(v.word), count);
  }
  return element(generated ? "<p>On generated data: {}</p>\n" : "<p>On other data: {}</p>\n", html);
}

std::vector<StudyReport> study_reports(const std::string& folder) {
  std::vector<StudyReport> all;
  std::error_code none;
  for (const auto& one : std::filesystem::directory_iterator(folder, none))
    if (const std::string file = one.path().string() + "/report.json"; std::filesystem::exists(file)) try {
        const StudyReport study{one.path().string(), Json::load(file)};
        MB_CHECK(study.report.get("form", 0) == report_form, "{}: of an older form", file);
        study.report["document"].get("tag", std::string());
        study.report["items"].items();
        all.push_back(study);
      } catch (const Error& e) {
        std::cerr << e.what() << "; left out: make study writes it again\n";
      }
  std::ranges::sort(all, {}, &StudyReport::folder);
  return all;
}

std::string index_html(const std::vector<StudyReport>& reports, const std::string& folder) {
  std::string body = "<h1>Studies</h1>\n" + counted_claims(reports, true) + counted_claims(reports, false);
  for (const auto& [of_study, report] : reports) {
    const std::string link = address(std::filesystem::proximate(of_study + "/report.html", folder).string());
    body += formatted("<h2><a href=\"{}\">{}</a></h2>\n", link, text(report["document"], "title")) +
            about(report["document"]) + grid(report) + contents(report, link);
  }
  return html_page("Studies", style, body);
}

}  // namespace minbert
