// The framework without BERT: a network of three layers learns to tell two spirals apart, and draws
// what it learnt.
//
//   $ mlp --out runs/mlp
//   runs/mlp/spirals.svg: both spirals, and what the network says at every point
#include <cmath>
#include <iostream>
#include <numbers>

#include "minbert/files.h"
#include "minbert/nn.h"
#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "report/svg.h"
#include "train/cli/command_line.h"

using namespace minbert;

// 2 -> 64 -> 64 -> 1: ReLU and dropout after each hidden layer; the last is the logit of spiral 1.
struct Network : Module {
  Child<Linear> first{this, "first", 2, 64, Init::random_relu};
  Child<Dropout> dropout1{this, "dropout1", 0.1};
  Child<Linear> second{this, "second", 64, 64, Init::random_relu};
  Child<Dropout> dropout2{this, "dropout2", 0.1};
  Child<Linear> last{this, "last", 64, 1};
  Tensor operator()(const Tensor& x) const {                         // [B,2] -> [B,1]
    return last(dropout2(relu(second(dropout1(relu(first(x)))))));
  }
};

struct Points {
  Tensor x, spiral;                                                  // [n,2], [n,1]: 0 or 1
};

// Two spirals of one and a half turns, the second opposite to the first, with some noise.
Points spirals(int64_t n, uint64_t seed) {
  Random random(seed, "spirals");
  std::vector<real> x, spiral;
  for (int64_t i = 0; i < n; ++i) {
    const double t = std::sqrt(random.uniform()), which = double(i % 2);
    const double angle = 3 * std::numbers::pi * t + std::numbers::pi * which;
    x.push_back(real(t * std::cos(angle) + 0.02 * random.normal()));
    x.push_back(real(t * std::sin(angle) + 0.02 * random.normal()));
    spiral.push_back(real(which));
  }
  return {Tensor::from({n, 2}, x), Tensor::from({n, 1}, spiral)};
}

double accuracy(Network& network, const Points& points) {
  const NoGrad no_tape;
  network.train(false);
  const std::vector<real> logits = network(points.x).values(), spiral = points.spiral.values();
  network.train();
  double right = 0;
  for (size_t i = 0; i < logits.size(); ++i) right += (logits[i] > 0) == (spiral[i] == 1);
  return right / double(logits.size());
}

// 400 x 400 pixels for -1.2 .. 1.2: the network's probability in squares, the points upon them.
std::string drawing(Network& network, const Points& points) {
  constexpr int squares = 80, size = 5;
  const auto pixel = [](double v) { return (v + 1.2) / 2.4 * squares * size; };
  std::vector<real> pixels;
  for (int row = 0; row < squares; ++row)
    for (int column = 0; column < squares; ++column)
      for (const int at : {column, row}) pixels.push_back(real((at + 0.5) / squares * 2.4 - 1.2));
  const NoGrad no_tape;
  network.train(false);
  const std::vector<real> p =
      sigmoid(network(Tensor::from({squares * squares, 2}, pixels))).values();
  Svg svg;
  for (int i = 0; i < squares * squares; ++i)  // from blue, spiral 0, to orange, spiral 1
    svg.box(i % squares * size, i / squares * size, size, size,
            formatted("rgb({},{},{})", int(150 + 105 * p[size_t(i)]), int(190 + 10 * p[size_t(i)]),
                      int(255 - 125 * p[size_t(i)])));
  for (int64_t i = 0; i < points.x.rows(); ++i)
    svg.add("circle", {{"cx", pixel(double(points.x.data()[2 * i]))},
                       {"cy", pixel(double(points.x.data()[2 * i + 1]))},
                       {"r", 2.5},
                       {"fill", points.spiral.data()[i] == 1 ? "#b35900" : "#1f4e99"},
                       {"stroke", "white"},
                       {"stroke-width", 0.6}});
  return svg.picture(squares * size, squares * size);
}

int main(int argc, char** argv) {
  int epochs = 300, batch = 32, seed = 11711;
  double lr = 0.01;
  std::string out = "runs/mlp";
  Initialisation initialisation = Initialisation::kaiming;
  CommandLine line(
      "mlp",
      "Learns to tell two spirals apart by a network of three layers, and draws what it learnt.");
  line.option("--epochs", epochs, "passes over the 400 points", Range{1});
  line.option("--batch", batch, "points in a batch", Range{1});
  line.option("--lr", lr, "learning rate; it falls linearly to 0", Range{0});
  line.option("--initialisation", initialisation, "how the weights are drawn");
  line.option("--seed", seed, "of every random number", Range{0});
  line.option("--out", out, "folder for spirals.svg", "DIR");
  line.closing("Prints the accuracy, and writes spirals.svg.", {"--epochs 100 --out runs/mlp"});
  line.parse(argc, argv);
  return run_program("mlp", [&] {
    const Points train = spirals(400, uint64_t(seed)), test = spirals(400, uint64_t(seed) + 1);
    Network network;
    const Parameters parameters(network,
                                {.seed = uint64_t(seed), .initialisation = initialisation});
    Optimizer optimizer(parameters, {.kind = OptimizerKind::adamw});
    DropoutClock::current().seed = uint64_t(seed);
    std::cout << "two spirals, a network of " << parameters.count() << " parameters\n";

    const TaskSize task{"spirals", train.x.rows()};
    for (int epoch = 0; epoch < epochs; ++epoch) {
      double sum = 0;
      const auto batches =
          epoch_batches({&task, 1}, epoch, {.batch = batch, .seed = uint64_t(seed)});
      for (const TaskBatch& b : batches) {
        const Tensor x = index_select(train.x, b.examples),
                     y = index_select(train.spiral, b.examples);
        const Tensor loss = binary_cross_entropy_with_logits(network(x), y);
        backward(loss);
        optimizer.step(lr * (1 - double(epoch) / epochs));
        sum += double(loss.item());
      }
      if (epoch % 50 == 49 || epoch + 1 == epochs)
        std::cout << formatted("epoch {}   loss {}   accuracy {} of new points\n", epoch + 1,
                               sum / double(batches.size()), accuracy(network, test));
    }
    make_folder(out);
    write_file(out + "/spirals.svg", drawing(network, train));
    std::cout << out << "/spirals.svg: both spirals, and what the network says at every point\n";
    return 0;
  });
}
