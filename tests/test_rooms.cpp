// .build/rooms: includes point down the table of rooms.
#include <doctest/doctest.h>

#include "error_of.h"
#include "folder.h"
#include "golden_file.h"
#include "shell.h"

namespace minbert::test {

TEST_CASE("rooms: an include that points up the table is an error that says where") {
  const Folder root;
  const auto rooms = [&] { return shell(root.path, "'" + repository(".build/rooms") + "'").said; };
  root.file("README.md", "## The rooms\n\n| folder | what is in it |\n|---|---|\n| `examples/report/` | pages |\n"
                    "| `src/ops/` | functions |\n| `src/engine/` | a tape |\n");
  root.file("include/minbert/tensor.h", "");
  root.file("include/minbert/ops.h", "#include \"minbert/tensor.h\"\n");
  root.file("src/engine/tensor.cpp", "#include <cmath>\n#include \"minbert/tensor.h\"\n");
  root.file("src/ops/relu.cpp", "#include \"minbert/ops.h\"\n#include \"engine/launch.h\"\n");
  root.file("examples/report/page.h", "#include \"ops/relu.h\"\n");
  root.file("src/engine/launch.h", "");
  root.file("src/ops/relu.h", "");
  CHECK(rooms() == "");
  root.file("src/engine/launch.h", "\n#include \"minbert/ops.h\"\n");
  root.file("src/ops/relu.h", "#include \"report/page.h\"\n");
  root.file("src/attic/old.cpp", "");
  const std::string said = rooms();
  CHECK(contains(said, "src/engine/launch.h:2: includes include/minbert/ops.h, which points up from src/engine"));
  CHECK(contains(said, "src/ops/relu.h:1: includes examples/report/page.h, which points up from src/ops"));
  CHECK(contains(said, "src/attic/old.cpp: there is no row for its folder in README.md"));
}

}  // namespace minbert::test
