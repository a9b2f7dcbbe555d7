// Sorts values along an axis, and finds the first few, through keys: unsigned integers in the order of the
// values, NaN behind every number (descending: before), -0 as 0. Equal values keep their order. Elements are
// seen as [outer, length, inner].
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"
#include "kernels/gpu/order.gpu.h"

namespace tenon::gpu {

struct SortShape {
  Int lines, length, count, inner;  // count: how many of each line are wanted
  Int x_outer, x_stride, x_inner, y_outer, y_stride, y_inner;
};

template <bool Descending, class Key>
GPU_INLINE Key directed(Key key) {
  return Descending ? static_cast<Key>(~key) : key;
}
/// The order of floats from their bits.
template <class Key>
GPU_INLINE Key of_float(Key bits, bool is_nan, bool is_zero) {
  constexpr Key sign = Key(1) << (8 * sizeof(Key) - 1);
  if (is_nan) return static_cast<Key>(~Key(0));
  if (is_zero) return sign;
  return static_cast<Key>(bits & sign ? ~bits : bits | sign);
}
GPU_INLINE unsigned short key_of(half x) { return of_float(x.bits, number(x) != number(x), number(x) == 0); }
GPU_INLINE unsigned short key_of(bfloat16 x) {
  return of_float(x.bits, number(x) != number(x), number(x) == 0);
}
template <int Mantissa, int Bias, unsigned Largest, unsigned Beyond, unsigned Nan>
GPU_INLINE unsigned char key_of(float8<Mantissa, Bias, Largest, Beyond, Nan> x) {
  return of_float(x.bits, number(x) != number(x), number(x) == 0);
}
GPU_INLINE unsigned key_of(float x) { return of_float(bits_as<unsigned>(x), x != x, x == 0); }
GPU_INLINE Bits key_of(double x) { return of_float(bits_as<Bits>(x), x != x, x == 0); }
GPU_INLINE unsigned char key_of(bool x) { return x ? 1 : 0; }
GPU_INLINE unsigned char key_of(unsigned char x) { return x; }
GPU_INLINE unsigned char key_of(signed char x) { return static_cast<unsigned char>(x ^ 0x80); }
GPU_INLINE unsigned short key_of(unsigned short x) { return x; }
GPU_INLINE unsigned short key_of(short x) { return static_cast<unsigned short>(x ^ 0x8000); }
GPU_INLINE unsigned key_of(unsigned x) { return x; }
GPU_INLINE unsigned key_of(int x) { return static_cast<unsigned>(x) ^ 0x80000000u; }
GPU_INLINE Bits key_of(Bits x) { return x; }
GPU_INLINE Bits key_of(Int x) { return raw(x) ^ Bits(1) << 63; }

/// One line of values and results.
template <class T, class Key, bool Descending>
struct SortLine {
  GPU_INLINE SortLine(const T* x_, T* values_, Int* places_, const SortShape& shape, Int line) : s(shape) {
    const Int outer = line / s.inner, inner = line % s.inner;
    x = x_ + outer * s.x_outer + inner * s.x_inner;
    values = values_ + outer * s.y_outer + inner * s.y_inner;
    places = places_ + outer * s.y_outer + inner * s.y_inner;
  }
  GPU_INLINE Key key(Int i) const {
    return static_cast<Key>(directed<Descending>(key_of(x[i * s.x_stride])));
  }
  /// Element `from` stands at place `to` of the order.
  GPU_INLINE void put(Int to, Int from) const {
    if (to >= s.count) return;
    values[to * s.y_stride] = x[from * s.x_stride];
    places[to * s.y_stride] = from;
  }

  const SortShape& s;
  const T* x;
  T* values;
  Int* places;
};

/// Short lines: `Width` threads for each, a power of two. A thread counts what stands before its element.
template <class Line, int Width, class Key, class T>
GPU_INLINE void sort_short(const T* x, T* values, Int* places, const SortShape& s) {
  GPU_SHARED(Key, keys, [order_threads]);
  const Int line = Int(blockIdx.x) * (order_threads / Width) + threadIdx.x / Width;
  const int i = int(threadIdx.x) % Width;
  const Line at(x, values, places, s, line < s.lines ? line : 0);
  const bool exists = line < s.lines && i < s.length;
  const Key mine = exists ? at.key(i) : Key(0);
  keys[threadIdx.x] = mine;
  __syncthreads();
  if (!exists) return;
  const Key* const all = keys + (threadIdx.x - i);
  int rank = 0;
#pragma unroll 4
  for (int k = 0; k < int(s.length); ++k) rank += all[k] < mine || (all[k] == mine && k < i) ? 1 : 0;
  at.put(rank, i);
}

template <int Items, class Line, class Key>
GPU_INLINE void put_line(const Line& line, const Key (&)[Items], const int (&number)[Items], Int count) {
#pragma unroll
  for (int k = 0; k < Items; ++k)
    if (Tile<Items>::at(k) < count) line.put(Tile<Items>::at(k), number[k]);
}

/// Lines that fit a tile: one block for each.
template <class Line, int Items, class Key, class T>
GPU_INLINE void sort_block(const T* x, T* values, Int* places, const SortShape& s, Int bits) {
  GPU_SHARED(OrderShared, space, [1]);
  GPU_SHARED(Key, key_space, [Tile<Items>::size]);
  GPU_SHARED(int, number_space, [Tile<Items>::size]);
  const Line line(x, values, places, s, blockIdx.x);
  Key keys[Items];
  int number[Items];
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    number[k] = Tile<Items>::at(k);
    keys[k] = number[k] < s.length ? line.key(number[k]) : static_cast<Key>(~Key(0));
  }
  order_line(keys, number, bits, space[0], key_space, number_space);
  put_line(line, keys, number, s.length);
}

