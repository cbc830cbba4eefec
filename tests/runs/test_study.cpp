// Studies: runs that are done once, and what their values say of a document's claims.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "child.h"
#include "error_of.h"
#include "files/fingerprint.h"
#include "folder.h"
#include "report/long_table.h"
#include "runs/study.h"
#include "small_run.h"
#include "train/interrupt.h"

namespace minbert::test {
namespace {

namespace fs = std::filesystem;

// A run that counts how often it works, and returns the square of its number.
Run squared(int number, int& worked) {
  return {formatted("square-{}", number), {{"number", std::to_string(number)}},
          [number, &worked](const std::string&) -> Json {
            ++worked;
            std::printf("working on %d\n", number);
            return Json::object().set("square", number * number);
          }};
}

std::string only_run_of_this_process() {
  std::ifstream in("/proc/self/cmdline");
  std::string word, before;
  while (std::getline(in, word, '\0')) {
    if (before == "--only-run") return word;
    before = word;
  }
  return "";
}

}  // namespace

TEST_CASE("fingerprint: other bytes, another order, another length or other bytes before give another number") {
  std::set<std::string> all;
  std::string text(20, 'a');
  for (size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[i] = char(changed[i] ^ 1 << bit);
      all.insert(fingerprint_text(changed));
    }
  for (size_t size = 0; size <= text.size(); ++size) all.insert(fingerprint_text(std::string(size, '\0')));
  CHECK(all.size() == 20 * 8 + 21);
  CHECK(fingerprint_text("12345678abcdefgh") != fingerprint_text("abcdefgh12345678"));
  CHECK(fingerprint(text, 1) != fingerprint(text, 2));
  CHECK(fingerprint_text(text).size() == 16);
}

TEST_CASE("study: a run works once; a wider study does what is new; the same options are one run") {
  const Folder folder;
  const Quiet quiet;
  int worked = 0;
  const Run two = squared(2, worked), three = squared(3, worked);
  {
    Study study({.out = folder.path.string()});
    CHECK(study.run({two}));
    CHECK(worked == 1);
    CHECK(study.result(two)["square"].integer() == 4);
    CHECK_ERROR(study.result(three), "this run is not done");
    CHECK(read_file(study.folder(two) + "/log.txt") == "working on 2\n");
  }
  Study study({.out = folder.path.string()});
  CHECK(study.run({two, three, three}));
  CHECK(worked == 2);
  CHECK(study.result(three)["square"].integer() == 9);
  Run changed = two;
  changed.options["number"] = "4";
  CHECK(key_of(changed) != key_of(two));
  Run newer = two;
  newer.version = 2;
  CHECK_FALSE(study.is_done(newer));
  CHECK(study.run({newer}));
  CHECK(worked == 3);
  CHECK(study.folder(newer) != study.folder(two));
}

TEST_CASE("study: a run may have a folder of its own; a run with other options there is an error that shows both") {
  const Folder folder;
  const Quiet quiet;
  int worked = 0;
  Run run = squared(5, worked);
  run.folder = "layer/seed-1";
  Study study({.out = folder.path.string(), .show = true});
  CHECK(study.run({run}));
  CHECK(fs::exists(folder / "layer/seed-1/done.json"));
  CHECK_FALSE(fs::exists(folder / "layer/seed-1/log.txt"));
  CHECK(study.run({run}));
  CHECK(worked == 1);
  run.options["number"] = "6";
  CHECK_ERROR(study.run({run}), "a run with other options stands there\n  there: {\"number\":\"5\"}\n  now:   {\"n");
}

TEST_CASE("study: what is interrupted goes on in its folder") {
  const Folder folder;
  const Quiet quiet;
  bool stop = true;
  int begun = 0;
  const Run run{"long", {{"option", "value"}}, [&](const std::string& where) -> Json {
                  begun += fs::exists(where + "/half") ? 0 : 1;
                  write_file(where + "/half", "");
                  if (stop) throw Interrupted();
                  return Json::object().set("done", true);
                }, 1, "", {"half"}};
  Study study({.out = folder.path.string()});
  CHECK_FALSE(study.run({run}));
  CHECK_FALSE(study.is_done(run));
  stop = false;
  CHECK(study.run({run}));
  CHECK(begun == 1);
  CHECK_FALSE(fs::exists(study.folder(run) + "/half"));          // scratch: deleted behind the result
  CHECK(contains(quiet.text(), "stopped; the same command goes on"));
}

TEST_CASE("study: an error names the run and its log; the runs before it are kept") {
  const Folder folder;
  const Quiet quiet;
  int worked = 0;
  const Run bad{"bad", {{"option", "value"}}, [](const std::string&) -> Json { fail("no such file"); }};
  Study study({.out = folder.path.string()});
  CHECK_ERROR(study.run({squared(1, worked), bad}), "bad: no such file\n  its log: ");
  CHECK(study.is_done(squared(1, worked)));
}

TEST_CASE("study: a process that works on a study" * doctest::skip()) {
  const Study study({.out = Child::told()});
  write_file(Child::told() + "/taken", "");
  sleep(60);
}

TEST_CASE("study: a second process in the folder is refused, and so is a folder of something else") {
  const Folder folder;
  {
    Child other("study: a process that works on a study", folder.path.string());
    while (!fs::exists(folder / "taken")) usleep(1000);
    CHECK_ERROR(Study({.out = folder.path.string()}), "works in this folder");
  }
  const Study study({.out = folder.path.string()});
  fs::create_directories(folder / "other");
  write_file(folder / "other/letter.txt", "text");
  CHECK_ERROR(Study({.out = folder / "other"}), "holds something that is no study");
  CHECK_ERROR(Study({.out = ""}), "--out is empty");
}

TEST_CASE("study: a process of one run" * doctest::skip()) {
  int worked = 0;
  Study study({.out = Child::told(), .only = only_run_of_this_process()});
  const Run bad{"bad", {{"option", "value"}}, [](const std::string&) -> Json {
                  std::cout << "the disk is full" << std::endl;
                  std::_Exit(1);
                }};
  study.run({squared(1, worked), squared(2, worked), squared(3, worked), bad});
}

TEST_CASE("study: runs side by side are processes that know their run; one that fails shows the end of its log") {
  const Folder folder;
  const Quiet quiet;
  int worked = 0;
  setenv("MINBERT_CHILD", folder.path.c_str(), 1);
  Study study({.out = folder.path.string(), .jobs = 2,
               .command = {"test", "--test-case=study: a process of one run", "--no-skip"}});
  const std::vector<Run> runs = {squared(1, worked), squared(2, worked), squared(3, worked)};
  CHECK(study.run(runs));
  CHECK(worked == 0);
  for (int i = 0; i < 3; ++i) CHECK(study.result(runs[size_t(i)])["square"].integer() == (i + 1) * (i + 1));
  const Run bad{"bad", {{"option", "value"}}, {}};
  CHECK_ERROR(study.run({bad}), "the disk is full");
}

}  // namespace minbert::test
