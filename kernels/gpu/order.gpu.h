// Puts the elements of lines in the order of their keys (unsigned integers): a stable radix sort, digit by
// digit of 8 bits, least significant first. Lines that fit a block are sorted by one; longer ones by three
// kernels for each digit (count, offsets, move), in which each block has a part of a line.
#pragma once
#include "kernels/gpu/wave.gpu.h"

namespace tenon::gpu {

constexpr int order_threads = 256;  // a thread for each value of a digit
constexpr int order_waves = order_threads / wave_size;

struct OrderShape {
  Int lines, length;
  Int parts, part_length;  // of a line; a multiple of a tile
  Int bits;                // of keys that matter
  Int shift;               // of this pass
};

template <class Key>
GPU_INLINE int digit_of(Key key, int shift) {
  return static_cast<int>(key >> shift) & 255;
}

struct OrderShared {
  unsigned count[order_waves][256];
  unsigned part[order_waves];
  unsigned first[256];  // where the elements of each digit go
};

/// A block's tile: element k of a thread is number at(k) of the tile, so that waves and their steps are in
/// order.
template <int Items>
struct Tile {
  static constexpr int size = order_threads * Items;
  static GPU_INLINE int at(int k) {
    return wave_of_thread() * (wave_size * Items) + k * wave_size + lane_of_thread();
  }
};

/// How many elements of a tile with the same digit stand before each. Afterwards shared.count has for each
/// wave those of the waves before it, and the thread's own digit (its number) occurs `total` times.
template <int Items, class Key>
GPU_INLINE void rank_tile(const Key (&keys)[Items], int shift, OrderShared& shared, unsigned (&rank)[Items],
                          unsigned& total) {
  const int wave = wave_of_thread(), lane = lane_of_thread();
#pragma unroll
  for (int w = 0; w < order_waves; ++w) shared.count[w][threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const int digit = digit_of(keys[k], shift);
    LaneSet peers = ~LaneSet(0) >> (8 * int(sizeof(LaneSet)) - wave_size);
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
      const bool set = (digit >> bit & 1) != 0;
      const LaneSet those = vote(set);
      peers &= set ? those : ~those;
    }
    const unsigned before = static_cast<unsigned>(count_of(peers & lanes_before(lane)));
    const unsigned seen = shared.count[wave][digit];
    wave_barrier();
    if (before == 0) shared.count[wave][digit] = seen + static_cast<unsigned>(count_of(peers));
    wave_barrier();
    rank[k] = seen + before;
  }
  __syncthreads();
  total = 0;
#pragma unroll
  for (int w = 0; w < order_waves; ++w) {
    const unsigned here = shared.count[w][threadIdx.x];
    shared.count[w][threadIdx.x] = total;
    total += here;
  }
}

struct Add {
  template <class T>
  GPU_INLINE T operator()(T a, T b) const {
    return a + b;
  }
};

/// Threads' numbers added up before each.
GPU_INLINE unsigned sum_before(unsigned mine, OrderShared& shared) {
  unsigned total;
  return scan_block<order_threads>(mine, total, shared.part, Add()) - mine;
}

/// Sorts one line that fits a tile: keys and numbers of its elements.
template <int Items, class Key>
GPU_INLINE void order_line(Key (&keys)[Items], int (&number)[Items], Int bits, OrderShared& shared,
                           Key* key_space, int* number_space) {
  for (int shift = 0; shift < bits; shift += 8) {
    unsigned rank[Items], total;
    rank_tile(keys, shift, shared, rank, total);
    const unsigned first = sum_before(total, shared);
    shared.first[threadIdx.x] = first;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const int digit = digit_of(keys[k], shift);
      const unsigned to = shared.first[digit] + shared.count[wave_of_thread()][digit] + rank[k];
      key_space[to] = keys[k];
      number_space[to] = number[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      keys[k] = key_space[Tile<Items>::at(k)];
      number[k] = number_space[Tile<Items>::at(k)];
    }
    __syncthreads();
  }
}

// What lies behind a line's end has the largest key and stays there.

template <int Items, class Key>
GPU_INLINE void read_keys(const Key* from, Int valid, Key (&keys)[Items]) {
#pragma unroll
  for (int k = 0; k < Items; ++k) keys[k] = Tile<Items>::at(k) < valid ? from[Tile<Items>::at(k)] : ~Key(0);
}

