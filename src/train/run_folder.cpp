// Saving and loading the state of a run.
#include "train/run_folder.h"

#include <filesystem>
#include <sstream>

#include "minbert/files.h"
#include "minbert/safetensors.h"

namespace minbert {
namespace {

std::string state_file(const std::string& folder) { return folder + "/state.safetensors"; }

// Everything of a state that may be no number.
std::vector<std::pair<std::string, Tensor>> tensors_of(const Parameters& parameters,
                                                       const Optimizer& optimizer) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const Parameter& item : parameters.all()) tensors.emplace_back(item.name, item.value);
  for (const auto& [name, values] : optimizer.moments())
    tensors.emplace_back("optimizer." + name, values);
  return tensors;
}

}  // namespace

CsvFile::CsvFile(const std::string& file, const std::string& header, int64_t rows) : file_(file) {
  std::istringstream old(rows > 0 && std::filesystem::exists(file) ? read_file(file) : "");
  std::string text = header + "\n", line;
  std::getline(old, line);                          // its header
  for (int64_t row = 0; row < rows && std::getline(old, line); ++row) text += line + "\n";
  write_file(file, text);
  out_.open(file, std::ios::app);
}

void CsvFile::row(const std::string& line) { out_ << line << '\n'; }

void CsvFile::flush() {
  out_.flush();
  MB_CHECK(out_, "{}: cannot be written; is the disk full?", file_);
  sync_to_disk(file_);
}

void check_finite(const Parameters& parameters, const Optimizer& optimizer, int64_t step,
                  const std::string& advice) {
  std::vector<real> room;
  for (const auto& [name, values] : tensors_of(parameters, optimizer))
    if (const auto v = non_finite(values.on_host(room)))
      fail(formatted("{} has the value {} after step {}\n  {}", name, *v, step, advice));
}

// One file, so that parameters, moments and position can never be of different steps.
void save_state(const std::string& folder, const Parameters& parameters, Optimizer& optimizer,
                const Json& position) {
  SafeTensorsWriter writer;
  writer.metadata["position"] = position.dump();
  for (const auto& [name, values] : tensors_of(parameters, optimizer))
    writer.add(name, values, SafeTensorsWriter::As::real_type);
  writer.add("optimizer.steps", {int64_t(optimizer.steps().size())},
             std::span<const int64_t>(optimizer.steps()));
  writer.write(state_file(folder));
}

Json saved_position(const std::string& folder) {
  const SafeTensors file(state_file(folder));
  const auto position = file.metadata().find("position");
  MB_CHECK(position != file.metadata().end(),
           "{}: this is not the state of a run (no position in it)", file.file());
  return Json::parse(position->second, file.file());
}

Json load_state(const std::string& folder, const Parameters& parameters, Optimizer& optimizer) {
  const SafeTensors file(state_file(folder));
  for (const auto& [name, values] : tensors_of(parameters, optimizer)) {
    const auto found = file.entries().find(name);
    MB_CHECK(found != file.entries().end() && found->second.shape == sizes_of(values.shape()),
             "{}: there is no {} {} in it\n  this state is not of the model that the options "
             "describe; is it another run's?", file.file(), name, values.shape());
    file.read(name, values);
  }
  std::vector<int64_t> steps = file.read_integers("optimizer.steps");
  MB_CHECK(steps.size() == optimizer.steps().size(),
           "{}: optimizer.steps counts {} parameters, but the model has {}", file.file(),
           steps.size(), optimizer.steps().size());
  optimizer.steps() = std::move(steps);
  return saved_position(folder);
}

bool has_state(const std::string& folder) { return std::filesystem::exists(state_file(folder)); }

void remove_unfinished(const std::string& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (is_temporary(entry.path().filename().string())) found.push_back(entry.path());
  for (const auto& file : found) std::filesystem::remove(file);
}

}  // namespace minbert
