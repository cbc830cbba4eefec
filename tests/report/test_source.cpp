// Quotes of the sources stand where they say, whole, and with what belongs to them.
#include <doctest/doctest.h>

#include <algorithm>

#include "report/source.h"

namespace minbert::test {

TEST_CASE("source: a definition is found by its name, and quoted with its comment, to its closing brace") {
  const std::string file = "src/norm/hidden/layer.cpp";
  const int line = defining_line(file, "composed");
  const Quote method = quote(file, line);
  CHECK(method.first < line);                                                 // a comment above belongs to it
  CHECK(method.text.starts_with("// "));                                      // a method's indentation is left out
  CHECK(method.text.find("\nTensor composed(const Tensor& x") != std::string::npos);
  CHECK(method.text.ends_with("\n}\n"));
  CHECK(std::ranges::count(method.text, '\n') == 7);
  CHECK(quote_around(file, line).text.starts_with("struct PlainLayerNorm"));
  CHECK(quote_around(file, line).text.ends_with("\n};\n"));
  CHECK(quote(file, defining_line(file, "PlainLayerNorm")).text == quote_around(file, line).text);

  const std::string attention = "src/ops/attention.cpp";
  const Quote lambda = quote(attention, defining_line(attention, "const auto attend"));
  CHECK(lambda.text.starts_with("// P = softmax(Q K^T / sqrt(d))"));
  CHECK(lambda.first < defining_line(attention, "const auto attend"));
  CHECK(lambda.text.ends_with("};\n"));
  const std::string elementwise = "src/ops/elementwise.cpp";
  const Quote one_line = quote(elementwise, defining_line(elementwise, "gelu"));
  CHECK(one_line.text == "Tensor gelu(const Tensor& x) { return elementwise<Gelu>(\"gelu\", x); }\n");
}

TEST_CASE("source: the innermost function around a line, whatever branches and loops stand in it") {
  const std::string plain = "examples/plain_bert.cpp";
  const Quote layer = quote_function(plain, defining_line(plain, "const Tensor F = dropout"));
  CHECK(layer.text.starts_with("// a = Norm(x + A(x))"));
  CHECK(layer.text.find("\nTensor layer(const std::string& name") != std::string::npos);
  const Quote attention = quote_function(plain, defining_line(plain, "const Tensor S = matmul_nt"));
  CHECK(attention.text.find("\nTensor attention(") != std::string::npos);
  CHECK(quote_function(plain, 1).text.empty());
}

TEST_CASE("source: what is not there has no line and no text") {
  CHECK(defining_line("src/norm/hidden/layer.cpp", "decomposed") == 0);
  CHECK(defining_line("src/norm/hidden/layer.cpp", "layer_norm") == 0);       // used there, and defined elsewhere
  CHECK(defining_line("src/norm/hidden/lost.cpp", "composed") == 0);
  CHECK(quote("src/norm/hidden/lost.cpp", 3).text.empty());
  CHECK(quote_around("src/norm/hidden/layer.cpp", 100000).text.empty());
  CHECK(quote("src/norm/hidden/layer.cpp", 0).text.empty());
}

}  // namespace minbert::test
