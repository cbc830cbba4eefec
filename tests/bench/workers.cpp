// The workers that compute: BERT, and products of matrices alone.
#include "bench/workers.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>

#include "engine/cuda.h"
#include "engine/process.h"
#include "engine/profile.h"
#include "engine/storage.h"
#include "minbert/bert.h"
#include "minbert/files.h"
#include "minbert/optimizer.h"
#include "minbert/shipped.h"
#include "minbert/tokenizer.h"
#include "models/encode_file.h"
#include "train/cli/train_mode.h"

namespace minbert::bench {
namespace {

bool on_gpu() { return default_device() == Device::cuda; }

template <class Work>
double seconds(Work&& work) {
  if (on_gpu()) cuda::synchronize();
  const auto start = std::chrono::steady_clock::now();
  work();
  if (on_gpu()) cuda::synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Batch batch_of(const std::string& lengths, int32_t vocabulary, bool with_task, Random& random) {
  std::istringstream in(lengths);
  std::vector<Sequence> sequences;
  for (int length; in >> length;) {
    Sequence& s = sequences.emplace_back();
    for (int i = 0; i < length; ++i) s.ids.push_back(int32_t(random.below(uint64_t(vocabulary))));
    s.segments.assign(size_t(length), 0);
  }
  return pack(sequences, with_task ? Indices{0} : Indices());
}

Indices random_labels(int64_t count, uint64_t classes, Random& random) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back(int32_t(random.below(classes)));
  return labels;
}

// Each row is as likely as any other.
Indices masked_rows(const Batch& batch, Random& random) {
  const int64_t T = batch.tokens(), count = masked_among(T);
  std::vector<int32_t> rows;
  for (int64_t row = 0; row < T; ++row)
    if (int64_t(random.below(uint64_t(T - row))) < count - int64_t(rows.size())) rows.push_back(int32_t(row));
  return rows;
}

struct Work {                                       // of a step
  Batch batch;
  Indices labels, masked, originals;
};

}  // namespace

void bert_worker(const std::string& config_name, const std::string& mode, const std::string& norm,
                 const std::string& cls_norm, const std::string& trained, bool profile, int warm_up) {
  BertConfig config = BertConfig::named(config_name);
  config.norm = norm, config.cls_norm = cls_norm, config.cls_norm_at = cls_norm_place(cls_norm, ClsPlace::per_method);
  const bool train = mode != "forward" && mode != "encode", pretrain = mode == "pretrain", encoder = mode == "encoder";
  std::unique_ptr<MultitaskBert> classifier;
  std::unique_ptr<BertForPreTraining> pretraining;
  if (pretrain) pretraining = std::make_unique<BertForPreTraining>(config);
  else classifier = std::make_unique<MultitaskBert>(config, std::vector<HeadSpec>{{"sst", 5, false, false}},
                                                    config.hidden_dropout_prob);
  Module& model = pretrain ? static_cast<Module&>(*pretraining) : *classifier;
  Parameters parameters(model, {});
  set_trained(parameters, trained, 11711);
  model.train(train);
  set_recompute(mode == "recompute");
  std::unique_ptr<Optimizer> optimizer;
  if (train) optimizer = std::make_unique<Optimizer>(parameters, OptimizerOptions{
    .kind = encoder ? OptimizerKind::sgd : OptimizerKind::adamw});
  if (on_gpu()) std::cout << "minbert, " << device_text() << std::endl;
  else std::cout << "minbert, " << omp_get_max_threads() << " threads, " << openblas_kernels() << " kernels, "
                 << openblas_file() << (matmul_precision() == Precision::bf16 ? ", " + device_text() : "") << std::endl;

  Random random(11711, "bench");
  const auto draw = [&](const std::string& lengths) {
    const Batch batch = batch_of(lengths, config.vocab_size, norm == "conditional-layer", random);
    const Indices labels = random_labels(batch.sentences(), pretrain ? 2 : 5, random);
    const Indices masked = masked_rows(batch, random);
    return Work{batch, labels, masked, random_labels(masked.size(), uint64_t(config.vocab_size), random)};
  };
  const auto loss = [&](const Work& w) {
    if (!pretrain) return cross_entropy(classifier->forward(w.batch, 0), w.labels);
    const PretrainingOutput out = pretraining->forward(w.batch, w.masked, w.originals);
    return add(out.mlm_loss, cross_entropy(out.nsp_logits, w.labels));
  };
  const auto take_step = [&](const Work& w) {
    if (!train) {
      const NoGrad no_tape;
      return mode == "encode" ? classifier->bert().forward(w.batch).last_hidden_state : classifier->forward(w.batch, 0);
    }
    const Tensor result = loss(w);
    backward(result);
    if (!encoder) optimizer->clip(1.0);
    optimizer->step(1e-5);
    return result;
  };

  int64_t step = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<Work> group;
    std::istringstream in(line);
    for (std::string lengths; std::getline(in, lengths, ';');) group.push_back(draw(lengths));
    if (profile && step == warm_up) profile_start();
    profile_resume();
    const int64_t launches = cuda::launches();
    Tensor result;
    const double time = seconds([&] {
      for (const Work& w : group) {
        DropoutClock::current().step = uint64_t(step++);
        result = take_step(w);
      }
    });
    std::cout << time;
    if (on_gpu()) std::cout << ' ' << pool_statistics().bytes_held << ' ' << cuda::launches() - launches;
    std::cout << std::endl;
    for (const real v : result.values()) MB_CHECK(std::isfinite(v), "{}: step {} gives {}", config_name, step, v);
  }
  if (!profile) return;
  const PoolStatistics pool = pool_statistics();
  std::cerr << '\n' << config_name << ", " << step - warm_up << " steps\n";
  profile_report(std::cerr);
  std::cerr << formatted("pool: {} MB in {} blocks; parameters {} MB\n", pool.bytes_held >> 20, pool.allocations,
                         parameters.count() * int64_t(sizeof(real)) >> 20);
}

