// The GPU by the CUDA runtime. Only this file, the launchers (gpu_launch.h) and cublas.cpp call it.
#include "engine/cuda.h"

#ifdef MINBERT_CUDA
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>

#include "engine/ranks.h"

namespace minbert::cuda {
namespace {

std::atomic<int64_t> launch_count = 0, wait_count = 0;
std::atomic<bool> debug = false;

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    fail(formatted("CUDA: {}: {}", what, cudaGetErrorString(error)));
}

// CUDA counts 12.5 as 12050.
std::string version_text(int v) { return formatted("{}.{}", v / 1000, v % 1000 / 10); }

// The first GPU; of several ranks on this host each takes another one, as long as there are. The
// constructor checks that this build can use it.
struct Gpu {
  cudaDeviceProp properties{};

  Gpu() {
    int count = 0, driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    const cudaError_t found = cudaGetDeviceCount(&count);
    MB_CHECK(driver > 0,
             "--device cuda: looked for an NVIDIA driver and found none; nvidia-smi should list a "
             "GPU. --device cpu needs none");
    MB_CHECK(driver / 1000 >= runtime / 1000 && found != cudaErrorInsufficientDriver,
             "--device cuda: the NVIDIA driver knows CUDA up to {}, but this build runs on CUDA "
             "{}: update the driver, or build with an older CUDA Toolkit (12.5 or later)",
             version_text(driver), version_text(runtime));
    MB_CHECK(found == cudaSuccess && count > 0,
             "--device cuda: looked for a GPU and found none ({}); nvidia-smi should list it, and "
             "CUDA_VISIBLE_DEVICES must not hide it. --device cpu needs none",
             found == cudaSuccess ? "the driver counts 0" : cudaGetErrorString(found));
    const int device = ranks().number_on_host() % count;
    check(cudaGetDeviceProperties(&properties, device), "the properties of the GPU");
    const int capability = 10 * properties.major + properties.minor, lowest = MINBERT_CUDA_LEAST;
    MB_CHECK(capability >= lowest,
             "--device cuda: {} has compute capability {}.{}, but this build has code for {}.{} "
             "and later: make clean, then make CUDA=1 CUDA_ARCHS={}",
             properties.name, properties.major, properties.minor, lowest / 10, lowest % 10,
             capability);
    check(cudaSetDevice(device), "choosing the GPU");
  }
};
Gpu& gpu() {
  static Gpu* the_gpu = new Gpu;      // never destroyed: tensors in static variables may outlive it
  return *the_gpu;
}

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
  return formatted("{}, {} GiB, compute capability {}.{}", p.name, p.totalGlobalMem >> 30, p.major,
                   p.minor);
}

void* allocate(int64_t bytes) {
  gpu();
  if (!debug && memory().free < bytes) return nullptr;
  void* block = nullptr;
  const cudaError_t error =
      debug ? cudaMallocHost(&block, size_t(bytes)) : cudaMalloc(&block, size_t(bytes));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();                      // clears the error, or the next launch would report it
    return nullptr;
  }
  check(error, "allocating memory");
  return block;
}
void free(void* block) {
  cudaPointerAttributes place{};                    // of debugging, or not: it may have begun since
  cudaPointerGetAttributes(&place, block);
  if (place.type == cudaMemoryTypeHost) cudaFreeHost(block);
  else cudaFree(block);
}

Memory memory() {
  size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  return {std::max<int64_t>(int64_t(free_bytes) - int64_t(total) / 128, 0), int64_t(total)};
}

void to_device(void* device_data, const void* host_data, int64_t bytes) {
  check(cudaMemcpyAsync(device_data, host_data, size_t(bytes), cudaMemcpyHostToDevice, nullptr),
        "a copy to the device");
  count_launch("a copy to the device");
}
void to_host(void* host_data, const void* device_data, int64_t bytes) {
  check(cudaMemcpyAsync(host_data, device_data, size_t(bytes), cudaMemcpyDeviceToHost, nullptr),
        "a copy to the host");
  ++launch_count;
  synchronize();
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
  fail("--device cuda: this build has no GPU backend; it takes the CUDA Toolkit (12.5 or later): "
       "make CUDA=1");
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
bool debugging() { return false; }
int64_t launches() { return 0; }
int64_t waits() { return 0; }
void count_launch(const char*) {}
}  // namespace minbert::cuda
#endif
