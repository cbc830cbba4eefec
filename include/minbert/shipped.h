// The data that come with minbert: a generated world, and a BERT pre-trained on it.
#pragma once

#include <string>

namespace minbert {

// Where a file or folder is that comes with minbert; its name is the one in the repository, as in
// shipped("data/mini/bert"). It is looked up in the repository, or PREFIX/share/minbert, in which
// the running program stands, then in the one that its headers came from (`header`: leave it to the
// compiler). Found in neither: `name` as it is.
std::string shipped(const std::string& name, const std::string& header = __FILE__);

}  // namespace minbert
