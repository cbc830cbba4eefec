// JSON, safetensors and the writing of files: what they promise, and every kind of damage.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <sstream>

#include "error_of.h"
#include "folder.h"
#include "golden_file.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "minbert/safetensors.h"
#include "text/lines.h"

namespace minbert::test {
namespace fs = std::filesystem;

namespace {

const std::string golden = golden_file("types.safetensors");

size_t files_in(const Folder& folder) { return size_t(std::distance(fs::directory_iterator(folder.path), {})); }

std::string safetensors(const std::string& header, size_t bytes) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(bytes, '\0');
}

// The same number: a nan is a nan, and -0 is not 0.
bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace

TEST_CASE("json: values are read, and written as they were") {
  const std::string text =
      R"({"a":[1,-2.5,"x\n\u00e9",true,null,{}],"b":{"c":9007199254740993,"d":1e-12},"e":0.1})";
  const Json json = Json::parse(text, "f.json");
  CHECK(json["b"]["c"].integer() == 9007199254740993);
  CHECK(json["b"]["d"].number() == 1e-12);
  CHECK(json["a"].items().at(2).string() == "x\n\u00e9");
  CHECK(json["a"].items().at(3).boolean());
  CHECK(json.get("e", 1.0) == 0.1);
  CHECK(json.get("missing", 7) == 7);
  CHECK(Json::parse(R"({"n": null})", "f").get("n", std::string("default")) == "default");
  CHECK(Json::parse(json.dump(-1), "again").dump() == json.dump());
  CHECK(Json::object().set("k", 1).set("l", Json::array({1.5, "s"})).dump(-1) == R"({"k":1,"l":[1.5,"s"]})");
  CHECK(Json(std::nan("")).dump() == "null");
}

TEST_CASE("json: errors name file, line, column and key") {
  const Json json = Json::parse(R"({"a": {"b": [1, "abc"]}, "big": 4294967296, "f": 2.5})", "config.json");
  CHECK(error_of([&] { json["hidden_size"]; }) == "config.json: \"hidden_size\" is missing");
  CHECK(error_of([&] { json["a"]["x"]; }) == "config.json: \"a.x\" is missing");
  CHECK(error_of([&] { json["a"]["b"].items().at(1).integer(); }) ==
        "config.json: \"a.b[1]\" is \"abc\", expected an integer");
  CHECK(error_of([&] { json["f"].integer(); }) == "config.json: \"f\" is 2.5, expected an integer");
  CHECK(error_of([&] { json["a"]["b"]["c"]; }) ==
        "config.json: \"a.b\" is [1,\"abc\"], expected an object {...}");
  CHECK_ERROR(json.get("big", 1), "config.json: \"big\" is 4294967296, which does not fit in 32 bits");
  CHECK_ERROR(Json::parse("{\n  \"a\": tru, \"b\": 1}", "c.json"),
              "c.json: this is not JSON: parse error at line 2, column 11: syntax error");
  CHECK_ERROR(Json::parse("", "c.json"), "c.json: this is not JSON: parse error at line 1, column 1");
  CHECK_ERROR(Json::parse("{} x", "c.json"), "line 1, column 4");
  CHECK_ERROR(Json::parse("[1e999]", "c.json"), "number overflow parsing '1e999'");
  CHECK_ERROR(Json::parse(std::string(100000, '['), "c.json"), "nested more than 100 deep");
  CHECK_ERROR(Json::load("/nowhere/c.json"), "/nowhere/c.json: cannot read: No such file");
}

TEST_CASE("safetensors: every type gives numpy's values") {
  const SafeTensors file(golden);
  CHECK(file.metadata().at("format") == "pt");
  for (const std::string name : {"f32", "f16", "bf16", "f64"}) {
    CAPTURE(name);
    const std::vector<real> values = file.read(name), expected = file.read(name + ".expected");
    REQUIRE(values.size() == expected.size());
    REQUIRE(values.size() > 10);
    for (size_t i = 0; i < values.size(); ++i) CHECK(same(values[i], expected[i]));
  }
  CHECK(file.entry("i64").shape == std::vector<int64_t>{2, 3});
  CHECK(file.read_integers("i64") == std::vector<int64_t>{0, -1, int64_t(1) << 62,
                                                          std::numeric_limits<int64_t>::min(),
                                                          std::numeric_limits<int64_t>::max(), 7});
  CHECK(file.read("scalar") == std::vector<real>{real(2.5)});
  CHECK(file.entry("scalar").shape.empty());
  CHECK(file.read("none").empty());

  std::vector<real> few(2);
  CHECK_ERROR(file.read("f64", few), "f64 is F64 [3, 5], but 2 values are asked for");
  CHECK_ERROR(file.read("bytes"), "bytes is of type U8, expected F32, F16, BF16 or F64");
  CHECK_ERROR(file.read_integers("f32"), "f32 is of type F32, expected I64");
  CHECK_ERROR(file.read_integers("i32"), "i32 is of type I32, expected I64");
  CHECK_ERROR(file.read("other"), "there is no tensor other");
}

TEST_CASE("safetensors: what is written is read back, F16 rounded as numpy does") {
  const Folder folder;
  const SafeTensors reference(golden);
  const std::vector<real> values = reference.read("f32"), halves = reference.read("halves");
  const std::vector<real> nan = {real(std::nan(""))};
  const std::vector<real> large(200001, real(0.1));          // more than one piece
  const std::vector<int64_t> integers = {1, -2, 3};
  const int64_t count = int64_t(values.size());
  SafeTensorsWriter writer;
  writer.metadata["note"] = "\u00e9\"";
  writer.add("half", {count}, values, SafeTensorsWriter::As::f16);
  writer.add("single", {count, 1}, values);
  writer.add("exact", {1, count}, values, SafeTensorsWriter::As::real_type);
  writer.add("large", {int64_t(large.size())}, large);
  writer.add("integers", {3}, std::span<const int64_t>(integers));
  writer.add("nan", {1}, nan, SafeTensorsWriter::As::f16);
  CHECK_ERROR(writer.add("half", {count}, values), "half is added twice");
  CHECK_ERROR(writer.add("short", {2, 2}, std::span(values).first(3)), "short asks for 4 values, but 3");
  writer.write(folder / "w.safetensors");

  const SafeTensors file(folder / "w.safetensors");
  CHECK(file.metadata().at("note") == "\u00e9\"");
  CHECK(file.entry("single").shape == std::vector<int64_t>{count, 1});
  CHECK(file.read_integers("integers") == integers);
  CHECK(std::isnan(file.read("nan").at(0)));
  CHECK(file.read("large").back() == real(0.1f));
  const std::vector<real> half = file.read("half"), single = file.read("single"), exact = file.read("exact");
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(values[i]);
    CHECK(same(half[i], halves[i]));
    CHECK(same(single[i], values[i]));
    CHECK(same(exact[i], values[i]));
  }
  const std::string bytes = read_file(folder / "w.safetensors");
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);
  for (const auto& [name, entry] : file.entries()) CHECK(entry.begin % (entry.type == "I64" ? 8 : 2) == 0);
}

