// The base class of the norms of [CLS] with statistics of a set: z, min-max, l2 and whitening.
#pragma once

#include "norm/entries.h"

namespace minbert {

// forward() fails as long as there are no statistics.
class FittedNorm : public Norm {
 public:
  FittedNorm(const char* name, const NormOptions& o);
  bool wants_set() const override { return true; }
  void fit(const Tensor& h) final;
  void finish_fit() final;

 protected:
  virtual void add(const Tensor& h) = 0;    // one more batch
  virtual void finish() = 0;                // writes the buffers; the next add() begins another set
  virtual Tensor normalize(const Tensor& h) const = 0;
  Tensor forward(const Tensor& h, const Batch&) const final;
  Tensor statistic(const char* name);       // a buffer [H]
  // Writes what the set's rows have summed up to, and sets it back to its start, for another set.
  static void store(std::vector<double>& sums, const Tensor& statistic, double start = 0);
  const int64_t hidden_;
  int64_t rows_ = 0;                        // of the set so far

 private:
  const char* name_;
  Tensor count_;                            // [1] rows of the set; 0: there are no statistics
  mutable bool fitted_ = false;             // count_ was above 0: it need not be read again
};

inline constexpr const char* over_training_set = "the training set, by dimension";
inline constexpr const char* one_pass = "one pass over the training set";

}  // namespace minbert
