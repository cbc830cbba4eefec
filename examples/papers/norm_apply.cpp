// One normalization on the tensors of a file: some steps of training, then evaluation.
#include "papers/norm_apply.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <span>

#include "files/progress.h"
#include "minbert/norm.h"
#include "minbert/safetensors.h"
#include "minbert/tokenizer.h"

namespace minbert {
namespace {

using Sizes = std::vector<int64_t>;

// ---- the input --------------------------------------------------------------------------------------------

class Input {
 public:
  explicit Input(const std::string& file) : file_(file) {
    for (const char* tensor : {"x", "dy"})
      MB_CHECK(has(tensor), "{}: there is no tensor {}; expected x and dy [S,N,H]: S steps of N rows", file, tensor);
    const Sizes shape = shape_of("x");
    MB_CHECK(shape.size() == 3 && std::ranges::min(shape) > 0,
             "{}: x is {}, expected [S,N,H]: S steps of N rows of H numbers, and none of the three is 0", file,
             sizes_text(shape));
    S = shape[0];
    N = shape[1];
    H = shape[2];
    x_ = read("x", shape, "[S,N,H]");
    dy_ = read("dy", shape, "[S,N,H]");
  }

  int64_t S, N, H;
  std::string name() const { return file_.file(); }
  bool has(const std::string& tensor) const { return file_.entries().count(tensor) > 0; }
  Sizes shape_of(const std::string& tensor) const { return file_.entry(tensor).shape; }
  // The first size; 0 if there is no such tensor.
  int64_t length_of(const std::string& tensor) const {
    return has(tensor) && !shape_of(tensor).empty() ? shape_of(tensor)[0] : 0;
  }
  Tensor x(int64_t step) const { return step_of(x_, step); }
  Tensor dy(int64_t step) const { return step_of(dy_, step); }

  // letters: the expected shape in the header's letters, for the message
  std::vector<real> read(const std::string& tensor, const Sizes& expected, const char* letters) {
    check_shape(tensor, expected, letters);
    return file_.read(tensor);
  }
  std::vector<int64_t> read_integers(const std::string& tensor, int64_t expected, const char* letters) {
    check_shape(tensor, {expected}, letters);
    return file_.read_integers(tensor);
  }

  // The tensors that were not read. Error for a name that no norm has, which must be misspelled.
  std::vector<std::string> unused() const {
    static const std::set<std::string> known = {"offsets", "tasks", "fit", "weight", "bias", "task_weight",
                                                "task_bias"};
    std::vector<std::string> list;
    for (const auto& [tensor, entry] : file_.entries()) {
      if (read_.count(tensor)) continue;
      MB_CHECK(known.count(tensor),
               "{}: {} is no input of a norm; they are x, dy, offsets, tasks, fit, weight, bias, task_weight, "
               "task_bias", name(), tensor);
      list.push_back(tensor);
    }
    return list;
  }

 private:
  void check_shape(const std::string& tensor, const Sizes& expected, const char* letters) {
    MB_CHECK(shape_of(tensor) == expected, "{}: {} is {}, expected {}, here {}", name(), tensor,
             sizes_text(shape_of(tensor)), letters, sizes_text(expected));
    read_.insert(tensor);
  }
  Tensor step_of(const std::vector<real>& steps, int64_t step) const {
    return Tensor::from({N, H}, std::span(steps).subspan(size_t(step * N * H), size_t(N * H)));
  }

