// Finding inputs, models and runs under an output.
#include "train/cli/outputs.h"

#include <algorithm>
#include <filesystem>

#include "engine/names.h"
#include "minbert/error.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

bool same(const fs::path& a, const fs::path& b) {
  std::error_code missing;
  return fs::equivalent(a, b, missing);
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  for (fs::path at = file.parent_path(); at != at.root_path(); at = at.parent_path())
    if (same(at, folder)) return true;
  return false;
}

bool has_model(const fs::path& folder) {
  return fs::exists(folder / "config.json") || fs::exists(folder / "options.json");
}

}  // namespace

void check_outputs(const OptionTable& table) {
  const auto is_output = [](const Option& o) {
    return o.name() == "--out" || o.name() == "--output";
  };
  const bool trains = std::ranges::count(table.options(), "--resume", &Option::name) > 0;
  for (const Option& out : table.options()) {
    if (!is_output(out)) continue;
    if (!fs::is_regular_file(out.text()) && !fs::is_directory(out.text())) continue;
    const fs::path to = fs::canonical(out.text());
    const bool replaces = fs::is_regular_file(to) && to.extension() != ".html";
    const auto refuse_if = [&](bool bad, const std::string& why) {
      MB_CHECK(!bad, "{} {}: {}; give another name", out.name(), out.text(), why);
    };
    refuse_if(replaces && same(to, "/dev/stdin"), "standard input comes from it");
    for (const Option& in : table.options()) {
      if (is_output(in) || (in.what() != "FILE" && in.what() != "DIR")) continue;
      for (const std::string& path : in.is_words() ? split(in.text()) : std::vector{in.text()})
        refuse_if(same(to, path) || (replaces && lies_in(to, path)),
                  formatted("it is read, by {} {}", in.name(), path));
    }
    refuse_if(!trains && (has_model(to) || (replaces && has_model(to.parent_path()))),
              "a model or a run is there");
  }
}

}  // namespace minbert
