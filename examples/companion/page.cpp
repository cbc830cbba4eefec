// Each item is a row: what the document says on the left, the code that computes it on the right. The build writes the
// style and the script into build/companion_page.h, as the strings companion_css and companion_js.
#include "companion/page.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <set>

#include "companion/code.h"
#include "engine/names.h"
#include "engine/text.h"
#include "minbert/shipped.h"
#include "report/html.h"
#include "report/report.h"
#include "report/svg.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

std::string text(const Json& json, const char* key) { return escaped(json.get(key, std::string())); }
std::string link(const std::string& to, const std::string& words) {
  return formatted("<a href=\"{}\">{}</a>", to, words);
}
std::string note(const std::string& html) { return element("<p class=\"note\">{}</p>\n", html); }
std::string list(const std::string& items) { return element("<ul>\n{}</ul>\n", items); }
std::string table(const std::string& head, const std::string& rows) {
  constexpr const char* whole = "<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n{}</table></div>\n";
  return rows.empty() ? "" : formatted(whole, head, rows);
}
std::string command(const std::string& words) {
  const bool whole = words.starts_with("make ") || words.starts_with("data/");
  return formatted("<pre class=\"command\">{}{}</pre>\n", whole ? "" : "build/bin/", escaped(words));
}

// ---- What studies say of an item

struct Measured {
  std::string name, page, grid;                     // page: a file that has more of it
  Json item;
};
bool is_generated(const StudyReport& study) { return study.report["document"].get("generated", false); }
// A study's folder; of values that are shipped, on which model and data.
std::string name_of(const StudyReport& study) {
  return study.report.get("on", study.folder) + (is_generated(study) ? ", generated data" : "");
}

std::vector<Measured> measured(const Row& row, const std::vector<StudyReport>& studies) {
  std::vector<Measured> all;
  for (const StudyReport& s : studies)
    if (text(s.report["document"], "tag") == row.paper.tag)
      for (const Json& one : s.report["items"].items())
        if (one["name"].string() == row.item.item && one["status"].string() == "run")
          all.push_back({name_of(s), s.page(), text(s.report, "grid"), one});
  return all;
}

// The studies of this document that lack the item. Several may be of one model and data: one with it is enough.
Names not_run(const Row& row, const std::vector<StudyReport>& studies, const std::vector<Measured>& runs) {
  std::set<std::string> names;
  if (row.item.item.empty()) return {};
  for (const StudyReport& s : studies)
    if (text(s.report["document"], "tag") == row.paper.tag && !std::ranges::count(runs, name_of(s), &Measured::name))
      names.insert(name_of(s));
  return {names.begin(), names.end()};
}

std::string claims(const Row& row, const std::vector<Measured>& runs) {
  std::string html;
  for (const Json& claim : row.item.claims) {
    html += formatted("<li>{} <span class=\"muted\">{}</span>\n", row.ties.sentence(claim["text"].string()),
                      text(claim, "where"));
    for (const Measured& m : runs)
      for (const Json& one : m.item["claims"].items())
        if (text(one, "text") == text(claim, "text"))
          html += note(formatted("{} {}: {}", verdict_html(one["verdict"].string()), escaped(m.name),
                                 text(one, "why")));
    html += "</li>\n";
  }
  return list(html);
}

std::string printed_and_measured(const Row& row, const std::vector<Measured>& runs) {
  std::string html, head;
  for (const Measured& m : runs)
    html += note(row.link(m.page, escaped(m.name), m.page.ends_with(".html") ? row.item.item : "") + ": " + m.grid) +
            tables_html(m.item) + figures_html(m.item, fs::path(m.page).parent_path().string(), row.folder);
  if (!runs.empty()) return details("Printed, and measured here", html);
  for (const std::string& column : row.item.printed.columns())
    head += formatted("<th scope=\"col\">{}</th>", escaped(column));
  for (const LongTable::Row& one : row.item.printed.rows()) {
    html += "<tr>";
    for (const std::string& key : one.keys) html += formatted("<td>{}</td>", escaped(key));
    html += formatted("<td>{}</td></tr>\n", one.value ? formatted("{}", *one.value) : "");
  }
  return details("What the document prints", table(head, html));
}

