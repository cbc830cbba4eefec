// Finding the documents of a corpus.
#include "tasks/corpus.h"

#include "files/progress.h"
#include "text/lines.h"

namespace minbert {
namespace {

constexpr uint64_t max_part = 1 << 20;              // bytes

}  // namespace

Corpus::Corpus(const std::vector<std::string>& files) {
  MB_CHECK(!files.empty(), "a corpus needs at least one file; name some with --corpus");
  name_ = files[0];
  for (const std::string& file : files) {
    files_.push_back(std::make_unique<MappedFile>(file));
    const MappedFile& mapped = *files_.back();
    Progress progress("reading " + file, int64_t(mapped.size()));
    bool inside = false;                            // is the line before this one in a document?
    int64_t number = 0;
    for (std::string_view rest = mapped.text(); !rest.empty();) {
      const std::string_view line = take_line(rest);
      check_utf8(line, file, ++number);
      progress.update(int64_t(mapped.size() - rest.size()));
      const bool blank = line.find_first_not_of(" \t\r\n") == line.npos;
      if (!blank && !inside) ++documents_;
      if (!blank && (!inside || parts_.back().text.size() + line.size() > max_part))
        parts_.push_back({line, documents_ - 1});
      else if (!blank)
        parts_.back().text = {parts_.back().text.data(), parts_.back().text.size() + line.size()};
      inside = !blank;
    }
  }
  for (const Part& part : parts_) bytes_ += part.text.size();
  MB_CHECK(
      !parts_.empty(),
      "{}: there is no text in it; expected a paragraph a line and a blank line between documents",
      name_);
}

}  // namespace minbert
