// What a run needs so that it can go on: its folder for itself, and the files with which it began.
#include <doctest/doctest.h>

#include <filesystem>

#include "child.h"
#include "error_of.h"
#include "files/lock.h"
#include "folder.h"
#include "library.h"
#include "minbert/pretrainer.h"
#include "small_run.h"
#include "train/cli/command_line.h"
#include "train/cli/outputs.h"

namespace minbert::test {
namespace {

namespace fs = std::filesystem;

void append(const std::string& file, const std::string& text) { write_file(file, read_file(file) + text); }

// The message of a run that may not go on.
std::string refusal(SmallWorld& world, const TrainOptions& o, const std::string& name) {
  return error_of([&] { world.run(o, name); });
}

}  // namespace

TEST_CASE("lock: a process that holds a folder" * doctest::skip()) {
  const FolderLock lock(Child::told());
  write_file(Child::told() + "/held", "");
  sleep(60);
}

TEST_CASE("lock: another process is refused by its name, until it dies, however it dies") {
  const Folder folder;
  const std::string path = folder.path.string();
  {
    Child holder("lock: a process that holds a folder", path);
    while (!fs::exists(folder / "held")) usleep(1000);
    const std::string holder_name = read_file(folder / "lock");
    CHECK(holder_name.starts_with("process "));
    CHECK_ERROR(FolderLock{path}, path + ": " + holder_name + " works in this folder");
  }                                                 // killed
  const FolderLock lock(path), again(path + "/.");  // one process may hold it twice
  CHECK(read_file(folder / "lock").starts_with(formatted("process {} on ", getpid())));
}

TEST_CASE("going on: a run that an option stopped before its first step is begun again in its folder, no other is") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.out = world.path("run"), o.rate = "nonesuch=3";
  CommandLine line("multitask", "");
  add_train_options(line, o);
  const auto begin = [&] {
    const auto lock = begin_run(line, o, Start::fresh);
    remember_options(line, o.out);
    train(Experiment(o), o, o.out);
  };
  for (int again = 0; again < 2; ++again) CHECK_ERROR(begin(), "found in the name of no parameter");
  o.rate = "", o.epochs = 1;
  begin();
  CHECK(fs::exists(o.out + "/model"));
  CHECK_ERROR(begin(), "exists already");
}

TEST_CASE("lock: a folder with a lock alone is free, one with anything else is not") {
  const Folder folder;
  const std::string path = folder.path.string();
  CHECK(is_free(path));
  CHECK(is_free(path + "/missing"));
  const FolderLock lock(path);
  CHECK(is_free(path));
  folder.file("steps.csv", "");
  CHECK_FALSE(is_free(path));
  CHECK(is_free(path, {"lock", "steps.csv"}));
  CHECK_FALSE(is_free(folder / "steps.csv"));
}

TEST_CASE("lock: train() works in a folder that no other process has") {
  SmallWorld world;
  make_folder(world.path("taken"));
  Child holder("lock: a process that holds a folder", world.path("taken"));
  while (!fs::exists(world.path("taken/held"))) usleep(1000);
  CHECK(contains(refusal(world, world.options(), "taken"), "taken: process "));
  CHECK_FALSE(fs::exists(world.path("taken/steps.csv")));
}

TEST_CASE("going on: a run is refused where a file is not what it was, and named; put back, it goes on bit for bit") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "sst,sts";
  world.run(o, "whole");
  world.run(o, "run", 2);
  const std::string data = world.path("data");
  for (const std::string file : {"data/ids-sst-train.csv", "data/ids-sst-dev.csv", "data/ids-sst-test-student.csv",
                                 "data/sts-dev.csv", "start/vocab.txt", "start/config.json"}) {
    INFO(file);
    const std::string before = read_file(world.path(file)),
                      option = file.starts_with("data/") ? "--data " : "--model ";
    const bool table = file.ends_with(".csv");      // its last row once more
    const std::string more = table ? before.substr(before.rfind('\n', before.size() - 2) + 1) : " ";
    append(world.path(file), more);
    const std::string said = refusal(world, o, "run"), name = file.substr(file.find('/') + 1);
    CHECK(contains(said, "this run cannot go on, since it began with other files"));
    CHECK(contains(said, formatted("\n  {}{}: {} bytes (", option, name, before.size())));
    CHECK(contains(said, formatted("); now {} bytes (", before.size() + more.size())));
    CHECK(std::ranges::count(said, '\n') == 2);     // no other file
    write_file(world.path(file), before);
  }
  const std::string train = world.path("data/ids-sst-train.csv"), before = read_file(train);
  std::string other_label = before;
  other_label[before.size() - 2] = '3';             // it was 4
  write_file(train, other_label);
  CHECK(contains(refusal(world, o, "run"), formatted("); now {} bytes (", before.size())));
  write_file(train, before);
  fs::rename(world.path("data/ids-sst-test-student.csv"), world.path("aside"));
  CHECK(contains(refusal(world, o, "run"), "--data ids-sst-test-student.csv: "));
  fs::rename(world.path("aside"), world.path("data/ids-sst-test-student.csv"));
  write_file(world.path("start/added_tokens.json"), "{}");
  CHECK(contains(refusal(world, o, "run"), "--model added_tokens.json: not there; now 2 bytes"));
  fs::remove(world.path("start/added_tokens.json"));
  fs::rename(world.path("data"), world.path("moved"));           // the same files at another place
  o.data = world.path("moved");
  CHECK_FALSE(world.run(o, "run").interrupted);
  check_equal(contents(world.path("run")), contents(world.path("whole")));
}

