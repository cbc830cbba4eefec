// Empirical Fisher information of every parameter, from the gradients of single examples.
//
//   Paper     LayerNorm: a key component in parameter-efficient fine-tuning
//   Equation  F(ω_i) = 1/N Σ_j (∂ log p(y_j|x_j; ω) / ∂ω_i)²                   [LN-PEFT eq.2]
//   Letters   ω_i an element of a parameter; x_j, y_j the j-th of N examples and its own label
//   log p     classes: the log-probability of the label; a score: that of a normal distribution
//             with the network's output as mean and variance 1, log p = -(y - f(x))²/2 + constant
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "minbert/model.h"

namespace minbert {

// A number for each element of a parameter, under the parameter's name.
using ElementValues = std::map<std::string, std::vector<double>>;

// F of every parameter that learns, without dropout; the network stays in evaluation. examples:
// indices into data. Throws Interrupted. Errors: no example; a task that the network has no head
// for.
ElementValues fisher_information(MultitaskBert& network, const Parameters& parameters,
                                 const Task& task, const Dataset& data,
                                 std::span<const int32_t> examples);

}  // namespace minbert
