// The pre-training loop                                                    Devlin et al. 2019, sec. 3.1, app. A.2
//
//   L = L_MLM + L_NSP      L_MLM: the mean over the masked words of a step, L_NSP: over its pairs of sentences
#include "minbert/pretrainer.h"

#include <cmath>
#include <filesystem>
#include <iostream>

#include "clock.h"
#include "loss_reader.h"
#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/corpus.h"
#include "minbert/interrupt.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "minbert/profile.h"
#include "minbert/vocabulary.h"
#include "progress.h"
#include "run_folder.h"

namespace minbert {
namespace {

// Where a run stands, between two steps.
struct Place {
  int64_t epoch = 0, shard = 0, example = 0;        // the next example to learn from
  int64_t step = 0, batches = 0;                    // batches: the clock of the dropout masks
  double seconds = 0;
  double mlm_sum = 0, nsp_sum = 0;                  // of the losses since the last report,
  int64_t summed = 0;                               // so many
};

Json to_json(const Place& p) {
  return Json::object().set("epoch", p.epoch).set("shard", p.shard).set("example", p.example).set("step", p.step)
      .set("batches", p.batches).set("seconds", p.seconds).set("mlm_sum", p.mlm_sum).set("nsp_sum", p.nsp_sum)
      .set("summed", p.summed);
}
Place from_json(const Json& j) {
  return {j["epoch"].integer(), j["shard"].integer(), j["example"].integer(), j["step"].integer(),
          j["batches"].integer(), j["seconds"].number(), j.get("mlm_sum", 0.0), j.get("nsp_sum", 0.0),
          j.get("summed", int64_t(0))};
}

// --init brings a vocabulary; else --vocab names one, or --vocab-size has one made from the corpus.
Tokenizer make_tokenizer(const PretrainOptions& o) {
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

BertConfig make_config(const PretrainOptions& o, const Tokenizer& tokenizer) {
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

struct Network {
  Network(const BertConfig& config, uint64_t seed, bool with_values)
      : network(config), parameters(network, {seed, config.initializer_range, config.initialisation, with_values}) {}
  BertForPreTraining network;
  Parameters parameters;
};

class PretrainRun {
 public:
  explicit PretrainRun(const PretrainOptions& options);
  PretrainResult go(int64_t stop_after);

 private:
  PretrainingBatch next_batch();
  void take_step(TrainingProgress& progress);
  PretrainScores evaluate(BertForPreTraining& network) const;
  void report(TrainingProgress& progress);
  std::string what_is_kept() const;
  void save();

  const PretrainOptions& o_;
  Corpus corpus_;
  Tokenizer tokenizer_;
  BertConfig config_;
  PretrainingData data_;
  std::vector<PretrainingExample> held_out_, examples_;         // examples_: of the shard at work
  Network model_;
  Optimizer optimizer_;
  Place at_;
  LossReader losses_;
  SaveClock clock_;
  PretrainResult result_;
  std::unique_ptr<CsvFile> steps_csv_, evaluations_csv_;
  double since_ = 0;                                // training since then is not in the seconds of at_ yet
};

PretrainRun::PretrainRun(const PretrainOptions& o)
    : o_(o), corpus_(o.corpus), tokenizer_(make_tokenizer(o)), config_(make_config(o, tokenizer_)),
      data_(corpus_, tokenizer_, {o.max_length, o.whole_words, !o.no_nsp, o.page, o.held_out, uint64_t(o.seed)}),
      held_out_(data_.held_out()), model_(config_, uint64_t(o.seed), o.init.empty() && !has_state(o.out)),
      optimizer_(model_.parameters,
                 {.kind = o.optimizer, .weight_decay = o.weight_decay, .momentum = o.momentum}),
      clock_(o.save_every) {
  remove_unfinished(o.out);
  std::cout << format("corpus: {} documents, {} MB, {} held-out examples; vocabulary: {} tokens; {} parameters\n",
                      corpus_.documents(), fixed(double(corpus_.bytes()) * 1e-6, 1), held_out_.size(),
                      tokenizer_.size(), model_.parameters.count());
  if (has_state(o.out)) {
    at_ = from_json(load_state(o.out, model_.parameters, optimizer_));
    std::cout << format("going on after step {}\n", at_.step);
  } else if (!o.init.empty()) {
    const std::string folder = model_folder(o.init);
    print_report(std::cout, load_all_layers(folder, config_, model_.parameters), o.init);
    print_placement(std::cout, folder, BertConfig::load(folder + "/config.json"), o.placement);
  }
  examples_ = data_.shard(at_.epoch, at_.shard);
  steps_csv_ = std::make_unique<CsvFile>(o.out + "/steps.csv", "step,mlm_loss,nsp_loss,learning_rate,tokens,seconds",
                                         at_.batches);
  evaluations_csv_ = std::make_unique<CsvFile>(
      o.out + "/evaluations.csv", "step,mlm_loss,nsp_accuracy,seconds",
      at_.step / o.evaluate_every + (at_.step >= o.steps && o.steps % o.evaluate_every != 0));
}

// What is left of a shard and fills no batch is left out of this epoch.
PretrainingBatch PretrainRun::next_batch() {
  const int64_t batch = o_.batch;
  const auto used_up = [&] { return at_.example > 0 && at_.example + batch > int64_t(examples_.size()); };
  for (int64_t tries = 0; examples_.empty() || used_up(); ++tries) {
    MB_CHECK(tries <= data_.shards(), "{}: no example can be made of this corpus", corpus_.name());
    at_.example = 0;
    if (++at_.shard == data_.shards()) at_.shard = 0, ++at_.epoch;
    examples_ = data_.shard(at_.epoch, at_.shard);
  }
  const int64_t begin = at_.example;
  at_.example = std::min(begin + batch, int64_t(examples_.size()));
  return pack(std::span(examples_).subspan(size_t(begin), size_t(at_.example - begin)));
}

void PretrainRun::take_step(TrainingProgress& progress) {
  const double lr = o_.lr * schedule_factor(o_.schedule, at_.step, o_.steps, o_.warmup);
  profile_resume();
  std::vector<PretrainingBatch> batches;            // of the step: some 20 bytes a token
  double words = 0, pairs = 0;                      // in all of them: each counts alike, whatever batch it is in
  for (int i = 0; i < o_.accumulate; ++i) {
    batches.push_back(next_batch());
    words += double(batches.back().masked.size()), pairs += double(batches.back().not_next.size());
  }
  for (const PretrainingBatch& batch : batches) {
    DropoutClock::mine() = {uint64_t(o_.seed), uint64_t(at_.batches)};
    const PretrainingOutput out = model_.network.forward(batch.batch, batch.masked, batch.originals);
    const Tensor nsp = cross_entropy(out.nsp_logits, batch.not_next);
    Tensor loss = scale(out.mlm_loss, real(double(batch.masked.size()) / words));
    if (!o_.no_nsp) loss = add(loss, scale(nsp, real(double(batch.not_next.size()) / pairs)));
    if (o_.trace && at_.batches == 0) print_tape(std::cout);
    backward(loss);
    ++at_.batches;
    at_.seconds += now() - since_, since_ = now();
    const int64_t number = at_.step + 1, tokens = batch.batch.tokens();
    const std::string rest = format("{},{},{}", exact(lr), tokens, fixed(at_.seconds, 3));
    losses_.add({out.mlm_loss, nsp}, [=, this, &progress](const std::vector<double>& values) {
      const double mlm = values[0], next = values[1];
      MB_CHECK(std::isfinite(mlm + next), "the loss became {} in step {}\n  {}", mlm + next, number, what_is_kept());
      at_.mlm_sum += mlm, at_.nsp_sum += next, ++at_.summed;
      steps_csv_->row(format("{},{},{},{}", number, exact(mlm), exact(next), rest));
      progress.update(format("step {}/{}", number, o_.steps), mlm + next, tokens, number);
    });
  }
  if (o_.clip > 0) optimizer_.clip(o_.clip);
  optimizer_.step(lr);
  ++at_.step;
}

PretrainScores PretrainRun::evaluate(BertForPreTraining& network) const {
  const NoGrad no_tape;
  network.train(false);
  double nats = 0, words = 0, right = 0;
  Progress progress("held-out examples", int64_t(held_out_.size()));
  for (size_t begin = 0; begin < held_out_.size(); begin += size_t(o_.batch)) {
    const size_t count = std::min(size_t(o_.batch), held_out_.size() - begin);
    const PretrainingBatch batch = pack(std::span(held_out_).subspan(begin, count));
    const PretrainingOutput out = network.forward(batch.batch, batch.masked, batch.originals);
    nats += double(out.mlm_loss.item()) * double(batch.masked.size()), words += double(batch.masked.size());
    const std::vector<real> logits = out.nsp_logits.values();
    for (int64_t b = 0; b < batch.not_next.size(); ++b) {
      const real* x = logits.data() + 2 * b;
      right += (x[1] > x[0]) == (batch.not_next[b] == 1);
    }
    progress.update(int64_t(begin + count));
  }
  network.train();
  return {nats / words, right / double(held_out_.size())};
}

void PretrainRun::report(TrainingProgress& progress) {
  losses_.flush();
  at_.seconds += now() - since_;
  const double count = double(std::max<int64_t>(1, at_.summed));
  std::string line = format("step {}/{}   training: MLM loss {}", at_.step, o_.steps, fixed(at_.mlm_sum / count, 4));
  if (!o_.no_nsp) line += "  NSP loss " + fixed(at_.nsp_sum / count, 4);
  if (!held_out_.empty()) {
    result_.held_out = evaluate(model_.network);
    line += "   held out: MLM loss " + fixed(result_.held_out.mlm_loss, 4);
    if (!o_.no_nsp) line += "  NSP accuracy " + fixed(result_.held_out.nsp_accuracy, 4);
    evaluations_csv_->row(format("{},{},{},{}", at_.step, exact(result_.held_out.mlm_loss),
                                 exact(result_.held_out.nsp_accuracy), fixed(at_.seconds, 1)));
  }
  progress.line(line);
  at_.mlm_sum = at_.nsp_sum = 0, at_.summed = 0;
  check_finite(model_.parameters, optimizer_, at_.step, what_is_kept());
  save_model(o_.out + "/model", config_, tokenizer_, model_.parameters,                // before the state, which says
             o_.f16 ? SafeTensorsWriter::As::f16 : SafeTensorsWriter::As::f32);        // that it is there
  save();
  since_ = now();
}

std::string PretrainRun::what_is_kept() const {
  return format("{}/model keeps the last good weights. Try a smaller --lr or a longer --warmup; --check-nan names the "
                "operation", o_.out);
}

void PretrainRun::save() {
  losses_.flush();
  check_finite(model_.parameters, optimizer_, at_.step, what_is_kept());
  steps_csv_->flush(), evaluations_csv_->flush();
  save_state(o_.out, model_.parameters, optimizer_, to_json(at_));
  clock_.saved();
}

PretrainResult PretrainRun::go(int64_t stop_after) {
  if (!held_out_.empty()) {
    if (at_.step == 0 && o_.init.empty()) result_.untrained = evaluate(model_.network);
    else result_.untrained = evaluate(std::make_unique<Network>(config_, uint64_t(o_.seed), true)->network);
    result_.unigram_entropy = data_.unigram_entropy(held_out_);
    std::cout << format("held-out MLM loss: {} by the words' frequencies alone, {} by this network untrained\n",
                        fixed(result_.unigram_entropy, 4), fixed(result_.untrained.mlm_loss, 4));
    if (at_.step == 0 && !o_.init.empty()) {
      const PretrainScores start = evaluate(model_.network);
      std::cout << format("as it starts from {}: held-out MLM loss {}, NSP accuracy {}\n", o_.init,
                          fixed(start.mlm_loss, 4), fixed(start.nsp_accuracy, 4));
    }
  } else {
    std::cout << "nothing is held out (--held-out 0, or fewer than 4 documents): no held-out loss\n";
  }
  model_.network.train();
  TrainingProgress progress(o_.steps, at_.step);
  since_ = now();
  const int64_t start = at_.step;
  while (at_.step < o_.steps && !result_.interrupted) {
    take_step(progress);
    if (at_.step % o_.evaluate_every == 0 || at_.step == o_.steps) report(progress);
    else if (clock_.due()) at_.seconds += now() - since_, save(), since_ = now();
    result_.interrupted = at_.step < o_.steps && (interrupted() || (stop_after > 0 && at_.step - start >= stop_after));
  }
  if (start >= o_.steps && !held_out_.empty()) result_.held_out = evaluate(model_.network);
  losses_.flush();
  progress.finish();
  if (result_.interrupted) {
    save();
    std::cout << format("stopped after step {}; go on with --resume --out {}\n", at_.step, o_.out);
  }
  result_.steps = at_.step;
  return result_;
}

}  // namespace

PretrainResult pretrain(const PretrainOptions& options, const std::function<void()>& started, int64_t stop_after) {
  make_folder(options.out);
  if (options.profile) profile_start();
  std::unique_ptr<PretrainRun> run;
  try {
    run = std::make_unique<PretrainRun>(options);
  } catch (const std::exception&) {                 // what cannot start leaves nothing behind
    if (!has_state(options.out))
      for (const char* file : {"vocab.txt", "steps.csv", "evaluations.csv"})
        std::filesystem::remove(options.out + "/" + file);
    throw;
  }
  if (started) started();
  const PretrainResult result = run->go(stop_after);
  if (options.profile) profile_report(std::cout);
  return result;
}

}  // namespace minbert
