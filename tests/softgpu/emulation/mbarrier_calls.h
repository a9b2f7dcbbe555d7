// What a thread does with barriers in shared memory and bulk copies.
#pragma once
#include "mbarriers.h"
#include "run_block.h"

namespace gpusim {
inline namespace GPU_WAVE {

GPU_RUNTIME void mbarrier_init(uint64_t* place, unsigned arrivals) {
  BulkWork& work = bulk_work();
  (void)shared_address(place);
  if (reinterpret_cast<uintptr_t>(place) % sizeof *place)
    die("an mbarrier at an address that is not aligned");
  if (find_mbarrier(place)) die("an mbarrier is initialised once more before it was invalidated");
  Mbarrier* free = find_mbarrier(nullptr);
  if (!free && work.barrier_count == kMaxMbarriers) die("more than 64 mbarriers");
  if (!free) free = &work.barriers[work.barrier_count++];
  *free = {place, arrivals, arrivals, 0, 0, 0, current, current->proxy_fences};
}

GPU_RUNTIME void mbarrier_inval(uint64_t* place) {
  Mbarrier& b = mbarrier_at(place);
  for (unsigned i = 0; i < block->bulk->copy_count; i++)
    if (block->bulk->copies[i].barrier == &b) die("an mbarrier is invalidated while copies use it");
  if (b.waiting) die("an mbarrier is invalidated while threads wait for it");
  b.place = nullptr;
}

GPU_RUNTIME void mbarrier_arrive(uint64_t* place, unsigned expected_bytes) {
  Mbarrier& b = mbarrier_at(place);
  release(place);
  if (!b.pending) die("more threads arrive at an mbarrier than it was made for");
  b.bytes += expected_bytes;
  b.pending--;
  settle(b);
}

GPU_RUNTIME void mbarrier_wait(uint64_t* place, unsigned parity, Site site) {
  Thread& me = *current;
  Mbarrier& b = mbarrier_at(place);
  if ((b.phase & 1) == parity) {
    const unsigned phase = b.phase;
    b.waiting++;
    settle(b);
    if (b.phase == phase) {
      me.waits_in = "mbarrier.try_wait";
      me.site = site;
      me.waits_for = &b;
      yield();
      me.waits_in = nullptr;
    }
  }
  acquire(place);
}

/// Threads stored where a copy that landed, or none, left other bytes: behind that, all of them fenced.
GPU_NOSAN inline void check_fences(unsigned landing) {
  for (int i = 0; i < block->thread_count; i++) {
    const Thread& t = block->threads[i];
    if (!t.proxy_fences || t.fenced_landings < landing)
      die("a bulk copy to where threads stored without a fence.proxy.async behind it");
  }
}

GPU_RUNTIME void bulk_copy_2d(void* to, const void* map, int along, int down, uint64_t* place) {
  BulkWork& work = bulk_work();
  BulkCopy c{{}, static_cast<char*>(to), along, down, &mbarrier_at(place)};
  if (!read_tensor_map(map, c.map)) die("a tensor map that no cuTensorMapEncodeTiled wrote");
  if (lies("tma")) c.along++;
  if (shared_address(to) % 128) die("a bulk copy to an address that is no multiple of 128 bytes");
  if (shared_address(to) + size_t(bytes_of(c)) > kArenaBytes)
    die("a bulk copy past the end of shared memory");
  if (c.barrier->maker->proxy_fences == c.barrier->fences)
    die("a bulk copy uses an mbarrier without a fence.proxy.async of the thread that initialised it");
  if (work.copy_count == kMaxBulkCopies) die("more than 256 bulk copies under way");
  for (unsigned row = 0; row < c.map.box[1]; row++)
    for (unsigned chunk = 0; chunk < chunks_of_row(c); chunk++) {
      char* const at = place_of_chunk(c, row, chunk);
      const size_t offset = at - block->arena;
      if (!are_equal(at, work.landed + offset, 16)) check_fences(work.landing_of[offset / 16]);
      memset(at, 0xff, 16);
    }
  release(place);
  work.copies[work.copy_count++] = c;
}

}  // namespace GPU_WAVE
}  // namespace gpusim
