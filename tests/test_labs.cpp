// .build/holes and .build/grade: what a student's copy of a lab lacks, and how it is graded.
#include <doctest/doctest.h>

#include "error_of.h"
#include "golden_file.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {
namespace {

const std::string source = R"(// y = x + 1, and
// dy/dx = 1
#include "x.h"

struct One {
  // how it is
  HD void operator()(int i,
                     int j) const {                 // [i,j]
    if (i) {
      j = 1;
    }
  }
  real f(real x) const { return x + 1; }            // as above
  real g(real x) const;
};

Tensor two(const Tensor& x) {
  const auto each = [&](int i) {
    return i;
  };
  return each(x);
}
)";

}  // namespace

TEST_CASE("labs: a hole is a body, of many lines or of one, of a struct's function or of a lambda, and its comments") {
  const SmallWorld world;
  const auto emptied = [&](const std::string& holes, const std::string& which = "") {
    write_file(world.path("x.cpp"), source);
    write_file(world.path("holes"), holes);
    const ShellResult result = shell(world.path(""), repository(".build/holes holes . ") + which);
    INFO(result.said);
    CHECK(result.status == 0);
    CHECK(result.said == "x.cpp\n");
    return read_file(world.path("x.cpp"));
  };
  const auto expected = [](std::vector<std::pair<std::string, std::string>> changes) {
    std::string text = "#include \"engine/yours.h\"\n" + source;
    for (const auto& [old, put] : changes) {
      REQUIRE(contains(text, old));
      text.replace(text.find(old), old.size(), put);
    }
    return text;
  };
  const std::string operator_hole = "x.cpp\tstruct One { >> operator()\tj = yours();\n",
                    two_hole = "# a comment\n\nx.cpp\tTensor two(\treturn a & b(\"\\\\\");\tdy/dx && how it\n";
  const std::pair<std::string, std::string>
      operator_gone = {"    if (i) {\n      j = 1;\n    }\n", "    j = yours();\n"},
      two_gone = {"  const auto each = [&](int i) {\n    return i;\n  };\n  return each(x);\n",
                  "  return a & b(\"\\\\\");\n"};
  CHECK(emptied(operator_hole) == expected({operator_gone}));
  CHECK(emptied("x.cpp\tstruct One { >> real f(\treturn yours();\t\n") ==
        expected({{"{ return x + 1; }            // as above", "{ return yours(); }"}}));
  CHECK(emptied("x.cpp\tTensor two( >> each\treturn 0;\n") == expected({{"    return i;\n", "    return 0;\n"}}));
  const auto both = expected({operator_gone, two_gone, {"// dy/dx = 1\n", ""}, {"  // how it is\n", ""}});
  CHECK(emptied(operator_hole + two_hole) == both);
  CHECK(emptied(two_hole + operator_hole) == both);
  CHECK(emptied(two_hole + operator_hole, "2") == expected({operator_gone}));
}

TEST_CASE("labs: a hole that does not fit is an error with its line, and nothing is written") {
  const SmallWorld world;
  write_file(world.path("x.cpp"), source);
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"x.cpp\treal\tyours();\n", "holes:1: x.cpp: \"real\" stands in 2 lines"},
      {"# a\nx.cpp\treal h(\tyours();\n", "holes:2: x.cpp: \"real h(\" stands in 0 lines"},
      {"x.cpp\tstruct One { >> two(\tyours();\n", "x.cpp: \"two(\" does not stand inside of \"struct One {\""},
      {"x.cpp\treal g(\tyours();\n", "x.cpp: \"real g(\" has no body"},
      {"x.cpp\treal f(\tyours();\tno such\n", "holes:1: x.cpp: \"no such\" stands in no comment line"},
      {"x.cpp\treal f(\tyours();\treturn x + 1\n", "x.cpp: \"return x + 1\" stands in no comment line"},
      {"x.cpp\treal f(\tyours();\nx.cpp\tstruct One\tyours();\n", "holes:2: x.cpp: "},
      {"x.cpp\treal f(\tyours();\nx.cpp\treal f(\tyours();\n", "holes:2: x.cpp: \"real f(\" is emptied twice"},
      {"y.cpp\treal f(\tyours();\n", "holes:1: y.cpp cannot be read"},
      {"x.cpp real f( yours();\n", "holes:1: has 1 columns"},
  };
  for (const auto& [holes, error] : wrong) {
    write_file(world.path("holes"), holes);
    const ShellResult result = shell(world.path(""), repository(".build/holes holes ."));
    INFO(result.said);
    CHECK(result.status == 1);
    CHECK(result.has(error));
    CHECK(read_file(world.path("x.cpp")) == source);
  }
}

