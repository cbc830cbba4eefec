// Whether a training run converged.
//
// m_e is the mean of the batch losses of epoch e, s_e their standard deviation, n_e their number; m_0
// that of the first tenth of the first epoch's batches (2 or more). A run converged where every loss
// is finite and the fall m_0 - m_last is more than 2 standard errors of it, s √(1/n_0 + 1/n_last).
// s is the smaller of s_0 and s_last: the larger one is of losses that move, as those of a steep
// beginning do, which says nothing against their fall. It is flat where no m_e is below the entropy
// of the classes' shares by more than 2 of its standard errors, s_e/√n_e, and has not converged
// where m_last is above twice the entropy: it fell, and is far worse than knowing nothing.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/names.h"
#include "engine/text.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {

double entropy_of_shares(const std::vector<int64_t>& counts) {
  const double all = double(std::accumulate(counts.begin(), counts.end(), int64_t(0)));
  double entropy = 0;
  for (const int64_t n : counts)
    if (n > 0) entropy -= double(n) / all * std::log(double(n) / all);
  return entropy;
}

// The loss falls if m_0 - m_last > 2 s √(1/n_0 + 1/n_last); epochs[0] is the beginning.
Convergence convergence(const std::vector<EpochLoss>& epochs, double entropy) {
  MB_CHECK(!epochs.empty(), "a run without an epoch has no verdict");
  if (std::ranges::any_of(epochs, [](const EpochLoss& e) { return !std::isfinite(e.mean); }))
    return Convergence::diverged;
  MB_CHECK(epochs.size() > 1,
           "whether a loss falls is seen from 2 epochs on; give --epochs 2 or more");
  const EpochLoss &first = epochs.front(), &last = epochs.back();
  const double fall = first.mean - last.mean,
               error = std::min(first.deviation, last.deviation) *
                       std::sqrt(1 / double(first.batches) + 1 / double(last.batches));
  if (!(fall > 2 * error) || last.mean > 2 * entropy) return Convergence::not_converged;      // [NT tab.1-6]
  const auto below = [&](const EpochLoss& e) {
    return e.mean < entropy - 2 * e.deviation / std::sqrt(double(e.batches));
  };
  if (std::ranges::none_of(epochs, below)) return Convergence::flat;
  return fall < 0.1 * first.mean ? Convergence::slow : Convergence::converged;
}

// So do slow and flat: the names stand in the order of Convergence.
bool counts_as_converged(Convergence verdict) { return verdict < Convergence::not_converged; }

namespace {
EpochLoss loss_of(const Json& e) {
  return {e["mean"].number_if().value_or(NAN), e["deviation"].number_if().value_or(NAN),
          e["batches"].integer()};
}
}  // namespace

std::vector<EpochLoss> epoch_losses(const Json& result) {
  std::vector<EpochLoss> all;
  for (const Json& e : result["epochs"].items()) all.push_back(loss_of(e));
  return all;
}

Convergence convergence(const Json& result) {
  std::vector<EpochLoss> losses = epoch_losses(result);
  losses.insert(losses.begin(), loss_of(result["first"]));
  return convergence(losses, result["entropy"].number());
}

Names outcome(const Json& result) {
  const std::vector<EpochLoss> epochs = epoch_losses(result);
  return {convergence_names[size_t(convergence(result))], float_text(epochs.front().mean),
          float_text(epochs.back().mean)};
}

std::optional<double> last_accuracy(const Json& result) {
  return result["epochs"].items().back()["dev_accuracy"].number_if();
}

bool is_nt_norm(const std::string& norm) {
  return norm == "layer" || norm == "batch" || norm == "none";
}

// ---- Several seeds

namespace {

// "converged", or of seeds that disagree "2 converged, 1 diverged"
std::string verdicts_text(const std::vector<Convergence>& verdicts) {
  std::string text;
  for (size_t v = 0; v < convergence_names.size(); ++v) {
    const auto n = size_t(std::ranges::count(verdicts, Convergence(v)));
    if (n == verdicts.size()) return convergence_names[v];
    if (n > 0) text += formatted("{}{} {}", text.empty() ? "" : ", ", n, convergence_names[v]);
  }
  return text;
}

// The two losses that a verdict compares, means over the seeds: "loss 1.14 → 0.43 nats; loss not
// finite in 2 of 6 seeds"
std::string losses_text(const std::vector<Json>& results) {
  Numbers first, last;
  for (const Json& result : results) {
    if (!result["left_finite"].is_null()) continue;
    first.push_back(result["first"]["mean"].number());
    last.push_back(epoch_losses(result).back().mean);
  }
  const size_t n = results.size(), left = n - first.size();
  Names parts;
  if (left < n)
    parts.push_back(formatted("loss {} → {} nats", fixed(summarize(first).mean, 2),
                              fixed(summarize(last).mean, 2)));
  if (left > 0)
    parts.push_back(n > 1 ? formatted("loss not finite in {} of {} seeds", left, n)
                          : formatted("loss not finite from epoch {}", results[0]["left_finite"].integer()));
  return joined(parts, "; ");
}

}  // namespace

void NtCell::add(const Json& result) {
  results.push_back(result);
  verdicts.push_back(convergence(result));
}

size_t NtCell::converged(bool flat_too) const {
  return size_t(std::ranges::count_if(verdicts, [=](Convergence verdict) {
    return counts_as_converged(verdict) && (flat_too || verdict != Convergence::flat);
  }));
}

bool NtCell::agrees(bool flat_too) const {
  if (!printed) return false;
  const size_t n = converged(flat_too);
  return 2 * (*printed ? n : verdicts.size() - n) > verdicts.size();
}

ItemReport::Cell NtCell::shown() const {
  ItemReport::Cell cell{"", verdicts_text(verdicts)};
  const bool all = size_t(std::ranges::count(verdicts, Convergence::converged)) == verdicts.size();
  cell.mark = all ? "good" : converged() > 0 ? "half" : "bad";
  cell.note = losses_text(results);
  if (!printed) return cell;
  if (converged() > 0 && converged() < verdicts.size())
    cell.note += formatted("; {} of {} seeds count as converged", converged(), verdicts.size());
  cell.printed = *printed ? "Converged" : "Not Converged";
  cell.printed_mark = *printed ? "good" : "bad";
  if (notes_agreement) cell.note = (agrees() ? "as printed; " : "not as printed; ") + cell.note;
  return cell;
}

ItemReport::Cell NtCell::accuracy() const {
  Numbers right;
  for (const Json& result : results)
    if (const auto share = last_accuracy(result)) right.push_back(*share);
  ItemReport::Cell cell = shown();
  cell.note = formatted("{}; {}", cell.ours, cell.note);
  cell.ours = right.empty() ? "undefined" : mean_text(right, 3);
  return cell;
}

}  // namespace minbert
