// PCGrad: one step for several tasks at once, without the parts of their gradients that work against each other.
//
//   Paper      Yu et al. 2020, Gradient Surgery for Multi-Task Learning, alg. 1
//   Equations  for each task i, and the others j in random order:
//                  g_i ← g_i - (g_i·g_j / |g_j|²) g_j     where g_i·g_j < 0, with g_j as backward left it
//              the step is that of Σ g_i
//   Shapes     g_i [P], the gradient of task i's loss by all P parameters: Parameters::gradients(), flat
//
// A head's numbers are 0 in the gradients of other tasks, so that only what is shared can conflict.
#include "recipe.h"

using namespace minbert;

using Flat = std::vector<real>;                     // [P]

double dot(const Flat& a, const Flat& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * double(b[i]);
  return sum;
}

Flat total_of(const std::vector<Flat>& g) {
  Flat total(g[0].size());
  for (const Flat& one : g)
    for (size_t k = 0; k < total.size(); ++k) total[k] += one[k];
  return total;
}

// How often two tasks were compared, and how often their cosine was negative
struct Conflicts {
  int pairs = 0, found = 0;
};

Flat surgery(const std::vector<Flat>& g, Random& random, Conflicts& conflicts) {
  std::vector<Flat> g_pc;
  for (size_t i = 0; i < g.size(); ++i) {
    Flat mine = g[i];
    std::vector<size_t> others;
    for (size_t j = 0; j < g.size(); ++j)
      if (j != i) others.push_back(j);
    random.shuffle(others);
    for (const size_t j : others) {
      const double product = dot(mine, g[j]), square = dot(g[j], g[j]);
      ++conflicts.pairs;
      if (product >= 0) continue;
      ++conflicts.found;
      for (size_t k = 0; k < mine.size(); ++k) mine[k] -= real(product / square * double(g[j][k]));
      MB_CHECK(std::abs(dot(mine, g[j])) < 1e-3 * std::sqrt(dot(mine, mine) * square),
               "the gradients of tasks {} and {} still conflict", i, j);
    }
    g_pc.push_back(mine);
  }
  return total_of(g_pc);
}

// By hand: g₁·g₂ = -1, so g₁ = (1, 0) + 1/2 (-1, 1) = (.5, .5) and g₂ = (-1, 1) + (1, 0) = (0, 1)
void check_by_hand() {
  Random random(1, "tasks");
  Conflicts conflicts;
  MB_CHECK((surgery({{1, 0}, {-1, 1}}, random, conflicts) == Flat{0.5, 1.5}), "the step by hand is (.5, 1.5)");
  MB_CHECK((surgery({{1, 0}, {1, 1}}, random, conflicts) == Flat{2, 1}), "these gradients do not conflict");
  MB_CHECK(conflicts.pairs == 4 && conflicts.found == 2, "two of four pairs conflict");
}

int main(int argc, char** argv) {
  return run_recipe("pcgrad", argc, argv, [](uint64_t seed) {
    check_by_hand();
    const std::vector<Task> tasks = parse_tasks("sst,quora,sts");
    std::vector<TaskSets> sets;
    std::vector<TaskSize> sizes;
    for (const Task& task : tasks) {
      sets.push_back(read_sets(task));
      sizes.push_back({task.name, int64_t(sets.back().train.examples.size())});
    }
    const size_t steps = 150;
    const double lowest[] = {0.3, 0.88, 0.75}, highest[] = {0.55, 0.97, 0.92};
    // An epoch of round-robin is the three tasks in turn, so three batches make a step.
    const auto batches = epoch_batches(sizes, 0, {.sampling = Sampling::round_robin, .batch = 16, .seed = seed});
    using Combine = std::function<Flat(const std::vector<Flat>& g)>;
    const auto learn = [&](const std::string& how, const Combine& combine) {
      Model model = Model::from_pretrained(mini_bert, tasks, {.seed = seed, .head_dropout = 0.1});
      Optimizer adamw(model.parameters, {});
      model.parameters.reserve_gradients();
      for (size_t k = 0; k < steps; ++k) {
        std::vector<Flat> g;
        for (size_t b = 3 * k; b < 3 * k + 3; ++b) {
          const auto& [t, examples] = batches[b];
          const Dataset& data = sets[size_t(t)].train;
          model.parameters.zero_grad();
          const auto [batch, labels] = labeled(data, examples, {t});
          backward(task_loss(tasks[size_t(t)], model.network.forward(batch, t), labels));
          g.push_back(model.parameters.gradients().values());
        }
        model.parameters.gradients().copy_from(combine(g));
        adamw.step(3e-4 * (1 - double(k) / double(steps)));
      }
      model.network.train(false);
      for (int t = 0; t < 3; ++t)
        expect(tasks[size_t(t)].title + ", " + how,
               dev_score(sets[size_t(t)], [&](const Batch& batch) { return model.network.forward(batch, t); }),
               lowest[t], highest[t]);
    };
    learn("the sum of the gradients", total_of);
    Random random(seed, "order of tasks");
    Conflicts conflicts;
    learn("PCGrad", [&](const std::vector<Flat>& g) { return surgery(g, random, conflicts); });
    expect("share of conflicts", double(conflicts.found) / conflicts.pairs, 0.25, 0.7);
  });
}
