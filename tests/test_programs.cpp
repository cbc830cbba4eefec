// Programs as they are started: what their main() alone does. make test builds them before the tests.
#include <doctest/doctest.h>

#include <iostream>

#include "error_of.h"
#include "golden_file.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {
namespace {

// The program's path in quotes, or "" where it is not built.
std::string program(const std::string& name) {
  const std::string file = std::filesystem::absolute(repository("build/bin/" + name)).string();
  if (std::filesystem::exists(file)) return "'" + file + "'";
  std::cout << name << ": not run (build/bin/" << name << " is not there)\n";
  return "";
}

}  // namespace

TEST_CASE("programs: encode says what it writes to, before it works") {
  SmallWorld world;
  const std::string encode = program("encode");
  if (encode.empty()) return;
  write_file(world.path("texts"), "a film\n");
  const ShellResult result =
      shell(world.path(""), formatted("{} --model gone --input texts --output /dev/stdout", encode));
  CHECK(result.said == "encode: /dev/stdout: cannot write: this is a pipe or a device; give the name of a file\n");
  CHECK(result.status == 1);
}

}  // namespace minbert::test
