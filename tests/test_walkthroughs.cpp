// .build/quotes and .build/run-console: lines that a README quotes, and commands whose output it prints.
#include <doctest/doctest.h>

#include "error_of.h"
#include "golden_file.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {

TEST_CASE("walkthroughs: a quoted line that is not in its file, or not behind the one before it, is named") {
  const SmallWorld world;
  std::filesystem::create_directories(world.path("src"));
  write_file(world.path("src/x.h"), "int a = 1;\n  int b[2] = {1, 2};  // two\nint c;\n");
  const auto quotes = [&](const std::string& lines) {
    write_file(world.path("README.md"), "Text.\n```cpp src/x.h\n" + lines + "```\nint d;\n");
    return shell(world.path(""), repository(".build/quotes README.md"));
  };
  for (const char* good : {"int a = 1;\n\nint c;\n", "int b[2] = {1, 2};  // two\n",
                           "...\n    int a = 1;\n  // ...\nint c;\n"}) {
    const ShellResult result = quotes(good);
    INFO(result.said);
    CHECK(result.status == 0);
  }
  for (const char* bad : {"int a = 1;\nint b[2] = {1, 3};  // two\n",
                          "int c;\nint a = 1;\n", "int a = 1;\nint a = 1;\n"}) {
    const ShellResult result = quotes(bad);
    INFO(result.said);
    CHECK(result.status == 1);
    CHECK(contains(result.said, "README.md:4: src/x.h no longer has this line, or not in this order: int "));
  }
  write_file(world.path("README.md"), "```cpp src/none.h\nint a = 1;\n```\n");
  const ShellResult result = shell(world.path(""), repository(".build/quotes README.md"));
  CHECK(contains(result.said, "README.md:2: src/none.h no longer has"));
}

TEST_CASE("walkthroughs: a command that prints something else than what stands behind it is named with its line") {
  const SmallWorld world;
  const auto run = [&](const std::string& console) {
    write_file(world.path("t.md"), "```console\n" + console + "```\n$ false\n```\n$ false\n```\n");
    return shell(world.path(""), repository(".build/run-console t.md"));
  };
  for (const char* good : {"$ printf 'a [1] *\\nb\\n'\na [1] *\nb\n", "$ printf 'a\\nb\\nc\\n'\na\n...\nc\n",
                           "$ printf 'a  \\nc\\n'\na\n...\nc\n", "$ printf 'a\\nb\\n'\n...\n$ true\n",
                           "$ echo a >&2\na\n"}) {
    const ShellResult result = run(good);
    INFO(result.said);
    CHECK(result.status == 0);
    CHECK(contains(result.said, "print what is written"));
  }
  for (const char* bad : {"$ true\n$ echo b\na\n", "$ true\n$ false\n", "$ true\n$ echo ab\na\n...\n",
                          "$ true\n$ echo a\n", "$ true\n$ true\na\n", "$ true\n$ echo a\n?\n"}) {
    const ShellResult result = run(bad);
    INFO(result.said);
    CHECK(result.status == 1);
    CHECK(contains(result.said, "t.md:3: $ "));
    CHECK(contains(result.said, "1 of 2 commands do not print what is written"));
  }
}

}  // namespace minbert::test
