// Files: JSON values, safetensors, and writing that never harms what was there before.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "minbert/tensor.h"

namespace minbert {

// A JSON value: null, bool, number, string, array or object (keys in sorted order).
// Reading is checked: config["hidden_size"].integer() fails with the file, the key and what stands there.
class Json {
 public:
  Json();                                          // null
  Json(bool v);
  Json(int v);
  Json(int64_t v);
  Json(double v);
  Json(const char* v);
  Json(std::string v);
  static Json array(std::vector<Json> items = {});
  static Json object(std::map<std::string, Json> members = {});

  static Json parse(std::string_view text, const std::string& file);   // errors name file, line and column
  static Json load(const std::string& file);
  std::string dump(int indent = 2) const;

  bool is_null() const;
  bool has(const std::string& key) const;
  const Json& operator[](const std::string& key) const;      // fails where the key is missing
  Json& set(const std::string& key, Json value);             // makes a null an object; returns *this
  bool boolean() const;
  int64_t integer() const;
  double number() const;
  const std::string& string() const;
  const std::vector<Json>& items() const;                    // of an array
  const std::map<std::string, Json>& members() const;        // of an object
  template <class T>
  T get(const std::string& key, T otherwise) const;          // T: bool, int, int64_t, double, std::string

 private:
  struct Value;
  std::shared_ptr<Value> value_;
  std::string where_;                                        // "config.json: hidden_size", for messages
};

// A safetensors file, mapped into memory. Every header field is checked against the file before any byte is used.
// Source: the format's description, https://github.com/huggingface/safetensors#format
class SafeTensors {
 public:
  enum class Type { f32, f16, bf16, f64, i64, i32, other };
  struct Entry {
    Type type;
    std::string type_name;                                   // "F32", as in the file
    std::vector<int64_t> shape;
    uint64_t begin, end;                                     // bytes behind the header
  };
  explicit SafeTensors(const std::string& file);             // throws Error naming the file and what is wrong
  ~SafeTensors();
  SafeTensors(const SafeTensors&) = delete;
  SafeTensors& operator=(const SafeTensors&) = delete;

  const std::string& file() const { return file_; }
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const Entry& entry(const std::string& name) const;         // fails where there is none
  void read(const std::string& name, std::span<real> out) const;      // F64, F32, F16, BF16 -> real
  std::vector<real> read(const std::string& name) const;
  std::vector<int64_t> read_integers(const std::string& name) const;  // I64, I32

 private:
  std::string file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
  const unsigned char* map_ = nullptr;
  uint64_t size_ = 0, data_ = 0;                             // bytes in the file; where the values begin
};

// What to write: values stay where they are until write() runs.
struct SafeTensorsWriter {
  enum class As { real_type, f32, f16 };                     // real_type: F32, or F64 in the double build
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  void add(const std::string& name, std::vector<int64_t> shape, std::span<const real> values, As as = As::f32);
  void add(const std::string& name, std::vector<int64_t> shape, std::span<const int64_t> values);   // I64
  void write(const std::string& file) const;                 // atomically, see AtomicFile

  struct Item {
    std::string name, type;
    std::vector<int64_t> shape;
    const void* values;
    uint64_t count;
  };
  std::vector<Item> items;
};

// A file written under a temporary name beside its own, then synced and renamed: a crash or a full disk leaves the old
// file whole. Without commit() nothing is left behind.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(const void* bytes, size_t count);               // throws Error on a full disk, say
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::string file_, temporary_;
  int descriptor_ = -1;
};

std::string read_file(const std::string& file);              // the whole of it; Error where it cannot be read
void write_file(const std::string& file, std::string_view text);   // atomically
void make_folder(const std::string& folder);                 // with its parents; Error names what stands in the way

}  // namespace minbert
