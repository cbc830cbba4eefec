// Reading the sources, and the one rule of data/papers: what is named is there.
#include "companion/project.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "companion/ties.h"
#include "engine/names.h"
#include "minbert/files.h"
#include "minbert/shipped.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

const std::string plain = "examples/plain_bert.cpp";

// "eq.1-3" is eq.1, eq.2 and eq.3.
Names each_of(const std::string& range) {
  std::smatch parts;
  static const std::regex form("(.{1,40}[^0-9])([0-9]{1,3})-([0-9]{1,3})");
  if (range.size() > 60 || !std::regex_match(range, parts, form) || std::stoi(parts[2]) > std::stoi(parts[3]))
    return {range};                                 // no range: nothing on the list
  Names all;
  for (int i = std::stoi(parts[2]); i <= std::stoi(parts[3]); ++i) all.push_back(formatted("{}{}", parts[1].str(), i));
  return all;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto part_of_word = [&](size_t i) { return i < text.size() && in_word(text[i]); };
  for (size_t at = 0; (at = text.find(word, at)) != text.npos; ++at)
    if (!(at > 0 && part_of_word(at - 1)) && !part_of_word(at + word.size())) return true;
  return false;
}

// From the last heading of the first or second level to the next; a line of a block of code is none.
Walk section_at(const Tag& tag, const Names& lines) {
  Walk walk{tag.file, ""};
  bool code = false;
  for (int n = 1; const std::string& one : lines) {
    if (one.starts_with("```")) code = !code;
    const bool heading = !code && (one.starts_with("# ") || one.starts_with("## "));
    if (heading && n > tag.line) break;
    if (heading) walk = {tag.file, one.substr(one.find(' ') + 1), n};
    else walk.lines.push_back(one);
    ++n;
  }
  return walk;
}

}  // namespace

bool Definition::has(const std::string& in_file, int line) const {
  return file == in_file && quote.first > 0 && line >= quote.first &&
         line < quote.first + std::ranges::count(quote.text, '\n');
}

std::vector<Tag> tags_in(const std::string& line) {
  // A document's, or what looks like one and is none
  static const std::regex form("\\[(?:(CLN|TA|IsoBN|LN-PEFT|NT)(?: ([^\\]]*))?|"
                               "([A-Za-z][A-Za-z-]*) ((?:alg|app|eq|fig|sec|tab)\\.[^\\]]*))(\\]|$)");
  std::vector<Tag> all;
  if (line.find('[') == line.npos || line.size() > 1000) return all;
  for (std::sregex_iterator m(line.begin(), line.end(), form), none; m != none; ++m)
    for (const std::string& item : each_of((*m)[(*m)[1].matched ? 2 : 4])) {
      const size_t begin = size_t(m->position());
      all.push_back({(*m)[1].matched ? (*m)[1] : (*m)[3], item, begin,
                     (*m)[5] == "]" ? begin + size_t(m->length()) : line.npos, (*m)[1].matched});
    }
  return all;
}

std::string Project::path(const std::string& file) const {
  return folder_.empty() ? shipped(file) : folder_ + "/" + file;
}

Project::Project(const std::string& folder) : folder_(folder) {
  std::vector<std::string> found;
  for (const char* room : {"include", "src", "examples", "tests", "data"})
    if (fs::exists(path(room)))
      for (const auto& entry : fs::recursive_directory_iterator(path(room))) {
        const fs::path file = entry.path();
        const std::string end = file.extension().string();
        if (end == ".h" || end == ".cpp" || end == ".py" || end == ".sh" || file.filename() == "README.md")
          found.push_back(room + ("/" + file.lexically_relative(path(room)).string()));
      }
  std::ranges::sort(found);
  if (fs::exists(path("README.md"))) read("README.md");
  for (const std::string& file : found) read(file);
}

void Project::read(const std::string& file) {
  const Names& lines = lines_[file] = lines_of(read_file(path(file)));
  for (size_t i = 0; i < lines.size(); ++i) {
    for (Tag tag : tags_in(lines[i])) {
      tag.file = file, tag.line = int(i) + 1;
      tags_.push_back(tag);
    }
    if (!lines[i].starts_with("TEST_CASE(")) continue;
    TestCase test{"", file, int(i) + 1};             // its name may be several literals
    std::string text = lines[i].substr(10);
    for (size_t next = i + 1; next < lines.size() && !text.ends_with("{"); ++next) text += lines[next];
    bool inside = false;
    for (size_t c = 0; c < text.size() && (inside || text[c] == '"' || text[c] == ' '); ++c)
      if (text[c] == '"') inside = !inside;
      else if (inside) test.name += text[c] == '\\' ? text[++c] : text[c];
    tests_.push_back(test);
  }
}

