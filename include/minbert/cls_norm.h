// Normalizations of [CLS], and of its gradient. Each is one file of src/norm/cls: its class, its
// equation, its options and its entry in the table; src/norm/cls/cls_norm.cpp lists them, one line
// each.
//
//   h [B,H]   one row for each sentence: h^l, the last hidden state of its [CLS], or the pooler's
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "minbert/module.h"
#include "minbert/norm_options.h"
#include "minbert/ops.h"

namespace minbert {

class ClsNorm : public Module {
 public:
  Tensor operator()(const Tensor& h) const {                     // [B,H] -> [B,H]
    const Scope scope(path());
    return forward(h);
  }
  // Norms with wants_set() take their statistics from a set, once [TA sec.4.2]: call fit() with
  // every batch of the set, then finish_fit(). The statistics are buffers, saved and loaded with
  // the model. A later fit() begins another set.
  virtual bool wants_set() const { return false; }
  virtual void fit(const Tensor& h);            // Error if wants_set() is false, and for a NaN in h
  virtual void finish_fit();

 protected:
  virtual Tensor forward(const Tensor& h) const = 0;
};

// h in the forward pass. Backward: g' = g * (theta / (mu + eps theta))^alpha for each dimension, mu
// the mean of |g| over the batch, theta the mean of mu [TA sec.4.3]. With --accumulate, over each
// batch by itself.
Tensor normalize_gradient(const Tensor& h, double alpha, double eps = 1e-5);

struct ClsNormEntry {
  const char *name, *formula, *paper;         // name: as --cls-norm takes it
  const char* over;                           // the elements of one mean
  bool couples_batch = false;                 // in training, sentences of a batch affect each other
  const char* statistics;                     // the source of the statistics in evaluation
  const char* parameters;                     // their number
  const char* place;                          // pre-pooler or pooled, unless --cls-norm-at says
  std::vector<NormOption> options = {};
  std::unique_ptr<ClsNorm> (*make)(const NormOptions&);
};
template <class N>
std::unique_ptr<ClsNorm> new_cls_norm(const NormOptions& o) {      // for ClsNormEntry::make
  return std::make_unique<N>(o);
}
const std::vector<ClsNormEntry>& cls_norm_table();
// By its name. Error lists the valid names
const ClsNormEntry& find_cls_norm(const std::string& norm);
std::string cls_norm_help();                  // the table as text, for --cls-norm help
void check_cls_norm(const std::string& norm);   // Error for a name or an option that does not exist
// norm: a name of the table, with options or without: "iso-bn:beta=1". Errors as check_cls_norm.
std::unique_ptr<ClsNorm> make_cls_norm(const std::string& norm, NormOptions options);
// Where a norm of [CLS] stands: h is the encoder's [CLS], or the pooler's.
inline const std::vector<std::string> cls_norm_places = {"per-method", "pre-pooler", "pooled"};
// pre-pooler or pooled: `place` itself, or for "per-method" the norm's own
std::string cls_norm_place(const std::string& norm, const std::string& place);

}  // namespace minbert
