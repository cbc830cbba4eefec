// What the sources have for the items of the documents: tests, tags and walks; and what is wrong with them.
#pragma once

#include "report/paper.h"
#include "report/source.h"

namespace minbert {

// The quoted lines of a definition.
struct Definition {
  std::string file, name;
  Quote quote;                                      // none: it is not there
  bool has(const std::string& in_file, int line) const;
};

struct TestCase {
  std::string name, file;
  int line = 0;
};

// "[CLN eq.1-3]" is three of them.
struct Tag {
  std::string document, item;                       // item "": it speaks of the document
  size_t begin, end;                                // in its line; end npos: it is not closed there
  bool known;                                       // it is of one of the five documents
  std::string file = {};
  int line = 0;
};
std::vector<Tag> tags_in(const std::string& line);

// A section of a README in which a tag stands: of a lab, or of a walk, which quotes code.
struct Walk {
  std::string file, heading;
  int line = 0;                                     // of the heading
  Names lines = {};                                 // below it
  bool is_lab() const { return file.starts_with("examples/labs/"); }
  bool operator==(const Walk&) const = default;
};

class Project {
 public:
  // Of this folder, whose sources are looked through: "" for the one that minbert was built in.
  explicit Project(const std::string& folder = "");
  std::vector<Definition> definitions(const PaperItem& item) const;
  std::vector<TestCase> tests(const std::string& part_of_name) const;
  std::vector<Definition> helpers(const TestCase& test) const;      // what it uses of its own file
  // The functions of plain_bert.cpp in which a tag stands.
  std::vector<Definition> plain_twins(const std::string& document, const std::string& item) const;
  std::vector<Walk> walks(const std::string& document, const std::string& item) const;
  std::vector<Tag> tags(const std::string& document, const std::string& item) const;
  // Every complaint says where, what, and what to do.
  Names complaints(const std::vector<Paper>& papers) const;

 private:
  void read(const std::string& file);
  void complain_of_letters(const Paper& paper, Names& all) const;
  void complain_of_item(const Paper& paper, const PaperItem& item, Names& all) const;
  std::string wrong_command(const Paper& paper, const std::string& command) const;
  std::string path(const std::string& file) const;
  std::string folder_;
  std::vector<TestCase> tests_;
  std::vector<Tag> tags_;
  std::map<std::string, Names> lines_;              // of each file
};

}  // namespace minbert
