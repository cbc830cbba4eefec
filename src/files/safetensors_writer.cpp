// Writing safetensors: the header first, then every tensor's values, converted piece by piece.
#include <algorithm>

#include "half.h"
#include "minbert/files.h"

namespace minbert {
namespace {

uint64_t width(const std::string& type) { return type.ends_with("64") ? 8 : type.ends_with("32") ? 4 : 2; }

template <class Stored, class Convert>
void write_converted(AtomicFile& out, const real* values, uint64_t count, Convert convert) {
  std::vector<Stored> piece;
  for (uint64_t start = 0; start < count; start += piece.size()) {
    piece.resize(std::min<uint64_t>(count - start, 1 << 16));
    std::transform(values + start, values + start + piece.size(), piece.begin(), convert);
    out.write(piece.data(), piece.size() * sizeof(Stored));
  }
}

void write_values(AtomicFile& out, const SafeTensorsWriter::Item& item) {
  std::vector<real> room;
  const void* from = item.tensor ? item.tensor.on_host(room).data() : item.values;
  const real* values = static_cast<const real*>(from);
  const bool as_it_is = item.type == "I64" || width(item.type) == sizeof(real);
  if (as_it_is) return out.write(from, item.count * width(item.type));
  if (item.type == "F32")
    return write_converted<float>(out, values, item.count, [](real v) { return float(v); });
  write_converted<uint16_t>(out, values, item.count, [](real v) { return to_f16(double(v)); });
}

SafeTensorsWriter::Item checked(const SafeTensorsWriter& writer, SafeTensorsWriter::Item item) {
  MB_CHECK(item.name != "__metadata__", "safetensors: no tensor can have the name __metadata__");
  for (const auto& other : writer.items)
    MB_CHECK(other.name != item.name, "safetensors: the tensor {} is added twice", item.name);
  int64_t count = 1;
  for (const int64_t size : item.shape) count *= size;
  MB_CHECK(count == int64_t(item.count), "safetensors: the shape of {} asks for {} values, but {} are given",
           item.name, count, item.count);
  return item;
}

}  // namespace

void SafeTensorsWriter::add(const std::string& name, std::vector<int64_t> shape, std::span<const real> values,
                            As as) {
  const char* type = as == As::f16 ? "F16" : as == As::f32 || sizeof(real) == 4 ? "F32" : "F64";
  items.push_back(checked(*this, {name, type, std::move(shape), values.data(), values.size()}));
}

void SafeTensorsWriter::add(const std::string& name, const Tensor& tensor, As as) {
  add(name, sizes_of(tensor.shape()), {tensor.data(), size_t(tensor.size())}, as);
  items.back().tensor = tensor;
}

void SafeTensorsWriter::add(const std::string& name, std::vector<int64_t> shape,
                            std::span<const int64_t> values) {
  items.push_back(checked(*this, {name, "I64", std::move(shape), values.data(), values.size()}));
}

void SafeTensorsWriter::write(const std::string& file) const {
  std::vector<const Item*> sorted;
  for (const Item& item : items) sorted.push_back(&item);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Item* a, const Item* b) { return width(a->type) > width(b->type); });

  Json header = Json::object(), about = Json::object();
  for (const auto& [key, value] : metadata) about.set(key, value);
  if (!metadata.empty()) header.set("__metadata__", std::move(about));
  int64_t begin = 0;
  for (const Item* item : sorted) {
    const int64_t end = begin + int64_t(item->count * width(item->type));
    header.set(item->name, Json::object()
                               .set("dtype", item->type)
                               .set("shape", Json::array({item->shape.begin(), item->shape.end()}))
                               .set("data_offsets", Json::array({begin, end})));
    begin = end;
  }
  std::string text = header.dump(-1);
  text.resize((text.size() + 7) / 8 * 8, ' ');     // the values begin aligned
  const uint64_t length = text.size();

  AtomicFile out(file);
  out.write(&length, sizeof length);
  out.write(text);
  for (const Item* item : sorted) write_values(out, *item);
  out.commit();
}

}  // namespace minbert
