// The letters of a document, tied: where a letter of its table stands in an equation, a sentence or code.
#pragma once

#include <optional>
#include <set>

#include "report/mathml.h"
#include "report/paper.h"

namespace minbert {

bool in_word(char c);                               // a letter, a digit or _

class Ties {
 public:
  // As they hold in this item: its own before those that hold everywhere.
  Ties(const Paper& paper, const std::string& tag);
  // HTML in which each place of a letter is <b data-l="7">, 7 being its row of the table. In code the names of a
  // letter are its places, too.
  std::string sentence(const std::string& text) const;
  std::string code(const std::string& text) const;
  std::string comment(const std::string& text) const;         // of code
  std::string equation(const std::string& mathml) const;
  Names missing(const std::string& mathml) const;   // what is written as a letter and is none of the table

 private:
  using Row = std::optional<size_t>;
  Row row(const std::string& letter) const;
  Row row_of_name(const std::string& identifier) const;
  Row of_code(const std::string& word) const;
  // Each word and each letter that is no ASCII, with its marks and its subscript, by what `tie` makes of it.
  template <class Tie>
  std::string each_word(const std::string& text, const Tie& tie) const;
  std::string math(const Math& node, bool tie, std::set<size_t>& seen) const;
  void missing(const Math& node, Names& all) const;
  const std::vector<Letter>& table_;
  std::vector<size_t> rows_;
};

}  // namespace minbert
