// Models of others: folders as versions of transformers save them, classifiers with labels of their own, weights that
// are not all there. Golden files: golden/transformers_folders.py.
#include <doctest/doctest.h>

#define main predict_program                        // the program, for the rows that it prints
#include "../examples/predict.cpp"
#undef main
#include "error_of.h"
#include "folder.h"
#include "golden_file.h"
#include "models/encode_file.h"
#include "models/plain_model.h"
#include "renamed.h"
#include "small_run.h"

namespace minbert::test {
namespace {

using Names = std::vector<std::string>;

// A classifier as another program writes it, with weights that follow from its name.
std::string classifier(const SmallWorld& world, const std::string& name, const Names& labels,
                       const std::string& problem_type = "single_label_classification") {
  BertConfig config = BertConfig::load(world.path("start/config.json"));
  config.tasks = {foreign_task};
  config.classifier = {labels, problem_type, {}};
  const Model model(config, name.size(), true, heads_of(tasks_of(config)), 0);
  for (const char* part : {"weight", "bias"}) {
    const Tensor& value = model.parameters.value("heads.classifier." + std::string(part));
    value.copy_from(Tensor::randn(value.shape(), 3).values());
  }
  save_model(world.path(name), config, Tokenizer::from_folder(world.path("start")), model.parameters);
  return world.path(name);
}

void rename_weights(const std::string& folder, const std::function<std::string(const std::string&)>& rename) {
  const Folder apart;
  Renamed(folder + "/model.safetensors", rename).writer.write(apart / "x");
  std::filesystem::copy_file(apart / "x", folder + "/model.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
}

std::string without(const std::string& name, const std::string& part) { return contains(name, part) ? "" : name; }

std::vector<double> numbers(const Tensor& x) {
  const std::vector<real> values = x.values();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("from elsewhere: what four versions of transformers saved has their ids and logits") {
  for (const std::string version : {"2.11.0", "4.30.2", "4.57.6", "5.24.0"}) {
    const std::string all = golden_file("transformers/" + version);
    for (const auto& [kind, said] : Json::load(all + "/expected.json").members()) {
      CAPTURE(version + " " + kind);
      const Quiet quiet;
      const TrainedModel trained(all + "/" + kind);
      // Every tensor is used, and none is missing; RoBERTa's classifier had a pooler that it did not use.
      if (version == "2.11.0" && kind == "roberta")
        CHECK(contains(quiet.text(), "not used: roberta.pooler.dense.bias "));
      else
        CHECK(quiet.text().empty());
      CHECK(labels_of(trained.task("")) == Names{"contradiction", "neutral", "entailment"});
      Names texts;
      for (const Json& text : said["texts"].items()) texts.push_back(text.string());
      for (const Json& pair : said["pairs"].items())
        texts.push_back(pair.items()[0].string() + "\t" + pair.items()[1].string());
      const NoGrad no_tape;
      for (size_t i = 0; i < texts.size(); ++i) {
        CAPTURE(texts[i]);
        const Sequence sequence = build_sequence(trained.tokenizer, texts[i], 64);
        const std::vector<double> ids = said["ids"].items()[i].numbers();
        CHECK(std::vector<double>(sequence.ids.begin(), sequence.ids.end()) == ids);
        const std::vector<double> logits =
            numbers(trained.model.network.forward(pack(std::span(&sequence, 1), {0}), 0));
        for (size_t c = 0; c < 3; ++c)              // sums of float, in another order
          CHECK(std::abs(logits[c] - said["logits"].items()[i].numbers()[c]) < 2e-6);
      }
    }
  }
}

TEST_CASE("from elsewhere: a classifier's head becomes a task's by the names of its labels, else it stays behind") {
  const SmallWorld world;
  const Task mnli = parse_tasks("mnli")[0], rte = parse_tasks("rte")[0], sts = parse_tasks("sts")[0];
  struct Case {
    Names labels;
    Task task;
    std::vector<int> rows;                          // of entailment, neutral, contradiction; none: a new head
    std::string type = "single_label_classification";
  };
  for (const auto& [labels, task, rows, type] :
       {Case{{"entailment", "neutral", "contradiction"}, mnli, {0, 1, 2}},
        {{"CONTRADICTION", "NEUTRAL", "ENTAILMENT"}, mnli, {2, 1, 0}},
        {{"neutral", "Entailment", "contradiction"}, mnli, {1, 0, 2}},
        {{"LABEL_0", "LABEL_1", "LABEL_2"}, mnli, {0, 1, 2}},
        {{"0", "1"}, parse_tasks("sst2")[0], {0, 1}},
        {{"POSITIVE", "NEGATIVE"}, parse_tasks("cfimdb")[0], {1, 0}},
        {{"pos", "neu", "neg"}, mnli, {}},
        {{"entailment", "neutral", "neutral"}, mnli, {}},
        {{"entailment", "neutral"}, mnli, {}},
        {{"entailment", "neutral", "contradiction", "other"}, mnli, {}},
        {{"entailment", "neutral", "contradiction"}, mnli, {}, "multi_label_classification"},
        {{"LABEL_0", "LABEL_1", "LABEL_2"}, mnli, {}, "regression"},
        {{"not_entailment", "entailment"}, rte, {1, 0}},
        {{"NEGATIVE", "POSITIVE"}, rte, {}},
        {{"LABEL_0"}, sts, {0}, "regression"},
        {{"toxicity"}, sts, {}, "regression"},
        {{"LABEL_0"}, sts, {}, "multi_label_classification"},
        {{"LABEL_0"}, parse_tasks("quora")[0], {}, "regression"}}) {
    CAPTURE(task.name + ": " + joined(labels) + " " + type);
    const std::string folder = classifier(world, "foreign", labels, type);
    const SafeTensors file(folder + "/model.safetensors");
    const std::vector<real> weight = file.read("classifier.weight"), bias = file.read("classifier.bias");
    const Quiet quiet;
    const Model model = Model::from_pretrained(folder, {task});
    const std::vector<real> found = model.parameters.value("heads." + task.name + ".weight").values(),
                            found_bias = model.parameters.value("heads." + task.name + ".bias").values();
    CHECK(contains(quiet.text(), "its labels are ") == rows.empty());
    CHECK(contains(quiet.text(), "new: heads") == rows.empty());
    for (size_t i = 0; i < rows.size(); ++i) {
      CHECK(found_bias[i] == bias[size_t(rows[i])]);
      for (size_t h = 0; h < 8; ++h) CHECK(found[i * 8 + h] == weight[size_t(rows[i]) * 8 + h]);
    }
    if (rows.empty()) CHECK(std::ranges::none_of(found_bias, [&](real b) { return std::ranges::count(bias, b); }));
  }
  const std::string folder = classifier(world, "foreign", {"entailment", "not_entailment"});
  const Quiet quiet;                                // of two tasks nobody says which one it is of
  const Model two = Model::from_pretrained(folder, parse_tasks("rte,qnli"));
  CHECK(contains(quiet.text(), "its labels are entailment, not_entailment, not those of rte, qnli: a new head"));
}

TEST_CASE("from elsewhere: a run keeps what a classifier says, whatever the order of its labels") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.model = classifier(world, "foreign", {"POSITIVE", "very negative", "negative", "very positive", "neutral"});
  o.tasks = "sst", o.epochs = 0;
  world.run(o, "run", 0, "layer");
  CHECK(contains(world.printed, "tasks taken over: sst"));
  const Quiet quiet;
  TrainedModel theirs(o.model), ours(world.path("run"));
  const NoGrad no_tape;
  for (const char* text : {"a good film", "dull", "why is the plot not fine ?"}) {
    const Sequence sequence = build_sequence(theirs.tokenizer, text, 16);
    const Batch batch = pack(std::span(&sequence, 1), {0});
    const std::vector<double> a = numbers(theirs.model.network.forward(batch, 0)),
                              b = numbers(ours.model.network.forward(batch, 0));
    const int classes[] = {3, 0, 1, 4, 2};
    for (size_t row = 0; row < 5; ++row) CHECK(std::abs(a[row] - b[size_t(classes[row])]) < 1e-6);
  }
  o.model = classifier(world, "strange", {"a", "b", "c", "d", "e"});
  world.run(o, "new", 0, "layer");
  CHECK(contains(world.printed, "its labels are a, b, c, d, e, not those of sst: a new head"));
  CHECK_FALSE(contains(world.printed, "taken over"));
}

TEST_CASE("from elsewhere: without a pooler a head says nothing, and encode writes the rest") {
  const SmallWorld world;
  const std::string folder = classifier(world, "foreign", {"no", "yes"});
  rename_weights(folder, [](const std::string& name) { return without(name, ".pooler."); });
  const Quiet quiet;
  TrainedModel trained(folder);
  CHECK(contains(quiet.text(), "; new: pooler"));
  CHECK_FALSE(trained.has_pooler());
  CHECK_ERROR(trained.task(""), folder + ": the weights lack the pooler, which its heads read");
  CHECK_ERROR(plain_model(trained, "classifier", 0), "the weights lack the pooler");         // export
  write_file(world.path("texts"), "a good film\nwhy\n");
  EncodeOptions o{.input = world.path("texts"), .output = world.path("out"), .task = ""};
  encode(trained, o);
  CHECK(SafeTensors(o.output).entries().size() == 1);
  CHECK(SafeTensors(o.output).entries().contains("cls"));
  o.pool = Pool::mean;
  encode(trained, o);
  CHECK(SafeTensors(o.output).entries().contains("sentence_embedding"));
  o.pool = Pool::pooler;
  CHECK_ERROR(encode(trained, o), "has no weights for a pooler; take --pool mean, or cls");
  TrainOptions run;                                 // fine-tuning goes on, and learns one
  const Model tuned = Model::from_pretrained(folder, parse_tasks("sst"));
  CHECK(contains(quiet.text(), "new: heads, pooler"));
}

TEST_CASE("from elsewhere: every other weight that is missing is refused where a model is only used") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 0, o.tasks = "sst,sts";
  const auto refused = [&](const std::string& run, const std::string& norm, const std::string& part) {
    world.run(o, run, 0, norm);
    const std::string folder = world.path(run + "/model");
    { const Quiet quiet; TrainedModel whole(folder); }
    rename_weights(folder, [&](const std::string& name) { return without(name, part); });
    const Quiet quiet;
    return error_of([&] { TrainedModel trained(folder); });
  };
  CHECK(contains(refused("task", "conditional-layer", "output.LayerNorm.task_weight"),
                 "output.LayerNorm.task_weight is not among the weights"));
  CHECK(contains(refused("batch", "batch", "embeddings.LayerNorm.running_mean"),
                 "embeddings.LayerNorm.running_mean is not among the weights"));
  CHECK(contains(refused("head", "layer", "heads.sts.bias"), "heads.sts.bias is not among the weights"));
  o.model.clear(), o.config = "tiny", o.vocab = world.path("vocab.txt"), o.placement = Placement::pre;
  CHECK(contains(refused("pre", "layer", "encoder.LayerNorm.bias"),
                 "encoder.LayerNorm.bias is not among the weights"));
}

TEST_CASE("from elsewhere: outputs that are no label of several, and labels of one name, are refused by name") {
  const SmallWorld world;
  const auto refused = [&](const Names& labels, const std::string& type) {
    const Quiet quiet;
    const TrainedModel trained(classifier(world, "foreign", labels, type));
    return error_of([&] { trained.task(""); });
  };
  const Names three = {"a", "b", "c"};
  CHECK(refused(three, "single_label_classification") == "no error");
  CHECK(refused({"a"}, "regression") == "no error");
  CHECK(refused({"a"}, "multi_label_classification") == "no error");
  for (const std::string type : {"regression", "multi_label_classification"})
    CHECK(contains(refused(three, type),
                   "\"problem_type\" in config.json is \"" + type + "\" of 3 labels; minbert chooses"));
  CHECK(contains(refused({"pos", "pos", "neg"}, "single_label_classification"),
                 "\"id2label\" in config.json has \"pos\" twice"));
}

TEST_CASE("from elsewhere: predict --json has the labels in the order of the classes, as the logits are") {
  const SmallWorld world;
  const Quiet quiet;
  const TrainedModel trained(classifier(world, "foreign", {"yes", "\"maybe\"", "an", "no"}));
  const Task& task = trained.task("");
  bool cut = false;
  const Example example = example_of({"a film"}, "here", task, trained, &cut);
  const std::vector<double> logits = {0, std::log(2), std::log(4), 0};
  const std::string text = object_of(task, example, 2, logits);
  CHECK(contains(text, R"("probabilities":{"yes":0.125,"\"maybe\"":0.25,"an":0.5,"no":0.125},"text":"a film"})"));
  const Json object = Json::parse(text, "predict");
  CHECK(object["logits"].numbers() == logits);
  CHECK(object["label"].integer() == 2);
  CHECK(object["prediction"].string() == "an");
  CHECK(prediction_columns(task) == Names{"prediction", "yes", "\"maybe\"", "an", "no"});
}

TEST_CASE("from elsewhere: a config.json without architectures is told what it lacks; null is a key that is missing") {
  const SmallWorld world;
  const std::string folder = classifier(world, "foreign", {"no", "yes"}), file = folder + "/config.json";
  const Json good = Json::load(file);
  const auto with = [&](const char* key, const Json& value) {
    Json::Object members = good.members();
    members.erase(key);
    if (!value.is_null() || std::string(key) != "architectures") members[key] = value;
    write_file(file, Json::object(members).dump());
    const Quiet quiet;
    return TrainedModel(folder);
  };
  const std::string told = folder + ": classifier.weight is among the weights; if it classifies texts, add "
                                    "\"architectures\": [\"BertForSequenceClassification\"] to config.json";
  CHECK_ERROR(with("architectures", Json()).task(""), told);
  CHECK_ERROR(with("architectures", Json::array({"BertForTokenClassification"})).task(""), told);
  write_file(file, Json(good).set("architectures", Json()).dump());            // "architectures": null
  const Quiet quiet;
  CHECK_ERROR(TrainedModel(folder).task(""), told);
  CHECK(labels_of(with("id2label", Json()).task("")) == Names{"LABEL_0", "LABEL_1"});
  const Json numbered = Json::object().set("0", 0).set("1", true);             // as Hugging Face takes them
  CHECK(labels_of(with("id2label", numbered).task("")) == Names{"0", "true"});
  for (const char* key : {"problem_type", "num_labels", "classifier_dropout", "dtype", "pad_token_id", "label2id"})
    CHECK(labels_of(with(key, Json()).task("")) == Names{"no", "yes"});
  CHECK(labels_of(with("dtype", Json::object().set("", "float32")).task("")) == Names{"no", "yes"});
}

TEST_CASE("from elsewhere: weights under strange names, in other files, and adapters are named") {
  const SmallWorld world;
  const std::string start = world.path("start"), folder = world.path("strange");
  std::filesystem::copy(start, folder);
  const auto error = [&] {
    const Quiet quiet;
    return error_of([&] { TrainedModel trained(folder); });
  };
  rename_weights(folder, [](const std::string& name) { return "_orig_mod." + name; });
  CHECK(contains(error(),
                 "parameters of the model are not in this file:\n    bert.embeddings.word_embeddings.weight\n"));
  CHECK(contains(error(), "\n    and "));
  CHECK(contains(error(), "\nall 23 names in it begin with _orig_mod."));
  CHECK(times(error(), "\n") <= 9);
  rename_weights(folder, [](const std::string& name) {
    return contains(name, "query") ? name.substr(10) + "s" : name.substr(10);
  });
  CHECK(contains(error(), "\nin it, not used: bert.encoder.layer.0.attention.self.query.biass bert.encoder"));

  for (const char* name :
       {"tf_model.h5", "model.onnx", "x.gguf", "model.fp16.safetensors", "pytorch_model.safetensors"}) {
    std::filesystem::remove_all(folder);
    std::filesystem::copy(start, folder);
    std::filesystem::rename(folder + "/model.safetensors", folder + "/" + name);
    CHECK(contains(error(), folder + "/model.safetensors: there is no such file; in the folder: config.json, "));
    CHECK(contains(error(), name));
  }
  std::filesystem::remove_all(folder);
  std::filesystem::copy(start, folder);
  CHECK(error() == "no error");
  write_file(folder + "/adapter_config.json", "{}");
  CHECK(contains(error(), folder + ": adapter_config.json is there, and minbert reads no adapters"));
  std::filesystem::remove(folder + "/config.json");                            // an adapter alone
  CHECK(contains(error(), "adapter_config.json"));
}

TEST_CASE("from elsewhere: the encoder of a sentence-transformers folder may lie in 0_Transformer") {
  const SmallWorld world;
  const std::string folder = world.path("sentences");
  std::filesystem::create_directories(folder + "/1_Pooling");
  std::filesystem::copy(world.path("start"), folder + "/0_Transformer");
  write_file(folder + "/modules.json",
             R"([{"type": "s.Transformer", "path": "0_Transformer"}, {"type": "s.Pooling", "path": "1_Pooling"}])");
  write_file(folder + "/1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  write_file(folder + "/0_Transformer/sentence_bert_config.json", R"({"max_seq_length": 5})");
  write_file(world.path("texts"), "a good film is not dull\n");
  const auto vectors = [&](const std::string& of, EncodeOptions o) {
    o.input = world.path("texts"), o.output = world.path("out");
    const Quiet quiet;
    encode(TrainedModel(of), o);
    return SafeTensors(o.output).read("sentence_embedding");
  };
  EncodeOptions o;
  o.pool = Pool::mean, o.max_length = 5;
  CHECK(vectors(folder, {}) == vectors(world.path("start"), o));
}

}  // namespace minbert::test
