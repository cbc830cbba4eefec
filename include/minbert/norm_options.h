// The name of a normalization with its options, as --norm, --cls-norm and config.json have it:
// "group:groups=8,eps=1e-3".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace minbert {

// An option of a norm: a number from min to max, one of some words, or a text that the norm reads.
struct NormOption {
  const char* name;
  const char* value;                                // the default, or a description of its source
  double min = 0, max = 1e30;
  std::vector<std::string> words = {};
  bool text = false;
  bool in_config = false;                           // config.json has its default: the key `value`
};

// The arguments of a norm: its sizes in the network, and the values of its options.
struct NormOptions {
  int64_t hidden;                                   // columns of x
  int64_t tasks = 0;                                // number of task ids
  double layer_norm_eps = 1e-12;                    // of config.json
  std::map<std::string, std::string> values = {};   // of each option of the norm, from make()

  // otherwise: if the default is a description, and no value was given
  double number(const std::string& option, double otherwise = 0) const;
};

std::string norm_name(const std::string& norm);                  // "group" of "group:groups=8"
// A comma and word= continue a norm's options: "layer,group:groups=8,eps=1e-5,rms" is three norms.
std::vector<std::string> split_norms(const std::string& list);
// The values of a norm's options, the given ones and the defaults. Error: an option it does not
// have, or given twice; a value out of its range.
std::map<std::string, std::string> norm_values(const std::string& norm,
                                               const std::vector<NormOption>& options);
std::string options_text(const std::vector<NormOption>& options);           // "groups=32, eps=1e-5"

}  // namespace minbert
