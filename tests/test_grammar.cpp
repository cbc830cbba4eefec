// The generated world: what the notation of data/grammar.txt means, and what its errors say.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "../data/grammar.h"
#include "error_of.h"
#include "folder.h"
#include "minbert/error.h"

namespace minbert::test {
namespace {

// Many texts of the rule "corpus".
std::multiset<std::string> texts(const std::string& grammar, int count = 200) {
  const Folder folder;
  const Grammar read(folder.file("grammar", grammar));
  const Cut nothing;
  Writer writer(read, Random(1, "test"), nothing);
  std::multiset<std::string> drawn;
  for (int i = 0; i < count; ++i) drawn.insert(writer.write(read.rule("corpus")));
  return drawn;
}
std::set<std::string> kinds(const std::string& grammar) {
  const auto drawn = texts(grammar);
  return {drawn.begin(), drawn.end()};
}

void says(const std::string& grammar, const std::string& line_and_text) {
  CHECK_ERROR(texts(grammar), line_and_text);
  CHECK_ERROR(texts(grammar), "\n  expected ");
}

using Set = std::set<std::string>;

}  // namespace

TEST_CASE("grammar: alternatives, wordings, groups, weights") {
  const auto drawn_kinds = kinds("corpus = (very/) good | (a|b) c\n  | {x}\nx = d / e");
  CHECK(drawn_kinds == Set{"Very good", "Good", "A c", "B c", "D", "E"});
  const auto drawn = texts("corpus = [9] often | rarely", 2000);
  CHECK(drawn.count("Rarely") > 120);              // 200 expected, deviation 13
  CHECK(drawn.count("Rarely") < 280);
  CHECK(kinds("corpus = {x} | c\nx = a | {x} b")  // recursion that ends
            .contains("A b b"));
}

TEST_CASE("grammar: a variable keeps its meaning, not its wording") {
  CHECK(kinds("corpus = {x:v} {x:v}\nx = p/q | r") == Set{"P p", "P q", "Q p", "Q q", "R r"});
  CHECK(kinds("corpus = {x:v} {x:w}\nx = a | b") == Set{"A b", "B a"});
  CHECK(kinds("corpus = {x:v} {new v}{x:v}\nx = a | b") == Set{"A b", "B a"});
  CHECK(kinds("corpus = {y:z}, {swap v w}{y:z}\ny = {x:v} {x:w}\nx = a | b") == Set{"A b, b a", "B a, a b"});
  CHECK(kinds("corpus = {x:v}, {swap v w}{x:v} {x:w}\nx = a | b") == Set{"A, b a", "B, a b"});
  CHECK(kinds("corpus = {x:v} {own y} {x:v}\ny = {x:v}\nx = p | q") == Set{"P p p", "P q p", "Q p q", "Q q q"});
  // What a remembered meaning drew inside of itself is remembered, too.
  CHECK(kinds("corpus = {y:v} {y:v}\ny = {x} c | d\nx = a | b") == Set{"A c a c", "B c b c", "D d"});
}

TEST_CASE("grammar: forms and spelling") {
  const auto form = [](const char* word, const char* name) { return regular_form(word, name); };
  CHECK(form("carry", "ed") == "carried");
  CHECK(form("play", "ed") == "played");
  CHECK(form("chop", "ing") == "chopping");
  CHECK(form("clean", "ing") == "cleaning");
  CHECK(form("slice", "ing") == "slicing");
  CHECK(form("watch", "s") == "watches");
  CHECK(form("berry", "plural") == "berries");
  const std::string forms = ".ed = write: wrote\n.done = write: written\n.she = name: she\nname = Ada\n";
  CHECK(kinds(forms + "corpus = {name:n} {v.ed}, {name.she:n} has {v.done}, {u.done}\nv = write\nu = pick up") ==
        Set{"Ada wrote, she has written, picked up"});
  CHECK(kinds(".article = hour: an\ncorpus = it is a old , a \" new \" and a hour . so \\n b ? \"no?\" c") ==
        Set{"It is an old, a \"New\" and an hour. So\nB? \"No?\" c"});
}

TEST_CASE("grammar: a training file knows a share of each list") {
  const Folder folder;
  const Grammar grammar(folder.file(
      "grammar",
      "seen = 40 %\ns:0 = {w}\ns:1 = {w} {short}\nshort = x | y\nw = a | b | c | d | e | f | g | h | i | j"));
  const Cut cut = cut_lists(grammar, "s", 1);
  CHECK(cut.size() == 6);
  Writer writer(grammar, Random(1, "test"), cut);
  Set drawn;
  for (int i = 0; i < 200; ++i) drawn.insert(writer.write(*grammar.labels("s").at(0).rule));
  CHECK(drawn.size() == 4);
}

TEST_CASE("grammar: errors name file, line and what is expected") {
  says("corpus = a\n  {b}", ":2: there is no rule \"b\"");
  says("corpus = {a}\na =\n", ":2: the rule \"a\" is empty");
  says("corpus = {a}\n\na = b {a}", ":3: the rule \"a\" never ends");
  says("corpus = {a} | c\na = {b}\nb = {a}", " never ends");
  says("corpus = a\nb = c", ":2: the rule \"b\" is not used");
  says("corpus = a\ncorpus = b", ":2: the rule \"corpus\" is there twice; first on line 1");
  says("# here\n  a", ":2: a line that goes on");
  says("corpus", ":1: no rule");
  says("corpus = (a/b", ":1: a \"(\" without its \")\"");
  says("corpus = a)", ":1: a \")\" without its \"(\"");
  says("corpus = {a", ":1: a \"{\" without its \"}\"");
  says("corpus = {a b}", ":1: {a b}");
  says("corpus = [x] a", ":1: a weight of \"x\"");
  says("corpus = [0] a", ":1: a weight of \"0\"");
  says("corpus = a\nseen = much %", ":2: seen is \"much %\"");
  says("corpus = a\n.ed = write", ":2: a form without its word");
  says("corpus = {new v} a", ":1: no variable \"v\"");
  says("corpus = {new v} {a:v}\na = b | c", ":1: the variable \"v\" has no value here yet");
  says("corpus = {swap v w}{a:v} {a:w}\na = b | c", ":1: the variable \"w\" has no value here yet");
  says("corpus = {a:v} {new v}{a:v}\na = b", ":1: {new v}: \"a\" has no second alternative");
  says("corpus = {a:v} {b:v}\na = x\nb = y", ":1: the variable \"v\" is one of {a} in this text, not of {b}");
  says("corpus = {a.past}\na = walk", ":1: \"walk\" has no form \"past\"");
  says("corpus = {a}\na = {a} {a} {a} | [1] b", " references deep");
}

}  // namespace minbert::test
