// Writes one task of a trained model as a plain Hugging Face folder, which other programs open as
// the classifier that it is. What is minbert's own is folded into the weights: plain_model.h.
//
//   $ export --model runs/first --task quora --out quora-bert
//   quora-bert: BertForSequenceClassification with the labels "different questions", "same question"
#include <filesystem>
#include <iostream>

#include "engine/names.h"
#include "files/about.h"
#include "minbert/files.h"
#include "plain_model.h"
#include "train/command_line.h"

using namespace minbert;

namespace {

// What is known of the run that trained it: its options.json, its epochs.csv.
struct RunFacts {
  explicit RunFacts(const std::string& folder)
      : options(Json::load_if_there(folder + "/options.json")) {}
  std::string option(const char* name, const std::string& otherwise) const {
    return options.has(name) ? options[name].string() : otherwise;
  }
  Json options;
};

// README.md, as Hugging Face's hub shows it.
std::string model_card(const BertConfig& config, const std::string& source, const Task& task,
                       const RunFacts& run) {
  std::string card = "---\nlibrary_name: transformers\npipeline_tag: text-classification\n---\n\n";
  card += formatted("# {}\n\nA {} for {}, {}.\n\n", task.title, config.model_type, task.name,
                    config.classifier.problem_type == "regression"
                        ? "which gives a score"
                        : "with the labels " + joined(config.classifier.labels));
  card += "```python\nfrom transformers import AutoModelForSequenceClassification, AutoTokenizer\n"
          "tokenizer = AutoTokenizer.from_pretrained(FOLDER)\n"
          "model = AutoModelForSequenceClassification.from_pretrained(FOLDER)\n";
  card += formatted("inputs = tokenizer({}, return_tensors=\"pt\")\nprint(model(**inputs).logits)\n"
                    "```\n\n",
                    task.is_pair() ? "\"one text\", \"another\"" : "\"a text\"");
  card += formatted("Exported by minbert {} ({}) from {}.\n", version(), build_commit(), source);
  if (run.options.members().empty()) return card;
  card += "\nIts training had these options of `multitask`:\n\n";
  for (const auto& [name, value] : run.options.members())
    card += formatted("- `{} {}`\n", name, value.string());
  return card;
}

}  // namespace

int main(int argc, char** argv) {
  std::string model, task_name, out;
  CommandLine line("export", "Writes one task of a trained model as a plain Hugging Face folder.");
  line.option("--model", model, "a run's folder, or its model/", "DIR");
  line.option("--task", task_name, "which of the model's tasks; not needed where it has one",
              "NAME");
  line.option("--out", out, "the folder to write; must be new or empty", "DIR");
  line.parse(argc, argv);
  return run_program("export", [&] {
    line.need({"--model", "--out"});
    MB_CHECK(!std::filesystem::exists(out) || std::filesystem::is_empty(out),
             "--out {}: there is something in it already; give a new folder", out);
    TrainedModel trained(model);
    const Task& task = trained.task(task_name);
    const RunFacts run(model);
    const auto plain = plain_model(trained, task.name, std::stod(run.option("--dropout", "0.1")));
    const BertConfig& config = plain->network.bert().config();
    save_model(out, config, trained.tokenizer, plain->parameters);
    write_file(out + "/README.md", model_card(config, model, task, run));
    std::cout << formatted("{}: {} with the label{} \"{}\"\n", out,
                           Json::load(out + "/config.json")["architectures"].items()[0].string(),
                           config.classifier.labels.size() == 1 ? "" : "s",
                           joined(config.classifier.labels, "\", \""));
    return 0;
  });
}
