// What a model does with one text, measured for a page that shows it (examples/inside/inside.cpp).
//
//   T tokens   L layers   heads   H hidden size
#pragma once

#include <string>
#include <vector>

#include "minbert/json.h"
#include "minbert/trainer.h"

namespace minbert {

struct InsideOptions {
  std::string text, text_b = {};                // text_b: the second text of a pair, or none
  std::string task = {};                        // its head and its norms; none: as plain LayerNorm
  std::string label = {};                       // of the task, for its loss and the gradients; none
  int tokens = 64;                              // the text is cut to so many
};

// What the page shows, as its script reads it: model, pieces [T], attention [L,heads,T,T], states,
// norms, gains, gradients, tape, predictions, ...; look.cpp has the form of each beside the
// function that makes it. model: the name that the page gives to it. Errors: a task, or a label of
// it, that does not exist; two texts for a task of one, or one for a pair.
Json look_inside(TrainedModel& trained, const std::string& model, const InsideOptions& options);

// One page that needs no network: one model, or two side by side. Error: two models that cut the
// text into other pieces.
std::string inside_page(const std::vector<Json>& models);

double rounded(double x);                       // to five digits
Json rounded(std::vector<double> numbers);
template <class Numbers>
Json rounded(const Numbers& numbers) {
  return rounded(std::vector<double>(numbers.begin(), numbers.end()));
}

}  // namespace minbert
