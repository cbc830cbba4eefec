// Encoding texts. The sizes in the file's header follow from the counts of tokens, so rows are
// written as they come.
#include "models/encode_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <numeric>

#include "files/progress.h"
#include "minbert/files.h"
#include "minbert/ops.h"
#include "models/sentence_pooling.h"
#include "text/lines.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

// The texts of a file or a pipe, tokenized. A line is one text, or two with a TAB between them.
std::vector<Sequence> read_texts(const std::string& input, const Tokenizer& tokenizer,
                                 int max_length) {
  std::ifstream in(input);
  MB_CHECK(in, "{}: cannot be read", input);
  Progress progress("tokenizing " + input, file_size(input));
  Lines lines(in, input);
  std::vector<Sequence> texts;
  int64_t cut = 0;
  for (std::string line; lines.next(line);) {
    check_interrupt();
    MB_CHECK(std::ranges::count(line, '\t') < 2,
             "{}:{}: two TABs; expected a text, or two of a pair with a TAB between", input, lines.number());
    bool truncated = false;
    texts.push_back(build_sequence(tokenizer, line, max_length, &truncated));
    cut += truncated;
    progress.update(lines.bytes());
  }
  MB_CHECK(!texts.empty(), "{}: no line in it", input);
  if (cut > 0)
    std::cerr << formatted("{}: {} of {} texts cut to {} tokens\n", input, cut, texts.size(),
                           max_length);
  return texts;
}

// Each row x as x / max(|x|, 1e-12), as torch.nn.functional.normalize has it
Tensor of_length_one(const Tensor& rows) {
  std::vector<real> values = rows.values();
  const size_t H = size_t(rows.cols());
  for (size_t begin = 0; begin < values.size(); begin += H) {
    const std::span x = std::span(values).subspan(begin, H);
    const double square = std::inner_product(x.begin(), x.end(), x.begin(), 0.);
    for (real& v : x) v = real(v / std::max(std::sqrt(square), 1e-12));
  }
  return Tensor::from(rows.shape(), values);
}

// What they leave open is as sentence-transformers has it in its folders; stderr says so.
EncodeOptions completed(EncodeOptions o, const TrainedModel& trained) {
  const auto own = sentence_pooling(trained.folder);
  if (own && !o.pool) {
    o.pool = own->pool;
    o.normalize |= own->normalize;
    std::cerr << formatted("{}/modules.json: sentence_embedding by --pool {}{}\n", trained.folder,
                           *o.pool, o.normalize ? " --normalize" : "");
  }
  MB_CHECK(o.pool != Pool::pooler || trained.has_pooler(),
           "--pool pooler: {} has no weights for a pooler; take --pool mean, or cls",
           trained.folder);
  MB_CHECK(!o.normalize || o.pool,
           "--normalize has nothing to normalize without --pool; take --pool mean, as "
           "sentence-transformers does for most models");
  MB_CHECK(o.max_length == 0 || o.max_length >= 3, "--max-length {}: [CLS] and [SEP] need two, a "
           "text one", o.max_length);
  if (o.max_length == 0) o.max_length = own && own->max_length > 0 ? own->max_length : 512;
  o.max_length = std::min(o.max_length, trained.config.max_tokens());
  return o;
}

// The output file, to which batches of texts are added in order.
class Output {
 public:
  Output(const std::vector<Sequence>& texts, const TrainedModel& trained, const EncodeOptions& o)
      : layers_(trained.config.num_hidden_layers), heads_(trained.config.num_attention_heads),
        tokens_(o.tokens), attention_(o.attention), normalize_(o.normalize),
        pooler_(trained.has_pooler()), pool_(o.pool) {
    for (const Sequence& text : texts)
      offsets_.push_back(offsets_.back() + int64_t(text.ids.size()));
    const int64_t N = int64_t(texts.size()), H = trained.config.hidden_size;
    if (tokens_) add_entry("offsets", "I64", {N + 1});   // 8 bytes a value: first, to be aligned
    if (pooler_) add_entry("pooler_output", "F32", {N, H});
    add_entry("cls", "F32", {N, H});
    if (pool_) add_entry("sentence_embedding", "F32", {N, H});
    if (tokens_) add_entry("last_hidden_state", "F32", {offsets_.back(), H});
    for (size_t i = 0; attention_ && i < texts.size(); ++i) {
      const int64_t L = int64_t(texts[i].ids.size());
      add_entry(formatted("attention.{}", i), "F32", {layers_, heads_, L, L});
    }
    file_.emplace(o.output, std::map<std::string, std::string>{{"format", "pt"}}, entries_);
    if (tokens_) file_->write(entries_["offsets"].begin, std::as_bytes(std::span(offsets_)));
  }

