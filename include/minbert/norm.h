// Normalizations of hidden states and of [CLS]. Each is in one file of src/norm/hidden or
// src/norm/cls: its class, its equation, its options and its entry; src/norm/entries.h lists the
// entries of the two tables.
//
//   x [T,H]   hidden states: one row for each token
//   h [B,H]   of [CLS]: one row for each sentence, the last hidden state h^l of its [CLS], or the
//             pooler's output
#pragma once

#include <map>
#include <memory>

#include "minbert/module.h"
#include "minbert/ops.h"

namespace minbert {

// An option of a norm: a number from min to max, or one of some words.
struct NormOption {
  const char* name;
  // The default; nullptr: the norm computes it
  const char* value = nullptr;
  double min = 0, max = 1e30;
  // The words that it may be; none: a number
  std::vector<std::string> words = {};
  // Is the default layer_norm_eps of config.json?
  bool in_config = false;
  // What tables say of a default that is computed
  const char* source = "";
};

// The arguments of a norm: its sizes in the network, and the values of its options.
struct NormOptions {
  // Columns of x
  int64_t hidden;
  // Task ids
  int64_t tasks = 0;
  // That of config.json
  double layer_norm_eps = 1e-12;
  // Every option's value, given or by default: make() fills them in
  std::map<std::string, std::string> values = {};

  // fallback: the result if no value was given and there is no default
  double number(const std::string& option, double fallback = 0) const;
};

class Norm : public Module {
 public:
  // [T,H] -> [T,H]. Norms of [CLS] take no batch.
  Tensor operator()(const Tensor& x, const Batch& batch = {}) const {
    const Scope scope(path());
    return forward(x, batch);
  }
  // The equation in elementary operations, where forward() is a kernel: to be read, and the
  // reference of the tests. Most norms have their equation in forward().
  virtual Tensor composed(const Tensor& x, const Batch& batch) const { return forward(x, batch); }

  // Norms with wants_set() take their statistics from a set, once [TA sec.4.2]: call fit() with
  // every batch of the set, then finish_fit(). The statistics are buffers, saved and loaded with
  // the model. A later fit() begins another set.
  virtual bool wants_set() const { return false; }
  virtual void fit(const Tensor& h);            // Error if wants_set() is false, and for a NaN in h
  virtual void finish_fit();

 protected:
  virtual Tensor forward(const Tensor& x, const Batch& batch) const = 0;
  // A running statistic moves: average = (1 - momentum) average + momentum now
  static void move_average(const Tensor& average, const Tensor& now, double momentum);
};

// A norm whose result is scaled by γ and shifted by β, both [H]. They begin as 1 and 0, or as a
// checkpoint has them.
class AffineNorm : public Norm {
 public:
  explicit AffineNorm(const NormOptions& o);

 protected:
  double eps_;
  Tensor weight_, bias_;
};

// The rows whose values affect another row's result in training: none, those of its sentence, those
// of the batch. Where there are any, the last layer computes every row, not only those asked for.
enum class Mixes { nothing, sentence, batch };
// Where a norm of [CLS] stands: h is the encoder's [CLS], or the pooler's; or each norm where its
// entry says.
enum class ClsPlace { per_method, pre_pooler, pooled };

struct NormEntry {
  // As --norm or --cls-norm takes it
  const char* name;
  const char* formula;
  // Its source: "Wu & He 2018", "[IsoBN eq.2]"
  const char* paper = "";
  // The elements of one mean
  const char* over;
  Mixes mixes = Mixes::nothing;
  // Those of evaluation, if they are not x's own
  const char* statistics = "none";
  // How many, in H and tasks: "2H"
  const char* parameters = "0";
  // Where a norm of [CLS] stands unless the user says otherwise
  ClsPlace place = ClsPlace::per_method;
  std::vector<NormOption> options = {};
  std::unique_ptr<Norm> (*make)(const NormOptions&);
};
template <class N>
std::unique_ptr<Norm> new_norm(const NormOptions& o) {             // for NormEntry::make
  return std::make_unique<N>(o);
}

// norm: a name of the table, with options or without, as --norm, --cls-norm and config.json have
// it: "group:groups=8,eps=1e-3". Errors: a name that does not exist, which lists those that do; an
// option that does not exist, or is given twice; a value out of its range.
struct NormTable {
  const char* what;                             // "norm" or "[CLS] norm"
  std::vector<NormEntry> entries;

  const NormEntry& find(const std::string& norm) const;
  void check(const std::string& norm) const;
  // Error: sizes that do not fit, too
  std::unique_ptr<Norm> make(const std::string& norm, NormOptions options) const;
  std::string help() const;                     // the table as text, for --norm help
};
const NormTable& norms();                       // of hidden states
const NormTable& cls_norms();                   // of [CLS]

std::string norm_name(const std::string& norm);                  // "group" of "group:groups=8"
// A comma and word= continue a norm's options: "layer,group:groups=8,eps=1e-5,rms" is three norms.
std::vector<std::string> split_norms(const std::string& list);
// The values of a norm's options: the given ones, and the defaults of others. Errors as NormTable's
std::map<std::string, std::string> norm_values(const std::string& norm,
                                               const std::vector<NormOption>& options);
std::string options_text(const std::vector<NormOption>& options);           // "groups=32, eps=1e-5"
// pre_pooler or pooled: `place` itself, or for per_method the norm's own
ClsPlace cls_norm_place(const std::string& norm, ClsPlace place);

// The option eps of norms whose default is layer_norm_eps of config.json.
inline const NormOption layer_norm_eps = {
    .name = "eps", .in_config = true, .source = "layer_norm_eps"};

// h in the forward pass. Backward: g' = g * (theta / (mu + eps theta))^alpha for each dimension, mu
// the mean of |g| over the batch, theta the mean of mu [TA sec.4.3]. With --accumulate, over each
// batch by itself.
Tensor normalize_gradient(const Tensor& h, double alpha, double eps = 1e-5);

}  // namespace minbert
