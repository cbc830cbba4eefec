// What a program must not write over: what it reads, a model, a run.
#pragma once

#include "train/cli/option_table.h"

namespace minbert {

// Error where an output of the command line (--out, --output) is one of its inputs, whatever its
// name: a link, say; or is a model's or a run's folder, or one of its files. A table with --resume
// has a folder of its own, for which begin_run looks.
void check_outputs(const OptionTable& table);

}  // namespace minbert