// A program in the place of the tests, which does with its filter what doctest may do.
TEST_CASE("labs: a line gives its points when its test passes and checks something; what else it does is named") {
  const SmallWorld world;
  const auto file = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(world.path(name)).parent_path());
    write_file(world.path(name), text);
  };
  file("examples/labs/04-norm/points",
       "# lab 4\n10\tdouble\tops:gelu\n20\tdouble\ta, \"b\"\n5\tfloat\tfails\twrite fails\n5\tfloat\tempty\n"
       "5\tfloat\tnone\n5\tfloat\ttwice\n5\tfloat\tsegfault\n5\tfloat\tdies\n0\tfloat\tforged\n0\tfloat\tcorrected\n"
       "0\tfloat\tops:abs\n");
  file("build/test-cpu",
       "#!/bin/bash\n"
       "read word\n"
       "passes=0\n"
       "counts() { echo \"receipt $word: cases $1, assertions $2, status ${3:-$passes}\"; }\n"
       "case $* in\n"
       "  '--operation gelu') counts 2 7 ;;\n"
       "  '--operation abs' | '--test-case=a\\, \"b\"') counts 1 7 ;;\n"
       "  *always) counts 1 7 0 ;;\n"
       "  *forged) echo '[doctest] test cases: 1 | 1 passed'; word=0; counts 1 7 ;;\n"
       "  *corrected) counts 1 7 1; counts 1 7 ;;\n"
       "  *fails) printf '===\\nx.cpp:1:\\nTEST CASE: fails\\n\\nx.cpp:9: ERROR: CHECK( 1 == 2 ) is NOT correct!\\n'\n"
       "          printf '  logged: input 3\\n\\nx.cpp:10: ERROR: another\\n'; counts 1 1; exit 1 ;;\n"
       "  *empty) counts 1 0 ;;\n"
       "  *none) counts 0 0 ;;\n"
       "  *twice) counts 2 8 ;;\n"
       "  *segfault) kill -SEGV $$ ;;\n"
       "  *dies) echo 'no vocabulary'; exit 3 ;;\n"
       "esac\n");
  shell(world.path("build"), "chmod +x test-cpu && cp test-cpu test-double && "
                             "sed 's/passes=0/passes=1/' test-cpu | tee control-cpu control-double && chmod +x *");
  const std::string grade = "MAKE=true " + repository(".build/grade");
  const ShellResult result = shell(world.path(""), grade + " 4");
  INFO(result.said);
  CHECK(result.status == 0);
  for (const char* line :
       {" 10 / 10  ops:gelu\n", " 20 / 20  a, \"b\"\n", "  0 /  5  fails (float): failed\n",
        "x.cpp:9: ERROR: CHECK( 1 == 2 ) is NOT correct!\n", "  logged: input 3\n",
        "  0 /  5  empty (float): nothing was checked\n", "  0 /  5  none (float): there is no such test\n",
        "  0 /  5  twice (float): there are 2 tests of this name\n", "  0 /  5  segfault (float): crashed",
        "  0 /  5  dies (float): ended before its end (exit status 3)\n", "no vocabulary\n",
        "  0 /  0  forged (float): ended before its end (exit status 0)\n",
        "  0 /  0  corrected (float): failed\n",
        "  0 /  0  ops:abs (float): tests/golden has no values of it\n", " 30 / 60  04-norm\n",
        "next: write fails; build/test-cpu \"--test-case=fails\"\n"})
    CHECK_MESSAGE(result.has(line), line);
  CHECK(!result.has("another"));
  CHECK(read_file(world.path("grade.tsv")).starts_with("10\t10\tpassed\tops:gelu\n20\t20\tpassed\ta, \"b\"\n"
                                                       "0\t5\tfailed\tfails\n"));
  file("examples/labs/04-norm/points", "# lab 4\n10\tdouble\tops:gelu\n# then: make demo\n");
  CHECK(shell(world.path(""), grade + " 4").has(" 10 / 10  04-norm\nnext: make demo\n"));
  file("examples/labs/04-norm/points", "10\tdouble\tops:gelu\n5\tfloat\talways\n");
  CHECK(shell(world.path(""), grade + " 4").has("  0 /  5  always (float): passes in the control, too"));
  CHECK(read_file(world.path("grade.tsv")) == "0\t10\tpassed\tops:gelu\n"
                                              "0\t5\tpasses in the control, too, where no test passes\talways\n");
  file("examples/labs/04-norm/points", "10 double ops:gelu\n");
  CHECK(shell(world.path(""), grade + " 4").has("points:1:10 double ops:gelu\ngrade: expected: points, float, double"));
  CHECK(shell(world.path(""), grade + " 5").has("N=5: there is no such lab"));
}

