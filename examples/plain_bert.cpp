// All of minBERT in one file: a BERT whose LayerNorm knows the task learns sentiment, paraphrases and similarity.
//
// A line is an equation, made of the operations of minbert/ops.h; their derivatives are the business of the tape
// (minbert/autograd.h). This is the form to read. The library in src computes the same faster, each of its files names
// its counterpart here, and main() trains both. plain_bert.py is this file in PyTorch, line by line, and
// inside/forward.js its network in JavaScript.
//
//   Papers    Vaswani et al. 2017 (attention), Devlin et al. 2019 (BERT), Loshchilov & Hutter 2019 (AdamW),
//             Improving minBERT with Conditional Layer Normalization [CLN]
//   Letters   T  tokens of a batch     B  its sentences     L  tokens of one of them     d = H / heads
//             H  hidden size           I  inner size of the feed-forward network
//   Shapes    [T, H] behind a line is the shape of its result, [] that of a single number.
//   Batch     Sentences lie end to end, without padding:
//               ids         [CLS]   a  film  [SEP]  [CLS]  who  is  it  [SEP]        [T]
//               positions     0     1    2     3      0     1    2   3    4          [T]
//               segments      0     0    0     0      0     0    0   0    0          [T]      1 in a pair's second text
//               row_task      0     0    0     0      0     0    0   0    0          [T]      the task's number
//               offsets       0                       4                        9     [B + 1]
//
//   $ plain_bert
//   prints numbers of the first gradient and the loss of each step, and how far the library's are from these. 20 steps
//   a task are enough to compare the two, not to learn SST.
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>

#include "minbert/autograd.h"
#include "minbert/model.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "minbert/shipped.h"
#include "train/cli/command_line.h"

namespace plain {
using namespace minbert;

// ---- θ: all that is learnt, by Hugging Face's names -----------------------------------------------------------------

using Theta = std::map<std::string, Tensor>;

// A pre-trained encoder from a file. What tasks add to its norms begins as 0, the weights of their heads as small
// random numbers.
Theta load(const std::string& file_name, const std::vector<Task>& tasks) {
  Theta theta;
  const SafeTensors file(file_name);
  for (const auto& [name, entry] : file.entries()) {
    if (!name.starts_with("bert.")) continue;                        // the heads of pre-training
    const std::vector<real> values = file.read(name);
    const Tensor p = Tensor::from({int64_t(values.size())}, values);
    theta[name] = entry.shape.size() == 1 ? p : p.reshape({entry.shape[0], entry.shape[1]});
    if (!name.ends_with("LayerNorm.weight")) continue;
    const std::string norm = name.substr(0, name.rfind('.'));
    theta[norm + ".task_weight"] = Tensor::zeros({int64_t(tasks.size()), p.size()});
    theta[norm + ".task_bias"] = Tensor::zeros({int64_t(tasks.size()), p.size()});
  }
  const int64_t H = theta.at("bert.pooler.dense.bias").size();
  for (size_t t = 0; t < tasks.size(); ++t) {
    const std::string head = "heads." + tasks[t].name;
    theta[head + ".weight"] = 0.02 * Tensor::randn({tasks[t].outputs(), H}, t);   // t: the seed
    theta[head + ".bias"] = Tensor::zeros({tasks[t].outputs()});
  }
  for (const auto& [name, p] : theta) p.set_requires_grad(true);
  return theta;
}

// ---- The network ----------------------------------------------------------------------------------------------------

// x[row : row_end, column : column_end]. Only rows can be cut out, so the columns are made rows, and back.
Tensor block(const Tensor& x, int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
  const Tensor rows = slice_rows(x, row, row_end);
  return transpose(slice_rows(transpose(rows), column, column_end));
}

// Tensors below each other: [L₁, H] [L₂, H] ... -> [L₁ + L₂ + ..., H]; `cat` joins columns.
Tensor cat_rows(const std::vector<Tensor>& parts) {
  std::vector<Tensor> columns;
  for (const Tensor& part : parts) columns.push_back(transpose(part));
  return transpose(cat(columns));
}

struct Bert {
  Theta theta;
  int layers, heads;
  double p;                                                          // of dropout

