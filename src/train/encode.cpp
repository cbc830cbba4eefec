// Encoding texts. The sizes in the file's header follow from the counts of tokens, so rows are written as they come.
#include "minbert/encode.h"

#include <algorithm>
#include <iostream>

#include "counted_texts.h"
#include "minbert/interrupt.h"
#include "minbert/ops.h"
#include "minbert/progress.h"

namespace minbert {
namespace {

using Entry = SafeTensors::Entry;

// Calls on_number(i) for i = 0 .. count-1 in the order of their digits as text: 0 1 10 100 101 ... 11 ... 2
template <class OnNumber>
void in_text_order(int64_t count, OnNumber on_number, int64_t from = 0) {
  for (int64_t i = from; i < std::min(from + 10, count); ++i) {
    on_number(i);
    if (i > 0) in_text_order(count, on_number, 10 * i);
  }
}

Entry placed(const char* type, std::vector<int64_t> shape, uint64_t begin) {
  uint64_t bytes = type == std::string("I64") ? 8 : 4;
  for (const int64_t size : shape) bytes *= uint64_t(size);
  return {type, std::move(shape), begin, begin + bytes};
}

// Where each tensor of the output stands: those of 8 bytes a value go first, as SafeTensorsWriter has them.
struct Layout {
  Layout(const CountedTexts& texts, const BertConfig& config, const EncodeOptions& o)
      : tokens(o.tokens), with_attention(o.attention), lengths(texts.lengths()), layers(config.num_hidden_layers),
        heads(config.num_attention_heads) {
    const int64_t N = int64_t(lengths.size()), H = config.hidden_size;
    uint64_t end = 0;
    const auto behind = [&](const char* type, std::vector<int64_t> shape) {
      const Entry entry = placed(type, std::move(shape), end);
      end = entry.end;
      return entry;
    };
    if (tokens) offsets = behind("I64", {N + 1});
    pooler_output = behind("F32", {N, H}), cls = behind("F32", {N, H});
    if (tokens) last_hidden_state = behind("F32", {texts.tokens(), H});
    if (!with_attention) return;
    attention.reserve(lengths.size());
    for (const int64_t L : lengths) attention.push_back(behind("F32", {layers, heads, L, L}).begin);
  }
  void list(const SafeTensorsStream::Visit& visit) const {          // in the order of the names
    in_text_order(int64_t(attention.size()), [&](int64_t i) {
      const int64_t L = lengths[size_t(i)];
      visit(format("attention.{}", i), placed("F32", {layers, heads, L, L}, attention[size_t(i)]));
    });
    visit("cls", cls);
    if (tokens) visit("last_hidden_state", last_hidden_state), visit("offsets", offsets);
    visit("pooler_output", pooler_output);
  }

  bool tokens, with_attention;
  const std::vector<int32_t>& lengths;
  int64_t layers, heads;
  Entry offsets, pooler_output, cls, last_hidden_state;
  std::vector<uint64_t> attention;                  // where that of each text begins
};

// [layers,heads,L,L] of sentence b, out of each layer's packed weights, in which its first head begins there.
std::vector<real> attention_of(const std::vector<std::vector<real>>& layers, int64_t heads, int64_t L, int64_t begin) {
  std::vector<real> weights;
  for (const std::vector<real>& layer : layers)
    for (int64_t h = 0; h < heads; ++h) {
      const auto from = layer.begin() + begin + h * attention_block(L);
      weights.insert(weights.end(), from, from + L * L);
    }
  return weights;
}

// The batch begins with this text, whose first token is this one.
void write_batch(const BertModel& bert, const Batch& batch, const Layout& layout, int64_t text, int64_t token,
                 SafeTensorsStream& out) {
  std::vector<Tensor> weights;
  const Indices wanted = layout.tokens ? all_rows : cls_rows;
  const BertOutput encoded = bert.forward(batch, wanted, layout.with_attention ? &weights : nullptr);
  std::vector<real> room;
  const auto write_rows = [&](const Entry& entry, int64_t first, const Tensor& rows) {
    const std::span<const real> values = rows.on_host(room);
    if (const auto v = non_finite(values))
      fail(format("texts {} to {} are encoded with the value {}: the weights of this model are too large for it",
                  text + 1, text + batch.sentences(), *v));
    out.write(entry.begin + uint64_t(4 * first * rows.cols()), entry.type, values);
  };
  write_rows(layout.pooler_output, text, encoded.pooler_output);
  write_rows(layout.cls, text, encoded.cls);
  if (layout.tokens) {
    write_rows(layout.last_hidden_state, token, encoded.last_hidden_state);
    std::vector<int64_t> offsets;
    for (const int32_t offset : batch.offsets) offsets.push_back(token + offset);
    out.write(layout.offsets.begin + uint64_t(8 * text), offsets);
  }
  if (!layout.with_attention) return;
  std::vector<std::vector<real>> layers;
  for (const Tensor& layer : weights) layers.push_back(layer.values());
  int64_t begin = 0;
  for (int64_t b = 0; b < batch.sentences(); ++b) {
    const int64_t L = batch.offsets[b + 1] - batch.offsets[b];
    out.write(layout.attention[size_t(text + b)], "F32", attention_of(layers, layout.heads, L, begin));
    begin += layout.heads * attention_block(L);
  }
}

}  // namespace

EncodeReport encode(const TrainedModel& trained, const EncodeOptions& o) {
  constexpr size_t at_a_time = 32;
  const Indices task = o.task.empty() ? Indices() : Indices{trained.model.network.task_id(o.task)};
  const int max_length = std::min(o.max_length, trained.config.max_position_embeddings);
  CountedTexts texts(o.input, o.output, trained.tokenizer, max_length);
  if (texts.cut() > 0)
    std::cerr << o.input << ": " << texts.cut() << " of " << texts.lengths().size() << " texts cut to " << max_length
              << " tokens\n";
  const Layout layout(texts, trained.config, o);
  SafeTensorsStream out(o.output, {{"format", "pt"}}, [&](const auto& visit) { layout.list(visit); });
  Progress progress("encoding " + o.input, texts.tokens());
  const NoGrad no_tape;
  EncodeReport report{0, 0, interrupted()};
  while (!report.interrupted) {
    const std::vector<Sequence> some = texts.next(at_a_time);
    if (some.empty()) break;
    const Batch batch = pack(some, task);
    write_batch(trained.model.network.bert(), batch, layout, report.texts, report.tokens, out);
    report.texts += batch.sentences(), report.tokens += batch.tokens();
    progress.update(report.tokens);
    report.interrupted = interrupted();
  }
  if (!report.interrupted) out.commit();
  return report;
}

}  // namespace minbert
