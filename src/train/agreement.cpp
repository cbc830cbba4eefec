// What the ranks work on, compared: settings as text, data and parameters by their fingerprints.
#include "train/agreement.h"

#include "engine/ranks.h"
#include "files/fingerprint.h"
#include "minbert/error.h"

namespace minbert {
namespace {

std::string text_of(const Parameters& parameters) {
  uint64_t h = 0;
  std::vector<real> room;
  for (const Parameter& p : parameters.all()) h = fingerprint(p.value.on_host(room), h);
  return std::to_string(h);
}

void compare(const std::map<std::string, std::string>& texts, const char* advice) {
  std::string differs;
  for (const auto& [name, text] : texts) {
    const std::vector<std::string> all = ranks().gather(text);
    for (size_t r = 1; r < all.size(); ++r)
      if (all[r] != all[0])
        differs += formatted("\n  {}: rank 0 has {}, rank {} has {}", name, all[0], r, all[r]);
  }
  MB_CHECK(differs.empty(), "the ranks differ; of data and parameters these are fingerprints:{}{}",
           differs, advice);
}

}  // namespace

void compare_start(std::map<std::string, std::string> settings, const Json& sources,
                   const Parameters& parameters) {
  if (ranks().size() == 1) return;
  settings["the data"] = fingerprint_text(sources.dump());
  settings["the parameters"] = text_of(parameters);
  compare(settings, "");
}

void compare_parameters(int64_t step, const Parameters& parameters) {
  if (ranks().size() == 1) return;
  compare({{formatted("the parameters after step {}", step), text_of(parameters)}},
          "\n  A bit has flipped in the memory of one of them, or their processors differ. Go on "
          "from what was saved, by --resume");
}

}  // namespace minbert
