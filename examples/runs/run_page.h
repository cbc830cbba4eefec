// report.html of a run: what it learnt beside what needs no BERT, its curves, what it confuses and
// what it gets most wrong, its options and its environment. One page that needs no network.
#pragma once

#include "minbert/pretrainer.h"
#include "report/item_report.h"
#include "runs/run_record.h"

namespace minbert {

// FOLDER/report.html, of these items.
void write_page(const std::string& folder, const Json& record,
                const std::vector<ItemReport>& items);
ItemReport page_item(const std::string& folder, const std::string& name, const std::string& title);

// run.json, report.html and figures/ of one run that has ended. start: run_start, with_sources
void report_run(const std::string& folder, const Experiment& experiment, const RunResult& result,
                const Json& start);
void report_pretraining(const PretrainOptions& options, const PretrainResult& result,
                        const Json& start);

}  // namespace minbert
