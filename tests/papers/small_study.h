// A document's program on the small world: GLUE's files, and what is read of its report.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "minbert/json.h"
#include "papers/document_options.h"
#include "renamed.h"
#include "small_run.h"

namespace minbert::test {

// Rows of four words with labels 0 1 0 1 ...: 24 to learn from, 8 to develop on. SST-2 has one text, QNLI a pair, and
// STS-B a pair whose score is 0 to 4.
inline void write_glue(const SmallWorld& world, const std::string& name = "SST-2") {
  std::filesystem::create_directories(world.path("glue/" + name));
  Random random(3, "rows");
  const auto text = [&] {
    std::string line;
    const std::vector<std::string> words = {"good", "bad", "fine", "dull", "film", "plot"};
    for (int w = 0; w < 4; ++w) line += words[random.below(words.size())] + (w < 3 ? " " : "");
    return line;
  };
  for (const auto& [split, rows] : {std::pair("train", 24), std::pair("dev", 8)}) {
    std::string file = name == "SST-2"  ? "sentence\tlabel\n"
                       : name == "QNLI" ? "index\tquestion\tsentence\tlabel\n"
                                        : "index\tsentence1\tsentence2\tscore\n";
    for (int i = 0; i < rows; ++i) {
      if (name != "SST-2") file += std::to_string(i) + "\t" + text() + "\t";
      file += text() + "\t";
      if (name == "QNLI") file += i % 2 ? "not_entailment\n" : "entailment\n";
      else file += std::to_string(name == "SST-2" ? i % 2 : i % 5) + "\n";
    }
    write_file(world.path(formatted("glue/{}/{}.tsv", name, split)), file);
  }
}

// Gives the small model a bias of the head for next sentences, by which it counts as pre-trained.
inline void add_pretraining_head(const SmallWorld& world) {
  const std::string file = world.path("start/model.safetensors"), head = "cls.seq_relationship.bias";
  Renamed all(file, [&](const std::string& name) { return name == head ? "" : name; });
  const std::vector<real> bias(2);
  all.writer.add(head, {2}, bias);
  all.writer.write(file);
}

// The options of a document's program, for the small model, glue/ and the folder study/.
template <class Options>
Options small_study(const SmallWorld& world, const std::string& tasks) {
  Options o;
  add_pretraining_head(world);
  o.model = world.path("start");
  o.data = world.path("glue");
  o.out = world.path("study");
  o.tasks = tasks;
  o.max_length = 16;
  o.limit = 0;
  o.seeds = 2;
  o.epochs = 1;
  return o;
}

inline Json item_of(const Json& report, const std::string& name) {
  for (const Json& item : report["items"].items())
    if (item["name"].string() == name) return item;
  FAIL("no item ", name);
  return report;
}

// Of study/NAME.csv: its rows, and the value of the row that begins so.
inline size_t rows_of(const SmallWorld& world, const std::string& name) {
  return csv(world.path("study/" + name + ".csv")).size() - 1;
}
inline double value_in(const SmallWorld& world, const std::string& name,
                       const std::vector<std::string>& begin) {
  for (const auto& row : csv(world.path("study/" + name + ".csv")))
    if (std::equal(begin.begin(), begin.end(), row.begin())) return std::stod(row.back());
  FAIL("no row begins with ", begin[0]);
  return 0;
}

// What the run whose folder begins so recorded of a site: the mean of the last quarter of its steps.
inline double recorded_end(const SmallWorld& world, const std::string& run, const std::string& site,
                           const std::string& what) {
  std::vector<double> values;
  for (const auto& folder : std::filesystem::directory_iterator(world.path("study/runs")))
    if (folder.path().filename().string().starts_with(run))
      for (const auto& row : csv(folder.path().string() + "/sites.csv"))
        if (row[2] == site && row[3] == what) values.push_back(std::stod(row[4]));
  REQUIRE(values.size() > 0);
  double sum = 0, n = 0;
  for (size_t i = values.size() * 3 / 4; i < values.size(); ++i) sum += values[i], ++n;
  return sum / n;
}

inline size_t run_folders(const SmallWorld& world) {
  return size_t(std::distance(std::filesystem::directory_iterator(world.path("study/runs")), {}));
}

}  // namespace minbert::test
