// A classifier of one's own, whole: it learns the labels of a table, is saved, opened again, scored and asked.
//
//   classifier TABLE MODEL OUT TEXT        as in: classifier tickets.tsv bert-base-uncased runs/tickets "It crashes."
//
// TABLE is a .tsv or .csv whose first line names its columns (which is what: src/tasks/README.md, A task of one's own),
// MODEL a Hugging Face folder, OUT the folder to write. This file needs the installed library alone, so a program of
// one's own may begin as a copy of it. Without arguments it learns a table that it writes itself, from the small BERT
// of data/mini, and checks what comes out.
#include <iostream>

#include "minbert/minbert.h"

using namespace minbert;

void learn(const Task& task, const std::string& start, const std::string& out) {
  Model model = Model::from_pretrained(start, {task}, {.seed = 1, .head_dropout = 0.1});
  const BertConfig& config = model.network.bert().config();
  const Tokenizer tokenizer = tokenizer_of(model_folder(start), config);
  const Dataset rows = read_set(".", task, Split::train, 0, tokenizer, {config.max_length}, std::cerr);
  const TaskSize size = {task.name, int64_t(rows.examples.size())};
  const double learning_rate = 0.04 / double(config.hidden_size);          // 5e-5 for BERT-base, 3e-4 for data/mini's
  Optimizer adamw(model.parameters, {});
  for (int epoch = 0; epoch < 5; ++epoch)
    for (const auto& [t, examples] : epoch_batches({&size, 1}, epoch, {.batch = 16, .seed = 1})) {
      const auto [batch, labels] = labeled(rows, examples, {t});
      const Tensor logits = model.network.forward(batch, t);                                 // [16,labels]
      backward(task_loss(task, logits, labels));
      adamw.clip(1);
      adamw.step(learning_rate);
    }
  save_model(out, config, tokenizer, model.parameters);          // a folder of Hugging Face's, with the task in it
}

std::string write_table() {
  std::string rows = "text\tkind\n";
  for (const char* thing : {"box", "film", "story", "plot", "museum", "song", "book", "chapter", "singer", "train",
                            "bus"})
    for (const auto& [text, kind] : {std::pair("The {} is broken.", "bug"), {"The {} is bad.", "bug"},
                                     {"How old is the {}?", "question"}, {"Where is the {}?", "question"},
                                     {"I want a new {}.", "wish"}, {"I would like a {}.", "wish"}})
      rows += formatted(text, thing) + '\t' + kind + '\n';
  make_folder("build/recipes");
  write_file("build/recipes/tickets.tsv", rows);
  return "build/recipes/tickets.tsv";
}

int main(int argc, char** argv) {
  return run_program("classifier", [&] {
    std::vector<std::string> given(argv + 1, argv + argc);
    const bool own = !given.empty();
    if (!own) given = {write_table(), shipped("data/mini/bert"), "build/recipes/tickets", "The hotel is broken."};
    MB_CHECK(given.size() > 3, "expected TABLE MODEL OUT TEXT; where a row has two texts, two");
    const std::string out = given[2];
    learn(read_task(given[0], "."), given[1], out);

    TrainedModel trained(out);                      // what follows needs the folder, and the rows that are kept for dev
    const Task& task = trained.task("");
    const DatasetOptions options = trained.dataset_options();
    const Dataset dev = read_set(".", task, Split::dev, 0, trained.tokenizer, options, std::cerr);
    const auto score = scores(task, dev, predict(trained.model.network, task, dev))[0];
    std::cout << formatted("dev {}: {}\n", metric_name(task.metrics[0]), score_text(score));

    const std::vector<std::string> texts(given.begin() + 3, given.end());
    MB_CHECK(texts.size() == task.text_columns.size(), "a row of {} has another number of texts", given[0]);
    const Dataset asked = {"TEXT", {make_example(task, texts, trained.tokenizer, options)}};
    const std::string answer = in_words(task, predict(trained.model.network, task, asked).values[0]);
    std::cout << formatted("{}: {}\n", texts[0], answer);
    MB_CHECK(own || (answer == "bug" && score > 0.8), "expected: an accuracy of 0.8 to 1, and bug");
    return 0;
  });
}
