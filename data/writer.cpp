// Draws texts from a grammar, and spells them.
#include <algorithm>
#include <cctype>
#include <utility>

#include "data/grammar.h"
#include "minbert/error.h"

namespace minbert {
namespace {

constexpr int deepest = 100;                       // references inside references

bool is_vowel(char c) { return std::string_view("aeiouAEIOU").find(c) != std::string_view::npos; }

// A word with a single vowel, between consonants, doubles its last letter (chop, chopping).
bool doubles(const std::string& word) {
  const size_t n = word.size();
  return n >= 3 && std::count_if(word.begin(), word.end(), is_vowel) == 1 && is_vowel(word[n - 2]) &&
         std::string_view("wxy").find(word[n - 1]) == std::string_view::npos;
}

}  // namespace

std::string regular_form(const std::string& word, const std::string& form) {
  const auto ends = [&](std::initializer_list<std::string_view> tails) {
    return std::any_of(tails.begin(), tails.end(), [&](std::string_view tail) { return word.ends_with(tail); });
  };
  const std::string stem = word.substr(0, word.size() - 1);
  const bool y = ends({"y"}) && word.size() > 1 && !is_vowel(word[word.size() - 2]);
  if (form == "s" || form == "plural")
    return y ? stem + "ies" : word + (ends({"s", "x", "z", "ch", "sh"}) ? "es" : "s");
  if (form != "ed" && form != "ing") return "";
  if (ends({"e"})) return form == "ed" ? word + "d" : (ends({"ee", "oe"}) ? word : stem) + "ing";
  if (y && form == "ed") return stem + "ied";
  return (doubles(word) ? word + word.back() : word) + form;
}

Cut cut_lists(const Grammar& grammar, const std::string& set, uint64_t seed) {
  Cut cut;
  std::set<const Rule*> done;
  std::vector<const Rule*> waiting;
  for (const LabeledRule& labeled : grammar.labels(set)) waiting.push_back(labeled.rule);
  while (!waiting.empty()) {
    const Rule& rule = *waiting.back();
    waiting.pop_back();
    if (!done.insert(&rule).second) continue;
    for (const Alternative& alternative : rule.alternatives)
      for (const Wording& wording : alternative.wordings)
        for (const GrammarPart& part : wording)
          if (part.rule) waiting.push_back(part.rule);
    if (!rule.is_list()) continue;
    std::vector<const Alternative*> order;
    for (const Alternative& alternative : rule.alternatives) order.push_back(&alternative);
    Random random(seed, "seen/" + set + "/" + rule.name);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    cut.insert(order.begin() + ptrdiff_t(std::max(size_t(2), order.size() * size_t(grammar.percent("seen")) / 100)),
               order.end());
  }
  return cut;
}

std::string Writer::write(const Rule& rule) {
  variables_.clear();
  GrammarPart part;
  part.kind = GrammarPart::reference;
  part.words = rule.name;
  part.rule = &rule;
  part.line = rule.line;
  Meaning meaning;
  return spelled(grammar_, reference(part, meaning, 0));
}

// Draws an alternative by weight; a {list} inside a list is replaced by the alternatives it names.
const Alternative* Writer::draw(const Rule& rule) {
  uint64_t total = 0;
  for (const Alternative& alternative : rule.alternatives)
    if (!cut_.contains(&alternative)) total += uint64_t(alternative.weight);
  uint64_t left = random_.below(total);
  for (const Alternative& alternative : rule.alternatives) {
    if (cut_.contains(&alternative)) continue;
    if (left < uint64_t(alternative.weight)) return alternative.list() ? draw(*alternative.list()->rule) : &alternative;
    left -= uint64_t(alternative.weight);
  }
  fail("Writer: a weight of zero in all alternatives of " + rule.name);
}

// Two variables get different meanings if the rule has enough of them; a meaning that {new x} replaced is not drawn
// again.
void Writer::draw_variable(const GrammarPart& part, Variable& variable) {
  const Alternative* found = nullptr;
  for (int tries = 0; tries < 200; ++tries) {
    found = draw(*part.rule);
    const bool taken = std::any_of(variables_.begin(), variables_.end(), [&](const auto& item) {
      return item.second.meaning.alternative == found;
    });
    if (found != variable.forbidden && (!taken || tries > 100)) break;
  }
  MB_CHECK(found != variable.forbidden,
           "{}:{}: {new {}}: \"{}\" has no second alternative\n  expected one more, behind |", grammar_.file(),
           part.line, part.variable, part.rule->name);
  variable.meaning.alternative = found;
  variable.rule = part.rule;
}

Writer::Variable& Writer::drawn(const std::string& name, const GrammarPart& part) {
  const auto place = variables_.find(name);
  MB_CHECK(place != variables_.end() && place->second.meaning.alternative,
           "{}:{}: the variable \"{}\" has no value here yet\n  expected {RULE:{}} before {new {}} or {swap {} ...}",
           grammar_.file(), part.line, name, name, name, name);
  return place->second;
}

std::string Writer::text(const GrammarPart& part, Meaning& inside, int depth) {
  switch (part.kind) {
    case GrammarPart::text: return part.words;
    case GrammarPart::own: {
      auto outer = std::exchange(variables_, {});
      const std::string words = reference(part, inside.parts[&part], depth);
      variables_ = std::move(outer);
      return words;
    }
    case GrammarPart::anew:
      for (const std::string& name : part.variables) {
        Variable& variable = drawn(name, part);
        variable = {nullptr, {}, variable.meaning.alternative};
      }
      return "";
    case GrammarPart::swap:
      // One of the two may have no value yet; it is drawn where it first stands.
      if (!variables_.contains(part.variables[0])) drawn(part.variables[1], part);
      std::swap(variables_[part.variables[0]], variables_[part.variables[1]]);
      return "";
    case GrammarPart::reference: break;
  }
  if (part.variable.empty()) return reference(part, inside.parts[&part], depth);
  Variable& variable = variables_[part.variable];
  if (!variable.meaning.alternative) draw_variable(part, variable);
  MB_CHECK(variable.rule == part.rule,
           "{}:{}: the variable \"{}\" is one of {{}} in this text, not of {{}}\n  expected a name of its own for each",
           grammar_.file(), part.line, part.variable, variable.rule->name, part.words);
  return reference(part, variable.meaning, depth);
}

std::string Writer::reference(const GrammarPart& part, Meaning& meaning, int depth) {
  MB_CHECK(depth < deepest,
           "{}:{}: {{}} is {} references deep\n  expected more alternatives that end, or weights for them",
           grammar_.file(), part.line, part.words, depth);
  if (!meaning.alternative) meaning.alternative = draw(*part.rule);
  const Alternative& alternative = *meaning.alternative;
  std::string words;
  for (const GrammarPart& inner : alternative.wordings[random_.below(alternative.wordings.size())])
    words += text(inner, meaning, depth + 1);
  return part.form.empty() ? words : inflected(part, *alternative.home, words);
}

// The form of the words, of the list they come from, of the given rule, or of their head: a noun's head is its last
// word.
std::string Writer::inflected(const GrammarPart& part, const Rule& home, const std::string& words) const {
  for (const std::string& key : {words, home.name, part.rule->name})
    if (const std::string* form = grammar_.form(key + "." + part.form)) return *form;
  const bool noun = part.form == "plural";
  const size_t begin = noun ? words.rfind(' ') + 1 : 0;
  const size_t end = noun ? words.size() : std::min(words.find(' '), words.size());
  const std::string head = words.substr(begin, end - begin);
  const std::string* irregular = grammar_.form(head + "." + part.form);
  const std::string asked = part.form == "done" && !irregular ? "ed" : part.form;     // played, has played
  if (!irregular) irregular = grammar_.form(head + "." + asked);
  const std::string form = irregular ? *irregular : regular_form(head, asked);
  MB_CHECK(!form.empty(), "{}:{}: \"{}\" has no form \"{}\"\n  expected .{} = {}: ... or .{} = {}: ...",
           grammar_.file(), part.line, words, part.form, part.form, words, part.form, home.name);
  return words.substr(0, begin) + form + words.substr(end);
}

// One blank between words, none before a comma or inside of quotes; "a" becomes "an"; sentences begin with a capital.
std::string spelled(const Grammar& grammar, const std::string& words) {
  std::string text;
  bool quoted = false, joins = true;               // joins: no blank may follow
  for (size_t pos = 0; pos < words.size(); ++pos) {
    const char c = words[pos];
    if (c == ' ') {
      if (!joins) text += ' ';
      joins = true;
      continue;
    }
    const bool line = words.compare(pos, 2, "\\n") == 0, closes = c == '"' && quoted;
    const bool clings = line || closes || std::string_view(",.;:?!").find(c) != std::string_view::npos;
    if (clings && text.ends_with(' ')) text.pop_back();
    text += line ? '\n' : c;
    pos += line;
    quoted = quoted != (c == '"');
    joins = line || (c == '"' && quoted);
  }
  while (text.ends_with(' ')) text.pop_back();
  for (size_t pos = 0; pos + 2 < text.size(); ++pos) {
    const bool word = pos == 0 || !std::isalnum(text[pos - 1]);
    if (!word || (text[pos] != 'a' && text[pos] != 'A') || text[pos + 1] != ' ') continue;
    const std::string next = text.substr(pos + 2, text.find_first_of(" ,.;:?!\n", pos + 2) - pos - 2);
    const std::string* exception = grammar.form(next + ".article");
    if (exception ? *exception == "an" : is_vowel(next[0])) text.insert(pos + 1, "n");
  }
  bool begins = true;
  quoted = false;
  for (char& c : text) {
    if (begins && std::isalnum(c)) {
      c = char(std::toupper(c));
      begins = false;
    }
    if (c == '"') begins = quoted = !quoted;       // after a closing quote the sentence goes on
    begins = begins || c == '.' || c == '?' || c == '!' || c == '\n' || c == '>';
  }
  return text;
}

}  // namespace minbert
