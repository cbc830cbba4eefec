// The items of The Benefits of Normalization Layers in Transformers, for
// build/bin/transformer_norms: the original Transformer's encoder, new, with different norms, sizes
// and learning rates, on the Financial PhraseBank.
//
//   L(W)   the cross-entropy of a batch under the weights W
//   x_k    [T,H] the input of sublayer k; an encoder of n layers has 2n of them, attention and
//          feed-forward in turn, and x_2n is what the last one puts out
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/dataset.h"
#include "minbert/sampling.h"
#include "papers/document.h"

namespace minbert {

inline const Names nt_width_names = {"narrow", "normal", "wide"};
enum class NtRead { cls, mean };                        // the classifier reads [CLS], or the mean

struct NtOptions : DocumentOptions {
  Names norms = {"layer", "batch", "none"};
  Numbers lr = {10, 1, 0.5, 0.1, 0.01, 0.001, 0.0001};
  Numbers layers = {1, 5};              // shallow, deep
  Numbers widths = {16, 32, 64};        // H: narrow, normal, wide
  Numbers depths = {1, 2, 4, 8, 16, 24};            // of the gradient slide
  Positions positions = Positions::learned;
  NtRead read = NtRead::cls;
  std::string vocab;                                // a vocab.txt; none: one of the training sentences
  int vocab_size = 4000, batch = 32;
  int measure_every = 4;                                // steps between points of fig5 and fig6

  NtOptions();                                      // the reduced grid
};
extern const Grids nt_grids;
// Errors: a rate that is no number above 0; not two numbers of layers and three widths, of 4 heads;
// one epoch, from which no verdict can be told.
void check_nt_options(const NtOptions& options);

// ---- Verdicts (verdict.cpp)

struct EpochLoss {
  // Of the losses of its batches. Not finite: training stopped in this epoch
  double mean, deviation;
  int64_t batches;
};

// What became of a run [NT tab.1-6]. The slides say "converged", and not what that is; ours is learned.
enum class Convergence {
  learned,          // in an epoch the loss is clearly below the entropy (verdict.cpp)
  ran,              // flat: it falls, and is that of a model that ignores the sentence, or above
  not_converged,    // neither, or it ends above twice the entropy
  diverged          // a loss was not finite
};
inline const Names convergence_names = {"learned", "ran", "not-converged", "diverged"};
// losses: of the beginning, then of each epoch. entropy: of the classes' shares in the training set,
// in nats: the loss of a model that knows them and nothing of the sentence. Error: none, or one alone
// that is finite.
Convergence convergence(const std::vector<EpochLoss>& losses, double entropy);
double entropy_of_shares(const std::vector<int64_t>& counts);
// The same of a result of train_nt.
std::vector<EpochLoss> epoch_losses(const Json& result);
Convergence convergence(const Json& result);
inline bool learned(const Json& result) { return convergence(result) == Convergence::learned; }
inline bool fell(const Json& result) { return convergence(result) <= Convergence::ran; }
// The first epoch, from 1, in which the training loss is clearly below the entropy, or that of
// validation below dev_entropy: the entropy of its own classes' shares, which no constant answer is
// below. epochs + 1: in none of so many, or a loss was not finite.
int epochs_to_learn(const Json& result, int epochs);
int epochs_to_learn_on_dev(const Json& result, int epochs, double dev_entropy);
// Its texts in a table: the verdict, the mean losses of the first and of the last epoch.
Names outcome(const Json& result);
std::optional<double> last_accuracy(const Json& result);    // on dev; none: the loss is not finite
bool is_nt_norm(const std::string& norm);           // layer, batch or none: one of the slides' own
// The median, and of several values also the least and the largest: "0.82 (0.38 to 0.95)"
std::string median_text(const Numbers& values, int digits);

// What several seeds make of one setup, and how a report shows it.
struct NtCell {
  std::vector<Json> results;
  std::vector<Convergence> verdicts;
  std::optional<bool> printed = {};                 // "Converged"
  bool notes_agreement = true;                      // shown() adds "as printed" or "not as printed"
  void add(const Json& result);
  size_t count(Convergence worst) const;            // seeds that are so, or better
  // The verdict of more than half of the seeds is the printed one. worst: of what counts as converged
  bool agrees(Convergence worst = Convergence::learned) const;
  ItemReport::Cell shown() const;                   // its verdicts
  ItemReport::Cell accuracy() const;                // of the seeds whose loss is finite, above its verdicts
};

// ---- Data and network (data.cpp)

struct NtData {
  Task task;
  Tokenizer tokenizer;
  Dataset train, dev;
  double entropy, dev_entropy;                      // of the shares of train's and of dev's classes
  double majority;                          // share of dev's sentences of train's largest class
  LoadReport read;                          // of the file: rows that were skipped or cut
};
// Errors: those of the files; a class without a sentence to train on.
NtData read_nt_data(const NtOptions& options, const std::string& vocab_file);

// A BertModel and a linear layer on the last hidden state of [CLS], or on the mean of the sentence's.
class NtClassifier : public Module {
 public:
  NtClassifier(const BertConfig& config, int classes, bool reads_mean = false);
  Tensor forward(const Batch& batch) const;         // [B,classes]
  const BertModel& bert() const { return bert_; }
  Tensor of_hidden(const Tensor& last_hidden_state, const Batch& batch) const;       // [B,classes]

