// Normalizations of [CLS], and of its gradient: one file each in src/norm/cls, one line each in the table of
// src/norm/cls/cls_norm.cpp.
//
//   h [B,H]   one row a sentence: h^l, the last hidden state of its [CLS], or what the pooler makes of it
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "minbert/module.h"
#include "minbert/ops.h"

namespace minbert {

class ClsNorm : public Module {
 public:
  virtual Tensor forward(const Tensor& h) const = 0;             // [B,H] -> [B,H]

  // Those that take their statistics from a set, once [TA sec.4.2]: fit() with every batch of the set, then
  // finish_fit(). The statistics are buffers: saved with the model, loaded with it. Another fit() begins another set.
  virtual bool wants_set() const { return false; }
  virtual void fit(const Tensor& h);                // Error for those that take none, and for a NaN in h
  virtual void finish_fit();
};

// What z, min-max, l2 and whitening have in common. forward() is an error while there are no statistics.
class FittedClsNorm : public ClsNorm {
 public:
  FittedClsNorm(std::string name, int64_t hidden);
  bool wants_set() const override { return true; }
  void fit(const Tensor& h) final;
  void finish_fit() final;
  Tensor forward(const Tensor& h) const final;

 protected:
  virtual void add(const Tensor& h) = 0;            // one more batch
  virtual void finish() = 0;                        // writes the buffers, and is ready for another set
  virtual Tensor normalize(const Tensor& h) const = 0;
  int64_t hidden() const { return hidden_; }
  int64_t rows() const { return rows_; }            // of the set so far

 private:
  std::string name_;
  int64_t hidden_, rows_ = 0;
  Tensor* count_;                                   // [1] rows of the set; 0: there are no statistics
  mutable bool fitted_ = false;                     // count_ is known not to be 0, without asking the device again
};

// y = (x - mu) / (sigma + eps)                                                [TA eq.2]
class ZNorm : public FittedClsNorm {
 public:
  ZNorm(int64_t hidden, double eps);

 private:
  void add(const Tensor& h) override;
  void finish() override;
  Tensor normalize(const Tensor& h) const override;
  double eps_;
  Tensor *mean_, *deviation_;                       // [H]
  std::vector<double> mu_, squares_;                // of the set so far: the mean, and sum (x - mu)^2
};

// y = (2x - theta_1 - theta_2) / (theta_2 - theta_1 + eps)                    [TA eq.3]
class MinMaxNorm : public FittedClsNorm {
 public:
  MinMaxNorm(int64_t hidden, double eps);

 private:
  void add(const Tensor& h) override;
  void finish() override;
  Tensor normalize(const Tensor& h) const override;
  double eps_;
  Tensor *least_, *most_;                           // [H]
  std::vector<real> theta1_, theta2_;               // of the set so far
};

// y = x / (delta + eps), delta the root of the mean square of each dimension  [TA eq.4]
class L2Norm : public FittedClsNorm {
 public:
  L2Norm(int64_t hidden, double eps);

 private:
  void add(const Tensor& h) override;
  void finish() override;
  Tensor normalize(const Tensor& h) const override;
  double eps_;
  Tensor* root_mean_square_;                        // [H]
  std::vector<double> squares_;
};

// y = (h - mu) / sqrt(sigma^2 + eps) * gamma + beta, of the batch; evaluation by running statistics  [IsoBN eq.2]
class ClsBatchNorm : public ClsNorm {
 public:
  ClsBatchNorm(int64_t hidden, double momentum, double eps);
  Tensor forward(const Tensor& h) const override;

 private:
  double momentum_, eps_;
  Tensor *weight_, *bias_, *mean_, *variance_;      // [H]
};

class Covariance;                                   // src/norm/cls/covariance.h

// y = Sigma^(-1/2) (h - mu), Sigma shrunk towards a multiple of I             [IsoBN eq.1]
class Whitening : public FittedClsNorm {
 public:
  Whitening(int64_t hidden, double shrinkage);
  ~Whitening() override;

 private:
  void add(const Tensor& h) override;
  void finish() override;
  Tensor normalize(const Tensor& h) const override;
  double shrinkage_;
  Tensor *mean_, *matrix_;                          // [H], [H,H]
  std::unique_ptr<Covariance> set_;
};

// h-hat = theta-bar * h, theta from moving statistics; no gradient passes through them  [IsoBN eq.4-8] [IsoBN alg.1]
class IsoBatchNorm : public ClsNorm {
 public:
  struct Preset {
    const char* name;
    double momentum, eps, beta;
    bool zero_start;                                // false: the first batch is the first moving statistics
    bool own_sigma;                                 // sigma moves by itself; false: it is the root of Sigma's diagonal
    bool own_variances;                             // eq.7 takes its variances from that sigma; false: from Sigma
    bool clamp;                                     // rho to [-1,1]
    bool mean;                                      // gamma is the mean of rho^2; false: the sum
    bool root;                                      // of eq.7's quotient
    double quotient_eps;                            // added to eq.7's denominator
  };
  static const std::vector<Preset>& presets();      // ours, paper, authors
  IsoBatchNorm(int64_t hidden, const Preset& preset);
  Tensor forward(const Tensor& h) const override;

 private:
  void update(const Tensor& h) const;
  Tensor theta_bar() const;                         // [H]
  Preset p_;
  bool has_seen_a_batch() const;
  Tensor *covariance_, *deviation_, *count_;        // [H,H], [H] where own_sigma, [1] batches so far
  mutable bool seen_ = false;
};

// h in the forward pass. Backward: g' = g * (theta / (mu + eps theta))^alpha for each dimension, mu the mean of |g|
// over the batch, theta the mean of mu [TA sec.4.3]. All of a batch: under accumulation each part has its own.
Tensor normalize_gradient(const Tensor& h, double alpha, double eps = 1e-5);

// ---- the table --------------------------------------------------------------------------------------------
struct ClsNormEntry {
  const char *name, *formula, *paper;               // name: as --cls-norm takes it
  const char *over;                                 // what it normalizes over
  bool couples_batch;                               // a sentence's result in training depends on the others'
  const char *statistics;                           // where those come from that evaluation uses
  const char *parameters;                           // how many it learns
  const char *place;                                // pre-pooler or pooled, where --cls-norm-at does not say
};
struct ClsNormOptions {
  int64_t hidden;
  std::optional<double> eps = {}, momentum = {}, beta = {}, shrinkage = {};   // none: the method's own
  std::string preset = "ours";                      // of iso-bn
};
const std::vector<ClsNormEntry>& cls_norm_table();
std::string cls_norm_help();                        // the table as text, for --cls-norm help
std::unique_ptr<ClsNorm> make_cls_norm(const std::string& name, const ClsNormOptions& options);   // Error lists all
// pre-pooler or pooled: `at` itself, or for "per-method" where the norm belongs
std::string cls_norm_place(const std::string& name, const std::string& at);

}  // namespace minbert
