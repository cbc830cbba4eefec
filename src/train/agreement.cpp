// Fingerprints of what the ranks work on, compared.
#include "agreement.h"

#include <algorithm>

#include "engine/ranks.h"
#include "minbert/files.h"
#include "minbert/json.h"

namespace minbert {

uint64_t fingerprint(const Parameters& parameters) {
  uint64_t h = 0;
  std::vector<real> room;
  for (const Parameter& p : parameters.all()) h = fingerprint(p.value.on_host(room), h);
  return h;
}

void compare_start(std::map<std::string, std::string> settings,
                   const std::function<uint64_t()>& data, const Parameters& parameters) {
  if (ranks().size() == 1) return;
  settings["the program"] = std::to_string(fingerprint(read_file("/proc/self/exe"), 0));
  settings["the data"] = std::to_string(data());
  settings["the parameters"] = std::to_string(fingerprint(parameters));
  Json mine = Json::object();
  for (const auto& [name, value] : settings) mine.set(name, value);
  const std::vector<std::string> all = ranks().gather(mine.dump());
  const Json first = Json::parse(all[0], "rank 0");
  std::string differs;
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    const Json other = Json::parse(all[r], formatted("rank {}", r));
    for (const auto& [name, value] : first.members())
      if (const std::string text = other.get(name, std::string("nothing")); text != value.string())
        differs += formatted("\n  {}: rank 0 has {}, rank {} has {}", name, value.string(), r, text);
  }
  MB_CHECK(differs.empty(), "the ranks would not do the same work (of program, data and parameters: fingerprints):{}",
           differs);
}

void compare_parameters(int64_t step, const Parameters& parameters) {
  if (ranks().size() == 1) return;
  const std::vector<std::string> all = ranks().gather(std::to_string(fingerprint(parameters)));
  const auto votes = [&](const std::string& one) { return std::ranges::count(all, one); };
  const std::string most = *std::ranges::max_element(all, {}, votes);          // of several, the lowest rank's
  for (size_t r = 0; r < all.size(); ++r)
    MB_CHECK(all[r] == most, "after step {} rank {} has other parameters than rank {}: a bit has flipped in the memory "
             "of one of them, or their processors differ. Go on from what was saved, by --resume", step, r,
             std::ranges::find(all, most) - all.begin());
}

}  // namespace minbert
