// The pre-training loop                                 Devlin et al. 2019, sec. 3.1, app. A.2
//
//   L = L_MLM + L_NSP      L_MLM: the mean over the masked words of a step,
//                          L_NSP: over its pairs of sentences
#include "minbert/pretrainer.h"

#include <iostream>
#include <numeric>

#include "bert/family.h"
#include "engine/ranks.h"
#include "minbert/model.h"
#include "minbert/ops.h"
#include "minbert/vocabulary.h"
#include "tasks/corpus.h"
#include "train/agreement.h"
#include "train/batches.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"
#include "train/run_log.h"
#include "train/sources.h"

namespace minbert {
namespace {

using PretrainModel = WithParameters<BertForPreTraining>;
using Examples = std::vector<PretrainingExample>;   // of a batch, before they are packed

double masked_words(std::span<const PretrainingExample> examples) {
  double words = 0;
  for (const PretrainingExample& example : examples) words += double(example.masked.size());
  return words;
}

// What can be wrong is found before a vocabulary is made of the corpus, which may take minutes.
void check(const PretrainOptions& o) {
  MB_CHECK(!o.corpus.empty(), "--corpus must be given; see --help");
  MB_CHECK((!o.init.empty()) + (!o.vocab.empty()) + (o.vocab_size > 0) == 1,
           "a vocabulary comes from --init DIR (its own), from --vocab FILE, or from the corpus by "
           "--vocab-size N: give one of the three");
  MB_CHECK(o.init.empty() || !o.cased, "--init {} brings its own vocabulary; leave out --cased",
           o.init);
  MB_CHECK(o.tokenizer != VocabularyKind::bpe || (o.vocab_size > 0 && !o.cased),
           "--tokenizer bpe is of a vocabulary that --vocab-size has made, and keeps capitals "
           "anyway: leave out {}", o.cased ? "--cased" : "--tokenizer");
  check_shards(o);
  BertConfig config = start_config(o.init, o);
  set_dropout(config, o.dropout, "--dropout");
  configure(config, o);
  const BertModel network(config, 1);
}

// --init brings a vocabulary; else --vocab names one, or --vocab-size has one made from the corpus,
// in OUT.
Tokenizer tokenizer_of(const PretrainOptions& o) {
  if (!o.init.empty()) return tokenizer_of(model_folder(o.init), start_config(o.init, o));
  if (!o.vocab.empty()) return Tokenizer::from_vocab(o.vocab, o.cased);
  if (!has_state(o.out) && ranks().first()) {
    const VocabularyOptions options{.size = o.vocab_size, .lower_case = !o.cased};
    if (o.tokenizer == VocabularyKind::bpe) train_bpe(o.corpus, options).save(o.out, o.max_length);
    else write_vocabulary(o.out + "/vocab.txt", train_vocabulary(o.corpus, options));
  }
  ranks().wait();
  return o.tokenizer == VocabularyKind::bpe ? Tokenizer::from_folder(o.out)
                              : Tokenizer::from_vocab(o.out + "/vocab.txt", o.cased);
}

BertConfig config_of(const PretrainOptions& o, const Tokenizer& tokenizer) {
  BertConfig config = o.init.empty() ? new_config(o.config, tokenizer) : start_config(o.init, o);
  MB_CHECK(o.max_length <= config.max_tokens(), "--max-length {}: this network has {} positions",
           o.max_length, config.max_tokens());
  set_dropout(config, o.dropout, "--dropout");
  const BertConfig there = config;
  configure(config, o);
  if (o.init.empty() && o.config.ends_with(".json"))
    say_what_changes(o.config, there, config, false);
  config.max_length = o.max_length;
  config.tasks.clear();          // of a fine-tuned --init: their heads are not in this network
  return config;
}

class PretrainRun {
 public:
  PretrainRun(const PretrainOptions& o, const Json& sources, Observer* observer)
      : o_(o), observer_(observer), corpus_(o.corpus), tokenizer_(tokenizer_of(o)),
        config_(config_of(o, tokenizer_)),
        next_sentence_(!o.no_nsp && config_.family().next_sentence),
        data_(corpus_, tokenizer_, {.max_length = o.max_length, .whole_words = o.whole_words,
                                    .next_sentence = next_sentence_,
                                    .one_text = !config_.family().next_sentence, .page = o.page,
                                    .held_out = o.held_out, .seed = uint64_t(o.seed)}),
        held_out_(data_.held_out()),
        model_(config_, uint64_t(o.seed), o.init.empty() && !has_state(o.out)),
        log_(o, o.out, model_.parameters, 2, 2, sources,
             {{"epoch", &next_.epoch}, {"shard", &next_.shard}, {"example", &next_.example},
              {"reported", &reported_}}) {
    std::cerr << formatted("corpus: {} documents, {} MB, {} held-out examples; vocabulary: {} "
                           "tokens; {} parameters\n", corpus_.documents(),
                           fixed(double(corpus_.bytes()) * 1e-6, 1), held_out_.size(),
                           tokenizer_.size(), model_.parameters.count());
    if (!o.init.empty() && !has_state(o.out))
      load_start(o.init, start_config(o.init, o), {}, config_, model_.parameters);
    examples_ = data_.shard(next_.epoch, next_.shard);
    result_.next_sentence = next_sentence_;
    compare_start(settings_of(o), sources, model_.parameters);
  }

