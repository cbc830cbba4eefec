// Data and a BERT so small that a training run takes milliseconds, and what a run leaves on the disk.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "minbert/checkpoint.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "minbert/random.h"
#include "minbert/safetensors.h"
#include "minbert/trainer.h"
#include "train/run_folder.h"

namespace minbert::test {

// What is printed while it lives goes to text() instead.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf *out_, *error_;
};

// A temporary folder with data/ (10, 9 and 7 rows to learn from), vocab.txt and the model start/.
class SmallWorld {
 public:
  // owner: the process that made the folder, and removes it.
  explicit SmallWorld(pid_t owner = getpid());
  ~SmallWorld();

  std::string path(const std::string& name) const;

  // Everything that could make a resumed run differ is on: dropout, accumulation with a rest,
  // warm-up, ...
  TrainOptions options() const;

  // Trains in the folder NAME; what it printed is in `printed`.
  RunResult run(TrainOptions o, const std::string& name, int64_t stop_after = 0,
                const std::string& norm = "conditional-layer", int seed = 1);
  std::string printed;

 private:
  void write(const Task& task, Split split, int rows) const;

  pid_t owner_;
  std::filesystem::path root_;
};

// What run_start() says, for a run without a command line.
Json no_command_line();

// Every tensor of real numbers in a file, but for those of the optimizer.
using Weights = std::map<std::string, std::vector<real>>;
Weights weights_in(const std::string& file);
Weights weights(const std::string& run);

// A CSV file without its last column, which holds seconds.
std::string without_seconds(const std::string& file);

// Everything a run wrote, by file name, but for the seconds it took.
using Contents = std::map<std::string, std::string>;
Contents contents(const std::string& run);

// Two runs wrote the same files.
void check_equal(const Contents& one, const Contents& other);

// A vector whose [] is checked: where something is missing a test fails, and the others go on.
template <class T>
struct Checked : std::vector<T> {
  using std::vector<T>::vector;
  const T& operator[](size_t i) const { return this->at(i); }
};

Checked<Checked<std::string>> csv(const std::string& file);

// The column of this name, without the name.
Checked<std::string> column(const std::string& file, const std::string& name);

}  // namespace minbert::test
