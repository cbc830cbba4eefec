// Files: read whole or in pieces, or written so that no damaged one is left behind; and folders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "minbert/error.h"

namespace minbert {

// A file is not what it was when it was opened: another program writes to it, or has removed it.
struct FileChanged : Error {
  using Error::Error;
};

// A file that is read in pieces: it may be larger than the memory. (It is not mapped: where another
// program cuts a mapped file, the system kills the reader.)
// Error if it cannot be read, is not a file (a pipe, a folder) or is empty.
class InputFile {
 public:
  explicit InputFile(const std::string& file);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }           // in bytes
  // The bytes from `begin` on; any thread may read. Throws FileChanged where the file has become
  // shorter.
  void read(uint64_t begin, void* bytes, size_t count) const;
  std::string text(uint64_t begin, size_t count) const;

 private:
  std::string name_;
  int descriptor_;
  uint64_t size_ = 0;
};

// A file written under a temporary name beside its own, then synced and renamed: a crash or a full
// disk leaves the old file whole. Without commit() nothing is left behind.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void need(uint64_t bytes) const;                      // Error if the disk has no room for so many
  void write(std::string_view text);                    // appends; Error for a full disk, say
  void write_at(uint64_t offset, const void* bytes, size_t count);
  void commit();

 private:
  std::string file_, target_, temporary_;
  int descriptor_ = -1;
  uint64_t end_ = 0;
};

std::string read_file(const std::string& file);   // all of it; Error if it cannot be read
void write_file(const std::string& file, std::string_view text);   // atomically
int64_t file_size(const std::string& file);       // in bytes; 0 if unknown, as for a pipe
void make_folder(const std::string& folder);      // with its parents
// Error if the file cannot be written since there is no folder to hold it, or since it is a folder,
// a pipe or a device: before the work whose result it is.
void check_folder_of(const std::string& file);
void sync_to_disk(const std::string& file_or_folder);       // its contents then survive a power cut
bool is_temporary(const std::string& name);       // the name of an AtomicFile of a killed program?

}  // namespace minbert
