// Cases, the work in them, and how the programs are started.
#include "bench/common.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/turns.h"
#include "bench/workers.h"
#include "minbert/error.h"

namespace minbert::bench {
namespace {

namespace fs = std::filesystem;
constexpr const char* script = "tests/bench/torch_bench.py";

// SST's sentences have 25 tokens in the mean, a deviation of about 11, and 55 at most; PhraseBank's, in 4,000 pieces,
// 31 and 14, and 136 at most; the logarithms of these are about normal.
std::vector<int> draw_lengths(const Case& c, Random& random) {
  std::vector<int> lengths;
  for (int b = 0; b < c.sentences; ++b) {
    const double n = random.normal();
    const bool phrases = c.mode == "encoder";
    const double drawn = phrases ? std::exp(3.33 + 0.46 * n) : 25 + 11 * n;
    lengths.push_back(c.length ? c.length : std::clamp(int(std::lround(drawn)), 4, phrases ? 150 : 55));
  }
  return lengths;
}

// 0 where nothing is counted.
double work(const Case& c, const BertConfig& config, double tokens) {
  if (c.mode == "encode" || c.mode == "sentences") return 0;
  const double H = double(config.hidden_size), I = double(config.intermediate_size), V = double(config.vocab_size);
  const double masked = c.mode == "pretrain" ? double(masked_among(int64_t(tokens))) : 0;
  const double in = 3 * H * H, out = H * H + 2 * H * I, all = double(config.num_hidden_layers);
  const double layers = all * in * tokens + out * ((all - 1) * tokens + c.sentences + masked);
  return (c.mode == "forward" ? 2 : 6) * (layers + (V * H + H * H) * masked);
}

}  // namespace

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

std::string group_of(const Case& c) {
  if (c.mode == "train") return formatted("Training step, BERT-{}", c.config);
  if (c.mode == "forward") return formatted("Forward, BERT-{}", c.config);
  if (c.mode == "pretrain") return "Pre-training step";
  if (c.mode == "encoder") return "Training step, encoders of transformer_norms";
  if (c.mode == "sentences") return "Vectors of sentences, a BERT of MiniLM's shape";
  return formatted("The last layer's rows of every token, BERT-{}", c.config);
}

std::string label_of(const Case& c) {
  if (c.mode == "pretrain" || c.mode == "encoder") return c.config;
  return formatted("{} x {}", c.sentences, c.length ? std::to_string(c.length) : "SST");
}

Block draw_block(const Case& c, int steps, Random& random) {
  Block block;
  const BertConfig config = BertConfig::named(c.config);
  for (int i = 0; i < steps; ++i) {
    double tokens = 0;
    if (i > 0) block.line += ';';
    for (const int length : draw_lengths(c, random)) block.line += std::to_string(length) + " ", tokens += length;
    block.tokens += tokens, block.flops += work(c, config, tokens);
  }
  return block;
}

bool is_chosen(const Options& options, const Case& c) {
  const bool named = options.only == c.name || options.only == c.mode;
  return named || (options.only == "all" && (c.quick || !options.quick));
}

std::vector<std::string> environment_of(int threads) { return {formatted("OMP_NUM_THREADS={}", threads)}; }

std::vector<std::string> worker_command(Device device, const std::string& precision,
                                        const std::vector<std::string>& what) {
  std::vector<std::string> words = {"/proc/self/exe", "--worker", name_of(device), precision};
  words.insert(words.end(), what.begin(), what.end());
  return words;
}

std::vector<std::string> bert_command(const Options& options, const std::string& precision, const Case& c,
                                      const Variant& variant) {
  const int uncounted = warm_up * (options.device == Device::cuda ? options.group : 1);
  return worker_command(options.device, precision, {"bert", c.config, c.mode, variant.norm, variant.cls_norm,
                                                    options.profile ? "profile" : "", std::to_string(uncounted),
                                                    variant.trained});  // at the end: older builds do not read it
}

PyTorch::PyTorch(const Options& o) : options(o) {
  if (o.no_torch) {
    why_not = "not run (--no-torch)";
    return;
  }
  const char* const chosen = std::getenv("PEERS_PYTHON");
  for (const std::string& name : chosen ? std::vector<std::string>{chosen} :
                                          std::vector<std::string>{"python3", "/usr/bin/python3"})
    if (python.empty() && std::system(formatted("{} -c 'import torch' >/dev/null 2>&1", name).c_str()) == 0)
      python = name;
  if (python.empty())
    why_not = formatted("not run ({} cannot import torch; PEERS_PYTHON=FOLDER/bin/python3 names that of a virtual "
                        "environment)", chosen ? chosen : "python3");
  else if (!fs::exists(script)) {
    why_not = formatted("not run (there is no {} here; run it from the project's folder)", script);
    python.clear();
  }
}

std::vector<std::string> PyTorch::command(const Case& c, const std::string& precision, const std::string& form) const {
  const BertConfig config = BertConfig::named(c.config);
  std::vector<std::string> words = {python, script, c.mode, name_of(options.device), precision, form};
  for (const int n : {options.threads, config.num_hidden_layers, config.hidden_size, config.num_attention_heads,
                      config.intermediate_size, config.vocab_size, config.max_position_embeddings})
    words.push_back(std::to_string(n));
  return words;
}

std::vector<std::string> PyTorch::environment() const {
  std::vector<std::string> lines = environment_of(options.threads);
  const std::string folder = fs::path(openblas_file()).parent_path();
  if (options.device == Device::cpu && !folder.empty()) lines.push_back("LD_LIBRARY_PATH=" + folder);
  return lines;
}

Program PyTorch::program(const Case& c, const std::string& name, const std::string& precision, const std::string& form,
                         size_t beside) const {
  return {.name = name, .command = command(c, precision, form), .environment = environment(), .beside = beside,
          .why_not = why_not};
}

std::string PyTorch::lacks(const std::string& package) const {
  if (python.empty()) return why_not;
  const std::string command = formatted("{} -c 'import {}' >/dev/null 2>&1", python, package);
  return std::system(command.c_str()) == 0 ? "" : formatted("not run ({} cannot import {})", python, package);
}

}  // namespace minbert::bench
