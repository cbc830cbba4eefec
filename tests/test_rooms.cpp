// .build/rooms: the arrows between the rooms, and their picture.
#include <doctest/doctest.h>

#include "error_of.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {

TEST_CASE("rooms: an include that points up the table, or a picture of other includes, is an error that says where") {
  const std::filesystem::path source = std::filesystem::absolute(__FILE__);
  const std::string script = (source.parent_path().parent_path() / ".build/rooms").string();
  const std::string root = (std::filesystem::temp_directory_path() / formatted("minbert-rooms-{}", getpid())).string();
  const auto file = [&](const std::string& name, const std::string& text) {
    const std::string path = root + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_file(path, text);
  };
  int status = 0;
  const auto rooms = [&](const std::string& mode) {
    const ShellResult result = shell(root, formatted("'{}' {}", script, mode));
    status = result.status;
    return result.said;
  };
  file("README.md", "## The rooms\n\n| folder | what is in it |\n|---|---|\n| `examples/` | the programs |\n"
                    "| `src/norm/` | [tables](x.md) of norms |\n| `src/ops/` | functions |\n"
                    "| `src/engine/` | a tape |\n");
  file("include/minbert/tensor.h", "");
  file("include/minbert/ops.h", "#include \"minbert/tensor.h\"\n");
  file("src/engine/tensor.cpp", "#include \"minbert/tensor.h\"\n");
  file("src/ops/relu.cpp", "#include \"minbert/ops.h\"\n#include \"engine/launch.h\"\n");
  file("src/engine/launch.h", "#include \"minbert/tensor.h\"\n");
  file("src/norm/layer.cpp", "#include \"minbert/ops.h\"\n");
  file("examples/mlp.cpp", "#include <cmath>\n#include \"minbert/ops.h\"\n#include \"minbert/tensor.h\"\n");

  CHECK(contains(rooms("--check"), "make rooms"));  // there is no picture yet
  CHECK(status != 0);
  CHECK(rooms("") == "rooms: src/rooms.svg\n");
  const std::string picture = read_file(root + "/src/rooms.svg");
  CHECK(contains(picture, ">src/norm/</text>"));
  CHECK(contains(picture, ">tables of norms</text>"));
  CHECK(rooms("--check") == "");
  CHECK(status == 0);
  const std::string list = rooms("--list");         // ops.h, too, includes something of engine
  CHECK(contains(list, "examples   -> ops         1   drawn\n"));
  CHECK(contains(list, "examples   -> engine      1\n"));
  CHECK(contains(list, "ops        -> engine      2   drawn\n"));

  file("examples/norms.cpp", "#include \"norm/table.h\"\n");
  file("src/norm/table.h", "");
  CHECK(contains(rooms("--check"), "src/rooms.svg is not the picture of today's includes"));
  rooms("");
  file("src/engine/launch.h", "\n#include \"minbert/ops.h\"\n");
  CHECK(contains(rooms("--check"), "src/engine/launch.h:2: includes include/minbert/ops.h, an arrow up from engine"));
  CHECK(status != 0);
  file("src/engine/launch.h", "");
  file("src/attic/old.cpp", "");
  CHECK(contains(rooms("--check"), "src/attic/old.cpp: there is no row for its folder in README.md"));
  std::filesystem::remove_all(root);
}

}  // namespace minbert::test
