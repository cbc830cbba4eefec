// JSON values with checked reading, on top of nlohmann-json; only this file includes it.
#include "minbert/json.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {
namespace {

using Value = nlohmann::json;

// Values are copied recursively: "[[[[[..." must not exhaust the stack.
constexpr int deepest = 100;

std::string join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}
std::string prefix(const std::string& file) { return file.empty() ? "" : file + ": "; }

std::string shortened(const std::string& text, size_t length) {
  return text.size() <= length ? text : text.substr(0, length) + "...";
}

}  // namespace

Json::Json() : value_(std::make_shared<Value>()) {}
Json::Json(bool v) : value_(std::make_shared<Value>(v)) {}
Json::Json(int v) : value_(std::make_shared<Value>(v)) {}
Json::Json(int64_t v) : value_(std::make_shared<Value>(v)) {}
Json::Json(double v) : value_(std::make_shared<Value>(v)) {}
Json::Json(const char* v) : value_(std::make_shared<Value>(v)) {}
Json::Json(const std::string& v) : value_(std::make_shared<Value>(v)) {}

Json Json::array(const Array& items) {
  Json all;
  *all.value_ = Value::array();
  for (const Json& v : items) all.value_->push_back(*v.value_);
  return all;
}

Json Json::array_of(const std::vector<double>& numbers) {
  return array({numbers.begin(), numbers.end()});
}

Json Json::object(const Object& members) {
  Json all;
  *all.value_ = Value::object();
  for (const auto& [key, v] : members) all.set(key, v);
  return all;
}

Json Json::parse(std::string_view text, const std::string& file) {
  const auto check = [&](int depth, Value::parse_event_t, const Value&) {
    MB_CHECK(depth <= deepest, "{}nested more than {} deep", prefix(file), deepest);
    return true;
  };
  Json root;
  root.file_ = file;
  try {
    *root.value_ = Value::parse(text, check);
  } catch (const Value::exception& e) {  // "[json.exception...] ...", with line and column
    const std::string what = e.what();
    fail(formatted("{}: this is not JSON: {}", file,
                   shortened(what.substr(what.find("] ") + 2), 200)));
  }
  return root;
}

Json Json::load(const std::string& file) { return parse(read_file(file), file); }
Json Json::load_if_there(const std::string& file) {
  return std::filesystem::exists(file) ? load(file) : object();
}

std::string Json::dump(int indent) const {
  return value_->dump(indent, ' ', false, Value::error_handler_t::replace);
}

const nlohmann::json& Json::expect(bool fits, const char* expected) const {
  MB_CHECK(fits, "{}{} is {}, expected {}", prefix(file_),
           path_.empty() ? "the value" : "\"" + path_ + "\"", shortened(dump(-1), 40), expected);
  return *value_;
}
const nlohmann::json& Json::expect_object() const {
  return expect(value_->is_object(), "an object {...}");
}

bool Json::is_null() const { return value_->is_null(); }
bool Json::is_string() const { return value_->is_string(); }
bool Json::is_array() const { return value_->is_array(); }
bool Json::is_object() const { return value_->is_object(); }
bool Json::boolean() const { return expect(value_->is_boolean(), "true or false"); }
int64_t Json::integer() const {
  const bool too_large =
      value_->is_number_unsigned() && value_->get<uint64_t>() > uint64_t(INT64_MAX);
  return expect(value_->is_number_integer() && !too_large, "an integer");
}
std::optional<double> Json::number_if() const {
  return is_null() ? std::nullopt : std::optional(number());
}
double Json::number() const { return expect(value_->is_number(), "a number"); }
std::string Json::string() const { return expect(value_->is_string(), "a text in quotes"); }

// The parts of a value share its memory.
Json Json::part(const nlohmann::json& value, const std::string& path) const {
  Json found = *this;
  found.value_ = {value_, const_cast<Value*>(&value)};
  found.path_ = path;
  return found;
}

Json::Array Json::items() const {
  Array all;
  for (const Value& v : expect(value_->is_array() || is_null(), "an array [...]"))
    all.push_back(part(v, formatted("{}[{}]", path_, all.size())));
  return all;
}

std::vector<double> Json::numbers() const {
  std::vector<double> values;
  for (const Json& v : items()) values.push_back(v.is_null() ? NAN : v.number());
  return values;
}

Json::Object Json::members() const {
  Object all;
  if (is_null()) return all;
  for (const auto& [key, v] : expect_object().items()) all.emplace(key, part(v, join(path_, key)));
  return all;
}

bool Json::has(const std::string& key) const { return value_->contains(key); }

Json Json::operator[](const std::string& key) const {
  const Value& members = expect_object();
  MB_CHECK(has(key), "{}\"{}\" is missing", prefix(file_), join(path_, key));
  return part(members[key], join(path_, key));
}

Json Json::find(const std::string& key) const { return has(key) ? (*this)[key] : Json(); }

Json& Json::set(const std::string& key, const Json& value) {
  expect(value_->is_object() || is_null(), "an object {...}");
  if (value_.use_count() > 1) value_ = std::make_shared<Value>(*value_);      // others keep theirs
  (*value_)[key] = *value.value_;
  return *this;
}

void Json::read(bool& v) const { v = boolean(); }
void Json::read(int64_t& v) const { v = integer(); }
void Json::read(double& v) const { v = number(); }
void Json::read(std::string& v) const { v = string(); }
void Json::read(int& v) const {
  const int64_t n = integer();
  v = int(n);
  MB_CHECK(v == n, "{}\"{}\" is {}, which does not fit in {} bits", prefix(file_), path_, n,
           8 * sizeof v);
}

}  // namespace minbert
