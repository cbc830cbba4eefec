// A page that lists the reports of the documents' programs: FOLDER/index.html of every
// FOLDER/*/report.json; or values that are shipped, as text.
//
//   study_index build/study
//   study_index --markdown cln --item switch         as in a README, from data/papers/measured
#include <filesystem>
#include <iostream>

#include "engine/text.h"
#include "files/about.h"
#include "minbert/files.h"
#include "minbert/shipped.h"
#include "report/measured.h"
#include "report/report.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  std::vector<std::string> folders;
  std::string document, item, on;
  CommandLine line("study_index",
                   "Lists the reports in a folder's folders on one page.");
  line.option("folder", folders, "as build/study, which make study writes", "DIR");
  line.option("--markdown", document, "print a document's item from data/papers/measured: cln, isobn, ...", "DOCUMENT");
  line.option("--item", item, "that item", "ITEM");
  line.option("--on", on, "only of a model and data of this name: minilm", "NAME");
  line.closing("Writes FOLDER/index.html.", {"build/study", "--markdown cln --item switch"});
  line.parse(argc, argv, "build/study");
  return run_program("study_index", [&] {
    if (!document.empty())
      std::cout << measured_markdown(measured_reports(shipped("data/papers/measured")), document, item, on);
    for (const std::string& folder : folders) {
      MB_CHECK(std::filesystem::is_directory(folder),
               "{}: there is no such folder; make study writes build/study", folder);
      const std::vector<StudyReport> reports = study_reports(folder);
      MB_CHECK(!reports.empty(),
               "{}: no folder in it has a report.json of this version; {} --out {}/isotropy writes one", folder,
               command_of("isotropy"), shell_word(folder));
      write_file(folder + "/index.html", index_html(reports, folder));
      std::cout << folder << "/index.html\n";
    }
    return 0;
  });
}
