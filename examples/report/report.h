// A study's report as HTML pages that need no network and no script: the document's printed numbers
// beside ours, figures, verdicts on its claims, and what is different from the document.
//
// The report is a Json:
//   form         report_form
//   document     tag, title, source, address (or none), says and open: a paragraph each (or none), equations, page:
//                the name of its page of `make papers` (or none), generated: are the data those of data/mini?
//   command, grid (a sentence)
//   settings, environment           text -> text, or a number
//   equations    [reference, math: MathML, code [places]]
//   items        name, tag (if there is a page), reference, title, status ("run", "not run"), why, command, caption,
//                equations, code [FILE:LINE NAME], test [parts of names] (or none of these three),
//                differs [sentences], tables, files [names],
//                inputs {title, list [texts, said, command]} (or none),
//                figures {file, text: what it shows},
//                claims {where, text, kind, verdict, why, pairs [differences], by_chance}: see verdict.h
//   a table      title, columns, rows {head, cells}
//   a cell       ours, printed, note, warning; points [one a seed; null: undefined] and
//                printed_point (or null): its dot plot; mark and printed_mark: good, half, bad or
//                nothing, the color of ours and of printed
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "minbert/json.h"

namespace minbert {

inline constexpr int report_form = 3;               // one more whenever its keys mean something else

// One report, a page in `folder`. Figures stand in it, from FIGURES/FILE.svg; "": from FOLDER/FILE.svg.
std::string report_html(const Json& report, const std::string& folder, const std::string& figures = "");

// What a study left: its folder, and report.json.
struct StudyReport {
  std::string folder;
  Json report;
  // The page, or the file of values that are shipped (measured.h)
  std::string page() const { return folder.ends_with(".csv") ? folder : folder + "/report.html"; }
};
// Of FOLDER/*/report.json, by the folders' names; one of another form is left out, which is said.
std::vector<StudyReport> study_reports(const std::string& folder);

// A page in `folder` that lists reports in it: every document's items with their verdicts, linked to
// FOLDER/report.html.
std::string index_html(const std::vector<StudyReport>& reports, const std::string& folder);

// Parts of these pages for others: what stands above generated data, the tables of an item, its figures of less than
// 100 kB for a page in another folder, a verdict as a chip, how many colored words chance would give, and the style.
inline constexpr const char* generated_warning =
    "<p class=\"warning\">Generated data: the sentences of these sets are those of data/mini, made from a grammar. "
    "They bear the names of the sets whose form they have, and say nothing of those.</p>\n";
std::string tables_html(const Json& item);
std::string figures_html(const Json& item, const std::string& folder, const std::string& page_folder);
std::string verdict_html(const std::string& word);
std::string chance_text(const Json& report);
std::string report_style();

}  // namespace minbert
