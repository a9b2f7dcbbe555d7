// Running folds along an axis: cumulative sums, products, extremes. Elements are seen as [outer, length,
// inner]. Where inner is 1, a wave or a block takes a row, four elements a thread; else a thread takes a
// column. Few long lines are cut into parts: their folds come first (fold_parts), and each part begins with
// those before it.
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"
#include "kernels/gpu/wave.gpu.h"

namespace tenon::gpu {

constexpr int scan_threads = 256;

struct ScanShape {
  Int outer, length, inner;
  Int parts, part_length;
  Int x_outer, x_stride, x_inner, y_outer, y_stride, y_inner;
};

// What runs: accumulators that combine, the earlier one first.

template <class C, class F>
struct Running {
  using Acc = typename F::Acc;
  using Result = C;
  static GPU_INLINE Acc identity() { return F::identity(); }
  static GPU_INLINE Acc of(C x, Int at) {
    Acc acc = F::identity();
    F::fold(acc, x, at);
    return acc;
  }
  static GPU_INLINE Acc combine(Acc a, Acc b) { return F::combine(a, b); }
  static GPU_INLINE C result(Acc acc) { return F::result(acc); }
};

template <class C>
struct RunningLogSumExp {
  using Acc = C;
  using Result = C;
  static GPU_INLINE Acc identity() { return lowest<C>(); }
  static GPU_INLINE Acc of(C x, Int) { return x; }
  static GPU_INLINE Acc combine(Acc a, Acc b) {
    if (a != a || b != b) return a + b;
    const C high = a > b ? a : b, low = a > b ? b : a;
    return low == high && isinf(high) ? high : high + log1p(exp(low - high));
  }
  static GPU_INLINE C result(Acc acc) { return acc; }
};

/// The best element so far and its place: of equal ones the last; NaN is better than every number.
template <class C, bool Largest>
struct RunningBest {
  struct Acc {
    C value;
    Int place;
  };
  using Result = C;
  static GPU_INLINE Acc identity() { return {C(0), -1}; }
  static GPU_INLINE Acc of(C x, Int at) { return {x, at}; }
  static GPU_INLINE Acc combine(Acc a, Acc b) {
    if (a.place < 0) return b;
    const bool better = Largest ? a.value > b.value : a.value < b.value;
    const bool keeps = b.place < 0 || (b.value == b.value && (a.value != a.value || better));
    return keeps ? a : b;
  }
  static GPU_INLINE C result(Acc acc) { return acc.value; }
};

template <class R>
struct Join {
  using Acc = typename R::Acc;
  GPU_INLINE Acc operator()(Acc a, Acc b) const { return R::combine(a, b); }
};

/// Where results go. `places` of running extremes only.
template <class T, bool Places>
struct ScanTarget {
  T* y;
  Int* places;
  template <class R>
  GPU_INLINE void put(Int at, typename R::Acc acc, R) const {
    y[at] = convert<T>(R::result(acc));
    put_place(at, acc);
  }

 private:
  template <class Acc>
  GPU_INLINE void put_place(Int at, const Acc& acc) const {
    if constexpr (Places) places[at] = acc.place;
  }
};

/// The part of a line that a group of threads or a thread walks.
struct ScanPart {
  Int line, part, begin, end;
  GPU_INLINE ScanPart(Int number, const ScanShape& s)
      : line(number / s.parts), part(number % s.parts), begin(part * s.part_length) {
    end = begin + s.part_length < s.length ? begin + s.part_length : s.length;
  }
};

template <class R, class T, bool Block>
struct RowScan {
  using Acc = typename R::Acc;
  using C = typename R::Result;
  static constexpr int items = 4;
  static constexpr int group = Block ? scan_threads : wave_size;

  const ScanShape& s;
  const T* x;
  ScanPart p;
  int thread;
  bool pieces;
  Acc* shared;

  GPU_INLINE RowScan(const T* x_, const ScanShape& shape, Acc* shared_)
      : s(shape),
        x(x_),
        p(Int(blockIdx.x) * (scan_threads / group) + threadIdx.x / group, shape),
        thread(int(threadIdx.x) % group),
        shared(shared_) {
    x += p.line * s.x_outer;
    pieces = s.x_stride == 1 && is_aligned<items>(x + p.begin);
  }
  GPU_INLINE bool exists() const { return p.line < s.outer; }

