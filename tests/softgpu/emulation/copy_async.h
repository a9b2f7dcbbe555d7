// Copies from global to shared memory that go on while the thread computes (cp.async). The bytes arrive at
// the wait and no earlier, and are NaN until then: a missing wait gives wrong numbers, always.
#pragma once
#include "warp.h"

namespace gpusim {

GPU_NOSAN inline void copy_async(void* to, const void* from, unsigned bytes, unsigned total) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % total)
    die("an asynchronous copy between addresses that are not aligned to its size");
  memset(to, 0xff, total);
  Thread& t = *current;
  if (t.copy_count == t.copy_capacity) {
    t.copy_capacity = t.copy_capacity ? 2 * t.copy_capacity : 8;
    t.copies = static_cast<PendingCopy*>(realloc(t.copies, t.copy_capacity * sizeof *t.copies));
  }
  t.copies[t.copy_count++] = {to, from, bytes, total, t.copy_groups};
}

GPU_NOSAN inline void copy_async_commit() { current->copy_groups++; }

/// Copies what was committed before the last `pending` groups.
GPU_NOSAN inline void copy_async_wait(unsigned pending) {
  Thread& t = *current;
  unsigned kept = 0;
  for (unsigned i = 0; i < t.copy_count; i++) {
    const PendingCopy c = t.copies[i];
    if (c.group + pending >= t.copy_groups) {
      t.copies[kept++] = c;
      continue;
    }
    memcpy(c.to, c.from, c.bytes);
    memset(static_cast<char*>(c.to) + c.bytes, 0, c.total - c.bytes);
  }
  t.copy_count = kept;
}

}  // namespace gpusim

/// Begins to copy 16 bytes; of these, the first `bytes` come from `global` and the others become zero.
inline void gpu_copy_async16(void* shared, const void* global, unsigned bytes = 16) {
  gpusim::copy_async(shared, global, bytes, 16);
}
inline void gpu_copy_async8(void* shared, const void* global, unsigned bytes = 8) {
  gpusim::copy_async(shared, global, bytes, 8);
}
inline void gpu_copy_async4(void* shared, const void* global, unsigned bytes = 4) {
  gpusim::copy_async(shared, global, bytes, 4);
}
/// Closes the group of the copies since the last commit.
inline void gpu_copy_async_commit() { gpusim::copy_async_commit(); }
/// Waits until at most N groups are under way. Only the calling thread's copies; a barrier shows them to the
/// others.
template <int N>
void gpu_copy_async_wait() {
  gpusim::copy_async_wait(N);
}
