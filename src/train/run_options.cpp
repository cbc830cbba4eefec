// Starting a run, and starting it again.
#include <sys/resource.h>

#include <filesystem>

#include "minbert/autograd.h"
#include "minbert/files.h"
#include "minbert/train_options.h"

namespace minbert {
namespace {

std::string options_file(const std::string& folder) { return folder + "/options.json"; }

// Of this start of the program alone, not of the run.
bool is_of_this_start(const std::string& option) {
  static const std::set<std::string> names = {"--out", "--resume", "--evaluate", "--profile", "--trace", "--check-nan"};
  return names.contains(option);
}
// What does not change what is learnt: a resumed run may be given another.
bool may_differ(const std::string& option) {
  static const std::set<std::string> names = {"--threads", "--device", "--matmul", "--save-every"};
  return names.contains(option);
}

void prepare_folder(const RunOptions& o) {
  MB_CHECK(!o.out.empty(), "--out is empty; expected the name of a folder");
  std::error_code none;
  MB_CHECK(!std::filesystem::exists(o.out, none) || std::filesystem::is_empty(o.out, none),
           "--out {}: exists already. Go on with it by --resume, or choose another folder", o.out);
  make_folder(o.out);
}

}  // namespace

void begin_run(CommandLine& line, const RunOptions& o, bool again, const std::set<std::string>& others) {
  if (again) recall_options(line, o.out, others);
  use_machine(o);
  set_check_nan(o.check_nan);
  if (!again) prepare_folder(o);
}

void remember_options(const CommandLine& line, const std::string& folder) {
  Json stored = Json::object();
  for (const auto& [name, value] : line.values()) stored.set(name, value);
  write_file(options_file(folder), stored.dump() + "\n");
}

void recall_options(CommandLine& line, const std::string& folder, const std::set<std::string>& others) {
  const std::string file = options_file(folder);
  MB_CHECK(std::filesystem::exists(file), "--out {}: there is no run: {} is missing", folder, file);
  std::string conflicts;
  const Json stored = Json::load(file);
  for (const auto& [name, value] : stored.members()) {
    if (is_of_this_start(name)) continue;
    if (!line.given(name)) line.set(name, value.string());
    else if (line.values().at(name) != value.string() && !may_differ(name) && !others.contains(name))
      conflicts +=
          "\n  " + name + " " + line.values().at(name) + ", but the run was started with " + value.string();
  }
  MB_CHECK(conflicts.empty(), "these options contradict {}; leave them out:{}", file, conflicts);
}

int64_t peak_memory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;           // Linux counts in KiB
}

}  // namespace minbert