struct Taken {
  int before, level;  // elements before the last one wanted, and equal to it
};
struct AddTaken {
  GPU_INLINE Taken operator()(Taken a, Taken b) const { return {a.before + b.before, a.level + b.level}; }
};

/// The key of the last element wanted. `wanted` becomes how many of the elements with this key are.
template <class Line, class Key>
GPU_INLINE Key select_key(const Line& line, Int bits, int& wanted, OrderShared& shared) {
  GPU_SHARED(int, found, [2]);
  Key prefix = 0, fixed = 0;
  for (int shift = (int(bits) + 7) / 8 * 8 - 8; shift >= 0; shift -= 8) {
    shared.first[threadIdx.x] = 0;
    __syncthreads();
    for (Int i = threadIdx.x; i < line.s.length; i += order_threads) {
      const Key key = line.key(i);
      if ((key & fixed) == prefix) atomicAdd(&shared.first[digit_of(key, shift)], 1u);
    }
    __syncthreads();
    const unsigned mine = shared.first[threadIdx.x];
    const unsigned before = sum_before(mine, shared);
    if (before < unsigned(wanted) && unsigned(wanted) <= before + mine) {
      found[0] = int(threadIdx.x);
      found[1] = wanted - int(before);
    }
    __syncthreads();
    prefix |= static_cast<Key>(found[0]) << shift;
    fixed |= static_cast<Key>(255) << shift;
    wanted = found[1];
    __syncthreads();
  }
  return prefix;
}

/// The first `count` of a long line, which fit a tile: a block selects them, then sorts them.
template <class Key, int Items, class Line>
GPU_INLINE void sort_first_of(const Line& line, Int bits) {
  const auto& s = line.s;
  GPU_SHARED(OrderShared, space, [1]);
  GPU_SHARED(Key, key_space, [Tile<Items>::size]);
  GPU_SHARED(int, number_space, [Tile<Items>::size]);
  GPU_SHARED(Taken, part, [order_waves]);
  OrderShared& shared = space[0];
  int wanted = int(s.count);
  const Key last = select_key<Line, Key>(line, bits, wanted, shared);
  Taken done{0, 0};
  for (Int begin = 0; begin < s.length; begin += order_threads) {
    const Int i = begin + threadIdx.x;
    const Key key = i < s.length ? line.key(i) : Key(0);
    const bool before = i < s.length && key < last, level = i < s.length && key == last;
    Taken total;
    const Taken up_to = scan_block<order_threads>(Taken{before, level}, total, &part[0], AddTaken());
    const int levels = done.level + up_to.level, befores = done.before + up_to.before;
    if (before || (level && levels <= wanted)) {
      const int to = befores + (levels < wanted ? levels : wanted) - 1;
      key_space[to] = key;
      number_space[to] = int(i);
    }
    done = AddTaken()(done, total);
  }
  __syncthreads();
  Key keys[Items];
  int number[Items];
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const int at = Tile<Items>::at(k);
    keys[k] = at < s.count ? key_space[at] : static_cast<Key>(~Key(0));
    number[k] = at < s.count ? number_space[at] : 0;
  }
  __syncthreads();
  order_line(keys, number, bits, shared, key_space, number_space);
  put_line(line, keys, number, s.count);
}
template <class Line, int Items, class Key, class T>
GPU_INLINE void sort_first(const T* x, T* values, Int* places, const SortShape& s, Int bits) {
  sort_first_of<Key, Items>(Line(x, values, places, s, blockIdx.x), bits);
}

