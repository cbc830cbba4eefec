// What a model does with one text, measured for a page that shows it (examples/inside/inside.cpp).
//
//   T tokens   L layers   heads   H hidden size
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "minbert/trainer.h"

namespace minbert {

struct InsideOptions {
  std::string text, text_b = {};                // text_b: the second text of a pair, or none
  std::string task = {};                        // its head and its norms; none: as plain LayerNorm
  std::string label = {};                       // of the task, for its loss and the gradients; none
  int tokens = 64;                              // the text is cut to so many
};

struct Inside {
  std::string model, norm, formula, placement;
  int64_t layers, heads, hidden;
  std::vector<std::string> tasks;               // the names of the model's tasks

  std::string text, text_b, task, label;        // label: in words
  std::vector<std::string> pieces;              // [T]
  std::vector<int32_t> ids, segments;           // [T]
  bool cut = false;                             // the text has more than T tokens

  std::vector<real> attention;                  // [L,heads,T,T], 0 between sentences
  std::vector<real> value_norms;                // |v_j| [L,heads,T]
  // Of each layer's attention block (examples/inside/mixing.h): |y_{i<-j}| [L,T,T], and how much of
  // y_i comes from other tokens [L,T]. Or why there are none
  std::vector<real> contributions, mixing;
  std::string no_mixing;

  // The tokens behind the embeddings, behind every layer, behind a last norm: each [T]
  struct State {
    std::string name;
    std::vector<double> to_start, to_previous;  // cosines
    std::vector<double> length;                 // |x|
    std::vector<double> gradient;               // |dL/dx|; none without a label
  };
  std::vector<State> states;

  // Rows before or after a norm.
  struct Rows {
    std::vector<double> mean, variance;         // [rows]
    std::vector<int> counts;                    // of values in 64 bins from -range to range
    double largest;                             // of all |x_i|
    int dimension;                              // its i
  };
  struct NormRows {
    std::string module;
    double range;                               // values beyond it count in the outer bins
    Rows before, after;
  };
  std::vector<NormRows> norms;

  // A norm's parameters: weight, bias [H], task_weight, task_bias [tasks,H]
  struct Gains {
    std::string module;
    std::vector<std::pair<std::string, std::vector<real>>> parameters;
  };
  std::vector<Gains> gains;

  double loss = 0;                              // for the label
  struct Gradient {
    std::string parameter;
    double gradient, value;                     // |g|, |theta|
  };
  std::vector<Gradient> gradients;              // none without a label

  // An operation of this forward's tape.
  struct Node {
    std::string operation, module, shape, file;
    int line;
    double gradient;                            // |dL/dy|; NaN without a label
    struct Input {
      int node;                                 // -1: a leaf
      std::string name, shape;                  // name: of a parameter
    };
    std::vector<Input> inputs;
  };
  std::vector<Node> tape;

  struct Prediction {
    std::string task, text, not_run;            // text: in words; not_run: why there is none
    std::vector<std::pair<std::string, double>> choices;    // each class and its probability
  };
  std::vector<Prediction> predictions;          // of every head
};

// model: the name that the page gives to it. Errors: a task, or a label of it, that does not exist;
// two texts for a task of one, or one for a pair.
Inside look_inside(TrainedModel& trained, const std::string& model, const InsideOptions& options);

// One page that needs no network: one model, or two side by side. Error: two models that cut the
// text into other pieces.
std::string inside_page(std::span<const Inside> models);

}  // namespace minbert
