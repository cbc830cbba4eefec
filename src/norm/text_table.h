// A table in plain text, with columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace minbert {

size_t text_width(const std::string& text);         // columns on a screen, not bytes
// The first line is the heading
std::string text_table(const std::vector<std::vector<std::string>>& lines);

}  // namespace minbert
