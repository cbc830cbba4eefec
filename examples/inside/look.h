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
  bool without_weights = false;                 // the page cannot compute, and is smaller
};

// What the page shows, as its script reads it: model, pieces [T], attention [L,heads,T,T], states,
// norms, gains, gradients, tape, predictions, ...; look.cpp has the form of each beside the
// function that makes it. model: the name that the page gives to it. If the page carries the
// weights, the model's are rounded first, so that what is measured is what the page computes.
// Errors: a task, or a label of it, that does not exist; two texts for a task of one, or one for a
// pair.
Json look_inside(TrainedModel& trained, const std::string& model, const InsideOptions& options);

// One page that needs no network: one model, or two side by side. Error: two models that cut the
// text into other pieces.
std::string inside_page(const std::vector<Json>& models);

// ---- Its parts

// The text as the task has it, or as one sequence. *cut: was it too long?
Example example_of(const TrainedModel& trained, const Task* task, const InsideOptions& options,
                   bool* cut = nullptr);
// What two steps of AdamW move: of the task with its label, and of another task. The model is as
// before.
Json steps_json(TrainedModel& trained, const InsideOptions& options);
// Why a page cannot compute with a model of these parameters and texts cut like this; "" if it can.
std::string why_not_carried(const BertConfig& config, const Tokenizer& tokenizer,
                            const std::vector<Parameter>& parameters);
void round_to_half(const Parameters& parameters);       // to the 16 bits in which they travel
// What a page computes with: the parameters, the vocabulary, the tasks; and the hidden states
// [T,H] of the embeddings and of each layer, to compare. most_tokens: longer texts are cut.
Json carried_json(const TrainedModel& trained, const std::vector<Parameter>& parameters,
                  const std::vector<Tensor>& states, int most_tokens);

// Of each view the sources' lines that compute what it shows, {file, line, text} each, and under
// "FILE:LINE" those of each operation of the tape. Empty texts where the sources are not there.
Json code_json(const std::string& norm, const Json& tape);

double rounded(double x);                       // to five digits
Json rounded(std::vector<double> numbers);
template <class Numbers>
Json rounded(const Numbers& numbers) {
  return rounded(std::vector<double>(numbers.begin(), numbers.end()));
}

}  // namespace minbert
