// Files: read whole, mapped, or written so that no damaged one is left behind; and folders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minbert {

// A file mapped into memory: the system loads the pages that are read, and the file may be larger
// than the memory.
// Error if it cannot be read, is not a file (a pipe, a folder) or is empty.
class MappedFile {
 public:
  explicit MappedFile(const std::string& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const unsigned char* bytes() const { return bytes_; }
  uint64_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_), size_}; }

 private:
  const unsigned char* bytes_;
  uint64_t size_;
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
