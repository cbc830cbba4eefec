// The pages that show each document beside its code.
#pragma once

#include "companion/project.h"
#include "report/report.h"

namespace minbert {

// The page of a document, for a file in FOLDER: links lead from there to the sources and the studies.
std::string paper_page(const Paper& paper, const std::vector<Paper>& all, const Project& project,
                       const std::vector<StudyReport>& studies, const std::string& folder);
std::string papers_index(const std::vector<Paper>& all, const std::vector<StudyReport>& studies);
// For a line of the sources: the items that it computes, their equations and their places in the pages.
std::string items_of_line(const std::string& file, int line, const std::vector<Paper>& all, const Project& project,
                          const std::string& folder);

}  // namespace minbert
