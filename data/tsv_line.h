// Writing what src/tasks/tsv.h reads, for made-up data sets.
#pragma once

#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

namespace minbert {

// The fields as one line with TABs, and with quotes if needed.
inline std::string tsv_line(const std::vector<std::string>& fields) {
  std::ostringstream line;
  for (const std::string& field : fields) {
    if (&field != fields.data()) line << '\t';
    const bool plain = field.find_first_of("\t\r\n\"") == field.npos;
    if (plain) line << field;
    else line << std::quoted(field, '"', '"');
  }
  line << '\n';
  return line.str();
}

}  // namespace minbert
