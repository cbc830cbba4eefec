// Memory and copies of the rehearsal (cuda_runtime.h). Pages of the device are inaccessible; in the device's turn the
// first access to an allocation opens it.
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "rehearsal/machine.h"

using namespace rehearsal;

namespace {

constexpr int runtime_version = 13000;
size_t up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

enum class Kind { device, host };
struct Allocation {
  Kind kind{};
  size_t mapped = 0, bytes = 0;                    // in whole pages; the caller's, at their end
  std::atomic<bool> open = false;
};
struct Machine {
  std::recursive_mutex mutex;
  std::map<uintptr_t, Allocation> memory;          // by address
  size_t in_use = 0;
  cudaError_t last_error = cudaSuccess;
  bool turn = false;                               // the device is at work
};
Machine& machine = *new Machine;                   // never destroyed: static variables may outlive it

struct Place {
  uintptr_t base = 0;
  Allocation* in = nullptr;
  uintptr_t end() const { return base + in->mapped; }
};
Place find(uintptr_t at) {                         // the allocation, or the page behind it, that has this address
  auto after = machine.memory.upper_bound(at);
  if (after == machine.memory.begin()) return {};
  auto& [base, allocation] = *--after;
  return at < base + allocation.mapped + page ? Place{base, &allocation} : Place{};
}
Place find(const void* at) { return find(uintptr_t(at)); }

void protect(const Place& place, bool open) {
  place.in->open = open;
  if (mprotect(reinterpret_cast<void*>(place.base), place.in->mapped, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
    stop("mprotect fails: %s", std::strerror(errno));
}

struct sigaction earlier {};
void on_fault(int, siginfo_t* info, void*) {
  const uintptr_t at = uintptr_t(info->si_addr);
  const Place place = find(at);
  if (place.in && machine.turn && at < place.end()) return protect(place, true);
  if (!place.in && !in_kernel) {                   // not our affair
    sigaction(SIGSEGV, &earlier, nullptr);
    return;
  }
  std::string who = machine.turn ? "cuBLAS or a copy" : "the host";
  if (in_kernel) who = "thread " + std::to_string(threadIdx.x) + " of block " + std::to_string(blockIdx.x);
  if (!place.in) std::fprintf(stderr, "rehearsal: %s touched %p, where nothing is", who.c_str(), info->si_addr);
  else std::fprintf(stderr, "rehearsal: %s touched %s at %p, byte %td of %zu", who.c_str(),
                    place.in->kind == Kind::device ? "device memory" : "memory", info->si_addr,
                    ptrdiff_t(at - (place.end() - up(place.in->bytes, 16))), place.in->bytes);
  std::fputs(place.in && at >= place.end() ? ": past its end\n" : "\n", stderr);
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
  _exit(139);
}

size_t capacity() { return std::stoull(environment("MINBERT_REHEARSAL_MEMORY", "1073741824")); }

cudaError_t allocate(void** memory, size_t bytes, Kind kind) {
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices)) return error;
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  std::lock_guard lock(machine.mutex);
  const size_t mapped = up(bytes, page);
  if (mapped < bytes || machine.in_use + up(bytes, 512) > capacity())
    return result(cudaErrorMemoryAllocation);
  void* base = mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(static_cast<char*>(base) + mapped, page, PROT_NONE) != 0)
    return result(cudaErrorMemoryAllocation);
  std::memset(base, 0xFF, mapped);
  Allocation& in = machine.memory[uintptr_t(base)];
  in.kind = kind, in.mapped = mapped, in.bytes = bytes;
  if (kind == Kind::device) protect({uintptr_t(base), &in}, false);
  machine.in_use += up(bytes, 512);
  *memory = static_cast<char*>(base) + mapped - up(bytes, 16);
  return cudaSuccess;
}

cudaError_t release(void* memory, Kind kind) {
  if (!memory) return cudaSuccess;
  const Turn turn;
  const Place place = find(memory);
  if (!place.in || place.in->kind != kind || uintptr_t(memory) != place.end() - up(place.in->bytes, 16))
    return result(cudaErrorInvalidValue);
  machine.in_use -= up(place.in->bytes, 512);
  munmap(reinterpret_cast<void*>(place.base), place.in->mapped + page);
  machine.memory.erase(place.base);
  return cudaSuccess;
}

