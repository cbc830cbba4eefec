// Finding the documents of a corpus.
#include "tasks/corpus.h"

#include <algorithm>

#include "files/progress.h"
#include "text/lines.h"

namespace minbert {
namespace {

constexpr uint64_t max_part = 1 << 20;              // bytes

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n") == line.npos; }

}  // namespace

Corpus::Corpus(const std::vector<std::string>& files) {
  MB_CHECK(!files.empty(), "a corpus needs at least one file; name some with --corpus");
  name_ = files[0];
  for (const std::string& file : files) {
    files_.push_back(std::make_unique<MappedFile>(file));
    const MappedFile& mapped = *files_.back();
    const std::string_view text = mapped.text();
    Progress progress("reading " + file, int64_t(text.size()));
    bool inside = false;                            // is the line before this one in a document?
    int64_t number = 0;
    for (uint64_t begin = 0, end; begin < text.size(); begin = end) {
      end = std::min<uint64_t>(text.find('\n', begin), text.size() - 1) + 1;
      const std::string_view line = text.substr(begin, end - begin);
      check_utf8(line, file, ++number);
      if (is_blank(line)) {
        inside = false;
        progress.update(int64_t(end));
        continue;
      }
      if (!inside) ++documents_;
      if (!inside || end - parts_.back().begin > max_part) parts_.push_back({&mapped, begin, end, documents_ - 1});
      parts_.back().end = end;
      inside = true;
    }
  }
  for (const Part& part : parts_) bytes_ += part.size();
  MB_CHECK(!parts_.empty(),
           "{}: there is no text in it; expected a paragraph a line and a blank line between documents", name_);
}

}  // namespace minbert
