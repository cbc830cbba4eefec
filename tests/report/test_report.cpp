// The pages of reports: what stands on them, and that nothing in a report can become markup.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include "error_of.h"
#include "minbert/error.h"
#include "report/html.h"
#include "report/item_report.h"
#include "report/report.h"
#include "small_run.h"

namespace minbert::test {
namespace {

using Strings = std::vector<std::string>;

Strings matches(const std::string& text, const std::string& pattern, size_t group = 0) {
  const std::regex regex(pattern);
  Strings all;
  for (std::sregex_iterator m(text.begin(), text.end(), regex), end; m != end; ++m)
    all.push_back((*m)[group]);
  return all;
}

// What a part of a report leaves out is there, and empty.
Json filled(Json part, const char* empty) {
  for (const auto& [key, value] : Json::parse(empty, "empty").members())
    if (!part.has(key)) part.set(key, value);
  return part;
}
template <class Change>
void each(Json& json, const char* list, const Change& change) {
  Json::Array items = json[list].items();
  for (Json& item : items) item = change(item);
  json.set(list, Json::array(items));
}

Json sample() {
  Json report = Json::parse(R"({
    "document": {"title": "A document", "source": "Somebody 2020", "address": "https://example.org/paper",
      "says": "Norms help.", "equations": [{"reference": "[Paper eq1]", "code": ["src/norm.cpp:12 forward"],
        "math": "<mi>y</mi><mo>=</mo><mfrac><mn>1</mn><mi>x</mi></mfrac>"}]},
    "command": "study --seeds 3", "grid": "2 epochs",
    "settings": {"--lr": "3e-4", "--batch": "16"}, "environment": {"time": "123.5 s", "memory": "7654 MB"},
    "items": [
     {"name": "tab2", "reference": "[Paper tab2]", "title": "Scores", "status": "run", "command": "study tab2",
      "caption": "bert-mini, 500 rows; 12 s", "differs": ["3 layers instead of 24", "500 rows"],
      "files": ["a b#1.csv"], "code": ["examples/tab2.cpp:34 tab2"], "test": ["study: tab2 is made"],
      "tables": [{"title": "Accuracy", "columns": ["norm", "MRPC", "RTE"], "rows": [
        {"head": "none", "cells": [{"printed": "86.7", "ours": "71.2", "points": [0.705, 0.719],
                                    "printed_point": 0.867, "mark": "good"},
                                   {"printed": "66.1", "ours": "52.9", "warning": "one class for every input"}]},
        {"head": "layer", "cells": [{"ours": "70.1", "points": [0.786, null], "note": "grain .25"}]}]}],
      "claims": [{"where": "sec.4", "text": "It helps by 1.9.", "verdict": "supported", "why": "in 6 of 6",
                  "pairs": [1.5, 2.3], "by_chance": 0.03125},
                 {"text": "Always.", "verdict": "not so"}]},
     {"name": "fig1", "title": "Curves", "status": "run", "differs": ["500 rows"],
      "figures": [{"file": "a.svg", "text": "A falls"}]},
     {"name": "tab5", "title": "Large", "status": "not run", "why": "no folder holds the large model"}]
  })",
                            "sample");
  each(report, "items", [](const Json& item) {
    Json all = filled(item, R"({"reference": "", "why": "", "command": "", "caption": "",
      "differs": [], "tables": [], "figures": [], "files": [], "claims": []})");
    each(all, "claims", [](const Json& claim) { return filled(claim, R"({"where": "", "why": ""})"); });
    each(all, "tables", [](Json table) {
      each(table, "rows", [](Json row) {
        each(row, "cells", [](const Json& cell) {
          return filled(cell, R"({"printed": "", "note": "", "warning": "", "mark": "",
            "printed_mark": "", "points": [], "printed_point": null})");
        });
        return row;
      });
      return table;
    });
    return all;
  });
  return report;
}

