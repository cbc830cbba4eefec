// Numbers and tables in plain text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minbert {

std::string fixed(double v, int digits);            // "0.50"
std::string counted(int64_t count, const std::string& what);          // "1 seed", "2 seeds"
// With a float's 9 digits, which read back as the same float
std::string float_text(double v);
std::string trimmed(std::string_view text);         // without blanks around it
std::optional<double> number_in(std::string_view text);               // none: no finite number

// A message as it is printed: control characters but for line ends and TABs as \r, \x1b.
std::string visible(const std::string& message);

// A word of a command that a shell reads as it is: in quotes where it has to be.
std::string shell_word(const std::string& word);

size_t text_width(const std::string& text);         // columns on a screen, not bytes
// Columns as wide as they need to be; the first line is the heading.
std::string text_table(const std::vector<std::vector<std::string>>& lines);

}  // namespace minbert
