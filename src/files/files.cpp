// Files, read whole or in pieces, and written so that no damaged one is left behind; folders.
#include "minbert/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "minbert/error.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_mark = ".tmp-";          // then process and number

void check(bool done, const std::string& file, const char* doing) {
  MB_CHECK(done, "{}: cannot {}: {}", file, doing, std::strerror(errno));
}

}  // namespace

InputFile::InputFile(const std::string& file)
    : name_(file), descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  check(descriptor_ >= 0, file, "read");
  struct stat status = {};
  const bool regular = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  size_ = uint64_t(status.st_size);
  if (regular && size_ > 0) return;
  ::close(descriptor_);
  fail(file + (regular ? ": the file is empty" : ": cannot read: this is not a file"));
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(uint64_t begin, void* bytes, size_t count) const {
  for (char* next = static_cast<char*>(bytes); count > 0;) {
    const ssize_t done = ::pread(descriptor_, next, count, off_t(begin));
    if (done < 0 && errno == EINTR) continue;
    check(done >= 0, name_, "read");
    if (done == 0)
      throw FileChanged(formatted("{}: another program has cut this file, which had {} bytes, "
                                  "while it was read", name_, size_));
    next += done;
    begin += uint64_t(done);
    count -= size_t(done);
  }
}

std::string InputFile::text(uint64_t begin, size_t count) const {
  std::string text(count, '\0');
  read(begin, text.data(), count);
  return text;
}

AtomicFile::AtomicFile(const std::string& file) : file_(file) {
  static std::atomic<int> count = 0;
  std::error_code none;
  const fs::path target =
      fs::is_symlink(file, none) ? fs::weakly_canonical(file, none) : fs::path(file);
  target_ = target.string();  // the file that a link points to: the link itself stays
  check_folder_of(file);
  check_folder_of(target_);
  temporary_ = target_ + formatted("{}{}-{}", temporary_mark, ::getpid(), count++);
  descriptor_ =
      ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  check(descriptor_ >= 0, file, "write");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::need(uint64_t bytes) const {
  std::error_code unknown;
  const fs::space_info disk = fs::space(temporary_, unknown);
  MB_CHECK(unknown || bytes <= disk.available,
           "{}: cannot write: {} bytes are needed, but only {} are free on its disk", file_, bytes,
           disk.available);
}

void AtomicFile::write(std::string_view text) {
  write_at(end_, text.data(), text.size());
  end_ += text.size();
}

void AtomicFile::write_at(uint64_t offset, const void* bytes, size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t done = ::pwrite(descriptor_, next, count, off_t(offset));
    if (done < 0 && errno == EINTR) continue;
    check(done >= 0, file_, "write");
    next += done;
    offset += uint64_t(done);
    count -= size_t(done);
  }
}

void AtomicFile::commit() {
  check(::fsync(descriptor_) == 0, file_, "write");
  check(::close(std::exchange(descriptor_, -1)) == 0, file_, "write");
  check(::rename(temporary_.c_str(), target_.c_str()) == 0, file_, "write");
  temporary_.clear();
  // The new name must survive a power cut, too. The file is complete already, so it is no error if
  // the folder cannot be synced.
  const std::string folder = fs::path(target_).parent_path().string();
  sync_to_disk(folder.empty() ? "." : folder);
}

bool is_temporary(const std::string& name) {
  const size_t mark = name.rfind(temporary_mark);
  return mark != name.npos &&
         name.find_first_not_of("0123456789-", mark + temporary_mark.size()) == name.npos;
}

void sync_to_disk(const std::string& file_or_folder) {
  const int descriptor = ::open(file_or_folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

std::string read_file(const std::string& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text;
  // A pipe has no size. Asking for one byte more than the size finds the end.
  for (size_t room = size_t(file_size(file)) + 1; in; room = 1 << 16) {
    const size_t length = text.size();
    text.resize(length + room);
    in.read(&text[length], std::streamsize(room));
    text.resize(length + size_t(in.gcount()));
  }
  check(in.eof() && !in.bad(), file, "read");
  return text;
}

void write_file(const std::string& file, std::string_view text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

int64_t file_size(const std::string& file) {
  std::error_code none;
  return fs::is_regular_file(file, none) ? int64_t(fs::file_size(file, none)) : 0;
}

void check_folder_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  std::error_code none;
  MB_CHECK(folder.empty() || fs::is_directory(folder, none), "{}: {}; it is to hold {}",
           folder.string(),
           fs::exists(folder, none) ? "this is not a folder" : "there is no such folder",
           fs::path(file).filename().string());
  MB_CHECK(!fs::exists(file, none) || fs::is_regular_file(file, none),
           "{}: cannot write: this is {}; give the name of a file", file,
           fs::is_directory(file, none) ? "a folder" : "a pipe or a device");
}

void make_folder(const std::string& folder) {
  std::error_code reason, none;
  fs::create_directories(folder, reason);
  MB_CHECK(fs::is_directory(folder, none), "{}: cannot make this folder: {}", folder,
           reason.message());
}

}  // namespace minbert
