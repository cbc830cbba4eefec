// Sequences of token ids, from one text or two.
#include "minbert/tokenizer.h"

#include <algorithm>

namespace minbert {

Sequence build_sequence(const Tokenizer& tokenizer, std::span<const int32_t> a,
                        std::optional<std::span<const int32_t>> b, int max_length,
                        bool* truncated) {
  const int special = tokenizer.special_tokens(b.has_value());
  MB_CHECK(max_length >= special, "max_length is {}; the special tokens alone take {}", max_length,
           special);
  const size_t room = size_t(max_length - special);
  size_t length_a = a.size(), length_b = b ? b->size() : 0;
  const bool cut = length_a + length_b > room;
  if (cut) {
    size_t& longer = length_a > length_b ? length_a : length_b;
    size_t& shorter = length_a > length_b ? length_b : length_a;
    shorter = std::min(shorter, room / 2);
    longer = room - shorter;
  }
  if (truncated) *truncated = cut;

  Sequence sequence;
  const auto append = [&](std::span<const int32_t> ids, int32_t segment) {
    sequence.ids.insert(sequence.ids.end(), ids.begin(), ids.end());
    sequence.ids.push_back(tokenizer.sep());
    sequence.segments.resize(sequence.ids.size(), segment);
  };
  sequence.ids.push_back(tokenizer.cls());
  append(a.first(length_a), 0);
  if (b) {
    const TokenizerKind& kind = tokenizer.kind();
    for (int i = 1; i < kind.separators; ++i) sequence.ids.push_back(tokenizer.sep());
    append(b->first(length_b), kind.second_segment);
  }
  return sequence;
}

Sequence build_sequence(const Tokenizer& tokenizer, std::string_view line, int max_length,
                        bool* truncated) {
  const size_t tab = line.find('\t');
  const std::vector<int32_t> a = tokenizer.encode(line.substr(0, tab));
  if (tab == line.npos) return build_sequence(tokenizer, a, std::nullopt, max_length, truncated);
  return build_sequence(tokenizer, a, tokenizer.encode(line.substr(tab + 1)), max_length,
                        truncated);
}

}  // namespace minbert
