// A pass over examples, batch by batch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace minbert {

// Visits examples in their order, at most so many at a time, without a tape, and shows how far it
// is. Throws Interrupted where this rank or another was asked to stop; visit must not exchange
// anything with other ranks.
using VisitBatch = std::function<void(std::span<const int32_t> examples)>;
void for_each_batch(const std::string& what, std::span<const int32_t> examples,
                    const VisitBatch& visit, size_t at_a_time = 64);
// The same of the examples 0 .. count-1.
void for_each_batch(const std::string& what, size_t count, const VisitBatch& visit,
                    size_t at_a_time = 64);

}  // namespace minbert