std::vector<Definition> Project::definitions(const PaperItem& item) const {
  std::vector<Definition> all;
  for (const auto& [file, name] : item.definitions())
    all.push_back({file, name, quote(path(file), defining_line(path(file), name))});
  return all;
}

std::vector<TestCase> Project::tests(const std::string& part_of_name) const {
  std::vector<TestCase> found;
  for (const TestCase& test : tests_)
    if (test.name.find(part_of_name) != std::string::npos) found.push_back(test);
  return found;
}

std::vector<Definition> Project::helpers(const TestCase& test) const {
  static const std::regex begins("^(?:struct|class) (\\w+) \\{|^[A-Za-z_][\\w:<>,*& ]*[ *&](\\w+)\\(.*\\{");
  const std::string body = quote(path(test.file), test.line).text;
  const Names& lines = lines_.at(test.file);
  std::vector<Definition> all;
  std::smatch found;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!std::regex_search(lines[i], found, begins)) continue;
    const std::string name = found[1].matched ? found[1] : found[2];
    if (has_word(body, name)) all.push_back({test.file, name, quote(path(test.file), int(i) + 1)});
  }
  return all;
}

std::vector<Tag> Project::tags(const std::string& document, const std::string& item) const {
  std::vector<Tag> found;
  for (const Tag& tag : tags_)
    if (tag.document == document && tag.item == item) found.push_back(tag);
  return found;
}

std::vector<Definition> Project::plain_twins(const std::string& document, const std::string& item) const {
  std::vector<Definition> all;
  for (const Tag& tag : tags(document, item)) {
    if (tag.file != plain) continue;
    const Definition twin{plain, "", quote_function(path(plain), tag.line)};
    if (twin.quote.first && (all.empty() || all.back().quote.first != twin.quote.first)) all.push_back(twin);
  }
  return all;
}

std::vector<Walk> Project::walks(const std::string& document, const std::string& item) const {
  std::vector<Walk> found;
  for (const Tag& tag : tags(document, item)) {
    if (!tag.file.ends_with(".md")) continue;
    const Walk walk = section_at(tag, lines_.at(tag.file));
    const bool quotes = std::ranges::any_of(walk.lines, [](auto& one) { return one.starts_with("```cpp"); });
    if ((quotes || walk.is_lab()) && !std::ranges::count(found, walk)) found.push_back(walk);
  }
  return found;
}

// ---- The rule

// "": the program, its items and its options are there.
std::string Project::wrong_command(const Paper& paper, const std::string& command) const {
  std::istringstream words(command);
  std::string program, word, sources;
  words >> program;
  const auto text = [&](const std::string& file) {
    return fs::is_regular_file(path(file)) ? read_file(path(file)) : "";
  };
  if (program == "make") {
    words >> word;
    const size_t filter = command.find("T=");
    if (text("Makefile").find(formatted("\n{}:", word)) == std::string::npos || word.starts_with('.'))
      return formatted("the Makefile has no target {}; name one of `make help`", word);
    std::string of = filter == command.npos ? "" : command.substr(filter + 2);
    std::erase(of, '\'');
    return filter != command.npos && tests(of).empty() ? formatted("no test case has \"{}\" in its name", of) : "";
  }
  if (program.starts_with("data/")) return text(program).empty() ? formatted("there is no {}", program) : "";
  for (const char* form : {"examples/{}.cpp", "examples/papers/{}.cpp", "examples/inside/{}.cpp"})
    sources += text(formatted(form, program));
  if (sources.find("\nint main(") == std::string::npos)
    return formatted("there is no program {}; name one of examples/ or of data/", program);
  const bool of_document = fs::exists(path(formatted("examples/papers/{}.cpp", program)));
  sources += text(of_document ? "examples/papers/document_options.cpp" : "src/train/cli/options.cpp");
  for (bool first = true; words >> word; first = false) {
    if (first && program == paper.program && !word.starts_with("--") && !std::ranges::count(paper.items_shown(), word))
      return formatted("{} has no item {}; there are: {}", program, word, joined(paper.items_shown()));
    if (word.starts_with("--") && sources.find(formatted("\"{}\"", word.substr(0, word.find('=')))) == word.npos)
      return formatted("{} has no option {}; see its --help", program, word);
  }
  return "";
}

