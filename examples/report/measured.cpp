// Writing and reading values that are shipped.
#include "report/measured.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/files.h"
#include "minbert/metrics.h"
#include "report/claims.h"
#include "report/environment.h"
#include "report/html.h"
#include "report/item_report.h"
#include "report/paper.h"
#include "report/source.h"

namespace minbert {
namespace {

const std::string columns_line = "item,what,where,of,value";

// The shortest text that is read as the same number: ties between scores stay ties.
std::string exact(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

bool is_random(const std::string& column) { return column == "seed" || column == "sample"; }

// ---- Writing

std::string rows_of(const std::string& item, const char* what, const LongTable& table) {
  std::string text;
  const Names& columns = table.columns();
  for (const LongTable::Row& row : table.rows()) {
    std::string where, of;
    for (size_t c = 0; c + 1 < columns.size(); ++c) {
      MB_CHECK(row.keys[c].find_first_of(",|\n") == std::string::npos, "{}: \"{}\" cannot be a key", item, row.keys[c]);
      const std::string key = columns[c] + "=" + row.keys[c];
      if (is_random(columns[c])) of = key;
      else where += (where.empty() ? "" : "|") + key;
    }
    const std::string value = row.value ? exact(*row.value) : "";
    text += formatted("{},{},{},{},{}\n", item, what, where, of, value);
  }
  return text;
}

std::string intervals_of(const std::string& item, const LongTable& intervals) {
  std::string text;
  for (const LongTable::Row& row : intervals.rows())
    text += formatted("{},interval,{}|{},,{}\n", item, row.keys[0], row.keys[1], exact(*row.value));
  return text;
}

std::vector<Claim> claims_of(const PaperItem& item, const std::string& model) {
  std::vector<Claim> all;
  for (const Json& claim : item.claims)
    if (claim.has("kind")) all.push_back(claim_of(claim, claim.get("model", model)));
  return all;
}

// ---- Reading

struct Block {
  Json head;
  std::map<std::string, Evidence> items;
};

// "a=b|c=d" into columns and keys
void take_keys(const std::string& text, Names& columns, Names& keys) {
  for (const std::string& part : split(text, '|')) {
    const size_t equals = part.find('=');
    columns.push_back(part.substr(0, equals));
    keys.push_back(equals == part.npos ? "" : part.substr(equals + 1));
  }
}

void add_row(Evidence& evidence, const Names& fields, const std::string& place) {
  const std::optional<double> value = fields[4].empty() ? std::nullopt : number_in(fields[4]);
  MB_CHECK(value || fields[4].empty(), "{}: \"{}\" is no number", place, fields[4]);
  Names columns, keys;
  if (fields[1] == "interval") {
    const size_t bar = fields[2].rfind('|');
    MB_CHECK(bar != std::string::npos, "{}: expected \"MORE > LESS|low\" or \"|high\"", place);
    evidence.intervals.add({fields[2].substr(0, bar), fields[2].substr(bar + 1)}, value);
    return;
  }
  MB_CHECK(fields[1] == "value" || fields[1] == "yardstick", "{}: \"{}\" is none of value, yardstick, interval", place,
           fields[1]);
  take_keys(fields[2], columns, keys);
  if (!fields[3].empty()) take_keys(fields[3], columns, keys);
  columns.push_back("value");
  LongTable& table = fields[1] == "value" ? evidence.values : evidence.yardsticks;
  if (table.rows().empty()) table = LongTable(columns);
  MB_CHECK(table.columns() == columns, "{}: the columns {} are not those of the rows above: {}", place,
           joined(columns), joined(table.columns()));
  table.add(keys, value);
}

std::vector<Block> blocks_in(const std::string& file) {
  std::vector<Block> blocks;
  for (int number = 0; const std::string& line : lines_of(read_file(file))) {
    const std::string place = formatted("{}:{}", file, ++number);
    if (line.empty() || line == columns_line) continue;
    if (line.starts_with("# ")) {
      blocks.push_back({Json::parse(line.substr(2), place), {}});
      const Json::Object items = blocks.back().head["items"].members();
      for (const auto& [name, item] : items)
        blocks.back().items.emplace(name, Evidence{LongTable({"value"}), unit_of(item["unit"])});
      continue;
    }
    const Names fields = split(line, ',');
    MB_CHECK(!blocks.empty() && fields.size() == 5, "{}: expected {}, below a line \"# {{...}}\"", place, columns_line);
    const auto item = blocks.back().items.find(fields[0]);
    MB_CHECK(item != blocks.back().items.end(), "{}: the line \"# {{...}}\" names no item \"{}\"", place, fields[0]);
    add_row(item->second, fields, place);
  }
  return blocks;
}

// So many that the largest value has two that are not leading zeros
int digits_of(const Numbers& values, int digits) {
  const double most = std::abs(std::ranges::max(values, {}, [](double v) { return std::abs(v); }));
  while (digits < 9 && most > 0 && most * std::pow(10, digits) < 10) ++digits;
  return digits;
}

// A task's name, of generated data with the word
std::string titled(const std::string& column, const std::string& key, bool generated) {
  return column == "task" && generated && !key.empty() ? key + " (generated)" : key;
}

// By task the best score without a BERT
void show_yardsticks(const Evidence& evidence, bool generated, ItemReport& report) {
  Names heads = {"best score without a BERT"};
  ItemReport::TableRow line = {"the commonest label, or word counts", {}};
  const LongTable scores = evidence.yardsticks.only({{"what", "score"}});
  for (const auto& [keys, score] : scores.rows()) {
    const std::string& task = keys[0];
    if (task.empty()) line.head = "the commonest label";          // NT's classifiers have no word counts beside them
    heads.push_back(task.empty() ? "all" : titled("task", task, generated));
    line.cells.push_back({"", fixed(evidence.unit.factor * *score, evidence.unit.digits)});
  }
  if (!line.cells.empty()) report.table("The yardsticks", heads, {line});
}

// A table of all values: the mean over the seeds, and their deviation. The last column's keys stand above.
void show_values(const Evidence& evidence, bool generated, ItemReport& report) {
  if (evidence.values.rows().empty()) return;
  const Names& columns = evidence.values.columns();
  Names rows, heads;
  std::map<std::pair<std::string, std::string>, std::pair<Numbers, size_t>> cells;    // the defined ones, of how many
  const bool of_seeds = std::ranges::count(columns, "seed") > 0;       // else of the rows as they are: no points
  for (const LongTable::Row& row : evidence.values.rows()) {
    Names keys;
    for (size_t c = 0; c + 1 < columns.size(); ++c)
      if (!is_random(columns[c])) keys.push_back(titled(columns[c], row.keys[c], generated));
    const std::string head = keys.empty() ? "value" : keys.back();
    if (!keys.empty()) keys.pop_back();
    const std::string side = joined(keys, ", ");
    if (!std::ranges::count(rows, side)) rows.push_back(side);
    if (!std::ranges::count(heads, head)) heads.push_back(head);
    auto& [defined, all] = cells[{side, head}];
    ++all;
    if (row.value) defined.push_back(evidence.unit.factor * *row.value);
  }
  report.table("The values that the claims are judged by" + element(", in {}", evidence.unit.name), "", rows, heads,
               [&](const std::string& row, const std::string& head) {
                 const auto& [defined, all] = cells[{row, head}];
                 const int digits = defined.empty() ? 0 : digits_of(defined, evidence.unit.digits);
                 const std::string text = all > 0 ? defined_text(defined, all, digits) : "";
                 return ItemReport::Cell{"", text, of_seeds ? defined : Numbers()};
               });
}

Json item_of(const PaperItem& item, const Block& block, const Judging& judging) {
  const auto values = block.items.find(item.item);
  const bool is_there = values != block.items.end();
  ItemReport report("", item.printed, Json::object({{"name", item.item}}));
  if (is_there) {
    show_values(values->second, judging.generated, report);
    show_yardsticks(values->second, judging.generated, report);
  }
  Judging of_item = judging;
  of_item.was_run = is_there;
  Json json = report.json();
  json.set("claims", judged_claims(item, of_item, is_there ? std::optional(values->second) : std::nullopt));
  return json.set("status", is_there ? "run" : "not run");
}

StudyReport report_of(const std::string& file, const Block& block) {
  const Paper paper(block.head["document"].string());
  Judging judging{true, block.head["judges"].boolean(), block.head["generated"].boolean(),
                  block.head.get("pretrained", true), block.head["model"].string(), {}};
  for (const Json& difference : block.head["differences"].items()) judging.differences.push_back(difference.string());
  Json::Array items;
  for (const PaperItem& item : paper.items)
    if (!item.item.empty()) items.push_back(item_of(item, block, judging));
  Json document = paper.document;
  document.set("page", paper.name).set("generated", judging.generated);
  return {file, Json::object({{"document", document}, {"on", block.head["on"]}, {"grid", block.head["grid"]},
                              {"items", Json::array(items)}})};
}

}  // namespace

std::string measured_text(const Paper& paper, const Json& report, const Json& study,
                          const std::vector<MeasuredItem>& items) {
  Json head = Json(study).set("document", paper.name), about = Json::object();
  std::string rows;
  for (const MeasuredItem& item : items) {
    const std::vector<Claim> claims = claims_of(paper.item(item.name), study["model"].string());
    Evidence kept = without_samples(item.evidence, claims);
    if (claims.empty()) kept.values = LongTable({"value"});       // they judge nothing
    about.set(item.name,
              Json::object({{"unit", Json::array({kept.unit.factor, kept.unit.digits, kept.unit.name})}}));
    rows += rows_of(item.name, "value", kept.values) + rows_of(item.name, "yardstick", kept.yardsticks) +
            intervals_of(item.name, kept.intervals);
  }
  for (const char* key : {"command", "grid", "environment"}) head.set(key, report[key]);
  head.set("generated", report["document"]["generated"]).set("date", date().substr(0, 10)).set("items", about);
  return formatted("# {}\n{}\n{}", head.dump(-1), columns_line, rows);
}

std::vector<StudyReport> measured_reports(const std::string& folder) {
  Names files;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder, none))
    if (file.path().extension() == ".csv") files.push_back(file.path().string());
  std::ranges::sort(files);
  std::vector<StudyReport> all;
  for (const std::string& file : files)
    for (const Block& block : blocks_in(file)) all.push_back(report_of(file, block));
  return all;
}

