// What the threads of a block do together: warp operations, barriers, shared variables.
#pragma once
#include "run_block.h"

namespace gpusim {
inline namespace GPU_WAVE {

GPU_RUNTIME void collective(uint64_t mask, void* operand, CollFn function, const char* name, Site site,
                            bool ordered) {
  Thread* me = current;
  Warp& w = block->warps[me->warp];
  const uint64_t bit = 1ull << me->lane;
  char* order = meeting_ordered(me->warp, w.generation);
  me->waits_in = name;
  me->site = site;
  w.operand[me->lane] = operand;
  w.mask[me->lane] = mask;
  w.function[me->lane] = function;
  w.waiting |= bit;
  if (!(mask & bit)) die("the calling lane is not in the mask");
  if (ordered) release(order);
  const uint64_t expected = mask & w.alive;
  if ((w.waiting & expected) == expected) {
    for (uint64_t rest = expected; rest; rest &= rest - 1) {
      const int lane = lowest(rest);
      if (w.function[lane] != function || w.mask[lane] != mask)
        die("lanes of a warp wait in different warp operations");
    }
    if (function) function(w.operand, expected);
    w.waiting &= ~expected;
    w.ready |= expected & ~bit;
    w.generation++;
  } else {
    yield();
  }
  me->waits_in = nullptr;
  if (ordered) acquire(order);
}

GPU_RUNTIME void barrier(Site site) {
  char* order = meeting_ordered(-1, block->barrier_generation);
  current->waits_in = "__syncthreads";
  current->site = site;
  block->at_barrier++;
  release(order);
  Thread* me = current;
  yield();
  me->waits_in = nullptr;
  acquire(order);
}

#ifdef GPU_TSAN
GPU_RUNTIME void device_fence() {
  current->fenced = true;
  if (block->read_atomically) acquire(&atomics_ordered);
}
GPU_RUNTIME void note_atomic() {
  if (current->fenced) release(&atomics_ordered);
  block->read_atomically = true;
}
#endif

GPU_RUNTIME int lane() { return current->lane; }
GPU_RUNTIME uint64_t alive() { return block->warps[current->warp].alive; }
GPU_RUNTIME uint3 thread_index() { return current->index; }
GPU_RUNTIME uint3 block_index() { return block->index; }
GPU_RUNTIME uint3 block_size() { return block->block_size; }
GPU_RUNTIME uint3 grid_size() { return block->grid_size; }
GPU_RUNTIME void* dyn_shared() { return block->arena + kDynamicBegin; }

GPU_RUNTIME unsigned shared_address(const void* p) {
  const size_t offset = static_cast<const char*>(p) - block->arena;
  if (offset >= kArenaBytes) die("an address of the matrix units that is none of shared memory");
  return unsigned(offset);
}

GPU_RUNTIME void* shared_variable(int id, size_t bytes) {
  Block& b = *block;
  if (id >= kMaxSharedVariables) die("more than 256 GPU_SHARED variables");
  if (b.shared_variables[id]) return b.shared_variables[id];
  b.shared_bytes += bytes;
  if (b.shared_bytes > b.shared_limit) die("too much shared memory");
  b.shared_variables[id] = b.arena + b.arena_used;
  b.arena_used = b.arena_dirty = b.arena_used + ((bytes + 31) & ~size_t(15));
  if (b.arena_used > kArenaBytes) die("too much shared memory");
  unpoison(b.shared_variables[id], bytes);
  return b.shared_variables[id];
}

}  // namespace GPU_WAVE
}  // namespace gpusim
