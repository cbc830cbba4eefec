// Encoding texts. The sizes in the file's header follow from the counts of tokens, so rows are written as they come.
#include "train/encode.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "files/progress.h"
#include "minbert/ops.h"
#include "text/lines.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

using Entry = SafeTensors::Entry;

// The texts of a file or a pipe, tokenized. A line is one text, or two with a TAB between them. The tokens wait in a
// file without a name beside `output`, which the system removes when the program ends.
struct TokenizedTexts {
  TokenizedTexts(const std::string& input, const std::string& output, const Tokenizer& tokenizer, int max_length) {
    std::ifstream in(input);
    MB_CHECK(in, "{}: cannot be read", input);
    const std::string file = formatted("{}.tokens-{}", output, getpid());
    waiting.open(file, std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary);
    MB_CHECK(waiting, "{}: cannot be written; it is to hold the tokens of {}", file, input);
    std::filesystem::remove(file);
    Progress progress("tokenizing " + input, file_size(input));
    Lines lines(in, input);
    for (std::string line; !interrupted() && lines.next(line);) {
      bool truncated = false;
      const Sequence text = build_sequence(tokenizer, line, max_length, &truncated);
      for (const std::vector<int32_t>& list : {text.ids, text.segments})
        waiting.write(reinterpret_cast<const char*>(list.data()), int64_t(4 * list.size()));
      lengths.push_back(int32_t(text.ids.size()));
      tokens += lengths.back();
      cut += truncated;
      progress.update(lines.bytes());
    }
    MB_CHECK(!lengths.empty() || interrupted(), "{}: no line in it", input);
    MB_CHECK(waiting.flush(), "{}: cannot be written; is the disk full? It is to hold the tokens of {}", file, input);
    waiting.seekg(0);
  }
  std::vector<Sequence> next(int64_t enough) {      // until they have so many tokens; none behind the last text
    std::vector<Sequence> texts;
    for (int64_t read = 0; read < enough && returned < lengths.size(); ++returned) {
      const size_t length = size_t(lengths[returned]);
      read += lengths[returned];
      texts.push_back({std::vector<int32_t>(length), std::vector<int32_t>(length)});
      for (std::vector<int32_t>* list : {&texts.back().ids, &texts.back().segments})
        waiting.read(reinterpret_cast<char*>(list->data()), int64_t(4 * length));
    }
    MB_CHECK(waiting, "the tokens that wait on the disk cannot be read");
    return texts;
  }

  std::fstream waiting;
  std::vector<int32_t> lengths;                     // tokens of each text
  int64_t tokens = 0, cut = 0;                      // of all texts; texts longer than max_length
  size_t returned = 0;
};

Entry entry_at(uint64_t begin, const std::string& type, std::vector<int64_t> shape) {
  uint64_t bytes = type == "I64" ? 8 : 4;
  for (const int64_t size : shape) bytes *= uint64_t(size);
  return {type, std::move(shape), begin, begin + bytes};
}

// The output file, to which batches of texts are added in order.
struct Output {
  Output(const TokenizedTexts& input, const BertConfig& config, const EncodeOptions& o)
      : heads(config.num_attention_heads), with_attention(o.attention) {
    const std::vector<int32_t>& lengths = input.lengths;
    const int64_t N = int64_t(lengths.size()), H = config.hidden_size;
    uint64_t end = 0;
    const auto place = [&](const std::string& name, const std::string& type, std::vector<int64_t> shape) {
      tensors[name] = entry_at(end, type, std::move(shape));
      end = tensors[name].end;
    };
    if (o.tokens) place("offsets", "I64", {N + 1});             // 8 bytes a value: first, as SafeTensorsWriter has them
    place("pooler_output", "F32", {N, H});
    place("cls", "F32", {N, H});
    if (o.tokens) place("last_hidden_state", "F32", {input.tokens, H});
    for (size_t i = 0; o.attention && i < lengths.size(); ++i)
      place(formatted("attention.{}", i), "F32", {config.num_hidden_layers, heads, lengths[i], lengths[i]});
    file.emplace(o.output, std::map<std::string, std::string>{{"format", "pt"}}, tensors);
  }
  void add(const BertModel& bert, const Batch& batch);
  void add_attention(const Batch& batch, const std::vector<Tensor>& weights);