void sgemm_worker() {
  std::cout << "OpenBLAS, " << omp_get_max_threads() << " threads, " << openblas_get_config() << std::endl;
  constexpr blasint largest = 4096;
  std::vector<float> a(size_t(largest) * largest, 0.5f), b = a, c = a;
  std::string form;
  for (blasint m, n, k; std::cin >> form >> m >> n >> k;) {
    const bool ta = form == "tn", tb = form == "nt";
    std::cout << seconds([&] {
      cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1,
                  a.data(), ta ? m : k, b.data(), tb ? k : n, 0, c.data(), n);
    }) << std::endl;
  }
}

void sum_worker(int64_t count) {
  std::cout << "a plain sum over the weights, " << omp_get_max_threads() << " threads" << std::endl;
  const auto numbers = std::make_unique_for_overwrite<float[]>(size_t(count));
  float* const x = numbers.get();
#pragma omp parallel for schedule(static)           // each thread touches first what it will read
  for (int64_t i = 0; i < count; ++i) x[i] = 0.5f;
  for (std::string line; std::getline(std::cin, line);) {
    float sum = 0;
    const double time = seconds([&] {
      for (auto times = 1 + std::ranges::count(line, ';'); times > 0; --times) {
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
        for (int64_t i = 0; i < count; ++i) sum += x[i];
      }
    });
    MB_CHECK(sum > 0, "the sum of {} numbers of 0.5 is {}", count, sum);
    std::cout << time << std::endl;
  }
}

void sentences_worker(const std::string& folder) {
  const TrainedModel trained(folder);
  std::cout << "minbert's encode, " << omp_get_max_threads() << " threads" << std::endl;
  const std::string input = folder + "/texts";
  for (std::string line; std::getline(std::cin, line);) {
    const int64_t count = std::stoll(line);
    std::ifstream corpus(shipped("data/mini/corpus.txt"));
    std::string texts, text;
    for (int64_t i = 0; i < count && std::getline(corpus, text);)
      if (!text.empty()) texts += text + '\n', ++i;
    write_file(input, texts);
    std::cout << seconds([&] {
      for (auto times = 1 + std::ranges::count(line, ';'); times > 0; --times)
        encode(trained, {.input = input, .output = folder + "/vectors.safetensors", .task = "", .pool = Pool::mean});
    }) << std::endl;
  }
}

void gpu_product_worker() {
  std::cout << device_text() << std::endl;
  Random random(11711, "product");
  Tensor a, b, c;
  std::string precision;
  for (int64_t n, times; std::cin >> precision >> n >> times;) {
    set_matmul_precision(choice<Precision>(precision, "precision"));
    if (!a || a.rows() != n) {
      std::vector<real> values(size_t(n * n));      // a GPU computes faster on zeros and on equal numbers
      for (real& v : values) v = real(random.uniform() - 0.5);
      a = Tensor::from({n, n}, values), b = Tensor::from({n, n}, values), c = Tensor({n, n});
    }
    const double time = seconds([&] {
      for (int64_t i = 0; i < times; ++i)
        gemm(Device::cuda, Transpose::nn, {n, n, n, a.data(), n, b.data(), n, c.data(), n}, 1, 0);
    });
    std::cout << time / double(times) << std::endl;
  }
}

std::string openblas_file() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("openblas") != line.npos) return line.substr(line.find('/'));
  return "OpenBLAS, linked into the program";
}

}  // namespace minbert::bench
