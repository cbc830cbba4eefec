// The data that come with minbert: a generated world, and a BERT pre-trained on it.
#pragma once

#include <string>

namespace minbert {

// Where a file or folder is that comes with minbert; its name is the one in the repository, as in
// shipped("data/mini/bert"). It is looked for in the repository or in PREFIX/share/minbert: in the
// one in whose folders the program stands, else in the one whose headers the program was compiled
// with, whose path the compiler puts in for `header`. Its name as it is where neither has it.
std::string shipped(const std::string& name, const std::string& header = __FILE__);

}  // namespace minbert
