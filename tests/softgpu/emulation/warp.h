// What the threads of a block do together: warp operations, barriers, shared variables.
#pragma once
#include <atomic>

#include "run_block.h"

namespace gpusim {

/// All lanes of `mask` meet here, each with its operand; the last one runs `function` over all operands.
/// `ordered`: it orders memory too. Lanes in different operations, or a lane outside its own mask, end the
/// process with a message.
GPU_NOSAN inline void collective(uint64_t mask, void* operand, CollFn function, const char* name, Site site,
                                 bool ordered = false) {
  Thread* me = current;
  Warp& w = block->warps[me->warp];
  const uint64_t bit = 1ull << me->lane;
  char* order = &w.ordered[w.generation & 1];
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

struct Shuffle {
  uint64_t value, result;
  int source;
};

/// The value of lane `source`; all bits set where that lane does not take part.
template <class T>
T shuffle(uint64_t mask, T value, int source, Site site) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  Shuffle operand{0, 0, source};
  memcpy(&operand.value, &value, sizeof value);
  collective(
      mask, &operand,
      [](void** operands, uint64_t lanes) GPU_NOSAN {
        for (uint64_t rest = lanes; rest; rest &= rest - 1) {
          Shuffle* s = static_cast<Shuffle*>(operands[lowest(rest)]);
          s->result = lanes >> s->source & 1 ? static_cast<Shuffle*>(operands[s->source])->value : ~0ull;
        }
      },
      "a shuffle", site);
  memcpy(&value, &operand.result, sizeof value);
  return value;
}

struct Vote {
  uint64_t vote, result;
};

inline uint64_t ballot(uint64_t mask, bool vote, Site site) {
  Vote operand{vote, 0};
  collective(
      mask, &operand,
      [](void** operands, uint64_t lanes) GPU_NOSAN {
        uint64_t result = 0;
        for (uint64_t rest = lanes; rest; rest &= rest - 1)
          result |= static_cast<Vote*>(operands[lowest(rest)])->vote << lowest(rest);
        for (uint64_t rest = lanes; rest; rest &= rest - 1)
          static_cast<Vote*>(operands[lowest(rest)])->result = result;
      },
      "a ballot", site);
  return operand.result;
}

GPU_NOSAN inline void barrier(Site site) {
  char* order = &block->barrier_ordered[block->barrier_generation & 1];
  current->waits_in = "__syncthreads";
  current->site = site;
  block->at_barrier++;
  release(order);
  Thread* me = current;
  yield();
  me->waits_in = nullptr;
  acquire(order);
}

GPU_NOSAN inline int lane() { return current->lane; }
GPU_NOSAN inline uint64_t alive() { return block->warps[current->warp].alive; }
GPU_NOSAN inline const uint3& thread_index() { return current->index; }
GPU_NOSAN inline const uint3& block_index() { return block->index; }
GPU_NOSAN inline const uint3& block_size() { return block->block_size; }
GPU_NOSAN inline const uint3& grid_size() { return block->grid_size; }
GPU_NOSAN inline void* dyn_shared() { return block->arena; }

inline std::atomic<int> next_shared_variable{0};

GPU_NOSAN inline void* shared_variable(int id, size_t bytes) {
  Block& b = *block;
  if (id >= kMaxSharedVariables) die("more than 256 GPU_SHARED variables");
  if (b.shared_variables[id]) return b.shared_variables[id];
  b.shared_bytes += bytes;
  if (b.shared_bytes > GPU_CPU_SHMEM) die("too much shared memory");
  b.shared_variables[id] = b.arena + b.arena_used;
  b.arena_used = b.arena_dirty = b.arena_used + ((bytes + 31) & ~size_t(15));
  if (b.arena_used > kArenaBytes) die("too much shared memory");
  unpoison(b.shared_variables[id], bytes);
  return b.shared_variables[id];
}

/// The variable that `Tag`, a lambda's type, names: the same for all threads of a block.
template <class T, class Tag>
T& shared_var(Tag) {
  static const int id = next_shared_variable++;
  return *static_cast<T*>(shared_variable(id, sizeof(T)));
}

}  // namespace gpusim
