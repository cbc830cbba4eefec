// The rehearsal's stage: memory, stream, threads and products (cuda_runtime.h, cublas_v2.h).
#undef _FORTIFY_SOURCE                             // its longjmp refuses to leave for another stack
#include <cblas.h>
#include <execinfo.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cublas_v2.h"

struct CUstream_st {};
struct CUevent_st {
  uint64_t copies = 0;                             // those issued before it was recorded
  std::chrono::steady_clock::time_point time;
};
struct cublasContext { cublasMath_t mode = CUBLAS_DEFAULT_MATH; };

namespace {

constexpr size_t page = 4096;
size_t up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

const char* environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

[[gnu::format(printf, 1, 2)]] [[noreturn]] void stop(const char* format, ...) {
  std::fputs("rehearsal: ", stderr);
  va_list values;
  va_start(values, format);
  std::vfprintf(stderr, format, values);
  std::fputs("\n", stderr);
  std::abort();
}

// ---- Memory. Pages of the device are closed; in the device's turn the first touch of an allocation opens it.

enum class Kind { device, managed, pinned };
struct Allocation {
  Kind kind{};
  size_t mapped = 0, bytes = 0;                    // without and with nothing but the caller's bytes
  std::atomic<bool> open = false;
};
struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};
struct Machine {
  std::recursive_mutex mutex;
  std::map<uintptr_t, Allocation> memory;          // by address
  size_t in_use = 0;
  std::deque<Copy> waiting;
  uint64_t issued = 0, performed = 0;              // copies
  cudaError_t last_error = cudaSuccess;
  bool turn = false, kernel = false;               // the device is at work; it runs a kernel
};
Machine& machine = *new Machine;                   // never destroyed: static variables may outlive it

cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) machine.last_error = error;
  return error;
}

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
  if (!place.in && !machine.kernel) {              // not our affair
    sigaction(SIGSEGV, &earlier, nullptr);
    return;
  }
  std::string who = machine.turn ? "cuBLAS or a copy" : "the host";
  if (machine.kernel) who = "thread " + std::to_string(threadIdx.x) + " of block " + std::to_string(blockIdx.x);
  if (!place.in) std::fprintf(stderr, "rehearsal: %s touched %p, where nothing is", who.c_str(), info->si_addr);
  else std::fprintf(stderr, "rehearsal: %s touched %s at %p, byte %td of %zu", who.c_str(),
                    place.in->kind == Kind::device ? "device memory" : "memory", info->si_addr,
                    ptrdiff_t(at - (place.end() - up(place.in->bytes, 16))), place.in->bytes);
  std::fputs(place.in && at >= place.end() ? ": past its end\n" : "\n", stderr);
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
  _exit(139);
}

// The device's turn: what waited is performed, and whoever now touches device memory may.
struct Turn {
  std::lock_guard<std::recursive_mutex> lock{machine.mutex};
  explicit Turn(uint64_t copies = ~0ull) {
    static char signal_stack[1 << 16];
    const stack_t stack{signal_stack, 0, sizeof signal_stack};     // a kernel may have run out of its own
    sigaltstack(&stack, nullptr);
    struct sigaction action {}, old {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &old);             // each time: test frameworks put theirs in between
    if (old.sa_sigaction != on_fault) earlier = old;
    machine.turn = true;
    for (; machine.performed < std::min(copies, machine.issued); ++machine.performed, machine.waiting.pop_front())
      std::memcpy(machine.waiting[0].to, machine.waiting[0].from, machine.waiting[0].bytes);
  }
  ~Turn() {
    machine.turn = false;
    for (auto& [base, allocation] : machine.memory)
      if (allocation.kind == Kind::device && allocation.open) protect({base, &allocation}, false);
  }
};

size_t capacity() { return std::stoull(environment("MINBERT_REHEARSAL_MEMORY", "1073741824")); }

