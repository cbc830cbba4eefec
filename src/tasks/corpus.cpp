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
  for (const std::string& name : files) {
    const InputFile file(name);
    files_.push_back({name, file.size(), std::filesystem::last_write_time(name)});
    Progress progress("reading " + name, int64_t(file.size()));
    bool inside = false;                            // is the line before this one in a document?
    uint64_t begin = 0;
    for_each_line(file, [&](std::string_view line) {
      const bool blank = line.find_first_not_of(" \t\r\n") == line.npos;
      if (!blank && !inside) ++documents_;
      if (!blank && (!inside || parts_.back().bytes + line.size() > max_part))
        parts_.push_back({files_.size() - 1, begin, line.size(), documents_ - 1});
      else if (!blank)
        parts_.back().bytes += line.size();
      inside = !blank;
      begin += line.size();
      progress.update(int64_t(begin));
    });
  }
  for (const Part& part : parts_) bytes_ += part.bytes;
  MB_CHECK(
      !parts_.empty(),
      "{}: there is no text in it; expected a paragraph a line and a blank line between documents",
      name_);
}

// The file is opened for each part: a corpus may have more files than a process may hold open.
std::string Corpus::text(const Part& part) const {
  const auto& [name, size, written] = files_[part.file];
  std::error_code none;
  if (std::filesystem::last_write_time(name, none) != written || uint64_t(file_size(name)) != size)
    throw FileChanged(formatted("{}: this file has changed, or is gone, since the start: it had {} "
                                "bytes, and now has {}", name, size, file_size(name)));
  return InputFile(name).text(part.begin, size_t(part.bytes));
}

}  // namespace minbert