  // y = x Wᵀ + b
  Tensor linear(const std::string& name, const Tensor& x) const {
    const Tensor W = theta.at(name + ".weight");                     // [out, in]
    const Tensor b = theta.at(name + ".bias");                       // [out]
    return matmul_nt(x, W) + b;                                      // [T, out]
  }

  // Each number becomes 0 with probability p, else is divided by 1 - p, so that its mean stays.
  Tensor dropout(const Tensor& x) const {
    if (p == 0) return x;
    static Random random(11711, "dropout");
    std::vector<real> m;
    for (int64_t i = 0; i < x.size(); ++i) m.push_back(real(random.uniform() >= p));
    return x * Tensor::from(x.shape(), m) / (1 - p);                 // [T, H]
  }

  // y = x̂ ⊙ γ + β, or with t [T], the task of each token, y = x̂ ⊙ (γ + γ_t) + (β + β_t)
  Tensor layer_norm(const std::string& name, const Tensor& x, const Indices& t) const {
    constexpr double eps = 1e-12;
    const Tensor gamma = theta.at(name + ".weight");                 // [H]
    const Tensor beta = theta.at(name + ".bias");                    // [H]
    const Tensor mu = mean_rows(x);                                  // [T, 1]  [CLN eq.2]
    const Tensor sigma2 = mean_rows(square(x - mu));                 // [T, 1]  [CLN eq.3]
    const Tensor xhat = (x - mu) / sqrt(sigma2 + eps);               // [T, H]
    if (!t) return xhat * gamma + beta;                              // [T, H]  [CLN eq.1], where no task is given
    const Tensor gamma_t = embedding(theta.at(name + ".task_weight"), t);   // [T, H], rows of [tasks, H]
    const Tensor beta_t = embedding(theta.at(name + ".task_bias"), t);      // [T, H]
    return xhat * (gamma + gamma_t) + (beta + beta_t);               // [T, H]  [CLN eq.4]
  }

  // x = Norm(word + position + segment): each token takes a row of three tables.
  Tensor embeddings(const std::string& name, const Batch& batch) const {
    const Tensor word = embedding(theta.at(name + ".word_embeddings.weight"), batch.ids);                // [T, H]
    const Tensor position = embedding(theta.at(name + ".position_embeddings.weight"), batch.positions);  // [T, H]
    const Tensor segment = embedding(theta.at(name + ".token_type_embeddings.weight"), batch.segments);  // [T, H]
    const Tensor x = word + position + segment;                                                          // [T, H]
    return dropout(layer_norm(name + ".LayerNorm", x, batch.row_task));                 // [T, H]  [CLN replaces]
  }

  // O = softmax(Q Kᵀ / √d) V, for each sentence and head by itself: the one place where tokens meet
  Tensor attention(const Tensor& Q, const Tensor& K, const Tensor& V, const Batch& batch) const {
    const int64_t d = Q.cols() / heads;
    std::vector<Tensor> sentences;
    for (int64_t b = 0; b < batch.sentences(); ++b) {
      const int64_t begin = batch.offsets[b];
      const int64_t end = batch.offsets[b + 1];
      std::vector<Tensor> O;
      for (int64_t h = 0; h < heads; ++h) {
        const Tensor q = block(Q, begin, end, h * d, (h + 1) * d);   // [L, d]
        const Tensor k = block(K, begin, end, h * d, (h + 1) * d);   // [L, d]
        const Tensor v = block(V, begin, end, h * d, (h + 1) * d);   // [L, d]
        const Tensor S = matmul_nt(q, k) / std::sqrt(double(d));     // [L, L]
        const Tensor P = dropout(softmax(S));                        // [L, L]
        O.push_back(matmul(P, v));                                   // [L, d]
      }
      sentences.push_back(cat(O));                                   // [L, H]
    }
    return cat_rows(sentences);                                      // [T, H]
  }

  // A(x) = W_o attention(W_q x, W_k x, W_v x)
  Tensor self_attention(const std::string& name, const Tensor& x, const Batch& batch) const {
    const Tensor Q = linear(name + ".self.query", x);                // [T, H]
    const Tensor K = linear(name + ".self.key", x);                  // [T, H]
    const Tensor V = linear(name + ".self.value", x);                // [T, H]
    const Tensor O = attention(Q, K, V, batch);                      // [T, H]
    return linear(name + ".output.dense", O);                        // [T, H]
  }