cudaError_t allocate(void** memory, size_t bytes, Kind kind) {
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices)) return error;
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  std::lock_guard lock(machine.mutex);
  const size_t mapped = up(bytes, page);
  if (kind != Kind::pinned && (mapped < bytes || machine.in_use + up(bytes, 512) > capacity()))
    return result(cudaErrorMemoryAllocation);
  void* base = mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(static_cast<char*>(base) + mapped, page, PROT_NONE) != 0)
    return result(cudaErrorMemoryAllocation);
  std::memset(base, 0xFF, mapped);
  Allocation& in = machine.memory[uintptr_t(base)];
  in.kind = kind, in.mapped = mapped, in.bytes = bytes;
  if (kind == Kind::device) protect({uintptr_t(base), &in}, false);
  if (kind != Kind::pinned) machine.in_use += up(bytes, 512);
  *memory = static_cast<char*>(base) + mapped - up(bytes, 16);
  return cudaSuccess;
}

cudaError_t release(void* memory, bool pinned) {
  if (!memory) return cudaSuccess;
  const Turn turn;
  const Place place = find(memory);
  if (!place.in || (place.in->kind == Kind::pinned) != pinned ||
      uintptr_t(memory) != place.end() - up(place.in->bytes, 16))
    return result(cudaErrorInvalidValue);
  if (!pinned) machine.in_use -= up(place.in->bytes, 512);
  munmap(reinterpret_cast<void*>(place.base), place.in->mapped + page);
  machine.memory.erase(place.base);
  return cudaSuccess;
}

// Opens memory without waiting for the first touch, which costs more.
void open(const Place& place) {
  if (place.in->kind == Kind::device && !place.in->open) protect(place, true);
}

// Whether the device may touch all these bytes; host memory, pinned or not, does not count.
bool on_device(const void* at, size_t bytes) {
  const Place place = find(at);
  if (place.in && machine.turn) open(place);
  return place.in && place.in->kind != Kind::pinned && uintptr_t(at) + bytes <= place.end();
}

// Shared memory is the program's thread-local storage: all its __shared__, and what else it has there. While a kernel
// runs that is put aside, and every block finds NaN, for what the last one left could hide a missing barrier.
struct SharedMemory {
  static inline char* at = nullptr;
  static inline size_t bytes = 0;
  static inline bool used = false;                 // a block without barriers does not share memory
  std::vector<char> aside;
  SharedMemory() {
    dl_iterate_phdr([](dl_phdr_info* program, size_t, void*) {         // the first is the program itself
      for (int i = 0; i < program->dlpi_phnum; ++i)
        if (program->dlpi_phdr[i].p_type == PT_TLS) bytes = program->dlpi_phdr[i].p_memsz;
      at = static_cast<char*>(program->dlpi_tls_data);
      return 1;
    }, nullptr);
    aside.assign(at, at + bytes);
    used = true;
  }
  void renew() {
    if (used && bytes) std::memset(at, 0xFF, bytes);
    used = false;
  }
  ~SharedMemory() { std::copy(aside.begin(), aside.end(), at); }
};

// ---- Threads. A fiber runs the threads of a warp one after the other until one of them waits; the next fiber goes on
// from there. So a kernel without barriers needs one. A warp runs as far as it can before the next warp does.

enum class State { fresh, ready, at_block, at_warp, at_shuffle, ended };
struct Fiber {
  jmp_buf at;
  ucontext_t start;
  bool begun = false;
};
struct Lane {
  Fiber* fiber = nullptr;
  State state = State::fresh;
  unsigned mask = 0, source = 0;
  unsigned char value[8] = {};
};
struct Order : std::vector<unsigned> {             // 0 .. n-1 as MINBERT_REHEARSAL_ORDER wants it
  static inline char kind = 'f';
  void deal(unsigned n) {
    static std::mt19937 random;
    resize(n);
    std::iota(begin(), end(), 0u);
    if (kind == 'b') std::reverse(begin(), end());
    if (kind == 's') std::shuffle(begin(), end(), random);
  }
};

Lane lanes[1024];
unsigned threads, warp, cursor;                    // of the block; the warp's first; the place in lane_order
Order lane_order;
void (*body)(const void*);
const void* arguments;
std::vector<Fiber*> idle;
Fiber* running = nullptr;
jmp_buf scheduler;

