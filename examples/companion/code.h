// Code on a page: its letters are tied, its tags lead to their rows, and the lines of the row's own tag are lit.
#pragma once

#include "companion/project.h"
#include "companion/ties.h"

namespace minbert {

extern const bool has_md4c;                         // what the build has found

// A row of a page, and all that its HTML needs to know.
struct Row {
  const Paper& paper;
  const PaperItem& item;
  const std::vector<Paper>& all;
  const Project& project;
  std::string folder;                               // of the page: links lead from there
  Ties ties;
  bool markdown = has_md4c;                         // of a walk becomes HTML; else it stands as it is

  // part: the name of a place in it
  std::string link(const std::string& file, const std::string& words, const std::string& part = "") const;
  // Lines of a definition; of a long one those around the tags in it, or its first ones, and the rest folded.
  std::string code(const Definition& definition) const;
  // The section, folded, in the first row of the page that names it; in others a link to it.
  std::string walk(const Walk& walk) const;

 private:
  std::string comment(const std::string& text) const;
  std::string line(const std::string& text) const;
  std::string section(const Walk& walk) const;
};

std::string details(const std::string& summary, const std::string& body, bool open = false);

}  // namespace minbert
