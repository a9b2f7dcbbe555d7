// Copies to shared memory that are under way: their bytes are NaN until the wait.
#pragma once
#include "mbarriers.h"

namespace gpusim {
inline namespace GPU_WAVE {

GPU_RUNTIME void copy_async(void* to, const void* from, unsigned bytes, unsigned total) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % total)
    die("an asynchronous copy between addresses that are not aligned to its size");
  memset(to, 0xff, total);
  Thread& t = *current;
  if (t.copy_count == t.copy_capacity) {
    // As many as a ring has, and more: ThreadSanitizer takes memory that grows into what another fiber freed
    // for a race.
    t.copy_capacity = t.copy_capacity ? 2 * t.copy_capacity : 256;
    t.copies = static_cast<PendingCopy*>(realloc(t.copies, t.copy_capacity * sizeof *t.copies));
  }
  t.copies[t.copy_count++] = {to, from, bytes, total, t.copy_groups};
}

GPU_RUNTIME void copy_async_commit() { current->copy_groups++; }

GPU_NOSAN inline void note_write(const void* to, const Thread& t) {
  Block& b = *block;
  const size_t offset = static_cast<const char*>(to) - b.arena;
  if (offset >= kArenaBytes) return;
  if (!b.writes) b.writes = static_cast<SharedWrite*>(calloc(kArenaBytes / 16, sizeof *b.writes));
  b.writes[offset / 16] = {b.number, t.proxy_fences, uint16_t(&t - b.threads)};
}

GPU_RUNTIME void note_write_for_units(const void* to) { note_write(to, *current); }

GPU_RUNTIME void fence_proxy_async() {
  current->proxy_fences++;
  current->fenced_landings = block->bulk ? block->bulk->landings : 0;
}

GPU_RUNTIME void copy_async_wait(unsigned pending) {
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
    note_write(c.to, t);
  }
  t.copy_count = kept;
}

}  // namespace GPU_WAVE
}  // namespace gpusim
