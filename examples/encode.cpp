// Encodes texts with any BERT folder and writes what the encoder says of them to a safetensors file.
//
//   pooler_output [N,H]   cls [N,H]                always
//   last_hidden_state [T,H]   offsets [N+1]        --tokens: text i is rows offsets[i] .. offsets[i+1]-1
//   attention.I [layers,heads,L_I,L_I]             --attention: the weights of text I
#include <fstream>
#include <iostream>

#include "minbert/files.h"
#include "minbert/trainer.h"

using namespace minbert;

namespace {

struct Options {
  std::string model, input, output, task;
  int max_length = 512;
  bool tokens = false, attention = false, cased = false;
};

struct Encoded {
  std::vector<real> pooler_output, cls, last_hidden_state;
  std::vector<int64_t> offsets = {0};
  std::vector<std::vector<real>> attention;         // of each text: [layers,heads,L,L]
};

std::vector<Sequence> read_texts(const std::string& file, const Tokenizer& tokenizer, int max_length) {
  std::ifstream in(file);
  MB_CHECK(in, "{}: cannot be read", file);
  std::vector<Sequence> texts;
  int64_t cut = 0;
  for (std::string line; std::getline(in, line);) {
    bool truncated = false;
    texts.push_back(build_sequence(tokenizer, line, max_length, &truncated));
    cut += truncated;
  }
  MB_CHECK(!in.bad(), "{}: cannot be read", file);
  MB_CHECK(!texts.empty(), "{}: no line in it", file);
  if (cut > 0)
    std::cerr << file << ": " << cut << " of " << texts.size() << " texts cut to " << max_length
              << " tokens\n";
  return texts;
}

void append(std::vector<real>& to, const Tensor& from) {
  const std::vector<real> values = from.values();
  to.insert(to.end(), values.begin(), values.end());
}

void encode_batch(const BertModel& bert, const Batch& batch, const Options& o, Encoded& to) {
  std::vector<Tensor> weights;
  const Indices wanted = o.tokens ? Indices() : std::vector<int32_t>{};
  const BertOutput out = bert.forward(batch, wanted, o.attention ? &weights : nullptr);
  append(to.pooler_output, out.pooler_output);
  append(to.cls, out.cls);
  if (o.tokens) append(to.last_hidden_state, out.last_hidden_state);
  std::vector<std::vector<real>> probabilities;     // of each layer
  for (const Tensor& layer : weights) probabilities.push_back(layer.values());
  int64_t begin = 0;                                // of sentence b's first head in each
  const int64_t heads = bert.config().num_attention_heads;
  for (int64_t b = 0; b < batch.sentences(); ++b) {
    const int64_t L = batch.offsets[b + 1] - batch.offsets[b];
    to.offsets.push_back(to.offsets.back() + L);
    if (o.attention) to.attention.emplace_back();
    for (const std::vector<real>& layer : probabilities)
      for (int64_t h = 0; h < heads; ++h) {
        const auto from = layer.begin() + begin + h * attention_block(L);
        to.attention.back().insert(to.attention.back().end(), from, from + L * L);
      }
    begin += heads * attention_block(L);
  }
}

void write(const std::string& file, const Encoded& e, const BertConfig& config, const Options& o) {
  const int64_t N = int64_t(e.offsets.size()) - 1, H = config.hidden_size;
  SafeTensorsWriter writer;
  writer.add("pooler_output", {N, H}, e.pooler_output);
  writer.add("cls", {N, H}, e.cls);
  if (o.tokens) {
    writer.add("last_hidden_state", {e.offsets.back(), H}, e.last_hidden_state);
    writer.add("offsets", {N + 1}, std::span<const int64_t>(e.offsets));
  }
  for (size_t i = 0; i < e.attention.size(); ++i) {
    const int64_t L = e.offsets[i + 1] - e.offsets[i];
    writer.add(format("attention.{}", i), {config.num_hidden_layers, config.num_attention_heads, L, L},
               e.attention[i]);
  }
  writer.write(file);
}

int run(const Options& o) {
  MB_CHECK(!o.model.empty() && !o.input.empty() && !o.output.empty(),
           "--model, --input and --output are needed; see --help");
  TrainedModel trained(o.model, o.cased ? std::optional(true) : std::nullopt);
  const int max_length = std::min(o.max_length, trained.config.max_position_embeddings);
  const std::vector<Sequence> texts = read_texts(o.input, trained.tokenizer, max_length);
  const Indices task = o.task.empty() ? Indices() : Indices{trained.model.network.task_id(o.task)};
  const NoGrad no_tape;
  Encoded encoded;
  constexpr size_t at_a_time = 32;
  for (size_t i = 0; i < texts.size(); i += at_a_time)
    encode_batch(trained.model.network.bert(),
                 pack(std::span(texts).subspan(i, std::min(at_a_time, texts.size() - i)), task), o, encoded);
  write(o.output, encoded, trained.config, o);
  std::cout << texts.size() << (texts.size() == 1 ? " text, " : " texts, ") << encoded.offsets.back()
            << " tokens -> " << o.output << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CommandLine line("encode", "Encodes each line of a file (two texts: TAB between them) with a BERT folder.");
  line.option("--model", o.model, "a Hugging Face folder, or a run's", "DIR");
  line.option("--input", o.input, "one text a line", "FILE");
  line.option("--output", o.output, "the safetensors file to write", "FILE");
  line.option("--task", o.task, "for a conditional norm: as which task; without, as plain LayerNorm", "NAME");
  line.option("--max-length", o.max_length, 3, "longer texts are cut to this many tokens");
  line.flag("--tokens", o.tokens, "also write every token's last hidden state, and the offsets of the texts");
  line.flag("--attention", o.attention, "also write the attention weights of every layer and head");
  line.flag("--cased", o.cased, "the vocabulary is cased; decides where tokenizer_config.json does not");
  MachineOptions machine;
  add_machine_options(line, machine);
  line.parse(argc, argv);
  return run_program("encode", [&] {
    use_machine(machine);
    return run(o);
  });
}