  PretrainResult go(int64_t stop_after) {
    const auto loop = [&] {
      print_start();
      learn(stop_after);
    };
    result_.interrupted = log_.run(loop, [this] { return done(); });
    result_.steps = log_.step();
    result_.seconds = log_.seconds();
    return result_;
  }

 private:
  struct Position {
    int64_t epoch = 0, shard = 0, example = 0;
  };

  void learn(int64_t stop_after) {
    model_.network.train();
    log_.start({.batches = int64_t(o_.steps) * o_.accumulate, .steps = o_.steps, .rate = o_.lr,
                .step_columns = "step,mlm_loss,nsp_loss", .reports = "evaluations.csv",
                .report_columns = "step,mlm_loss,nsp_accuracy"});
    if (done() && !held_out_.empty()) result_.held_out = evaluate(model_.network);
    while (!done()) {
      if (report_is_due()) {
        report();
      } else {
        log_.before_step(stop_after);
        step(next_batches());
      }
    }
  }

  bool done() const { return reported_ >= o_.steps; }
  bool report_is_due() const {
    const int64_t step = log_.step();
    return reported_ < step && (step % o_.evaluate_every == 0 || step >= o_.steps);
  }

  // Where the corpus cannot be read, the run still stands before this step.
  std::vector<Examples> next_batches() {
    Position next = next_;
    std::vector<Examples> batches;
    for (int i = 0; i < o_.accumulate; ++i) batches.push_back(next_batch(next));
    next_ = next;
    return batches;
  }

  // What is left of a shard and fills no batch is left out of this epoch.
  Examples next_batch(Position& next) {
    const int64_t batch = o_.batch;
    const auto used_up = [&] {
      return next.example > 0 && next.example + batch > int64_t(examples_.size());
    };
    for (int64_t tries = 0; examples_.empty() || used_up(); ++tries) {
      MB_CHECK(tries <= data_.shards(), "{}: no example can be made of this corpus",
               corpus_.name());
      next.example = 0;
      if (++next.shard == data_.shards()) {
        next.shard = 0;
        ++next.epoch;
      }
      examples_ = data_.shard(next.epoch, next.shard);
    }
    const int64_t begin = next.example;
    next.example = std::min(begin + batch, int64_t(examples_.size()));
    return {examples_.begin() + begin, examples_.begin() + next.example};
  }

  // One optimizer step over --accumulate batches. Every masked word and every pair of them counts
  // alike.
  void step(const std::vector<Examples>& batches) {
    std::vector<size_t> pairs;
    double words = 0;
    for (const Examples& batch : batches) {
      pairs.push_back(batch.size());
      words += masked_words(batch);
    }
    log_.show_step(observer_, "", model_.network);
    for (const BatchPart& part : log_.shards.parts(log_.batches(), pairs)) {
      const auto examples = part.examples_of(batches[part.batch]);
      const double masked = masked_words(examples);
      const auto [mlm, nsp] = forward(pack(examples), part.clock);
      const Tensor loss = scale(mlm, real(masked / words));
      backward(next_sentence_ ? add(loss, scale(nsp, real(part.of_step))) : loss);
      log_.show_gradients();
      const double of_words = masked / masked_words(batches[part.batch]);
      log_.shards.fold(part, {{mlm, of_words}, {nsp, part.of_batch}});
    }
    log_.shards.sum(log_.save_is_due());
    for (size_t i = 0; i < batches.size(); ++i) log(batches[i], log_.shards.losses(i));
    if (o_.clip > 0) log_.optimizer.clip(o_.clip);
    log_.optimizer.step(log_.learning_rate());
    log_.end_step();
  }

  std::pair<Tensor, Tensor> forward(const PretrainingBatch& batch, uint64_t clock) const {
    DropoutClock::current().step = clock;
    const PretrainingOutput out =
        model_.network.forward(batch.batch, batch.masked, batch.originals);
    const Tensor nsp_loss = cross_entropy(out.nsp_logits, batch.not_next);
    if (o_.trace && clock == 0) print_tape(std::cout);
    return {out.mlm_loss, nsp_loss};
  }

