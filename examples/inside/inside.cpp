// Shows what a model does with a text, on one page that needs no network: word pieces, attention,
// every token's way through the layers, norms, gradients, the tape, predictions.
//
// A small BERT travels along, rounded to 16 bits, and the page computes with it: forward.js.
//
//   $ inside --model runs/first --text "A lovely film." --task sst --label 4 --out inside.html
//   runs/first: 7 tokens -> inside.html (2.5 MB)
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "inside/look.h"
#include "minbert/files.h"
#include "runs/predicted.h"
#include "runs/recorder.h"
#include "runs/run_record.h"
#include "train/cli/command_line.h"

using namespace minbert;

int main(int argc, char** argv) {
  InsideOptions o;
  std::string model, compare, out = "inside.html";
  CommandLine line("inside", "Shows on one page what a model does with a text.");
  line.option("--model", model, "a Hugging Face folder, or a run's", "DIR");
  line.option("--compare", compare,
              "a second model, side by side: before fine-tuning, or with another norm", "DIR");
  line.option("--text", o.text, "the text", "TEXT");
  line.option("--text-b", o.text_b, "the second text of a pair", "TEXT");
  line.option("--task", o.task, "as this task sees it: for its head, and for a conditional norm",
              "NAME");
  line.option("--label", o.label, "the task's label for the text: adds the gradients of its loss",
              "VALUE");
  line.option("--tokens", o.tokens, "longer texts are cut to this many tokens", Range{5});
  line.option("--without-weights", o.without_weights,
              "the page does not carry the model: it is smaller, and cannot compute");
  line.option("--out", out, "the page to write", "FILE");
  MachineOptions machine;
  add_machine_options(line, machine);
  line.closing("Writes one page, which needs no network.",
               {"--model data/mini/bert --text \"The film is [MASK].\" --out inside.html",
                "--model runs/first --task sst --label 4 --text \"A lovely film.\""});
  line.parse(argc, argv);
  return run_program("inside", [&] {
    use_machine(machine);
    line.need({"--model", "--text"});
    for (const std::string& text : {o.text, o.text_b}) check_is_text(text);
    check_folder_of(out);
    std::vector<Json> models;
    for (const std::string& folder : {model, compare}) {
      if (folder.empty()) continue;
      const std::string run = one_run(folder);
      TrainedModel trained(run);
      InsideOptions options = o;
      if (!models.empty() && !o.task.empty() &&
          !std::ranges::count(trained.tasks, o.task, &Task::name)) {
        std::cerr << folder << " has no head for " << o.task
                  << ": shown without the task, and without gradients\n";
        options.task = options.label = "";
      }
      models.push_back(look_inside(trained, folder, options));
      models.back().set("recorded", recorded_json(run));
      o.task = models[0]["task"].string();         // the only one of a model with a --label
      if (models.back()["cut"].boolean())
        std::cerr << folder << ": the text is cut to " << models.back()["pieces"].items().size()
                  << " tokens; --tokens takes more\n";
    }
    namespace fs = std::filesystem;
    if (fs::exists("build/papers/index.html"))       // make papers
      models[0].set("papers", fs::proximate("build/papers", fs::absolute(out).parent_path()).string());
    const std::string page = inside_page(models);
    write_file(out, page);
    std::cout << model << (compare.empty() ? "" : " and " + compare) << ": "
              << models[0]["pieces"].items().size() << " tokens -> " << out << " ("
              << formatted("{}", double(page.size() / 10000) / 100) << " MB)\n";
    return 0;
  });
}
