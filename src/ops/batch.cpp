// Some rows of a batch.
#include "minbert/batch.h"

namespace minbert {

Batch select_rows(const Batch& batch, const Indices& rows) {
  const auto select = [&](const Indices& list) {
    std::vector<int32_t> selected;
    for (const int32_t row : rows)
      if (list) selected.push_back(list[row]);
    return list ? Indices(std::move(selected)) : Indices();
  };
  return {.ids = select(batch.ids), .segments = select(batch.segments),
          .positions = select(batch.positions), .sentence = select(batch.sentence),
          .row_task = select(batch.row_task)};
}

}  // namespace minbert
