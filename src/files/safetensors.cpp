// The safetensors format: 8 bytes with the header's length; the header in JSON: name -> dtype,
// shape, data_offsets; the values. Everything is little-endian, as are all machines this library
// runs on.
#include "minbert/safetensors.h"

#include <algorithm>
#include <cstring>

#include "files/stored_types.h"
#include "minbert/json.h"

namespace minbert {
namespace {

// The kind of a file that is not safetensors, guessed from its first bytes.
const char* guess(std::string_view bytes) {
  if (bytes.starts_with("version https://git-lfs"))
    return "this is a git-lfs pointer, not the file itself; fetch it with `git lfs pull`";
  if (bytes.starts_with("<")) return "this looks like a web page; the download went wrong";
  return "this is not a safetensors file, or it is damaged";
}

}  // namespace

template <class Stored, class Out, class Convert>
void SafeTensors::unpack(const Entry& entry, std::span<Out> out, Convert convert) const {
  uint64_t at = data_ + entry.begin;
  if constexpr (std::is_same_v<Stored, Out>) return bytes_.read(at, out.data(), out.size_bytes());
  std::vector<Stored> block(std::min<size_t>(out.size(), 1 << 16));
  while (!out.empty()) {
    const size_t count = std::min(out.size(), block.size());
    bytes_.read(at, block.data(), count * sizeof(Stored));
    for (size_t i = 0; i < count; ++i) out[i] = Out(convert(block[i]));
    at += count * sizeof(Stored);
    out = out.subspan(count);
  }
}

std::vector<int64_t> sizes_of(const Shape& shape) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < shape.rank(); ++i) sizes.push_back(shape[i]);
  return sizes;
}

std::string sizes_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += formatted(text.size() > 1 ? ", {}" : "{}", size);
  return text + "]";
}

SafeTensors::SafeTensors(const std::string& file) : file_(file), bytes_(file) {
  const uint64_t all = bytes_.size();
  const std::string start = bytes_.text(0, size_t(std::min<uint64_t>(all, 64)));
  MB_CHECK(all > 8, "{}: the file has only {} bytes: {}", file, all, guess(start));
  uint64_t length;
  std::memcpy(&length, start.data(), sizeof length);
  MB_CHECK(length <= all - 8, "{}: its header would have {} bytes, but the file has {}: {}", file,
           length, all, guess(start));
  MB_CHECK(length > 1 && start[8] == '{', "{}: no header at its start: {}", file, guess(start));
  data_ = 8 + length;

  const Json header = Json::parse(bytes_.text(8, length), file + " (header)");
  for (const auto& [name, fields] : header.members()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : fields.members()) metadata_[key] = value.string();
      continue;
    }
    Entry entry{fields["dtype"].string(), {}, 0, 0};
    for (const Json& size : fields["shape"].items()) entry.shape.push_back(size.integer());
    const std::vector<Json> offsets = fields["data_offsets"].items();
    MB_CHECK(offsets.size() == 2, "{}: {}: data_offsets has {} numbers, expected begin and end",
             file, name, offsets.size());
    const int64_t begin = offsets[0].integer(), end = offsets[1].integer();
    MB_CHECK(0 <= begin && begin <= end, "{}: {}: data_offsets [{}, {}] are no range of bytes",
             file, name, begin, end);
    entry.begin = uint64_t(begin);
    entry.end = uint64_t(end);

    uint64_t bytes = width(entry.type);
    bool fits = true;
    for (const int64_t size : entry.shape) {
      MB_CHECK(size >= 0, "{}: {}: its shape {} has a negative size", file, name,
               sizes_text(entry.shape));
      fits = fits && !__builtin_mul_overflow(bytes, uint64_t(size), &bytes);
    }
    MB_CHECK(width(entry.type) == 0 || (fits && bytes == entry.end - entry.begin),
             "{}: {}: {} values of shape {} need {} bytes, but the header gives it {}", file, name,
             entry.type, sizes_text(entry.shape), fits ? formatted("{}", bytes) : "more than 2^64",
             entry.end - entry.begin);
    entries_[name] = std::move(entry);
  }
  check_coverage();
}

