// Mapping a file into memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "minbert/files.h"

namespace minbert {

MappedFile::MappedFile(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  MB_CHECK(descriptor >= 0, "{}: cannot read: {}", file, std::strerror(errno));
  struct stat status = {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  void* map = MAP_FAILED;
  if (regular && status.st_size > 0)
    map = ::mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int reason = errno;
  ::close(descriptor);
  MB_CHECK(regular, "{}: cannot read: this is not a file", file);
  MB_CHECK(status.st_size > 0, "{}: the file is empty", file);
  MB_CHECK(map != MAP_FAILED, "{}: cannot read: {}", file, std::strerror(reason));
  bytes_ = static_cast<const unsigned char*>(map);
  size_ = uint64_t(status.st_size);
}

MappedFile::~MappedFile() { ::munmap(const_cast<unsigned char*>(bytes_), size_); }

}  // namespace minbert
