// Writing safetensors: a list of tensors at once, or piece by piece.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "minbert/safetensors.h"

namespace minbert {

// A safetensors file that is written piece by piece, in any order: the file and the list of its
// tensors may be larger than the memory. Written atomically, see AtomicFile.
class SafeTensorsStream {
 public:
  using Visit = std::function<void(const std::string& name, const SafeTensors::Entry&)>;
  // list: calls its argument with every tensor, in the order of the names; it is called twice. The
  // entries cover the bytes after the header without a gap. Error if the disk has no room for them.
  SafeTensorsStream(const std::string& file, const std::map<std::string, std::string>& metadata,
                    const std::function<void(const Visit&)>& list);
  // Values of a tensor of this type, to be written `begin` bytes after the header.
  void write(uint64_t begin, const std::string& type, std::span<const real> values);
  void write(uint64_t begin, std::span<const int64_t> values);                    // I64
  void write(uint64_t begin, std::span<const uint8_t> values);                    // BOOL
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  uint64_t data_ = 0;                                        // where the values begin in the file
};

// A list of tensors to write. Values are read only when write() runs, and pass through one small
// buffer. Wider types come first, so that every value is aligned in the file; within a type the
// order is that of add().
struct SafeTensorsWriter {
  enum class As { real_type, f32, f16 };              // real_type: F32, or F64 in the double build
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  void add(const std::string& name, std::vector<int64_t> shape, std::span<const real> values,
           As as = As::f32);
  void add(const std::string& name, const Tensor& tensor, As as = As::f32);      // of any device
  // I64
  void add(const std::string& name, std::vector<int64_t> shape, std::span<const int64_t> values);
  // BOOL: 0 or 1
  void add(const std::string& name, std::vector<int64_t> shape, std::span<const uint8_t> values);
  void write(const std::string& file) const;          // atomically, see AtomicFile

  struct Item {
    std::string name, type;
    std::vector<int64_t> shape;
    const void* values;
    uint64_t count;
    Tensor tensor = {};                                      // if there is one, it has the values
  };
  void add(Item item);
  std::vector<Item> items;
};

}  // namespace minbert