void pause() {
  if (!_setjmp(running->at)) _longjmp(scheduler, 1);
}
void resume(Fiber* fiber) {
  running = fiber;
  if (_setjmp(scheduler)) return;
  if (fiber->begun) _longjmp(fiber->at, 1);
  fiber->begun = true;
  setcontext(&fiber->start);
}
bool another() {                                   // moves on to the warp's next thread, if that is to begin
  for (; cursor < 32; ++cursor) {
    const unsigned t = warp + lane_order[cursor];
    if (t >= threads) continue;
    if (lanes[t].state != State::fresh) return false;
    ++cursor, threadIdx.x = t;
    return true;
  }
  return false;
}
void live() {                                      // all that a fiber does
  for (;;) {
    while (another()) {
      lanes[threadIdx.x].fiber = running;
      body(arguments);
      lanes[threadIdx.x].state = State::ended;
    }
    idle.push_back(running);
    pause();
  }
}
Fiber* idle_fiber() {
  constexpr size_t stack = 256 << 10;
  if (idle.empty()) {
    void* memory = mmap(nullptr, stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) stop("no memory for the stack of a thread");
    Fiber* fiber = new Fiber;
    getcontext(&fiber->start);
    fiber->start.uc_stack.ss_sp = memory, fiber->start.uc_stack.ss_size = stack;
    makecontext(&fiber->start, live, 0);
    idle.push_back(fiber);
  }
  Fiber* fiber = idle.back();
  idle.pop_back();
  return fiber;
}
void run_warp() {
  lane_order.deal(32);
  for (cursor = 0; cursor < 32;) {
    const unsigned t = warp + lane_order[cursor];
    const State state = t < threads ? lanes[t].state : State::ended;
    if (state == State::fresh) {
      resume(idle_fiber());                        // it moves the cursor
      continue;
    }
    ++cursor, threadIdx.x = t;
    if (state == State::ready) resume(lanes[t].fiber);
  }
}

// The threads of the warp that a lane waits for: those of its mask, as far as the block has them.
unsigned awaited(const Lane& lane) {
  return threads - warp < 32 ? lane.mask & ((1u << (threads - warp)) - 1) : lane.mask;
}

bool in_warp(const Lane& lane) { return lane.state == State::at_warp || lane.state == State::at_shuffle; }

bool release_warp() {                              // whether anyone may go on
  bool any = false;
  for (unsigned i = 0; i < 32 && warp + i < threads; ++i) {
    const Lane& lane = lanes[warp + i];
    if (!in_warp(lane)) continue;
    const State state = lane.state;
    const unsigned mask = awaited(lane);
    bool all = true;
    unsigned char values[32][8];
    std::memset(values, 0xFF, sizeof values);
    for (unsigned j = 0; j < 32; ++j)
      if (mask >> j & 1) {
        const Lane& other = lanes[warp + j];
        all = all && other.state == state && awaited(other) == mask;
        std::memcpy(values[j], other.value, 8);
      }
    for (unsigned j = 0; all && j < 32; ++j)
      if (mask >> j & 1) {
        std::memcpy(lanes[warp + j].value, values[lanes[warp + j].source], 8);
        lanes[warp + j].state = State::ready;
      }
    any = any || all;
  }
  return any;
}

std::string described(const Lane& lane) {
  const char* names[] = {"has not begun", "runs", "waits at __syncthreads", "waits at __syncwarp",
                         "waits at a shuffle of its warp", "has ended"};
  char mask[32] = "";
  if (in_warp(lane)) std::snprintf(mask, 32, ", mask %08x", lane.mask);
  return "thread " + std::to_string(&lane - lanes) + ' ' + names[int(lane.state)] + mask;
}

