// .build/course and .build/check-course: what students of a course get, and that nothing of the teachers' is in it; and
// examples/labs/own-numbers, from which both have their numbers.
#include <doctest/doctest.h>

#include "error_of.h"
#include "golden_file.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {
namespace {

namespace fs = std::filesystem;

// A repository with one lab, whose solution is the body of `twice`.
void write_small_repository(const SmallWorld& world) {
  const auto file = [&](const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(world.path("repo/" + name)).parent_path());
    write_file(world.path("repo/" + name), text);
  };
  file(".gitignore", "/build/\n");
  file("README.md", "How it is done:\n\n```cpp src/x.cpp\n  const int result_of_twice = x + x;\n```\n");
  file("src/engine/launch.h", "#pragma once\n");
  file("src/x.cpp",
       "int twice(int x) {\n  const int result_of_twice = x + x;\n  return result_of_twice;\n}\n\n"
       "int thrice(int x) {\n  return 3 * x;\n}\n");
  file("tests/planted.txt", "# twice is thrice\nfile: src/x.cpp\n- x + x;\n+ x + x + x;\n");
  file("examples/labs/README.md",
       "# Labs\n\n| question |\n|---|\n| 1.5 | x |\n| 3.3 | x |\n\n## For instructors\n\nAS=\n");
  file("examples/labs/quiz.md", "The answer to the first question is 42.\n");
  file("examples/labs/01-twice/README.md", "# Lab 1\n");
  file("examples/labs/01-twice/points", "60\tfloat\ttwice\n");
  file("examples/labs/01-twice/holes", "src/x.cpp\tint twice(\twrite_me(\"Lab 1: twice\");\n");
  file("examples/labs/01-twice/hints", "You get it when you add x to itself.\n");
  for (const char* made : {"config.mk", "std.h"}) file(std::string("build/") + made, "");
  shell(world.path("repo"), "cp " + repository("examples/labs/own-numbers") + " examples/labs/ && cp -r " +
                                repository(".build") + " . && git init -q . && git add .");
}
const std::string make_course =
    "MAKE=true CXX=g++ CUDA=0 MARCH=native CUDA_ARCHS=80 .build/course horse-battery ../course";

bool can_make() { return installed("git", "make course") && installed("patch", "make course"); }

}  // namespace

TEST_CASE("course: a student gets no function's body, no page of the teachers' and no line that quotes a body") {
  if (!can_make()) return;
  const SmallWorld world;
  write_small_repository(world);
  const ShellResult result = shell(world.path("repo"), make_course);
  INFO(result.said);
  REQUIRE(result.status == 0);
  CHECK(result.has(" 0 complaints\n"));
  const std::string student = world.path("course/student/"), staff = world.path("course/staff/");
  CHECK(read_file(student + "src/x.cpp") ==
        "#include \"engine/yours.h\"\nint twice(int x) {\n  write_me(\"Lab 1: twice\");\n}\n\n"
        "int thrice(int x) {\n  return 3 * x;\n}\n");
  CHECK(read_file(student + "README.md") == "How it is done:\n\n```cpp src/x.cpp\n...\n```\n");
  for (const char* kept : {"tests/planted.txt", "examples/labs/quiz.md", "examples/labs/own-numbers",
                           "examples/labs/secret", "examples/labs/01-twice/holes", "examples/labs/01-twice/hints"}) {
    CHECK_MESSAGE(fs::exists(staff + kept), kept);
    CHECK_MESSAGE(!fs::exists(student + kept), kept);
  }
  CHECK(fs::exists(student + "examples/labs/01-twice/points"));
  CHECK(shell(student, "git rev-list --all --count").said == "1\n");
  const std::string rows = shell(staff, "examples/labs/own-numbers table").said;
  CHECK(read_file(student + "examples/labs/README.md") == "# Labs\n\n| question |\n|---|\n" + rows + "\n");
  CHECK(shell(staff, "grep -c . course/numbers.tsv").said == "101\n");
  CHECK(shell(staff, "sed -n 's/^42\t//p' course/numbers.tsv | tr '\t' '\n'").said ==
        shell(staff, "examples/labs/own-numbers 12342 | sed 's/.* = //'").said);
  // The patch gives back what was taken away.
  shell(student, "patch -sp1 < ../staff/course/solutions/01-twice.patch");
  CHECK(read_file(student + "src/x.cpp") == read_file(staff + "src/x.cpp"));
}