  /// Elements first .. first + items as running folds of their own; behind the end nothing is added.
  GPU_INLINE void read_items(Int first, Acc (&acc)[items]) const {
    const Int left = p.end - first;
    const int valid = left < 0 ? 0 : left < items ? int(left) : items;
    T element[items] = {};
    if (pieces && valid == items)
      read_pieces(x + first, element);
    else
      read_strided(x + first * s.x_stride, s.x_stride, valid, element);
#pragma unroll
    for (int k = 0; k < items; ++k) {
      acc[k] = k < valid ? R::of(convert<C>(element[k]), first + k) : R::identity();
      if (k > 0) acc[k] = R::combine(acc[k - 1], acc[k]);
    }
  }

  /// The fold of the threads before this one, and of all.
  GPU_INLINE Acc before(Acc mine, Acc& total) const {
    const Acc all = scan_wave(mine, Join<R>());
    const int lane = lane_of_thread();
    Acc acc = shuffle(all, lane > 0 ? lane - 1 : 0);
    if (lane == 0) acc = R::identity();
    total = shuffle(all, wave_size - 1);
    if (!Block) return acc;
    if (lane == 0) shared[wave_of_thread()] = total;
    __syncthreads();
    Acc waves = R::identity(), of_all = R::identity();
    for (int wave = 0; wave < scan_threads / wave_size; ++wave) {
      if (wave == wave_of_thread()) waves = of_all;
      of_all = R::combine(of_all, shared[wave]);
    }
    __syncthreads();
    total = of_all;
    return R::combine(waves, acc);
  }

  /// What comes before this part of the row. There are no more parts than threads in a block.
  GPU_INLINE Acc before_part_of(const Acc* totals) const {
    if (!Block || s.parts == 1) return R::identity();
    Acc total;
    before(thread < p.part ? totals[p.line * s.parts + thread] : R::identity(), total);
    return total;
  }

  GPU_INLINE void fold(Acc* totals) const {
    Acc acc = R::identity();
    for (Int begin = p.begin; begin < p.end; begin += group * items) {
      Acc mine[items], total;
      read_items(begin + thread * items, mine);
      before(mine[items - 1], total);
      acc = R::combine(acc, total);
    }
    if (thread == 0) totals[p.line * s.parts + p.part] = acc;
  }

  template <class Target>
  GPU_INLINE void scan(const Acc* totals, const Target& to) const {
    Acc carry = before_part_of(totals);
    for (Int begin = p.begin; begin < p.end; begin += group * items) {
      Acc mine[items], total;
      const Int first = begin + thread * items;
      read_items(first, mine);
      const Acc start = R::combine(carry, before(mine[items - 1], total));
#pragma unroll
      for (int k = 0; k < items; ++k)
        if (first + k < p.end)
          to.put(p.line * s.y_outer + (first + k) * s.y_stride, R::combine(start, mine[k]), R());
      carry = R::combine(carry, total);
    }
  }
};

template <class R, class T>
struct ColumnScan {
  using Acc = typename R::Acc;
  using C = typename R::Result;

  const ScanShape& s;
  ScanPart p;
  Int outer, inner;
  const T* x;

  /// Neighbours take neighbouring columns.
  GPU_INLINE ColumnScan(const T* x_, const ScanShape& shape) : s(shape), p(0, shape) {
    const Int number = Int(blockIdx.x) * scan_threads + threadIdx.x;
    inner = number % s.inner;
    outer = number / s.inner / s.parts;
    p = ScanPart(number / s.inner % s.parts, s);
    p.line = outer * s.inner + inner;
    x = x_ + outer * s.x_outer + inner * s.x_inner;
  }
  GPU_INLINE bool exists() const { return outer < s.outer; }

  GPU_INLINE void fold(Acc* totals) const {
    Acc acc = R::identity();
#pragma unroll 4
    for (Int i = p.begin; i < p.end; ++i) acc = R::combine(acc, R::of(convert<C>(x[i * s.x_stride]), i));
    totals[p.line * s.parts + p.part] = acc;
  }
  template <class Target>
  GPU_INLINE void scan(const Acc* totals, const Target& to) const {
    Acc acc = R::identity();
    for (Int i = 0; i < p.part; ++i) acc = R::combine(acc, totals[p.line * s.parts + i]);
#pragma unroll 4
    for (Int i = p.begin; i < p.end; ++i) {
      acc = R::combine(acc, R::of(convert<C>(x[i * s.x_stride]), i));
      to.put(outer * s.y_outer + inner * s.y_inner + i * s.y_stride, acc, R());
    }
  }
};

}  // namespace tenon::gpu
