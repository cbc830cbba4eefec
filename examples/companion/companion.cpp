// Each document beside its code: pages woven from data/papers, the sources, and what a study left.
//
//   companion                                   build/papers/index.html and a page a document
//   companion src/norm/cls/iso_bn.cpp:146       what this line computes
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "companion/code.h"
#include "companion/page.h"
#include "engine/names.h"
#include "engine/text.h"
#include "minbert/files.h"
#include "minbert/shipped.h"
#include "report/measured.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  std::vector<std::string> places;
  std::string out = "build/papers";
  CommandLine line("companion", "The five documents beside the code that computes them.");
  line.option("place", places, "a line of the sources: which items it computes, and their equations", "FILE:LINE");
  line.option("--out", out, "folder of the pages", "DIR");
  line.closing("Writes OUT/index.html and a page a document. Ends with status 1 where data/papers and the sources do "
               "not fit each other, and says what to do.",
               {"", "src/norm/cls/iso_bn.cpp:146"});
  line.parse(argc, argv, "--out build/papers");
  return run_program("companion", [&] {
    std::vector<Paper> papers;
    for (const std::string& name : Paper::all()) papers.emplace_back(name);
    MB_CHECK(std::filesystem::is_directory(shipped("src")), "the sources are not here; build minbert where they are");
    const Project project;
    for (const std::string& place : places) {
      const size_t colon = place.rfind(':');
      const auto number = number_in(colon == place.npos ? "" : place.substr(colon + 1));
      MB_CHECK(number && *number >= 1, "{}: expected FILE:LINE, as src/norm/cls/iso_bn.cpp:146", place);
      namespace fs = std::filesystem;
      const fs::path root = fs::absolute(shipped("data")).parent_path();
      const std::string file = place.substr(0, colon), whole = fs::exists(file) ? file : (root / file).string();
      MB_CHECK(fs::is_regular_file(whole), "{}: there is no such file", file);
      const std::string found = items_of_line(fs::proximate(whole, root).string(), int(*number), papers, project, out);
      std::cout << (found.empty() ? place + ": no item of the five documents is computed here\n" : found);
    }
    if (!places.empty()) return 0;
    std::filesystem::create_directories(out);
    std::vector<StudyReport> studies;
    std::error_code none;
    for (const auto& study : std::filesystem::directory_iterator("build", none))
      if (study.path().filename().string().starts_with("study"))
        for (StudyReport& one : study_reports(study.path().string())) studies.push_back(std::move(one));
    std::ranges::sort(studies, {}, &StudyReport::folder);
    for (StudyReport& one : measured_reports(shipped("data/papers/measured"))) studies.push_back(std::move(one));
    int64_t items = 0;
    const Names complaints = project.complaints(papers);
    for (const std::string& complaint : complaints) std::cout << complaint << '\n';
    for (const Paper& paper : papers) {
      write_file(formatted("{}/{}.html", out, paper.name), paper_page(paper, papers, project, studies, out));
      items += int64_t(paper.items.size());
    }
    if (!has_md4c) std::cout << "papers: without md4c walks are plain text; make deps, and make again\n";
    write_file(out + "/index.html", papers_index(papers, studies));
    std::cout << formatted("papers: {} items of {} documents: {}/index.html\n", items, papers.size(), out);
    return complaints.empty() ? 0 : 1;
  });
}