// "supported 3, undecided 2": the words of all claims that a study judged, study by study
std::string found(const Paper& paper, const std::vector<StudyReport>& studies) {
  std::string html, warning;
  for (const StudyReport& s : studies) {
    if (text(s.report["document"], "tag") != paper.tag) continue;
    if (is_generated(s)) warning = generated_warning;
    std::map<std::string, int> words;
    std::string all;
    for (const Json& item : s.report["items"].items())
      for (const Json& claim : item["claims"].items()) ++words[claim["verdict"].string()];
    for (const auto& [word, count] : words) all += formatted("{} {} ", verdict_html(word), count);
    if (words.contains("not judged")) all += "; a larger grid judges: make study";
    html += note(formatted("{}, {}: {}{}", escaped(name_of(s)), text(s.report, "grid"), all,
                           element("<br>{}", chance_text(s.report))));
  }
  return warning + html;
}

// ---- A row

std::string difference(const Difference& d, const std::string& html) {
  const std::string of = joined(d.items);
  return formatted("<li>{}{}{}</li>\n", html, element(" <span class=\"muted\">(if {})</span>", escaped(d.when)),
                   element(" <span class=\"muted\">{}</span>", escaped(of)));
}

std::string left(const Row& row, const std::vector<StudyReport>& studies) {
  const PaperItem& item = row.item;
  const std::vector<Measured> runs = measured(row, studies);
  std::string says, differs, elsewhere, walks, commands;
  for (const std::string& sentence : item.says) says += formatted("<p>{}</p>\n", row.ties.sentence(sentence));
  for (const PaperItem& other : row.paper.items)
    if (&other != &item && std::ranges::count(other.claims, item.tag, [](auto& c) { return c["where"].string(); }))
      elsewhere += " " + link("#" + address(other.tag), escaped(other.tag));
  for (const Difference& d : item.differs) differs += difference(d, row.ties.sentence(d.says));
  for (const Walk& w : row.project.walks(row.paper.tag, item.tag))
    walks += !w.is_lab() ? row.walk(w)
                         : note("A lab: " + row.link(shipped(w.file), formatted("{}, <i>{}</i>", escaped(w.file),
                                                                                escaped(w.heading))));
  for (const std::string& one : item.commands) commands += command(one);
  return formatted("<h2>{} {}</h2>\n", link("#" + address(item.tag), escaped(item.tag)),
                   row.ties.sentence(item.title)) +
         (item.equation.empty() ? "" : row.ties.equation(item.equation)) + says +
         details("What the document claims", claims(row, runs), runs.empty() || item.claims.size() < 5) +
         note(element("Claims of this section are judged by{}", elsewhere)) +
         details("What is different here", list(differs), true) + printed_and_measured(row, runs) +
         note(element("Not run: {}.", escaped(joined(not_run(row, studies, runs), "; ")))) + walks +
         note(runs.empty() && !item.item.empty() ? "Not measured in this folder; this does it:" : "See it:") + commands;
}

std::string right(const Row& row) {
  std::string html, twins;
  for (const Definition& d : row.project.definitions(row.item)) html += row.code(d);
  for (const Definition& d : row.project.plain_twins(row.paper.tag, row.item.tag)) twins += row.code(d);
  html += details("The same in examples/plain_bert.cpp", twins);
  for (const std::string& part : row.item.tests)
    for (const TestCase& test : row.project.tests(part)) {
      std::string body = command("make test T=" + shell_word(part)) +
                         row.code({test.file, "", quote(shipped(test.file), test.line)});
      for (const Definition& d : row.project.helpers(test)) body += row.code(d);
      html += details("Test: " + escaped(test.name), body);
    }
  return html;
}

// ---- A page

// What the letters are, for the reader and for the script.
std::string letters_table(const Paper& paper) {
  std::string rows;
  for (size_t i = 0; const Letter& l : paper.letters)
    rows += formatted("<tr id=\"letter-{}\"><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td><code>{}</code></td>"
                      "<td>{}</td></tr>\n", i++, escaped(l.letter), escaped(l.is), escaped(l.shape),
                      escaped(joined(l.names)), escaped(joined(l.in)));
  return details("Its letters, and their names in the code",
                 table("<th>letter</th><th></th><th>shape</th><th>in code</th><th>only in</th>", rows));
}

std::string about(const Paper& paper, const std::vector<StudyReport>& studies) {
  const std::string at = text(paper.document, "address");
  return formatted("<p class=\"muted\">{}{}{}</p>\n<p class=\"muted\">{}</p>\n<p>{}</p>\n",
                   text(paper.document, "source"),
                   at.empty() ? "" : "; " + link(at, at), element("; doi {}", text(paper.document, "doi")),
                   text(paper.document, "find"), text(paper.document, "says")) + found(paper, studies);
}