  // F(x) = W₂ GELU(W₁ x)
  Tensor feed_forward(const std::string& name, const Tensor& x) const {
    const Tensor u = gelu(linear(name + ".intermediate.dense", x));  // [T, I]
    return linear(name + ".output.dense", u);                        // [T, H]
  }

  // a = Norm(x + A(x))     y = Norm(a + F(a))
  Tensor layer(const std::string& name, const Tensor& x, const Batch& batch) const {
    const Tensor A = dropout(self_attention(name + ".attention", x, batch));                             // [T, H]
    const Tensor a = layer_norm(name + ".attention.output.LayerNorm", x + A, batch.row_task);  // [T, H]  [CLN replaces]
    const Tensor F = dropout(feed_forward(name, a));                                                     // [T, H]
    return layer_norm(name + ".output.LayerNorm", a + F, batch.row_task);                      // [T, H]  [CLN replaces]
  }

  // The last state of each sentence's first token, [CLS], stands for the sentence.
  Tensor pooled(const Batch& batch) const {
    Tensor x = embeddings("bert.embeddings", batch);                                                     // [T, H]
    for (int i = 0; i < layers; ++i) x = layer("bert.encoder.layer." + std::to_string(i), x, batch);     // [T, H]
    const std::vector<int32_t> first(batch.offsets.begin(), batch.offsets.end() - 1);
    const Tensor cls = index_select(x, first);                       // [B, H]
    return tanh(linear("bert.pooler.dense", cls));                   // [B, H]
  }

  // What the head of the task says of each sentence or pair.
  Tensor logits(const std::string& task, const Batch& batch) const {
    return linear("heads." + task, dropout(pooled(batch)));          // [B, outputs]
  }
};

// ---- The losses, each the mean over the batch -----------------------------------------------------------------------

// A new head says about 0, so L begins near log 5 = 1.61 (SST), log 2 = .69 (Quora) and the mean of y², about 9 (STS).
// As the equations stand, L is NaN where a p underflows to 0, since 0 log 0 is NaN: in float where a logit is 104 below
// the largest one (cross_entropy), or 89 from 0 (binary_cross_entropy). The library's losses never take the log of such
// a p: src/ops/softmax_row.h, src/ops/loss.cpp.

// SST, z [B, 5]     L = -log p_label,  p = softmax(z)
Tensor cross_entropy(const Tensor& z, const std::vector<double>& labels) {
  std::vector<real> ones(size_t(z.size()));
  for (size_t b = 0; b < labels.size(); ++b) ones[b * size_t(z.cols()) + size_t(labels[b])] = 1;
  const Tensor y = Tensor::from(z.shape(), ones);                    // [B, 5]
  return -mean(sum_rows(y * log(softmax(z))));                       // []  [CLN losses]
}

// [B, 1]
Tensor column(const std::vector<double>& labels) {
  return Tensor::from({int64_t(labels.size()), 1}, std::vector<real>(labels.begin(), labels.end()));
}

// Quora, z [B, 1]   L = -y log p - (1 - y) log(1 - p),  p = σ(z),  1 - p = σ(-z)
Tensor binary_cross_entropy(const Tensor& z, const std::vector<double>& labels) {
  const Tensor y = column(labels);                                   // [B, 1]
  return -mean(y * log(sigmoid(z)) + (1 - y) * log(sigmoid(-z)));    // []  [CLN losses]
}

// STS, z [B, 1]     L = (z - y)²
Tensor squared_error(const Tensor& z, const std::vector<double>& labels) {
  const Tensor y = column(labels);                                   // [B, 1]
  return mean(square(z - y));                                        // []  [CLN losses]
}

// What one step learns from: a batch of one task.
struct Step {
  std::string task;
  Batch batch;
  std::vector<double> labels;                                        // [B]
};

Tensor loss_of(const Bert& bert, const Step& step) {
  const Tensor z = bert.logits(step.task, step.batch);               // [B, outputs]
  if (step.task == "sst") return cross_entropy(z, step.labels);
  if (step.task == "quora") return binary_cross_entropy(z, step.labels);
  return squared_error(z, step.labels);
}

// ---- Training -------------------------------------------------------------------------------------------------------

// In the k-th step of a parameter, with its gradient g:
//   m = β₁ m + (1-β₁) g     v = β₂ v + (1-β₂) g²     m̂ = m / (1-β₁ᵏ)     v̂ = v / (1-β₂ᵏ)
//   θ = θ - η λ θ - η m̂ / (√v̂ + ε)                               η: learning rate     λ: weight decay
struct AdamW {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0.01;
  Theta m, v;
  std::map<std::string, int> k;

