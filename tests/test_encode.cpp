// Encoding a file: what is written is what the encoder gives for each text alone.
#include <doctest/doctest.h>

#include "error_of.h"
#include "gradcheck.h"
#include "minbert/ops.h"
#include "models/encode_file.h"
#include "small_run.h"

namespace minbert::test {
namespace {

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

TEST_CASE("encode: the file has of every text what the encoder gives for it alone") {
  const Encoder world;
  const BertModel& bert = world.trained->model.network.bert();
  for (const size_t count : {1, 125, 1000}) {       // in one batch, and in several
    const std::vector<std::string> lines = world.some_lines(count);
    write_file(world.path("texts"), joined_lines(lines));
    for (const auto& [tokens, attention, task, max_length] :
         {std::tuple(false, false, "", 512), std::tuple(true, true, "sts", 7)}) {
      INFO(count << " lines, max_length " << max_length);
      const EncodeOptions o{world.path("texts"), world.path("out"), task, max_length, tokens,
                            attention};
      const Quiet quiet;
      const EncodeReport report = encode(*world.trained, o);
      CHECK(report.texts == int64_t(count));
      CHECK(contains(quiet.text(), "texts cut to ") == (count > 1));
      const SafeTensors file(o.output);
      CHECK(file.entries().size() == (tokens ? 4 + count : 2));
      const Indices id = tokens ? Indices{world.trained->model.network.task_id(task)} : Indices();
      const NoGrad no_tape;
      int64_t before = 0;                           // tokens of the texts before
      for (size_t i = 0; i < count; ++i) {
        const std::vector<Sequence> text = {
            build_sequence(world.trained->tokenizer, lines[i], std::min(max_length, 16))};
        std::vector<Tensor> weights;
        const BertOutput alone = bert.forward(pack(text, id), all_rows, &weights);
        const auto check = [&](const std::string& name, int64_t row, const Tensor& expected) {
          const std::vector<real> all = file.read(name);
          const auto begin = all.begin() + row * expected.cols();
          CHECK(difference({begin, begin + expected.size()}, expected.values()) < 1e-5);
        };
        check("pooler_output", int64_t(i), alone.pooler_output);
        check("cls", int64_t(i), alone.cls);
        if (!tokens) continue;
        CHECK(file.read_integers("offsets")[i] == before);
        check("last_hidden_state", before, alone.last_hidden_state);
        before += int64_t(text[0].ids.size());
        const int64_t L = int64_t(text[0].ids.size()), heads = 2;
        const std::string name = formatted("attention.{}", i);
        CHECK(file.entry(name).shape == std::vector<int64_t>{1, heads, L, L});
        const std::vector<real> all = weights[0].values(), written = file.read(name);
        for (int64_t h = 0; h < heads; ++h) {
          const auto head = all.begin() + h * attention_block(L),
                     ours = written.begin() + h * L * L;
          CHECK(difference({ours, ours + L * L}, {head, head + L * L}) < 1e-5);
        }
      }
      if (tokens) CHECK(file.read_integers("offsets")[count] == report.tokens);
    }
  }
}

TEST_CASE("encode: a sentence's vector is the pooler's output, [CLS], or the mean of its tokens; of length 1 on wish") {
  const Encoder world;
  const std::vector<std::string> lines = world.some_lines(40);
  write_file(world.path("texts"), joined_lines(lines));
  for (const Pool pool : {Pool::pooler, Pool::cls, Pool::mean})
    for (const bool normalize : {false, true}) {
      INFO(pool << " " << normalize);
      const EncodeOptions o{world.path("texts"), world.path("out"), "", 512, true, false, pool, normalize};
      const Quiet quiet;
      encode(*world.trained, o);
      const SafeTensors file(o.output);
      const std::vector<real> found = file.read("sentence_embedding"), tokens = file.read("last_hidden_state");
      std::vector<real> expected = file.read(pool == Pool::cls ? "cls" : "pooler_output");
      const std::vector<int64_t> offsets = file.read_integers("offsets");
      const size_t H = expected.size() / lines.size();
      for (size_t i = 0; i < lines.size(); ++i) {
        const int64_t L = offsets[i + 1] - offsets[i];
        double square = 0;
        for (size_t h = 0; h < H; ++h) {
          real& x = expected[i * H + h];
          if (pool == Pool::mean) {
            double sum = 0;
            for (int64_t t = offsets[i]; t < offsets[i + 1]; ++t) sum += double(tokens[size_t(t) * H + h]);
            x = real(sum / double(L));
          }
          square += double(x) * double(x);
        }
        for (size_t h = 0; normalize && h < H; ++h) expected[i * H + h] /= real(std::sqrt(square));
      }
      CHECK(difference(found, expected) < 1e-5);
    }
}

TEST_CASE("encode: what is no text is refused") {
  const Encoder world;
  const std::string file = world.path("texts"), output = world.path("out");
  const auto refused = [&](const std::string& input) {
    return error_of([&] { encode(*world.trained, {input, output, "", 512, false, false}); });
  };
  CHECK(refused(world.path("none")) == world.path("none") + ": cannot be read");
  CHECK(refused(world.path("data")) == world.path("data") + ": cannot be read");  // a folder
  write_file(file, "");
  CHECK(refused(file) == file + ": no line in it");
  write_file(file, "a film\ncaf\xE9\n");
  CHECK(refused(file).starts_with(file + ":2: byte 4 of this line is 0xE9, which is not UTF-8"));
  CHECK_FALSE(std::filesystem::exists(output));
}

TEST_CASE("encode: a sentence-transformers folder says how sentences become vectors, unless the options do") {
  const Encoder world;
  const std::string folder = world.path("sentences"), lines = "a good film .\nthe the the the the the the the the\n";
  std::filesystem::copy(world.path("run/model"), folder);
  std::filesystem::create_directories(folder + "/1_Pooling");
  write_file(folder + "/modules.json",
             R"([{"type": "s.Transformer", "path": ""}, {"type": "s.Pooling", "path": "1_Pooling"},
                 {"type": "s.Normalize", "path": "2_Normalize"}])");
  write_file(folder + "/1_Pooling/config.json", R"({"pooling_mode": "cls"})");
  write_file(folder + "/sentence_bert_config.json", R"({"max_seq_length": 7})");
  write_file(world.path("texts"), lines);
  const Quiet quiet;
  const TrainedModel trained(folder);
  const auto vectors = [&](EncodeOptions o) {
    o.input = world.path("texts"), o.output = world.path("out");
    encode(trained, o);
    const SafeTensors file(o.output);
    return file.entries().contains("sentence_embedding") ? file.read("sentence_embedding") : std::vector<real>();
  };
  EncodeOptions o;
  o.pool = Pool::cls, o.normalize = true, o.max_length = 7;
  const std::vector<real> own = vectors({});
  CHECK(own == vectors(o));
  CHECK(contains(quiet.text(), "sentences/modules.json: sentence_embedding by --pool cls --normalize"));
  CHECK(contains(quiet.text(), "1 of 2 texts cut to 7 tokens"));
  o.normalize = false;
  CHECK(own != vectors(o));                         // what was asked for counts
  o.pool = Pool::mean, o.max_length = 2;
  CHECK_ERROR(vectors(o), "--max-length 2: ");
  std::filesystem::remove(folder + "/modules.json");
  CHECK(vectors({}).empty());
  o = {};
  o.normalize = true;
  CHECK_ERROR(vectors(o), "--normalize has nothing to normalize without --pool");
}

}  // namespace minbert::test