// What several items differ in.
std::string shared_differences(const Paper& paper) {
  std::string html;
  for (const Difference& d : paper.differs) html += difference(d, escaped(d.says));
  return details("What is different here in several items", list(html));
}

std::string items_of(const Paper& paper, const std::string& page, const char* form) {
  std::string html;
  for (const PaperItem& item : paper.items)
    html += formatted(form, link(page + "#" + address(item.tag),
                                 formatted("<b>{}</b> <span>{}</span>", escaped(item.tag), escaped(item.title))));
  return html;
}

std::string navigation(const Paper& paper, const std::vector<Paper>& all) {
  std::string html = link("index.html", "All five");
  for (const Paper& other : all)
    html += &other == &paper ? formatted(" <b>{}</b>", escaped(other.tag))
                             : " " + link(other.name + ".html", escaped(other.tag));
  return formatted("<nav aria-label=\"Items\">\n<p>{}</p>\n{}</nav>\n", html, items_of(paper, "", "{}\n"));
}

}  // namespace

std::string paper_page(const Paper& paper, const std::vector<Paper>& all, const Project& project,
                       const std::vector<StudyReport>& studies, const std::string& folder) {
  const std::string title = text(paper.document, "title");
  std::string rows;
  for (const PaperItem& item : paper.items) {
    const Row row{paper, item, all, project, folder, Ties(paper, item.tag)};
    rows += formatted(
        "<section id=\"{}\">\n<div class=\"left\">\n{}</div>\n<div class=\"right\">\n{}</div>\n</section>\n",
        escaped(item.tag), left(row, studies), right(row));
  }
  return html_page(
      title + ", beside its code", report_style() + companion_css,
      navigation(paper, all) +
          formatted("<header>\n<h1>{}</h1>\n{}{}{}{}{}{}</header>\n{}<div id=\"word\" role=\"status\" hidden></div>\n",
                    title, about(paper, studies), element("<p>{}</p>\n", text(paper.document, "open")),
                    note("Point at a letter of an equation, or go to it by Tab; j and k go to the next row and back."),
                    letters_table(paper), shared_differences(paper),
                    note(element("Named in passing, and no item here: {}.", text(paper.document, "passing"))), rows),
      companion_js);
}

std::string papers_index(const std::vector<Paper>& all, const std::vector<StudyReport>& studies) {
  const char* const title = "Five documents beside their code";
  std::string body = formatted(
      "<header>\n<h1>{}</h1>\n<p>Each page has a document's equations, tables and figures in their order: on the left "
      "what it says, on the right the code that computes it, below that the test that holds it. Point at a letter, or "
      "go to it by Tab: it lights up wherever it stands in this row. The keys j and k go to the next row and "
      "back.</p>\n</header>\n",
      title);
  for (const Paper& paper : all)
    body += formatted("<section class=\"paper\"><div><h2>{} {}</h2>\n{}</div>\n{}</section>\n",
                      link(paper.name + ".html", escaped(paper.tag)), text(paper.document, "title"),
                      about(paper, studies), list(items_of(paper, paper.name + ".html", "<li>{}</li>\n")));
  return html_page(title, report_style() + companion_css, body);
}

std::string items_of_line(const std::string& file, int line, const std::vector<Paper>& all, const Project& project,
                          const std::string& folder) {
  std::map<int, std::string> by_distance;           // from the line to the item's tag in the same definition
  for (const Paper& paper : all)
    for (const PaperItem& item : paper.items) {
      int distance = INT_MAX;
      bool found = false;
      for (const Tag& t : project.tags(paper.tag, item.tag))
        if (t.file == file && t.line == line) found = true, distance = 0;
      for (const Definition& d : project.definitions(item)) {
        if (!d.has(file, line)) continue;
        found = true;
        for (const Tag& t : project.tags(paper.tag, item.tag))
          if (d.has(t.file, t.line)) distance = std::min(distance, std::abs(t.line - line));
      }
      if (!found) continue;
      std::string& text = by_distance[distance] += formatted("[{} {}] {}\n", paper.tag, item.tag, item.title);
      for (const std::string& row : lines_of(item.equation.empty() ? "" : text_of(math_of(item.equation))))
        text += formatted("  {}\n", trimmed(row));
      text += formatted("  {}/{}.html#{}\n", folder, paper.name, item.tag);
    }
  if (by_distance.empty()) return "";
  std::string text = by_distance.begin()->second, others;
  by_distance.erase(by_distance.begin());
  for (const auto& [distance, more] : by_distance) others += more;
  return text + element("\nFarther away in the same definition:\n{}", others);
}

}  // namespace minbert
