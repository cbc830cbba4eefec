// A document, as data/papers/FILE.json says it: what it is, its letters, and its items in its order,
// each with its equation, our sentences, its code, its tests, its commands and its claims.
//
//   const Paper paper("isobn");
//   paper.at("eq.4").equation;                     // MathML
//   paper.item("tab2").printed;                    // the numbers of what `isotropy tab2` shows
//
// Error for a file in which a key is missing or unknown: with the file, the item and the key.
#pragma once

#include <string>
#include <vector>

#include "minbert/json.h"
#include "report/long_table.h"

namespace minbert {

// A letter of the document's equations, and what it is called in the code.
struct Letter {
  std::string letter;                               // "γ_t"
  Names names;                                      // {"task_weight_"}
  std::string shape, is;                            // "[tasks,H]", "the gain of task t"
  Names in;                                         // the items in which it means this; {}: all
};

// A sentence that holds for some items (none: all), and only if what it is named after is so.
struct Difference {
  std::string when, says;
  Names items;
};

// An equation, a table, a figure or a section.
struct PaperItem {
  std::string tag;                                  // "eq.4"; in the sources [CLN eq.4]
  std::string item;                                 // what the document's program calls it; "": it does not show it
  std::string title, equation;                      // equation: MathML
  Names says, caption;                              // caption: of what the program shows
  std::vector<Difference> differs;                  // from the document, in what the program shows
  Names code;                                       // "FILE: NAME NAME"
  Names tests;                                      // parts of names of tests
  Names commands;
  Names shows;                                      // tags of equations beside what the program shows
  LongTable printed;                                // the document's numbers
  Json::Array claims;                               // see report/claims.h

  // An equation or an algorithm: its tag stands inside of the code that computes it.
  bool is_formula() const { return tag.starts_with("eq.") || tag.starts_with("alg."); }
  // code, name by name: {"FILE", "NAME"}
  std::vector<std::pair<std::string, std::string>> definitions() const;
};

class Paper {
 public:
  explicit Paper(const std::string& which);         // "cln": data/papers/cln.json
  // One of these files, wherever it stands.
  Paper(const std::string& which, const std::string& path);
  static const Names& all();                        // the five: "cln", ...

  const PaperItem* find(const std::string& which) const;    // nullptr: it has none
  const PaperItem& at(const std::string& which) const;
  const PaperItem& item(const std::string& which) const;    // by what the program calls it
  Names items_shown() const;                        // those that the program shows
  std::vector<Difference> differences(const PaperItem& item) const;     // its own, and those it shares

  std::string name, file;                           // "cln", "data/papers/cln.json"
  Json document;                                    // tag, title, source, says, model, ...
  std::string tag, program;                         // "CLN", "conditional_layer_norm"
  std::vector<Letter> letters;
  std::vector<Difference> differs;                  // of several items
  std::vector<PaperItem> items;
};

}  // namespace minbert
