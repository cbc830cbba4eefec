// Cases, the work in them, and how the programs are started.
#include "bench/common.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/child.h"
#include "bench/workers.h"
#include "minbert/error.h"

namespace minbert::bench {
namespace {

namespace fs = std::filesystem;
constexpr const char *script = "tests/bench/torch_bench.py", *onnx_script = "tests/bench/onnx_bench.py";
}  // namespace

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

std::string goal_text(double v) {
  char text[16] = "";
  if (v > 0) std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

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

double work(const Case& c, const BertConfig& config, double tokens) {
  const double H = double(config.hidden_size), I = double(config.intermediate_size), V = double(config.vocab_size);
  const double masked = c.mode == "pretrain" ? double(masked_among(int64_t(tokens))) : 0;
  const double in = 3 * H * H, out = H * H + 2 * H * I, all = double(config.num_hidden_layers);
  const double layers = all * in * tokens + out * ((all - 1) * tokens + c.sentences + masked);
  return (c.mode == "forward" ? 2 : 6) * (layers + (V * H + H * H) * masked);
}

bool is_chosen(const Options& options, const Case& c) {
  return options.only == "all" || options.only == c.name || options.only == c.mode;
}

std::vector<std::string> environment_of(int threads) { return {formatted("OMP_NUM_THREADS={}", threads)}; }

std::vector<std::string> worker_command(Device device, const std::string& precision,
                                        const std::vector<std::string>& what) {
  std::vector<std::string> words = {"/proc/self/exe", "--worker", name_of(device), precision};
  words.insert(words.end(), what.begin(), what.end());
  return words;
}

std::vector<std::string> bert_command(const Options& options, const std::string& precision, const std::string& config,
                                      const std::string& mode, const std::string& norm, const std::string& cls_norm,
                                      const std::string& trained) {
  const int uncounted = warm_up * (options.device == Device::cuda ? options.group : 1);
  return worker_command(options.device, precision, {"bert", config, mode, norm, cls_norm,
                                                    options.profile ? "profile" : "", std::to_string(uncounted),
                                                    trained});          // at the end: older builds do not read it
}

PyTorch::PyTorch(const Options& o) : options(o) {
  if (o.no_torch) {
    why_not = "not run (--no-torch)";
    return;
  }
  const char* const chosen = std::getenv("BENCH_PYTHON");
  for (const std::string& name : chosen ? std::vector<std::string>{chosen} :
                                          std::vector<std::string>{"python3", "/usr/bin/python3"})
    if (python.empty() && std::system(formatted("{} -c 'import torch' >/dev/null 2>&1", name).c_str()) == 0)
      python = name;
  if (python.empty())
    why_not = formatted("not run ({} cannot import torch; BENCH_PYTHON=FOLDER/bin/python3 names that of a virtual "
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

OnnxRuntime::OnnxRuntime(const Options& o, const PyTorch& pytorch, const Case& c)
    : options(o), python(pytorch.python), model(formatted("build/bert-{}.onnx", c.config)) {
  if (python.empty()) why_not = "PyTorch, which writes its model, is " + pytorch.why_not;
  else if (std::system(formatted("{} -c 'import onnxruntime' >/dev/null 2>&1", python).c_str()) != 0)
    why_not = formatted("{} cannot import onnxruntime", python);
  else if (!fs::exists(model)) {
    fs::create_directories(fs::path(model).parent_path());
    const std::string answer = Child(pytorch.command(c, "fp32", "onnx=" + model), pytorch.environment()).listen();
    if (!fs::exists(model)) why_not = formatted("PyTorch did not write {}: {}", model, answer);
  }
  if (!why_not.empty()) why_not = "not run (" + why_not + ")";
}

std::vector<std::string> OnnxRuntime::command() const {
  return {python, onnx_script, model, std::to_string(options.threads)};
}

}  // namespace minbert::bench