  void log(const Examples& batch, std::span<const double> losses) {
    const std::string where = formatted("step {}", log_.step() + 1);
    int64_t tokens = 0;
    for (const PretrainingExample& example : batch)
      tokens += int64_t(example.sequence.ids.size());
    log_.add(losses, {.counts = {masked_words(batch), double(batch.size())},
                      .tokens = tokens,
                      .progress = formatted("{}/{}", where, o_.steps), .where = where});
  }

  PretrainScores evaluate(BertForPreTraining& network) const {
    network.train(false);
    const size_t size = size_t(o_.batch), batches = (held_out_.size() + size - 1) / size;
    // Nats, then right judgements, of each batch: 0 until the ranks' are summed
    std::vector<double> sums(2 * batches);
    const auto visit = [&](std::span<const int32_t> examples) {
      const size_t begin = size_t(examples.front()), i = begin / size;
      if (!ranks().takes(i)) return;
      const PretrainingBatch batch = pack(std::span(held_out_).subspan(begin, examples.size()));
      const PretrainingOutput out = network.forward(batch.batch, batch.masked, batch.originals);
      sums[i] = double(out.mlm_loss.item()) * double(batch.masked.size());
      const std::vector<real> logits = out.nsp_logits.values();
      for (int64_t b = 0; b < batch.not_next.size(); ++b) {
        const real* x = logits.data() + 2 * b;
        sums[batches + i] += (x[1] > x[0]) == (batch.not_next[b] == 1);
      }
    };
    for_each_batch("held-out examples", held_out_.size(), visit, size);
    network.train();
    ranks().sum(std::span(sums));
    const auto middle = sums.begin() + int64_t(batches);
    return {std::accumulate(sums.begin(), middle, 0.0) / masked_words(held_out_),
            std::accumulate(middle, sums.end(), 0.0) / double(held_out_.size())};
  }

  // Losses since the last report and on the held-out text. The model is saved before the state,
  // which counts on it.
  void report() {
    log_.pause();
    std::string row, line = formatted("step {}/{}   training: MLM loss {}", log_.step(), o_.steps,
                                      fixed(log_.mean_loss(0), 4));
    if (next_sentence_) line += "  NSP loss " + fixed(log_.mean_loss(1), 4);
    if (!held_out_.empty()) {
      const PretrainScores scores = result_.held_out = evaluate(model_.network);
      line += "   held out: MLM loss " + fixed(scores.mlm_loss, 4);
      if (next_sentence_) line += "  NSP accuracy " + fixed(scores.nsp_accuracy, 4);
      row = formatted("{},{},{}", log_.step(), float_text(scores.mlm_loss),
                      float_text(scores.nsp_accuracy));
    }
    log_.report(line, row);
    reported_ = log_.step();
    if (ranks().first())
      save_model(o_.out + "/model", config_, tokenizer_, model_.parameters,
                 o_.f16 ? SafeTensorsWriter::As::f16 : SafeTensorsWriter::As::f32);
    log_.save();
  }

  // The yardsticks: the words' frequencies, and a network untrained.
  void print_start() {
    if (held_out_.empty()) return;
    const auto untrained = std::make_unique<PretrainModel>(config_, uint64_t(o_.seed), true);
    result_.untrained = evaluate(untrained->network);
    result_.unigram_entropy = data_.unigram_entropy(held_out_);
    std::cout << formatted("held-out MLM loss: {} by the words' frequencies alone, {} by this "
                           "network untrained\n", fixed(result_.unigram_entropy, 4),
                           fixed(result_.untrained.mlm_loss, 4));
  }

  const PretrainOptions& o_;
  Observer* observer_;
  Corpus corpus_;
  Tokenizer tokenizer_;
  BertConfig config_;
  bool next_sentence_;                              // is it learnt?
  PretrainingData data_;
  std::vector<PretrainingExample> held_out_, examples_;         // examples_: of the shard
  PretrainModel model_;
  Position next_;                                   // the next example to learn from
  int64_t reported_ = 0;                            // the step of the last report
  PretrainResult result_;
  RunLog log_;
};

}  // namespace

PretrainResult pretrain(const PretrainOptions& options,
                        const std::function<void(const Json& sources)>& started,
                        int64_t stop_after, Observer* observer) {
  check(options);
  make_folder(options.out);
  const Json sources = sources_of(settings_of(options));
  check_sources(options.out, sources);
  PretrainRun run(options, sources, observer);
  if (started) started(sources);
  return run.go(stop_after);
}

}  // namespace minbert
