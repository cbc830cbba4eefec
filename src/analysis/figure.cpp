// Figures: the CSV file, and running gnuplot on the script of gnuplot_script.cpp.
#include "minbert/figure.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "minbert/error.h"
#include "minbert/files.h"

extern char** environ;

namespace minbert {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string csv(const Figure& figure) {
  std::ostringstream out;
  out << std::setprecision(9) << "panel,curve,x,y,deviation\n";
  for (const Panel& panel : figure.panels)
    for (const Curve& curve : panel.curves) {
      for (size_t i = 0; i < curve.x.size(); ++i) {
        out << csv_field(panel.title) << ',' << csv_field(curve.title) << ',' << curve.x[i] << ',';
        if (std::isfinite(curve.y[i])) out << curve.y[i];
        out << ',';
        if (!curve.deviation.empty()) out << curve.deviation[i];
        out << '\n';
      }
    }
  return out.str();
}

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

TemporaryFile temporary_file(const std::string& text = "") {   // has no name, and is deleted when closed
  TemporaryFile file(std::tmpfile(), std::fclose);
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0;
  MB_CHECK(written, "no temporary file can be written: {}", std::strerror(errno));
  std::rewind(file.get());
  return file;
}

std::string content(const TemporaryFile& file) {
  std::rewind(file.get());
  std::string text;
  char part[4096];
  while (const size_t n = std::fread(part, 1, sizeof part, file.get())) text.append(part, n);
  return text;
}

// gnuplot reads the script and writes the picture through files without names, and runs without a shell: no title or
// folder name can act as a command.
std::string run_gnuplot(const std::string& script) {
  const TemporaryFile in = temporary_file(script), out = temporary_file(), errors = temporary_file();
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_adddup2(&streams, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&streams, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&streams, fileno(errors.get()), STDERR_FILENO);
  char program[] = "gnuplot", defaults[] = "-d";   // -d: without the user's settings
  char* const arguments[] = {program, defaults, nullptr};
  pid_t child = 0;
  const int failure = posix_spawnp(&child, program, &streams, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&streams);
  MB_CHECK(failure == 0, "gnuplot is not installed, or does not start ({})\n  it draws the figures; install it by: "
           "apt-get install gnuplot-nox (Debian, Ubuntu), dnf install gnuplot-minimal (Fedora), "
           "brew install gnuplot (macOS)", std::strerror(failure));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const std::string picture = content(out);
  MB_CHECK(status == 0 && picture.find("</svg>") != picture.npos, "gnuplot failed: {}", content(errors));
  return picture;
}

}  // namespace

void write_figure(const std::string& stem, const Figure& figure) {
  for (const Panel& panel : figure.panels)
    for (const Curve& c : panel.curves)
      MB_CHECK(c.x.size() == c.y.size() && (c.deviation.empty() || c.deviation.size() == c.x.size()),
               "figure {}: curve \"{}\" of panel \"{}\" has {} values of x, {} of y and {} deviations", stem, c.title,
               panel.title, c.x.size(), c.y.size(), c.deviation.size());
  if (const auto folder = std::filesystem::path(stem).parent_path(); !folder.empty()) make_folder(folder.string());
  write_file(stem + ".csv", csv(figure));
  std::error_code none;
  std::filesystem::remove(stem + ".svg", none);    // an older picture would show other numbers
  std::string picture;
  try {
    picture = run_gnuplot(gnuplot_script(figure));
  } catch (const Error& e) {
    static std::set<std::string> said;
    if (said.insert(e.what()).second)
      std::cerr << stem << ".csv has the figure's numbers, but there is no picture: " << e.what() << '\n';
    return;
  }
  write_file(stem + ".svg", picture);
}

}  // namespace minbert
