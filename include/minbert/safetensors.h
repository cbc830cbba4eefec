// Reading and writing safetensors, the files of weights.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "minbert/files.h"
#include "minbert/tensor.h"

namespace minbert {

// "[512, 768]", as a Shape is printed, for any number of dimensions
std::string sizes_text(const std::vector<int64_t>& sizes);
std::vector<int64_t> sizes_of(const Shape& shape);

// A safetensors file. Every header field is checked against the file before any value is read.
// Source: the format's description, https://github.com/huggingface/safetensors#format
//
// Tensors must cover the bytes after the header without gaps or overlaps, as Hugging Face's reader
// requires: other files are damaged. A tensor of a type that read() does not know is an error only
// when it is read.
class SafeTensors {
 public:
  struct Entry {
    std::string type;                             // "F32", as in the file
    std::vector<int64_t> shape;
    uint64_t begin, end;                          // in bytes from the end of the header
  };
  explicit SafeTensors(const std::string& file);  // throws Error naming the file and what is wrong

  const std::string& file() const { return file_; }
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const Entry& entry(const std::string& name) const;         // fails if there is none
  void read(const std::string& name, std::span<real> out) const;      // F64, F32, F16, BF16 -> real
  // Into a model, on any device: Error also for a NaN or an infinite value.
  void read(const std::string& name, const Tensor& to) const;
  void check_finite(const std::string& name, std::span<const real> values) const;
  std::vector<real> read(const std::string& name) const;
  std::vector<int64_t> read_integers(const std::string& name) const;  // I64
  std::vector<uint8_t> read_booleans(const std::string& name) const;  // BOOL: 0 or 1

 private:
  void check_coverage() const;
  template <class Stored, class Out, class Convert = std::identity>
  void unpack(const Entry& entry, std::span<Out> out, Convert convert = {}) const;

  std::string file_;
  InputFile bytes_;
  uint64_t data_ = 0;                                        // where the values begin in the file
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

// A safetensors file that is written piece by piece, in any order: its values may be larger than
// the memory. Written atomically, see AtomicFile.
class SafeTensorsStream {
 public:
  using Entries = std::map<std::string, SafeTensors::Entry>;
  // The entries cover the bytes after the header without a gap. Error if the disk has no room.
  SafeTensorsStream(const std::string& file, const std::map<std::string, std::string>& metadata,
                    const Entries& entries);
  // Values of a tensor of this type, to be written `begin` bytes after the header.
  void write(uint64_t begin, const std::string& type, std::span<const real> values);
  void write(uint64_t begin, std::span<const std::byte> values);                  // as they are
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  uint64_t data_ = 0;                                        // where the values begin in the file
};

// A list of tensors to write. Values are read only when write() runs. Wider types come first, so
// that every value is aligned in the file; within a type the order is that of add().
class SafeTensorsWriter {
 public:
  enum class As { real_type, f32, f16 };              // real_type: F32, or F64 in the double build
  using Sizes = std::vector<int64_t>;
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  void add(const std::string& name, Sizes shape, std::span<const real> values, As as = As::f32);
  void add(const std::string& name, const Tensor& tensor, As as = As::f32);      // of any device
  void add(const std::string& name, Sizes shape, std::span<const int64_t> values);      // I64
  void add(const std::string& name, Sizes shape, std::span<const uint8_t> values);      // BOOL
  void write(const std::string& file) const;          // atomically, see AtomicFile

 private:
  using Write = std::function<void(SafeTensorsStream& out, uint64_t begin)>;
  struct Item {
    std::string name, type;
    Sizes shape;
    size_t count;
    Write write;
  };
  void add(Item item);
  std::vector<Item> items_;
};

}  // namespace minbert
