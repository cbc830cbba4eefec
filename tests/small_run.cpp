#include "small_run.h"

#include "../data/tsv_line.h"

namespace minbert::test {

constexpr const char* words[] = {"good", "bad", "fine", "dull", "film", "plot", "who", "why",
                                 "a",    "the", "is",   "not",  "very", ".",    "?"};

Quiet::Quiet() : out_(std::cout.rdbuf(text_.rdbuf())), error_(std::cerr.rdbuf(text_.rdbuf())) {}
Quiet::~Quiet() { std::cout.rdbuf(out_), std::cerr.rdbuf(error_); }

SmallWorld::SmallWorld(pid_t owner)
    : owner_(owner), root_(std::filesystem::temp_directory_path() / formatted("minbert_small_world_{}", owner)) {
  if (owner_ != getpid()) return;
  std::filesystem::create_directories(root_ / "data");
  std::string vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const char* word : words) vocab += word + std::string("\n");
  write_file(path("vocab.txt"), vocab);
  const std::map<std::string, int> sizes = {{"sst", 10}, {"quora", 9}, {"sts", 7}, {"cfimdb", 6}};
  for (const auto& [name, rows] : sizes) {
    const Task task = parse_tasks(name)[0];
    write(task, Split::train, rows);
    write(task, Split::dev, 8);
    if (task.name != "sts") write(task, Split::test, 5);
  }
  BertConfig config;
  config.vocab_size = 20, config.max_position_embeddings = 16, config.max_length = 16;
  config.hidden_size = 8, config.intermediate_size = 16, config.num_hidden_layers = 1,
  config.num_attention_heads = 2;
  config.initializer_range = 0.3;
  const Model start(config, 5, true, std::vector<HeadSpec>(), 0);
  save_model(path("start"), config, Tokenizer(path("vocab.txt"), true), start.parameters);
}

SmallWorld::~SmallWorld() {
  if (owner_ == getpid()) std::filesystem::remove_all(root_);
}

std::string SmallWorld::path(const std::string& name) const { return (root_ / name).string(); }

TrainOptions SmallWorld::options() const {
  TrainOptions o;
  o.model = path("start"), o.data = path("data"), o.out = path("out");
  o.epochs = 2, o.batch = 4, o.accumulate = 3;  // 8 batches and 3 steps an epoch
  o.lr = 0.01, o.weight_decay = 0.01, o.warmup = 0.3, o.schedule = Schedule::linear, o.clip = 1;
  return o;
}

RunResult SmallWorld::run(TrainOptions o, const std::string& name, int64_t stop_after, const std::string& norm,
                          int seed) {
  const Quiet quiet;
  o.norm = norm;
  o.seed = seed;
  const RunResult result = train(Experiment(o), o, path(name), stop_after);
  printed = quiet.text();
  return result;
}

void SmallWorld::write(const Task& task, Split split, int rows) const {
  Random random(7, formatted("{}/{}", task.name, int(split)));
  const auto text = [&] {
    std::string words_of_it;
    for (uint64_t i = 0, n = 1 + random.below(6); i < n; ++i)
      words_of_it += (i ? " " : "") + std::string(words[random.below(std::size(words))]);
    return words_of_it;
  };
  std::vector<std::string> header = {"", task.id_column};
  header.insert(header.end(), task.text_columns.begin(), task.text_columns.end());
  if (split != Split::test) header.push_back(task.label_column);
  std::string all = tsv_line(header);
  for (int row = 0; row < rows; ++row) {
    std::vector<std::string> fields = {std::to_string(row), formatted("{}-{}-{}", task.name, int(split), row)};
    for (size_t i = 0; i < task.text_columns.size(); ++i) fields.push_back(text());
    if (split != Split::test) fields.push_back(std::to_string(row % (int(task.high) + 1)));
    all += tsv_line(fields);
  }
  write_file(data_file(path("data"), task, split), all);
}

Json no_command_line() {
  return Json::object({{"command", "build/bin/multitask"},
                       {"date", "2026-01-01T00:00:00Z"},
                       {"options", Json::object({{"--batch", 4}})},
                       {"data", Json::object()},
                       {"environment", Json::object({{"OpenBLAS", "0.3"}})}});
}

Weights weights_in(const std::string& file) {
  const SafeTensors tensors(file);
  Weights all;
  for (const auto& [name, entry] : tensors.entries())
    if (!name.starts_with("optimizer.")) all[name] = tensors.read(name);
  return all;
}
Weights weights(const std::string& run) { return weights_in(run + "/model/model.safetensors"); }

std::string without_seconds(const std::string& file) {
  std::istringstream in(read_file(file));
  std::string kept;
  for (std::string line; std::getline(in, line);) kept += line.substr(0, line.rfind(',')) + "\n";
  return kept;
}

Contents contents(const std::string& run) {
  Contents all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
    if (!entry.is_regular_file()) continue;
    const std::string file = entry.path().string(), name = std::filesystem::relative(file, run).string();
    if (name == "lock") continue;                   // names the process
    std::string& bytes = all[name] = read_file(file);
    if (name.ends_with("steps.csv") || name.ends_with("epochs.csv") || name.ends_with("evaluations.csv"))
      bytes = without_seconds(file);
    if (!name.ends_with("state.safetensors")) continue;
    const SafeTensors state(file);
    uint64_t size = 0;
    for (const auto& [tensor, e] : state.entries()) size = std::max(size, e.end);
    bytes = Json::parse(state.metadata().at("position"), file).set("seconds", 0).dump() +
            bytes.substr(bytes.size() - size);
  }
  return all;
}

void check_equal(const Contents& one, const Contents& other) {
  CHECK(one.size() == other.size());
  for (const auto& [name, bytes] : one) {
    INFO(name);
    REQUIRE(other.count(name));
    CHECK(bytes == other.at(name));
  }
}

Checked<Checked<std::string>> csv(const std::string& file) {
  Checked<Checked<std::string>> rows;
  std::istringstream in(read_file(file));
  for (std::string line, field; std::getline(in, line);) {
    std::istringstream fields(line);
    for (rows.emplace_back(); std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

Checked<std::string> column(const std::string& file, const std::string& name) {
  const auto rows = csv(file);
  const auto place = std::ranges::find(rows[0], name);
  REQUIRE_MESSAGE(place != rows[0].end(), name);
  Checked<std::string> values;
  for (size_t i = 1; i < rows.size(); ++i) values.push_back(rows[i][size_t(place - rows[0].begin())]);
  return values;
}

}  // namespace minbert::test