/// Few lines are divided among blocks: each takes the first of a part of a line, a second kernel the first of
/// all those. Equal ones stand in the order of their places in both.
struct SortParts {
  Int parts;
};
template <class Line, class Key>
struct PartOfLine {
  GPU_INLINE Key key(Int i) const { return line.key(first + i); }
  GPU_INLINE void put(Int to, Int from) const {
    if (to < s.count) places[to] = int(first + from);
  }
  SortShape s;  // of the part
  const Line& line;
  Int first;
  int* places;
};
template <class Line, class Key>
struct FirstOfParts {
  GPU_INLINE Key key(Int i) const { return line.key(places[i]); }
  GPU_INLINE void put(Int to, Int from) const {
    if (to < s.count) line.put(to, places[from]);
  }
  SortShape s;  // of what the parts found
  const Line& line;
  const int* places;
};

template <class Line, int Items, class Key, class T>
GPU_INLINE void sort_first_of_part(const T* x, int* places, const SortShape& s, const SortParts& p,
                                   Int bits) {
  const Int number = blockIdx.x / p.parts, part = blockIdx.x % p.parts;
  const Int first = s.length * part / p.parts, end = s.length * (part + 1) / p.parts;
  const Line line(x, nullptr, nullptr, s, number);
  SortShape shape = s;
  shape.length = end - first;
  const PartOfLine<Line, Key> mine{shape, line, first, places + Int(blockIdx.x) * s.count};
  sort_first_of<Key, Items>(mine, bits);
}
template <class Line, int Items, class Key, class T>
GPU_INLINE void sort_first_of_parts(const T* x, const int* places, T* values, Int* result, const SortShape& s,
                                    const SortParts& p, Int bits) {
  const Line line(x, values, result, s, blockIdx.x);
  SortShape shape = s;
  shape.length = p.parts * s.count;
  const FirstOfParts<Line, Key> all{shape, line, places + Int(blockIdx.x) * shape.length};
  sort_first_of<Key, Items>(all, bits);
}

/// Longer lines: their keys, which order.gpu.h sorts, and what is made of their order. A thread for each
/// element.
template <class Line, class Key, class T>
GPU_INLINE void make_keys_of(const T* x, Key* keys, const SortShape& s) {
  const Int at = Int(blockIdx.x) * order_threads + threadIdx.x;
  if (at >= s.lines * s.length) return;
  keys[at] = Line(x, nullptr, nullptr, s, at / s.length).key(at % s.length);
}
template <class Line, class T>
GPU_INLINE void put_ordered_of(const T* x, const int* order, T* values, Int* places, const SortShape& s) {
  const Int at = Int(blockIdx.x) * order_threads + threadIdx.x;
  if (at >= s.lines * s.count) return;
  const Int line = at / s.count, to = at % s.count;
  Line(x, values, places, s, line).put(to, order[line * s.length + to]);
}

/// The most frequent value of each line, of several the smallest, and its last place: from keys in order. A
/// block for each line. NaN equals nothing.
template <class Line, class Key, class T>
GPU_INLINE void put_mode_of(const T* x, const Key* keys, const int* order, T* values, Int* places,
                            const SortShape& s) {
  using Fold = Position<Int, true>;
  GPU_SHARED(Fold::Acc, part, [order_waves]);
  const Int base = Int(blockIdx.x) * s.length;
  const Line line(x, values, places, s, blockIdx.x);
  Fold::Acc best = Fold::identity();
  for (Int i = threadIdx.x; i < s.length; i += order_threads) {
    const Key key = keys[base + i];
    Int low = 0, high = i;
    while (low < high) {
      const Int middle = (low + high) / 2;
      if (keys[base + middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
    const T value = line.x[order[base + i] * s.x_stride];
    Fold::fold(best, number(value) == number(value) ? i - low + 1 : 1, i);
  }
  best = over_block<Fold, order_threads>(best, &part[0]);
  if (threadIdx.x == 0) line.put(0, order[base + best.index]);
}

/// Where values would be put into sorted lines (the last axis): before equal elements, or behind them. A
/// thread for each value.
struct SearchShape {
  Int count, length, per_line;  // values; elements of a line; values for each line
};
template <bool Right, class T>
GPU_INLINE void search_line(const T* lines, const T* values, Int* places, const SearchShape& s) {
  const Int at = Int(blockIdx.x) * order_threads + threadIdx.x;
  if (at >= s.count) return;
  const T* const line = lines + at / s.per_line * s.length;
  const auto value = number(values[at]);
  Int low = 0, high = s.length;
  while (low < high) {
    const Int middle = (low + high) / 2;
    const auto there = number(line[middle]);
    if (Right ? there > value : there >= value)
      high = middle;
    else
      low = middle + 1;
  }
  places[at] = low;
}

}  // namespace tenon::gpu
