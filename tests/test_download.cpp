// data/download.sh against a small HTTP server on loopback that breaks off, forgets, lies and refuses.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "http_server.h"
#include "minbert/files.h"
#include "shell.h"

namespace minbert::test {
namespace {

namespace fs = std::filesystem;

// A folder to fill and the script with a table of its own.
class Download {
 public:
  Download() { fs::remove_all(root_), fs::create_directories(root_); }
  ~Download() { fs::remove_all(root_); }
  void table(const std::string& text) const { write_file(path("table"), text); }
  ShellResult operator()(const std::string& arguments, const std::string& before = "") const {
    return shell(".", formatted("{} \"$(command -v bash)\" '{}' --into '{}' --table '{}' {}", before, script,
                                path("data"),
                        path("table"), arguments));
  }
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  std::string fetched(const std::string& name) const { return read_file(path("data/" + name)); }
  bool is(const std::string& name) const { return fs::exists(path("data/" + name)); }

  const std::string script = (fs::path(__FILE__).parent_path().parent_path() / "data/download.sh").string();

 private:
  fs::path root_ = fs::temp_directory_path() / formatted("minbert_download_{}", getpid());
};

bool installed(const std::string& tool) {
  if (shell(".", "command -v " + tool).status == 0) return true;
  std::cout << "download.sh: not run (" << tool << " is not installed)\n";
  return false;
}

const std::string small = "a small file\n";
const std::string small_sum = "283de18a92b91eca91b96146822214f63c5a6a08238ab8acf97896a6036b5ab5";
std::string many_bytes() {
  std::string text(100000, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = char(i * i % 251);
  return text;
}
const std::string many = many_bytes(), many_sum = "d5b423763b8adf8b24fbd9edd7432034fa1388ed41de83b9d95f1aa7662d526b";
using Requests = std::vector<std::string>;

}  // namespace

TEST_CASE("download.sh: files arrive, are checked, and are not fetched again") {
  if (!installed("curl")) return;
  Server server({{"/some/small.csv", {small}}, {"/some/many.bin", {many}}});
  const Download download;
  download.table(formatted("group course the course\nfrom {}/some\nto .\nfile small.csv {} {}\n"
                           "group bert-a a model\nto models/bert-a\nfile many.bin - {}\n"
                           "text t.json {\"a\": true, \"b\": 1, \"c\": 2}\n"
                           "group bert-b another\nto models/bert-b\nfile many.bin - - here.bin\n",
                           server.root(), small.size(), small_sum, many_sum));
  const ShellResult first = download("course bert");
  CHECK_MESSAGE(first.status == 0, first.said);
  CHECK(server.requests() == Requests{"/some/small.csv@0", "/some/many.bin@0", "/some/many.bin@0"});
  CHECK(download.fetched("small.csv") == small);
  CHECK(download.fetched("models/bert-a/many.bin") == many);
  CHECK(download.fetched("models/bert-a/t.json") == "{\"a\": true, \"b\": 1, \"c\": 2}\n");
  CHECK(download.fetched("models/bert-b/here.bin") == many);          // by a name of its own
  CHECK(first.has("SHA-256 " + many_sum + ", not checked: the table knows none"));
  CHECK_FALSE(download.is("small.csv.part"));

  const ShellResult second = download("bert-b course");
  CHECK(second.status == 0);
  CHECK(server.requests().empty());
  CHECK(second.has("already there"));

  const ShellResult list = download("--list bert-a");
  CHECK(list.has(server.root() + "/some/many.bin"));
  CHECK(list.has(many_sum));
  CHECK_FALSE(list.has("small.csv"));
}

TEST_CASE("download.sh: a broken transfer goes on where it broke off, in the same run or in the next") {
  if (!installed("curl")) return;
  Server server({{"/many.bin", {many, 1}}});
  const Download download;
  download.table(formatted("group g a group\nfrom {}\nto .\nfile many.bin {} {}\n", server.root(), many.size(),
                           many_sum));
  SUBCASE("in the same run") {
    const ShellResult ran = download("g");
    CHECK_MESSAGE(ran.status == 0, ran.said);
    CHECK(ran.has("broke off after 50000 bytes; try 2 of 3"));
    CHECK(server.requests() == Requests{"/many.bin@0", "/many.bin@50000"});
  }
  SUBCASE("in the next") {
    const ShellResult first = download("--tries 1 g");
    CHECK(first.status == 1);
    CHECK(first.has("many.bin: FAILED"));
    CHECK(first.has("address  " + server.root() + "/many.bin"));
    CHECK(first.has("got      the transfer broke off after 50000 bytes"));
    CHECK(first.has("to do    run the same command again"));
    CHECK(download.is("many.bin.part"));
    CHECK_FALSE(download.is("many.bin"));
    CHECK(download("g").status == 0);
    CHECK(server.requests() == Requests{"/many.bin@0", "/many.bin@50000"});
  }
  SUBCASE("from the beginning, where the server knows no ranges") {
    server.page("/many.bin").ranges = false;
    CHECK(download("--tries 1 g").status == 1);
    const ShellResult ran = download("g");
    CHECK_MESSAGE(ran.status == 0, ran.said);
  }
  SUBCASE("nothing is fetched where only the check and the name were missing") {
    fs::create_directories(download.path("data"));
    write_file(download.path("data/many.bin.part"), many);
    CHECK(download("g").status == 0);
    CHECK(server.requests().empty());
  }
  SUBCASE("a file of unknown size that was complete") {
    download.table(formatted("group g a group\nfrom {}\nto .\nfile many.bin - {}\n", server.root(), many_sum));
    server.page("/many.bin").cuts = 0;
    fs::create_directories(download.path("data"));
    write_file(download.path("data/many.bin.part"), many);
    const ShellResult ran = download("g");
    CHECK_MESSAGE(ran.status == 0, ran.said);
  }
  CHECK(download.fetched("many.bin") == many);
  CHECK_FALSE(download.is("many.bin.part"));
}

TEST_CASE("download.sh: what is not as the table says never counts as fetched, and the next run fetches it afresh") {
  if (!installed("curl")) return;
  Server server({{"/a.csv", {"a SMALL file\n"}}, {"/b.csv", {small}}});
  const Download download;
  std::string size = std::to_string(small.size()), expected = "expected SHA-256 " + small_sum;
  SUBCASE("wrong content") {}
  SUBCASE("too short") {
    server.page("/a.csv").content = "a small", expected = "expected 13 bytes\n  got      7 bytes";
  }
  SUBCASE("too long") {
    server.page("/a.csv").content = small + "and more", expected = "got      a larger file";
  }
  SUBCASE("too long, of unknown size") {
    server.page("/a.csv").content = small + "and more", size = "-";
  }
  download.table(formatted("group g a group\nfrom {}\nto .\nfile a.csv {} {}\nfile b.csv {} {}\n", server.root(), size,
                           small_sum, size, small_sum));
  const ShellResult first = download("g");
  CHECK(first.status == 1);
  CHECK_MESSAGE(first.has(expected), first.said);
  CHECK(first.has("1 failed"));
  CHECK_FALSE(download.is("a.csv"));
  CHECK_FALSE(download.is("a.csv.part"));
  CHECK(download.fetched("b.csv") == small);   // the rest is tried

  server.page("/a.csv").content = small;
  server.requests();
  CHECK(download("g").status == 0);
  CHECK(server.requests() == Requests{"/a.csv@0"});
  CHECK(download.fetched("a.csv") == small);
}

TEST_CASE("download.sh: a file of the user's that is not the table's stays") {
  if (!installed("curl")) return;
  Server server({{"/a.csv", {small}}});
  const Download download;
  download.table(formatted("group g a group\nfrom {}\nto .\nfile a.csv - {}\n", server.root(), small_sum));
  fs::create_directories(download.path("data"));
  write_file(download.path("data/a.csv"), "my own\n");
  const ShellResult ran = download("g");
  CHECK(ran.status == 1);
  CHECK(ran.has("a.csv away and run the same command again"));
  CHECK(download.fetched("a.csv") == "my own\n");
  CHECK(server.requests().empty());
}

TEST_CASE("download.sh: an address that is gone, a server that is not there") {
  if (!installed("curl")) return;
  std::string closed;
  { closed = Server({}).root(); }
  Server server({{"/b.csv", {small}}});
  const Download download;
  download.table(formatted("group gone a group\nfrom {}\nto .\nfile a.csv - -\nfile model.safetensors - -\n"
                           "group down a group\nfrom {}\nfile c.csv - -\n", server.root(), closed));
  const ShellResult gone = download("gone");
  CHECK(gone.status == 1);
  CHECK(gone.has("a.csv: FAILED\n  address  " + server.root() + "/a.csv\n  expected the file, size not known\n"
                 "  got      HTTP status 404\n  to do    open the address in a browser; if it has moved"));
  CHECK(gone.has("look for a refs/pr revision with model.safetensors"));
  CHECK(gone.has("2 failed"));
  CHECK_FALSE(download.is("a.csv"));

  const ShellResult down = download("--tries 1 down");
  CHECK(down.status == 1);
  CHECK(down.has("got      no connection to the server"));
}

TEST_CASE("download.sh: a zip becomes its folder") {
  if (!installed("curl") || !installed("unzip")) return;
  Zip zip;
  zip.add("CoLA/train.tsv", "a\t1\t\tA fine row .\n");
  zip.add("CoLA/original/raw.tsv", "raw\n");
  zip.add("__MACOSX/._CoLA", "x");
  Zip flat;
  flat.add("one.txt", "1\n");
  flat.add("two.txt", "2\n");
  Server server({{"/CoLA-v2.zip", {zip.archive()}}, {"/flat.zip", {flat.archive()}}, {"/bad.zip", {"no zip"}}});
  const Download download;
  download.table(formatted("group glue-cola CoLA\nfrom {}\nto glue/CoLA\nzip CoLA-v2.zip {} -\n"
                           "group flat flat\nto flat\nzip flat.zip - -\ngroup bad bad\nto bad\nzip bad.zip - -\n",
                           server.root(), zip.archive().size()));
  fs::create_directories(download.path("data/glue/CoLA"));   // an empty folder is none
  const ShellResult ran = download("glue flat");
  CHECK_MESSAGE(ran.status == 0, ran.said);
  CHECK(download.fetched("glue/CoLA/train.tsv") == "a\t1\t\tA fine row .\n");
  CHECK(download.fetched("glue/CoLA/original/raw.tsv") == "raw\n");
  CHECK(download.fetched("flat/one.txt") == "1\n");
  CHECK(std::distance(fs::directory_iterator(download.path("data/glue")), {}) == 1);   // neither zip nor work folder

  server.requests();
  CHECK(download("glue flat").status == 0);
  CHECK(server.requests().empty());

  const ShellResult bad = download("bad");
  CHECK(bad.status == 1);
  CHECK(bad.has("expected a zip archive"));
  CHECK_FALSE(download.is("bad"));
  CHECK_FALSE(download.is("bad.zip"));
}

TEST_CASE("download.sh: what it cannot do it says before it begins") {
  const Download download;
  const auto refused = [&](const std::string& arguments, const std::string& message, const std::string& before = "") {
    const ShellResult ran = download(arguments, before);
    CHECK(ran.status == 2);
    CHECK_MESSAGE(ran.has(message), ran.said);
  };
  download.table("group glue-cola CoLA\nfrom https://localhost\nto glue/CoLA\nzip CoLA.zip - -\n");
  refused("glue", "not installed: curl sha256sum unzip\ndownload.sh: on Debian and Ubuntu: "
                  "sudo apt-get install curl coreutils unzip", "PATH=/nonexistent");
  refused("", "what shall it fetch? Some of: glue-cola");
  refused("gleu", "there is no \"gleu\"; expected some of: glue-cola");
  refused("--frobnicate", "there is no option --frobnicate");
  refused("--tries 0 glue", "--tries 0: expected a whole number from 1");
  download.table("group g a\nfrom http://example.com\n");
  refused("g", "table:2: http://example.com: expected an address that begins with https://");
  download.table("group g a\nfrom http://127.0.0.1:80\nfile a 12 abc\n");
  refused("g", "table:3: \"abc\" is not a SHA-256; expected 64 hexadecimal digits or -");
  download.table("grup g\n");
  refused("g", "table:1: \"grup\": expected group, from, to, file, zip or text");
}

TEST_CASE("download.sh: its own table is sound, teaches, and has no address but https") {
  const Download download;
  const ShellResult list = shell(".", "bash '" + download.script + "' --list");
  CHECK(list.status == 0);
  for (const char* name : {"course:", "glue-mrpc:", "phrasebank:", "bert-base-uncased:", "bert-large-cased:",
                           "quora-test-student.csv", "glue/CoLA/", "models/bert-tiny/tokenizer_config.json"})
    CHECK_MESSAGE(list.has(name), name);
  CHECK_FALSE(list.has("http:"));
  const ShellResult help = shell(".", "bash '" + download.script + "' --help");
  CHECK(help.status == 0);
  CHECK(help.has("data/download.sh course bert-base-uncased"));
}

}  // namespace minbert::test
