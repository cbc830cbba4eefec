// The grammar of the generated world: the rules of data/grammar.txt, and texts drawn from them.
//
//   Grammar    rules, read and checked; the head of grammar.txt explains their notation
//   Writer     draws texts: "|" chooses a meaning, "/" a wording; a variable keeps its meaning within one text
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "minbert/random.h"

namespace minbert {

struct Rule;

struct GrammarPart {
  enum Kind { text, reference, own, anew, swap };  // words, {rule.form:variable}, {own rule}, {new x}, {swap x y}
  Kind kind = text;
  std::string words = {};                          // the text, or the name of the rule
  std::string form = {}, variable = {};
  std::vector<std::string> variables = {};         // of {new ...} and {swap ...}
  const Rule* rule = nullptr;
  int line = 0;
};
using Wording = std::vector<GrammarPart>;

struct Alternative {                               // one meaning
  int weight = 1;
  std::vector<Wording> wordings;
  const Rule* home = nullptr;
  const GrammarPart* list() const;                        // the {rule} that is all of it; else nullptr
};

struct Rule {
  std::string name;
  int line = 0;
  std::vector<Alternative> alternatives;
  bool is_list() const;                            // ten or more alternatives, each of plain words
};

struct LabeledRule {                                   // "sst:4 = ...": texts of the set sst with label 4
  std::string label;
  const Rule* rule;
};

class Grammar {
 public:
  // Errors name file and line: a line that is no rule; a rule that is empty, defined twice, unknown, never used or has
  // no finite text.
  explicit Grammar(const std::string& file);

  const std::string& file() const { return file_; }
  const Rule& rule(const std::string& name) const;
  const std::vector<LabeledRule>& labels(const std::string& set) const;
  int percent(const std::string& setting) const;                 // "noise = 5 %"
  const std::string* form(const std::string& key) const;         // "write.ed", "woman.she"; nullptr: none

 private:
  friend class GrammarReader;
  std::string file_;
  std::map<std::string, std::unique_ptr<Rule>> rules_;           // "(a/b)" inside a rule is a rule, too
  std::map<std::string, std::vector<LabeledRule>> sets_;
  std::map<std::string, int> percents_;
  std::map<std::string, std::string> forms_;
};

// The alternatives that a training file may not use; each set has its own.
using Cut = std::set<const Alternative*>;
Cut cut_lists(const Grammar& grammar, const std::string& set, uint64_t seed);

class Writer {
 public:
  Writer(const Grammar& grammar, Random random, const Cut& cut) : grammar_(grammar), random_(random), cut_(cut) {}
  std::string write(const Rule& rule);             // one text, with new variables, in plain spelling
  Random& random() { return random_; }

 private:
  struct Meaning {                                 // an alternative, and the meanings drawn for its references
    const Alternative* alternative = nullptr;
    std::map<const GrammarPart*, Meaning> parts;
  };
  struct Variable {
    const Rule* rule = nullptr;
    Meaning meaning;
    const Alternative* forbidden = nullptr;        // the meaning that {new x} replaced
  };
  std::string text(const GrammarPart& part, Meaning& inside, int depth);
  std::string reference(const GrammarPart& part, Meaning& meaning, int depth);
  const Alternative* draw(const Rule& rule);
  void draw_variable(const GrammarPart& part, Variable& variable);
  std::string inflected(const GrammarPart& part, const Rule& home, const std::string& words) const;
  Variable& drawn(const std::string& name, const GrammarPart& part);

  const Grammar& grammar_;
  Random random_;
  const Cut& cut_;
  std::map<std::string, Variable> variables_;
};

std::string spelled(const Grammar& grammar, const std::string& words);   // blanks, a or an, capital letters
std::string regular_form(const std::string& word, const std::string& form);   // s, ed, ing, plural; else empty

}  // namespace minbert
