// data/download.sh with addresses of files on this disk, and a curl that breaks off as it is told.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "golden_file.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "shell.h"

namespace minbert::test {
namespace {

namespace fs = std::filesystem;

const std::string small = "a small file\n";
const std::string small_sum = "283de18a92b91eca91b96146822214f63c5a6a08238ab8acf97896a6036b5ab5";
const std::string script = repository("data/download.sh");

// A folder with a server's files in web/, a table, the folder to fill, data/, and in bin/ a curl
// that first notes its call in the file calls. Where the file cut is, that call alone gets no more
// than its text.
class Download {
 public:
  Download() {
    fs::remove_all(root_);
    for (const char* folder : {"web", "bin", "data"}) fs::create_directories(root_ / folder);
    write("bin/curl", formatted("#!/bin/sh\nprintf . >> '{}/calls'\n"
                                "[ -e '{}/cut' ] || exec \"$REAL_CURL\" \"$@\"\n"
                                "while [ \"$1\" != --output ]; do shift; done\n"
                                "mv '{}/cut' \"$2\"\nexit 18\n", path(""), path(""), path("")));
    fs::permissions(root_ / "bin/curl", fs::perms::owner_all);
  }
  ~Download() { fs::remove_all(root_); }
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  std::string web() const { return "file://" + path("web"); }
  void write(const std::string& name, const std::string& text) const {
    write_file(path(name), text);
  }
  void table(const std::string& text) const { write("table", text); }
  ShellResult operator()(const std::string& arguments) const {
    return shell(".", formatted("REAL_CURL=$(command -v curl) PATH='{}':\"$PATH\" bash '{}' "
                                "--into '{}' --table '{}' {}",
                                path("bin"), script, path("data"), path("table"), arguments));
  }
  bool is(const std::string& name) const { return fs::exists(path("data/" + name)); }
  std::string fetched(const std::string& name) const { return read_file(path("data/" + name)); }
  // How often it ran curl since the last call of this function
  int64_t calls() const {
    const int64_t count = file_size(path("calls"));
    fs::remove(path("calls"));
    return count;
  }

