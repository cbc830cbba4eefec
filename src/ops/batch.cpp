// Batches: sequences laid end to end, with the offset of each.
#include "minbert/batch.h"

namespace minbert {

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

Batch select_rows(const Batch& batch, const Indices& rows) {
  const auto select = [&](const Indices& list) {
    if (!list) return Indices();
    std::vector<int32_t> selected;
    for (const int32_t row : rows) {
      MB_CHECK(row >= 0 && row < list.size(), "select_rows: row {} is outside of 0..{}", row,
               list.size() - 1);
      selected.push_back(list[row]);
    }
    return Indices(std::move(selected));
  };
  return {.ids = select(batch.ids), .segments = select(batch.segments),
          .positions = select(batch.positions), .sentence = select(batch.sentence),
          .row_task = select(batch.row_task)};
}

}  // namespace minbert
