// Every public header.
#pragma once

#include <string>

#include "minbert/autograd.h"
#include "minbert/batch.h"
#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/choice.h"
#include "minbert/config.h"
#include "minbert/dataset.h"
#include "minbert/device.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "minbert/metrics.h"
#include "minbert/model.h"
#include "minbert/module.h"
#include "minbert/nn.h"
#include "minbert/norm.h"
#include "minbert/observer.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "minbert/options.h"
#include "minbert/pretrainer.h"
#include "minbert/random.h"
#include "minbert/safetensors.h"
#include "minbert/sampling.h"
#include "minbert/shipped.h"
#include "minbert/task.h"
#include "minbert/tensor.h"
#include "minbert/tokenizer.h"
#include "minbert/trainer.h"
#include "minbert/vocabulary.h"

namespace minbert {

std::string version();                            // "0.9.0"

}  // namespace minbert