// Opens memory without waiting for the first touch, which costs more.
void open(const Place& place) {
  if (place.in->kind == Kind::device && !place.in->open) protect(place, true);
}

}  // namespace

const char* rehearsal::environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}
void rehearsal::stop(const char* format, ...) {
  std::fputs("rehearsal: ", stderr);
  va_list values;
  va_start(values, format);
  std::vfprintf(stderr, format, values);
  std::fputs("\n", stderr);
  std::abort();
}
cudaError_t rehearsal::result(cudaError_t error) {
  if (error != cudaSuccess) machine.last_error = error;
  return error;
}

rehearsal::Turn::Turn() : lock(machine.mutex) {
  static char signal_stack[1 << 16];
  const stack_t stack{signal_stack, 0, sizeof signal_stack};           // a kernel may have run out of its own
  sigaltstack(&stack, nullptr);
  struct sigaction action {}, old {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &old);               // each time: test frameworks put theirs in between
  if (old.sa_sigaction != on_fault) earlier = old;
  machine.turn = true;
}
rehearsal::Turn::~Turn() {
  machine.turn = false;
  for (auto& [base, allocation] : machine.memory)
    if (allocation.kind == Kind::device && allocation.open) protect({base, &allocation}, false);
}

bool rehearsal::on_device(const void* at, size_t bytes) {
  const Place place = find(at);
  if (place.in && machine.turn) open(place);
  return place.in && uintptr_t(at) + bytes <= place.end();
}
void rehearsal::check_arguments(const char* words, size_t bytes) {
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    uintptr_t at = 0;
    unsigned char resident;
    std::memcpy(&at, words + i, 8);
    if (at >> 47 || at < 1ull << 32) continue;
    if (const Place place = find(at); place.in) open(place);
    else if (mincore(reinterpret_cast<void*>(at / page * page), 1, &resident) == 0)
      stop("a kernel is handed host memory: byte %zu of its %zu bytes of arguments points to 0x%zx", i, bytes, at);
  }
}

// ---- The runtime

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
  }
  return "unknown error";
}
cudaError_t cudaGetLastError() { return std::exchange(machine.last_error, cudaSuccess); }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = std::atoi(environment("MINBERT_REHEARSAL_DRIVER", "13000"));
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = runtime_version;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  *count = 0;
  if (driver < runtime_version) return result(cudaErrorInsufficientDriver);
  *count = std::atoi(environment("MINBERT_REHEARSAL_DEVICES", "1"));
  return *count ? cudaSuccess : result(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  return error ? error : result(device < count ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (const cudaError_t error = cudaSetDevice(device)) return error;
  *p = {"rehearsal (no GPU)", capacity(), 0, 0};
  std::sscanf(environment("MINBERT_REHEARSAL_ARCH", "9.0"), "%d.%d", &p->major, &p->minor);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) { return allocate(memory, bytes, Kind::device); }
cudaError_t cudaMallocHost(void** memory, size_t bytes) { return allocate(memory, bytes, Kind::host); }
cudaError_t cudaFree(void* memory) { return release(memory, Kind::device); }
cudaError_t cudaFreeHost(void* memory) { return release(memory, Kind::host); }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  const Place place = find(memory);
  if (!place.in) return result(cudaErrorInvalidValue);
  attributes->type = place.in->kind == Kind::host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = capacity(), *free = *total - std::min(*total, machine.in_use);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  if (bytes == 0) return cudaSuccess;
  std::lock_guard lock(machine.mutex);
  const auto misplaced = [&](const void* at, bool device) {          // named as the device's, and is not; or not whole
    const Place place = find(at);
    return place.in ? uintptr_t(at) + bytes > place.end() || (!device && place.in->kind == Kind::device) : device;
  };
  if (misplaced(to, kind != cudaMemcpyDeviceToHost) || misplaced(from, kind != cudaMemcpyHostToDevice))
    return result(cudaErrorInvalidValue);
  const Turn turn;
  on_device(to, bytes), on_device(from, bytes);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  const Turn turn;
  return cudaSuccess;                              // a kernel that fails has ended the program
}
