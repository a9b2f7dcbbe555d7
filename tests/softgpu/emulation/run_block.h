// Runs a block: which of its threads goes on when one waits or ends, and what is a deadlock.
#pragma once
#include "mbarriers.h"
#include "warpgroup_products.h"

namespace gpusim {
inline namespace GPU_WAVE {

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
  if (dynamic_bytes > b.shared_limit) die("too much dynamic shared memory");
  unpoison(b.arena, kArenaBytes);
  memset(b.arena, 0xff, b.arena_dirty);  // shared memory that nobody wrote reads as NaN
  poison(b.arena, kArenaBytes);
  unpoison(b.arena + kDynamicBegin, dynamic_bytes);
  b.shared_bytes = dynamic_bytes;
  b.arena_used = b.arena_dirty = (kDynamicBegin + dynamic_bytes + 31) & ~size_t(15);
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
    t.fenced = false;
    t.copy_count = t.copy_groups = t.proxy_fences = t.fenced_landings = 0;
    t.waits_for = nullptr;
  }
  forget_bulk_work(b);
  for (int i = 0; i < b.warp_count; i++) {
    Warp& w = b.warps[i];
    const int lanes = b.thread_count - i * kWarp;
    w.alive = w.fresh = w.ready = lanes >= 64 || lanes >= kWarp ? ~0ull >> (64 - kWarp) : (1ull << lanes) - 1;
    w.waiting = 0;
    forget_products(w);
  }
}

GPU_NOSAN inline void open_barrier(Block& b) {
  if (b.at_barrier != b.alive) {
    check_mbarriers(b);
    die("deadlock: not all threads reached the barrier or the warp operation (divergence)");
  }
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

/// One that runs may make ready one of a warp before.
GPU_NOSAN inline bool has_ready_threads(const Block& b) {
  for (int i = 0; i < b.warp_count; i++)
    if (b.warps[i].ready) return true;
  return false;
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
  b.number++;
  b.thread_count = 0;
  b.read_atomically = false;
  if (!races_between_blocks()) acquire(&launch_ordered[1]);
  prepare_arena(b, dynamic_bytes);
  release(&launch_ordered[0]);
  prepare_threads(b, size);
  for (;;) {
    while (has_ready_threads(b)) run_ready_threads(b);
    if (!b.alive) break;
    open_barrier(b);
  }
  check_warpgroups(b);
  check_bulk_work(b);
}

}  // namespace GPU_WAVE
}  // namespace gpusim