 private:
  fs::path root_ = fs::temp_directory_path() / formatted("minbert_download_{}", getpid());
};

bool installed(const std::string& program) { return test::installed(program, "download.sh"); }

}  // namespace

TEST_CASE("download.sh: files arrive, are checked, and are not fetched again") {
  if (!installed("curl") || !installed("unzip")) return;
  const Download download;
  download.write("web/small.csv", small);
  download.table(formatted("group course the course\nfrom {}\nto .\nfile small.csv {} {}\n"
                           "group bert-a a model\nto models/bert-a\nfile small.csv - {}\n"
                           "text t.json {\"a\": true, \"b\": 1, \"c\": 2}\n"
                           "group bert-b another\nto models/bert-b\nfile small.csv - - here.bin\n",
                           download.web(), small.size(), small_sum, small_sum));
  const ShellResult first = download("course bert");
  CHECK_MESSAGE(first.status == 0, first.said);
  CHECK(download.calls() == 3);
  CHECK(download.fetched("small.csv") == small);
  CHECK(download.fetched("models/bert-a/small.csv") == small);
  CHECK(download.fetched("models/bert-a/t.json") == "{\"a\": true, \"b\": 1, \"c\": 2}\n");
  CHECK(download.fetched("models/bert-b/here.bin") == small);          // by a name of its own
  CHECK(first.has("SHA-256 " + small_sum + ", not checked: the table knows none"));
  CHECK_FALSE(download.is("small.csv.part"));

  const ShellResult second = download("bert-b course");
  CHECK(second.status == 0);
  CHECK(download.calls() == 0);
  CHECK(second.has("already there"));

  const ShellResult list = download("--list bert-a");
  CHECK(list.has(download.web() + "/small.csv"));
  CHECK(list.has(small_sum));
  CHECK_FALSE(list.has("course"));
}

TEST_CASE(
    "download.sh: a broken transfer goes on where it broke off, in the same run or the next") {
  if (!installed("curl") || !installed("unzip")) return;
  const Download download;
  download.write("web/small.csv", small);
  download.table(formatted("group g a group\nfrom {}\nfile small.csv - -\n", download.web()));
  std::string begun = "A SMALL", expected = "A SMALL file\n";         // another beginning: it stays
  SUBCASE("in the same run") { download.write("cut", begun); }
  SUBCASE("in the next") { download.write("data/small.csv.part", begun); }
  SUBCASE("from the beginning, where more is there than the server has") {
    download.write("data/small.csv.part", "another file, a longer one\n");
    expected = small;
  }
  const ShellResult ran = download("g");
  CHECK_MESSAGE(ran.status == 0, ran.said);
  CHECK(download.fetched("small.csv") == expected);
  CHECK_FALSE(download.is("small.csv.part"));
}

TEST_CASE("download.sh: what is not as the table says never counts as fetched") {
  if (!installed("curl") || !installed("unzip")) return;
  const Download download;
  download.write("web/a.csv", "a SMALL file\n");
  download.write("web/b.csv", small);
  download.table(formatted("group g a group\nfrom {}\nto .\nfile a.csv 13 {}\nfile b.csv - {}\n"
                           "file gone.csv - -\n", download.web(), small_sum, small_sum));
  const ShellResult first = download("g");
  CHECK(first.status == 1);
  CHECK_MESSAGE(first.has("expected SHA-256 " + small_sum), first.said);
  CHECK(first.has("gone.csv: FAILED\n  address  " + download.web() + "/gone.csv"));
  CHECK(first.has("to do    run the same command again"));
  CHECK(first.has("2 failed"));
  CHECK_FALSE(download.is("a.csv"));
  CHECK_FALSE(download.is("a.csv.part"));
  CHECK(download.is("a.csv.wrong"));
  CHECK_FALSE(download.is("gone.csv"));
  CHECK(download.fetched("b.csv") == small);   // the rest is tried

  download.write("web/a.csv", small);
  download.write("web/gone.csv", "");
  CHECK(download("g").status == 0);
  CHECK(download.fetched("a.csv") == small);
  CHECK(download.fetched("gone.csv") == "");

  download.write("data/a.csv", "my own\n");
  download.calls();
  const ShellResult mine = download("g");
  CHECK(mine.status == 1);
  CHECK(mine.has("a.csv away and run the same command again"));
  CHECK(download.fetched("a.csv") == "my own\n");
  CHECK(download.calls() == 0);
}

TEST_CASE("download.sh: the folder in a zip becomes its folder") {
  if (!installed("curl") || !installed("unzip") || !installed("zip")) return;
  const Download download;
  for (const char* folder : {"web/CoLA/original", "web/__MACOSX"})
    fs::create_directories(download.path(folder));
  download.write("web/CoLA/train.tsv", "a row\n");
  download.write("web/CoLA/original/raw.tsv", "raw\n");
  download.write("web/__MACOSX/x", "x");
  CHECK(shell(download.path("web"), "zip -qr CoLA-v2.zip CoLA __MACOSX").status == 0);
  download.write("web/bad.zip", "no zip");
  download.table(formatted("group glue-cola CoLA\nfrom {}\nto glue/CoLA\nzip CoLA-v2.zip - -\n"
                           "group bad bad\nto bad\nzip bad.zip - -\n", download.web()));
  const ShellResult ran = download("glue");
  CHECK_MESSAGE(ran.status == 0, ran.said);
  CHECK(download.fetched("glue/CoLA/train.tsv") == "a row\n");
  CHECK(download.fetched("glue/CoLA/original/raw.tsv") == "raw\n");
  // neither the zip nor the folder of the work
  CHECK(std::distance(fs::directory_iterator(download.path("data/glue")), {}) == 1);

  download.calls();
  CHECK(download("glue").status == 0);
  CHECK(download.calls() == 0);

  const ShellResult bad = download("bad");
  CHECK(bad.status == 1);
  CHECK(bad.has("expected a zip archive"));
  CHECK_FALSE(download.is("bad"));
  CHECK_FALSE(download.is("bad.zip"));
}

TEST_CASE("download.sh: MRPC's rows are shared out as GLUE's list of the dev set says") {
  if (!installed("curl") || !installed("unzip")) return;
  const Download download;
  const std::string header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n";
  download.write("web/msr_paraphrase_train.txt",
                 header + "1\t7\t8\ta\tb\r\n0\t8\t7\tc\td\r\n1\t9\t7\te\tf\n");
  download.write("web/msr_paraphrase_test.txt", header);
  download.write("web/dev_ids.tsv", "9\t7\r\n8\t9\n7\t8\n");
  download.table(
      formatted("group mrpc MRPC\nfrom {}\nto MRPC\nfile msr_paraphrase_train.txt - -\n"
                "file msr_paraphrase_test.txt - -\nfile dev_ids.tsv - -\nmrpc train.tsv\n",
                download.web()));
  const ShellResult ran = download("mrpc");
  CHECK_MESSAGE(ran.status == 0, ran.said);
  CHECK(download.fetched("MRPC/train.tsv") == header + "0\t8\t7\tc\td\n");
  CHECK(download.fetched("MRPC/dev.tsv") == header + "1\t7\t8\ta\tb\n1\t9\t7\te\tf\n");
  CHECK(download.fetched("MRPC/test.tsv") == header);
}

TEST_CASE("download.sh: installed, it fills the data/ of the folder from which it is started") {
  const Download download;
  const std::string there = download.path("prefix/share/minbert/data");
  fs::create_directories(there);
  fs::create_directories(download.path("home"));
  fs::copy_file(script, there + "/download.sh");
  download.write("prefix/share/minbert/installed", "");
  download.table("group small a file\nfrom x\nto models/small\ntext vocab.txt words\n");
  const ShellResult ran = shell(download.path("home"), formatted("bash '{}/download.sh' --table '{}' small", there,
                                                                 download.path("table")));
  CHECK_MESSAGE(ran.status == 0, ran.said);
  CHECK(read_file(download.path("home/data/models/small/vocab.txt")) == "words\n");
  CHECK(!fs::exists(there + "/models"));
}

TEST_CASE("download.sh: its own table is sound, and what it cannot do it says before it begins") {
  const auto run = [](const std::string& arguments, int status, const std::string& message) {
    const ShellResult ran =
        shell(".", formatted("\"$(command -v bash)\" '{}' {}", script, arguments));
    CHECK(ran.status == status);
    CHECK_MESSAGE(ran.has(message), ran.said);
  };
  run("", 2, "what shall it fetch? Some of: course glue-cola");
  run("gleu", 2, "there is no \"gleu\"; expected some of: course glue-cola");
  run("--frobnicate", 2, "there is no option --frobnicate");
  run("--help", 0, "data/download.sh course bert-base-uncased");
  for (const char* name :
       {"course:", "glue-mrpc:", "phrasebank:", "bert-large-cased:", "glue/CoLA:",
        "quora-test-student.csv", "models/bert-tiny/tokenizer_config.json"})
    run("--list", 0, name);
}

}  // namespace minbert::test
