// The sources, for pages that show them: where a name is defined, and the lines that define it.
#pragma once

#include <string>
#include <vector>

namespace minbert {

// The line of FILE, from 1 on, that defines the class, struct or function of this name: "struct NAME {", "TYPE NAME(".
// What is no name, as "phrasebank" with its quotes, is found where it stands first. 0: it is not there, or the sources
// are not.
int defining_line(const std::string& file, const std::string& name);

std::vector<std::string> lines_of(const std::string& text);

// Lines of FILE from `first` on; none where the sources are not there.
struct Quote {
  int first = 0;
  std::string text;
};
// What begins in this line, up to its closing brace, with the comment above it.
Quote quote(const std::string& file, int line);
// The definition at the file's top level that this line stands in; and the innermost function.
Quote quote_around(const std::string& file, int line);
Quote quote_function(const std::string& file, int line);

}  // namespace minbert
