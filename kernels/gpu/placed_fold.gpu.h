// Folds rows into the places that their entries name: sums of rows by index, scatter, sparse products. The
// entries of a place are folded in their order.
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"

namespace tenon::gpu {

/// The result has [outer, places] rows of `features`. Strides count elements; those of features are 1.
struct PlacedShape {
  Int outer, places, features;
  Int x_outer, x_place, y_outer, y_place, rows_outer, rows_stride;
  Int with_self;               // fold x, too, where a place has entries
  Int weights_stride, groups;  // weights of an entry: one for each of so many equal runs of its features
};

/// The last one.
template <class T>
struct FoldLast : OfValues<T> {
  static GPU_INLINE T identity() { return T(); }
  static GPU_INLINE void fold(T& acc, T x, Int) { acc = x; }
  static GPU_INLINE T combine(T, T b) { return b; }
};

/// What several folds have in common: elements of T are computed with as C.
template <class T, class C, class F, bool Mean = false, bool Last = false>
struct Folding {
  using Element = T;
  using Value = C;
  using Fold = F;
  static constexpr bool last = Last;
  static GPU_INLINE T result(typename F::Acc acc, Int count) {
    const C total = F::result(acc);
    if constexpr (Mean)
      if (count > 1) return convert<T>(divided(total, count));
    return convert<T>(total);
  }

 private:
  static GPU_INLINE float divided(float total, Int count) { return total / static_cast<float>(count); }
  static GPU_INLINE double divided(double total, Int count) { return total / static_cast<double>(count); }
  static GPU_INLINE Int divided(Int total, Int count) { return scalar_detail::floor_div(total, count); }
};

/// Threads of a block: `Lanes` neighbours, each with `Vector` features, are a group, which takes a row;
/// `Slots` groups share the entries of a place. All groups of a block share those of a place that has far
/// more than others, as hubs of a graph have. Shares are runs of entries, joined in their order.
template <class Fg, int Vector, int Lanes, int Slots, bool Weighted>
struct PlacedFold {
  using T = typename Fg::Element;
  using C = typename Fg::Value;
  using Fold = typename Fg::Fold;
  using Acc = typename Fold::Acc;
  static constexpr int threads = 256;
  static constexpr int groups = threads / Lanes;
  static constexpr int rows_at_once = groups / Slots;
  static constexpr Int many = 512;  // entries
  static constexpr bool shares_many = Slots == 1 && groups > 1 && !Fg::last;

  const PlacedShape& s;
  const int* starts;
  const int* rows;     // which row each entry takes
  const int* numbers;  // of the entries, which choose their weights
  const T* values;
  const T* weights;
  const T* x;
  T* y;

  /// Of a thread: some features of a row of the result, and the entries of its place.
  struct Item {
    Int outer, place, feature, begin, end;
    int valid;
    GPU_INLINE Int count() const { return end - begin; }
  };
  GPU_INLINE Item item(int row_of_block) const {
    const Int chunks = (s.features + Vector * Lanes - 1) / (Vector * Lanes);
    const Int number = Int(blockIdx.x) * rows_at_once + row_of_block, row = number / chunks;
    Item i{row / s.places, row % s.places, (number % chunks * Lanes + threadIdx.x % Lanes) * Vector, 0, 0, 0};
    if (i.outer >= s.outer) return i;
    i.begin = starts[i.place];
    i.end = starts[i.place + 1];
    const Int left = s.features - i.feature;
    i.valid = left < 0 ? 0 : left < Vector ? int(left) : Vector;
    if (i.count() == 0 && x == y) i.valid = 0;  // it stands there
    return i;
  }

  GPU_INLINE static bool pieces(const T* at, Int stride, Int outer_stride) {
    return Vector > 1 && is_aligned<Vector>(at) && stride % Vector == 0 && outer_stride % Vector == 0;
  }

