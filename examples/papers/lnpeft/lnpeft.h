// The items of LayerNorm: A key component in parameter-efficient fine-tuning (ValizadehAslani &
// Liang), for build/bin/layernorm_tuning. "LayerNorm" is output.LayerNorm of every layer, weights
// and biases, as in the document; F is the Fisher information (fisher.h), f the share of LayerNorm
// that is trained.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "papers/document.h"
#include "papers/fisher.h"

namespace minbert {

struct LnPeftOptions : DocumentOptions {
  std::vector<double> lr_full = {3e-4}, lr_part = {3e-3};       // full-model's; the others'
  std::vector<double> fraction = {0.1, 0.4, 1};                 // f of fig2 and fig5
  int fisher_examples = 200;                                    // N of eq.2; 0: all
  std::string corpus = shipped("data/mini/corpus.txt");         // of the held-out MLM loss
};

// The eight components of a layer, in the model's order [LN-PEFT tab.1].
const std::vector<std::string>& layer_components();
// Where a parameter stands in its layer: bert.encoder.layer.LAYER.COMPONENT.KIND. None for one that
// is outside of the layers, or of no component.
struct LayerPlace {
  int layer;
  std::string component, kind;                      // "output.LayerNorm", "weight"
};
std::optional<LayerPlace> layer_place(const std::string& parameter);

// Sets weight and bias of output.LayerNorm to 0 [LN-PEFT sec.2.3], in one layer (-1: in each) and
// there in the `dimensions` where |weight| is largest (0: in all), and gives them back their values
// when it ends.
class DisabledLayerNorm {
 public:
  DisabledLayerNorm(const Parameters& parameters, int layer, int dimensions);
  ~DisabledLayerNorm();
  DisabledLayerNorm(const DisabledLayerNorm&) = delete;
  DisabledLayerNorm& operator=(const DisabledLayerNorm&) = delete;

 private:
  std::vector<std::pair<Tensor, std::vector<real>>> values_;
};

// The share f of all elements of F that is largest, rounded, 1 at least: a mask for each name. Of
// equal elements the first ones are taken.
std::map<std::string, Mask> largest_elements(const ElementValues& F, double f);
// The sum of several F, each divided by its own sum [LN-PEFT sec.3.4]. Error for one without
// information.
ElementValues normalized_sum(const std::vector<ElementValues>& all);

// The document's runs, which its items share. A fine-tuning's result has, beside that of
// Document::fine_tuning, what its function below says.
class LnPeftRuns {
 public:
  LnPeftRuns(Document& document, const LnPeftOptions& options)
      : document_(document), o_(options) {}
  Document& document() const { return document_; }
  const LnPeftOptions& options() const { return o_; }
  Json result(const Run& run) const { return document_.study().result(run); }

  // F before fine-tuning, with the head that a fine-tuning with this seed begins with. In the
  // result: examples; "eq2" and "of means", the mean F of each component, from single examples and
  // from the mean gradients of batches of 16; parameters, each one's sizes. In the folder:
  // fisher.safetensors, F of LayerNorm.
  Run fisher(const Task& task) const;
  std::vector<Run> fishers() const;
  ElementValues norm_fisher(const Task& task) const;            // of a run that is done

  // One full fine-tuning, with changes {layer, component, n, D, L0, L1} and disabled {what, layer,
  // score}; and disabled of the pre-trained model, its score the MLM loss on held-out text.
  Run tuned(const Task& task) const;
  Run pretrained() const;

  // tab2
  static const std::vector<std::string>& modes();               // as --train has them
  const std::vector<double>& rates(const std::string& mode) const;
  Run tuning(const Task& task, const std::string& mode, double lr, int seed) const;
  std::vector<Run> tunings(const std::vector<std::string>& modes) const;
  double best_rate(const Task& task, const std::string& mode) const;  // by the mean over the seeds
  // The leading score for each seed, of one of the task's sets; an undefined one counts 0
  std::vector<double> scores(const Task& task, const std::string& mode, double lr,
                             size_t set = 0) const;
  double score(const Task& task, const Run& run, size_t set = 0) const;

  // fig2, fig5: fine-tuning of a share f of LayerNorm and of the head, at the best rate of
  // layer-norm. kind: individual, global, cross-validated or random.
  std::vector<std::string> mask_kinds() const;      // cross-validated needs a second task
  Run masked(const Task& task, const std::string& kind, double f, int seed) const;
  std::vector<int> seeds() const { return document_.seeds(); }
  TrainOptions train_options(const std::string& mode, double lr, int seed) const;

 private:
  std::map<std::string, Mask> mask_of(const Task& task, const std::string& kind, double f,
                                      int seed) const;
  Document& document_;
  LnPeftOptions o_;
};

using SharedRuns = std::shared_ptr<const LnPeftRuns>;
std::vector<Item> lnpeft_change_items(const SharedRuns& runs);       // fig1 sec2.3
std::vector<Item> lnpeft_fisher_items(const SharedRuns& runs);       // tab1 fig3 fig4
std::vector<Item> lnpeft_tuning_items(const SharedRuns& runs);       // tab2 sec3.1
std::vector<Item> lnpeft_mask_items(const SharedRuns& runs);         // fig2 fig5
Item lnpeft_submission_item(const SharedRuns& runs);                 // tab3
Item lnpeft_mean_item(const SharedRuns& runs);                       // fig6
// All of them in the document's order.
std::vector<Item> lnpeft_items(Document& document, const LnPeftOptions& options);

}  // namespace minbert