/// One block for each line, which fits a tile.
template <int Items, class Key>
GPU_INLINE void order_lines_of(const Key* keys, Key* sorted, int* order, const OrderShape& s) {
  GPU_SHARED(OrderShared, space, [1]);
  OrderShared& shared = space[0];
  GPU_SHARED(Key, key_space, [Tile<Items>::size]);
  GPU_SHARED(int, number_space, [Tile<Items>::size]);
  const Int line = blockIdx.x, base = line * s.length;
  Key mine[Items];
  int number[Items];
  read_keys(keys + base, s.length, mine);
#pragma unroll
  for (int k = 0; k < Items; ++k) number[k] = Tile<Items>::at(k);
  order_line(mine, number, s.bits, shared, key_space, number_space);
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const int to = Tile<Items>::at(k);
    if (to >= s.length) continue;
    sorted[base + to] = mine[k];
    order[base + to] = number[k];
  }
}

/// How often each digit occurs in each part: counts[line][digit][part].
template <class Key>
GPU_INLINE void count_digits_of(const Key* keys, unsigned* counts, const OrderShape& s) {
  GPU_SHARED(unsigned, count, [256]);
  const Int line = blockIdx.x / s.parts, part = blockIdx.x % s.parts;
  const Int begin = part * s.part_length;
  const Int end = begin + s.part_length < s.length ? begin + s.part_length : s.length;
  count[threadIdx.x] = 0;
  __syncthreads();
  for (Int i = begin + threadIdx.x; i < end; i += order_threads)
    atomicAdd(&count[digit_of(keys[line * s.length + i], int(s.shift))], 1u);
  __syncthreads();
  counts[(line * 256 + threadIdx.x) * s.parts + part] = count[threadIdx.x];
}

/// Counts become the sums of those before them in their line. One block for each line.
GPU_INLINE void sum_counts_of(unsigned* counts, const OrderShape& s) {
  GPU_SHARED(unsigned, part, [order_waves]);
  constexpr int items = 8;
  unsigned* const mine = counts + Int(blockIdx.x) * 256 * s.parts;
  unsigned before = 0;
  for (Int begin = 0; begin < 256 * s.parts; begin += order_threads * items) {
    unsigned value[items], sum = 0;
    const Int first = begin + Int(threadIdx.x) * items;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      value[k] = first + k < 256 * s.parts ? mine[first + k] : 0;
      sum += value[k];
    }
    unsigned total;
    unsigned at = before + scan_block<order_threads>(sum, total, &part[0], Add()) - sum;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (first + k < 256 * s.parts) mine[first + k] = at;
      at += value[k];
    }
    before += total;
  }
}

/// Moves the elements of each part to where the counts say. The first pass numbers them. A tile is put in
/// order in shared memory, so that neighbouring threads write runs of neighbouring places.
template <int Items, class Key>
GPU_INLINE void move_digits(const Key* keys, const int* numbers, const unsigned* counts, Key* keys_to,
                            int* numbers_to, const OrderShape& s) {
  GPU_SHARED(OrderShared, space, [1]);
  GPU_SHARED(Key, key_space, [Tile<Items>::size]);
  GPU_SHARED(int, number_space, [Tile<Items>::size]);
  OrderShared& shared = space[0];
  const int shift = int(s.shift);
  const Int line = blockIdx.x / s.parts, part = blockIdx.x % s.parts, base = line * s.length;
  const Int begin = part * s.part_length;
  const Int end = begin + s.part_length < s.length ? begin + s.part_length : s.length;
  unsigned next = counts[(line * 256 + threadIdx.x) * s.parts + part];
  for (Int tile = begin; tile < end; tile += Tile<Items>::size) {
    Key mine[Items];
    unsigned rank[Items], total;
    read_keys(keys + base + tile, end - tile, mine);
    rank_tile(mine, shift, shared, rank, total);
    const unsigned first = sum_before(total, shared);
    shared.first[threadIdx.x] = first;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const Int from = tile + Tile<Items>::at(k);
      const int digit = digit_of(mine[k], shift);
      const unsigned to = shared.first[digit] + shared.count[wave_of_thread()][digit] + rank[k];
      key_space[to] = mine[k];
      if (from < end) number_space[to] = s.shift > 0 ? numbers[base + from] : static_cast<int>(from);
    }
    __syncthreads();
    shared.first[threadIdx.x] = next - first;  // from a place in the tile to one in the line
    next += total;
    __syncthreads();
    const Int left = end - tile;
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const int at = int(threadIdx.x) + k * order_threads;
      if (at >= left) continue;  // what lies behind the line's end is last
      const Int to = base + static_cast<Int>(shared.first[digit_of(key_space[at], shift)] + unsigned(at));
      keys_to[to] = key_space[at];
      numbers_to[to] = number_space[at];
    }
    __syncthreads();
  }
}

}  // namespace tenon::gpu
