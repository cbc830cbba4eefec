// The runs of NT's items, and all items.
#include <cmath>
#include <iostream>

#include "minbert/vocabulary.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

// The time of an epoch, as measured: a part of it is the same for every width.
double cost_of(const NtSetup& s) { return s.layers * (0.3 + (s.width / 64.0) * (s.width / 64.0)); }

}  // namespace

Run NtRuns::vocabulary() const {
  const Task task = document.tasks()[0];
  const auto make_vocabulary = [this, task](const std::string& folder) {
    const Tokenizer tokenizer = own_tokenizer(o.data, std::span(&task, 1), o.vocab_size, true);
    write_vocabulary(folder + "/vocab.txt", tokenizer.tokens());
    return Json::object({{"tokens", tokenizer.size()}});
  };
  Run run{"vocabulary", document.inputs(task), make_vocabulary, 0.1};
  run.options["vocab-size"] = std::to_string(o.vocab_size);
  for (const char* unused : {"rows", "max-length"})
    run.options.erase(unused);  // it reads whole sentences, all
  return run;
}

std::string NtRuns::vocab_file() const {
  if (!o.vocab.empty()) return o.vocab;
  return document.folder(vocabulary()) + "/vocab.txt";
}
const NtData& NtRuns::data() const {
  if (!data_) {
    data_ = read_nt_data(o, vocab_file());
    std::cerr << data_->read.text();
  }
  return *data_;
}

Run NtRuns::run(const std::string& kind, const NtSetup& s, double cost) const {
  Run run{kind + "-" + s.label(), document.inputs(document.tasks()[0]), {}, cost};
  run.options.merge(OptionValues{
      {"layers", std::to_string(s.layers)},
      {"width", std::to_string(s.width)},
      {"norm", s.norm},
      {"placement", name_of(s.placement)},
      {"seed", std::to_string(s.seed)},
      {"uniform", formatted("{}", s.uniform)},
      {"positions", name_of(o.positions)},
      {"batch", std::to_string(o.batch)},
      {"vocabulary", document.study().fingerprint(vocab_file())}});
  if (const NtRead read = s.read_by(o); read != NtRead::cls) run.options["read"] = name_of(read);
  return run;
}

Run NtRuns::training(const NtSetup& s) const {
  Run r = run("training", s, o.epochs * cost_of(s));
  r.options["lr"] = formatted("{}", s.lr);
  r.options["epochs"] = std::to_string(o.epochs);
  const NtSetup shown = recorded_setup(s.layers, s.placement, s.seed);
  const bool records = o.record > 0 && s.label() == shown.label() && s.uniform == shown.uniform && s.read == shown.read;
  if (records) r.options["record"] = std::to_string(o.record);
  r.work = [this, s, records](const std::string& folder) { return train_nt(o, data(), s, 0, records ? folder : ""); };
  return r;
}

Run NtRuns::landscape_training(const NtSetup& s) const {
  Run r = training(s);
  r.name = "measured-" + s.label();
  r.cost *= 1 + 11.0 / o.measure_every;
  r.options["measure-every"] = std::to_string(o.measure_every);
  r.work = [this, s](const std::string&) { return train_nt(o, data(), s, o.measure_every); };
  return r;
}

Run NtRuns::first_gradient(NtSetup s) const {
  s.lr = 0;
  Run r = run("first-gradient", s, 0.4 * cost_of(s));
  r.work = [this, s](const std::string&) {
    return Json::object({{"gradient", minbert::first_gradient(o, data(), s)}});
  };
  return r;
}

// On the first batch of the first epoch.
Run NtRuns::gradient_walk(const NtSetup& s) const {
  Run r = run("gradient", s, 0.4 * cost_of(s));
  r.work = [this, s](const std::string&) {
    NtModel model = new_network(o, data(), s);
    const std::vector<int32_t> first = batches_of(o, data(), s.seed, 0)[0].examples;
    const GradientWalk walk =
        walk_gradient(model, labeled(data().train, first).batch, classes_of(data().train, first));
    Json::Array factors;
    for (const GradientWalk::Factor& f : walk.factors)
      factors.push_back(Json::object({{"sublayer", f.sublayer},
                                      {"name", f.name},
                                      {"gradient", f.gradient}}));
    return Json::object({{"tape", Json::array_of(walk.tape)},
                         {"factors", Json::array(factors)},
                         {"difference", walk.difference}});
  };
  return r;
}

LongTable NtRuns::yardsticks() const {
  const double share = data().majority, n = double(data().dev.examples.size());
  LongTable table({"task", "what", "value"});
  table("", "score") = share;
  table("", "error") = std::sqrt(share * (1 - share) / n);
  return table;
}

void NtRuns::differs(ItemReport& report) const {
  const size_t sentences = data().train.examples.size() + data().dev.examples.size(),
               all_agree = 2264;
  report.when("smaller grid", o.widths != Numbers{64, 128, 256} || o.epochs < 20 || o.seeds < 6);
  report.when("other --layers", o.layers != Numbers{1, 5});
  report.when("--positions learned", o.positions == Positions::learned);
  report.when("--read cls", o.read == NtRead::cls);
  report.when("--read mean", o.read == NtRead::mean);
  if (sentences != all_agree)
    report.differs(
        formatted("{} sentences; the Financial PhraseBank has {} on which all annotators agree",
                  sentences, all_agree));
  for (const std::string& line : data().read.totals()) report.differs(line);
  if (o.vocab.empty())
    report.differs(formatted("a vocabulary of the training sentences, {} word pieces; the slides take "
                             "BERT's: --vocab vocab.txt", data().tokenizer.size()));
}

// .1 is the largest rate at which all three of tab.3 converge as printed.
NtSetup NtRuns::curve_setup(const std::string& norm, int seed) const {
  return {
      .layers = int(o.layers[0]), .width = int(o.widths[2]), .norm = norm, .seed = seed, .lr = 0.1};
}

NtSetup NtRuns::recorded_setup(int layers, Placement placement, int seed) const {
  return {.layers = layers, .width = int(o.widths[0]), .norm = "layer", .placement = placement, .seed = seed,
          .lr = 0.1};
}

std::vector<Item> nt_items(Document& document, const NtOptions& options) {
  const auto runs = std::make_shared<const NtRuns>(document, options);
  std::vector<Item> items =
      together({{nt_gradient_item(runs), nt_placement_item(runs), nt_learning_item(runs),
                 nt_initialisation_item(runs)},
                nt_table_items(runs), nt_first_gradient_items(runs), nt_curve_items(runs)});
  for (Item& item : items) {  // all of them read the sentences
    item.before = [runs] {
      return runs->o.vocab.empty() ? std::vector{runs->vocabulary()} : std::vector<Run>();
    };
  }
  items.push_back(nt_modules_item(runs));           // it reads none
  return items;
}

}  // namespace minbert
