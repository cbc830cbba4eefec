// The GPU by the CUDA runtime. Only this file, the launchers (gpu_launch.h) and cublas.cpp call it.
#include "engine/cuda.h"

#ifdef MINBERT_CUDA
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "engine/ranks.h"

namespace minbert::cuda {
namespace {

std::atomic<int64_t> launch_count = 0, wait_count = 0;
std::atomic<bool> debug = false;

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    fail(formatted("CUDA: {}: {}", what, cudaGetErrorString(error)));
}

std::string version_text(int v) { return formatted("{}.{}", v / 1000, v % 1000 / 10); }      // 12050 is 12.5

// The first GPU; of several ranks on this host each takes another one, as long as there are. The constructor checks
// that this build can use it.
struct Gpu {
  cudaDeviceProp properties{};

  Gpu() {
    int count = 0, driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
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
    const int device = ranks().place_on_host() % count;
    check(cudaGetDeviceProperties(&properties, device), "the properties of the GPU");
    const int capability = 10 * properties.major + properties.minor, lowest = MINBERT_CUDA_LEAST;
    MB_CHECK(capability >= lowest,
             "--device cuda: {} has compute capability {}.{}, but this build has code for {}.{} and later: make clean, "
             "then make CUDA=1 CUDA_ARCHS={}", properties.name, properties.major, properties.minor, lowest / 10,
             lowest % 10, capability);
    check(cudaSetDevice(device), "choosing the GPU");
  }
};
Gpu& gpu() {
  static Gpu* the_gpu = new Gpu;                    // never destroyed: tensors in static variables may outlive it
  return *the_gpu;
}

// Pinned memory, through which data go to the device while the host works on. The host fills one half while the device
// reads the other.
class Staging {
 public:
  Staging() {
    check(cudaMallocHost(reinterpret_cast<void**>(&memory_), 2 * half), "pinned memory");
    for (cudaEvent_t& event : copied_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  }
  void copy(char* device_data, const char* host_data, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    while (bytes > 0) {
      const int64_t n = std::min(bytes, half);
      if (used_ + n > half) change_halves();
      char* const staged = memory_ + filling_ * half + used_;
      std::memcpy(staged, host_data, size_t(n));
      check(cudaMemcpyAsync(device_data, staged, size_t(n), cudaMemcpyHostToDevice, nullptr), "a copy to the device");
      used_ += (n + 255) / 256 * 256;
      device_data += n;
      host_data += n;
      bytes -= n;
    }
  }

 private:
  void change_halves() {
    check(cudaEventRecord(copied_[filling_], nullptr), "an event");
    filling_ = 1 - filling_;
    used_ = 0;
    ++wait_count;
    check(cudaEventSynchronize(copied_[filling_]), "waiting for copies");
  }
  static constexpr int64_t half = 4 << 20;
  std::mutex mutex_;
  char* memory_ = nullptr;
  cudaEvent_t copied_[2] = {};                      // the device has read this half
  int filling_ = 0;                                 // the half that the host fills
  int64_t used_ = 0;                                // bytes of it
};

// Two rooms of pinned memory, for pieces that go to the host and come back.
struct RoundTrip {
  static constexpr int64_t piece = 4 << 20;         // numbers
  real* rooms[2] = {};
  cudaEvent_t arrived[2] = {};
  RoundTrip() {
    for (int i = 0; i < 2; ++i) {
      check(cudaMallocHost(reinterpret_cast<void**>(&rooms[i]), piece * sizeof(real)), "pinned memory");
      check(cudaEventCreateWithFlags(&arrived[i], cudaEventDisableTiming), "an event");
    }
  }
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
  return formatted("{}, {} GiB, compute capability {}.{}", p.name, p.totalGlobalMem >> 30, p.major, p.minor);
}

void* allocate(int64_t bytes) {
  gpu();
  if (!debug && memory().free < bytes) return nullptr;
  void* block = nullptr;
  const cudaError_t error = debug ? cudaMallocManaged(&block, size_t(bytes)) : cudaMalloc(&block, size_t(bytes));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();                             // clears the error, or the next launch would report it
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

void to_device(void* device_data, const void* host_data, int64_t bytes) {
  static Staging* staging = new Staging;
  staging->copy(static_cast<char*>(device_data), static_cast<const char*>(host_data), bytes);
  count_launch("a copy to the device");
}
void to_host(void* host_data, const void* device_data, int64_t bytes) {
  check(cudaMemcpyAsync(host_data, device_data, size_t(bytes), cudaMemcpyDeviceToHost, nullptr), "a copy to the host");
  ++launch_count;
  synchronize();
}
void through_host(real* device_data, int64_t n, const std::function<void(std::span<real>)>& change) {
  static const RoundTrip* trip = new RoundTrip;
  constexpr int64_t piece = RoundTrip::piece;
  const auto room = [=](int64_t begin) { return begin / piece % 2; };
  const auto copy = [&](int64_t begin, cudaMemcpyKind way) {
    real *there = device_data + begin, *here = trip->rooms[room(begin)];
    const size_t bytes = size_t(std::min(piece, n - begin)) * sizeof(real);
    const bool comes = way == cudaMemcpyDeviceToHost;
    check(cudaMemcpyAsync(comes ? here : there, comes ? there : here, bytes, way, nullptr), "a copy");
    if (comes) check(cudaEventRecord(trip->arrived[room(begin)], nullptr), "an event");
    count_launch("a copy");
  };
  if (n > 0) copy(0, cudaMemcpyDeviceToHost);
  for (int64_t begin = 0; begin < n; begin += piece) {
    if (begin + piece < n) copy(begin + piece, cudaMemcpyDeviceToHost);
    ++wait_count;
    check(cudaEventSynchronize(trip->arrived[room(begin)]), "waiting for a copy");
    change(std::span(trip->rooms[room(begin)], size_t(std::min(piece, n - begin))));
    copy(begin, cudaMemcpyHostToDevice);
  }
}
void synchronize() {
  ++wait_count;
  check(cudaStreamSynchronize(nullptr), "a kernel failed before this");
}

void set_debug(bool on) { debug = on; }
bool debugging() { return debug; }

int64_t launches() { return launch_count; }
int64_t waits() { return wait_count; }
void count_launch(const char* what) {
  ++launch_count;
  check(cudaGetLastError(), what);
  if (debug) synchronize();
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
void through_host(real*, int64_t, const std::function<void(std::span<real>)>&) { none(); }
void synchronize() {}
void set_debug(bool) {}
bool debugging() { return false; }
int64_t launches() { return 0; }
int64_t waits() { return 0; }
void count_launch(const char*) {}
}  // namespace minbert::cuda
#endif