  int64_t heads;
  bool with_attention;
  int64_t texts = 0, tokens = 0;                    // added so far
  SafeTensorsStream::Entries tensors;
  std::optional<SafeTensorsStream> file;
};

void Output::add(const BertModel& bert, const Batch& batch) {
  std::vector<Tensor> weights;
  const bool all = tensors.contains("offsets");
  const BertOutput encoded = bert.forward(batch, all ? all_rows : cls_rows, with_attention ? &weights : nullptr);
  std::vector<real> room;
  const auto add_rows = [&](const char* name, int64_t first, const Tensor& rows) {
    const std::span<const real> values = rows.on_host(room);
    if (const auto v = non_finite(values))
      fail(formatted("texts {} to {} are encoded with the value {}: the weights of this model are too large for it",
                     texts + 1, texts + batch.sentences(), *v));
    file->write(tensors[name].begin + uint64_t(4 * first * rows.cols()), "F32", values);
  };
  add_rows("pooler_output", texts, encoded.pooler_output);
  add_rows("cls", texts, encoded.cls);
  if (all) {
    add_rows("last_hidden_state", tokens, encoded.last_hidden_state);
    std::vector<int64_t> offsets;
    for (const int32_t offset : batch.offsets) offsets.push_back(tokens + offset);
    file->write(tensors["offsets"].begin + uint64_t(8 * texts), std::as_bytes(std::span(offsets)));
  }
  if (with_attention) add_attention(batch, weights);
  texts += batch.sentences();
  tokens += batch.tokens();
}

// weights: of each layer, head after head, and within a head sentence after sentence.
void Output::add_attention(const Batch& batch, const std::vector<Tensor>& weights) {
  std::vector<std::vector<real>> of_layers;
  for (const Tensor& layer : weights) of_layers.push_back(layer.values());
  int64_t begin = 0;
  for (int64_t b = 0; b < batch.sentences(); ++b) {
    const int64_t L = batch.offsets[b + 1] - batch.offsets[b];
    std::vector<real> of_sentence;                  // [layers,heads,L,L]
    for (const std::vector<real>& layer : of_layers)
      for (int64_t h = 0; h < heads; ++h) {
        const auto head = layer.begin() + h * int64_t(layer.size()) / heads + begin;
        of_sentence.insert(of_sentence.end(), head, head + L * L);
      }
    file->write(tensors[formatted("attention.{}", texts + b)].begin, "F32", of_sentence);
    begin += attention_block(L);
  }
}

}  // namespace

EncodeReport encode(const TrainedModel& trained, const EncodeOptions& o) {
  const Indices task = o.task.empty() ? Indices() : Indices{trained.model.network.task_id(trained.task(o.task).name)};
  const int max_length = std::min(o.max_length, trained.config.max_tokens());
  TokenizedTexts texts(o.input, o.output, trained.tokenizer, max_length);
  if (texts.cut > 0)
    std::cerr << o.input << ": " << texts.cut << " of " << texts.lengths.size() << " texts cut to " << max_length
              << " tokens\n";
  Output output(texts, trained.config, o);
  Progress progress("encoding " + o.input, texts.tokens);
  const NoGrad no_tape;
  while (!interrupted()) {
    const std::vector<Sequence> some = texts.next(encoded_at_a_time);
    if (some.empty()) {
      output.file->commit();
      return {output.texts, output.tokens, false};
    }
    output.add(trained.model.network.bert(), pack(some, task));
    progress.update(output.tokens);
  }
  return {output.texts, output.tokens, true};
}

}  // namespace minbert
