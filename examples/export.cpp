// Writes one task of a trained model as a plain Hugging Face folder, which other programs open as
// the classifier that it is. What is minbert's own is folded into the weights: models/plain_model.h.
//
//   $ export --model runs/first --task quora --out quora-bert
//   quora-bert: BertForSequenceClassification with the labels "different questions", "same question"
#include <filesystem>
#include <iostream>

#include "engine/names.h"
#include "files/about.h"
#include "minbert/files.h"
#include "models/plain_model.h"
#include "runs/run_record.h"
#include "train/cli/command_line.h"

using namespace minbert;

namespace {

std::string list_of(const std::string& title, const Json& object) {
  std::string list = "\n## " + title + "\n\n";
  for (const auto& [name, value] : object.members())
    list += formatted("- `{}` {}\n", name, value.is_string() ? value.string() : value.dump(-1));
  return list;
}

// What run.json says of the run that trained the model.
std::string of_training(const Json& run, const Task& task) {
  std::string text;
  if (run.has("scores") && run["scores"]["dev"].has(task.name)) {
    text += formatted("\n## Scores\n\nOn the dev set, of one run with the seed {}, after epoch {}:\n\n",
                      run["options"]["--seed"].dump(-1), run["best_epoch"].dump(-1));
    for (const auto& [metric, score] : run["scores"]["dev"][task.name].members()) {
      text += formatted("- {}: {}", metric, score_text(score.number_if()));
      for (const auto& [name, scores] : run["yardsticks"].members())
        text += formatted("; {}: {}", name, score_text(scores[task.name][metric].number_if()));
      text += "\n";
    }
  }
  if (run.has("data") && run["data"].has(task.name))
    text += list_of("Data: rows, bytes and fingerprint of each file", run["data"][task.name]);
  return text + list_of("Where it was trained", run["environment"]) +
         list_of("Options of multitask", run["options"]);
}

// special_tokens_map.json. A mask that takes the white space before it has to say so.
Json special_tokens(const TokenizerKind& kind) {
  const auto& [pad, unk, cls, sep, mask] = kind.special;
  Json map = Json::object();
  for (const auto& [name, token] : {std::pair("pad_token", pad), {"unk_token", unk}, {"cls_token", cls},
                                    {"sep_token", sep}, {"mask_token", mask}})
    map.set(name, std::string(token));
  if (kind.model == "RoBERTa") map.set("bos_token", std::string(cls)).set("eos_token", std::string(sep));
  if (kind.mask_lstrip)
    map.set("mask_token", Json::object({{"content", std::string(mask)},
                                        {"lstrip", true},
                                        {"normalized", false},
                                        {"rstrip", false},
                                        {"single_word", false}}));
  return map;
}

// README.md, as Hugging Face's hub shows it.
std::string model_card(const BertConfig& config, const std::string& source, const Task& task,
                       const Json& run) {
  std::string card = "---\nlibrary_name: transformers\npipeline_tag: text-classification\n---\n\n";
  card += formatted("# {}\n\nA {} for {}, {}.\n\n", task.title,
                    config.model_type == "roberta" ? "RoBERTa" : "BERT", task.name,
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
  return card + (run.has("options") ? of_training(run, task) : "");
}

}  // namespace

int main(int argc, char** argv) {
  std::string model, task_name, out;
  CommandLine line("export", "Writes one task of a trained model as a plain Hugging Face folder.");
  line.option("--model", model, "a run's folder, or its model/", "DIR");
  line.option("--task", task_name, "which of the model's tasks; not needed where it has one",
              "NAME");
  line.option("--out", out, "the folder to write; must be new or empty", "DIR");
  line.closing("Writes config.json, the tokenizer's files, model.safetensors and a README.md.",
               {"--model runs/first --task quora --out quora-bert"});
  line.parse(argc, argv);
  return run_program("export", [&] {
    line.need({"--model", "--out"});
    MB_CHECK(is_free(out), "--out {}: there is something in it already; give a new folder", out);
    model = one_run(model);
    TrainedModel trained(model);
    const Task& task = trained.task(task_name);
    const bool is_run = std::filesystem::exists(model + "/run.json");         // else maybe a run's model/
    const Json run = Json::load_if_there(model + (is_run ? "/run.json" : "/../run.json"));
    const double dropout = run.has("options") ? run["options"].get("--dropout", 0.1) : 0.1;
    const auto plain = plain_model(trained, task.name, dropout);
    const BertConfig& config = plain->network.bert().config();
    save_model(out, config, trained.tokenizer, plain->parameters);
    write_file(out + "/special_tokens_map.json", special_tokens(trained.tokenizer.kind()).dump() + "\n");
    write_file(out + "/README.md", model_card(config, model, task, run));
    std::cout << formatted("{}: {} with the label{} \"{}\"\n", out,
                           Json::load(out + "/config.json")["architectures"].items()[0].string(),
                           config.classifier.labels.size() == 1 ? "" : "s",
                           joined(config.classifier.labels, "\", \""));
    return 0;
  });
}
