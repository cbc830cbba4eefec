// The GPU by the CUDA runtime and cuBLAS: the only file that calls them, beside the launchers.
#include "engine/cuda.h"

#ifdef MINBERT_CUDA
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "engine/storage.h"
#include "minbert/device.h"

namespace minbert::cuda {
namespace {

std::atomic<int64_t> launch_count = 0, wait_count = 0;
std::atomic<bool> debugging = false;

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    fail(format("CUDA: {}: {}", what, cudaGetErrorString(error)));
}
void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail(format("cuBLAS: {}: {}", what, cublasGetStatusString(status)));
}

std::string version_text(int v) { return format("{}.{}", v / 1000, v % 1000 / 10); }      // 12050 is 12.5

// The first GPU, once it is known to serve.
struct Gpu {
  cudaDeviceProp properties{};
  cublasHandle_t blas{};
  void* workspace = nullptr;

  Gpu() {
    int count = 0, driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver), cudaRuntimeGetVersion(&runtime);
    const cudaError_t found = cudaGetDeviceCount(&count);
    MB_CHECK(driver > 0, "--device cuda: looked for an NVIDIA driver and found none; nvidia-smi should list a GPU. "
             "--device cpu needs none");
    MB_CHECK(driver / 1000 >= runtime / 1000 && found != cudaErrorInsufficientDriver,
             "--device cuda: the NVIDIA driver knows CUDA up to {}, but this build runs on CUDA {}: update the driver, "
             "or build with an older CUDA Toolkit (12.5 or later)", version_text(driver), version_text(runtime));
    MB_CHECK(found == cudaSuccess && count > 0,
             "--device cuda: looked for a GPU and found none ({}); nvidia-smi should list it, and CUDA_VISIBLE_DEVICES "
             "must not hide it. --device cpu needs none",
             found == cudaSuccess ? "the driver counts 0" : cudaGetErrorString(found));
    check(cudaGetDeviceProperties(&properties, 0), "the properties of the GPU");
    const int capability = 10 * properties.major + properties.minor, least = MINBERT_CUDA_LEAST;
    MB_CHECK(capability >= least,
             "--device cuda: {} has compute capability {}.{}, but this build has code for {}.{} and later: make clean, "
             "then make CUDA=1 CUDA_ARCHS={}", properties.name, properties.major, properties.minor, least / 10,
             least % 10, capability);
    check(cudaSetDevice(0), "choosing the first GPU");
    check(cublasCreate(&blas), "starting");
    constexpr size_t workspace_bytes = 32 << 20;
    check(cudaMalloc(&workspace, workspace_bytes), "a workspace for cuBLAS");
    check(cublasSetWorkspace(blas, workspace, workspace_bytes), "setting its workspace");
  }
};
Gpu& gpu() {
  static Gpu* the_gpu = new Gpu;                    // never destroyed: tensors in static variables may outlive it
  return *the_gpu;
}

// Pinned memory, through which small copies to the device go without making the host wait. While one half is filled,
// the copies out of the other end.
class Staging {
 public:
  Staging() {
    check(cudaMallocHost(reinterpret_cast<void**>(&memory_), 2 * half), "pinned memory");
    for (cudaEvent_t& event : left_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  }
  void copy(char* to, const char* from, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    while (bytes > 0) {
      const int64_t n = std::min(bytes, half);
      if (used_ + n > half) change_halves();
      char* const place = memory_ + at_ * half + used_;
      std::memcpy(place, from, size_t(n));
      check(cudaMemcpyAsync(to, place, size_t(n), cudaMemcpyHostToDevice, nullptr), "a copy to the device");
      used_ += (n + 255) / 256 * 256;
      to += n, from += n, bytes -= n;
    }
  }

 private:
  void change_halves() {
    check(cudaEventRecord(left_[at_], nullptr), "an event");
    at_ = 1 - at_, used_ = 0;
    check(cudaEventSynchronize(left_[at_]), "waiting for copies");
  }
  static constexpr int64_t half = 4 << 20;
  std::mutex mutex_;
  char* memory_ = nullptr;
  cudaEvent_t left_[2] = {};
  int at_ = 0;
  int64_t used_ = 0;
};

}  // namespace

void require() { gpu(); }

std::string describe() {
  const cudaDeviceProp& p = gpu().properties;
  return format("{}, {} GiB, compute capability {}.{}", p.name, p.totalGlobalMem >> 30, p.major, p.minor);
}

void* allocate(int64_t bytes) {
  gpu();
  void* block = nullptr;
  const cudaError_t error = debugging ? cudaMallocManaged(&block, size_t(bytes))
                                      : cudaMalloc(&block, size_t(bytes));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();                             // it is reported by our null, not by the next launch
    return nullptr;
  }
  check(error, "allocating memory");
  return block;
}
void free(void* block) { cudaFree(block); }

Memory memory() {
  size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  return {int64_t(free_bytes), int64_t(total)};
}

void to_device(void* to, const void* from, int64_t bytes) {
  static Staging* staging = new Staging;
  staging->copy(static_cast<char*>(to), static_cast<const char*>(from), bytes);
  count_launch("a copy to the device");
}
void to_host(void* to, const void* from, int64_t bytes) {
  check(cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDeviceToHost, nullptr), "a copy to the host");
  ++launch_count;
  synchronize();
}
void copy(void* to, const void* from, int64_t bytes) {
  check(cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDeviceToDevice, nullptr), "a copy on the device");
  count_launch("a copy on the device");
}
void synchronize() {
  ++wait_count;
  check(cudaStreamSynchronize(nullptr), "a kernel failed before this");
}

