// The pages of reports: what stands on them, and that nothing in a report can become markup.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "error_of.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "report/report.h"

namespace minbert::test {
namespace {

using Strings = std::vector<std::string>;

Strings matches(const std::string& text, const std::string& pattern, size_t group = 0) {
  const std::regex regex(pattern);
  Strings all;
  for (std::sregex_iterator m(text.begin(), text.end(), regex), end; m != end; ++m) all.push_back((*m)[group]);
  return all;
}
// What a reader sees or hears: without the head and the tags.
std::string words(const std::string& html) {
  return std::regex_replace(html.substr(html.find("<body>")), std::regex("<[^>]*>"), " ");
}

// A folder for pictures.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(root_); }
  ~Folder() { std::filesystem::remove_all(root_); }
  std::string path(const std::string& name = "") const { return (root_ / name).string(); }

 private:
  std::filesystem::path root_ = std::filesystem::temp_directory_path() / formatted("minbert_report_{}", getpid());
};

Json sample() {
  return Json::parse(R"({
    "document": {"title": "A document", "source": "Somebody 2020"}, "command": "study --seeds 3", "grid": "2 epochs",
    "seconds": 123.5, "memory": "7654 MB", "settings": {"--lr": "3e-4", "--batch": 16}, "environment": {"threads": "2"},
    "items": [
     {"name": "tab2", "reference": "[Paper tab2]", "title": "Scores", "status": "run", "command": "study tab2",
      "caption": "bert-mini, 500 rows; 12 s", "differs": ["3 layers instead of 24"], "files": ["a b#1.csv"],
      "tables": [{"title": "Accuracy", "columns": ["norm", "MRPC", "RTE"], "rows": [
        {"head": "none", "cells": [{"printed": "86.7", "ours": "71.2", "points": [0.705, 0.719],
                                    "printed_point": 0.867},
                                   {"printed": "66.1", "ours": "52.9", "warning": "one class for every input"}]},
        {"head": "layer", "cells": [{"ours": "70.1", "points": [0.701, null], "note": "grain .25"}]}]}],
      "claims": [{"where": "sec.4", "text": "It helps by 1.9.", "verdict": "reproduced", "why": "in 4 of 5"},
                 {"text": "Always.", "verdict": "not"}]},
     {"name": "fig1", "title": "Curves", "status": "run",
      "figures": [{"file": "a.svg", "text": "A falls"}, {"file": "b.svg", "text": "B rises"},
                  {"file": "gone.svg", "text": "C"}]},
     {"name": "sec1", "title": "Yardsticks", "status": "run",
      "tables": [{"title": "No BERT", "columns": ["", "MRPC"],
                  "rows": [{"head": "majority", "cells": [{"ours": ".66"}]}]}]},
     {"name": "tab5", "title": "Large", "status": "not run", "why": "no folder holds the large model"}]
  })", "sample");
}

}  // namespace

TEST_CASE("report: every number of a table is on the page, and every number of the page is in the report") {
  const Json report = sample();
  const std::string page = report_html(report, "no-folder"), seen = words(page);
  for (const char* number : {"86.7", "71.2", "0.705", "0.719", "0.867", "66.1", "52.9", "70.1", "0.701", "grain .25",
                             "123.5 s", "7654 MB", "3e-4", "16", "one class for every input"}) {
    CAPTURE(number);
    CHECK(times(seen, number) >= 1);
  }
  const Strings numbers = matches(report.dump(), "[.0-9]*[0-9]");
  for (const std::string& number : matches(seen, "[.0-9]*[0-9]")) {
    CAPTURE(number);
    CHECK(std::ranges::count(numbers, number) > 0);
  }
  CHECK(times(page, "<title>seeds: 0.705, 0.719; printed: 0.867</title>") == 1);
  CHECK(times(page, "<title>seeds: 0.701, undefined</title>") == 1);
  CHECK(times(page, "<circle") == 3);
  CHECK(times(page, "<path class=\"bar\"") == 1);
}

TEST_CASE("report: dots stand on one scale a column, or a row where the table says so") {
  const auto places = [](const char* scale) {
    const std::string table = formatted(R"({"scale": "{}", "rows": [{"cells": [{"points": [0]}, {"points": [9]}]},
                                                       {"cells": [{"points": [4]}, {"points": [9]}]}]})", scale);
    const Json item = Json::object().set("tables", Json::array({Json::parse(table, "")}));
    return matches(report_html(Json::object().set("items", Json::array({item})), ""), "cx=\"([^\"]*)\"", 1);
  };
  CHECK(places("column") == Strings{"5.0", "50.0", "95.0", "50.0"});
  CHECK(places("row") == Strings{"5.0", "95.0", "5.0", "95.0"});
}

