// The shipped encoder, data/mini/bert: it is whole, and it knows its world. The generated sets beside it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "golden_file.h"
#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/dataset.h"
#include "tasks/corpus.h"

namespace minbert::test {

TEST_CASE("mini: the shipped encoder is a whole Hugging Face folder of a few MB, and knows its world") {
  const std::string folder = repository("data/mini");
  CHECK(std::filesystem::file_size(folder + "/bert/model.safetensors") < 4'000'000);
  CHECK(SafeTensors(folder + "/bert/model.safetensors").entry("cls.predictions.bias").type == "F16");
  const Tokenizer tokenizer = Tokenizer::from_folder(folder + "/bert");
  BertForPreTraining network(BertConfig::load(folder + "/bert/config.json"));
  network.train(false);
  Parameters parameters(network, {.initialise = false});
  const WeightsReport report = load_weights(folder + "/bert", parameters);
  CHECK(report.initialised.empty());
  CHECK(report.unused.empty());

  const Corpus corpus({folder + "/corpus.txt"});
  // Documents that it never saw: pre-training held out these and others.
  const PretrainingData data(corpus, tokenizer, {.max_length = 64, .page = 4, .held_out = 0.004});
  const std::vector<PretrainingExample> examples = data.held_out();
  REQUIRE(examples.size() > 40);
  const PretrainingBatch batch = pack(examples);
  const NoGrad no_tape;
  const PretrainingOutput out = network.forward(batch.batch, batch.masked, batch.originals);
  CHECK(double(out.mlm_loss.item()) < 0.4 * data.unigram_entropy(examples));
  int right = 0;
  for (int64_t b = 0; b < batch.not_next.size(); ++b)
    right += (out.nsp_logits.data()[2 * b + 1] > out.nsp_logits.data()[2 * b]) == (batch.not_next[b] == 1);
  CHECK(double(right) > 0.85 * double(batch.not_next.size()));
}

TEST_CASE("mini: QNLI and MNLI are whole, and no single word gives a label away") {
  const std::string folder = repository("data/mini");
  const Tokenizer tokenizer = Tokenizer::from_folder(folder + "/bert");
  for (const Task& task : parse_tasks("qnli,mnli", "", "")) {
    std::ostringstream log;                          // of skipped rows
    const DatasetOptions options{.pairs = Pairs::siamese};
    const auto read = [&](Split split, size_t set) {
      return read_set(folder + "/glue", task, split, set, tokenizer, options, log).examples;
    };
    for (size_t set = 0; set < files_in(folder + "/glue", task).dev.size(); ++set) {
      CHECK(read(Split::dev, set).size() == 500);
      CHECK(read(Split::test, set).size() == 500);
    }
    const std::vector<Example> train = read(Split::train, 0);
    CHECK(train.size() == 5000);
    CHECK(log.str() == "");
    std::map<std::pair<size_t, int32_t>, std::map<double, int>> labels;   // of the rows with a piece in text 1 or 2
    for (const Example& e : train)
      for (size_t side = 0; side < 2; ++side)
        for (const int32_t id : std::set<int32_t>(e.inputs[side].ids.begin(), e.inputs[side].ids.end()))
          ++labels[{side, id}][e.label];
    for (const auto& [place, counts] : labels) {
      INFO(task.name, ", text ", place.first + 1, ": ", tokenizer.token(place.second));
      CHECK(place.second != tokenizer.unk());
      int rows = 0, most = 0;
      for (const auto& [label, count] : counts) {
        rows += count;
        most = std::max(most, count);
      }
      if (rows >= 150) CHECK(most < 0.7 * rows);
    }
  }
}

}  // namespace minbert::test
