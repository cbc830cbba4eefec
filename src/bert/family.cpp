// The table of BERT and RoBERTa.
//
//   Pooler      RoBERTa's starts new: pre-training leaves none
//   One task    the network with one task's head is Hugging Face's ...ForSequenceClassification
//   Deviations  RoBERTa's classifier has dropout before each of its two matrices; ours only before
//               the second, as BERT's. A <pad> inside a text trains its rows of the embeddings;
//               Hugging Face's stay as they are.
#include "bert/family.h"

#include <algorithm>

#include "engine/names.h"
#include "minbert/error.h"

namespace minbert {
namespace {

const std::vector<Family> families = {
    {.name = "bert",
     .architecture = {"BertForPreTraining", "BertForSequenceClassification", "BertModel"},
     .positions_after_padding = false,
     .pad_token_id = 0,
     .type_vocab_size = 2,
     .layer_norm_eps = 1e-12,
     .next_sentence = true,
     .encoder = "bert.",
     .pooler = {"bert.pooler.dense.", "bert.pooler.dense.", "bert.pooler.dense."},
     .head_of_one_task = "classifier.",
     .others = {}},
    {.name = "roberta",
     .architecture = {"RobertaForMaskedLM", "RobertaForSequenceClassification", "RobertaModel"},
     .positions_after_padding = true,
     .pad_token_id = 1,
     .type_vocab_size = 1,
     .layer_norm_eps = 1e-5,
     .next_sentence = false,
     .encoder = "roberta.",
     .pooler = {"", "classifier.dense.", "roberta.pooler.dense."},
     .head_of_one_task = "classifier.out_proj.",
     .others = {{"cls.predictions.transform.dense.", "lm_head.dense."},
                {"cls.predictions.transform.LayerNorm.", "lm_head.layer_norm."},
                {"cls.predictions.bias", "lm_head.bias"},
                {"cls.seq_relationship.", ""}}}};

}  // namespace

const Family& family_of(const std::string& model_type, const std::string& source) {
  const auto found = std::ranges::find(families, model_type, &Family::name);
  MB_CHECK(found != families.end(),
           "{}: \"model_type\" is \"{}\"; minbert computes {} and its own \"minbert\" only, so "
           "this model would give wrong results", source, model_type, joined(names_of(families)));
  return *found;
}

}  // namespace minbert