TEST_CASE("course: what follows from a student's folder is found by name, by hash, by line, and among git's objects") {
  if (!can_make()) return;
  const SmallWorld world;
  write_small_repository(world);
  REQUIRE(shell(world.path("repo"), make_course).status == 0);
  const std::vector<std::pair<std::string, std::string>> leaks = {
      {"cp ../staff/examples/labs/quiz.md notes", "notes: it is a teacher's file\n"},
      {"cp ../staff/src/x.cpp src/x.cpp", "src/x.cpp: it is a teacher's file\n"},
      {"echo > tests-planted; mkdir tests; mv tests-planted tests/planted.txt",
       "tests/planted.txt: a teacher's file has this name\n"},
      {"echo nothing > examples/labs/01-twice/hint", "01-twice/hint: students are not to have this of examples/labs\n"},
      {"echo '//  const int result_of_twice = x + x;' >> src/engine/launch.h",
       "src/engine/launch.h:const int result_of_twice = x + x;: this is a teacher's line\n"},
      {"printf '\\0\\1horse-battery\\2' > build/x.o", "build/x.o:horse-battery: this is a teacher's line\n"},
      {"git hash-object -w ../staff/src/x.cpp", "this object of git's is a teacher's file\n"},
      {"echo 'as if: const int result_of_twice = x + x; //' | git hash-object -w --stdin",
       "const int result_of_twice = x + x;: an object of git's has this line of a teacher's\n"},
      {"git -c user.name=a -c user.email=a@b commit --allow-empty -qm a", "its history is not one commit\n"},
      {"git remote add public https://example.org/minbert", "public: a repository that git can ask\n"},
      {"rm -rf .git", "there is no repository\n"},
  };
  for (const auto& [leak, complaint] : leaks) {
    INFO(leak);
    shell(world.path("course"), "rm -rf leaky && cp -a student leaky");
    REQUIRE(shell(world.path("course/leaky"), leak).status == 0);
    const ShellResult result = shell(world.path("course"), "staff/.build/check-course leaky staff");
    INFO(result.said);
    CHECK(result.status == 1);
    CHECK(result.has(complaint));
  }
  CHECK(shell(world.path("course"), "staff/.build/check-course student staff").status == 0);
  CHECK(shell(world.path("course"), "staff/.build/check-course student student").has("is no folder staff/"));
}

TEST_CASE("course: numbers of one's own are those of the labs' page, and others with a secret") {
  const SmallWorld world;
  const std::string numbers = repository("examples/labs/own-numbers");
  const std::string rows = shell(world.path(""), numbers + " table").said;
  CHECK(contains(read_file(repository("examples/labs/README.md")), "|---|---|---|\n" + rows + "\n"));
  CHECK(shell(world.path(""), numbers + " 12345678 | head -n 1").said == "1.5 = 8640 4800\n");   // H = 64 (8 + 7)
  fs::create_directories(world.path("examples/labs"));
  write_file(world.path("examples/labs/secret"), "horse-battery");
  const ShellResult table = shell(world.path(""), numbers + " table");
  CHECK(table.has("| 1.5 | H = 768, I = 3072 | H = 64 (19 + b), I = 4 H |\n"));   // c = 11
  CHECK(shell(world.path(""), numbers + " 12345678 | head -n 1").said == "1.5 = 14976 8320\n");
  CHECK(shell(world.path(""), "printf 'horse-battery 1.5' | sha256sum | cut -c 1").said == "b\n");
  write_file(world.path("examples/labs/secret"), "another word");
  CHECK(shell(world.path(""), numbers + " table").said != table.said);
}

}  // namespace minbert::test