  void step(const Theta& theta, double eta) {
    const NoGrad no_tape;
    for (const auto& [name, p] : theta) {
      const Tensor g = p.grad();
      if (!g) continue;                                              // the head of another task
      if (!m[name]) m[name] = v[name] = Tensor::zeros(p.shape());
      k[name] += 1;
      m[name] = beta1 * m[name] + (1 - beta1) * g;
      v[name] = beta2 * v[name] + (1 - beta2) * square(g);
      const Tensor mhat = m[name] / (1 - std::pow(beta1, k[name]));
      const Tensor vhat = v[name] / (1 - std::pow(beta2, k[name]));
      const bool decays = name.ends_with(".weight") && !name.ends_with("LayerNorm.weight");
      const double lambda = decays ? weight_decay : 0;               // none for biases and norms
      p.copy_from((p - eta * lambda * p - eta * mhat / (sqrt(vhat) + eps)).values());
      p.zero_grad();
    }
  }
};

// The tasks in turn, each with its examples in the order of the file, 16 a step.
std::vector<Step> read_steps(const std::string& folder, const std::vector<Task>& tasks, int32_t count) {
  constexpr int32_t B = 16;
  const Tokenizer tokenizer = Tokenizer::from_folder(folder + "/bert");
  std::vector<Dataset> sets;
  for (const Task& task : tasks)
    sets.push_back(read_set(folder, task, Split::train, 0, tokenizer, {.max_length = 64}, std::cerr));
  std::vector<Step> steps;
  for (int32_t k = 0; k < count; ++k) {
    const size_t t = size_t(k) % tasks.size();
    const int64_t first = k / int32_t(tasks.size()) * B;
    const Indices examples = Indices::range(first, first + B);
    const auto [batch, labels] = labeled(sets[t], examples, {int32_t(t)});
    steps.push_back({tasks[t].name, batch, labels});
  }
  return steps;
}

// The learning rate falls linearly to 0.
double eta(size_t step, size_t steps) { return 1e-3 * (1 - double(step) / double(steps)); }

// The loss of each step.
std::vector<double> train(const Bert& bert, const std::vector<Step>& steps) {
  std::vector<double> losses;
  AdamW optimizer;
  for (const Step& step : steps) {
    const Tensor loss = loss_of(bert, step);                         // []
    backward(loss);
    optimizer.step(bert.theta, eta(losses.size(), steps.size()));    // one for all tasks  [CLN loop]
    losses.push_back(loss.item());
  }
  return losses;
}

// ---- Beside the library ---------------------------------------------------------------------------------------------

// The library's network with the numbers of theta.
struct Library {
  std::vector<Task> tasks;
  Model model;

