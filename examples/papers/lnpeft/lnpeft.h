// The items of LayerNorm: A key component in parameter-efficient fine-tuning (ValizadehAslani &
// Liang), for build/bin/layernorm_tuning. "LayerNorm" is output.LayerNorm of every layer, weights
// and biases, as in the document; F is the Fisher information (statistics/fisher.h), f the share of LayerNorm
// that is trained.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/text.h"
#include "papers/document.h"
#include "papers/statistics/fisher.h"

namespace minbert {

struct LnPeftOptions : DocumentOptions {
  Numbers lr_full = {3e-4}, lr_part = {3e-3};       // full-model's; the others'
  Numbers fraction = {0.1, 0.4, 1};                 // f of fig2 and fig5
  int fisher_examples = 200;                                    // N of eq.2; 0: all
  std::string corpus = shipped("data/mini/corpus.txt");         // of the held-out MLM loss
};

// The eight components of a layer, in the model's order [LN-PEFT tab.1].
const Names& layer_components();
// Where a parameter stands in its layer: bert.encoder.layer.LAYER.COMPONENT.KIND. None for one that
// is outside of the layers, or of no component.
struct LayerSite {
  int layer;
  std::string component, kind;                      // "output.LayerNorm", "weight"
};
std::optional<LayerSite> layer_site(const std::string& parameter);

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

// A way of fine-tuning, as --train has it, and a rate.
struct LnPeftSetting {
  std::string mode;
  double lr;
};

// The document's runs, which its items share. A fine-tuning's result has, beside that of
// Document::fine_tuning, what its function below says.
struct LnPeftRuns {
  Document& document;
  LnPeftOptions o;
  const std::vector<Task>& tasks() const { return document.tasks(); }

  // F before fine-tuning, with the head that a fine-tuning with this seed begins with, of examples
  // drawn by the seed. In the result: examples; eq2, the mean F of each component; parameters, each
  // one's sizes. In the folder: fisher.safetensors, F of LayerNorm.
  Run fisher(const Task& task, int seed) const;
  ElementValues norm_fisher(const Task& task, int seed) const;            // of a run that is done

  // Tab.2's full fine-tuning at measured_rate(), whose result also has changes {layer, component, n,
  // D, L0, L1} and disabled {what, layer, score}; that of the first seed for single layers, too.
  Run tuned(const Task& task, int seed) const {
    return tuning(task, {trained::full_model, measured_rate()}, seed);
  }
  auto all_tuned() const {
    const auto run = [runs = *this](const Task& task, int seed) { return runs.tuned(task, seed); };
    return RunGrid(run, tasks(), document.seeds());
  }
  double measured_rate() const { return o.lr_full[o.lr_full.size() / 2]; }
  std::string tuned_text() const {
    return formatted("full fine-tuning of each task by {}, lr {}", counted(o.seeds, "seed"), measured_rate());
  }
  // Disabled of the pre-trained model: its score is the MLM loss on held-out text; of all layers
  // together also nats, the loss of each sequence.
  Run pretrained() const;
  // D of all components of "two random models", and of one such and the pre-trained model,
  // "pre-training" [LN-PEFT sec.2].
  Run new_models(int seed) const;

  // tab2
  static const Names& modes();
  const Numbers& rates(const std::string& mode) const;
  std::vector<LnPeftSetting> settings(const Names& modes) const;
  Run tuning(const Task& task, const LnPeftSetting& setting, int seed) const;
  auto tunings(const Names& modes) const {
    const auto run = [runs = *this](const DevSet& set, const LnPeftSetting& setting, int seed) {
      return runs.tuning(set.task, setting, seed);
    };
    return RunGrid(run, dev_sets(document.tasks()), settings(modes), document.seeds());
  }
  // By the mean over the seeds on the first half of the dev rows
  LnPeftSetting best(const Task& task, const std::string& mode) const;
  // Its scores, one a seed, as a cell's points; an undefined one counts 0.
  ItemReport::Cell scores(const DevSet& set, const LnPeftSetting& setting, DevRows rows = DevRows::all) const;
  // Where one of several rates is chosen, one half of the dev rows chooses and the other half judges.
  bool chooses() const { return o.lr_full.size() > 1 || o.lr_part.size() > 1; }
  DevRows judging() const { return chooses() ? DevRows::second_half : DevRows::all; }

  // "% of full" of tab.2 and tab.3: what a mode trains, beside all parameters
  ItemReport::Cell share(const LongTable& printed, const std::string& mode) const;

  // fig2, fig5: fine-tuning of a share f of LayerNorm and of the head, at the best rate of
  // layer-norm, by the Fisher information of its own seed. kind: individual, global,
  // cross-validated or random; f = 1: layer-norm itself.
  Names mask_kinds() const;      // cross-validated needs a second task
  Run masked(const Task& task, const std::string& kind, double f, int seed) const;
  TrainOptions train_options(const std::string& mode, double lr, int seed) const;
  std::map<std::string, Mask> mask_of(const Task& task, const std::string& kind, double f,
                                      int seed) const;

 private:
  Run with_changes(Run tuning, const Task& task, bool of_layers) const;   // see tuned()
  OptionValues model_alone() const;       // what a run on no task depends on
};

// {what, layer, score} of the model with LayerNorm whole and disabled, in each layer ("1": the first) and in
// "every" one. measure(layer): the score, and more if there is more.
Json disabled(const Parameters& parameters, int layers, const std::function<Json(const std::string& layer)>& measure);
// The leading score on a set; none for similarities that differ by less than collapse_warning allows:
// of outputs that are one but for rounding a correlation is noise.
std::optional<double> score_of(MultitaskBert& network, const Task& task, const Dataset& set);

Item lnpeft_change_item(const LnPeftRuns& runs);                     // fig1
Item lnpeft_disabled_item(const LnPeftRuns& runs);                   // sec2.3
std::vector<Item> lnpeft_fisher_items(const LnPeftRuns& runs);       // tab1 fig3 fig4
std::vector<Item> lnpeft_tuning_items(const LnPeftRuns& runs);       // tab2 sec3.1 facts
std::vector<Item> lnpeft_mask_items(const LnPeftRuns& runs);         // fig2 fig5
Item lnpeft_submission_item(const LnPeftRuns& runs);                 // tab3
Item lnpeft_mean_item(const LnPeftRuns& runs);                       // fig6
// All of them
std::vector<Item> lnpeft_items(Document& document, const LnPeftOptions& options);

}  // namespace minbert
