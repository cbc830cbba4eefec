// What became of a training run: whether it learned, or its loss fell at least.
//
// m_e is the mean of the batch losses of epoch e, s_e their standard deviation, n_e their number. m_0 is
// the mean of the first tenth of the first epoch's batches (2 or more). A run fell to an epoch where
// m_0 - m_e > t s_e √(1/n_0 + 1/n_e), t Student's, .025 on one side. Of a loss that does not fall this
// is so in 1 of 40 runs, since s_e alone counts: s_0 is of few batches, or of a steep beginning, which
// says nothing against a fall. A run learned where every loss is finite, and it fell, from m_0 or from
// the first epoch's mean, to an epoch that is below the entropy of the classes' shares, the loss of a
// model that ignores the sentence, by more than t s_e/√n_e. The level alone is not enough: a new network
// may have it by chance. It ran where its loss only fell, from m_0 to the last epoch. What ends above
// twice the entropy is far worse than knowing nothing: not converged.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {

double entropy_of_shares(const std::vector<int64_t>& counts) {
  const double all = double(std::accumulate(counts.begin(), counts.end(), int64_t(0)));
  double entropy = 0;
  for (const int64_t n : counts)
    if (n > 0) entropy -= double(n) / all * std::log(double(n) / all);
  return entropy;
}

namespace {

// Student's t that .025 of its values are above, by Cornish and Fisher's series: to .1 % from 14
// degrees of freedom on, to 4 % from 2.
double t_quantile(double degrees) {
  constexpr double z = 1.959964, z2 = z * z;        // of the normal distribution
  const double v = 1 / degrees;
  return z * (1 + v * (z2 + 1) / 4 + v * v * ((5 * z2 + 16) * z2 + 3) / 96 +
              v * v * v * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384);
}

bool clearly_below(const EpochLoss& e, double entropy) {
  const double n = double(e.batches);
  return entropy - e.mean > t_quantile(n - 1) * e.deviation / std::sqrt(n);
}

EpochLoss loss_of(const Json& e) {
  return {e["mean"].number_if().value_or(NAN), e["deviation"].number_if().value_or(NAN),
          e["batches"].integer()};
}

int first_epoch(const Json& result, int epochs, const std::function<bool(const Json&)>& is_so) {
  if (!result["left_finite"].is_null()) return epochs + 1;
  const Json::Array& all = result["epochs"].items();
  return 1 + int(std::ranges::find_if(all, is_so) - all.begin());
}

}  // namespace

// Fell if m_0 - m > t s √(1/n_0 + 1/n); learned if it fell to an epoch with E - m > t s/√n, ran if it
// fell to the last. epochs[0] is the beginning, epochs[1] the first epoch [NT tab.1-6].
Convergence convergence(const std::vector<EpochLoss>& epochs, double entropy) {
  MB_CHECK(!epochs.empty(), "a run without an epoch has no verdict");
  if (std::ranges::any_of(epochs, [](const EpochLoss& e) { return !std::isfinite(e.mean); }))
    return Convergence::diverged;
  MB_CHECK(epochs.size() > 1,
           "whether a loss falls is seen from 2 epochs on; give --epochs 2 or more");
  const EpochLoss &first = epochs.front(), &last = epochs.back();
  if (last.mean > 2 * entropy) return Convergence::not_converged;
  const auto fell = [](const EpochLoss& from, const EpochLoss& e) {
    const double error = e.deviation * std::sqrt(1 / double(from.batches) + 1 / double(e.batches));
    return from.mean - e.mean > t_quantile(double(e.batches) - 1) * error;
  };
  if (std::any_of(epochs.begin() + 1, epochs.end(),
                  [&](const EpochLoss& e) {
                    return clearly_below(e, entropy) && (fell(first, e) || fell(epochs[1], e));
                  }))
    return Convergence::learned;
  return fell(first, last) ? Convergence::ran : Convergence::not_converged;
}

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

