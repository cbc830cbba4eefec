// The GPU by the CUDA runtime: the only file that calls it, beside the launchers (gpu_launch.h) and cublas.cpp.
#include "engine/cuda.h"

#ifdef MINBERT_CUDA
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

namespace minbert::cuda {
namespace {

std::atomic<int64_t> launch_count = 0, wait_count = 0;
std::atomic<bool> debugging = false;

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    fail(format("CUDA: {}: {}", what, cudaGetErrorString(error)));
}

std::string version_text(int v) { return format("{}.{}", v / 1000, v % 1000 / 10); }      // 12050 is 12.5

// The first GPU, once it is known to serve.
struct Gpu {
  cudaDeviceProp properties{};

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
    ++wait_count;
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

bool present() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return false;
  const cudaError_t found = cudaGetDeviceCount(&count);
  return found != cudaErrorNoDevice && (found != cudaSuccess || count > 0);
}
void require() { gpu(); }

std::string describe() {
  const cudaDeviceProp& p = gpu().properties;
  return format("{}, {} GiB, compute capability {}.{}", p.name, p.totalGlobalMem >> 30, p.major, p.minor);
}

void* allocate(int64_t bytes) {
  gpu();
  if (!debugging && memory().free < bytes) return nullptr;
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
  return {std::max<int64_t>(int64_t(free_bytes) - int64_t(total) / 128, 0), int64_t(total)};
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
void synchronize() {
  ++wait_count;
  check(cudaStreamSynchronize(nullptr), "a kernel failed before this");
}

void set_debug(bool on) { debugging = on; }

int64_t launches() { return launch_count; }
int64_t waits() { return wait_count; }
void count_launch(const char* what) {
  ++launch_count;
  check(cudaGetLastError(), what);
  if (debugging) synchronize();
}

}  // namespace minbert::cuda

#else
namespace minbert::cuda {
namespace {
[[noreturn]] void none() {
  fail("--device cuda: this build has no GPU backend; it takes the CUDA Toolkit (12.5 or later): make CUDA=1");
}
}  // namespace
bool present() { return false; }
void require() { none(); }
std::string describe() { none(); }
void* allocate(int64_t) { none(); }
void free(void*) {}
Memory memory() { none(); }
void to_device(void*, const void*, int64_t) { none(); }
void to_host(void*, const void*, int64_t) { none(); }
void synchronize() {}
void set_debug(bool) {}
int64_t launches() { return 0; }
int64_t waits() { return 0; }
void count_launch(const char*) {}
}  // namespace minbert::cuda
#endif
