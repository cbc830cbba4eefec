// Reading data/papers.
#include "report/paper.h"

#include <algorithm>
#include <sstream>

#include "engine/names.h"
#include "minbert/shipped.h"

namespace minbert {
namespace {

Names strings(const Json& list) {
  Names all;
  for (const Json& text : list.items()) all.push_back(text.string());
  return all;
}

// Error where the object lacks a key of `needed`, or has one that is in neither list.
const Json& with_keys(const Json& object, const std::string& where, const Names& needed, const Names& possible) {
  Names known = needed;
  known.insert(known.end(), possible.begin(), possible.end());
  for (const std::string& key : needed)
    MB_CHECK(object.has(key), "{}: the key \"{}\" is missing; write it", where, key);
  for (const auto& [key, value] : object.members())
    MB_CHECK(std::ranges::count(known, key), "{}: there is no key \"{}\"; there are: {}", where, key, joined(known));
  return object;
}

std::vector<Difference> differences_of(const Json& list, const std::string& where) {
  std::vector<Difference> all;
  for (const Json& entry : list.items()) {
    if (entry.is_string()) {
      all.push_back({"", entry.string(), {}});
      continue;
    }
    with_keys(entry, where + ": differs", {"says"}, {"when", "items"});
    all.push_back({entry.get("when", std::string()), entry["says"].string(), strings(entry.find("items"))});
  }
  return all;
}

const Names claim_keys = {"kind", "random", "more", "less", "over", "all", "is", "equal", "halves", "margin",
                          "margin_is", "one_sided", "printed", "real", "pretrained", "model", "why", "word",
                          "absolute", "unit"};

PaperItem item_of(const Json& entry, const std::string& file) {
  MB_CHECK(entry.has("tag"), "{}: an item has no \"tag\"", file);
  const std::string where = file + ": " + entry["tag"].string();
  with_keys(entry, where, {"tag", "title", "code", "tests", "commands"},
            {"item", "equation", "says", "caption", "differs", "shows", "printed", "claims"});
  for (const char* list : {"code", "tests", "commands"}) {
    const Names names = strings(entry[list]);
    MB_CHECK(!names.empty() && !std::ranges::count(names, ""), "{}: its {} are none, or empty; name one", where, list);
  }
  if (!entry.find("printed").is_null()) with_keys(entry["printed"], where + ": printed", {"columns", "rows"},
                                                  {"where"});
  const auto text = [&](const char* key) { return entry.get(key, std::string()); };
  for (const Json& claim : entry.find("claims").items()) {
    with_keys(claim, where + ": a claim", {"where", "text"}, claim_keys);
    for (const Json& half : claim.find("halves").items())
      with_keys(half, where + ": half of a claim", {"kind"}, claim_keys);
  }
  return {.tag = entry["tag"].string(), .item = text("item"), .title = text("title"), .equation = text("equation"),
          .says = strings(entry.find("says")), .caption = strings(entry.find("caption")),
          .differs = differences_of(entry.find("differs"), where), .code = strings(entry["code"]),
          .tests = strings(entry["tests"]), .commands = strings(entry["commands"]),
          .shows = strings(entry.find("shows")), .printed = table_of(entry.find("printed")), .claims =
              entry.find("claims").items()};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> PaperItem::definitions() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& line : code) {
    std::istringstream words(line);
    std::string file, name;
    words >> file;
    while (words >> name) all.push_back({file.substr(0, file.find(':')), name});
  }
  return all;
}

const Names& Paper::all() {
  static const Names names = {"cln", "task-adaptation", "isobn", "lnpeft", "transformer-norms"};
  return names;
}

Paper::Paper(const std::string& which) : Paper(which, shipped(formatted("data/papers/{}.json", which))) {}

Paper::Paper(const std::string& which, const std::string& path)
    : name(which), file(formatted("data/papers/{}.json", which)) {
  const Json json = Json::load(path);
  with_keys(json, file, {"document", "program", "letters", "items"}, {"differs"});
  document = with_keys(json["document"], file + ": document", {"tag", "title", "source", "says", "find", "equations"},
                       {"address", "doi", "model", "large", "roberta", "open", "passing"});
  tag = document["tag"].string(), program = json["program"].string();
  for (const Json& letter : json["letters"].items()) {
    with_keys(letter, file + ": letters", {"letter", "names", "shape", "is"}, {"in"});
    letters.push_back({letter["letter"].string(), strings(letter["names"]), letter["shape"].string(),
                       letter["is"].string(), strings(letter.find("in"))});
  }
  differs = differences_of(json.find("differs"), file);
  for (const Json& entry : json["items"].items()) {
    items.push_back(item_of(entry, file));
    MB_CHECK(find(items.back().tag) == &items.back(), "{}: {} is on the list twice", file, items.back().tag);
  }
}

const PaperItem* Paper::find(const std::string& which) const {
  const auto found = std::ranges::find(items, which, &PaperItem::tag);
  return found == items.end() ? nullptr : &*found;
}

const PaperItem& Paper::at(const std::string& which) const {
  const PaperItem* found = find(which);
  MB_CHECK(found, "{}: there is no item {}", file, which);
  return *found;
}

Names Paper::items_shown() const {
  Names all;
  for (const PaperItem& item : items)
    if (!item.item.empty()) all.push_back(item.item);
  return all;
}

std::vector<Difference> Paper::differences(const PaperItem& item) const {
  std::vector<Difference> all = item.differs;
  for (const Difference& d : differs)
    if (!item.item.empty() && (d.items.empty() || std::ranges::count(d.items, item.item))) all.push_back(d);
  return all;
}

const PaperItem& Paper::item(const std::string& which) const {
  const auto found = std::ranges::find(items, which, &PaperItem::item);
  MB_CHECK(found != items.end(), "{}: there is no item {}; there are: {}", file, which, joined(items_shown()));
  return *found;
}

}  // namespace minbert