bool release_block() {                             // false: all have ended
  Lane* const end = lanes + threads;
  const auto all = [=](State state) { return std::all_of(lanes, end, [=](Lane& l) { return l.state == state; }); };
  if (all(State::ended)) return false;
  if (all(State::at_block)) {
    std::for_each(lanes, end, [](Lane& l) { l.state = State::ready; });
    return true;
  }
  const Lane* one = std::find_if(lanes, end, in_warp);                 // a warp's own barrier tells more
  if (one == end) one = std::find_if(lanes, end, [](Lane& l) { return l.state == State::at_block; });
  warp = unsigned(one - lanes) / 32 * 32;
  const Lane* other = in_warp(*one) ? lanes + warp : lanes;
  const auto awaits = [&] { return !in_warp(*one) || one->mask >> (other - lanes) % 32 & 1; };
  while (!awaits() || (other->state == one->state && awaited(*other) == awaited(*one))) ++other;
  stop("divergent barrier in block %u of %u: %s, but %s", blockIdx.x, gridDim.x, described(*one).c_str(),
       described(*other).c_str());
}

void wait(State state, unsigned mask) {
  if (!machine.kernel) stop("a barrier outside a kernel");
  Lane& lane = lanes[threadIdx.x];
  lane.state = state, lane.mask = mask;
  SharedMemory::used = true;
  if (!(mask >> threadIdx.x % 32 & 1))
    stop("block %u: %s, which does not name itself", blockIdx.x, described(lane).c_str());
  pause();
}

// A kernel's arguments are words; one that is an address of the host's is a mistake that a GPU answers with an error.
void check_arguments(const char* words, size_t bytes) {
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

}  // namespace

void rehearsal::launch(unsigned blocks, unsigned n, void (*call)(const void*), const void* words, size_t bytes) {
  if (blocks == 0 || blocks > 0x7fffffffu || n == 0 || n > 1024) {
    result(cudaErrorInvalidConfiguration);
    return;
  }
  const Turn turn;
  check_arguments(static_cast<const char*>(words), bytes);
  Order::kind = *environment("MINBERT_REHEARSAL_ORDER", "forward");
  threads = n, body = call, arguments = words;
  gridDim.x = blocks, blockDim.x = n;
  static Order block_order, warp_order;
  SharedMemory shared;
  machine.kernel = true;
  block_order.deal(blocks);
  for (unsigned block : block_order) {
    blockIdx.x = block;
    shared.renew();
    std::fill(lanes, lanes + threads, Lane{});
    do {
      warp_order.deal((threads + 31) / 32);
      for (unsigned w : warp_order) {
        warp = w * 32;
        do run_warp(); while (release_warp());
      }
    } while (release_block());
  }
  machine.kernel = false;
}

void __syncthreads() { wait(State::at_block, ~0u); }
void __syncwarp(unsigned mask) { wait(State::at_warp, mask); }
void rehearsal::exchange(unsigned mask, void* value, size_t bytes, unsigned source) {
  Lane& lane = lanes[threadIdx.x];
  std::memcpy(lane.value, value, bytes);
  lane.source = source;
  wait(State::at_shuffle, mask);
  std::memcpy(value, lane.value, bytes);
}

// ---- The runtime

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNotReady: return "cudaErrorNotReady";
  }
  return "unknown error";
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaGetLastError() { return std::exchange(machine.last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return machine.last_error; }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = std::atoi(environment("MINBERT_REHEARSAL_DRIVER", "13000"));
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  *count = 0;
  if (driver < CUDART_VERSION) return result(cudaErrorInsufficientDriver);
  if (*environment("MINBERT_REHEARSAL_DEVICES", "1") == '0') return result(cudaErrorNoDevice);
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  return error ? error : result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (const cudaError_t error = cudaSetDevice(device)) return error;
  *p = {"rehearsal (no GPU)", capacity(), 48 << 10, 0, 0, 4, 32, 1024};
  std::sscanf(environment("MINBERT_REHEARSAL_ARCH", "9.0"), "%d.%d", &p->major, &p->minor);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) { return allocate(memory, bytes, Kind::device); }
