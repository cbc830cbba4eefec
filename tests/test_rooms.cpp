// .build/rooms: includes point down the table of rooms.
#include <doctest/doctest.h>

#include "error_of.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {

TEST_CASE("rooms: an include that points up the table is an error that says where") {
  const std::filesystem::path source = std::filesystem::absolute(__FILE__);
  const std::string script = (source.parent_path().parent_path() / ".build/rooms").string();
  const std::string root = (std::filesystem::temp_directory_path() / formatted("minbert-rooms-{}", getpid())).string();
  const auto file = [&](const std::string& name, const std::string& text) {
    const std::string path = root + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_file(path, text);
  };
  const auto rooms = [&] { return shell(root, "'" + script + "'").said; };
  file("README.md", "## The rooms\n\n| folder | what is in it |\n|---|---|\n| `examples/report/` | pages |\n"
                    "| `src/ops/` | functions |\n| `src/engine/` | a tape |\n");
  file("include/minbert/tensor.h", "");
  file("include/minbert/ops.h", "#include \"minbert/tensor.h\"\n");
  file("src/engine/tensor.cpp", "#include <cmath>\n#include \"minbert/tensor.h\"\n");
  file("src/ops/relu.cpp", "#include \"minbert/ops.h\"\n#include \"engine/launch.h\"\n");
  file("examples/report/page.h", "#include \"ops/relu.h\"\n");
  file("src/engine/launch.h", "");
  file("src/ops/relu.h", "");
  CHECK(rooms() == "");
  file("src/engine/launch.h", "\n#include \"minbert/ops.h\"\n");
  file("src/ops/relu.h", "#include \"report/page.h\"\n");
  file("src/attic/old.cpp", "");
  const std::string said = rooms();
  CHECK(contains(said, "src/engine/launch.h:2: includes include/minbert/ops.h, which points up from src/engine"));
  CHECK(contains(said, "src/ops/relu.h:1: includes examples/report/page.h, which points up from src/ops"));
  CHECK(contains(said, "src/attic/old.cpp: there is no row for its folder in README.md"));
  std::filesystem::remove_all(root);
}

}  // namespace minbert::test
