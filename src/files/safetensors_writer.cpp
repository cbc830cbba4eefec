// Writing safetensors: the header, then the values of each tensor, converted piece by piece.
#include <algorithm>
#include <functional>
#include <numeric>

#include "files/stored_types.h"
#include "minbert/json.h"
#include "minbert/safetensors.h"

namespace minbert {
namespace {

// Converts the values piece by piece.
template <class Stored, class Convert>
void write_converted(SafeTensorsStream& out, uint64_t begin, std::span<const real> values,
                     Convert convert) {
  constexpr size_t piece = 1 << 16;
  std::vector<Stored> room;
  for (; !values.empty(); values = values.subspan(room.size())) {
    room.resize(std::min(values.size(), piece));
    std::transform(values.begin(), values.begin() + int64_t(room.size()), room.begin(), convert);
    out.write(begin, std::as_bytes(std::span(room)));
    begin += room.size() * sizeof(Stored);
  }
}

std::string type_of(SafeTensorsWriter::As as) {
  using enum SafeTensorsWriter::As;
  return as == f16 ? "F16" : as == f32 || sizeof(real) == 4 ? "F32" : "F64";
}

}  // namespace

SafeTensorsStream::SafeTensorsStream(const std::string& file,
                                     const std::map<std::string, std::string>& metadata,
                                     const Entries& entries)
    : file_(file) {
  Json header = Json::object(), about = Json::object();
  for (const auto& [key, value] : metadata) about.set(key, value);
  if (!metadata.empty()) header.set("__metadata__", about);
  uint64_t values = 0;
  for (const auto& [name, e] : entries) {
    header.set(name, Json::object()
                         .set("dtype", e.type)
                         .set("shape", Json::array({e.shape.begin(), e.shape.end()}))
                         .set("data_offsets", Json::array({int64_t(e.begin), int64_t(e.end)})));
    values = std::max(values, e.end);
  }
  std::string text = header.dump(-1);
  text.resize((text.size() + 7) / 8 * 8, ' ');      // so that the values begin aligned
  const uint64_t length = text.size();
  data_ = sizeof length + length;
  file_.need(data_ + values);
  file_.write({reinterpret_cast<const char*>(&length), sizeof length});
  file_.write(text);
}

void SafeTensorsStream::write(uint64_t begin, const std::string& type,
                              std::span<const real> values) {
  if (width(type) == sizeof(real)) return write(begin, std::as_bytes(values));
  if (type == "F32")
    return write_converted<float>(*this, begin, values, [](real v) { return float(v); });
  write_converted<uint16_t>(*this, begin, values, [](real v) { return to_f16(double(v)); });
}

void SafeTensorsStream::write(uint64_t begin, std::span<const std::byte> values) {
  file_.write_at(data_ + begin, values.data(), values.size());
}

void SafeTensorsWriter::add(const std::string& name, Sizes shape, std::span<const real> values,
                            As as) {
  add({name, type_of(as), std::move(shape), values.size(),
       [values, as](auto& out, uint64_t begin) { out.write(begin, type_of(as), values); }});
}

void SafeTensorsWriter::add(const std::string& name, const Tensor& tensor, As as) {
  add({name, type_of(as), sizes_of(tensor.shape()), size_t(tensor.size()),
       [tensor, as](auto& out, uint64_t begin) {
         std::vector<real> room;
         out.write(begin, type_of(as), tensor.on_host(room));
       }});
}

void SafeTensorsWriter::add(const std::string& name, Sizes shape,
                            std::span<const int64_t> values) {
  add({name, "I64", std::move(shape), values.size(),
       [values](auto& out, uint64_t begin) { out.write(begin, std::as_bytes(values)); }});
}

void SafeTensorsWriter::add(const std::string& name, Sizes shape,
                            std::span<const uint8_t> values) {
  add({name, "BOOL", std::move(shape), values.size(),
       [values](auto& out, uint64_t begin) { out.write(begin, std::as_bytes(values)); }});
}

void SafeTensorsWriter::add(Item item) {
  MB_CHECK(std::ranges::count(items_, item.name, &Item::name) == 0,
           "safetensors: the tensor {} is added twice", item.name);
  const int64_t count =
      std::accumulate(item.shape.begin(), item.shape.end(), int64_t(1), std::multiplies());
  MB_CHECK(count == int64_t(item.count),
           "safetensors: the shape of {} asks for {} values, but {} are given", item.name, count,
           item.count);
  items_.push_back(std::move(item));
}

void SafeTensorsWriter::write(const std::string& file) const {
  std::vector<Item> sorted = items_;
  std::ranges::stable_sort(sorted, std::greater(),
                           [](const Item& item) { return width(item.type); });
  SafeTensorsStream::Entries entries;
  uint64_t end = 0;
  for (const Item& item : sorted) {
    const uint64_t begin = end;
    end += item.count * width(item.type);
    entries[item.name] = {item.type, item.shape, begin, end};
  }
  SafeTensorsStream out(file, metadata, entries);
  for (const Item& item : sorted) item.write(out, entries[item.name].begin);
  out.commit();
}

}  // namespace minbert
