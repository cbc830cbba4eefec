// Kernels of the rehearsal (cuda_runtime.h): blocks, threads, barriers, shared memory.
#undef _FORTIFY_SOURCE                             // its longjmp refuses to leave for another stack
#include <link.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "rehearsal/machine.h"

using namespace rehearsal;

namespace {

// Shared memory is the program's thread-local storage: all __shared__ and all other thread-local variables. While a
// kernel runs it is saved, and filled with NaN for every block: values of the last block could hide a missing barrier.
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

// A fiber runs the threads of a warp one after the other until one of them waits; the next fiber goes on from there. So
// a kernel without barriers needs one fiber. A warp runs as far as it can before the next warp does.

enum class State { fresh, ready, at_block, at_warp, at_shuffle, ended };
struct Fiber {
  jmp_buf at;
  ucontext_t start;
  bool begun = false;
};
struct Lane {
  Fiber* fiber = nullptr;
  State state = State::fresh;
  unsigned source = 0;
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

bool in_warp(const Lane& lane) { return lane.state == State::at_warp || lane.state == State::at_shuffle; }

bool release_warp() {                              // whether its threads may go on: all have come
  Lane *const first = lanes + warp, *const end = lanes + std::min(warp + 32, threads);
  if (!in_warp(*first) || std::any_of(first, end, [=](Lane& l) { return l.state != first->state; })) return false;
  unsigned char values[32][8];
  std::memset(values, 0xFF, sizeof values);
  for (const Lane* lane = first; lane < end; ++lane) std::memcpy(values[lane - first], lane->value, 8);
  for (Lane* lane = first; lane < end; ++lane) {
    std::memcpy(lane->value, values[lane->source], 8);
    lane->state = State::ready;
  }
  return true;
}

std::string described(const Lane& lane) {
  const char* names[] = {"has not begun", "runs", "waits at __syncthreads", "waits at __syncwarp",
                         "waits at a shuffle of its warp", "has ended"};
  return "thread " + std::to_string(&lane - lanes) + ' ' + names[int(lane.state)];
}

bool release_block() {                             // false: all have ended
  Lane* const end = lanes + threads;
  const auto all = [=](State state) { return std::all_of(lanes, end, [=](Lane& l) { return l.state == state; }); };
  if (all(State::ended)) return false;
  if (all(State::at_block)) {
    std::for_each(lanes, end, [](Lane& l) { l.state = State::ready; });
    return true;
  }
  const Lane *one = std::find_if(lanes, end, in_warp), *other = lanes;  // a warp's own barrier tells more
  if (one < end) other = lanes + (one - lanes) / 32 * 32;
  else one = std::find_if(lanes, end, [](Lane& l) { return l.state == State::at_block; });
  while (other->state == one->state) ++other;
  stop("divergent barrier in block %u of %u: %s, but %s", blockIdx.x, gridDim.x, described(*one).c_str(),
       described(*other).c_str());
}

void wait(State state) {
  if (!in_kernel) stop("a barrier outside a kernel");
  lanes[threadIdx.x].state = state;
  SharedMemory::used = true;
  pause();
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
  in_kernel = true;
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
  in_kernel = false;
}

void __syncthreads() { wait(State::at_block); }
void __syncwarp() { wait(State::at_warp); }
void rehearsal::exchange(unsigned mask, void* value, size_t bytes, unsigned source) {
  if (mask != ~0u) stop("a shuffle with mask %08x; the rehearsal knows whole warps", mask);
  Lane& lane = lanes[threadIdx.x];
  std::memcpy(lane.value, value, bytes);
  lane.source = source;
  wait(State::at_shuffle);
  std::memcpy(value, lane.value, bytes);
}
