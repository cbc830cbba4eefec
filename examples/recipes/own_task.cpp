// A task of one's own: which look has the one who does it? "A fat fox is being followed by an old wolf.": old
//
// The program writes two files with a heading and TABs, as one would have them from elsewhere,
//
//   text                                               look
//   A fat fox is being followed by an old wolf.        old
//
// and a Task with named fields says what is in them; include/minbert/task.h has all fields. It needs no entry in the
// library's table: that is for --tasks, and for programs that open a saved model (src/README.md, A task).
//
// Each sentence has two of three looks, and both orders: whoever counts words knows two looks, and not whose they are.
// Yardsticks: the most frequent look is right a third of the time; the look that is named first in 3 of 4, since one
// sentence in four is "A ... is being followed by a ...".
#include <map>
#include <regex>
#include <sstream>

#include "recipe.h"

using namespace minbert;

struct Row {
  std::string text, look, first;                    // first: the look that is named first
};

// The sentences of STS about two animals, each once
std::vector<Row> rows_of_sts() {
  static const std::regex hunt("(|There is |By )an? (fat|old|white) .* an? (fat|old|white) .*", std::regex::icase);
  std::map<std::string, Row> rows;
  std::istringstream file(read_file(mini + "/sts-train.csv"));
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    for (std::string text; std::getline(fields, text, '\t');)
      if (std::smatch m; std::regex_match(text, m, hunt)) {
        const bool passive = m.str(1).empty() && text.find(" is being ") != text.npos;
        rows[text] = {text, m[passive ? 3 : 2], m[2]};
      }
  }
  std::vector<Row> list;
  for (const auto& [text, row] : rows) list.push_back(row);
  return list;
}

void write_tsv(const std::string& file, const std::vector<Row>& rows) {
  std::string lines = "text\tlook\n";
  for (const Row& row : rows) lines += row.text + "\t" + row.look + "\n";
  write_file(file, lines);
}

int main(int argc, char** argv) {
  return run_recipe("own_task", argc, argv, [](uint64_t seed) {
    const std::string folder = "build/recipes/looks";
    make_folder(folder);
    std::vector<Row> rows = rows_of_sts();
    Random(1, "split").shuffle(rows);
    const std::vector<Row> dev(rows.begin(), rows.begin() + 300), train_rows(rows.begin() + 300, rows.end());
    write_tsv(folder + "/looks-train.tsv", train_rows);
    write_tsv(folder + "/looks-dev.tsv", dev);
    double first = 0, most = 0;
    std::map<std::string, int> counts;
    for (const Row& row : dev) {
      first += (row.look == row.first) / double(dev.size());
      most = std::max(most, ++counts[row.look] / double(dev.size()));
    }

    const Task task = {.name = "looks", .title = "Looks", .high = 2,
                       .text_columns = {"text"}, .label_column = "look",
                       .files = {"looks-train.tsv", {"looks-dev.tsv"}},
                       .prediction_stem = "looks",
                       .label_words = {"fat", "old", "white"}};
    const TaskSets looks = read_sets(task, folder);
    MB_CHECK(looks.dev.examples.size() == dev.size(), "{} of {} rows were read", looks.dev.examples.size(), dev.size());
    Model model = Model::from_pretrained(mini_bert, {task}, {.seed = seed, .head_dropout = 0.1});
    const Logits logits = [&](const Batch& batch) { return model.network.forward(batch, 0); };
    Optimizer adamw(model.parameters, {});
    for (int epoch = 0; epoch < 2; ++epoch)
      train(looks, logits, [&](double eta) { adamw.step(eta); }, 3e-4, seed + uint64_t(epoch));
    model.network.train(false);
    expect("accuracy of the most frequent look", most, 0.33, 0.45);
    expect("accuracy of the look named first", first, 0.65, 0.85);
    expect("accuracy of BERT", dev_score(looks, logits), 0.95, 1);
  });
}
