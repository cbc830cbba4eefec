// MathML, as data/papers has it: elements, and what a letter is.
#pragma once

#include <string>
#include <vector>

namespace minbert {

std::vector<std::string> mathml_elements();          // those that pages have: "mi", "mo", ...

// A node of MathML: <mi>γ</mi> is {"mi", "γ"}.
struct Math {
  std::string name, attributes, text;
  std::vector<Math> parts;
  // As a letter: "γ_t" of <msub>, "h^l" of <msup>, "x̂" of <mover>, "ρ_ij"; "" for what can be none.
  std::string letter() const;
};
Math math_of(const std::string& mathml);            // parts: what stands in a line
std::string text_of(const Math& math);              // "(x - μ) / √(σ² + ε)"

}  // namespace minbert
