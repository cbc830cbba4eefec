// Vectors of texts: small batches beside ONNX Runtime, and files of sentences beside sentence-transformers.
//
//   Small batches  a forward alone: the rows of the last layer for one sentence or eight, as a reader of texts asks for
//                  them. Ours computes the pooler, too, which is 0.7% of the weights.
//   Sum            a plain sum over as many numbers as the layers' dense matrices have, 340 MB, which every forward
//                  reads once, on as many threads: the least that reading them takes
//   ONNX           ONNX Runtime with the network that torch_bench.py writes (onnx_bench.py)
//   Pause          before each turn, until the threads of the program before have stopped waiting for more work
//   Sentences      as the program encode does it: lines of data/mini/corpus.txt are read from a file, tokenized, pooled
//                  by their mean, and written to a file. The network has MiniLM's sizes and new weights; both programs
//                  read the same folder. sentence-transformers leaves its vectors in memory (sentences_bench.py).
#include <cstdio>
#include <filesystem>

#include "bench/page.h"
#include "bench/turns.h"
#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/shipped.h"
#include "minbert/tokenizer.h"

namespace minbert::bench {
namespace {

namespace fs = std::filesystem;

double dense_weights(const BertConfig& config) {
  const double H = double(config.hidden_size), I = double(config.intermediate_size);
  return double(config.num_hidden_layers) * (4 * H * H + 2 * H * I);
}

// PyTorch writes its network where there is none yet.
Program onnx_runtime(const Options& options, const PyTorch& pytorch, const Case& c) {
  const std::string model = formatted("build/bert-{}.onnx", c.config);
  Program onnx{.name = "ONNX Runtime",
               .command = {pytorch.python, "tests/bench/onnx_bench.py", model, std::to_string(options.threads)},
               .environment = {}, .beside = 0, .times = c.times, .why_not = pytorch.lacks("onnxruntime")};
  if (!onnx.why_not.empty() || fs::exists(model)) return onnx;
  fs::create_directories("build");
  const std::string answer = Child(pytorch.command(c, "fp32", "onnx=" + model), pytorch.environment()).listen();
  if (!fs::exists(model)) onnx.why_not = formatted("not run (PyTorch did not write {}: {})", model, answer);
  return onnx;
}

// A folder of a BERT with MiniLM's sizes, and data/mini's word pieces.
void write_minilm(const std::string& folder) {
  BertConfig config = BertConfig::named("mini");
  config.num_hidden_layers = 6, config.hidden_size = 384, config.num_attention_heads = 12;
  config.intermediate_size = 1536;
  const Tokenizer tokenizer = Tokenizer::from_folder(shipped("data/mini/bert"));
  MultitaskBert model(config, {}, 0.1);
  save_model(folder, config, tokenizer, Parameters(model, {}));
}

}  // namespace

std::vector<Case> encode_cases() {
  std::vector<Case> list;
  for (const int sentences : {1, 8})
    for (const int length : {8, 16, 32, 128, 512})
      list.push_back({.name = formatted("encode-{}x{}", sentences, length), .config = "base", .mode = "encode",
                      .sentences = sentences, .length = length, .steps = sentences * length < 4096 ? 15 : 7,
                      .times = sentences == 1 && length == 512 ? 0.0 : 1.0});
  return list;
}

bool run_encode(const Options& options, const PyTorch& pytorch, Record& record) {
  bool ran = true;
  const std::vector<std::string> environment = environment_of(options.threads);
  for (const Case& c : encode_cases()) {
    if (!is_chosen(options, c)) continue;
    const std::string weights = std::to_string(int64_t(dense_weights(BertConfig::named(c.config))));
    Measurement m{.work = c, .programs = {}, .pause = 20'000};
    m.programs.push_back({"minbert", bert_command(options, "fp32", c), environment});
    const double goal = c.sentences * c.length == 8 ? 1 / 1.6 : 0;
    m.programs.push_back({"a plain sum", worker_command(Device::cpu, "fp32", {"sum", weights}), environment, 0, goal});
    m.programs.push_back(onnx_runtime(options, pytorch, c));
    m.programs.push_back(pytorch.program(c, "PyTorch", "fp32", "eager"));
    ran = record.run(std::move(m)) && ran;
  }
  return ran;
}

bool run_sentences(const Options& options, const PyTorch& pytorch, Record& record) {
  const int texts = options.quick ? 250 : 5000;
  const Case c{.name = "sentences", .config = "mini", .mode = "sentences", .sentences = 1, .length = texts, .steps = 5};
  const std::string folder = options.out + "/minilm";
  write_minilm(folder);
  Measurement m{.work = c, .programs = {}};
  m.programs.push_back({"minbert", worker_command(Device::cpu, "fp32", {"sentences", folder}),
                        environment_of(options.threads)});
  m.programs.push_back({.name = "sentence-transformers",
                        .command = {pytorch.python, "tests/bench/sentences_bench.py", folder,
                                    std::to_string(options.threads)},
                        .environment = pytorch.environment(), .beside = 0, .times = 1.96,
                        .why_not = pytorch.lacks("sentence_transformers")});
  m.label = formatted("{} texts", texts);
  return record.run(std::move(m));
}

}  // namespace minbert::bench