void Project::complain_of_item(const Paper& paper, const PaperItem& item, Names& all) const {
  const std::string tag = formatted("[{} {}]", paper.tag, item.tag);
  const auto complain = [&](const std::string& what) { all.push_back(formatted("{}: {}: {}", paper.file, tag, what)); };
  bool inside = false;
  for (const Definition& d : definitions(item)) {
    if (d.quote.text.empty())
      complain(formatted("{} defines no class, struct or function {}; name what computes the item", d.file, d.name));
    for (const Tag& t : tags(paper.tag, item.tag)) inside |= d.has(t.file, t.line);
  }
  if (item.is_formula() && item.equation.empty()) complain("has no \"equation\"; write it in MathML");
  if (item.is_formula() && !inside)
    complain("its tag stands in none of the definitions that it names; write it at the line that computes it");
  for (const std::string& test : item.tests)
    if (const size_t found = tests(test).size(); found != 1)
      complain(formatted("{} test cases have \"{}\" in their names; write the name of one", found, test));
  for (const std::string& command : item.commands)
    if (const std::string wrong = wrong_command(paper, command); !wrong.empty()) complain(wrong);
  for (const std::string& shown : item.shows)
    if (const PaperItem* other = paper.find(shown); !other || other->equation.empty())
      complain(formatted("shows {}, which is no item with an equation", shown));
  try {
    for (const std::string& letter : item.equation.empty() ? Names() : Ties(paper, item.tag).missing(item.equation))
      complain(formatted("the equation has the letter {}, which \"letters\" lacks; add it there, or write an operator "
                         "as <mo> and a word as <mtext>", letter));
  } catch (const Error& e) {
    complain(e.what());
  }
}

void Project::complain_of_letters(const Paper& paper, Names& all) const {
  std::map<std::string, std::string> code;          // of each item: all that it quotes
  for (const PaperItem& item : paper.items)
    for (const auto& shown : {definitions(item), plain_twins(paper.tag, item.tag)})
      for (const Definition& d : shown) code[item.tag] += d.quote.text;
  for (const Letter& letter : paper.letters) {
    for (const std::string& tag : letter.in)
      if (!paper.find(tag))
        all.push_back(formatted("{}: the letter {} is said to be in {}, which is no item", paper.file, letter.letter,
                                tag));
    for (const std::string& name : letter.names) {
      const bool found = std::ranges::any_of(code, [&](const auto& of_item) {
        return (letter.in.empty() || std::ranges::count(letter.in, of_item.first)) && has_word(of_item.second, name);
      });
      if (!found)
        all.push_back(formatted("{}: the letter {} has the name {}, which stands in no definition that an item names; "
                                "write what it is called there", paper.file, letter.letter, name));
    }
  }
}

Names Project::complaints(const std::vector<Paper>& papers) const {
  Names all;
  for (const Tag& tag : tags_)
    if (tag.end == std::string::npos)
      all.push_back(formatted("{}:{}: the tag {} goes on in the next line; write it in one", tag.file, tag.line,
                              lines_.at(tag.file)[size_t(tag.line - 1)].substr(tag.begin)));
  for (const Tag& tag : tags_)
    if (!tag.known)
      all.push_back(formatted("{}:{}: [{} {}] is of no document; they are CLN, TA, IsoBN, LN-PEFT and NT", tag.file,
                              tag.line, tag.document, tag.item));
  for (const Paper& paper : papers) {
    const size_t before = all.size();
    for (const PaperItem& item : paper.items) complain_of_item(paper, item, all);
    if (all.size() == before) complain_of_letters(paper, all);       // else they may be those of what is not found
    for (const Tag& tag : tags_)
      if (tag.document == paper.tag && tag.end != std::string::npos && !tag.item.empty() && !paper.find(tag.item))
        all.push_back(formatted("{}:{}: [{} {}] is not on the list; mend it, or add the item to {}", tag.file, tag.line,
                                tag.document, tag.item, paper.file));
  }
  return all;
}

}  // namespace minbert