TEST_CASE("files: the folder that a file needs is named before the work") {
  const Folder folder;
  folder.file("file", "x");
  check_folder_of("file"), check_folder_of(folder / "new");
  const std::string message = folder / "gone" + ": there is no such folder; it is to hold f";
  CHECK(error_of([&] { check_folder_of(folder / "gone/f"); }) == message);
  CHECK(error_of([&] { write_file(folder / "gone/f", "x"); }) == message);
  CHECK(error_of([&] { check_folder_of(folder / "file/f"); }) ==
        folder / "file" + ": this is not a folder; it is to hold f");
}

TEST_CASE("safetensors: too little room on the disk is said before a value is written") {
  const Folder folder;
  const std::string file = folder / "vectors";
  const std::string message = error_of([&] {
    SafeTensorsStream(file, {}, {{"a", {"F32", {int64_t(1) << 60}, 0, uint64_t(1) << 62}}});
  });
  INFO(message);
  CHECK(contains(message, file + ": cannot write: 4611686018427388"));
  CHECK(contains(message, " bytes are needed, but only "));
  CHECK(contains(message, " are free on its disk"));
  CHECK(files_in(folder) == 0);
}

TEST_CASE("safetensors: damaged files are refused with the reason") {
  const Folder folder;
  const std::string file = folder / "bad.safetensors";
  const auto refused = [&](const std::string& bytes, const std::string& reason) {
    folder.file("bad.safetensors", bytes);
    CHECK_ERROR(SafeTensors{file}, reason);
    CHECK_ERROR(SafeTensors{file}, file);
  };
  const auto header = [](const std::string& shape, const std::string& offsets,
                         const std::string& type = "F32") {
    return R"({"a":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  CHECK_ERROR(SafeTensors{file}, "cannot read: No such file");
  CHECK_ERROR(SafeTensors(folder.path.string()), "this is not a file");
  refused("", "the file is empty");
  refused("abc", "only 3 bytes");
  refused("hello world, this is text", "not a safetensors file");
  refused("PK\3\4 and a zip behind it", "not a safetensors file");
  refused("version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull");
  refused(safetensors("{\"a\"", 0).replace(0, 1, "\x7f"),
          "its header would have 127 bytes, but the file has 12");
  refused(safetensors("[1, 2]", 4), "no header at its start");
  refused(safetensors("{\"a\": tru}", 4), "line 1, column");
  refused(safetensors(header("[2]", "[0,8]"), 7), "truncated");
  refused(safetensors(header("[2]", "[0,8]"), 9), "its last 1 bytes belong to no tensor");
  refused(safetensors(header("[2]", "[4,12]"), 12), "4 bytes before a belong to no tensor");
  refused(safetensors(header("[2]", "[8,0]"), 8), "no range of bytes");
  refused(safetensors(header("[2]", "[-8,0]"), 8), "no range of bytes");
  refused(safetensors(header("[2]", "[0,8,9]"), 8), "data_offsets has 3 numbers");
  refused(safetensors(header("[2]", "[0,18446744073709551615]"), 8), "expected an integer");
  refused(safetensors(header("[3]", "[0,8]"), 8),
          "F32 values of shape [3] need 12 bytes, but the header gives it 8");
  refused(safetensors(header("[-2]", "[0,8]"), 8), "negative");
  refused(safetensors(header("[4611686018427387905,1]", "[0,4]"), 4), "more than 2^64 bytes");
  refused(safetensors(header("[4294967296,4294967296]", "[0,0]"), 0), "more than 2^64 bytes");
  refused(safetensors(header("2", "[0,8]"), 8), "\"a.shape\" is 2, expected an array");
  refused(safetensors(R"({"a":{"dtype":"F32","shape":[2]}})", 8), "\"a.data_offsets\" is missing");
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  refused(safetensors("{" + a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12),
          "b begins at byte 4, inside of the tensor before it");

  folder.file("bad.safetensors", safetensors(header("[2]", "[0,3]", "Q12"), 3));
  // A type of the future harms only who reads it.
  CHECK_ERROR(SafeTensors(file).read("a"), "a is of type Q12, expected F32");
}

TEST_CASE("safetensors: no mutation of a valid file does more than throw an Error") {
  const Folder folder;
  const std::string valid = read_file(golden);
  uint64_t length;
  std::memcpy(&length, valid.data(), 8);
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return size_t(random()) % n; };
  int accepted = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = valid;
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(4) ? below(8 + length) : below(bytes.size());
      switch (below(4)) {
        case 0: bytes[at % bytes.size()] = char(random()); break;
        case 1: bytes[at % bytes.size()] = "0123456789[]{},\"-"[below(17)]; break;
        case 2: bytes.erase(at % bytes.size(), 1 + below(4)); break;
        default: bytes.insert(at % bytes.size(), bytes, below(bytes.size()), 1 + below(20));
      }
    }
    try {
      const SafeTensors mutated(folder.file("fuzz.safetensors", bytes));
      ++accepted;
      for (const auto& [name, entry] : mutated.entries())
        entry.type[0] == 'I' ? void(mutated.read_integers(name)) : void(mutated.read(name));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(accepted > 20);
  CHECK(refused > 200);
}

