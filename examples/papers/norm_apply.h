// One normalization on the tensors of a file, so that anyone can hold it against another framework
// or an author's code.
//
// Input, a safetensors file: S training steps of N rows, between which parameters do not change
//   x, dy [S,N,H]                       dy: dL/dy, the gradient from above
//   offsets [B+1]   tasks [B]   of --norm, I64: sentence b is rows offsets[b] .. offsets[b+1]-1 of
//                               every step. Without offsets every row is a sentence; for instance
//                               and group-sentence the N rows are one. Without tasks
//                               conditional-layer is plain LayerNorm.
//   fit [M,H]                   the set from which z, min-max, l2 and whitening take statistics
//   weight, bias [H]   task_weight, task_bias [tasks,H]       missing: as in a new norm
// Output
//   y, dx [S,N,H]               of every step, in training mode
//   y_eval [N,H]                after them: the last step's x in evaluation mode
//   d.NAME                      the gradient of parameter NAME, summed over the steps
//   NAME                        every buffer as it is in the end: running_mean, covariance, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace minbert {

struct NormApplyOptions {
  // One of norms() or cls_norms() with its options, or
  std::string norm = {}, cls_norm = {};
  // Gradient normalization of this strength: one of the three
  std::optional<double> grad_norm = {};
};

struct NormApplyReport {
  int64_t steps, rows, hidden;
  // Tensors of the input that this norm has no use for
  std::vector<std::string> unused;
  std::vector<std::string> initial;                 // parameters that were not in the input
};

// Error: a file that does not have the tensors above, an option that the norm does not have.
NormApplyReport apply_norm(const NormApplyOptions& options, const std::string& input,
                           const std::string& output);

}  // namespace minbert
