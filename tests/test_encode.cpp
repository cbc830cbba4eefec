// Encoding a file: in constant memory, the same bytes as if everything were held.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "child.h"
#include "error_of.h"
#include "minbert/ops.h"
#include "small_run.h"
#include "train/command_line.h"
#include "train/encode.h"

namespace minbert::test {
namespace {

// What the file is to hold, of whole tensors by SafeTensorsWriter.
std::string in_memory(const TrainedModel& trained, const std::vector<std::string>& lines, const EncodeOptions& o,
                      const std::string& file) {
  const int64_t N = int64_t(lines.size()), H = trained.config.hidden_size, layers = trained.config.num_hidden_layers,
                heads = trained.config.num_attention_heads;
  const Indices task = o.task.empty() ? Indices() : Indices{trained.model.network.task_id(o.task)};
  std::vector<real> pooler_output, cls, last_hidden_state;
  std::vector<std::vector<real>> attention;
  std::vector<int64_t> offsets = {0};
  const auto append = [](std::vector<real>& to, const Tensor& from) {
    const std::vector<real> values = from.values();
    to.insert(to.end(), values.begin(), values.end());
  };
  const NoGrad no_tape;
  for (size_t i = 0; i < lines.size();) {
    std::vector<Sequence> some;
    for (int64_t tokens = 0; tokens < encoded_at_a_time && i < lines.size(); ++i) {
      some.push_back(build_sequence(trained.tokenizer, lines[i], std::min(o.max_length, 16)));
      tokens += int64_t(some.back().ids.size());
    }
    const Batch batch = pack(some, task);
    std::vector<Tensor> weights;
    const BertOutput out = trained.model.network.bert().forward(
        batch, o.tokens ? all_rows : cls_rows, o.attention ? &weights : nullptr);
    append(pooler_output, out.pooler_output), append(cls, out.cls);
    if (o.tokens) append(last_hidden_state, out.last_hidden_state);
    int64_t at = 0;
    for (const Sequence& text : some) {
      const int64_t L = int64_t(text.ids.size());
      offsets.push_back(offsets.back() + L);
      attention.emplace_back();
      for (const Tensor& layer : weights) {
        const std::vector<real> values = layer.values();
        for (int64_t h = 0; h < heads; ++h) {
          const auto from = values.begin() + h * int64_t(values.size()) / heads + at;
          attention.back().insert(attention.back().end(), from, from + L * L);
        }
      }
      at += attention_block(L);
    }
  }
  SafeTensorsWriter writer;
  writer.add("pooler_output", {N, H}, pooler_output);
  writer.add("cls", {N, H}, cls);
  if (o.tokens) {
    writer.add("last_hidden_state", {offsets.back(), H}, last_hidden_state);
    writer.add("offsets", {N + 1}, std::span<const int64_t>(offsets));
  }
  for (size_t i = 0; o.attention && i < lines.size(); ++i) {
    const int64_t L = offsets[i + 1] - offsets[i];
    writer.add(formatted("attention.{}", i), {layers, heads, L, L}, attention[i]);
  }
  writer.write(file);
  return read_file(file);
}

struct Encoder : SmallWorld {
  Encoder() {
    TrainOptions o = options();
    o.epochs = 1;
    run(o, "run");                                  // conditional-layer, at most 16 tokens
    const Quiet quiet;
    trained = std::make_unique<TrainedModel>(path("run"));
  }
  std::vector<std::string> some_lines(size_t count) const {
    const std::vector<std::string> kinds = {
        "a good film .", "", "who is not very fine ?\tthe plot is dull .", "bad", "\tx",
        "the the the the the the the the the the the the the the the the the the"};
    std::vector<std::string> lines;
    for (size_t i = 0; i < count; ++i) lines.push_back(kinds[(i * i + i / 7) % kinds.size()]);
    return lines;
  }
  std::unique_ptr<TrainedModel> trained;
};

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("encode: the file is byte for byte the one that is written from memory") {
  const Encoder world;
  for (const size_t count : {1, 125, 1000}) {       // 125: attention.100 stands before attention.11 in the header
    const std::vector<std::string> lines = world.some_lines(count);
    write_file(world.path("texts"), joined_lines(lines));
    for (const auto& [tokens, attention, task, max_length] :
         {std::tuple(false, false, "", 512), std::tuple(true, false, "", 512), std::tuple(false, true, "sst", 512),
          std::tuple(true, true, "sts", 7)}) {
      INFO(count << " lines, tokens " << tokens << ", attention " << attention << ", task " << task);
      const EncodeOptions o{world.path("texts"), world.path("out"), task, max_length, tokens, attention};
      const Quiet quiet;
      const EncodeReport report = encode(*world.trained, o);
      CHECK(report.texts == int64_t(count));
      CHECK_FALSE(report.interrupted);
      const bool same = read_file(o.output) == in_memory(*world.trained, lines, o, world.path("expected"));
      CHECK(same);
      CHECK((quiet.text().find("texts cut to ") != std::string::npos) == (count > 1));
    }
  }
}

TEST_CASE("encode: a pipe is read as a file is, and leaves nothing behind") {
  const Encoder world;
  const std::string text = joined_lines(world.some_lines(50)) + "a film";          // the last line has no end
  write_file(world.path("texts"), text);
  make_folder(world.path("outputs"));
  EncodeOptions o{world.path("texts"), world.path("outputs/file"), "", 512, true, false};
  const Quiet quiet;
  CHECK(encode(*world.trained, o).texts == 51);
  const std::string expected = read_file(o.output);
  REQUIRE(mkfifo(world.path("pipe").c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(world.path("pipe")) << text; });
  o.input = world.path("pipe"), o.output = world.path("outputs/pipe");
  CHECK(encode(*world.trained, o).texts == 51);
  writer.join();
  CHECK(read_file(o.output) == expected);
  using Files = std::filesystem::directory_iterator;
  CHECK(std::distance(Files(world.path("outputs")), Files()) == 2);
}

TEST_CASE("encode: a file in another process" * doctest::skip()) {
  std::istringstream told(Child::told());
  std::string model, input, output;
  told >> model >> input >> output;
  encode(TrainedModel(model), {input, output, "", 512, true, false});
}

TEST_CASE("encode: thirty times as many texts take no more memory") {
#ifdef __SANITIZE_ADDRESS__
  std::cout << "encode's memory: not run (the address sanitizer keeps what is freed)\n";
#else
  const Encoder world;
  std::vector<int64_t> peaks;
  for (const size_t count : {1000, 30000, 1000}) {  // the first may hold less: its libraries are not all in memory yet
    write_file(world.path("texts"), joined_lines(world.some_lines(count)));
    peaks.push_back(Child("encode: a file in another process",
                          formatted("{} {} {}", world.path("run"), world.path("texts"),
                                    world.path("out"))).peak_memory());
  }
  MESSAGE("peak memory: " << peaks[0] << ", " << peaks[1] << " and " << peaks[2] << " bytes");
  const int64_t most = 500'000 * int64_t(sizeof(real));       // 16 bytes a text are 480 KB, and longer texts' vectors
  CHECK(peaks[1] - std::max(peaks[0], peaks[2]) < most);
#endif
}

TEST_CASE("encode: what is no text is refused") {
  const Encoder world;
  const std::string file = world.path("texts"), output = world.path("out");
  const auto refused = [&](const std::string& input) {
    return error_of([&] { encode(*world.trained, {input, output, "", 512, false, false}); });
  };
  CHECK(refused(world.path("none")) == world.path("none") + ": cannot be read");
  CHECK(refused(world.path("data")) == world.path("data") + ": cannot be read");             // a folder
  write_file(file, "");
  CHECK(refused(file) == file + ": no line in it");
  write_file(file, "a film\ncaf\xE9\n");
  CHECK(refused(file).starts_with(file + ":2: byte 4 of this line is 0xE9, which is not UTF-8"));
  CHECK_FALSE(std::filesystem::exists(output));
}

}  // namespace minbert::test
