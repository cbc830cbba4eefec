// A trained model's one task as a plain BERT: the same function, in the terms that Hugging Face's
// BertForSequenceClassification (RobertaForSequenceClassification) has.
//
//   conditional LayerNorm   as one task t it is LayerNorm: γ + γ_t, β + β_t              [CLN eq.4]
//   Quora's logit z         two logits, 0 and z: softmax(0, z) = (1 - σ(z), σ(z))
//   norm of [CLS]           in evaluation, if it is affine, N(h) = A h + b:
//                             before the pooler   W N(h) + c = (W A) h + (W b + c)
//                             after its tanh      the same of the head's W and c
//   All of the table are affine then: their statistics are fixed
#pragma once

#include <string>

#include "minbert/trainer.h"

namespace minbert {

// The model, whose only task is foreign_task. Error, with the reason, where no plain BERT has the
// function. head_dropout: before the classifier, should training go on elsewhere.
std::unique_ptr<Model> plain_model(TrainedModel& trained, const std::string& task,
                                   double head_dropout);

}  // namespace minbert
