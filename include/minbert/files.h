// Files: JSON values, safetensors, and writing that never leaves a damaged file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "minbert/tensor.h"

namespace minbert {

// A JSON value: null, bool, number, string, array or object (keys in sorted order).
// Reading is checked: config["hidden_size"].integer() fails with the file, the key and the value.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json>;

  Json();                                             // null
  Json(bool v);
  Json(int v);
  Json(int64_t v);
  Json(double v);                                     // nan and infinity are written as null
  Json(const char* v);
  Json(const std::string& v);
  static Json array(const Array& items = {});
  static Json object(const Object& members = {});

  // Errors name file, line and column
  static Json parse(std::string_view text, const std::string& file);
  static Json load(const std::string& file);
  std::string dump(int indent = 2) const;             // indent -1: on one line

  bool is_null() const;
  bool has(const std::string& key) const;             // false also if this is no object
  Json operator[](const std::string& key) const;      // fails if the key is missing
  Json& set(const std::string& key, const Json& value);      // makes a null an object
  bool boolean() const;
  int64_t integer() const;
  double number() const;
  std::string string() const;
  Array items() const;                                // of an array
  Object members() const;                             // of an object
  template <class T>                                  // T: bool, int, int64_t, double, std::string
  T get(const std::string& key, T otherwise) const;   // `otherwise` if the key is missing or null

 private:
  const nlohmann::json& expect(bool fits, const char* expected) const;
  const nlohmann::json& expect_object() const;
  Json part(const nlohmann::json& value, const std::string& path) const;

  std::shared_ptr<nlohmann::json> value_;             // parts of one file share its memory
  std::string file_, path_;                           // config.json, minbert.tasks[0]: for messages
};

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
  void write_at(uint64_t place, const void* bytes, size_t count);
  void commit();

 private:
  std::string file_, target_, temporary_;
  int descriptor_ = -1;
  uint64_t end_ = 0;
};

// "[512, 768]", as a Shape is printed, for any number of dimensions
std::string sizes_text(const std::vector<int64_t>& sizes);
std::vector<int64_t> sizes_of(const Shape& shape);

// A safetensors file, mapped into memory. Every header field is checked against the file before any
// byte is used. Source: the format's description, https://github.com/huggingface/safetensors#format
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
  std::vector<int64_t> read_integers(const std::string& name) const;  // I64, I32
  std::vector<uint8_t> read_booleans(const std::string& name) const;  // BOOL: 0 or 1

 private:
  void check_coverage() const;

  std::string file_;
  MappedFile map_;
  uint64_t data_ = 0;                                        // where the values begin in the file
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

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

std::string read_file(const std::string& file);   // all of it; Error if it cannot be read
void write_file(const std::string& file, std::string_view text);   // atomically
int64_t file_size(const std::string& file);       // in bytes; 0 if unknown, as for a pipe
void make_folder(const std::string& folder);      // with its parents; Error names the obstacle
void sync_to_disk(const std::string& file_or_folder);       // its contents then survive a power cut
bool is_temporary(const std::string& name);       // the name of an AtomicFile of a killed program?

}  // namespace minbert