TEST_CASE("report: a row has a printed line and ours where the document prints numbers, and one line elsewhere") {
  const std::string page = report_html(sample(), "");
  CHECK(times(page, "<th scope=\"col\" colspan=\"2\">norm</th>") == 1);
  CHECK(times(page, "<th scope=\"rowgroup\" rowspan=\"2\">none</th><th scope=\"row\" class=\"whose\">printed</th>"
                    "<td class=\"printed\">86.7</td><td class=\"printed\">66.1</td>") == 1);
  CHECK(times(page, "<th scope=\"row\">layer</th><th scope=\"row\" class=\"whose\">ours</th>") == 1);
  CHECK(times(page, "<th scope=\"row\">majority</th><td>") == 1);
  CHECK(times(page, "<th>") == 0);
}

TEST_CASE("report: verdicts are words, in the contents and beside their claims; what did not run says why") {
  const std::string page = report_html(sample(), "");
  const std::string contents = page.substr(0, page.find("id=\"tab2\""));
  CHECK(times(contents, ">sec.4: reproduced</span> <span class=\"verdict bad\">not reproduced</span>") == 1);
  CHECK(times(contents, "<a href=\"#tab5\">Large</a><div><span class=\"verdict none\">not run</span>") == 1);
  CHECK(times(page, "<p class=\"missing\">Not run: no folder holds the large model</p>") == 1);
  CHECK(times(page, "<li>3 layers instead of 24</li>") == 1);
  CHECK(times(page, "<a href=\"a%20b%231.csv\">a b#1.csv</a>") == 1);
}

TEST_CASE("report: pictures of gnuplot share a page without sharing ids; a missing one is said") {
  const Folder folder;
  const std::string picture = "<?xml version=\"1.0\"?>\n<svg\n width=\"1\"><title>Gnuplot</title><desc>by</desc>"
      "<path id='gpPt1'/><use xlink:href='#gpPt1'\nid=\"p\" fill=\"url(#p)\"/><text>id=\"q\" &lt;a></text></svg>\n";
  write_file(folder.path("a.svg"), picture);
  write_file(folder.path("b.svg"), picture);
  const std::string page = report_html(sample(), folder.path());
  CHECK(times(page, "<path id='fig1-b.svg-gpPt1'/><use xlink:href='#fig1-b.svg-gpPt1' id=\"fig1-b.svg-p\" "
                    "fill=\"url(#fig1-b.svg-p)\"/><text>id=\"q\" &lt;a></text></svg>") == 1);
  CHECK(times(page, "role=\"img\" aria-label=\"A falls\"") == 1);
  CHECK(times(page, "Gnuplot") == 0);
  CHECK(times(page, "<?xml") == 0);
  CHECK(times(page, "The picture gone.svg is missing.") == 1);
  const Strings ids = matches(page, " id=[\"']([^\"']*)", 1);
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
}

// The same report with a text in the place of every other text.
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
  for (const auto& [key, value] : json.members()) members[key] = with_texts(value, text);
  if (members.count("--lr")) members[text] = text;
  return Json::object(members);
}

TEST_CASE("report: no text becomes a tag, an attribute or a script") {
  const Json hostile = with_texts(sample(), "\"><script>alert(1)</script>'<img src=x onerror=a>&amp; javascript:a {}");
  for (const std::string& page : {report_html(hostile, ""), index_html({{"javascript:x\"><b>", hostile}})}) {
    CHECK(times(page, "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;'&lt;img src=x onerror=a&gt;&amp;amp; ") > 5);
    for (const char* tag : {"<script", "<img", "<b>", "href=\"javascript:"}) CHECK(times(page, tag) == 0);
    CHECK(times(page, "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"") == 1);
    for (const std::string& tag : matches(page, "<[^>]*>")) CHECK(times(tag, "\"") % 2 == 0);
  }
}

TEST_CASE("report: an empty report and an empty list are pages that say so") {
  for (const Json& empty : {Json(), Json::object(), Json::parse(R"({"items": []})", "")}) {
    const std::string page = report_html(empty, "");
    CHECK(times(page, "This report has no items.") == 1);
    CHECK(times(page, "None is recorded.") == 2);
  }
  CHECK(times(report_html(Json::parse(R"({"items": [{}]})", ""), ""), "no claim") == 1);
  CHECK(times(index_html({}), "There are no reports yet.") == 1);
}

TEST_CASE("report: the list of reports links each item to its place") {
  const std::string page = index_html({{"glue/a b", sample()}});
  CHECK(times(page, "<a href=\"glue/a%20b/report.html\">A document</a>") == 1);
  CHECK(times(page, "<a href=\"glue/a%20b/report.html#tab2\">[Paper tab2] Scores</a>") == 1);
  CHECK(times(page, "<span class=\"note\">no folder holds the large model</span>") == 1);
}

}  // namespace minbert::test