TEST_CASE("files: writing replaces a file whole, or leaves the old one") {
  const Folder folder;
  const std::string file = folder / "text";
  write_file(file, "old");
  {
    AtomicFile unfinished(file);
    unfinished.write("half of the new");
  }
  CHECK(read_file(file) == "old");
  write_file(file, "new\n");
  CHECK(read_file(file) == "new\n");
  CHECK(files_in(folder) == 1);

  fs::create_symlink("text", folder / "link");
  write_file(folder / "link", "through the link");
  CHECK(read_file(file) == "through the link");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK_ERROR(write_file(folder.path.string(), ""), "this is a folder");
  CHECK_ERROR(write_file("/dev/null", ""), "/dev/null: cannot write: this is a pipe or a device; give the name of");
  CHECK_ERROR(write_file(folder / "no/such", ""), "no: there is no such folder");
  CHECK_ERROR(read_file(folder.path.string()), "cannot read: Is a directory");
}

TEST_CASE("files: a full disk names file and reason, keeps the old file, leaves nothing else") {
  const Folder folder;
  const std::string file = folder / "model.safetensors";
  write_file(file, "the last good one");
  const std::vector<real> values(100000, 1);
  SafeTensorsWriter writer;
  writer.add("a", {100000}, values);

  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{65536, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string message = error_of([&] { writer.write(file); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  CHECK(message == file + ": cannot write: File too large");
  CHECK(read_file(file) == "the last good one");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("files: a pipe, a device and a folder are refused before the work, however they are named") {
  const Folder folder;
  const std::string pipe = folder / "pipe", link = folder / "link", file = folder.file("file", "old"),
                    to_file = folder / "to-file", no_file = "a pipe or a device";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink("pipe", link);
  fs::create_symlink("file", to_file);
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const std::string open = formatted("/proc/self/fd/{}", ends[1]);      // as /dev/stdout is, in a pipeline
  for (const auto& [name, is] : {std::pair(pipe, no_file), {link, no_file}, {open, no_file}, {"/dev/null", no_file},
                                 {folder.path.string(), "a folder"}}) {
    const std::string said = formatted("{}: cannot write: this is {}; give the name of a file", name, is);
    CHECK(error_of([&] { check_folder_of(name); }) == said);
    CHECK(error_of([&] { write_file(name, "new"); }) == said);
  }
  check_folder_of(to_file), check_folder_of(folder / "new");
  write_file(to_file, "new");
  CHECK(read_file(file) == "new");
  close(ends[0]), close(ends[1]);
}

TEST_CASE("files: folders are made with their parents, or the reason is said") {
  const Folder folder;
  make_folder(folder / "a/b/c");
  make_folder(folder / "a/b/c");
  make_folder(folder / "d/");
  CHECK(fs::is_directory(folder / "a/b/c"));
  folder.file("f", "");
  CHECK(error_of([&] { make_folder(folder / "f/g/h"); }) ==
        (folder / "f/g/h") + ": cannot make this folder: Not a directory");
}

TEST_CASE("lines: LF, CRLF and CR are their ends, and the last one needs none") {
  const std::pair<std::string, std::string> cases[] = {             // Python: list(io.StringIO(text, newline=None))
      {"", ""},
      {"one\r\n\ntwo\rthree\n\xEF\xBF\xBD", "1:one|2:|3:two|4:three|5:\xEF\xBF\xBD|"},         // U+FFFD itself
      {"a\rb\r", "1:a|2:b|"},
      {"a\rb", "1:a|2:b|"},
      {"\r", "1:|"},
      {"\n", "1:|"},
      {"a\r\r\n\rb\n\r", "1:a|2:|3:|4:b|5:|"},
      {"a\n\rb\r\nc", "1:a|2:|3:b|4:c|"}};
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    std::istringstream in(text);
    Lines lines(in, "here");
    std::string line, all, taken;
    while (lines.next(line)) all += formatted("{}:{}|", lines.number(), line);
    CHECK(all == expected);
    int number = 0;
    for (std::string_view rest = text; !rest.empty();)
      taken += formatted("{}:{}|", ++number, without_end(take_line(rest)));
    CHECK(taken == expected);
  }
}

TEST_CASE("lines: what is not UTF-8 is refused with its line and byte, UTF-16 by its name") {
  std::istringstream in("caf\xC3\xA9\r\ncaf\xE9 noir\n");
  Lines lines(in, "standard input");
  std::string line;
  CHECK(lines.next(line));
  CHECK(error_of([&] { lines.next(line); }) ==
        "standard input:2: byte 4 of this line is 0xE9, which is not UTF-8\n"
        "  convert the text to UTF-8; if it is in Latin-1: iconv -f latin1 -t utf8 FILE > NEW");
  const auto error = [](std::string_view text) { return error_of([&] { check_utf8(text, "f"); }); };
  for (const char* bad : {"\x80", "\xC0\xAF", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    CAPTURE(bad);                                   // the second is overlong, then cut, a surrogate, too large
    CHECK(error(std::string("one\rtwo\n x") + bad).starts_with("f:3: byte 3 of this line is 0x"));
  }
  for (const std::string_view wide : {std::string_view("\xFF\xFEh\0", 4), std::string_view("\xFE\xFF\0h", 4),
                                      std::string_view("h\0i\0", 4), std::string_view("\0h\0i", 4)})
    CHECK(error(wide) == "f: this is UTF-16; expected UTF-8\n  convert it: iconv -f utf16 -t utf8 FILE > NEW");
  for (const std::string_view good : {std::string_view("\xEF\xBB\xBF x"), std::string_view("ab\0", 3),
                                      std::string_view(), std::string_view("\xF0\x9F\x98\x80")})
    CHECK(error(good) == "no error");
}

}  // namespace minbert::test
