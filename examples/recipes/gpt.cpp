// GPT: under a causal mask, and with the next word as its loss, a BERT learns to write.
//
//   Paper      Radford et al. 2018, Improving Language Understanding by Generative Pre-Training, eq. 1 and 2;
//              the mask: Vaswani et al. 2017, sec. 3.2.3
//   Equations  L = -1/N Σ_t log p(w_t+1 | w_1 .. w_t)     p = softmax(E g(x_t) + b)
//   Shapes     x [T,H], the last hidden states, where a token sees itself and those before it; E [V,H], the word
//              embeddings; N: the tokens that have a next one; g, b: BERT's head for masked words
//   Starts as  the BERT of data/mini, which has read these texts looking both ways; the paper: new weights, no g, no b
//
// A text is [CLS] words [SEP]: [CLS] asks for the first word, and [SEP] follows the last. The yardsticks are counts of
// the rows on which L is computed: there no model without context is below H(w_t+1), and none that reads one word alone
// is below H(w_t+1 | w_t).
#include <map>
#include <sstream>

#include "recipe.h"

using namespace minbert;

Batch causal(std::span<const Sequence> texts) {
  Batch batch = pack(texts);
  batch.causal = true;                              // all that turns BERT's layers into a decoder's
  return batch;
}

struct Bigrams {                                    // of a batch: the rows that have a next token, and the words' ids
  std::vector<int32_t> rows, words, next;           // [N]
  explicit Bigrams(const Batch& batch) {
    for (int32_t t = 0; t + 1 < batch.tokens(); ++t)
      if (batch.sentence[t] == batch.sentence[t + 1])
        rows.push_back(t), words.push_back(batch.ids[t]), next.push_back(batch.ids[t + 1]);
  }
};

// H(b | a) = -1/N Σ log n(a, b)/n(a), in nats
double entropy(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::map<int32_t, double> n_a;
  std::map<std::pair<int32_t, int32_t>, double> n_ab;
  for (size_t i = 0; i < a.size(); ++i) ++n_a[a[i]], ++n_ab[{a[i], b[i]}];
  double sum = 0;
  for (const auto& [pair, n] : n_ab) sum -= n * std::log(n / n_a[pair.first]);
  return sum / double(a.size());
}

struct Gpt : Module {
  BertModel bert;
  MaskedWordHead words;
  explicit Gpt(const BertConfig& config) : bert(config), words(config) { child("bert", bert), child("", words); }

  const Tensor& E() const { return bert.embeddings().word_weight(); }
  Tensor states(const Batch& batch, const Rows& rows = all_rows) const {
    return bert.forward(batch, rows).last_hidden_state;
  }
  Tensor loss(std::span<const Sequence> texts) const {          // []
    const Batch batch = causal(texts);
    const Bigrams bigrams(batch);
    return words.loss(states(batch, Indices(bigrams.rows)), E(), bigrams.next);
  }
  // The most probable word, again and again. Each costs a whole forward.
  std::string go_on(const Tokenizer& tokenizer, const std::string& begin) const {
    Sequence text = {tokenizer.encode("[CLS] " + begin), {}};
    while (text.ids.size() < 64) {
      text.segments.resize(text.ids.size());
      const Indices last = {int32_t(text.ids.size()) - 1};
      const int32_t next = argmax(words.logits(states(causal({&text, 1}), last), E()))[0];
      if (next == tokenizer.sep()) break;
      text.ids.push_back(next);
    }
    return tokenizer.decode(std::span(text.ids).subspan(1));
  }
};

int main(int argc, char** argv) {
  return run_recipe("gpt", argc, argv, [](uint64_t seed) {
    MB_CHECK(std::abs(entropy({0, 0, 1, 1}, {0, 1, 0, 0}) - std::log(2) / 2) < 1e-12, "by hand H(b | a) is log(2)/2");
    const Tokenizer tokenizer = Tokenizer::from_folder(mini_bert);
    std::vector<Sequence> texts;
    std::istringstream corpus(read_file(mini + "/corpus.txt"));
    for (std::string line; std::getline(corpus, line);)
      if (!line.empty()) texts.push_back(build_sequence(tokenizer, line, 64));
    Random(seed, "texts").shuffle(texts);
    const std::span unseen(texts.data(), 1000), training(texts.data() + 1000, texts.size() - 1000);

    Gpt gpt(BertConfig::load(mini_bert + "/config.json"));
    const Parameters parameters(gpt, {.seed = seed});
    load_weights(mini_bert, parameters);
    const std::string text = "They say that Hugo painted the saw, but Nora did not.";
    const auto first_states = [&](int length) {     // of [CLS] and five words, in a text of so many tokens
      const Sequence begin = build_sequence(tokenizer, text, length);
      return slice_rows(gpt.states(causal({&begin, 1})), 0, 6).detach();
    };
    expect("what later words change of a state", largest_difference(first_states(7), first_states(64)), 0, 1e-4);
    expect("L before", gpt.loss(unseen).item(), 9, 15);
    clear_tape();

    Optimizer adamw(parameters, {});
    const size_t steps = 300, batch = 16;
    for (size_t k = 0; k < steps; ++k) {
      backward(gpt.loss(training.subspan(k * batch, batch)));
      adamw.step(2e-3 * schedule_factor(Schedule::linear, int64_t(k), int64_t(steps), 0.1));
    }
    const NoGrad no_tape;
    const Bigrams bigrams(causal(unseen));
    expect("H(w_t+1)", entropy(std::vector<int32_t>(bigrams.next.size()), bigrams.next), 5.4, 5.7);
    expect("H(w_t+1 | w_t)", entropy(bigrams.words, bigrams.next), 2.3, 2.6);
    expect("L after", gpt.loss(unseen).item(), 0.95, 1.3);

    std::string said;
    for (const std::string& begin : {std::string("Martin is faster than Hugo."), std::string("I have 8 weeks."), text})
      std::cout << (said = gpt.go_on(tokenizer, begin)) << '\n';
    MB_CHECK(said.ends_with("hugo painted the saw ."), "the last text does not end with who painted the saw");
  });
}