// The tests pass where src/x.cpp is right. The hand-ins have points, tests and a grader of their own as well.
TEST_CASE("labs: of a hand-in nothing counts but the files that its lab names") {
  const SmallWorld world;
  const auto file = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(world.path(name)).parent_path());
    write_file(world.path(name), text);
  };
  const std::string points = "examples/labs/04-norm/points", program = "build/test-cpu", control = "build/control-cpu";
  for (const std::string folder : {"", "copy/"}) {
    file(folder + points, "40\tfloat\ta\n20\tfloat\tb, \"c\"\n");
    file(folder + "examples/labs/04-norm/holes", "src/x.cpp\n");
    file(folder + "examples/labs/own-numbers", "#!/bin/bash\necho 4.1 = $1\n");
  }
  file("copy/lab.mk", "SOURCES := src/x.cpp\n");
  file("copy/src/x.cpp", "yours to write\n");
  file("copy/" + program,
       "#!/bin/bash\nread word\ngrep -q right src/x.cpp\nstatus=$?\n"
       "echo \"receipt $word: cases 1, assertions 3, status $status\"\nexit $status\n");
  file("copy/" + control, "#!/bin/bash\nread word\necho \"receipt $word: cases 1, assertions 3, status 1\"\nexit 1\n");
  file("make", "#!/bin/bash\nfor a; do case $a in TO=*) cp -r copy ${a#TO=} ;; esac; done\n");
  for (const std::string student : {"right", "wrong", "linked", "nothing"}) {
    file(student + "/" + points, "60\tfloat\ta\n");
    file(student + "/" + program,
         "#!/bin/bash\nread word\necho \"receipt $word: cases 1, assertions 3, status 0\"\n");
    file(student + "/" + control, "#!/bin/bash\nread word\n");
    file(student + "/.build/grade", "#!/bin/bash\nprintf '60\\t60\\tpassed\\ta\\n' > grade.tsv\n");
    file(student + "/answers.md", "4.1 = 5\n");
    if (student == "right" || student == "wrong") file(student + "/src/x.cpp", student + "\n");
  }
  const std::string tools = repository(".build");
  shell(world.path(""), "mkdir class linked/src && cp -r " + tools + " copy/");
  shell(world.path(""), "ln -s $PWD/right/src/x.cpp linked/src/");
  shell(world.path(""), "chmod +x make */build/*-cpu */.build/grade examples/labs/own-numbers");
  for (const std::string student : {"right", "wrong", "linked", "nothing"})
    shell(world.path(student), "tar -czf ../class/hand-in-" + student + "-7.tar.gz .build *");
  const ShellResult result = shell(world.path(""), "AS= MAKE=$PWD/make " + tools + "/grade-hand-ins 4 class");
  INFO(result.said);
  CHECK(result.status == 0);
  CHECK(result.has("hand-in-nothing-7 0 (not in it: src/x.cpp)"));
  CHECK(read_file(world.path("class/grades.csv")) ==
        "hand-in,total,\"a (40)\",\"b, \"\"c\"\" (20)\",failed\n"
        "hand-in-linked-7,0,0,0,\"a: failed; b, \"\"c\"\": failed\"\n"
        "hand-in-nothing-7,0,0,0,\"a: failed; b, \"\"c\"\": failed\"\n"
        "hand-in-right-7,60,40,20,\"\"\n"
        "hand-in-wrong-7,0,0,0,\"a: failed; b, \"\"c\"\": failed\"\n");
  CHECK(contains(read_file(world.path("class/hand-in-right-7.txt")), "4.1 = 7\n"));
  CHECK(read_file(world.path("class/hand-in-right-7.answers.md")) == "4.1 = 5\n");
}

}  // namespace minbert::test
