// Numbers and tables in plain text.
#include "engine/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "minbert/error.h"

namespace minbert {

std::string fixed(double v, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << v;
  return out.str();
}

std::string counted(int64_t count, const std::string& what) {
  return formatted("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string float_text(double v) {
  std::ostringstream out;
  out << std::setprecision(9) << v;
  return out.str();
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == text.npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

std::optional<double> number_in(std::string_view text) {
  const char* const end = text.data() + text.size();
  double v = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, v);
  if (error != std::errc() || rest != end || !std::isfinite(v)) return std::nullopt;
  return v;
}

std::string visible(const std::string& message) {
  std::ostringstream text;
  text << std::hex;
  for (const char c : message)
    if (c == '\r') text << "\\r";
    else if (std::iscntrl(uint8_t(c)) && c != '\n' && c != '\t')
      text << (c < 16 ? "\\x0" : "\\x") << int(c);
    else text << c;
  return text.str();
}

std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || (c && std::strchr("-._/=:,+@%", c));
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// Counts the bytes that begin a character, without combining accents (x̂, θ̄).
size_t text_width(const std::string& text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); ++i)
    n += (text[i] & 0xC0) != 0x80 && text[i] != '\xCC';
  return n;
}

std::string text_table(const std::vector<std::vector<std::string>>& lines) {
  std::string text;
  for (const auto& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) {
      size_t widest = 0;
      for (const auto& other : lines) widest = std::max(widest, text_width(other[c]));
      text += line[c] +
              (c + 1 < line.size() ? std::string(widest + 2 - text_width(line[c]), ' ') : "\n");
    }
  }
  return text;
}

}  // namespace minbert
