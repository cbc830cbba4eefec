// Reads data/grammar.txt line by line, and checks it as a whole.
#include "data/grammar.h"

#include <algorithm>
#include <sstream>

#include "data/notation.h"
#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {

const GrammarPart* Alternative::list() const {
  if (wordings.size() != 1 || wordings[0].size() != 1) return nullptr;
  const GrammarPart& part = wordings[0][0];
  return part.kind == GrammarPart::reference && part.form.empty() && part.variable.empty() ? &part : nullptr;
}

bool Rule::is_list() const {
  const auto plain = [](const Wording& wording) {
    return std::all_of(wording.begin(), wording.end(),
                       [](const GrammarPart& part) { return part.kind == GrammarPart::text; });
  };
  return alternatives.size() >= 10 && std::all_of(alternatives.begin(), alternatives.end(), [&](const Alternative& a) {
    return std::all_of(a.wordings.begin(), a.wordings.end(), plain);
  });
}

class GrammarReader {
 public:
  explicit GrammarReader(Grammar& grammar) : grammar_(grammar) {}

  void read() {
    std::istringstream in(read_file(grammar_.file_));
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      line.resize(std::min((" " + line).find(" #"), line.size()));
      if (trimmed(line).empty()) continue;
      if (line[0] == ' ') {
        check(!head_.empty(), number, "a line that goes on, but no rule above it", "no blank before NAME = TEXT");
        lines_.push_back({trimmed(line), number});
        continue;
      }
      define();
      const size_t equals = line.find('=');
      check(equals != line.npos, number, "no rule: \"" + trimmed(line) + "\"",
            "NAME = TEXT, or a blank first where a rule goes on");
      head_ = trimmed(line.substr(0, equals));
      lines_ = {{trimmed(line.substr(equals + 1)), number}};
    }
    define();
    find_rules();
    check_rules();
  }

 private:
  void check(bool good, int line, const std::string& what, const std::string& expected) const {
    if (!good) grammar_error(grammar_.file_, line, what, expected);
  }

  // The text under the last head: a setting "x = 5 %", forms ".ed = write: wrote | ...", or a rule.
  void define() {
    if (head_.empty()) return;
    const int line = lines_[0].number;
    std::string whole;
    for (const Notation::Line& part : lines_) whole += " " + part.text;
    whole = trimmed(whole);
    check(!whole.empty(), line, "the rule \"" + head_ + "\" is empty", "a text behind the =");
    if (head_[0] == '.') read_forms(whole, line);
    else if (whole.ends_with("%")) read_percent(whole, line);
    else read_rule(line);
    head_.clear();
  }

  void read_percent(const std::string& text, int line) {
    const std::string digits = trimmed(text.substr(0, text.size() - 1));
    const bool whole = !digits.empty() && digits.size() < 4 && digits.find_first_not_of("0123456789") == digits.npos;
    check(whole && std::stoi(digits) <= 100, line, head_ + " is \"" + text + "\"", "a share such as 5 %");
    check(grammar_.percents_.emplace(head_, std::stoi(digits)).second, line, head_ + " is set twice", "one value");
  }

  void read_forms(const std::string& text, int line) {
    std::istringstream in(text);
    for (std::string item; std::getline(in, item, '|');) {
      const size_t colon = item.find(':');
      check(colon != item.npos, line, "a form without its word: \"" + trimmed(item) + "\"", "WORD: FORM | ...");
      const std::string key = trimmed(item.substr(0, colon)) + head_, form = trimmed(item.substr(colon + 1));
      check(grammar_.forms_.emplace(key, form).second, line, key + " is there twice", "one form");
    }
  }

  void read_rule(int line) {
    const size_t colon = head_.find(':');
    const std::string set = head_.substr(0, colon);
    check(is_name(set), line, "\"" + head_ + "\" is no name of a rule", "letters, digits and -, or SET:LABEL");
    Rule& rule = add(head_, line);
    const auto add_group = [this](const std::string& name, int place) -> Rule& { return add(name, place); };
    Notation(grammar_.file_, lines_, add_group).read(rule);
    if (colon != head_.npos) grammar_.sets_[set].push_back({head_.substr(colon + 1), &rule});
  }

  Rule& add(const std::string& name, int line) {
    auto [place, is_new] = grammar_.rules_.emplace(name, std::make_unique<Rule>());
    check(is_new, line,
          "the rule \"" + name + "\" is there twice; first on line " + std::to_string(place->second->line),
          "one rule of a name");
    place->second->name = name;
    place->second->line = line;
    return *place->second;
  }

  template <class Action>
  void for_parts(Action action) {
    for (auto& [name, rule] : grammar_.rules_)
      for (Alternative& alternative : rule->alternatives)
        for (Wording& wording : alternative.wordings) std::for_each(wording.begin(), wording.end(), action);
  }

  // Every name that is used is defined, and every rule that is defined is used.
  void find_rules() {
    std::set<const Rule*> used;
    std::set<std::string> variables;
    for_parts([&](GrammarPart& part) {
      variables.insert(part.variable);
      if (part.kind != GrammarPart::reference && part.kind != GrammarPart::own) return;
      const auto place = grammar_.rules_.find(part.words);
      check(place != grammar_.rules_.end(), part.line, "there is no rule \"" + part.words + "\"", "the name of a rule");
      part.rule = place->second.get();
      used.insert(part.rule);
    });
    for_parts([&](const GrammarPart& part) {
      for (const std::string& name : part.variables)
        check(variables.contains(name), part.line, "no variable \"" + name + "\"", "that of a {RULE:VARIABLE}");
    });
    for (const auto& [name, rule] : grammar_.rules_)
      check(used.contains(rule.get()) || name == "corpus" || name.find(':') != name.npos, rule->line,
            "the rule \"" + name + "\" is not used", "{" + name + "} in another rule");
  }

  // Every rule has a finite text. The finite rules grow from those without references.
  void check_rules() {
    std::set<const Rule*> finite;
    for (size_t before = size_t(-1); before != finite.size();) {
      before = finite.size();
      for (const auto& [name, rule] : grammar_.rules_)
        if (ends(*rule, finite)) finite.insert(rule.get());
    }
    for (const auto& [name, rule] : grammar_.rules_)
      check(finite.contains(rule.get()), rule->line, "the rule \"" + name + "\" never ends: all of it leads back to it",
            "an alternative that does not");
  }

  static bool ends(const Rule& rule, const std::set<const Rule*>& finite) {   // all wordings of some alternative end
    const auto wording_ends = [&](const Wording& wording) {
      const auto part_ends = [&](const GrammarPart& part) { return !part.rule || finite.contains(part.rule); };
      return std::all_of(wording.begin(), wording.end(), part_ends);
    };
    return std::any_of(rule.alternatives.begin(), rule.alternatives.end(), [&](const Alternative& alternative) {
      return std::all_of(alternative.wordings.begin(), alternative.wordings.end(), wording_ends);
    });
  }

  Grammar& grammar_;
  std::string head_;
  std::vector<Notation::Line> lines_;
};

Grammar::Grammar(const std::string& file) : file_(file) { GrammarReader(*this).read(); }

const Rule& Grammar::rule(const std::string& name) const {
  const auto place = rules_.find(name);
  MB_CHECK(place != rules_.end(), "{}: there is no rule \"{}\"\n  expected a line {} = ...", file_, name, name);
  return *place->second;
}

const std::vector<LabeledRule>& Grammar::labels(const std::string& set) const {
  const auto place = sets_.find(set);
  MB_CHECK(place != sets_.end() && place->second.size() > 1,
           "{}: the set \"{}\" has fewer than two labels\n  expected lines {}:LABEL = ...", file_, set, set);
  return place->second;
}

int Grammar::percent(const std::string& setting) const {
  const auto place = percents_.find(setting);
  MB_CHECK(place != percents_.end(), "{}: \"{}\" is not set\n  expected a line {} = 5 %, say", file_, setting, setting);
  return place->second;
}

const std::string* Grammar::form(const std::string& key) const {
  const auto place = forms_.find(key);
  return place == forms_.end() ? nullptr : &place->second;
}

}  // namespace minbert
