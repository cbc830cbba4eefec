// The yardstick: what single words decide it learns, what their order decides it cannot.
#include <doctest/doctest.h>

#include <algorithm>
#include <type_traits>

#include "minbert/random.h"
#include "runs/bag_of_words.h"
#include "task_files.h"

namespace minbert::test {
namespace {

using Ids = std::vector<int32_t>;

// rows of four pieces; `label` reads them.
template <class Label>
Dataset sentences(int rows, const std::string& stream, const Label& label) {
  Random random(5, stream);
  Dataset data{stream, {}};
  for (int i = 0; i < rows; ++i) {
    Sequence s{{2}, {}};
    for (int k = 0; k < 4; ++k) s.ids.push_back(5 + int32_t(random.below(15)));
    s.segments.resize(s.ids.size());
    data.examples.push_back({std::to_string(i), label(s.ids), {s}});
  }
  return data;
}

// Of two sentences; `label` reads both.
template <class Label>
Dataset pairs(int rows, const std::string& stream, const Label& label) {
  const auto nothing = [](const Ids&) { return 0.0; };
  Dataset a = sentences(rows, stream + "/a", nothing);
  const Dataset b = sentences(rows, stream + "/b", nothing);
  Random random(5, stream);
  for (size_t i = 0; i < a.examples.size(); ++i) {
    Example& e = a.examples[i];
    e.inputs.push_back(random.below(2) ? e.inputs[0] : b.examples[i].inputs[0]);
    e.label = label(e.inputs[0].ids, e.inputs[1].ids);
  }
  return a;
}

template <class Label>
double dev_score(const char* name, const Label& label) {
  const Task& task = task_named(name);
  const auto make = [&](int rows, const std::string& stream) {
    if constexpr (std::is_invocable_v<Label, Ids, Ids>) return pairs(rows, stream, label);
    else return sentences(rows, stream, label);
  };
  return bag_of_words(task, {make(600, "train"), {make(300, "dev")}}, 20, 1).dev.at(0).value_or(-2);
}

}  // namespace

TEST_CASE("bag of words: single words that decide are learnt to the last example") {
  const auto any_good = [](const Ids& ids) { return double(std::ranges::count(ids, 7) > 0); };
  CHECK(dev_score("sst2", any_good) == 1);

  // Whether two sentences are the same is a question of |a-b|.
  const auto same = [](const Ids& a, const Ids& b) { return double(a == b); };
  CHECK(dev_score("quora", same) == 1);

  // A similarity that is linear in shared pieces.
  const auto shared = [](const Ids& a, const Ids& b) {
    double count = 0;
    for (int32_t w = 5; w < 20; ++w) count += double(std::min(std::ranges::count(a, w), std::ranges::count(b, w)));
    return count;
  };
  CHECK(dev_score("sts", shared) > 0.99);
}

TEST_CASE("bag of words: order alone is out of its reach") {
  // Is the first piece smaller than the last, or the second smaller than the third, but not both?
  const auto order = [](const Ids& ids) {
    return double((ids[1] < ids[4]) != (ids[2] < ids[3]));
  };
  CHECK(dev_score("sst2", order) < 0.65);      // chance .5, deviation .029, the best of many tries
}

}  // namespace minbert::test