std::string measured_markdown(const std::vector<StudyReport>& studies, const std::string& document,
                              const std::string& item, const std::string& on) {
  std::string text;
  const auto row = [](const Names& cells) { return "| " + joined(cells, " | ") + " |\n"; };
  for (const StudyReport& study : studies)
    for (const Json& one : study.report["items"].items()) {
      if (study.report["document"]["page"].string() != document || one["name"].string() != item ||
          one["status"].string() != "run" || study.report["on"].string().find(on) == std::string::npos)
        continue;
      text += formatted("{}{}; {}:\n\n", text.empty() ? "" : "\n", study.report["on"].string(),
                        study.report["grid"].string());
      for (bool first = true; const Json& table : one["tables"].items()) {
        text += std::exchange(first, false) ? "" : "\n";
        Names heads;
        for (const Json& column : table["columns"].items()) heads.push_back(column.string());
        text += row(heads) + row(Names(heads.size(), "---"));
        for (const Json& line : table["rows"].items()) {
          Names cells = {line["head"].string()};
          for (const Json& cell : line["cells"].items()) cells.push_back(cell["ours"].string());
          text += row(cells);
        }
      }
      text += one["claims"].items().empty() ? "" : "\n";
      const auto& claims = one["claims"].items();
      const auto word = [&](size_t i) { return claims[i]["verdict"].string(); };
      const auto why = [&](size_t i) { return claims[i]["why"].string(); };
      for (size_t i = 0; i < claims.size(); ++i) {
        Names alike;                             // of one word for one reason: in one line, at the first of them
        for (size_t k = 0; k < claims.size(); ++k)
          if (word(k) == word(i) && why(k) == why(i)) {
            if (k < i) break;
            alike.push_back(claims[k]["text"].string());
          }
        if (!alike.empty()) text += formatted("- *{}*: {} ({})\n", word(i), joined(alike, "; "), why(i));
      }
    }
  MB_CHECK(!text.empty(), "data/papers/measured: no study of {} has {}{}", document, item,
           on.empty() ? "" : " on " + on);
  return text;
}

}  // namespace minbert
