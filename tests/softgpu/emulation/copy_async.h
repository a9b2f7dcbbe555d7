// Copies from global to shared memory that go on while the thread computes (cp.async). The bytes arrive at
// the wait and no earlier, and are NaN until then: a missing wait gives wrong numbers, always.
#pragma once
#include "interface.h"

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