TEST_CASE("going on: files of tasks are looked at, wherever they lie; two corpora of one name are two") {
  SmallWorld world;
  std::string rows = "text\tkind\n";
  for (int i = 0; i < 40; ++i) rows += formatted("film {}\t{}\n", i, i % 2 ? "bug" : "wish");
  const Folder own;
  own.file("a.tsv", rows), own.file("b.tsv", rows);
  own.file("j.json", R"({"name": "j", "text_columns": ["text"], "label_column": "kind", "files": {"train": "a.tsv"}})");
  TrainOptions o = world.options();
  o.data = fs::relative(o.data).string();           // as most people give it
  o.tasks = formatted("sst,{},{},{}", own / "a.tsv", own / "b.tsv", own / "j.json");
  world.run(o, "run", 2);
  for (const char* name : {"a.tsv", "b.tsv", "j.json"}) {
    INFO(name);
    const std::string before = read_file(own / name);
    write_file(own / name, before + (name[0] == 'j' ? "\n" : "film\tbug\n"));
    CHECK(contains(refusal(world, o, "run"), std::string(name) + ": "));
    CHECK(contains(refusal(world, o, "run"), "this run cannot go on"));
    write_file(own / name, before);
  }
  CHECK_FALSE(world.run(o, "run").interrupted);

  const Library library;
  const Quiet quiet;
  PretrainOptions p = library.options("two");
  const std::string text = read_file(p.corpus[0]);
  p.corpus = {own.file("one/x.txt", text), own.file("other/x.txt", text)};
  pretrain(p, {}, 2);
  for (const std::string& file : p.corpus) {
    append(file, "One more.\n");
    CHECK_ERROR(pretrain(p), "--corpus x.txt");
    write_file(file, text);
  }
}

TEST_CASE("going on: a run's files are found from another folder, those of tasks and masks, too") {
  const Folder began, now;
  began.file("own/t.tsv", "text\tkind\n"), began.file("dd/x", ""), began.file("m", "");
  const auto options_in = [](TrainOptions& o, CommandLine& line) { add_train_options(line, o); };
  TrainOptions first, later;
  CommandLine there("multitask", ""), here("multitask", "");
  options_in(first, there), options_in(later, here);
  first.tasks = "sst,own/t.tsv", first.data = "dd", first.train_mode = "mask:m", first.model = "gone";
  const fs::path before = fs::current_path();
  fs::current_path(began.path);
  remember_options(there, began.path.string());
  fs::current_path(now.path);
  recall_options(here, began.path.string());
  fs::current_path(before);
  CHECK(later.tasks == "sst," + fs::canonical(began.path).string() + "/own/t.tsv");
  CHECK(later.data == fs::canonical(began.path).string() + "/dd");
  CHECK(later.train_mode == "mask:" + fs::canonical(began.path).string() + "/m");
  CHECK(later.model == "gone");
}

TEST_CASE("going on: pre-training is refused with another corpus or vocabulary") {
  const Library library;
  const Quiet quiet;
  PretrainOptions o = library.options("run");
  pretrain(o, {}, 3);
  for (const std::string& file : {o.corpus[0], o.vocab}) {
    INFO(file);
    const std::string before = read_file(file);
    append(file, file == o.vocab ? "zzz\n" : "One more.\n");
    CHECK_ERROR(pretrain(o), formatted("{}: {} bytes (", fs::path(file).filename().string(), before.size()));
    write_file(file, before);
  }
  CHECK_FALSE(pretrain(o).interrupted);
}

