// Labels texts with a trained model. One text a line on stdin, a pair TAB-separated; label and
// probability (or the score) on stdout, TAB-separated, line by line.
//
//   $ predict --model runs/first --task sst <<< "A lovely film."
//   4	0.71
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "files/progress.h"
#include "minbert/files.h"
#include "minbert/trainer.h"
#include "text/lines.h"
#include "train/command_line.h"

using namespace minbert;

namespace {

// The line as an example of the task, tokenized as the training data was.
Example example_of(const std::string& line, int64_t number, const Task& task,
                   const TrainedModel& trained, bool* cut) {
  MB_CHECK(std::count(line.begin(), line.end(), '\t') == task.is_pair(),
           "standard input:{}: {} takes {}", number, task.name,
           task.is_pair() ? "two texts with one TAB between them" : "one text, without a TAB");
  const size_t tab = line.find('\t');
  std::vector<std::string> texts = {line.substr(0, tab)};
  if (task.is_pair()) texts.push_back(line.substr(tab + 1));
  return make_example(task, texts, trained.tokenizer, trained.dataset_options(), cut);
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder, task_name;
  int batch = 32;
  CommandLine line("predict",
                   "Labels each line of standard input, even an empty one, with a trained model.");
  line.option("--model", folder, "a run's folder, or its model/", "DIR");
  line.option("--task", task_name, "which of the model's tasks; not needed where it has one", "NAME");
  line.option("--batch", batch, "lines at a time; 1 answers every line at once, as on a terminal",
              Range{1});
  MachineOptions machine;
  add_machine_options(line, machine);
  line.parse(argc, argv);
  return run_program("predict", [&] {
    use_machine(machine);
    line.need({"--model"});
    TrainedModel trained(folder);
    const Task& task = trained.task(task_name);
    if (isatty(STDIN_FILENO)) {
      std::cerr << (task.is_pair() ? "two texts a line, with a TAB between them"
                                   : "one text a line")
                << "; Ctrl-D ends\n";
      if (!line.given("--batch")) batch = 1;
    }
    Progress progress("", file_size("/dev/stdin"), Progress::Where::beside_results);
    Lines lines(std::cin, "standard input");
    std::string text;
    int64_t cut = 0;
    while (std::cin) {
      Dataset data{"standard input", {}};
      while (int(data.examples.size()) < batch && lines.next(text)) {
        bool was_cut = false;
        data.examples.push_back(example_of(text, lines.number(), task, trained, &was_cut));
        cut += was_cut;
      }
      if (data.examples.empty()) break;
      const Predictions p = predict(trained.model.network, task, data);
      for (size_t i = 0; i < p.values.size(); ++i)
        if (task.kind == TaskKind::regression) std::printf("%.3f\n", p.values[i]);
        else std::printf("%s\t%.4f\n", task.label_text(p.values[i]).c_str(), p.probabilities[i]);
      std::fflush(stdout);
      if (progress.due()) progress.show(lines.bytes(), formatted("{} lines", lines.number()));
    }
    progress.finish();
    if (cut > 0)
      std::cerr << "standard input: " << cut << " of " << lines.number() << " lines cut to "
                << trained.config.max_length << " tokens\n";
    return 0;
  });
}
