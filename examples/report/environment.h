// What a result was made by: this program and this machine, and which files.
#pragma once

#include <string>
#include <vector>

#include "minbert/json.h"

namespace minbert {

// minbert's version and commit, compiler, processor, OpenBLAS and its kernels, threads, ranks,
// device.
Json environment();

std::string file_fingerprint(const std::string& file);           // 16 hexadecimal digits
// Of each that exists, by its name without the folder: bytes, fingerprint.
Json facts_of_files(const std::vector<std::string>& files);
// The files of a model's folder on which its results depend, with the folder's name.
std::vector<std::string> files_of_model(const std::string& folder);

}  // namespace minbert
