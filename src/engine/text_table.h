// A table in plain text: its columns as wide as they need to be.
#pragma once

#include <string>
#include <vector>

namespace minbert {

size_t text_width(const std::string& text);         // columns on a screen, not bytes
std::string text_table(const std::vector<std::vector<std::string>>& lines);    // the first line is the heading

}  // namespace minbert