int epochs_to_learn(const Json& result, int epochs) {
  const double entropy = result["entropy"].number();
  return first_epoch(result, epochs, [=](const Json& e) { return clearly_below(loss_of(e), entropy); });
}

int epochs_to_learn_on_dev(const Json& result, int epochs, double dev_entropy) {
  return first_epoch(result, epochs, [=](const Json& e) {
    const auto loss = e["dev_loss"].number_if();
    return loss && *loss < dev_entropy;
  });
}

Names outcome(const Json& result) {
  const auto text = [](double loss) { return std::isfinite(loss) ? float_text(loss) : "undefined"; };
  return {convergence_names[size_t(convergence(result))], text(loss_of(result["first"]).mean),
          text(epoch_losses(result).back().mean)};
}

std::optional<double> last_accuracy(const Json& result) {
  return result["epochs"].items().back()["dev_accuracy"].number_if();
}

bool is_nt_norm(const std::string& norm) {
  return norm == "layer" || norm == "batch" || norm == "none";
}

std::string median_text(const Numbers& values, int digits) {
  if (values.empty()) return "undefined";
  const auto [least, most] = std::ranges::minmax(values);
  const std::string middle = fixed(median(values), digits);
  return values.size() == 1
             ? middle
             : formatted("{} ({} to {})", middle, fixed(least, digits), fixed(most, digits));
}

// ---- Several seeds

namespace {

// "learned", or of seeds that disagree "2 learned, 1 diverged"
std::string verdicts_text(const std::vector<Convergence>& verdicts) {
  std::string text;
  for (size_t v = 0; v < convergence_names.size(); ++v) {
    const auto n = size_t(std::ranges::count(verdicts, Convergence(v)));
    if (n == verdicts.size()) return convergence_names[v];
    if (n > 0) text += formatted("{}{} {}", text.empty() ? "" : ", ", n, convergence_names[v]);
  }
  return text;
}

// The two losses that a verdict compares, medians over the seeds with the same outcome: "loss 1.14 →
// 0.430 nats"; of unlike ones "learned: loss 1.14 → 0.430 nats; diverged: loss not finite from epoch 3"
std::string losses_text(const NtCell& cell) {
  Names parts;
  for (size_t v = 0; v < convergence_names.size(); ++v) {
    Numbers first, last, left;
    for (size_t i = 0; i < cell.results.size(); ++i) {
      const Json& result = cell.results[i];
      if (cell.verdicts[i] != Convergence(v)) continue;
      if (const auto epoch = result["left_finite"].number_if()) left.push_back(*epoch);
      else first.push_back(result["first"]["mean"].number()), last.push_back(epoch_losses(result).back().mean);
    }
    if (first.empty() && left.empty()) continue;
    parts.push_back(first.size() + left.size() < cell.results.size() ? convergence_names[v] + ": " : "");
    parts.back() += left.empty()
                        ? formatted("loss {} → {} nats", significant(median(first)), significant(median(last)))
                        : formatted("loss not finite from epoch {}", fixed(median(left), 0));
  }
  return joined(parts, "; ");
}

}  // namespace

void NtCell::add(const Json& result) {
  results.push_back(result);
  verdicts.push_back(convergence(result));
}

size_t NtCell::count(Convergence worst) const {
  return size_t(std::ranges::count_if(verdicts, [=](Convergence verdict) { return verdict <= worst; }));
}

bool NtCell::agrees(Convergence worst) const {
  if (!printed) return false;
  const size_t n = count(worst);
  return 2 * (*printed ? n : verdicts.size() - n) > verdicts.size();
}

ItemReport::Cell NtCell::shown() const {
  ItemReport::Cell cell{"", verdicts_text(verdicts)};
  cell.mark = count(Convergence::learned) == verdicts.size() ? "good"
              : count(Convergence::ran) > 0                  ? "half"
                                                             : "bad";
  cell.note = losses_text(*this);
  if (!printed) return cell;
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
  cell.ours = median_text(right, 3);
  return cell;
}

}  // namespace minbert
