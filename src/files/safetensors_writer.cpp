// Writing safetensors: the header, then the values of each tensor, converted piece by piece.
#include "minbert/safetensors.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "engine/cuda.h"
#include "half.h"
#include "minbert/json.h"

namespace minbert {
namespace {

uint64_t width(const std::string& type) {
  return type.ends_with("64") ? 8 : type.ends_with("32") ? 4 : type == "BOOL" ? 1 : 2;
}

constexpr size_t piece = 1 << 16;                  // values to convert, or to copy from a GPU, at a time

template <class Stored, class Convert>
void write_converted(AtomicFile& out, uint64_t place, std::span<const real> values, Convert convert) {
  std::vector<Stored> room(std::min(values.size(), piece));
  for (; !values.empty(); values = values.subspan(room.size())) {
    room.resize(std::min(values.size(), piece));
    std::transform(values.begin(), values.begin() + int64_t(room.size()), room.begin(), convert);
    out.write_at(place, room.data(), room.size() * sizeof(Stored));
    place += room.size() * sizeof(Stored);
  }
}

std::string header_text(const SafeTensors::Entry& e) {
  return Json::object()
      .set("dtype", e.type)
      .set("shape", Json::array({e.shape.begin(), e.shape.end()}))
      .set("data_offsets", Json::array({int64_t(e.begin), int64_t(e.end)}))
      .dump(-1);
}

}  // namespace

SafeTensorsStream::SafeTensorsStream(const std::string& file, const std::map<std::string, std::string>& metadata,
                                     const std::function<void(const Visit&)>& list)
    : file_(file) {
  uint64_t length = 0, values = 0;
  const auto header = [&](auto&& out) {            // {"__metadata__":{...},"a":{...},...}
    const char* before = "{";
    const auto field = [&](const std::string& name, const std::string& text) {
      out(before + Json(name).dump(-1) + ":" + text);
      before = ",";
    };
    Json about = Json::object();
    for (const auto& [key, value] : metadata) about.set(key, value);
    if (!metadata.empty()) field("__metadata__", about.dump(-1));
    list([&](const std::string& name, const SafeTensors::Entry& entry) {
      field(name, header_text(entry));
      values = std::max(values, entry.end);
    });
    out(std::string(*before == '{' ? "{}" : "}"));
  };
  header([&](const std::string& text) { length += text.size(); });
  const uint64_t padded = (length + 7) / 8 * 8;     // so that the values begin aligned
  data_ = sizeof padded + padded;
  file_.need(data_ + values);
  file_.write({reinterpret_cast<const char*>(&padded), sizeof padded});
  std::string text;
  header([&](const std::string& part) {
    text += part;
    if (text.size() >= piece) file_.write(std::exchange(text, ""));
  });
  file_.write(text + std::string(padded - length, ' '));
}

void SafeTensorsStream::write(uint64_t begin, const std::string& type, std::span<const real> values) {
  if (width(type) == sizeof(real)) return file_.write_at(data_ + begin, values.data(), values.size_bytes());
  if (type == "F32") return write_converted<float>(file_, data_ + begin, values, [](real v) { return float(v); });
  write_converted<uint16_t>(file_, data_ + begin, values, [](real v) { return to_f16(double(v)); });
}

void SafeTensorsStream::write(uint64_t begin, std::span<const int64_t> values) {
  file_.write_at(data_ + begin, values.data(), values.size_bytes());
}

void SafeTensorsStream::write(uint64_t begin, std::span<const uint8_t> values) {
  file_.write_at(data_ + begin, values.data(), values.size_bytes());
}

void SafeTensorsWriter::add(const std::string& name, std::vector<int64_t> shape, std::span<const real> values,
                            As as) {
  const char* type = as == As::f16 ? "F16" : as == As::f32 || sizeof(real) == 4 ? "F32" : "F64";
  add({name, type, std::move(shape), values.data(), values.size()});
}

void SafeTensorsWriter::add(const std::string& name, const Tensor& tensor, As as) {
  add(name, sizes_of(tensor.shape()), {tensor.data(), size_t(tensor.size())}, as);
  items.back().tensor = tensor;
}

void SafeTensorsWriter::add(const std::string& name, std::vector<int64_t> shape,
                            std::span<const int64_t> values) {
  add({name, "I64", std::move(shape), values.data(), values.size()});
}

void SafeTensorsWriter::add(const std::string& name, std::vector<int64_t> shape,
                            std::span<const uint8_t> values) {
  add({name, "BOOL", std::move(shape), values.data(), values.size()});
}

void SafeTensorsWriter::add(Item item) {
  MB_CHECK(item.name != "__metadata__", "safetensors: no tensor can have the name __metadata__");
  MB_CHECK(std::ranges::count(items, item.name, &Item::name) == 0, "safetensors: the tensor {} is added twice",
           item.name);
  const int64_t count = std::accumulate(item.shape.begin(), item.shape.end(), int64_t(1), std::multiplies());
  MB_CHECK(count == int64_t(item.count), "safetensors: the shape of {} asks for {} values, but {} are given",
           item.name, count, item.count);
  items.push_back(std::move(item));
}

void SafeTensorsWriter::write(const std::string& file) const {
  std::vector<Item> sorted = items;
  std::ranges::stable_sort(sorted, std::greater(), [](const Item& item) { return width(item.type); });
  std::map<std::string, SafeTensors::Entry> entries;
  uint64_t end = 0;
  for (const Item& item : sorted) {
    const uint64_t begin = end;
    end += item.count * width(item.type);
    entries[item.name] = {item.type, item.shape, begin, end};
  }
  SafeTensorsStream out(file, metadata, [&](const SafeTensorsStream::Visit& visit) {
    for (const auto& [name, entry] : entries) visit(name, entry);
  });
  std::vector<real> room;
  for (const Item& item : sorted) {
    const uint64_t begin = entries[item.name].begin;
    if (item.type == "I64") out.write(begin, {static_cast<const int64_t*>(item.values), item.count});
    else if (item.type == "BOOL") out.write(begin, {static_cast<const uint8_t*>(item.values), item.count});
    else if (!item.tensor || item.tensor.device() == Device::cpu)
      out.write(begin, item.type, {static_cast<const real*>(item.values), item.count});
    else
      for (uint64_t first = 0; first < item.count; first += room.size()) {
        room.resize(std::min<uint64_t>(item.count - first, 16 * piece));
        cuda::to_host(room.data(), static_cast<const real*>(item.values) + first, int64_t(room.size() * sizeof(real)));
        out.write(begin + first * width(item.type), item.type, room);
      }
  }
  out.commit();
}

}  // namespace minbert
