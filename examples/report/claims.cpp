// What stands between a claim and its verdict.
#include "report/claims.h"

#include <algorithm>

#include "engine/names.h"

namespace minbert {
namespace {

Verdict verdict_on(const Json& claim, const Judging& judging, const std::optional<Evidence>& values) {
  const std::string model = claim.get("model", judging.model);
  if (!judging.was_run) return {"not run", "this item was not run"};
  if (!judging.judges) return {"not judged", "the quick grid is a look at tables and figures"};
  if (judging.generated && claim.get("real", false))
    return {"on real data only", "it is about a data set or a model by name; these are generated"};
  if (claim.get("pretrained", false) && !judging.pretrained)
    return {"not comparable", "it is about [CLS] of a pre-trained model; this one has no head of pre-training, so its "
                              "[CLS] is of another training"};
  if (model != judging.model) return {"not comparable", formatted("it is about {}", model)};
  if (claim.has("why")) return {claim.get("word", std::string("not comparable")), claim["why"].string()};
  if (claim.has("absolute"))
    return {"not comparable", judging.differences.empty()
                                  ? "no rule compares this value; it stands beside ours in the table"
                                  : joined(judging.differences, "; ")};
  if (!values) return {"not run", "these values were not computed"};
  Evidence evidence = *values;
  const std::string drawn = claim.get("random", std::string()), column = drawn == "rows" ? "sample" : drawn;
  MB_CHECK(drawn.empty() || evidence.values.rows().empty() ||
               std::ranges::count(evidence.values.columns(), column),
           "\"{}\" is judged by what \"{}\" changes, but its values have no column \"{}\"", claim["text"].string(),
           drawn, column);
  if (claim.has("unit")) evidence.unit = unit_of(claim["unit"]);
  return judge(claim_of(claim, model), evidence);
}

}  // namespace

Json judged_claims(const PaperItem& item, const Judging& judging, const std::optional<Evidence>& evidence) {
  Json::Array all;
  for (const Json& claim : item.claims) {
    const Verdict verdict = verdict_on(claim, judging, evidence);
    all.push_back(Json::object({{"where", claim["where"]},
                                {"text", claim["text"]},
                                {"kind", claim.get("kind", std::string())},
                                {"verdict", verdict.word},
                                {"why", verdict.why},
                                {"pairs", Json::array_of(verdict.pairs)},
                                {"by_chance", verdict.by_chance}}));
  }
  return Json::array(all);
}

}  // namespace minbert
