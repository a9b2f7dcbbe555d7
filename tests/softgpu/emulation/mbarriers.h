// Barriers in shared memory (mbarrier), and the copies of boxes that these wait for. A copy's bytes arrive
// when a thread waits for its barrier and no earlier; until then their place is NaN.
#pragma once
#include "block.h"

namespace gpusim {
inline namespace GPU_WAVE {

constexpr unsigned kMaxMbarriers = 64, kMaxBulkCopies = 256;

struct Mbarrier {
  uint64_t* place;  // where it lies; null: it is no more
  unsigned arrivals, pending;
  long bytes;  // that the phase has yet to see: announced, less those that came
  unsigned phase, waiting;
  const Thread* maker;
  unsigned fences;  // of the maker, before it
};

struct BulkCopy {
  TensorMapBits map;
  char* to;
  int along, down;
  Mbarrier* barrier;
};

/// Of a block.
struct BulkWork {
  Mbarrier barriers[kMaxMbarriers];
  BulkCopy copies[kMaxBulkCopies];
  unsigned barrier_count, copy_count, landings;
  char landed[kArenaBytes];               // shared memory, as copies left it
  unsigned landing_of[kArenaBytes / 16];  // by which one
};

GPU_NOSAN inline void forget_bulk_work(Block& b) {
  if (!b.bulk) return;
  b.bulk->barrier_count = b.bulk->copy_count = b.bulk->landings = 0;
  for (char& byte : b.bulk->landed) byte = char(0xff);
  for (unsigned& landing : b.bulk->landing_of) landing = 0;
}
GPU_NOSAN inline BulkWork& bulk_work() {
  Block& b = *block;
  if (!b.bulk) {
    b.bulk = static_cast<BulkWork*>(calloc(1, sizeof(BulkWork)));
    forget_bulk_work(b);
  }
  return *b.bulk;
}

GPU_NOSAN inline Mbarrier* find_mbarrier(const uint64_t* place) {
  BulkWork& work = bulk_work();
  for (unsigned i = 0; i < work.barrier_count; i++)
    if (work.barriers[i].place == place) return &work.barriers[i];
  return nullptr;
}
GPU_NOSAN inline Mbarrier& mbarrier_at(const uint64_t* place) {
  Mbarrier* b = find_mbarrier(place);
  if (!b) die("an mbarrier that was not initialised, or is invalidated");
  return *b;
}

/// Bytes from a box's begin in shared memory to a chunk of 16 bytes. The swizzle exchanges chunks (bits 4 to
/// 6) by the row of 128 bytes (bits 7 to 9) of their address.
GPU_NOSAN inline char* place_of_chunk(const BulkCopy& c, unsigned row, unsigned chunk) {
  size_t at = c.to - block->arena + size_t(row) * c.map.box[0] * c.map.element_bytes + chunk * 16;
  if (c.map.swizzled) at ^= at >> 3 & 0x70;
  return block->arena + at;
}
GPU_NOSAN inline unsigned chunks_of_row(const BulkCopy& c) { return c.map.box[0] * c.map.element_bytes / 16; }
GPU_NOSAN inline long bytes_of(const BulkCopy& c) {
  return long(c.map.box[0]) * c.map.box[1] * c.map.element_bytes;
}

/// A chunk of 16 bytes, zeros outside of the matrix.
GPU_NOSAN inline void read_chunk(const BulkCopy& c, unsigned row, unsigned chunk, char (&to)[16]) {
  memset(to, 0, sizeof to);
  const int64_t down = int64_t(c.down) + row;
  if (down < 0 || down >= int64_t(c.map.extent[1])) return;
  const int64_t size = c.map.element_bytes, elements = 16 / size;
  for (int64_t e = 0; e < elements; e++) {
    const int64_t along = c.along + chunk * elements + e;
    if (along < 0 || along >= int64_t(c.map.extent[0])) continue;
    const uint64_t from = c.map.address + down * c.map.stride + along * size;
    memcpy(to + e * size, reinterpret_cast<const char*>(from), size);
  }
}

GPU_NOSAN inline void land(const BulkCopy& c) {
  BulkWork& work = *block->bulk;
  work.landings++;
  for (unsigned row = 0; row < c.map.box[1]; row++)
    for (unsigned chunk = 0; chunk < chunks_of_row(c); chunk++) {
      char bytes[16];
      read_chunk(c, row, chunk, bytes);
      char* const to = place_of_chunk(c, row, chunk);
      memcpy(to, bytes, sizeof bytes);
      const size_t at = to - block->arena;
      for (int i = 0; i < 16; i++) work.landed[at + i] = bytes[i];
      work.landing_of[at / 16] = work.landings;
      if (block->writes) block->writes[at / 16].block = 0;  // the units see what such copies bring
    }
  c.barrier->bytes -= bytes_of(c);
}

GPU_NOSAN inline void land_copies_of(Mbarrier& b) {
  BulkWork& work = *block->bulk;
  unsigned kept = 0;
  acquire(b.place);
  for (unsigned i = 0; i < work.copy_count; i++) {
    if (work.copies[i].barrier == &b)
      land(work.copies[i]);
    else
      work.copies[kept++] = work.copies[i];
  }
  work.copy_count = kept;
  release(b.place);
}

/// Somebody arrived or waits: is the phase over?
GPU_NOSAN inline void settle(Mbarrier& b) {
  if (b.waiting) land_copies_of(b);
  if (b.pending) return;
  if (b.bytes < 0) die("bulk copies brought more bytes than their mbarrier was told to expect");
  if (b.bytes > 0) return;
  b.phase++;
  b.pending = b.arrivals;
  b.waiting = 0;
  for (int i = 0; i < block->thread_count; i++) {
    Thread& t = block->threads[i];
    if (t.waits_for != &b) continue;
    t.waits_for = nullptr;
    block->warps[t.warp].ready |= 1ull << t.lane;
  }
}

/// At the end of a block.
GPU_NOSAN inline void check_bulk_work(const Block& b) {
  if (b.bulk && b.bulk->copy_count > 0) die("a block ended before its bulk copies were waited for");
}

/// Nobody goes on: what a thread waits for.
GPU_NOSAN inline void check_mbarriers(const Block& b) {
  for (int i = 0; i < b.thread_count; i++) {
    const auto* m = static_cast<const Mbarrier*>(b.threads[i].waits_for);
    if (!m) continue;
    char text[128];
    snprintf(text, sizeof text, "deadlock: a phase of an mbarrier lacks %u arrivals and %ld bytes",
             m->pending, m->bytes);
    die(text);
  }
}

}  // namespace GPU_WAVE
}  // namespace gpusim
