// The base class of the norms of [CLS] with statistics of a set: z, min-max, l2 and whitening.
#pragma once

#include "minbert/cls_norm.h"

namespace minbert {

// forward() fails as long as there are no statistics.
class FittedClsNorm : public ClsNorm {
 public:
  FittedClsNorm(const char* name, int64_t hidden);
  bool wants_set() const override { return true; }
  void fit(const Tensor& h) final;
  void finish_fit() final;

 protected:
  virtual void add(const Tensor& h) = 0;    // one more batch
  virtual void finish() = 0;                // writes the buffers; the next add() begins another set
  virtual Tensor normalize(const Tensor& h) const = 0;
  Tensor forward(const Tensor& h) const final;
  int64_t hidden() const { return hidden_; }
  int64_t rows() const { return rows_; }    // of the set so far

 private:
  const char* name_;
  int64_t hidden_, rows_ = 0;
  Tensor count_;                                  // [1] rows of the set; 0: there are no statistics
  mutable bool fitted_ = false;                   // count_ was above 0: it need not be read again
};

inline constexpr const char* over_training_set = "each dimension, over the training set";
inline constexpr const char* one_pass = "one pass over the training set";

}  // namespace minbert
