// JSON values with checked reading. nlohmann-json parses the syntax; only this file includes it.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "minbert/files.h"

namespace minbert {
namespace {

constexpr size_t deepest = 100;  // Json is destroyed recursively: "[[[[[..." must not exhaust the stack

std::string join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}
std::string prefix(const std::string& file) { return file.empty() ? "" : file + ": "; }

std::string shortened(const std::string& text, size_t length) {
  return text.size() <= length ? text : text.substr(0, length) + "...";
}

}  // namespace

// Receives the parser's events in the order of the text, and stores the file and path of each value.
class Json::Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, const std::string& file, Json& root)
      : text_(text), file_(file), root_(root) {}

  bool null() override { return place({}); }
  bool boolean(bool v) override { return place(v); }
  bool number_integer(int64_t v) override { return place(v); }
  bool number_unsigned(uint64_t v) override {
    return v <= uint64_t(std::numeric_limits<int64_t>::max()) ? place(int64_t(v)) : place(double(v));
  }
  bool number_float(double v, const std::string&) override { return place(v); }
  bool string(std::string& v) override { return place(std::move(v)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }              // not in text
  bool start_object(size_t) override { return open(object()); }
  bool start_array(size_t) override { return open(array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    MB_CHECK(!open_.back()->has(key), "{}\"{}\" stands there twice", prefix(file_),
             join(open_.back()->path_, key));
    key_ = std::move(key);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& e) override {
    const std::string_view before = text_.substr(0, position ? position - 1 : 0);
    const std::string what = e.what();  // "[json.exception...] parse error at ...: syntax error while ..."
    const size_t start = what.find("syntax error");
    fail(format("{}: line {}, column {}: this is not JSON: {}", file_,
                1 + std::count(before.begin(), before.end(), '\n'),
                before.size() - (before.rfind('\n') + 1) + 1,
                shortened(what.substr(start != what.npos ? start : what.find("] ") + 2), 200)));
  }

 private:
  Json& slot() {
    if (open_.empty()) return root_;
    Json& parent = *open_.back();
    if (auto* items = std::get_if<Array>(&parent.value_)) {
      const std::string path = parent.path_ + format("[{}]", items->size());
      items->emplace_back().path_ = path;
      return items->back();
    }
    Json& member = std::get<Object>(parent.value_)[key_];
    member.path_ = join(parent.path_, key_);
    return member;
  }
  bool place(Json v) {
    Json& here = slot();
    here.value_ = std::move(v.value_);
    here.file_ = file_;
    last_ = &here;
    return true;
  }
  bool open(Json v) {
    MB_CHECK(open_.size() < deepest, "{}nested more than {} deep", prefix(file_), deepest);
    place(std::move(v));
    open_.push_back(last_);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  Json& root_;
  Json* last_ = nullptr;
  std::vector<Json*> open_;  // the containers around the next value; none of them moves while open
  std::string key_;
};

Json Json::array(Array items) {
  Json v;
  v.value_ = std::move(items);
  return v;
}

Json Json::object(Object members) {
  Json v;
  v.value_ = std::move(members);
  return v;
}

Json Json::parse(std::string_view text, const std::string& file) {
  Json root;
  Builder builder(text, file, root);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return root;
}

Json Json::load(const std::string& file) { return parse(read_file(file), file); }

std::string Json::dump(int indent) const {
  using Out = nlohmann::json;
  struct Convert {
    Out operator()(std::monostate) const { return nullptr; }
    Out operator()(bool v) const { return v; }
    Out operator()(int64_t v) const { return v; }
    Out operator()(double v) const { return v; }
    Out operator()(const std::string& v) const { return v; }
    Out operator()(const Array& items) const {
      Out out = Out::array();
      for (const Json& v : items) out.push_back(std::visit(*this, v.value_));
      return out;
    }
    Out operator()(const Object& members) const {
      Out out = Out::object();
      for (const auto& [key, v] : members) out[key] = std::visit(*this, v.value_);
      return out;
    }
  };
  return std::visit(Convert{}, value_).dump(indent, ' ', false, Out::error_handler_t::replace);
}

template <class T>
const T& Json::expect(const char* expected) const {
  const T* v = std::get_if<T>(&value_);
  MB_CHECK(v, "{}{} is {}, expected {}", prefix(file_), path_.empty() ? "the value" : "\"" + path_ + "\"",
           shortened(dump(-1), 40), expected);
  return *v;
}

bool Json::boolean() const { return expect<bool>("true or false"); }
int64_t Json::integer() const { return expect<int64_t>("an integer"); }
double Json::number() const {
  const int64_t* integer = std::get_if<int64_t>(&value_);
  return integer ? double(*integer) : expect<double>("a number");
}
const std::string& Json::string() const { return expect<std::string>("a text in quotes"); }
const Json::Array& Json::items() const { return expect<Array>("an array [...]"); }
const Json::Object& Json::members() const { return expect<Object>("an object {...}"); }

bool Json::has(const std::string& key) const {
  const Object* members = std::get_if<Object>(&value_);
  return members && members->count(key);
}

const Json& Json::operator[](const std::string& key) const {
  const auto member = members().find(key);
  MB_CHECK(member != members().end(), "{}\"{}\" is missing", prefix(file_), join(path_, key));
  return member->second;
}

Json& Json::set(const std::string& key, Json value) {
  if (is_null()) value_ = Object{};
  members();                                       // fails if this is not an object
  std::get<Object>(value_)[key] = std::move(value);
  return *this;
}

template <class T>
T Json::get(const std::string& key, T otherwise) const {
  if (!members().count(key) || (*this)[key].is_null()) return otherwise;
  const Json& v = (*this)[key];
  if constexpr (std::is_same_v<T, bool>) return v.boolean();
  if constexpr (std::is_same_v<T, double>) return v.number();
  if constexpr (std::is_same_v<T, std::string>) return v.string();
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const int64_t n = v.integer();
    MB_CHECK(T(n) == n, "{}\"{}\" is {}, which does not fit in {} bits", prefix(file_), v.path_, n,
             8 * sizeof(T));
    return T(n);
  }
}
template bool Json::get(const std::string&, bool) const;
template int Json::get(const std::string&, int) const;
template int64_t Json::get(const std::string&, int64_t) const;
template double Json::get(const std::string&, double) const;
template std::string Json::get(const std::string&, std::string) const;

}  // namespace minbert
