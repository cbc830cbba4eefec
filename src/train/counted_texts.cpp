// Reading texts twice.
#include "counted_texts.h"

#include <unistd.h>

#include <filesystem>

#include "minbert/files.h"
#include "minbert/interrupt.h"
#include "minbert/progress.h"

namespace minbert {
namespace {

// All that comes from the pipe, in a file without a name.
std::fstream spooled(std::ifstream& pipe, const std::string& from, const std::string& output) {
  const std::string file = format("{}.input-{}", output, getpid());
  std::fstream spool(file, std::ios::in | std::ios::out | std::ios::trunc);
  MB_CHECK(spool, "{}: cannot be written; it is to hold what comes from {}", file, from);
  std::filesystem::remove(file);
  Progress progress("", 0);
  std::vector<char> block(1 << 16);
  for (int64_t bytes = 0; pipe.read(block.data(), int64_t(block.size())), pipe.gcount() > 0;) {
    spool.write(block.data(), pipe.gcount());
    bytes += pipe.gcount();
    if (progress.due()) progress.show(bytes, format("{} MB from {}", bytes / 1000000, from));
  }
  MB_CHECK(!pipe.bad(), "{}: cannot be read", from);
  MB_CHECK(spool.flush(), "{}: cannot be written; is the disk full? It is to hold what comes from {}", file, from);
  return spool;
}

}  // namespace

CountedTexts::CountedTexts(const std::string& file, const std::string& output, const Tokenizer& tokenizer,
                           int max_length)
    : file_(file), tokenizer_(tokenizer), max_length_(max_length) {
  std::ifstream pipe(file);
  MB_CHECK(pipe, "{}: cannot be read", file);
  if (std::filesystem::is_regular_file(file)) in_.open(file, std::ios::in);
  else in_ = spooled(pipe, file, output);
  in_.seekg(0, std::ios::end);
  Progress progress("counting the tokens of " + file, in_.tellg());
  in_.seekg(0);
  int64_t bytes = 0;
  for (std::string line; !interrupted() && std::getline(in_, line);) {
    bool truncated = false;
    lengths_.push_back(int32_t(build_sequence(tokenizer, line, max_length, &truncated).ids.size()));
    tokens_ += lengths_.back(), cut_ += truncated;
    progress.update(bytes += int64_t(line.size()) + 1);
  }
  MB_CHECK(!in_.bad(), "{}: cannot be read", file);
  MB_CHECK(!lengths_.empty() || interrupted(), "{}: no line in it", file);
  in_.clear(), in_.seekg(0);
}

Sequence CountedTexts::next() {
  std::string line;
  const Sequence text = std::getline(in_, line) ? build_sequence(tokenizer_, line, max_length_) : Sequence();
  MB_CHECK(!in_.bad(), "{}: cannot be read", file_);
  const int32_t before = at_ < lengths_.size() ? lengths_[at_] : 0, now = int32_t(text.ids.size());
  ++at_;
  MB_CHECK(now == before, "{}: line {} has {} tokens, but had {} when they were counted: someone writes to the file",
           file_, at_, now, before);
  return text;
}

std::vector<Sequence> CountedTexts::next(size_t most) {
  std::vector<Sequence> texts;
  for (Sequence text; texts.size() < most && !(text = next()).ids.empty();) texts.push_back(std::move(text));
  return texts;
}

}  // namespace minbert