// In the order of the file, each tensor begins at the end of the one before it, and the last ends
// with the file.
void SafeTensors::check_coverage() const {
  std::multimap<std::pair<uint64_t, uint64_t>, std::string_view> in_order;
  for (const auto& [name, entry] : entries_) in_order.insert({{entry.begin, entry.end}, name});
  const uint64_t available = bytes_.size() - data_;
  uint64_t covered = 0;
  for (const auto& [range, name] : in_order) {
    const auto [begin, end] = range;
    MB_CHECK(end <= available,
             "{}: {} ends at byte {} of the values, but the file has only {}: it is truncated",
             file_, name, end, available);
    MB_CHECK(begin >= covered,
             "{}: {} begins at byte {}, inside of the tensor before it, which ends at {}", file_,
             name, begin, covered);
    MB_CHECK(begin == covered, "{}: {} bytes before {} belong to no tensor: the file is damaged",
             file_, begin - covered, name);
    covered = end;
  }
  MB_CHECK(covered == available, "{}: its last {} bytes belong to no tensor: the file is damaged",
           file_, available - covered);
}

const SafeTensors::Entry& SafeTensors::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  MB_CHECK(found != entries_.end(), "{}: there is no tensor {}", file_, name);
  return found->second;
}

void SafeTensors::read(const std::string& name, std::span<real> out) const {
  const Entry& e = entry(name);
  const uint64_t bytes = width(e.type) * out.size();
  MB_CHECK(width(e.type) == 0 || bytes == e.end - e.begin,
           "{}: {} is {} {}, but {} values are asked for", file_, name, e.type, sizes_text(e.shape),
           out.size());
  if (e.type == "F32") return unpack<float>(e, out);
  if (e.type == "F64") return unpack<double>(e, out);
  if (e.type == "F16") return unpack<uint16_t>(e, out, from_f16);
  if (e.type == "BF16") return unpack<uint16_t>(e, out, from_bf16);
  fail(formatted("{}: {} is of type {}, expected F32, F16, BF16 or F64", file_, name, e.type));
}

void SafeTensors::read(const std::string& name, const Tensor& to) const {
  const bool here = to.device() == Device::cpu;
  std::vector<real> room(here ? 0 : size_t(to.size()));
  const std::span<real> values = here ? std::span(to.data(), size_t(to.size())) : room;
  read(name, values);
  check_finite(name, values);
  if (!here) to.copy_from(values);
}

void SafeTensors::check_finite(const std::string& name, std::span<const real> values) const {
  if (const auto v = non_finite(values))
    fail(formatted("{}: {} has the value {}: the file is damaged, or its model had diverged", file_,
                   name, *v));
}

std::vector<real> SafeTensors::read(const std::string& name) const {
  const Entry& e = entry(name);
  std::vector<real> values((e.end - e.begin) / std::max<uint64_t>(1, width(e.type)));
  read(name, values);
  return values;
}

std::vector<int64_t> SafeTensors::read_integers(const std::string& name) const {
  const Entry& e = entry(name);
  MB_CHECK(e.type == "I64", "{}: {} is of type {}, expected I64", file_, name, e.type);
  std::vector<int64_t> values((e.end - e.begin) / width(e.type));
  unpack<int64_t>(e, std::span(values));
  return values;
}

std::vector<uint8_t> SafeTensors::read_booleans(const std::string& name) const {
  const Entry& e = entry(name);
  MB_CHECK(e.type == "BOOL", "{}: {} is of type {}, expected BOOL", file_, name, e.type);
  std::vector<uint8_t> values(e.end - e.begin);
  unpack<uint8_t>(e, std::span(values));
  for (size_t i = 0; i < values.size(); ++i)
    MB_CHECK(values[i] <= 1, "{}: element {} of {} is {}, expected 0 or 1", file_, i, name,
             int(values[i]));
  return values;
}

}  // namespace minbert
