// A block of GPU threads: one fiber each, all on one system thread; how they wait for each other and what is
// an error.
#pragma once
#include <unistd.h>

#include <vector>

#include "fiber.h"

#ifndef GPU_CPU_WARP
#define GPU_CPU_WARP 32  // lanes of a warp: 32 or 64
#endif
#ifndef GPU_CPU_SHMEM
#define GPU_CPU_SHMEM (64 << 10)  // bytes of shared memory that a block may have
#endif

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

namespace gpusim {

constexpr int kWarp = GPU_CPU_WARP;
constexpr int kMaxThreads = 1024;
constexpr int kMaxSharedVariables = 256;
constexpr size_t kArenaBytes = 256 << 10;

/// Runs once for a warp's operation, over the operands of all its lanes.
using CollFn = void (*)(void** operands, uint64_t lanes);

struct Site {
  const char* file;
  int line;
};

/// A copy to shared memory that is under way (copy_async.h).
struct PendingCopy {
  void* to;
  const void* from;
  unsigned bytes, total, group;
};

struct Thread {
  Context context;
  uint3 index;
  int warp, lane;
  char* stack = nullptr;
  Site site;                      // where it waits
  const char* waits_in;           // null: it does not wait
  PendingCopy* copies = nullptr;  // no std::vector: its functions would be instrumented
  unsigned copy_count, copy_capacity = 0;
  unsigned copy_groups;  // committed so far
};

/// Sets of lanes as bits.
struct Warp {
  uint64_t alive, fresh, ready, waiting;
  unsigned generation;
  char ordered[2];
  void* operand[64];
  uint64_t mask[64];
  CollFn function[64];
};

struct Block {
  Context scheduler;
  Thread threads[kMaxThreads];
  Warp warps[kMaxThreads / 32 + 1];
  int thread_count, warp_count, alive, at_barrier;
  unsigned barrier_generation = 0;
  char barrier_ordered[2];
  Thread* finished = nullptr;
  uint3 index, block_size, grid_size;
  std::vector<char*> free_stacks;
  char* arena = nullptr;  // shared memory
  size_t arena_used, arena_dirty, shared_bytes;
  char* shared_variables[kMaxSharedVariables];
  void (*body)(void*);
  void* argument;
  uint64_t random;
};

inline thread_local Block* block;     // that this system thread runs
inline thread_local Thread* current;  // GPU thread
inline char launch_ordered[2];        // begin and end of a launch, for ThreadSanitizer

/// SOFTGPU_ORDER=SEED runs lanes, warps and blocks in a random order; 0: in order.
inline uint64_t order_seed() {
  static const char* text = getenv("SOFTGPU_ORDER");
  static const uint64_t seed = text ? strtoull(text, nullptr, 10) * 2 + 1 : 0;
  return seed;
}

/// SOFTGPU_TSAN_BLOCKS: ThreadSanitizer looks for races between blocks too; these must use GPU_SHARED. Slow.
inline bool races_between_blocks() {
  static const bool wanted = getenv("SOFTGPU_TSAN_BLOCKS") != nullptr;
  return wanted;
}

GPU_NOSAN inline uint64_t next_random() {
  uint64_t& r = block->random;
  r ^= r << 13;
  r ^= r >> 7;
  return r ^= r << 17;
}

GPU_NOSAN inline int lowest(uint64_t lanes) { return __builtin_ctzll(lanes); }

GPU_NOSAN inline int pick(uint64_t lanes) {
  if (order_seed())
    for (uint64_t skip = next_random() % __builtin_popcountll(lanes); skip; skip--) lanes &= lanes - 1;
  return lowest(lanes);
}

/// Ends the process, with where the first threads of the block wait.
[[noreturn]] GPU_NOSAN inline void die(const char* why) {
  const Block& b = *block;
  char text[2048];
  int used =
      snprintf(text, sizeof text, "gpusim: %s, block (%u,%u,%u)\n", why, b.index.x, b.index.y, b.index.z);
  for (int i = 0, shown = 0; i < b.thread_count && shown < 8; i++) {
    const Thread& t = b.threads[i];
    const bool at_edge = t.lane < 2 || t.lane == kWarp - 1;
    if (!t.waits_in || !at_edge) continue;
    used +=
        snprintf(text + used, sizeof text - used, "  thread %d (warp %d, lane %d) waits in %s at %.120s:%d\n",
                 i, t.warp, t.lane, t.waits_in, t.site.file, t.site.line);
    shown++;
  }
  if (write(STDERR_FILENO, text, used) < 0) {}
  abort();
}

// ---- the life of a thread

GPU_NOSAN inline void finish() {
  block->finished = current;
  switch_context(current->context, block->scheduler, true);
}

inline void thread_main() {
  note_begun(block->scheduler.note);
  acquire(&launch_ordered[0]);
  block->body(block->argument);
  release(&launch_ordered[1]);
  finish();
}

GPU_NOSAN inline void start(Thread& t) {
#ifdef GPU_TSAN  // a fiber of ThreadSanitizer keeps its own stack
  if (t.stack && races_between_blocks()) munmap(t.stack, kStackBytes), t.stack = nullptr;
  if (!t.stack) t.stack = map_memory(kStackBytes, true);
#else  // others take the free stack that was used last
  if (block->free_stacks.empty()) block->free_stacks.push_back(map_memory(kStackBytes, true));
  t.stack = block->free_stacks.back();
  block->free_stacks.pop_back();
#endif
  prepare_context(t.context, t.stack, thread_main);
}

/// Lanes that have ended count as arrived.
GPU_NOSAN inline void complete_collective(Warp& w) {
  if (!w.waiting) return;
  const int lane = lowest(w.waiting);
  const uint64_t expected = w.mask[lane] & w.alive;
  if ((w.waiting & expected) != expected) return;
  if (w.function[lane]) w.function[lane](w.operand, expected);
  w.waiting &= ~expected;
  w.ready |= expected;
  w.generation++;
}

GPU_NOSAN inline void bury(Thread& t) {
  Warp& w = block->warps[t.warp];
  block->alive--;
  w.alive &= ~(1ull << t.lane);
  t.waits_in = nullptr;
#ifdef GPU_TSAN
  if (races_between_blocks()) __tsan_destroy_fiber(t.context.note.fiber), t.context.note.fiber = nullptr;
#else
  block->free_stacks.push_back(t.stack);
#endif
  complete_collective(w);
}

/// The scheduler runs `t`, which may hand over to other lanes of its warp: another thread may have ended at
/// return.
GPU_NOSAN inline void resume(Thread& t) {
  Warp& w = block->warps[t.warp];
  const uint64_t bit = 1ull << t.lane;
  w.ready &= ~bit;
  if (w.fresh & bit) w.fresh &= ~bit, start(t);
  current = &t;
  switch_context(block->scheduler, t.context);
  if (Thread* ended = block->finished) block->finished = nullptr, bury(*ended);
}

/// A thread waits: the next lane of its warp that has begun goes on, or the scheduler.
GPU_NOSAN inline void yield() {
  Thread* me = current;
  Warp& w = block->warps[me->warp];
  const uint64_t begun = w.ready & ~w.fresh;
  if (!begun) return switch_context(me->context, block->scheduler);
  const int lane = pick(begun);
  w.ready &= ~(1ull << lane);
  current = &block->threads[me->warp * kWarp + lane];
  switch_context(me->context, current->context);
}

// ---- the life of a block

GPU_NOSAN inline void prepare_arena(Block& b, size_t dynamic_bytes) {
#ifdef GPU_TSAN
  if (races_between_blocks() && b.arena) munmap(b.arena, kArenaBytes), b.arena = nullptr;
#endif
  if (!b.arena) b.arena = map_memory(kArenaBytes, false), b.arena_dirty = kArenaBytes;
  if (dynamic_bytes > GPU_CPU_SHMEM) die("too much dynamic shared memory");
  unpoison(b.arena, kArenaBytes);
  memset(b.arena, 0xff, b.arena_dirty);  // shared memory that nobody wrote reads as NaN
  poison(b.arena, kArenaBytes);
  unpoison(b.arena, dynamic_bytes);
  b.shared_bytes = dynamic_bytes;
  b.arena_used = b.arena_dirty = (dynamic_bytes + 31) & ~size_t(15);
  for (char*& variable : b.shared_variables) variable = nullptr;
}

GPU_NOSAN inline void prepare_threads(Block& b, dim3 size) {
  b.thread_count = b.alive = int(size.x * size.y * size.z);
  b.warp_count = (b.thread_count + kWarp - 1) / kWarp;
  b.at_barrier = 0;
  for (int i = 0; i < b.thread_count; i++) {
    Thread& t = b.threads[i];
    t.index = {i % size.x, i / size.x % size.y, i / (size.x * size.y)};
    t.warp = i / kWarp;
    t.lane = i % kWarp;
    t.waits_in = nullptr;
    t.copy_count = t.copy_groups = 0;
  }
  for (int i = 0; i < b.warp_count; i++) {
    Warp& w = b.warps[i];
    const int lanes = b.thread_count - i * kWarp;
    w.alive = w.fresh = w.ready = lanes >= 64 || lanes >= kWarp ? ~0ull >> (64 - kWarp) : (1ull << lanes) - 1;
    w.waiting = 0;
  }
}

GPU_NOSAN inline void open_barrier(Block& b) {
  if (b.at_barrier != b.alive)
    die("deadlock: not all threads reached the barrier or the warp operation (divergence)");
  b.at_barrier = 0;
  b.barrier_generation++;
  Site site{nullptr, 0};
  for (int i = 0; i < b.thread_count; i++) {
    const Thread& t = b.threads[i];
    if (!t.waits_in) continue;
    if (site.file && site.line != t.site.line) die("threads of a block wait in different __syncthreads()");
    site = t.site;
  }
  for (int i = 0; i < b.warp_count; i++) b.warps[i].ready = b.warps[i].alive;
}

GPU_NOSAN inline void run_ready_threads(Block& b) {
  const int first = order_seed() ? int(next_random() % b.warp_count) : 0;
  for (int i = 0; i < b.warp_count; i++) {
    const int warp = (i + first) % b.warp_count;
    while (b.warps[warp].ready) resume(b.threads[warp * kWarp + pick(b.warps[warp].ready)]);
  }
}

GPU_NOSAN inline void run_block(dim3 size, uint3 index, size_t dynamic_bytes) {
  Block& b = *block;
  b.index = index;
  b.thread_count = 0;
  if (!races_between_blocks()) acquire(&launch_ordered[1]);
  prepare_arena(b, dynamic_bytes);
  release(&launch_ordered[0]);
  prepare_threads(b, size);
  for (;;) {
    run_ready_threads(b);
    if (!b.alive) return;
    open_barrier(b);
  }
}

}  // namespace gpusim
