// The one program that is installed: it starts the others, as git does its commands.
//
//   $ minbert --help
//   $ minbert predict --model runs/first --task sst "A lovely film."
//
// They stand in libexec/minbert beside its bin/, or in the repository in the same folder.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "engine/names.h"
#include "engine/text.h"
#include "files/about.h"
#include "minbert/error.h"

using namespace minbert;
namespace fs = std::filesystem;

int main(int argc, char** argv) {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path installed = own.parent_path() / "libexec/minbert";
  const fs::path folder = fs::exists(installed) ? installed : own;
  std::set<std::string> programs;
  for (const auto& entry : fs::directory_iterator(folder))
    programs.insert(entry.path().filename().string());
  programs.erase("minbert");
  const std::string command = argc > 1 ? argv[1] : "--help", call = shell_word(argv[0]);
  if (command == "--version") {
    std::cout << about("minbert") << '\n';
  } else if (command == "--help" || command == "-h") {
    std::cout << "BERT for who reads the code beside papers.\nUsage: " << call
              << " COMMAND [OPTIONS]\n\nCommands, each with a --help of its own:\n" << std::flush;
    for (const std::string& name : programs)
      if (std::system(formatted("printf '  %-24s' {}; {} --help | head -n 1", name,
                                shell_word((folder / name).string())).c_str()) != 0) return 1;
  } else if (!programs.contains(command)) {
    std::cerr << formatted("minbert: there is no command \"{}\"; the nearest is {}\n"
                           "{} --help lists the commands.\n", command,
                           nearest(command, {programs.begin(), programs.end()}), call);
    return 2;
  } else {
    setenv(front_variable, call.c_str(), 1);
    execv((folder / command).c_str(), argv + 1);
    std::perror(command.c_str());
    return 1;
  }
  return 0;
}