TEST_CASE("going on: a corpus that changes while it is read stops the run with its state saved") {
  const Library library;
  const Quiet quiet;
  PretrainOptions o = library.options("whole");
  o.held_out = 0, o.steps = 12;
  pretrain(o);
  o.out = library.path("cut");
  const std::string corpus = read_file(o.corpus[0]);
  const auto cut = [&](const Json&) { std::ofstream(o.corpus[0]) << corpus.substr(0, corpus.size() / 2); };
  CHECK_ERROR(pretrain(o, cut), o.corpus[0] + ": this file has changed, or is gone, since the start");
  CHECK(contains(quiet.text(), "go on with --resume"));
  const Json at = saved_position(o.out);
  CHECK(at["step"].integer() > 0);                  // the first epoch was learnt
  CHECK_ERROR(pretrain(o), "this run cannot go on");
  write_file(o.corpus[0], corpus);
  pretrain(o);
  check_equal(contents(o.out), contents(library.path("whole")));
}

TEST_CASE("files: a file is read in pieces; one that has changed since is an error") {
  const Folder folder;
  const std::string name = folder.file("text.txt", "0123456789");
  const InputFile file(name);
  CHECK(file.size() == 10);
  CHECK(file.text(2, 3) == "234");
  CHECK(file.text(9, 1) == "9");
  std::ofstream(name) << "01234";
  CHECK(file.text(2, 3) == "234");
  CHECK_THROWS_AS(file.text(4, 2), FileChanged);
  fs::remove(name);                                 // what is open stays
  CHECK(file.text(0, 5) == "01234");
  CHECK_ERROR(InputFile{name}, "cannot read: No such file");
  CHECK_ERROR(InputFile{folder.file("empty", "")}, "the file is empty");
  CHECK_ERROR(InputFile{folder.path.string()}, "this is not a file");
}

namespace {
// A program with a text, a model and an output.
struct Tool {
  std::string model, input, output, data;
  std::vector<std::string> files;
  OptionTable table;
  Tool() {
    table.option("--model", model, "", "DIR");
    table.option("--data", data, "", "DIR");
    table.option("--input", input, "", "FILE");
    table.option("files", files, "", "FILE");
    table.option("--output", output, "", "FILE");
  }
  std::string refusal(const std::string& to) {
    output = to;
    return error_of([&] { check_outputs(table); });
  }
};
}  // namespace

TEST_CASE("outputs: none of what a program reads is written over, whatever its name; nor a model, nor a run") {
  const Folder folder;
  Tool tool;
  tool.input = folder.file("texts.txt", "a film\n");
  tool.files = {folder.file("more.txt", "a plot\n"), folder.file("most.txt", "")};
  tool.model = (folder.path / "model").string(), tool.data = (folder.path / "data").string();
  folder.file("model/config.json", "{}"), folder.file("model/vocab.txt", "a\n"), folder.file("data/RTE/dev.tsv", "");
  folder.file("other/config.json", "{}"), folder.file("other/model.safetensors", "");
  folder.file("run/options.json", "{}");
  folder.file("run/steps.csv", ""), folder.file("run/model/config.json", "{}");
  fs::create_symlink("texts.txt", folder.path / "link"), fs::create_hard_link(tool.input, folder.path / "hard");
  fs::create_directory_symlink("model", folder.path / "linked");
  for (const char* name : {"texts.txt", "./texts.txt", "model/../texts.txt", "link", "hard", "more.txt", "most.txt"}) {
    INFO(name);
    CHECK(contains(tool.refusal(folder / name), "it is read, by "));
  }
  for (const char* name : {"model/vocab.txt", "linked/vocab.txt", "data/RTE/dev.tsv"}) {
    INFO(name);
    CHECK(contains(tool.refusal(folder / name), "it is read, by "));
  }
  for (const char* name : {"other/model.safetensors", "run/steps.csv"}) {
    INFO(name);
    CHECK(contains(tool.refusal(folder / name), "a model or a run is there"));
  }
  for (const char* name : {"other", "run"}) {
    INFO(name);
    CHECK(contains(tool.refusal(folder / name), "a model or a run is there"));
  }
  folder.file("old.safetensors", ""), folder.file("model/page.html", "");        // a page may be drawn again
  for (const char* name :
       {"new.safetensors", "old.safetensors", "model/page.html", "data/vectors.safetensors", "sub/x"}) {
    INFO(name);
    CHECK(tool.refusal(folder / name) == "no error");
  }
}

}  // namespace minbert::test
