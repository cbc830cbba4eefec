// Code on a page: its letters are tied, its tags lead to their rows, and the lines of the row's own tag are lit.
#pragma once

#include "companion/project.h"
#include "companion/ties.h"

namespace minbert {

// A row of a page, and all that its HTML needs to know.
struct Row {
  const Paper& paper;
  const PaperItem& item;
  const std::vector<Paper>& all;
  const Project& project;
  std::string folder;                               // of the page: links lead from there
  Ties ties;

  // part: the name of a place in it
  std::string link(const std::string& file, const std::string& words, const std::string& part = "") const;
  // Lines of a definition; of a long one those around the tags in it, or its first ones, and the rest folded.
  std::string code(const Definition& definition) const;

 private:
  std::string comment(const std::string& text) const;
  std::string line(const std::string& text) const;
};

std::string details(const std::string& summary, const std::string& body, bool open = false);

}  // namespace minbert
