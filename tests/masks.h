// Masks in a file, as multitask --train mask:FILE reads them.
#pragma once

#include <map>
#include <string>

#include "minbert/module.h"
#include "minbert/safetensors.h"

namespace minbert::test {

inline void write_masks(const std::string& file, const Parameters& parameters,
                        const std::map<std::string, Mask>& masks) {
  SafeTensorsWriter writer;
  for (const Parameter& p : parameters.items())
    writer.add(p.name, sizes_of(p.value.shape()), std::span<const uint8_t>(masks.at(p.name)));
  writer.write(file);
}

}  // namespace minbert::test
