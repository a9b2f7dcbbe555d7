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
    if (!Mean || count < 2) return convert<T>(total);
    return convert<T>(divided(total, count));
  }

 private:
  static GPU_INLINE float divided(float total, Int count) { return total / static_cast<float>(count); }
  static GPU_INLINE double divided(double total, Int count) { return total / static_cast<double>(count); }
  static GPU_INLINE Int divided(Int total, Int count) { return scalar_detail::floor_div(total, count); }
};

/// Threads of a block: `Lanes` neighbours, each with `Vector` features, share a row; `Slots` of these share
/// the entries of a place.
template <class Fg, int Vector, int Lanes, int Slots>
struct PlacedFold {
  using T = typename Fg::Element;
  using C = typename Fg::Value;
  using Fold = typename Fg::Fold;
  using Acc = typename Fold::Acc;
  static constexpr int threads = 256;
  static constexpr int rows_at_once = threads / (Lanes * Slots);

  const PlacedShape& s;
  const int* starts;
  const int* rows;     // which row each entry takes
  const int* numbers;  // of the entries, which choose their weights; with weights only
  const T* values;
  const T* weights;
  Int outer, place, feature;
  int slot, valid;

  GPU_INLINE PlacedFold(const PlacedShape& shape, const int* starts_, const int* rows_, const int* numbers_,
                        const T* values_, const T* weights_)
      : s(shape), starts(starts_), rows(rows_), numbers(numbers_), values(values_), weights(weights_) {
    const Int chunks = (s.features + Vector * Lanes - 1) / (Vector * Lanes);
    const Int item = Int(blockIdx.x) * rows_at_once + threadIdx.x / (Lanes * Slots);
    const Int row = item / chunks, first = (item % chunks * Lanes + threadIdx.x % Lanes) * Vector;
    slot = int(threadIdx.x) / Lanes % Slots;
    outer = row / s.places;
    place = row % s.places;
    feature = first;
    const Int left = outer < s.outer ? s.features - first : 0;
    valid = left < 0 ? 0 : left < Vector ? int(left) : Vector;
  }

  GPU_INLINE static bool pieces(const T* at, Int stride, Int outer_stride) {
    return Vector > 1 && is_aligned<Vector>(at) && stride % Vector == 0 && outer_stride % Vector == 0;
  }

  template <bool Weighted>
  GPU_INLINE void fold(Int begin, Int end, Acc (&acc)[Vector]) const {
    const T* const from = values + outer * s.rows_outer + feature;
    const bool whole = pieces(values, s.rows_stride, s.rows_outer);
    const Int run = Weighted ? s.features / s.groups : 1;
#pragma unroll 4
    for (Int i = begin; i < end; ++i) {
      T element[Vector];
      read(from + rows[i] * s.rows_stride, whole, valid, element);
      const T* const weight = Weighted ? weights + numbers[i] * s.weights_stride : nullptr;
#pragma unroll
      for (int v = 0; v < Vector; ++v) {
        C value = convert<C>(element[v]);
        if (Weighted && v < valid)
          value = value * convert<C>(weight[s.groups == 1 ? 0 : (feature + v) / run]);
        Fold::fold(acc[v], value, i);
      }
    }
  }

  /// Folds of the slots into that of the first, in their order.
  GPU_INLINE void join_slots(Acc (&acc)[Vector]) const {
    if (Slots == 1) return;
    constexpr int shared_count = Slots == 1 ? 1 : threads;
    GPU_SHARED(Acc, part, [shared_count]);
    for (int v = 0; v < Vector; ++v)
      for (int step = 1; step < Slots; step *= 2) {
        part[threadIdx.x] = acc[v];
        __syncthreads();
        if (slot % (2 * step) == 0) acc[v] = Fold::combine(acc[v], part[threadIdx.x + step * Lanes]);
        __syncthreads();
      }
  }

  template <bool Weighted>
  GPU_INLINE void run(const T* x, T* y) {
    Int begin = 0, end = 0;
    if (valid > 0) {
      begin = starts[place];
      end = starts[place + 1];
    }
    const Int count = end - begin;
    if (count == 0 && x == y) valid = 0;  // it stands there
    T self[Vector] = {};
    if (slot == 0 && valid > 0)
      read(x + outer * s.x_outer + place * s.x_place + feature, pieces(x, s.x_place, s.x_outer), valid, self);
    Acc acc[Vector];
#pragma unroll
    for (int v = 0; v < Vector; ++v) {
      acc[v] = Fold::identity();
      if (slot == 0 && s.with_self) Fold::fold(acc[v], convert<C>(self[v]), 0);
    }
    if (Fg::last && count > 0) begin = end - 1;
    const Int share = Slots == 1 ? end - begin : (end - begin + Slots - 1) / Slots;
    const Int mine = begin + share * slot, after = mine + share;
    fold<Weighted>(mine, after < end ? after : end, acc);
    join_slots(acc);
    if (slot > 0 || valid == 0) return;
    T result[Vector];
#pragma unroll
    for (int v = 0; v < Vector; ++v)
      result[v] = count > 0 ? Fg::result(acc[v], count + (s.with_self ? 1 : 0)) : self[v];
    write(y + outer * s.y_outer + place * s.y_place + feature, pieces(y, s.y_place, s.y_outer), valid,
          result);
  }
};

}  // namespace tenon::gpu
