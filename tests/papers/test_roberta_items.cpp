// The documents' items of a RoBERTa.
#include <doctest/doctest.h>

#include <algorithm>

#include "cls_set.h"
#include "error_of.h"
#include "papers/encoded_set.h"
#include "papers/isobn/isobn.h"
#include "papers/isobn/isotropy.h"
#include "papers/lnpeft/lnpeft.h"
#include "papers/small_study.h"
#include "papers/ta/task_adaptation.h"
#include "small_roberta.h"

namespace minbert::test {
namespace {

// The items of a document of a RoBERTa, on small tasks.
template <class Options>
Options small_items(const SmallWorld& world, const SmallRoberta& roberta, const std::string& tasks,
                    const std::vector<std::string>& items) {
  Options o = small_study<Options>(world, tasks);
  o.model = roberta.folder, o.items = items;
  return o;
}

}  // namespace

TEST_CASE("isotropy: a RoBERTa is read at its last hidden state, beside RoBERTa's printed numbers, and says so") {
  const Quiet quiet;
  const SmallRoberta roberta;
  const SmallWorld world;
  write_glue(world, "STS-B");
  IsoBnOptions o = small_items<IsoBnOptions>(world, roberta, "stsb",
                                             {"sec2.1", "fig1", "sec2.2", "tab2", "fig4", "tab1"});
  o.lr = {1e-3}, o.seeds = 1;
  Document document(o, "isobn");
  std::vector<Item> items = isobn_cls_items(document, o);
  for (Item& item : isobn_tuning_items(document, o)) items.push_back(std::move(item));
  REQUIRE(document.run(items) == 0);

  EncodedSet encoded(o, parse_tasks("stsb")[0], Split::train, ClsPlace::pre_pooler);
  std::vector<real> all;
  encoded.for_each_batch(encoded.all(), [&](const Batch& batch, std::span<const int32_t>) {
    const std::vector<real> values = encoded.bert().forward(batch, cls_rows).cls.values();
    all.insert(all.end(), values.begin(), values.end());
  });
  const std::vector<double> ev = explained_variance(covariance_of(Tensor::from({24, 8}, all)));
  CHECK(value_in(world, "tab2", {"stsb", "none", "2"}) == doctest::Approx(ev[1]).epsilon(1e-5));

  const Json report = Json::load(world.path("study/report.json"));
  for (const char* name : {"fig1", "tab2", "fig4", "tab1"}) {
    const std::string item = item_of(report, name).dump();
    CHECK(contains(item, "the model is pre-trained without a pooler"));
    CHECK(contains(item, "RoBERTa-large has 24 layers"));
  }
  for (const char* name : {"sec2.1", "sec2.2"}) {     // claims about RoBERTa alone
    const Json claim = item_of(report, name)["claims"].items()[0];
    CHECK(std::ranges::count(Names{"supported", "contradicted", "undecided"}, claim["verdict"].string()) == 1);
    CHECK(contains(claim["why"].string(), "over rows drawn again"));
  }
  CHECK(contains(item_of(report, "fig1").dump(), "it is about BERT-base-cased"));
  CHECK(contains(item_of(report, "tab2").dump(), "0.87 / 0.90 / 0.92"));
  CHECK(contains(item_of(report, "tab2").dump(), "[CLS] before the pooler"));
  CHECK(contains(item_of(report, "tab2")["claims"].items()[0]["why"].string(), "; printed 0.595, ours "));
  CHECK(contains(item_of(report, "tab1").dump(), "92.24 (0.2)"));
}

TEST_CASE("roberta: the other documents' items take one, too") {
  const Quiet quiet;
  const SmallRoberta roberta;
  const SmallWorld world;
  write_glue(world);
  TaOptions ta =
      small_items<TaOptions>(world, roberta, "sst2", {"sec3.1", "fig1", "fig2", "fig3", "fig4"});
  ta.perplexity = 3, ta.iterations = 20;
  Document adaptation(ta, "task-adaptation");
  CHECK(adaptation.run(ta_items(adaptation, ta)) == 0);
  const std::string report = read_file(world.path("study/report.json"));
  CHECK(contains(report, "the model is a roberta; the document has none"));
  CHECK(contains(report, "with a new pooler and a new classifier"));

  LnPeftOptions ln = small_items<LnPeftOptions>(world, roberta, "sst2", {"fig1", "sec2.3"});
  ln.corpus = roberta.library.path("corpus.txt"), ln.out = world.path("lnpeft");
  Document tuning(ln, "lnpeft");
  CHECK(tuning.run(lnpeft_items(tuning, ln)) == 0);
}

}  // namespace minbert::test
