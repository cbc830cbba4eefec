// Some rows of a batch.
#include "minbert/batch.h"

namespace minbert {

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
