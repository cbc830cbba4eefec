// ZIP archives, for what is handed in as one file.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace minbert {

// Writes the files, each a name and its bytes, without compression and atomically. Error for more
// than 4 GB: this form of the format has no larger sizes. Source: PKWARE, APPNOTE.TXT, sec. 4.3
void write_zip(const std::string& archive,
               const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace minbert
