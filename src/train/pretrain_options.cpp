// The table of pre-training options; vocabulary and configuration.
#include "minbert/pretrain_options.h"

#include "minbert/checkpoint.h"
#include "minbert/vocabulary.h"
#include "run_folder.h"

namespace minbert {

void add_pretrain_options(CommandLine& line, PretrainOptions& o) {
  line.section("What it reads");
  line.option("--corpus", o.corpus, "plain text: a paragraph a line, a blank line between documents");
  line.option("--max-length", o.max_length, 5, "tokens of a sequence");
  line.flag("--whole-words", o.whole_words, "mask all pieces of a word together");
  line.flag("--no-nsp", o.no_nsp, "masked words alone, without next-sentence prediction");
  line.option("--page", o.page, 1,
              "documents that stand together, and are alike: half of the foreign next sentences are of the same page");
  line.option("--held-out", o.held_out, 0, "share of the text that is kept for evaluation, 1 MB at most", 0.5);

  line.section("Where it starts");
  line.option("--init", o.init, "a Hugging Face folder, or a run's, to go on from with its vocabulary", "DIR");
  line.option("--config", o.config,
              "without --init: a new network: tiny, mini, small, base, large, or its config.json", "NAME");
  line.option("--vocab", o.vocab, "without --init: its vocabulary, one token a line", "FILE");
  line.option("--vocab-size", o.vocab_size, 0, "or: make a vocabulary of N tokens from the corpus");
  line.flag("--cased", o.cased, "the vocabulary is cased");
  add_norm_options(line, o.norm, o.placement);

  line.section("How it learns");
  line.option("--steps", o.steps, 1, "optimizer steps");
  add_learn_options(line, o, "learn nothing");
  line.option("--dropout", o.dropout, 0, "in the encoder", 0.999);
  line.option("--evaluate-every", o.evaluate_every, 1, "steps between two evaluations, each with a checkpoint");
  line.flag("--f16", o.f16, "write model.safetensors in 16 bits: half the size");

  line.section("Runs");
  add_run_options(line, o);
}

Tokenizer tokenizer_of(const PretrainOptions& o) {
  MB_CHECK((!o.init.empty()) + (!o.vocab.empty()) + (o.vocab_size > 0) == 1,
           "a vocabulary comes from --init DIR (its own), from --vocab FILE, or from the corpus by --vocab-size N: "
           "give one of the three");
  if (!o.init.empty()) {
    const std::string folder = model_folder(o.init);
    return tokenizer_of(folder, BertConfig::load(folder + "/config.json"), cased_option(o.cased));
  }
  if (!o.vocab.empty()) return Tokenizer::from_vocab(o.vocab, cased_option(o.cased));
  const std::string file = o.out + "/vocab.txt";
  if (!has_state(o.out))
    write_vocabulary(file, train_vocabulary(o.corpus, {.size = o.vocab_size, .lower_case = !o.cased}));
  return Tokenizer(file, !o.cased);
}

BertConfig config_of(const PretrainOptions& o, const Tokenizer& tokenizer) {
  BertConfig config =
      o.init.empty() ? BertConfig::named(o.config) : BertConfig::load(model_folder(o.init) + "/config.json");
  if (o.init.empty()) config.vocab_size = tokenizer.size();
  MB_CHECK(o.max_length <= config.max_position_embeddings, "--max-length {}: this network has {} positions",
           o.max_length, config.max_position_embeddings);
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = o.dropout;
  config.set_norm(o.norm);
  config.placement = o.placement, config.max_length = o.max_length;
  config.initialisation = o.initialisation;
  if (o.initializer_range > 0) config.initializer_range = o.initializer_range;
  config.tasks.clear();                             // of a fine-tuned --init: their heads are not in this network
  config.loaded.set("architectures", Json::array({"BertForPreTraining"}));
  return config;
}

}  // namespace minbert