  // first: the number of the batch's first text
  void add(const BertModel& bert, const Batch& batch, size_t first) {
    std::vector<Tensor> weights;
    const bool all = tokens_ || pool_ == Pool::mean;
    const BertOutput encoded =
        bert.forward(batch, all ? all_rows : cls_rows, attention_ ? &weights : nullptr);
    if (pooler_) add_rows("pooler_output", int64_t(first), encoded.pooler_output);
    add_rows("cls", int64_t(first), encoded.cls);
    if (pool_) {
      const Tensor embedding = pooled_of(encoded, batch, *pool_);
      add_rows("sentence_embedding", int64_t(first),
               normalize_ ? of_length_one(embedding) : embedding);
    }
    if (tokens_) add_rows("last_hidden_state", offsets_[first], encoded.last_hidden_state);
    for (size_t layer = 0; layer < weights.size(); ++layer)
      add_attention(batch, first, int64_t(layer), weights[layer].values());
  }

  int64_t tokens_before(size_t text) const { return offsets_[text]; }
  void commit() { file_->commit(); }

 private:
  void add_entry(const std::string& name, const std::string& type, std::vector<int64_t> shape) {
    uint64_t bytes = type == "I64" ? 8 : 4;
    for (const int64_t size : shape) bytes *= uint64_t(size);
    entries_[name] = {type, std::move(shape), end_, end_ + bytes};
    end_ += bytes;
  }

  void add_rows(const std::string& name, int64_t row, const Tensor& rows) {
    std::vector<real> room;
    const std::span<const real> values = rows.on_host(room);
    if (const auto v = non_finite(values))
      fail(formatted("{} has the value {} from its row {} on: the weights of this model are too "
                     "large for such texts", name, *v, row + 1));
    file_->write(entries_[name].begin + uint64_t(4 * row * rows.cols()), "F32", values);
  }

  // weights: sentence after sentence, and in a sentence head after head
  void add_attention(const Batch& batch, size_t first, int64_t layer,
                     const std::vector<real>& weights) {
    int64_t begin = 0;
    for (int64_t b = 0; b < batch.sentences(); ++b) {
      const int64_t L = batch.offsets[b + 1] - batch.offsets[b];
      const auto& entry = entries_[formatted("attention.{}", int64_t(first) + b)];
      for (int64_t head = 0; head < heads_; ++head) {
        const int64_t before = layer * heads_ + head;
        file_->write(entry.begin + uint64_t(4 * before * L * L), "F32",
                     std::span(weights).subspan(size_t(begin), size_t(L * L)));
        begin += attention_block(L);
      }
    }
  }

  int64_t layers_, heads_;
  bool tokens_, attention_, normalize_, pooler_;
  std::optional<Pool> pool_;
  std::vector<int64_t> offsets_ = {0};              // the tokens before each text
  SafeTensorsStream::Entries entries_;
  uint64_t end_ = 0;                                // of the last entry
  std::optional<SafeTensorsStream> file_;
};

}  // namespace

EncodeReport encode(const TrainedModel& trained, const EncodeOptions& options) {
  const EncodeOptions o = completed(options, trained);
  const MultitaskBert& network = trained.model.network;
  const Indices task =
      o.task.empty() ? Indices() : Indices{network.task_id(o.task)};
  const std::vector<Sequence> texts = read_texts(o.input, trained.tokenizer, o.max_length);
  Output output(texts, trained, o);
  const int64_t tokens = output.tokens_before(texts.size());
  Progress progress("encoding " + o.input, tokens);
  const NoGrad no_tape;
  for (size_t first = 0, last = 0; first < texts.size(); first = last) {
    check_interrupt();
    const int64_t enough = output.tokens_before(first) + encoded_at_a_time;
    while (last < texts.size() && output.tokens_before(last) < enough) ++last;
    output.add(network.bert(), pack(std::span(texts).subspan(first, last - first), task), first);
    progress.update(output.tokens_before(last));
  }
  output.commit();
  return {int64_t(texts.size()), tokens};
}

}  // namespace minbert
