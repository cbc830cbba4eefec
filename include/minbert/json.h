// JSON values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  static Json array_of(const std::vector<double>& numbers);
  static Json object(const Object& members = {});

  // Errors name file, line and column
  static Json parse(std::string_view text, const std::string& file);
  static Json load(const std::string& file);
  static Json load_if_there(const std::string& file);  // an empty object without the file
  std::string dump(int indent = 2) const;             // indent -1: on one line

  bool is_null() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  bool has(const std::string& key) const;             // false also if this is no object
  Json operator[](const std::string& key) const;      // fails if the key is missing
  Json find(const std::string& key) const;            // null if it is, or if this is no object
  Json& set(const std::string& key, const Json& value);      // makes a null an object
  bool boolean() const;
  int64_t integer() const;
  double number() const;
  std::optional<double> number_if() const;            // none: null
  std::string string() const;
  Array items() const;                                // of an array; of null none
  std::vector<double> numbers() const;                // of an array of them; null: NaN
  Object members() const;                             // of an object; of null none
  // A member as bool, int, int64_t, double or std::string; `fallback` if it is missing or null
  template <class T>
  T get(const std::string& key, T fallback) const {
    expect_object();
    if (const Json v = find(key); !v.is_null()) v.read(fallback);
    return fallback;
  }

 private:
  void read(bool& v) const;
  void read(int& v) const;
  void read(int64_t& v) const;
  void read(double& v) const;
  void read(std::string& v) const;
  const nlohmann::json& expect(bool fits, const char* expected) const;
  const nlohmann::json& expect_object() const;
  Json part(const nlohmann::json& value, const std::string& path) const;

  std::shared_ptr<nlohmann::json> value_;             // parts of one file share its memory
  std::string file_, path_;                           // config.json, minbert.tasks[0]: for messages
};

}  // namespace minbert
