// A block of GPU threads, one fiber each, all on one system thread: what is known of it, and how it ends in
// an error.
#pragma once
#include <unistd.h>

#include <vector>

#include "fiber.h"
#include "tensor_map.h"

namespace gpusim {
inline namespace GPU_WAVE {

constexpr int kMaxThreads = 1024;
constexpr int kMaxSharedVariables = 256;
constexpr size_t kArenaBytes = 256 << 10;
/// Dynamic shared memory begins at a multiple of 16 and of no more, as it is declared.
constexpr size_t kDynamicBegin = 16;

/// A copy to shared memory that is under way (pending_copies.h).
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
  unsigned copy_groups;                    // committed so far
  unsigned proxy_fences, fenced_landings;  // when the last one ran: of bulk copies, how many had landed
  const void* waits_for;                   // an mbarrier
  bool fenced;                             // what others read atomically of it shows them what it did before
};

/// 16 bytes of shared memory that a thread's asynchronous copy wrote.
struct SharedWrite {
  unsigned block,
      fences;  // of the block, how many ran here before; of the thread, how many fences came before
  uint16_t thread;
};

struct WarpgroupWork;  // warpgroup_products.h
struct BulkWork;       // mbarriers.h

/// Sets of lanes as bits.
struct Warp {
  WarpgroupWork* work = nullptr;  // what it began on the unit of its warpgroup
  uint64_t alive, fresh, ready, waiting;
  unsigned generation;
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
  bool read_atomically;  // it may know of what other blocks did
  Thread* finished = nullptr;
  uint3 index, block_size, grid_size;
  std::vector<char*> free_stacks;
  unsigned number = 0;            // of the blocks that ran here
  SharedWrite* writes = nullptr;  // of the arena
  BulkWork* bulk = nullptr;
  char* arena = nullptr;  // shared memory
  size_t arena_used, arena_dirty, shared_bytes, shared_limit;
  char* shared_variables[kMaxSharedVariables];
  void (*body)(void*);
  void* argument;
  uint64_t random;
};

inline thread_local Block* block;     // that this system thread runs
inline thread_local Thread* current;  // GPU thread
// For ThreadSanitizer: begin and end of a launch, atomic operations between fences.
inline char launch_ordered[2], atomics_ordered;

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

/// What a meeting orders: of a warp, or of the block (warp -1). It lies in the block's own memory, so that
/// ThreadSanitizer forgets it with the block.
GPU_NOSAN inline char* meeting_ordered(int warp, unsigned generation) {
  return block->arena + kArenaBytes - 16 * (warp + 2) + 8 * (generation & 1);
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

}  // namespace GPU_WAVE
}  // namespace gpusim