void set_debug(bool on) { debugging = on; }
bool debug() { return debugging; }

int64_t launches() { return launch_count; }
int64_t waits() { return wait_count; }
void count_launch(const char* what) {
  ++launch_count;
  check(cudaGetLastError(), what);
  if (debugging) synchronize();
}

// ---- Products. cuBLAS counts by columns: a row-major matrix is to it its own transpose, and C = A B is C^T = B^T A^T.
namespace {

constexpr bool is_double = sizeof(real) == sizeof(double);
constexpr cudaDataType_t element_type = is_double ? CUDA_R_64F : CUDA_R_32F;

cublasComputeType_t compute_type(bool grouped) {
  if (is_double) return CUBLAS_COMPUTE_64F;
  switch (matmul_precision()) {
    case Precision::fp32: return CUBLAS_COMPUTE_32F;
    case Precision::tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::bf16: return grouped ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_FAST_16BF;
  }                                                 // grouped products do not come in bf16 with operands in float
  return CUBLAS_COMPUTE_32F;
}
cublasOperation_t of_a(Transpose form) { return form == Transpose::tn ? CUBLAS_OP_T : CUBLAS_OP_N; }
cublasOperation_t of_b(Transpose form) { return form == Transpose::nt ? CUBLAS_OP_T : CUBLAS_OP_N; }

bool same_sizes(const Product& p, const Product& q) {
  return p.m == q.m && p.n == q.n && p.k == q.k && p.lda == q.lda && p.ldb == q.ldb && p.ldc == q.ldc;
}

// What cuBLAS wants to know of each group of products of the same sizes.
struct Groups {
  std::vector<int> m, n, k, lda, ldb, ldc, size;
  void add(const Product& p) {
    const auto i = [](int64_t v) { return int(v); };
    m.push_back(i(p.m)), n.push_back(i(p.n)), k.push_back(i(p.k));
    lda.push_back(i(p.lda)), ldb.push_back(i(p.ldb)), ldc.push_back(i(p.ldc)), size.push_back(0);
  }
};

}  // namespace

void gemm(Transpose form, const Product& p, real alpha, real beta) {
  if (p.m == 0 || p.n == 0) return;
  const auto i = [](int64_t v) { return int(v); };
  check(cublasGemmEx(gpu().blas, of_b(form), of_a(form), i(p.n), i(p.m), i(p.k), &alpha, p.b, element_type, i(p.ldb),
                     p.a, element_type, i(p.lda), &beta, p.c, element_type, i(p.ldc), compute_type(false),
                     CUBLAS_GEMM_DEFAULT),
        "a product");
  count_launch("a product");
}

void gemm_batch(Transpose form, const std::vector<Product>& products, real alpha, real beta) {
  Groups groups;
  std::vector<const void*> pointers;                // all b, all a, all c
  const Product* last = nullptr;
  for (const Product& p : products) {
    if (p.m == 0 || p.n == 0) continue;
    if (!last || !same_sizes(*last, p)) groups.add(p);
    ++groups.size.back(), last = &p;
    pointers.push_back(p.b);
  }
  if (!last) return;
  const size_t count = pointers.size(), group_count = groups.size.size();
  for (const Product& p : products)
    if (p.m > 0 && p.n > 0) pointers.push_back(p.a);
  for (const Product& p : products)
    if (p.m > 0 && p.n > 0) pointers.push_back(p.c);
  uintptr_t bits = 0;                               // in tf32 every operand must begin at a multiple of 16 bytes
  for (const void* p : pointers) bits |= reinterpret_cast<uintptr_t>(p);
  const cublasComputeType_t type = bits % 16 && !is_double ? CUBLAS_COMPUTE_32F : compute_type(true);
  const auto place = Storage::copy_of(pointers.data(), int64_t(pointers.size() * sizeof(void*)), Device::cuda);
  void* const* const at = static_cast<void* const*>(place->data());

  const std::vector<cublasOperation_t> op_b(group_count, of_b(form)), op_a(group_count, of_a(form));
  const std::vector<real> alphas(group_count, alpha), betas(group_count, beta);
  check(cublasGemmGroupedBatchedEx(gpu().blas, op_b.data(), op_a.data(), groups.n.data(), groups.m.data(),
                                   groups.k.data(), alphas.data(), at, element_type, groups.ldb.data(), at + count,
                                   element_type, groups.lda.data(), betas.data(), at + 2 * count, element_type,
                                   groups.ldc.data(), int(group_count), groups.size.data(), type),
        "products of sentences and heads");
  count_launch("products of sentences and heads");
}

}  // namespace minbert::cuda

#else
namespace minbert::cuda {
namespace {
[[noreturn]] void none() {
  fail("--device cuda: this build has no GPU backend; it takes the CUDA Toolkit (12.5 or later): make CUDA=1");
}
}  // namespace
void require() { none(); }
std::string describe() { none(); }
void* allocate(int64_t) { none(); }
void free(void*) {}
Memory memory() { none(); }
void to_device(void*, const void*, int64_t) { none(); }
void to_host(void*, const void*, int64_t) { none(); }
void copy(void*, const void*, int64_t) { none(); }
void synchronize() {}
void set_debug(bool) {}
bool debug() { return false; }
int64_t launches() { return 0; }
int64_t waits() { return 0; }
void count_launch(const char*) {}
void gemm(Transpose, const Product&, real, real) { none(); }
void gemm_batch(Transpose, const std::vector<Product>&, real, real) { none(); }
}  // namespace minbert::cuda
#endif
