// A page that lists the reports of the documents' programs: FOLDER/index.html of every
// FOLDER/*/report.json.
//
//   study_index build/study
#include <filesystem>
#include <iostream>

#include "engine/text.h"
#include "files/about.h"
#include "minbert/files.h"
#include "report/report.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  std::vector<std::string> folders;
  CommandLine line("study_index",
                   "Lists the reports in a folder's folders on one page.");
  line.option("folder", folders, "as build/study, which make study writes", "DIR");
  line.closing("Writes FOLDER/index.html.", {"build/study"});
  line.parse(argc, argv, "build/study");
  return run_program("study_index", [&] {
    for (const std::string& folder : folders) {
      MB_CHECK(std::filesystem::is_directory(folder),
               "{}: there is no such folder; make study writes build/study", folder);
      const std::vector<StudyReport> reports = study_reports(folder);
      MB_CHECK(!reports.empty(),
               "{}: no folder in it has a report.json; {} --out {}/isotropy writes one", folder,
               command_of("isotropy"), shell_word(folder));
      write_file(folder + "/index.html", index_html(reports, folder));
      std::cout << folder << "/index.html\n";
    }
    return 0;
  });
}
