// The sentences, their vocabulary and the network that reads them.
#include <algorithm>

#include "papers/nt/transformer_norms.h"

namespace minbert {

namespace {

// The other split's report of the same file: a row that both skipped counts once.
void add(LoadReport& report, const LoadReport& other) {
  for (const SkippedRow& row : other.skipped)
    if (std::ranges::find(report.skipped, row.line, &SkippedRow::line) == report.skipped.end())
      report.skipped.push_back(row);
  std::ranges::sort(report.skipped, {}, &SkippedRow::line);
  report.taken += other.taken;
  report.truncated += other.truncated;
}

}  // namespace

NtData read_nt_data(const NtOptions& o, const std::string& vocab_file) {
  NtData data{parse_tasks(o.tasks)[0], Tokenizer::from_vocab(vocab_file), {}, {}, 0, 0, 0, {}};
  const auto read = [&](Split split, LoadReport& report) {
    DatasetOptions reading = o.dataset_options(o.max_length);
    reading.split = split;
    return load_dataset(data.task, data_file(o.data, data.task, split), data.tokenizer, reading, report);
  };
  LoadReport of_dev;
  data.train = read(Split::train, data.read);
  data.dev = read(Split::dev, of_dev);
  add(data.read, of_dev);
  const auto counts_of = [&](const Dataset& set) {
    std::vector<int64_t> counts(size_t(data.task.outputs()));
    for (const Example& e : set.examples) ++counts.at(size_t(e.label));
    return counts;
  };
  const std::vector<int64_t> counts = counts_of(data.train);
  data.entropy = entropy_of_shares(counts);
  data.dev_entropy = entropy_of_shares(counts_of(data.dev));
  const auto largest = size_t(std::ranges::max_element(counts) - counts.begin());
  data.majority = double(counts_of(data.dev)[largest]) / double(data.dev.examples.size());
  return data;
}

// One task, which no batch names: conditional LayerNorm is LayerNorm.
NtClassifier::NtClassifier(const BertConfig& config, int classes, bool reads_mean)
    : bert_(config, 1), head_(config.hidden_size, classes), reads_mean_(reads_mean) {
  child("bert", bert_);
  child("head", head_);
}

Tensor NtClassifier::forward(const Batch& batch) const {
  if (!reads_mean_) return head_(bert_.forward(batch, cls_rows).cls);
  return of_hidden(bert_.forward(batch).last_hidden_state, batch);
}

Tensor NtClassifier::of_hidden(const Tensor& h, const Batch& batch) const {
  if (reads_mean_) return head_(mean_sentences(h, batch));
  const Indices cls = std::vector<int32_t>(batch.offsets.begin(), batch.offsets.end() - 1);
  return head_(index_select(h, cls));
}

std::string NtSetup::label() const {
  std::string text = formatted("{}x{}-{}", layers, width, norm);
  if (placement != Placement::post) text += "-" + name_of(placement);
  if (uniform > 0) text += formatted("-uniform{}", uniform);
  if (lr > 0) text += formatted("-lr{}", lr);
  return text + formatted("-seed{}", seed);
}

// Vaswani et al. 2017's encoder, post-LN, with ReLU and without segments [NT model]. Kaiming for the
// feed-forward networks, which have the ReLU, Xavier for all other layers [NT init], or U(-b, b) for
// all of them [NT init.uniform]. Ours: 4 heads, a feed-forward network 4 times as wide as the hidden
// states, no dropout.
BertConfig nt_config(const NtOptions& o, const NtSetup& s, const Tokenizer& tokenizer) {
  BertConfig c = BertConfig::named("narrow-1");
  c.num_hidden_layers = s.layers;
  c.hidden_size = s.width;
  c.intermediate_size = 4 * s.width;
  c.vocab_size = tokenizer.size();
  c.max_position_embeddings = c.max_length = o.max_length;
  c.positions = o.positions;
  c.placement = s.placement;
  c.set_norm(s.norm);
  if (s.uniform > 0) {
    c.initialisation = Initialisation::uniform;
    c.initializer_range = s.uniform;
  }
  return c;
}

}  // namespace minbert
