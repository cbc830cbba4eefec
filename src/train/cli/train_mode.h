// What of a model is trained, and at which rate: all of it, the parameters of some kind, or single
// elements [LN-PEFT sec.3.1].
//
// minbert/options.h has the modes (`trained`), and two with an argument:
//   regex:PATTERN      every parameter in whose name it is found: regex:encoder.layer.1[01]
//   mask:FILE          what FILE says, of the heads too: see read_masks
//
// Statistics of norms are no parameters: they follow the data in every mode.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "minbert/module.h"
#include "minbert/options.h"

namespace minbert {

std::string train_modes();                          // their list: "full-model, bitfit, ..."
void check_train_mode(const std::string& mode);     // Error lists the modes

// Sets what is trained from now on. new_pooler: the pooler starts new, as that of a pre-trained
// RoBERTa, and is part of the head. Errors: those of check_train_mode and read_masks; a pattern
// that is found in no name.
void set_trained(Parameters& parameters, const std::string& mode, uint64_t seed,
                 bool new_pooler = false);

// The factor on a parameter's learning rate, from --rate's list of PATTERN=FACTOR: that of the
// first pattern that is found in its name, else 1. Errors: of the list's form; a pattern that is
// found in no name.
using RateOf = std::function<double(const std::string& name)>;
RateOf rates_of(const std::string& list, const Parameters& parameters);

// The FILE of mask:FILE, "" for any other mode.
std::string mask_file(const std::string& mode);
// A safetensors file with a BOOL tensor for every parameter, under its name and of its shape.
// Errors name the file and the tensor: a name that is unknown or missing, another shape or type.
std::map<std::string, Mask> read_masks(const std::string& file, const Parameters& parameters);

}  // namespace minbert
