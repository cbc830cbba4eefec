// A file of weights with other names.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "minbert/safetensors.h"

namespace minbert::test {

// What the file has, under the names that `rename` makes of its names; "": left out. Other tensors may be added.
struct Renamed {
  std::map<std::string, std::vector<real>> values;  // by the names in the file; the writer looks at them where they are
  SafeTensorsWriter writer;
  Renamed(const std::string& from, const std::function<std::string(const std::string&)>& rename) {
    const SafeTensors file(from);
    for (const auto& [name, entry] : file.entries())
      if (const std::string other = rename(name); !other.empty())
        writer.add(other, entry.shape, values[name] = file.read(name));
  }
};

}  // namespace minbert::test
