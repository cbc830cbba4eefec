// One normalization, held against another framework or an author's code: it runs on the tensors of a file.
//
//   $ norms apply --cls-norm iso-bn --preset authors --input steps.safetensors --output ours.safetensors
//   20 steps of 16 x 768 -> ours.safetensors
//
// include/minbert/norm_apply.h says what the two files hold.
#include <iostream>

#include "minbert/cls_norm.h"
#include "minbert/norm.h"
#include "minbert/norm_apply.h"
#include "minbert/options.h"

using namespace minbert;

namespace {

template <class Entry>
std::vector<std::string> names(const std::vector<Entry>& table) {
  std::vector<std::string> list;
  for (const Entry& entry : table) list.push_back(entry.name);
  return list;
}

void say(const char* what, const std::vector<std::string>& tensors) {
  if (tensors.empty()) return;
  std::cout << what;
  for (const std::string& name : tensors) std::cout << ' ' << name;
  std::cout << '\n';
}

int apply(int argc, char** argv) {
  NormApplyOptions o;
  std::string input, output;
  CommandLine line("norms apply", "Runs one normalization on the tensors of a file: training steps, then evaluation.");
  line.choice("--norm", o.norm, names(norm_table()), "normalization of the hidden states", norm_help());
  line.choice("--cls-norm", o.cls_norm, names(cls_norm_table()), "or of [CLS]", cls_norm_help());
  line.option("--grad-norm", o.grad_norm, 0, "or of the gradient of [CLS], of this strength");
  line.option("--input", input, "a safetensors file: x, dy [S,N,H], of S steps of N rows; offsets [B+1], tasks [B]; "
              "fit [M,H]; parameters by their names", "FILE");
  line.option("--output", output, "the safetensors file to write: y, dx [S,N,H], y_eval [N,H], d.NAME of every "
              "parameter, every buffer", "FILE");
  line.section("Of those norms that have it; not given: the norm's own");
  line.option("--eps", o.eps, 0, "keeps a divisor from 0");
  line.option("--momentum", o.momentum, 0, "running = (1 - momentum) running + momentum now", 1);
  line.option("--groups", o.groups, 0, "of channels; 0: the norm's own");
  line.option("--beta", o.beta, 0, "strength of iso-bn");
  line.choice("--preset", o.preset, {"ours", "paper", "authors"}, "how iso-bn reads its paper");
  line.parse(argc, argv);
  return run_program("norms apply", [&] {
    MB_CHECK(!input.empty() && !output.empty(), "--input and --output are needed; see --help");
    const NormApplyReport report = apply_norm(o, input, output);
    std::cout << report.steps << (report.steps == 1 ? " step of " : " steps of ") << report.rows << " x "
              << report.hidden << " -> " << output << '\n';
    say("not in the input, so as in a new norm:", report.initial);
    say("in the input, but of no use here:", report.unused);
    return 0;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "apply") return apply(argc - 1, argv + 1);
  std::cerr << "norms: expected a command: apply; see norms apply --help\n";
  return 2;
}
