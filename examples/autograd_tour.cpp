// A tour of the engine in fifty lines: tensors, a tape, gradients, and a network that learns XOR.
#include <cmath>
#include <iostream>

#include "minbert/nn.h"
#include "minbert/optimizer.h"
#include "train/cli/command_line.h"

using namespace minbert;

// A network of two layers: tanh in the middle, one output.
struct Network : Module {
  Child<Linear> hidden{this, "hidden", 2, 8}, out{this, "out", 8, 1};
  Tensor operator()(const Tensor& x) const { return out(tanh(hidden(x))); }
};

int main(int argc, char** argv) {
  CommandLine line("autograd_tour", "Shows tensors, the tape, gradients, and a network that learns XOR.");
  line.closing("Prints each step.", {""});
  line.parse(argc, argv);
  return run_program("autograd_tour", [] {
    // 1. A tensor is values and a shape. One that asks for a gradient puts what is done with it on
    // the tape.
    Tensor x = Tensor::from({3}, {1, 2, 3});
    x.set_requires_grad(true);
    const Tensor y = sum(x * exp(-x));                        // y = sum x e^-x
    std::cout << "y = sum x e^-x at x = 1, 2, 3:  " << y.item()
              << "\n\nthe tape, first operation first:\n";
    print_tape(std::cout);

    // 2. backward() walks the tape from its end: dy/dx = (1 - x) e^-x.
    backward(y);
    std::cout << "\n   x     dy/dx by the tape   (1 - x) e^-x\n";
    for (int i = 0; i < 3; ++i) {
      const double v = double(x.data()[i]);
      std::cout << "   " << v << "     " << x.grad().data()[i] << "          "
                << (1 - v) * std::exp(-v) << '\n';
    }

    // 3. Modules name their parameters; an optimizer moves them against their gradients.
    Network network;
    Parameters parameters(network, {.seed = 1, .initializer_range = 1});
    Optimizer optimizer(parameters, {.kind = OptimizerKind::adamw});
    const Tensor inputs = Tensor::from({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
    const Tensor xor_of = Tensor::from({4, 1}, {0, 1, 1, 0});
    std::cout << "\nXOR by a network of " << parameters.count() << " parameters:\n";
    for (int step = 0; step <= 300; ++step) {
      const Tensor loss = binary_cross_entropy_with_logits(network(inputs), xor_of);
      if (step % 100 == 0) std::cout << "   step " << step << "   loss " << loss.item() << '\n';
      backward(loss);
      optimizer.step(0.05);
    }
    const NoGrad no_tape;                                     // predictions need none
    const Tensor probability = sigmoid(network(inputs));
    for (int i = 0; i < 4; ++i)
      std::cout << "   " << inputs.data()[2 * i] << " xor " << inputs.data()[2 * i + 1]
                << " is 1 with probability " << probability.data()[i] << '\n';
    return 0;
  });
}