  Library(const Theta& theta, const BertConfig& config, const std::vector<Task>& list)
      : tasks(list), model(with_tasks(config, list), 0, false, heads_of(list), config.hidden_dropout_prob) {
    for (const auto& [name, p] : parameters()) p.copy_from(theta.at(name).values());
  }
  static BertConfig with_tasks(BertConfig config, const std::vector<Task>& tasks) {
    config.norm = "conditional-layer";
    for (const Task& task : tasks) config.tasks.push_back(task.name);
    return config;
  }
  Theta parameters() const {
    Theta theta;
    for (const Parameter& p : model.parameters.items()) theta[p.name] = p.value;
    return theta;
  }
  Tensor loss(const Step& step) const {
    const int t = model.network.task_id(step.task);
    return task_loss(tasks[size_t(t)], model.network.forward(step.batch, t), step.labels);
  }
  std::vector<double> train(const std::vector<Step>& steps) {
    std::vector<double> losses;
    Optimizer optimizer(model.parameters, {.weight_decay = AdamW().weight_decay});
    for (const Step& step : steps) {
      const Tensor step_loss = loss(step);
      backward(step_loss);
      optimizer.step(eta(losses.size(), steps.size()));
      losses.push_back(step_loss.item());
    }
    return losses;
  }
};

// dL/dθ, of the parameters on which L depends.
std::map<std::string, std::vector<real>> gradient(const Tensor& loss, const Theta& theta) {
  std::map<std::string, std::vector<real>> all;
  backward(loss);
  for (const auto& [name, p] : theta) {
    if (!p.grad()) continue;
    all[name] = p.grad().values();
    p.zero_grad();
  }
  return all;
}

template <class Number>
double largest_difference(const std::vector<Number>& a, const std::vector<Number>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double(a[i]) - double(b[i])));
  return largest;
}

// What plain_bert.py begins with: θ, the sizes, and the ids and labels of each step.
void save(const std::string& folder, const Theta& theta, const BertConfig& config, const std::vector<Step>& steps) {
  SafeTensorsWriter file;
  for (const auto& [name, p] : theta) file.add(name, p);
  const auto list = [](const auto& numbers) { return Json::array_of({numbers.begin(), numbers.end()}); };
  Json::Array all;
  for (const auto& [task, batch, labels] : steps)
    all.push_back(Json::object({{"task", task}, {"ids", list(batch.ids)}, {"segments", list(batch.segments)},
                                {"positions", list(batch.positions)}, {"offsets", list(batch.offsets)},
                                {"row_task", list(batch.row_task)}, {"labels", list(labels)}}));
  make_folder(folder);
  file.write(folder + "/start.safetensors");
  config.save(folder + "/sizes.json");
  write_file(folder + "/steps.json", Json::array(all).dump(-1));
}

int run(const std::string& out) {
  const std::string data = shipped("data/mini");
  const BertConfig config = BertConfig::load(data + "/bert/config.json");
  const std::vector<Task> tasks = parse_tasks("sst,quora,sts");
  const std::vector<Step> steps = read_steps(data, tasks, 60);
  const Bert bert = {load(data + "/bert/model.safetensors", tasks), config.num_hidden_layers,
                     config.num_attention_heads, config.hidden_dropout_prob};
  Library library(bert.theta, config, tasks);
  save(out, bert.theta, config, steps);

  const auto g = gradient(loss_of(bert, steps[0]), bert.theta);
  const auto library_g = gradient(library.loss(steps[0]), library.parameters());
  std::printf("gradient of the first loss, its first number     largest difference from the library\n");
  for (const char* name :
       {"heads.sst.weight", "bert.encoder.layer.2.output.LayerNorm.task_weight",
        "bert.encoder.layer.0.attention.self.query.weight", "bert.embeddings.position_embeddings.weight"})
    std::printf("%-50s %9.6f  %.0e\n", name, double(g.at(name)[0]),
                largest_difference(g.at(name), library_g.at(name)));

  const std::vector<double> losses = train(bert, steps);
  const std::vector<double> library_losses = library.train(steps);
  std::printf("\n step      sst    quora      sts   largest difference from the library\n");
  for (size_t k = 0; k < steps.size(); k += 3) {
    const std::vector<double> three(&losses[k], &losses[k] + 3);
    const std::vector<double> library_three(&library_losses[k], &library_losses[k] + 3);
    std::printf("%5zu %8.5f %8.5f %8.5f   %.0e\n", k + 3, three[0], three[1], three[2],
                largest_difference(three, library_three));
  }
  return 0;
}

}  // namespace plain

int main(int argc, char** argv) {
  std::string out = "runs/plain_bert";
  minbert::CommandLine line("plain_bert", "Trains a BERT written in one file, and the library's, on data/mini.");
  line.option("--out", out, "folder for what plain_bert.py begins with", "DIR");
  line.closing("Prints losses and gradients of both.", {"--out runs/plain_bert"});
  line.parse(argc, argv);
  return minbert::run_program("plain_bert", [&] { return plain::run(out); });
}
