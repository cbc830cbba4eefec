// Sequences, and batches: sequences laid end to end, with the offset of each.
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

Batch pack(std::span<const Sequence> sequences, Indices task) {
  MB_CHECK(!sequences.empty(), "pack: a batch needs at least one sequence");
  std::vector<int32_t> ids, segments, positions, offsets = {0}, sentence;
  for (const Sequence& s : sequences) {
    const int32_t b = int32_t(offsets.size()) - 1;
    MB_CHECK(!s.ids.empty(), "pack: sequence {} of the batch is empty", b);
    MB_CHECK(s.segments.size() == s.ids.size(), "pack: sequence {} has {} ids but {} segments", b,
             s.ids.size(), s.segments.size());
    ids.insert(ids.end(), s.ids.begin(), s.ids.end());
    segments.insert(segments.end(), s.segments.begin(), s.segments.end());
    for (size_t i = 0; i < s.ids.size(); ++i) positions.push_back(int32_t(i));
    sentence.insert(sentence.end(), s.ids.size(), b);
    offsets.push_back(int32_t(ids.size()));
  }
  const size_t count = sequences.size();
  if (task.size() == 1) task = Indices(std::vector<int32_t>(count, task[0]));
  MB_CHECK(!task || task.size() == int64_t(count), "pack: {} task ids for {} sequences",
           task.size(), count);
  std::vector<int32_t> row_task;
  for (size_t row = 0; task && row < sentence.size(); ++row)
    row_task.push_back(task[sentence[row]]);
  return {.ids = std::move(ids), .segments = std::move(segments), .positions = std::move(positions),
          .offsets = std::move(offsets), .sentence = std::move(sentence), .task = task,
          .row_task = task ? Indices(std::move(row_task)) : Indices()};
}

}  // namespace minbert