// The same report with a text in the place of every other text, but for its words and files.
Json with_texts(const Json& json, const std::string& text) {
  const char first = json.dump(-1)[0];
  if (first == '"') return text;
  if (first == '[') {
    Json::Array items;
    for (const Json& item : json.items()) items.push_back(with_texts(item, text));
    return Json::array(items);
  }
  if (first != '{') return json;
  Json::Object members;
  for (const auto& [key, value] : json.members())
    members[key] =
        key == "verdict" || key == "status" || key == "file" ? value : with_texts(value, text);
  if (members.count("--lr")) members[text] = text;
  return Json::object(members);
}

}  // namespace

TEST_CASE(
    "report: every number of a table is on the page, beside the printed one, and no other number is") {
  const Json report = sample();
  const SmallWorld folder;
  write_file(folder.path("a.svg"), "<svg></svg>");
  const std::string page = report_html(report, folder.path(""));
  const std::string seen =
      std::regex_replace(page.substr(page.find("<body>")), std::regex("<[^>]*>"), " ");
  for (const char* number :
       {"86.7", "71.2", "66.1", "52.9", "70.1", "grain .25", "123.5 s", "7654 MB", "3e-4", "16",
        "Warning: one class for every input", "seeds: 0.705, 0.719; printed: 0.867",
        "seeds: 0.786, undefined", "A falls"}) {
    CAPTURE(number);
    CHECK(contains(seen, number));
  }
  Strings numbers = matches(report.dump(), "[.0-9]*[0-9]");
  numbers.push_back("0.03");                        // of chance: 0.03125 of 1 claim
  numbers.push_back("0");                           // the bar of a claim's dots
  for (const std::string& number : matches(seen, "[.0-9]*[0-9]")) {
    CAPTURE(number);
    CHECK(std::ranges::count(numbers, number) > 0);
  }
  // A row has two lines where the document prints numbers, and one elsewhere.
  CHECK(contains(page, "<th scope=\"col\" colspan=\"2\">norm</th>"));
  CHECK(contains(
      page,
      "<th scope=\"rowgroup\" rowspan=\"2\">none</th><th scope=\"row\" class=\"note\">printed</th>"));
  CHECK(contains(page, "<th scope=\"row\">layer</th><th scope=\"row\" class=\"note\">ours</th>"));
  // The dots of a column, and its printed bar, stand on one scale: from 0.705 to 0.867.
  // Those of a claim's pairs on one of their own, with 0.
  CHECK(matches(page, "cx=\"([^\"]*)\"", 1) == Strings{"5", "12.78", "50", "63.7", "95"});
  CHECK(contains(page, "d=\"M95 1v14\""));
  CHECK(contains(page, "<title>differences: 1.5, 2.3; the bar: 0</title>"));
  CHECK(contains(page, "<p>1 of its claims could get a colored word by chance."));
}

