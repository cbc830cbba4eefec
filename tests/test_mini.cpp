// The shipped encoder, data/mini/bert: it is whole, and it knows its world.
#include <doctest/doctest.h>

#include <filesystem>

#include "minbert/bert.h"
#include "minbert/corpus.h"
#include "minbert/huggingface.h"

namespace minbert::test {

TEST_CASE("mini: the shipped encoder is a whole Hugging Face folder of a few MB, and knows its world") {
  const std::string folder = (std::filesystem::path(__FILE__).parent_path().parent_path() / "data/mini").string();
  CHECK(std::filesystem::file_size(folder + "/bert/model.safetensors") < 4'000'000);
  CHECK(SafeTensors(folder + "/bert/model.safetensors").entry("cls.predictions.bias").type == "F16");
  const Tokenizer tokenizer = Tokenizer::from_folder(folder + "/bert");
  BertForPreTraining network(BertConfig::load(folder + "/bert/config.json"));
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

}  // namespace minbert::test
