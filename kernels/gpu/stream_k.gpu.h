// How blocks share the tiles of a product (Stream-K: Osama et al., PPoPP 2023), whatever computes a tile.
// The first tiles have a block each. The others, fewer than fill the device once more, lie in one line of
// pieces of their depth, of which blocks take equal ranges: where these meet within a tile, the last block
// to be done with it adds the parts up. No block waits for another.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

struct TileLine {
  Int tiles;    // in all
  Int whole;    // of these, the first, which have a block each
  Int sharers;  // blocks that share the others; at most one a piece
  Int pieces;   // of the depth of a tile; at least one

  GPU_INLINE Int length() const { return (tiles - whole) * pieces; }
  /// Where the range of a sharer begins in the line.
  GPU_INLINE Int begin(Int sharer) const { return sharer * length() / sharers; }
  /// In whose range a piece of the line lies.
  GPU_INLINE Int sharer_at(Int piece) const { return ((piece + 1) * sharers - 1) / length(); }
};

/// True in the block that is the last of others + 1 to come here: it sees what these wrote to memory. The
/// ticket is then 0 again.
GPU_INLINE bool arrives_last(unsigned* ticket, unsigned others) {
  GPU_SHARED(bool, is_last, [1]);
  device_fence();
  __syncthreads();
  if (threadIdx.x == 0) is_last[0] = atomicInc(ticket, others) == others;
  __syncthreads();
  if (is_last[0]) device_fence();
  return is_last[0];
}

/// A pointer of which the compiler knows nothing: addresses that follow from it are computed where they are
/// used, and take no registers while tiles are.
template <class T>
GPU_INLINE T* address_of_its_own(T* pointer) {
#if GPU_CUDA
  asm volatile("" : "+l"(pointer));
#endif
  return pointer;
}

/// The values that the threads of a block hold of a tile, side by side in memory in chunks of 16 bytes.
template <int Threads, class Value, int Count>
struct HeldValues {
  static constexpr int chunk = 16 / int(sizeof(Value)), elements = Threads * Count;
  using Chunk = Value[chunk];
  static_assert(Count % chunk == 0, "a thread holds whole chunks");

  template <class Sum>
  static GPU_INLINE Chunk& chunk_of(Sum& sum, int i) {
    return reinterpret_cast<Chunk&>(reinterpret_cast<Value(&)[Count]>(sum)[i]);
  }
  /// From a part's beginning.
  static GPU_INLINE int place(int i) { return i * Threads + int(threadIdx.x) * chunk; }
  template <class Sum>
  static GPU_INLINE void write(Value* part, Sum& sum) {
#pragma unroll
    for (int i = 0; i < Count; i += chunk) write_pieces<chunk>(part + place(i), chunk_of(sum, i));
  }
  template <class Sum>
  static GPU_INLINE void clear(Sum& sum) {
#pragma unroll
    for (int i = 0; i < Count; ++i) reinterpret_cast<Value(&)[Count]>(sum)[i] = 0;
  }
  template <class Sum>
  static GPU_INLINE void add(const Value* part, Sum& sum) {
#pragma unroll
    for (int i = 0; i < Count; i += chunk) {
      Chunk more;
      read_pieces<chunk>(part + place(i), more);
      for (int v = 0; v < chunk; ++v) chunk_of(sum, i)[v] += more[v];
    }
  }
};

/// A sharer has computed its part of a tile of the line. The bounds of sharers and of tiles cut the line into
/// segments, and a part lies at the number of its own. True in the block that is done last: its sum is that
/// of all parts, added up in the order of the depth.
template <int Threads, class Sum, class Value>
GPU_INLINE bool joins_parts(const TileLine& line, Int sharer, Int tile, Value* parts, unsigned* tickets,
                            Sum& sum) {
  using Held = HeldValues<Threads, Value, int(sizeof(Sum) / sizeof(Value))>;
  parts = address_of_its_own(parts);
  const Int first = line.sharer_at(tile * line.pieces), last = line.sharer_at((tile + 1) * line.pieces - 1);
  Held::write(parts + (sharer + tile) * Held::elements, sum);
  if (!arrives_last(tickets + tile, unsigned(last - first))) return false;
  Held::clear(sum);
#pragma unroll 1
  for (Int other = first; other <= last; ++other) Held::add(parts + (other + tile) * Held::elements, sum);
  return true;
}

/// Computes the block's share of the tiles: compute(tile, first piece, last piece + 1, sum) adds up pieces of
/// a tile, of which a thread holds a Sum (an array of Values), and finish(tile, sum) does what follows.
/// parts: (sharers + shared tiles - 1) times what a block holds; tickets: 0 for each shared tile, before and
/// after. Without Shared all tiles are whole.
template <bool Shared, int Threads, class Sum, class Value, class Compute, class Finish>
GPU_INLINE void compute_tiles(const TileLine& line, Value* parts, unsigned* tickets, Compute compute,
                              Finish finish) {
  const Int block = Int(blockIdx.y) * gridDim.x + blockIdx.x;
  if constexpr (!Shared) {
    if (block >= line.tiles) return;
    Sum sum = {};
    compute(block, 0, line.pieces, sum);
    finish(block, sum);
  } else {
    const bool is_alone = block < line.whole;
    const Int sharer = block - line.whole, line_begin = line.whole * line.pieces;
    if (sharer >= line.sharers) return;
    Int at = is_alone ? block * line.pieces : line_begin + line.begin(sharer);
    const Int end = is_alone ? at + line.pieces : line_begin + line.begin(sharer + 1);
#pragma unroll 1
    while (at < end) {
      const Int tile = at / line.pieces, first = at % line.pieces;
      const Int last = first + end - at < line.pieces ? first + end - at : line.pieces;
      Sum sum = {};
      compute(tile, first, last, sum);
      if (last - first == line.pieces ||
          joins_parts<Threads>(line, sharer, tile - line.whole, parts, tickets, sum))
        finish(tile, sum);
      at += last - first;
      __syncthreads();
    }
  }
}

}  // namespace tenon::gpu
