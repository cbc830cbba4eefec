// Collecting what an item shows.
#include "report/item_report.h"

#include <algorithm>
#include <iomanip>
#include <regex>
#include <sstream>

#include "minbert/files.h"
#include "minbert/metrics.h"

namespace minbert {

std::string significant(double value, int digits) {
  std::ostringstream out;
  out << std::showpoint << std::setprecision(digits) << value;
  const std::string text = out.str();               // "2." for a whole number of all digits
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string defined_text(const Numbers& defined, size_t all, int digits, const char* none) {
  if (defined.empty()) return none;
  const std::string left_out = formatted(" ({} of {})", defined.size(), all);
  return mean_text(defined, digits) + (defined.size() < all ? left_out : "");
}

Curve numbered(const std::string& title, Numbers y, double first, Curve::Style style) {
  Curve curve{.title = title, .y = std::move(y), .style = style};
  for (size_t i = 0; i < curve.y.size(); ++i) curve.x.push_back(first + double(i));
  return curve;
}

void add_mean(Curve& curve, double x, const Numbers& values) {
  if (values.empty()) return;
  const Summary summary = summarize(values);
  curve.x.push_back(x);
  curve.y.push_back(summary.mean);
  curve.deviation.push_back(summary.deviation);
}

ItemReport::ItemReport(const std::string& folder, LongTable printed, Json item)
    : folder_(folder), printed_(std::move(printed)), item_(std::move(item)) {
  item_.set("status", "run").set("why", "");
  for (const char* list : {"claims", "differs", "tables", "figures", "inputs", "files"}) item_.set(list, Json::array());
}

void ItemReport::append(const std::string& key, Json value) {
  Json::Array list = item_[key].items();
  list.push_back(std::move(value));
  item_.set(key, Json::array(std::move(list)));
}

std::string ItemReport::stem(const std::string& word) const {
  return item_["name"].string() + (word.empty() ? "" : "-" + word);
}

void ItemReport::csv(const LongTable& values, const std::string& word) {
  values.save(folder_ + "/" + stem(word) + ".csv");
  append("files", stem(word) + ".csv");
  if (word.empty()) judge_by(values);
}

void ItemReport::table(const std::string& title, const Names& columns,
                       const std::vector<TableRow>& rows) {
  static const std::regex not_finite("(^|[ (+-])(nan|inf)\\b");           // alone, or as "-nan", "nan ± nan"
  Json::Array lines;
  for (const TableRow& row : rows) {
    Json::Array cells;
    for (const Cell& c : row.cells) {
      MB_CHECK(!std::regex_search(c.ours, not_finite),
               "{}: the cell of {} is \"{}\"; write what is undefined as undefined", item_["name"].string(), row.head,
               c.ours);
      MB_CHECK(std::ranges::none_of(verdict_words, [&](const VerdictWord& v) { return c.ours == v.word; }),
               "{}: the cell of {} is a verdict, \"{}\"; make it a claim of data/papers", item_["name"].string(),
                   row.head,
               c.ours);
      cells.push_back(
          Json::object({{"ours", c.ours},
                        {"printed", c.printed},
                        {"points", Json::array_of(c.points)},
                        {"printed_point", c.printed_point ? Json(*c.printed_point) : Json()},
                        {"note", c.note},
                        {"warning", c.warning},
                        {"mark", c.mark},
                        {"printed_mark", c.printed_mark}}));
    }
    lines.push_back(Json::object({{"head", row.head}, {"cells", Json::array(cells)}}));
  }
  append("tables", Json::object({{"title", title},
                                 {"columns", Json::array({columns.begin(), columns.end()})},
                                 {"rows", Json::array(lines)}}));
}

void ItemReport::figure(const Figure& figure, const std::string& text, const std::string& word) {
  picture(figure_svg(figure), text, word);
}

void ItemReport::picture(const std::string& svg, const std::string& text, const std::string& word) {
  write_file(folder_ + "/" + stem(word) + ".svg", svg);
  shown(stem(word) + ".svg", text);
}

void ItemReport::shown(const std::string& file, const std::string& text) {
  append("figures", Json::object({{"file", file}, {"text", text}}));
}

void ItemReport::inputs(const std::string& title, const std::vector<Input>& inputs) {
  Json::Array list;
  for (const Input& input : inputs)
    list.push_back(Json::object({{"texts", Json::array({input.texts.begin(), input.texts.end()})},
                                 {"said", input.said},
                                 {"command", input.command}}));
  append("inputs", Json::object({{"title", title}, {"list", Json::array(list)}}));
}

void ItemReport::differs(const std::string& sentence) { append("differs", sentence); }
bool ItemReport::holds(const std::string& condition) const {
  const auto found = when_.find(condition);
  MB_CHECK(found != when_.end(),
           "{}: data/papers has a sentence for when \"{}\", and the item never says whether it is",
           item_["name"].string(), condition);
  return found->second;
}
void ItemReport::caption(const std::string& sentence) {
  item_.set("caption", item_["caption"].string() + "; " + sentence);
}

}  // namespace minbert
