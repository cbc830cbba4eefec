// Post-LN and pre-LN, drawn from the modules themselves: what one layer put on the tape, and what
// each operation read [NT fig.1].
#include <algorithm>
#include <cmath>

#include "engine/tape.h"
#include "papers/nt/transformer_norms.h"
#include "report/svg.h"

namespace minbert {
namespace {

// The part of a layer that an operation belongs to, by the module that ran it.
std::string part_of(const Trace::Operation& operation) {
  const std::string& module = operation.module;
  if (operation.name == "scale") return "x";
  if (module.ends_with(".attention.output.LayerNorm")) return "Norm 1";
  if (module.ends_with(".output.LayerNorm")) return "Norm 2";
  if (operation.name.find("add") != operation.name.npos) return "+";
  return module.find(".attention.") != module.npos || operation.name == "attention"
             ? "Attention"
             : "Feed-forward";
}

// Operations that belong together, from the layer's input on, and the boxes whose results they
// read.
Json boxes_of(Placement placement) {
  BertConfig config = BertConfig::named("narrow-1");
  config.vocab_size = 8;
  config.max_position_embeddings = config.max_length = 8;
  config.placement = placement;
  BertLayer layer(config, {.hidden = config.hidden_size, .layer_norm_eps = config.layer_norm_eps});
  const Parameters parameters(layer, {});
  const Batch batch = pack(std::vector<Sequence>{{{2, 5, 6, 3}, {0, 0, 0, 0}}});
  std::vector<real> values(size_t(4 * config.hidden_size));
  for (size_t i = 0; i < values.size(); ++i) values[i] = real(std::sin(double(i)));
  layer.set_path("layer");
  layer.train();
  const Tensor x = Tensor::from({4, config.hidden_size}, values);
  x.set_requires_grad(true);
  const Trace trace;
  const Tensor layer_input = scale(x, 1);           // an operation, so that the trace shows it
  backward(sum(layer.forward(layer_input, batch)));

  Names titles;
  std::vector<std::vector<int>> reads;
  std::vector<int> box_of;  // of each operation
  for (const Trace::Operation& operation : trace.operations()) {
    if (operation.name == "sum") break;
    const std::string part = part_of(operation);
    if (titles.empty() || titles.back() != part || part == "+") {
      titles.push_back(part);
      reads.emplace_back();
    }
    box_of.push_back(int(titles.size()) - 1);
    for (const int input : operation.inputs) {
      const int from = input < 0 ? -1 : box_of[size_t(input)];
      if (from >= 0 && from != box_of.back() && !std::ranges::count(reads.back(), from))
        reads.back().push_back(from);
    }
  }
  Json::Array boxes;
  for (size_t i = 0; i < titles.size(); ++i)
    boxes.push_back(Json::object({{"title", titles[i]},
                                  {"reads", Json::array({reads[i].begin(), reads[i].end()})}}));
  return Json::array(boxes);
}

// A layer from its input, below, to its result; each box has an arrow from every box that it reads.
class LayerDrawing {
 public:
  void column(const std::string& title, const Json::Array& boxes) {
    const double x = 150 + 260 * columns_++;
    svg_.text(x, height - 8, title, {.size = 14, .weight = "bold"});
    for (size_t i = 0; i < boxes.size(); ++i) {
      const std::string name = boxes[i]["title"].string();
      for (const Json& from : boxes[i]["reads"].items())
        arrow(x, size_t(from.integer()), i, name == "+");
      if (name == "+")
        svg_.add("circle",
                 {{"cx", x}, {"cy", middle(i)}, {"r", 13}, {"fill", "#fff"}, {"stroke", "#444"}});
      else if (name != "x")
        svg_.box(x - 65, middle(i) - 15, 130, 30, name.starts_with("Norm") ? "#fff2cc" : "#dbe9f6",
                 "#444", 5);
      svg_.text(x, middle(i) + 5, name, {.size = 14});
    }
    up(x, middle(boxes.size() - 1) - 15, middle(boxes.size() - 1) - 40);
  }
  std::string picture() const { return svg_.picture(560, height); }

 private:
  static constexpr double height = 480;
  static double middle(size_t box) { return height - 44 - 60 * double(box); }
  // Straight from the box below, otherwise around the boxes between.
  void arrow(double x, size_t from, size_t to, bool sum) {
    const double edge = x + (sum ? 13 : 65), y = middle(to), y0 = middle(from) - 24;
    if (from + 1 == to) return up(x, middle(from) - 15, y + (sum ? 13 : 15));
    svg_.stroke(formatted("M{} {}H{}V{}H{}", x, y0, x + 95, y, edge + 6), "#444", 1.5);
    svg_.fill(point('M', edge, y) + "l7 -4v8z", "#444");
  }
  void up(double x, double from, double tip) {
    svg_.stroke(point('M', x, from) + point('L', x, tip + 6), "#444", 1.5);
    svg_.fill(point('M', x, tip) + "l-4 7h8z", "#444");
  }
  Svg svg_;
  int columns_ = 0;
};

// [NT fig.1]
void fig1(const Json& result, ItemReport& report) {
  LayerDrawing drawing;
  for (const char* placement : {"post", "pre"})
    drawing.column(placement == std::string("post") ? "Post-LN" : "Pre-LN",
                   result[placement].items());
  report.picture(drawing.picture(),
                 "One layer with post-LN and one with pre-LN: its parts from the input x "
                 "upwards, and which results each of them reads");
}

Run modules() {
  const auto find_boxes = [](const std::string&) {
    return Json::object({{"post", boxes_of(Placement::post)}, {"pre", boxes_of(Placement::pre)}});
  };
  return {"modules", {{"placements", "post pre"}}, find_boxes, 0.1};
}

}  // namespace

Item nt_modules_item(const SharedNtRuns& runs) {
  return {"fig1", [] { return std::vector{modules()}; },
          [runs](ItemReport& report) { fig1(runs->result(modules()), report); }};
}

}  // namespace minbert