 private:
  BertModel bert_;
  Linear head_;
  bool reads_mean_;
};
using NtModel = WithParameters<NtClassifier>;

// What a network and its training depend on, beside the options.
struct NtSetup {
  int layers, width;
  std::string norm;
  Placement placement = Placement::post;
  int seed = 11711;
  double lr = 0;
  double uniform = 0;                       // weights from U(-uniform, uniform); 0: Kaiming, Xavier
  std::optional<NtRead> read = {};          // none: what the options say
  NtRead read_by(const NtOptions& o) const { return read.value_or(o.read); }
  std::string label() const;                // "1x64-layer-lr0.1-seed11711"
};
// The configuration of its encoder [NT model].
BertConfig nt_config(const NtOptions& options, const NtSetup& setup, const Tokenizer& tokenizer);

// ---- Training (training.cpp, landscape.cpp)

NtModel new_network(const NtOptions& options, const NtData& data, const NtSetup& setup);
std::vector<TaskBatch> batches_of(const NtOptions& options, const NtData& data, int seed,
                                  int epoch);

// max over a of |L(W) - L(W - a ∇L)| and ‖∇L(W) - ∇L(W - a ∇L)‖, a = i lr / 11 for i = 1..10
// [NT fig.5] [NT fig.6]. Infinite where a loss or a gradient on the way is not finite.
struct LossChange {
  double loss, gradient;
};
// Leaves weights, buffers and gradients as they were; gradients must be clear.
LossChange loss_change(NtModel& model, const Batch& batch, const Indices& classes, double lr);

// Trains with plain SGD until the epochs are over or a loss is not finite. The result: entropy;
// epochs, of each {mean, deviation, batches, dev_loss, dev_accuracy}; left_finite, the epoch, or
// null; with measure_every also steps, loss and gradient, the points of fig5 and fig6 on the first
// batch. Throws Interrupted; such a run of minutes begins anew. record_in: a folder for sites.csv
// (runs/recorder.h); "": nothing is recorded
Json train_nt(const NtOptions& options, const NtData& data, const NtSetup& setup,
              int measure_every, const std::string& record_in = "");
// ‖∇L(W)‖ of the new network, the mean over the first batches [NT fig.2] [NT fig.3].
double first_gradient(const NtOptions& options, const NtData& data, const NtSetup& setup);

// ---- The gradient slide (gradient.cpp)

// dL/dx_k through all sublayers, twice: by the tape, and by one vector-Jacobian product after
// another [NT gradient]:
//
//   post  x_{k+1} = N(y_k), y_k = x_k + F(x_k)     g ← g ∂N/∂y_k     g ← g (1 + ∂F/∂x_k)
//   pre   x_{k+1} = x_k + F(N(x_k))                g ← g + g ∂F(N(x_k))/∂x_k
struct GradientWalk {
  Numbers tape;                         // ‖dL/dx_k‖, k = 0..2n
  struct Factor {
    int sublayer;                                   // k
    std::string name;                               // "norm" or "1 + F'"; "term" or "sum" with pre
    double gradient;                                // ‖g‖ after it; of a term, its own
  };
  std::vector<Factor> factors;                      // from the last sublayer down
  // max over k of ‖dL/dx_k by products - by the tape‖ / ‖dL/dx_k‖
  double difference;
};
GradientWalk walk_gradient(NtModel& model, const Batch& batch, const Indices& classes);

// ---- Runs and items

class NtRuns {
 public:
  NtRuns(Document& document_of, const NtOptions& options) : document(document_of), o(options) {}
  Document& document;
  const NtOptions o;
  std::vector<int> seeds() const { return document.seeds(); }
  Json result(const Run& run) const { return document.result(run); }
  // The cell of the runs of all seeds
  template <class RunOf>
  NtCell cell(const RunOf& run_of) const {
    NtCell cell;
    cell.notes_agreement = o.judges();
    for (const int seed : seeds()) cell.add(result(run_of(seed)));
    return cell;
  }

  const NtData& data() const;                       // read once; what is left out is said

  Run vocabulary() const;               // of the training sentences; before all others, if none is given
  Run training(const NtSetup& setup) const;         // recorded, where learning shows it
  Run landscape_training(const NtSetup& setup) const;           // with the points of fig5, fig6
  Run first_gradient(NtSetup setup) const;
  Run gradient_walk(const NtSetup& setup) const;
  // The share of the validation sentences that the largest class has, and its standard error: a
  // network that is not above it learned nothing.
  LongTable yardsticks() const;
  // What every item with training differs in by its data, and which conditions of data/papers hold
  void differs(ItemReport& report) const;
  // The setup of fig4, fig5 and fig6: 1 layer, wide, a rate at which the slides' all converge
  NtSetup curve_setup(const std::string& norm, int seed) const;
  // What learning shows: LayerNorm, narrow, at the same rate
  NtSetup recorded_setup(int layers, Placement placement, int seed) const;

 private:
  Run run(const std::string& kind, const NtSetup& setup, double cost) const;
  std::string vocab_file() const;
  mutable std::optional<NtData> data_;
};

using SharedNtRuns = std::shared_ptr<const NtRuns>;
Item nt_modules_item(const SharedNtRuns& runs);                      // fig1
Item nt_gradient_item(const SharedNtRuns& runs);                     // gradient
Item nt_placement_item(const SharedNtRuns& runs);                    // placement
Item nt_learning_item(const SharedNtRuns& runs);                     // learning
std::vector<Item> nt_table_items(const SharedNtRuns& runs);          // tab1 ... tab6
std::vector<Item> nt_first_gradient_items(const SharedNtRuns& runs); // fig2 fig3
Item nt_initialisation_item(const SharedNtRuns& runs);               // init
std::vector<Item> nt_curve_items(const SharedNtRuns& runs);          // fig4 fig5 fig6
// All of them
std::vector<Item> nt_items(Document& document, const NtOptions& options);

}  // namespace minbert