  GPU_INLINE void fold(const Item& item, Int begin, Int end, Acc (&acc)[Vector]) const {
    const T* const from = values + item.outer * s.rows_outer + item.feature;
    const bool whole = pieces(values, s.rows_stride, s.rows_outer);
    const Int run = Weighted ? s.features / s.groups : 1;
#pragma unroll 4
    for (Int i = begin; i < end; ++i) {
      T element[Vector];
      read(from + rows[i] * s.rows_stride, whole, item.valid, element);
      const T* const weight = Weighted ? weights + numbers[i] * s.weights_stride : nullptr;
#pragma unroll
      for (int v = 0; v < Vector; ++v) {
        C value = convert<C>(element[v]);
        if (Weighted && v < item.valid)
          value = value * convert<C>(weight[s.groups == 1 ? 0 : (item.feature + v) / run]);
        Fold::fold(acc[v], value, i);
      }
    }
  }

  /// Folds of `Shares` groups into that of the first, in their order.
  template <int Shares>
  GPU_INLINE static void join(int share, Acc (&acc)[Vector]) {
    if (Shares == 1) return;
    GPU_SHARED(Acc, part, [threads]);
    for (int v = 0; v < Vector; ++v)
      for (int step = 1; step < Shares; step *= 2) {
        part[threadIdx.x] = acc[v];
        __syncthreads();
        if (share % (2 * step) == 0) acc[v] = Fold::combine(acc[v], part[threadIdx.x + step * Lanes]);
        __syncthreads();
      }
  }

  /// One of `Shares` groups that compute the item. All threads of the block take part where there are
  /// several.
  template <int Shares>
  GPU_INLINE void compute(const Item& i, int share) const {
    T self[Vector] = {};
    if (share == 0 && i.valid > 0)
      read(x + i.outer * s.x_outer + i.place * s.x_place + i.feature, pieces(x, s.x_place, s.x_outer),
           i.valid, self);
    Acc acc[Vector];
#pragma unroll
    for (int v = 0; v < Vector; ++v) {
      acc[v] = Fold::identity();
      if (share == 0 && s.with_self) Fold::fold(acc[v], convert<C>(self[v]), 0);
    }
    const Int begin = Fg::last && i.count() > 0 ? i.end - 1 : i.begin;
    const Int length = Shares == 1 ? i.end - begin : (i.end - begin + Shares - 1) / Shares;
    const Int first = begin + length * share, after = first + length;
    if (i.valid > 0) fold(i, first, after < i.end ? after : i.end, acc);
    join<Shares>(share, acc);
    if (share > 0 || i.valid == 0) return;
    T result[Vector];
#pragma unroll
    for (int v = 0; v < Vector; ++v)
      result[v] = i.count() > 0 ? Fg::result(acc[v], i.count() + (s.with_self ? 1 : 0)) : self[v];
    write(y + i.outer * s.y_outer + i.place * s.y_place + i.feature, pieces(y, s.y_place, s.y_outer), i.valid,
          result);
  }

  GPU_INLINE void run() const {
    const int group = int(threadIdx.x) / Lanes;
    const Item mine = item(group / Slots);
    const bool has_many = shares_many && mine.count() > many;
    if (!has_many) compute<Slots>(mine, group % Slots);
    if constexpr (shares_many) share_many(group, has_many);
  }

 private:
  GPU_INLINE void share_many(int group, bool has_many) const {
    GPU_SHARED(unsigned, waits, [groups + 1]);  // the last: how many do
    const bool is_first = threadIdx.x % Lanes == 0;
    if (threadIdx.x == 0) waits[groups] = 0;
    if (is_first) waits[group] = has_many;
    __syncthreads();
    if (is_first && has_many) atomicAdd(&waits[groups], 1u);
    __syncthreads();
    if (!waits[groups]) return;
    for (int g = 0; g < groups; ++g)
      if (waits[g]) compute<groups>(item(g), group);
  }
};

}  // namespace tenon::gpu
