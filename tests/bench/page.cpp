// The page and the file of results.
#include "bench/page.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ranges>

#include "engine/text.h"
#include "minbert/files.h"
#include "report/environment.h"
#include "report/item_report.h"
#include "report/report.h"

namespace minbert::bench {
namespace {

Json json_of(const Measurement& m, const Program& p) {
  if (!p.ran()) return Json::object({{"why not", p.why_not}});
  const Interval s = median_interval(p.seconds);
  Json row = Json::object({{"seconds", s.median}, {"low", s.low}, {"high", s.high}, {"bytes", p.bytes},
                           {"rounds", int64_t(p.seconds.size())}, {m.unit(), median(m.tokens)}});
  if (m.share(p) > 0) row.set("share", m.share(p)).set("flops", m.rate(p));
  if (m.compared(p)) row.set("beside", m.programs[p.beside].name).set("times", m.times(p).median);
  return row;
}

// The bars of a group: a place on the x axis for each case, side by side the programs; a gap where one did not run.
Figure figure_of(const std::vector<const Measurement*>& group) {
  Figure figure{.columns = group.size() > 4 ? 1 : 2, .panels = {}};
  for (const bool time : {true, false}) {
    Panel panel{.title = time ? "Time" : "Memory",
                .y_label = time ? formatted("times {}'s", group[0]->programs[0].name) : "MB at most"};
    for (size_t i = 0; i < group.size(); ++i) {
      const Measurement& m = *group[i];
      panel.x_names.push_back(m.label);
      for (const Program& p : m.programs) {
        auto curve = std::ranges::find(panel.curves, p.name, &Curve::title);
        if (curve == panel.curves.end())
          curve = panel.curves.insert(curve, {.title = p.name, .style = Curve::Style::bars});
        if (!p.ran() || !m.programs[0].ran()) continue;
        curve->x.push_back(double(i));
        curve->y.push_back(time ? median(p.seconds) / median(m.programs[0].seconds) : p.bytes * 1e-6);
      }
    }
    figure.panels.push_back(panel);
  }
  return figure;
}

std::string name_of_item(std::string title) {
  for (char& c : title) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return title;
}

}  // namespace

Record::Record(const Options& options, const std::string& command) : options_(options) {
  make_folder(options.out);
  earlier_ = Json::load_if_there(options.out + "/results.json").find("runs").items();
  run_ = Json::object({{"date", date()}, {"command", command}, {"environment", environment()},
                       {"cases", Json::object()}});
}

void Record::fact(const std::string& name, const std::string& text) {
  run_.set("environment", run_["environment"].set(name, text));
}

bool Record::run(Measurement m) {
  if (!m.yardstick.worker) m.yardstick = yardstick;
  const bool ran = m.run(options_);
  Json programs = Json::object();
  for (const Program& p : m.programs) programs.set(p.name, json_of(m, p));
  run_.set("cases", run_["cases"].set(m.work.name, programs));
  all_.push_back(std::move(m));
  write();
  return ran;
}

// Its seconds in the last run before, on this processor with as many threads.
std::string Record::before(const Measurement& m, const Program& p) const {
  for (const Json& run : earlier_ | std::views::reverse) {
    const Json seconds = run["cases"].find(m.work.name).find(p.name).find("seconds");
    const auto same = [&](const char* fact) {
      return run["environment"][fact].dump() == run_["environment"][fact].dump();
    };
    if (!seconds.is_null() && same("processor") && same("threads") && same("device"))
      return formatted("{} ({})", significant(seconds.number()), run["date"].string().substr(0, 10));
  }
  return "";
}

// The group that begins with this measurement.
Json Record::item(size_t first) const {
  const std::string& title = all_[first].group;
  std::vector<const Measurement*> group;
  for (const Measurement& m : all_)
    if (m.group == title) group.push_back(&m);
  ItemReport item(options_.out, LongTable({}), Json::object({{"name", name_of_item(title)}, {"title", title},
                                                             {"reference", ""}, {"command", ""}, {"caption", ""}}));
  item.figure(figure_of(group), "Shorter is better");
  std::vector<ItemReport::TableRow> rows;
  for (const Measurement* m : group)
    for (const Program& p : m->programs) {
      rows.push_back({m->label + ": " + p.name, {}});
      std::vector<ItemReport::Cell>& cells = rows.back().cells;
      if (!p.ran()) {
        cells.push_back({.printed = "", .ours = "", .note = p.why_not});
        cells.resize(6);
        continue;
      }
      const double seconds = median(p.seconds);
      const std::string times =
          m->compared(p) ? formatted("{} × {}", interval_text(m->times(p), 2), m->programs[p.beside].name) : "";
      for (const std::string& text : {significant(seconds), fixed(median(m->tokens) / seconds, 0),
                                      m->share(p) > 0 ? fixed(m->share(p), 2) : "", times, fixed(p.bytes * 1e-6, 0),
                                      before(*m, p)})
        cells.push_back({"", text});
    }
  item.table("Medians. times: the time beside another program's for the same work, with its 95% interval (of fewer "
             "than six rounds the least and the most). before: seconds in an earlier run on this machine",
             {"", "seconds", group[0]->unit() + " a second", "share of the best product", "times", "MB", "before"},
             rows);
  return item.json();
}

void Record::write() {
  Json::Array runs = earlier_, items;
  runs.push_back(run_);
  write_file(options_.out + "/results.json", Json::object({{"runs", Json::array(runs)}}).dump());
  for (size_t i = 0; i < all_.size(); ++i)
    if (std::ranges::find(all_, all_[i].group, &Measurement::group) == all_.begin() + std::ptrdiff_t(i))
      items.push_back(item(i));
  const Json machine = run_["environment"];
  const std::string where = formatted(
      "{}, {} threads, device {}, OpenBLAS {} with its {} kernels; best product: {}", machine["processor"].string(),
      machine["threads"].integer(), machine["device"].string(), machine["OpenBLAS"].string(),
      machine["kernels of OpenBLAS"].string(), machine["best product"].string());
  const Json document = Json::object(
      {{"title", "Benchmark of minbert"}, {"source", where},
       {"says", "Each program is a process of its own, and each round asks all of them in turn for the same work. A "
                "machine that does other work at the time makes every number worse, and noisier."}});
  const Json report = Json::object(
      {{"document", document}, {"command", run_["command"]},
       {"grid", options_.quick ? "four cases and sentences, some seconds each (--quick)" : ""},
       {"settings", Json::object({{"date", run_["date"]}, {"warm-up", warm_up},
                                  {"rounds", options_.steps ? Json(options_.steps) : "by case"}})},
       {"environment", machine}, {"items", Json::array(items)}});
  write_file(options_.out + "/report.html", report_html(report, options_.out));
}

}  // namespace minbert::bench