TEST_CASE(
    "report: verdicts are words, in the contents and beside their claims; what did not run says why") {
  const SmallWorld folder;
  write_file(folder.path("a.svg"), "<svg></svg>");
  const std::string page = report_html(sample(), folder.path("")),
                    contents = page.substr(0, page.find("id=\"tab2\""));
  CHECK(contains(contents, "<p class=\"claim\"><span class=\"verdict good\">supported</span>"
                           "<a href=\"#tab2-claim-1\">sec.4 It helps by 1.9.</a></p>"));
  CHECK(contains(contents, "not so</span><a href=\"#tab2-claim-2\">Always.</a>"));
  CHECK(contains(page, "<li id=\"tab2-claim-2\"><span class=\"verdict bad\">not so</span>"));
  CHECK(contains(contents, "<li>Large<div><span class=\"verdict none\">not run</span> "
                           "<span class=\"note muted\">no folder holds the large model</span>"));
  CHECK_FALSE(contains(page, "id=\"tab5\""));
  CHECK(contains(contents, "<a href=\"#fig1\">Curves</a><div><span class=\"note muted\">no claim"));
  CHECK(contains(page, "<li>3 layers instead of 24</li>"));
  CHECK(times(page, "500 rows <span class=\"note\">(all items)</span>") == 1);
  CHECK(times(page, "500 rows</li>") == 0);
  CHECK(times(page, "<a href=\"#different\">") == 2);
  CHECK(contains(page, "<a href=\"a%20b%231.csv\">a b#1.csv</a>"));
  CHECK(contains(page, "<dt>code</dt><dd><code>examples/tab2.cpp:34 tab2</code></dd>\n"
                       "<dt>test</dt><dd><code>make test T=\"study: tab2 is made\"</code></dd>"));
  CHECK(contains(contents, "Somebody 2020; <a href=\"https://example.org/paper\">"));
  CHECK(contains(contents, "<p>Norms help.</p>"));
  CHECK(contains(contents, "<mfrac><mn>1</mn><mi>x</mi></mfrac></math>"));
  CHECK(contains(contents, "[Paper eq1] <code>src/norm.cpp:12 forward</code>"));
  Json old = sample();
  for (const auto& [name, form] : {std::pair("new", report_form), {"old", 1}}) {
    std::filesystem::create_directory(folder.path(name));
    write_file(folder.path(name) + "/report.json", old.set("form", form).dump());
  }
  const Quiet said;                                 // one of an older form is left out, and said to be
  const std::vector<StudyReport> studies = study_reports(folder.path(""));
  REQUIRE(studies.size() == 1);
  CHECK(studies[0].folder.ends_with("/new"));
  CHECK(contains(said.text(), "old/report.json: of an older form; left out: make study writes it again"));
  const std::string index = index_html({{"glue/a b", sample()}}, "");
  CHECK(contains(index, "<a href=\"glue/a%20b/report.html\">A document</a>"));
  CHECK(contains(index, "<a href=\"glue/a%20b/report.html#tab2\">[Paper tab2] Scores</a>"));
  CHECK(contains(index, "<a href=\"glue/a%20b/report.html#tab2-claim-1\">sec.4 It helps by 1.9.</a>"));
}

TEST_CASE(
    "report: no text becomes a tag, an attribute or a script; a picture stands in the page as it is") {
  const SmallWorld folder;
  write_file(folder.path("a.svg"), "<svg role=\"img\"><text>1 &lt; 2</text></svg>\n");
  CHECK(contains(report_html(sample(), folder.path("")),
                 "<a href=\"a.svg\">"
                 "<svg role=\"img\" aria-label=\"A falls\"><title>A falls</title><text>1 &lt; 2</text></svg>\n"));
  const Json hostile = with_texts(
      sample(), "\"><script>alert(1)</script>'<img src=x onerror=a>&amp; javascript:a {}");
  for (const std::string& page :
       {report_html(hostile, folder.path("")), index_html({{"javascript:x\"><b>", hostile}}, "")}) {
    CHECK(
        times(
            page,
            "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;'&lt;img src=x onerror=a&gt;&amp;amp; ") >
        5);
    for (const char* tag : {"<script", "<img", "<b>", "href=\"javascript:"})
      CHECK(times(page, tag) == 0);
    CHECK(contains(page, "content=\"default-src 'none'; style-src 'unsafe-inline'\""));
    for (const std::string& tag : matches(page, "<[^>]*>")) CHECK(times(tag, "\"") % 2 == 0);
  }
  const std::string math = formula("<mo stretchy=\"false\">(</mo><mi>x</mi><mi onclick=\"a\">y</mi><style>z</style>");
  CHECK(contains(math, "<mo stretchy=\"false\">(</mo><mi>x</mi>"));
  CHECK(contains(math, "&lt;mi onclick=&quot;a&quot;&gt;y</mi>&lt;style&gt;z&lt;/style&gt;"));
}

TEST_CASE("report: a value without printed digits has three") {
  CHECK(significant(0.00181113) == "0.00181");
  CHECK(significant(0.100367) == "0.100");
  CHECK(significant(123.4) == "123");
  CHECK(significant(12345) == "1.23e+04");
  CHECK(significant(70.1549, 4) == "70.15");
}

}  // namespace minbert::test
