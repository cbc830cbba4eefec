// data/papers against the sources, and the pages that show them beside each other.
#include <doctest/doctest.h>

#include <functional>

#include "companion/code.h"
#include "companion/page.h"
#include "companion/ties.h"
#include "error_of.h"
#include "folder.h"
#include "minbert/files.h"
#include "minbert/shipped.h"
#include "report/html.h"
#include "report/report.h"
#include "shown.h"

namespace minbert::test {
namespace {

const Project& project() {
  static const Project here;
  return here;
}

std::vector<Paper> papers() {
  std::vector<Paper> all;
  for (const std::string& name : Paper::all()) all.emplace_back(name);
  return all;
}

// IsoBN's file after a change of its text, which has to be there once at least.
struct Changed {
  Folder folder;
  std::string path, text = read_file(shipped("data/papers/isobn.json"));
  std::string file(const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    REQUIRE_MESSAGE(at != text.npos, from);
    std::string changed = text;
    return folder.file("isobn.json", changed.replace(at, from.size(), to));
  }
  std::string complaints(const std::string& from, const std::string& to) {
    std::string all;
    for (const std::string& one : project().complaints({Paper("isobn", file(from, to))})) all += one + "\n";
    return all;
  }
};

}  // namespace

TEST_CASE("companion: data/papers and the sources fit each other") {
  for (const std::string& complaint : project().complaints(papers())) FAIL_CHECK(complaint);
}

TEST_CASE("companion: a mistake in data/papers is a complaint that says where, and what to do") {
  Changed isobn;
  const auto says = [&](const std::string& from, const std::string& to, const std::string& complaint) {
    INFO(from, " -> ", to);
    CHECK(contains(isobn.complaints(from, to), complaint));
  };
  const std::string code = "src/norm/cls/iso_bn.cpp: theta_bar";
  says("<mi>θ</mi>", "<mi>q</mi>", "the equation has the letter q, which \"letters\" lacks");
  says("\"letter\": \"θ\"", "\"letter\": \"ϑ\"", "the equation has the letter θ");
  says("\"names\": [\"theta_bar\"", "\"names\": [\"theta_barred\"",
       "has the name theta_barred, which stands in no definition");
  says("\"tag\": \"eq.9\"", "\"tag\": \"eq.10\"", "[IsoBN eq.9] is not on the list; mend it, or add the item to");
  says(code, "src/norm/cls/z.cpp: ZNorm", "its tag stands in none of the definitions that it names");
  says(code, "src/norm/cls/iso_bn.cpp: theta_star", "iso_bn.cpp defines no class, struct or function theta_star");
  says(code, "src/norm/cls/lost.cpp: theta_bar", "lost.cpp defines no class, struct or function theta_bar");
  says("\"cls norm: IsoBN's presets equal", "\"cls norm: a test that nobody wrote", "0 test cases have");
  says("\"cls norm: IsoBN's presets equal the paper's recurrences as plain loops\"", "\"cls norm\"",
       "test cases have \"cls norm\" in their names; write the name of one");
  says("\"isotropy tab2 ", "\"isotropi tab2 ", "there is no program isotropi");
  says("\"isotropy tab2 --out", "\"isotropy tab2 --into", "isotropy has no option --into; see its --help");
  says("\"isotropy tab2 ", "\"isotropy tab22 ", "isotropy has no item tab22; there are: sec2.1, ");
  says("\"isotropy tab2 ", "\"make test T=nosuch ", "no test case has \"nosuch ");
  says("\"isotropy tab2 --out", "\"isotropy tab2 --vocab-size", "isotropy has no option --vocab-size");
  says("<mi>θ</mi>", "<mi>θ</mo>", "data/papers/isobn.json: [IsoBN eq.6]: MathML: expected </mi>");
  says("<mi>θ</mi>", "<script>θ</script>", "<script> is no element that pages have");
  says("<msub><mi>θ</mi><mi>i</mi></msub>", "<msub><mi>θ</mi></msub>", "<msub> has 1 parts, expected 2");
  says("\"isotropy tab2 ", "\"make tab2 ", "the Makefile has no target tab2");
  says("\"shows\": [\"eq.9\"]", "\"shows\": [\"fig.9\"]", "shows fig.9, which is no item with an equation");
}

TEST_CASE("companion: a key of data/papers that is missing, unknown or empty is an error with file, item and key") {
  Changed isobn;
  const auto read = [&](const std::string& from, const std::string& to) { Paper("isobn", isobn.file(from, to)); };
  CHECK_ERROR(read("\"commands\": [", "\"comands\": ["),
              "isobn.json: sec.2.1: the key \"commands\" is missing; write it");
  CHECK_ERROR(read("\"tag\": \"eq.4\"", "\"caution\": [], \"tag\": \"eq.4\""),
              "isobn.json: eq.4: there is no key \"caution\"; there are: tag, ");
  CHECK_ERROR(read("\"tag\": \"eq.5\"", "\"tag\": \"eq.4\""), "isobn.json: eq.4 is on the list twice");
  CHECK_ERROR(read("\"absolute\": true", "\"absolut\": true"), "a claim: there is no key \"absolut\"");
  CHECK_ERROR(read("\"absolute\": true", "\"halves\": [{\"kind\": \"about\", \"one_sidet\": true}]"),
              "half of a claim: there is no key \"one_sidet\"");
  CHECK_ERROR(read("\"program\"", "\"programme\""), "isobn.json: the key \"program\" is missing");
  CHECK_ERROR(read("\"letter\": \"θ\",", ""), "isobn.json: letters: the key \"letter\" is missing");
  CHECK_ERROR(Paper("isobn").at("eq.99"), "isobn.json: there is no item eq.99");
  CHECK_ERROR(Paper("isobn").item("tab9"), "isobn.json: there is no item tab9; there are: sec2.1, ");
}

TEST_CASE("companion: a tag that is broken over two lines or on no list is a complaint with file and line") {
  Folder world;
  const std::string open = "[", tag = open + "IsoBN";
  world.file("src/one.cpp",
             "// as in " + tag + " eq.4], " + tag + "]\n// and in " + tag + "\n// eq.5] " + tag + " eq.6-7]\n");
  const Project there(world.path.string());
  std::string all;
  for (const std::string& one : there.complaints({})) all += one + "\n";
  CHECK(all == "src/one.cpp:2: the tag " + tag + " goes on in the next line; write it in one\n");
  std::string tags;
  for (const char* item : {"eq.4", "", "eq.5", "eq.6", "eq.7"})
    for (const Tag& t : there.tags("IsoBN", item)) tags += formatted("{}:{} ", t.item, t.line);
  CHECK(tags == "eq.4:1 :1 :2 eq.6:3 eq.7:3 ");
  CHECK(tags_in(tag + " eq.1-99999999999]").size() == 1);
  CHECK(tags_in(tag + " eq.3-1]")[0].item == "eq.3-1");
  CHECK_FALSE(tags_in(open + "IsoBn eq.4]")[0].known);
}

TEST_CASE("companion: MathML as letters and as text") {
  const std::string eq4 = Paper("cln").at("eq.4").equation;
  CHECK(contains(text_of(math_of(eq4)), "· (γ + γ_t(t)) + (β + β_t(t))"));
  CHECK(contains(text_of(math_of(eq4)), "(x − μ) / √(σ² + ε)"));
  const Math hat = math_of("<msub><mover><mi>x</mi><mo>^</mo></mover><mi>i</mi></msub>").parts[0];
  CHECK(hat.letter() == "x\u0302_i");
  CHECK(math_of("<mo>∂</mo>").parts[0].letter() == "");
  CHECK_ERROR(math_of("<mi>x</mo>"), "MathML: expected </mi> at: </mo>");
  CHECK_ERROR(math_of("<mi>x</mi></mrow>"), "nothing opens what is closed at: </mrow>");

  const Paper cln("cln");
  const Ties ties(cln, "eq.4");
  CHECK(ties.missing("<mi>γ</mi><mo>log</mo><mi>ж</mi>") == Names{"ж"});
  const std::string row = ties.sentence("γ_t");      // <b data-l="N">γ_t</b>
  const std::string gamma_t = row.substr(0, row.find('>') + 1);
  REQUIRE(gamma_t.starts_with("<b data-l="));
  CHECK(contains(ties.code("return task_weight_ + weight_;"), gamma_t + "task_weight_</b>"));
  CHECK(contains(ties.code("return x;"), "<u>return</u>"));
  CHECK(contains(ties.equation(eq4),
                 gamma_t.substr(2, gamma_t.size() - 3) + " tabindex=\"0\"><mi>γ</mi><mi>t</mi></msub>"));
  CHECK(ties.sentence("a < b") == "a &lt; b");
  const Paper ta("task-adaptation");
  CHECK(contains(Ties(ta, "sec.3.1").code("// y - y\u0302"), ">y\u0302</b>"));      // in a comment, whatever its names
}

TEST_CASE("companion: a page has equation, code with its own lines lit, twin, test, commands and claims of each item") {
  const std::vector<Paper> all = papers();
  for (const Paper& paper : all) {
    CAPTURE(paper.name);
    const std::string page = paper_page(paper, all, project(), {}, shipped("build/papers"));
    CHECK(page.size() < 1'000'000);
    for (const PaperItem& item : paper.items) {
      CAPTURE(item.tag);
      const size_t from = page.find("<section id=\"" + item.tag + "\">");
      REQUIRE(from != page.npos);
      const std::string row = page.substr(from, page.find("</section>", from) - from);
      CHECK(contains(row, "<pre class=\"code\""));
      CHECK(contains(row, "make test T="));
      CHECK(contains(row, "<pre class=\"command\">"));
      CHECK(contains(row, "<math") == !item.equation.empty());
      if (item.is_formula()) CHECK(contains(row, "class=\"line own\""));
    }
    for (const std::string& tag : paper.items_shown()) CHECK(paper.item(tag).item == tag);
  }
  const std::string cln = paper_page(all[0], all, project(), {}, shipped("build/papers"));
  CHECK(contains(cln, "The same in examples/plain_bert.cpp"));
  CHECK(contains(cln, "src/norm/hidden/README.md"));
  CHECK(contains(papers_index(all, {}), "href=\"isobn.html#eq.4\""));
}

TEST_CASE("companion: a walk's section stands in the first row that names it, as HTML or, without md4c, as it is") {
  Folder world;
  const std::string open = "[";
  world.file("src/one/README.md",
             "# A walk\n\n## 2. x & y\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSee [two](../two.md#there), [below](#x), "
             "[far](https://far.org/a#b) and\n![a picture](p.svg). <script>alert(1)</script>\n\nLower\n---\n\n"
             "```cpp src/one/a.cpp\n# a = b < c;  // " + open + "IsoBN eq.7-8]\n```\n\n"
             "```console\n$ echo '<i>'\n<i>\n```\n\n## 3. Next\n\nlast words\n");
  const Project there(world.path.string());
  const std::vector<Paper> all = papers();
  const Paper& isobn = all[2];
  const std::vector<Walk> walks = there.walks("IsoBN", "eq.7");
  REQUIRE(walks.size() == 1);
  const auto row = [&](const char* tag, bool markdown) {
    return Row{isobn, isobn.at(tag), all, there, shipped("build/papers"), Ties(isobn, tag), markdown}.walk(walks[0]);
  };
  const std::string summary = "<details><summary>Walk: 2. x &amp; y</summary>\n";
  for (const bool markdown : {false, has_md4c}) {
    CHECK(contains(row("eq.7", markdown), summary + "<div class=\"walk\" id=\"src/one/README.md:3\">"));
    CHECK(contains(row("eq.7", markdown), "&lt;script&gt;alert(1)"));
    CHECK_FALSE(contains(row("eq.7", markdown), "<script"));
    CHECK_FALSE(contains(row("eq.7", markdown), "last words"));
    CHECK(row("eq.8", markdown) ==
          "<p class=\"note\">Walk: <a href=\"#src/one/README.md%3A3\">2. x &amp; y</a>, at eq.7</p>\n");
  }
  const std::string plain = row("eq.7", false);
  CHECK(contains(plain, "<pre tabindex=\"0\">\n| a | b |\n|---|---|\n"));
  CHECK(contains(plain, "\n```console\n$ echo '&lt;i&gt;'\n&lt;i&gt;\n```\n\n</pre>\n</div>"));
  if (!has_md4c) return;
  const std::string html = row("eq.7", true);
  CHECK(contains(html, "<div class=\"scroll\"><table>\n<thead>\n<tr>\n<th>a</th>"));
  CHECK(contains(html, "</table></div>"));
  CHECK(contains(html, "<a href=\"../../src/one/../two.md\">two</a>"));
  CHECK(contains(html, "<a href=\"../../src/one/README.md\">below</a>"));
  CHECK(contains(html, "<a href=\"https://far.org/a#b\">far</a>"));
  CHECK(contains(html, "<a href=\"../../src/one/p.svg\">a picture</a>"));
  CHECK(contains(html, "<h3>Lower</h3>"));
  CHECK(contains(html, "<a href=\"../../src/one/a.cpp\">src/one/a.cpp</a></div>\n<pre class=\"cpp\""));
  CHECK(contains(html, "<a class=\"tag\" href=\"#eq.7\">"));
  CHECK(contains(html, "<pre class=\"console\" tabindex=\"0\">$ <b>echo '&lt;i&gt;'</b>\n&lt;i&gt;\n</pre>"));
}

TEST_CASE("companion: a study's verdicts and what chance would color stand beside claims; generated data are said") {
  const std::vector<Paper> all = papers();
  const Paper& isobn = all[2];
  const std::string claim = isobn.item("tab2").claims[0]["text"].string();
  const Json item = Json::object(
      {{"name", "tab2"}, {"status", "run"}, {"figures", Json::array()},
       {"tables", Json::array({Json::object({{"title", "a title of a table"}, {"columns", Json::array()},
                                             {"rows", Json::array()}})})},
       {"claims", Json::array({Json::object({{"text", claim}, {"verdict", "supported"}, {"why", "six of six"},
                                             {"by_chance", 0.03}})})}});
  Json report = Json::object({{"form", report_form}, {"grid", "six seeds"},
                              {"document", Json::object({{"tag", "IsoBN"}})},
                              {"items", Json::array({item})}});
  const std::string page = paper_page(isobn, all, project(), {{"build/study/isotropy", report}}, "build/papers");
  CHECK(contains(page, "build/study/isotropy: six of six"));
  CHECK(contains(page, "a title of a table"));
  CHECK(contains(page, "href=\"../study/isotropy/report.html#tab2\""));
  CHECK(contains(page, "1 of its claims could get a colored word by chance. If nothing had an effect, 0.03 of them"));
  CHECK_FALSE(contains(page, "Generated data"));
  CHECK(contains(page, "Not run: build/study/isotropy."));           // its other items
  report.set("document", Json::object({{"tag", "IsoBN"}, {"generated", true}}));
  const std::string generated = paper_page(isobn, all, project(), {{"build/study/isotropy", report}}, "build/papers");
  CHECK(contains(generated, "Generated data: the sentences of these sets are those of data/mini"));
  CHECK(contains(generated, "build/study/isotropy, generated data: six of six"));
}

TEST_CASE("companion: from a line of code back to its items and their equations") {
  const std::string file = "src/norm/hidden/conditional_layer.cpp";
  const Definition class_of = project().definitions(Paper("cln").at("eq.4"))[0];
  int line = 0;
  for (const Tag& tag : project().tags("CLN", "eq.4"))
    if (tag.file == file) line = std::max(line, tag.line);
  const std::string said = items_of_line(file, line, papers(), project(), "build/papers");
  CHECK(contains(said, "[CLN eq.4] "));
  CHECK(contains(said, "(γ + γ_t(t)) + (β + β_t(t))"));
  CHECK(contains(said, "build/papers/cln.html#eq.4"));
  CHECK(contains(items_of_line(file, class_of.quote.first, papers(), project(), "build/papers"), "[CLN eq.4]"));
  CHECK(items_of_line("src/files/json.cpp", 1, papers(), project(), "build/papers").empty());
}

TEST_CASE("papers: each document says what it is, and every equation that a report shows is markup") {
  for (const Paper& paper : papers()) {
    CAPTURE(paper.name);
    CHECK(!paper.document["says"].string().empty());
    for (const Json& tag : paper.document["equations"].items()) CHECK(!paper.at(tag.string()).equation.empty());
    for (const PaperItem& item : paper.items)
      if (!item.equation.empty()) CHECK_FALSE(contains(formula(item.equation), "&lt;"));
  }
}

}  // namespace minbert::test
