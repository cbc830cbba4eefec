// The gradient slide as an item: the gradient after every layer, and after every factor [NT gradient].
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

// Each norm in both placements; without a norm they are one.
struct Placed {
  std::string norm, placement;
  std::string title() const { return norm == "none" ? "none" : norm + ", " + placement; }
};
std::vector<Placed> placed_norms(const NtOptions& o) {
  std::vector<Placed> all;
  for (const std::string& norm : o.norms)
    for (const char* placement : {"post", "pre"})
      if (norm != "none" || placement == std::string("post")) all.push_back({norm, placement});
  return all;
}

NtSetup setup_of(const NtOptions& o, double depth, const Placed& placed, int seed) {
  return {.layers = int(depth), .width = int(o.widths[0]), .norm = placed.norm, .placement = placed.placement,
          .seed = seed};
}

std::vector<Run> walks(const NtRuns& runs) {
  std::vector<Run> all;
  for (const int seed : runs.seeds())
    for (const double depth : runs.options().depths)
      for (const Placed& placed : placed_norms(runs.options()))
        all.push_back(runs.gradient_walk(setup_of(runs.options(), depth, placed, seed)));
  return all;
}

// The mean of the seeds' logarithms, so that one large gradient does not hide the others.
std::vector<double> geometric_mean(const std::vector<std::vector<double>>& of_seeds) {
  std::vector<double> mean(of_seeds[0].size());
  for (const std::vector<double>& values : of_seeds)
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += std::log(values[i]) / double(of_seeds.size());
  for (double& v : mean) v = std::exp(v);
  return mean;
}

std::string short_text(double value) {              // 3 digits
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

class GradientItem {
 public:
  GradientItem(const NtRuns& runs, ItemReport& report) : runs_(runs), o_(runs.options()), report_(report) {}
  void show() {
    for (const double depth : o_.depths) {
      layers_.panels.push_back({.title = counted(int64_t(depth), "layer"), .x_label = "layer",
                                .y_label = "norm of dL/dx", .log_y = true});
      factors_.panels.push_back({.title = counted(int64_t(depth), "layer"),
                                 .x_label = "sublayers passed, from the last down",
                                 .y_label = "norm after the factor", .log_y = true});
      for (const Placed& placed : placed_norms(o_)) add(depth, placed);
    }
    report_.csv(table_);
    report_.csv(all_factors_, "factors");
    report_.judge_by(ratios_);
    report_.figure(layers_, "Norm of dL/dx after every layer (0: the embeddings), post-LN, pre-LN and without a norm, "
                            "for networks of several depths");
    report_.figure(factors_, "Post-LN's product, factor by factor: the norm of dL/dx after each norm (halfway between "
                             "two numbers) and each 1 + F' (at a number); pre-LN's sum, after each term", "factors");
    if (!rows_.empty())
      report_.table("Norm of dL/dx after the first layer, divided by that after the last (1: it neither grows nor "
                    "vanishes)", columns(), rows_);
    report_.caption(formatted("new networks of H = {}; the mean of the seeds' logarithms; on one batch of {}; products "
                              "and sums by vector-Jacobian products differ from the tape by {} of dL/dx at most",
                              o_.widths[0], o_.batch, short_text(difference_)));
    report_.caption("\"changes less\" is judged by the size of this ratio's logarithm, over all depths");
    runs_.differs(report_);
    report_.differs("the slide is an argument, without a measurement; its indices, which do not fit, are read as "
                    "examples/papers/nt/gradient.cpp says");
  }

 private:
  std::vector<std::string> columns() const {
    std::vector<std::string> all = {""};
    for (const double depth : o_.depths)
      if (depth > 1) all.push_back(counted(int64_t(depth), "layer"));
    return all;
  }

  void add(double depth, const Placed& placed) {
    std::vector<std::vector<double>> of_layers, of_factors;
    std::vector<double> ratios;
    for (const int seed : runs_.seeds()) {
      const Json result = runs_.result(runs_.gradient_walk(setup_of(o_, depth, placed, seed)));
      const std::vector<std::string> of = {formatted("{}", depth), placed.placement, placed.norm};
      const auto row = [&](std::vector<std::string> more) {
        more.insert(more.begin(), of.begin(), of.end());
        return more;
      };
      const std::vector<double> tape = result["tape"].numbers();      // of sublayers
      of_layers.emplace_back();
      for (size_t k = 0; k < tape.size(); k += 2) {
        of_layers.back().push_back(tape[k]);
        table_.add(row({std::to_string(k / 2), std::to_string(seed)}), tape[k]);
      }
      of_factors.push_back({tape.back()});
      for (const Json& f : result["factors"].items()) {
        const std::string name = f["name"].string();
        all_factors_.add(row({std::to_string(f["sublayer"].integer()), name, std::to_string(seed)}),
                         f["gradient"].number_if());
        if (name != "term") of_factors.back().push_back(f["gradient"].number_if().value_or(NAN));
      }
      ratios.push_back(of_layers.back()[1] / of_layers.back().back());
      if (depth > 1)                                // one layer is both the first and the last
        ratios_.add({formatted("{}", depth), placed.placement, placed.norm, std::to_string(seed)},
                    std::abs(std::log(ratios.back())));
      difference_ = std::max(difference_, result["difference"].number_if().value_or(INFINITY));
    }
    const auto curve = [&](const std::vector<std::vector<double>>& of_seeds, double step) {
      Curve c{.title = placed.title(), .y = geometric_mean(of_seeds)};
      for (size_t i = 0; i < c.y.size(); ++i) c.x.push_back(step * double(i));
      return c;
    };
    layers_.panels.back().curves.push_back(curve(of_layers, 1));
    factors_.panels.back().curves.push_back(curve(of_factors, placed.placement == "pre" ? 1 : 0.5));
    if (depth == 1) return;
    auto found = std::ranges::find(rows_, placed.title(), &ItemReport::TableRow::head);
    if (found == rows_.end()) found = rows_.insert(found, {placed.title(), {}});
    std::vector<std::vector<double>> single;
    for (const double r : ratios) single.push_back({r});
    found->cells.push_back({"", short_text(geometric_mean(single)[0])});
  }

  const NtRuns& runs_;
  const NtOptions& o_;
  ItemReport& report_;
  LongTable table_{{"depth", "placement", "norm", "layer", "seed", "value"}};
  LongTable all_factors_{{"depth", "placement", "norm", "sublayer", "factor", "seed", "value"}};
  // |log(‖dL/dx‖ after the first layer / after the last)|: 0 where the gradient neither grows nor vanishes
  LongTable ratios_{{"depth", "placement", "norm", "seed", "value"}};
  Figure layers_{.title = "", .columns = 3}, factors_{.title = "", .columns = 3};
  std::vector<ItemReport::TableRow> rows_;
  double difference_ = 0;
};

}  // namespace

Item nt_gradient_item(const SharedNtRuns& runs) {
  return {"gradient", "Gradients through the layers: a product and a sum", [=] { return walks(*runs); },
          [=](ItemReport& report) { GradientItem(*runs, report).show(); }};
}

}  // namespace minbert