  SafeTensors file_;
  std::vector<real> x_, dy_;
  std::set<std::string> read_;
};

std::vector<Sequence> sentences(Input& in, bool rows_are_one) {
  Sizes offsets;
  for (int64_t row = 0; row <= in.N; row += rows_are_one ? in.N : 1) offsets.push_back(row);
  if (in.has("offsets"))
    offsets = in.read_integers("offsets", std::max<int64_t>(2, in.length_of("offsets")), "[B+1]");
  MB_CHECK(offsets.front() == 0 && offsets.back() == in.N,
           "{}: offsets run from {} to {}, expected from 0 to the rows of x, {}", in.name(), offsets.front(),
           offsets.back(), in.N);
  const auto fall = std::adjacent_find(offsets.begin(), offsets.end(), std::greater_equal<>());
  MB_CHECK(fall == offsets.end(), "{}: offsets go from {} to {}, expected that each is larger than the one before it",
           in.name(), *fall, *(fall + 1));
  std::vector<Sequence> list;
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    const std::vector<int32_t> blank(size_t(offsets[b + 1] - offsets[b]));
    list.push_back({blank, blank});
  }
  return list;
}

// Each sentence's task, and how many there are: the rows of task_weight, or of task_bias; without both, enough.
std::pair<Indices, int64_t> tasks(Input& in, int64_t sentences) {
  const int64_t rows = std::max(in.length_of("task_weight"), in.length_of("task_bias"));
  if (!in.has("tasks")) return {Indices(), std::max<int64_t>(1, rows)};
  const int64_t limit = rows > 0 ? rows : 1 << 16;
  std::vector<int32_t> list;
  for (const int64_t task : in.read_integers("tasks", sentences, "[B]")) {
    MB_CHECK(0 <= task && task < limit, "{}: tasks[{}] is {}, expected 0 to {}{}", in.name(), list.size(), task,
             limit - 1, rows > 0 ? ", a row of task_weight and task_bias" : "");
    list.push_back(int32_t(task));
  }
  return {Indices(list), rows > 0 ? rows : std::ranges::max(list) + 1};
}

// ---- the norm ---------------------------------------------------------------------------------------------

struct Subject {
  std::unique_ptr<Module> module;                   // its parameters and buffers
  std::function<Tensor(const Tensor& x)> forward;
};

Subject hidden_norm(const std::string& name, Input& in) {
  const std::vector<Sequence> sequences = sentences(in, norms().find(name).couples == Couples::sentence);
  const auto [task, count] = norm_name(name) == "conditional-layer" ? tasks(in, int64_t(sequences.size()))
                                                                    : std::pair(Indices(), int64_t(0));
  auto norm = norms().make(name, {.hidden = in.H, .tasks = count});
  const auto forward = [n = norm.get(), batch = pack(sequences, task)](const Tensor& x) { return (*n)(x, batch); };
  return {std::move(norm), forward};
}

Subject cls_norm(const std::string& name, Input& in) {
  auto norm = cls_norms().make(name, {.hidden = in.H});
  if (norm->wants_set()) {
    MB_CHECK(in.has("fit"), "{}: there is no tensor fit; {} takes its statistics from fit [M,H], H = {}", in.name(),
             name, in.H);
    const int64_t M = std::max<int64_t>(1, in.length_of("fit"));
    norm->fit(Tensor::from({M, in.H}, in.read("fit", {M, in.H}, "[M,H]")));
    norm->finish_fit();
  }
  const auto forward = [n = norm.get()](const Tensor& h) { return (*n)(h); };
  return {std::move(norm), forward};
}

Subject gradient_norm(double alpha) {
  return {std::make_unique<Module>(), [alpha](const Tensor& h) { return normalize_gradient(h, alpha); }};
}

// Returns those that are not in the input.
std::vector<std::string> load(const Parameters& parameters, Input& in) {
  std::vector<std::string> missing;
  for (const Parameter& p : parameters.items()) {
    const bool of_tasks = p.value.shape().rank() == 2;
    const Sizes shape = of_tasks ? Sizes{p.value.rows(), in.H} : Sizes{in.H};
    if (in.has(p.name)) p.value.copy_from(in.read(p.name, shape, of_tasks ? "[tasks,H]" : "[H]"));
    else missing.push_back(p.name);
  }
  return missing;
}

}  // namespace

NormApplyReport apply_norm(const NormApplyOptions& o, const std::string& input, const std::string& output) {
  const int given = !o.norm.empty() + !o.cls_norm.empty() + o.grad_norm.has_value();
  MB_CHECK(given == 1, "expected one of --norm NAME, --cls-norm NAME and --grad-norm ALPHA, but there are {}", given);
  Input in(input);
  const Subject norm = o.grad_norm         ? gradient_norm(*o.grad_norm)
                       : !o.norm.empty() ? hidden_norm(o.norm, in)
                                         : cls_norm(o.cls_norm, in);
  Parameters parameters(*norm.module, {});
  const std::vector<std::string> initial = load(parameters, in), unused = in.unused();

  std::vector<real> y, dx;
  const auto append = [](std::vector<real>& to, const Tensor& from) {
    const std::vector<real> values = from.values();
    to.insert(to.end(), values.begin(), values.end());
  };
  norm.module->train();
  Progress progress("steps of " + input, in.S);
  for (int64_t step = 0; step < in.S; ++step) {
    const Tensor x = in.x(step).set_requires_grad(true);
    const Tensor result = scale(norm.forward(x), 1);             // none's is x itself, which is not on the tape
    append(y, result);
    backward(result, in.dy(step));
    append(dx, x.grad());
    progress.update(step + 1);
  }
  norm.module->train(false);
  const NoGrad no_tape;
  const Tensor y_eval = norm.forward(in.x(in.S - 1));

  SafeTensorsWriter writer;
  using enum SafeTensorsWriter::As;
  writer.add("y", {in.S, in.N, in.H}, y, real_type);
  writer.add("dx", {in.S, in.N, in.H}, dx, real_type);
  writer.add("y_eval", y_eval, real_type);
  for (const Parameter& p : parameters.items())
    writer.add("d." + p.name, p.value.grad() ? p.value.grad() : Tensor::zeros(p.value.shape()), real_type);
  for (const Parameter& b : parameters.buffers()) writer.add(b.name, b.value, real_type);
  writer.write(output);
  return {in.S, in.N, in.H, unused, initial};
}

}  // namespace minbert
