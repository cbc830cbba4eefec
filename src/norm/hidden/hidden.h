// What the files of this folder offer to the table of norms, and what their composed forms share.
#pragma once

#include "minbert/norm.h"

namespace minbert {

std::unique_ptr<Norm> make_none(const NormOptions& options);
std::unique_ptr<Norm> make_layer(const NormOptions& options);
std::unique_ptr<Norm> make_layer_simple(const NormOptions& options);
std::unique_ptr<Norm> make_variance_only(const NormOptions& options);
std::unique_ptr<Norm> make_rms(const NormOptions& options);
std::unique_ptr<Norm> make_conditional_layer(const NormOptions& options);
std::unique_ptr<Norm> make_batch(const NormOptions& options);
std::unique_ptr<Norm> make_power(const NormOptions& options);
std::unique_ptr<Norm> make_group(const NormOptions& options);
std::unique_ptr<Norm> make_group_sentence(const NormOptions& options);
std::unique_ptr<Norm> make_instance(const NormOptions& options);

// epsilon of LayerNorm and its kin, and of the others
inline double layer_eps(const NormOptions& o) { return o.eps.value_or(o.layer_norm_eps); }
inline double own_eps(const NormOptions& o) { return o.eps.value_or(1e-5); }

int64_t groups_of(const NormOptions& options);      // Error where the channels do not part into so many

// 1/√(v+ε) = exp(-½ log(v+ε)), in elementary operations
Tensor inverse_root_composed(const Tensor& variance, double eps);

}  // namespace minbert