cudaError_t cudaMallocManaged(void** memory, size_t bytes, unsigned) { return allocate(memory, bytes, Kind::managed); }
cudaError_t cudaMallocHost(void** memory, size_t bytes) { return allocate(memory, bytes, Kind::pinned); }
cudaError_t cudaFree(void* memory) { return release(memory, false); }
cudaError_t cudaFreeHost(void* memory) { return release(memory, true); }
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
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault && (misplaced(to, to_device) || misplaced(from, from_device)))
    return result(cudaErrorInvalidValue);
  const auto pinned = [](const void* at) { const Place p = find(at); return p.in && p.in->kind == Kind::pinned; };
  if (pinned(to) || pinned(from)) {
    if (!pinned(from)) Turn{};                     // a copy to the host comes after all before it
    machine.waiting.push_back({to, from, bytes});
    ++machine.issued;
    if (pinned(to)) std::memset(to, 0xFF, bytes);
  } else {
    const Turn turn;
    on_device(to, bytes), on_device(from, bytes);
    std::memcpy(to, from, bytes);
  }
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t) {
  const Turn turn;
  if (bytes && !on_device(to, bytes)) return result(cudaErrorInvalidValue);
  std::memset(to, byte, bytes);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const Turn turn;
  return cudaSuccess;                              // a kernel that fails has ended the program
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->copies = machine.issued, event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Turn turn(event->copies);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const bool ready = machine.performed >= event->copies;
  const Turn turn(event->copies);
  return ready ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

// ---- Products

namespace {

template <class T>
std::vector<T> rounded(const T* from, int rows, int cols, int ld, int bits) {      // without the last bits of mantissa
  std::vector<T> values(size_t(rows) * size_t(cols));
  for (size_t i = 0; i < values.size(); ++i) {
    float value = float(from[i / size_t(rows) * size_t(ld) + i % size_t(rows)]);
    uint32_t word = std::bit_cast<uint32_t>(value);
    if (std::isfinite(value)) word += (1u << (bits - 1)) - 1 + (word >> bits & 1), word &= ~0u << bits;
    values[i] = T(std::bit_cast<float>(word));
  }
  return values;
}

struct Gemm {
  cublasOperation_t ta, tb;
  int m, n, k, lda, ldb, ldc;
  bool valid() const {
    const auto form = [](cublasOperation_t t) { return t == CUBLAS_OP_N || t == CUBLAS_OP_T || t == CUBLAS_OP_C; };
    return form(ta) && form(tb) && m >= 0 && n >= 0 && k >= 0 && lda >= std::max(1, ta ? k : m) &&
           ldb >= std::max(1, tb ? n : k) && ldc >= std::max(1, m);
  }
  template <class T>
  void run(T alpha, const void* a, const void* b, T beta, void* c, int drop) const {
    if (m == 0 || n == 0) return;
    const auto check = [](const char* name, const void* at, int rows, int cols, int ld) {
      const size_t count = rows && cols ? size_t(cols - 1) * size_t(ld) + size_t(rows) : 0;
      if (count && !on_device(at, count * sizeof(T)))
        stop("cuBLAS: %s at %p, [%d, %d] by %d, is not or not wholly in device memory", name, at, rows, cols, ld);
    };
    const int ra = ta ? k : m, ca = ta ? m : k, rb = tb ? n : k, cb = tb ? k : n;
    check("A", a, ra, ca, lda), check("B", b, rb, cb, ldb), check("C", c, m, n, ldc);
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    std::vector<T> x_rounded, y_rounded;
    if (drop) {
      x_rounded = rounded(x, ra, ca, lda, drop), x = x_rounded.data();
      y_rounded = rounded(y, rb, cb, ldb, drop), y = y_rounded.data();
    }
    const auto multiply = [] { if constexpr (sizeof(T) == 4) return cblas_sgemm; else return cblas_dgemm; }();
    multiply(CblasColMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, alpha, x,
             drop ? std::max(1, ra) : lda, y, drop ? std::max(1, rb) : ldb, beta, static_cast<T*>(c), ldc);
  }
};

bool supported(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
  return a == b && b == c && (a == CUDA_R_64F) == (compute == CUBLAS_COMPUTE_64F);
}
int dropped_bits(cublasHandle_t handle, cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_32F_FAST_16BF) return 16;
  const bool tf32 = compute == CUBLAS_COMPUTE_32F && handle->mode == CUBLAS_TF32_TENSOR_OP_MATH;
  return tf32 || compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 13 : 0;
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void* workspace, size_t bytes) {
  return on_device(workspace, bytes) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  handle->mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "unknown status";
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void* alpha, const void* A, cudaDataType Atype, int lda, const void* B,
                            cudaDataType Btype, int ldb, const void* beta, void* C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Gemm gemm{transa, transb, m, n, k, lda, ldb, ldc};
  if (!alpha || !beta || !gemm.valid()) return CUBLAS_STATUS_INVALID_VALUE;
  if (!supported(Atype, Btype, Ctype, computeType)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto run = [&]<class T>(T scale, T keep) {               // read on the host, before the device's turn
    const Turn turn;
    gemm.run<T>(scale, A, B, keep, C, dropped_bits(handle, computeType));
  };
  if (Atype == CUDA_R_64F) run(*static_cast<const double*>(alpha), *static_cast<const double*>(beta));
  else run(*static_cast<const float*>(alpha), *static_cast<const float*>(beta));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmGroupedBatchedEx(
    cublasHandle_t handle, const cublasOperation_t transa_array[], const cublasOperation_t transb_array[],
    const int m_array[], const int n_array[], const int k_array[], const void* alpha_array, const void* const Aarray[],
    cudaDataType_t Atype, const int lda_array[], const void* const Barray[], cudaDataType_t Btype,
    const int ldb_array[], const void* beta_array, void* const Carray[], cudaDataType_t Ctype, const int ldc_array[],
    int group_count, const int group_size[], cublasComputeType_t computeType) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (group_count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (!supported(Atype, Btype, Ctype, computeType) || computeType == CUBLAS_COMPUTE_32F_FAST_16BF)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  struct Group { Gemm gemm; double alpha, beta; int size; };
  std::vector<Group> groups;                       // read on the host, before the device's turn
  size_t products = 0;
  for (int g = 0; g < group_count; ++g) {
    const auto scale = [&](const void* of) {
      return Atype == CUDA_R_64F ? static_cast<const double*>(of)[g] : double(static_cast<const float*>(of)[g]);
    };
    const Gemm gemm{transa_array[g], transb_array[g], m_array[g], n_array[g],
                    k_array[g], lda_array[g], ldb_array[g], ldc_array[g]};
    groups.push_back({gemm, scale(alpha_array), scale(beta_array), group_size[g]});
    if (!gemm.valid() || group_size[g] < 0) return CUBLAS_STATUS_INVALID_VALUE;
    products += size_t(group_size[g]);
  }
  const Turn turn;
  for (const void* pointers : {static_cast<const void*>(Aarray), static_cast<const void*>(Barray),
                               static_cast<const void*>(Carray)})
    if (products && !on_device(pointers, products * sizeof(void*)))
      stop("cuBLAS: an array of %zu pointers at %p is not in device memory", products, pointers);
  const int drop = dropped_bits(handle, computeType);
  size_t i = 0;
  for (const Group& group : groups)
    for (const size_t end = i + size_t(group.size); i < end; ++i) {
      const uintptr_t any = uintptr_t(Aarray[i]) | uintptr_t(Barray[i]) | uintptr_t(Carray[i]);
      if (drop && group.gemm.k % 4 == 0 && any % 16) stop("cuBLAS: product %zu in TF32 is not aligned to 16 bytes", i);
      if (Atype == CUDA_R_64F) group.gemm.run<double>(group.alpha, Aarray[i], Barray[i], group.beta, Carray[i], 0);
      else group.gemm.run<float>(float(group.alpha), Aarray[i], Barray[i], float(group.beta), Carray[i], drop);
    }
  return CUBLAS_STATUS_SUCCESS;
}
