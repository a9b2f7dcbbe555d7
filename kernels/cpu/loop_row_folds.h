// Folds of rows on vectors: several chains, so that latency does not count, then a few, then one element
// after the other. The order, and so the result, of floats is the same for all ISAs. Part of
// loop_ops_reduce.cpp.
#pragma once
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/fold.h"
#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// The larger one of two (the smaller one); b where one is NaN.
template <Reduce R, class Number, class V>
TENON_INLINE V extreme_or_b(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<Number, double> && sizeof(V) == 64)
    return reinterpret_cast<V>(
        R == Reduce::max ? _mm512_max_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b))
                         : _mm512_min_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b)));
#endif
#if defined(__AVX2__)
  if constexpr (std::is_same_v<Number, double> && sizeof(V) == 32)
    return reinterpret_cast<V>(
        R == Reduce::max ? _mm256_max_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b))
                         : _mm256_min_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b)));
#endif
  return (R == Reduce::max ? a > b : a < b) ? a : b;
}

/// Of numbers or vectors of them. NaN stays.
template <Reduce R, class Number, class V>
TENON_INLINE V folded(V a, V b) {
  if constexpr (R == Reduce::sum) return a + b;
  if constexpr (R == Reduce::prod) return a * b;
  constexpr bool is_integer = std::is_integral_v<Number>;  // which have an instruction for this form
  if constexpr (R == Reduce::max && is_integer) return a > b ? a : b;
  if constexpr (R == Reduce::min && is_integer) return a < b ? a : b;
  if constexpr ((R == Reduce::max || R == Reduce::min) && !is_integer)
    return a != a ? a : extreme_or_b<R, Number>(a, b);
  if constexpr (R == Reduce::any) return a | b;
  if constexpr (R == Reduce::all) return a & b;
}

/// What a chain holds of accumulators of type Acc: sums and products of integers wrap around.
template <Reduce R, class Acc>
struct ChainOf {
  using type = Acc;
};
template <Reduce R, class Acc>
requires(std::is_integral_v<Acc> && (R == Reduce::sum || R == Reduce::prod)) struct ChainOf<R, Acc> {
  using type = std::make_unsigned_t<Acc>;
};

template <int distance, class V, int... I>
TENON_INLINE V rotated(V v, LaneList<I...>) {
  return __builtin_shufflevector(v, v, ((I + distance) % static_cast<int>(sizeof...(I)))...);
}
/// All lanes, in vectors to the end: pairs, as far apart as there are `left` of them.
template <Reduce R, class Number, int left, class V>
TENON_INLINE Number fold_lanes(V v) {
  if constexpr (left == 1) {
    return v[0];
  } else {
    constexpr int lanes = sizeof(V) / sizeof(Number);
    v = folded<R, Number>(v, rotated<left / 2>(v, typename MakeLaneList<lanes>::type{}));
    if constexpr (sizeof(V) <= 16) {
      return fold_lanes<R, Number, left / 2>(v);
    } else {
      typedef Number Half __attribute__((vector_size(sizeof(V) / 2)));
      Half half;
      std::memcpy(&half, &v, sizeof half);
      return fold_lanes<R, Number, left / 2>(half);
    }
  }
}

/// So many chains, in vectors of this ISA: g++ takes larger ones apart. Floats that are widened are converted
/// in 32 bytes as fast as in 64.
template <class Number, int count, bool Widens = false>
struct Chains {
  static constexpr int bytes = Widens && VL > 8 ? 32 : VL * 4;
  static constexpr int most = bytes / static_cast<int>(sizeof(Number));
  static constexpr int lanes = count < most ? count : most, vectors = count / lanes;
  typedef Number V __attribute__((vector_size(lanes * sizeof(Number))));
  V parts[vectors];

  explicit TENON_INLINE Chains(Number identity) {
    TENON_UNROLL
    for (int i = 0; i < vectors; i++) parts[i] = V{} + identity;
  }
  template <Reduce R, class Row>
  TENON_INLINE void fold(const Row& row, long c) {
    TENON_UNROLL
    for (int i = 0; i < vectors; i++)
      parts[i] = folded<R, Number>(parts[i], row.template at<V>(c + static_cast<long>(i) * lanes));
  }
  /// All of them in one vector: pairs, as far apart as there are chains left.
  template <Reduce R>
  TENON_INLINE V in_one_vector() {
    TENON_UNROLL
    for (int half = vectors / 2; half > 0; half /= 2) {
      TENON_UNROLL
      for (int i = 0; i < half; i++) parts[i] = folded<R, Number>(parts[i], parts[i + half]);
    }
    return parts[0];
  }
};

/// Vectors a and b, pairs of whose lanes, `half` apart, are folded: those of a where the lanes' index lacks
/// this bit, else those of b.
template <Reduce R, class Number, int half, class V, int... I>
TENON_INLINE V fold_pairs(V a, V b, LaneList<I...>) {
  constexpr int lanes = sizeof...(I);
  return folded<R, Number, V>(__builtin_shufflevector(a, b, ((I & half) ? lanes + I - half : I)...),
                              __builtin_shufflevector(a, b, ((I & half) ? lanes + I : I + half)...));
}
/// As many vectors as one has lanes: lane i of the result is what fold_lanes gives of the i-th.
template <Reduce R, class Number, int left, class V>
TENON_INLINE V fold_lanes_of_rows(V* rows) {
  if constexpr (left == 1) {
    return rows[0];
  } else {
    constexpr int lanes = sizeof(V) / sizeof(Number), half = left / 2;
    TENON_UNROLL
    for (int i = 0; i < half; i++)
      rows[i] = fold_pairs<R, Number, half>(rows[i], rows[i + half], typename MakeLaneList<lanes>::type{});
    return fold_lanes_of_rows<R, Number, half>(rows);
  }
}

/// Elements as the numbers of a vector: g++ 12 converts its halves.
template <class V, class T>
TENON_INLINE V widened(const T* p) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && std::is_same_v<T, float>)
    return reinterpret_cast<V>(_mm512_cvtps_pd(_mm256_loadu_ps(p)));
  if constexpr (sizeof(V) == 64 && std::is_same_v<T, std::int32_t>)
    return reinterpret_cast<V>(
        _mm512_cvtepi32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && std::is_same_v<T, float>)
    return reinterpret_cast<V>(_mm256_cvtps_pd(_mm_loadu_ps(p)));
  if constexpr (sizeof(V) == 32 && std::is_same_v<T, std::int32_t>)
    return reinterpret_cast<V>(_mm256_cvtepi32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#endif
  typedef T Elements __attribute__((vector_size(sizeof(V) / 8 * sizeof(T))));
  Elements elements;
  std::memcpy(&elements, p, sizeof elements);
  return __builtin_convertvector(elements, V);
}

/// What is folded of a row: its elements, their squares, those of what they differ from a shift, or their
/// products with the elements of another row.
enum class Folded { elements, squares, squared_differences, products };

/// Of a row of elements of type T, as numbers.
template <class T, class Number, Folded what = Folded::elements>
struct FoldedRow {
  const T* data;
  const T* others = nullptr;
  Number shift = 0;

  template <class V>
  TENON_INLINE V at(long c) const {
    const V v = loaded<V>(data + c);
    if constexpr (what == Folded::squares) return product(v, v);
    if constexpr (what == Folded::squared_differences) return product(v - shift, v - shift);
    if constexpr (what == Folded::products) return product(v, loaded<V>(others + c));
    return v;
  }

 private:
  template <class V>
  static TENON_INLINE V loaded(const T* p) {
    if constexpr (std::is_same_v<V, Number>) {
      return static_cast<Number>(*p);
    } else if constexpr (sizeof(T) == sizeof(Number)) {
      V v;
      std::memcpy(&v, p, sizeof v);
      return v;
    } else {
      return widened<V>(p);
    }
  }
  template <class V>
  static TENON_INLINE V product(V a, V b) {
    if constexpr (std::is_same_v<V, Number>)
      return static_cast<V>(Number{1} * 1u * a * b);  // not of ints, which short numbers become
    else
      return a * b;
  }
};

/// Folds elements of a row from c on, as many as fill the chains, and says where it ended.
template <Reduce R, int count, bool Widens, class Number, class Row>
TENON_INLINE long fold_chains(Number& acc, const Row& row, long c, long cols, Number identity) {
  if (cols - c < count) return c;
  using All = Chains<Number, count, Widens>;
  All chains(identity);
  for (; c + count <= cols; c += count) chains.template fold<R>(row, c);
  acc = folded<R, Number>(acc, fold_lanes<R, Number, All::lanes>(chains.template in_one_vector<R>()));
  return c;
}
/// The same of as many rows as the vector of `count` chains has lanes.
template <Reduce R, int count, class Number, class Acc, class RowOf>
TENON_INLINE long fold_chains_of_rows(Acc* acc, RowOf row_of, long cols, Number identity) {
  using V = typename Chains<Number, count>::V;
  static_assert(Chains<Number, count>::vectors == 1);
  V rows[count];
  TENON_UNROLL
  for (int i = 0; i < count; i++) rows[i] = V{} + identity;
  long c = 0;
  for (; c + count <= cols; c += count) {
    TENON_UNROLL
    for (int i = 0; i < count; i++) rows[i] = folded<R, Number>(rows[i], row_of(i).template at<V>(c));
  }
  V all;
  std::memcpy(&all, acc, sizeof all);
  all = folded<R, Number>(all, fold_lanes_of_rows<R, Number, count>(rows));
  std::memcpy(acc, &all, sizeof all);
  return c;
}

/// in[1] holds the shifts, one a row, or the rows of the other factors. Of each row, `many` chains, where
/// that leaves some over `few`, then one element after the other.
template <Reduce R, class T, Folded what = Folded::elements, class K = Fold<R, T>>
void fold_rows_on_vectors(void* accumulators, const OpArgs& args, long) {
  using Acc = typename K::Acc;
  using Number = typename ChainOf<R, Acc>::type;
  constexpr int line = 16 / static_cast<int>(sizeof(Number));
  // Integers fold in any order: as many as registers hold.
  constexpr int many =
      std::is_same_v<T, std::int64_t> ? 2 * VL : std::max(128 / static_cast<int>(sizeof(T)), 32);
  constexpr int few = std::max(line, 4);
  constexpr bool widens = std::is_same_v<T, float> && sizeof(Number) > sizeof(T);
  const auto identity = static_cast<Number>(K::identity());
  const OpArgs tile = args;  // what is written may not lie here
  auto* const all = static_cast<Acc*>(accumulators);
  const auto row_of = [&](long r) __attribute__((always_inline)) {
    FoldedRow<T, Number, what> row{static_cast<const T*>(tile.in[0]) + r * tile.in_pitch[0]};
    if constexpr (what == Folded::products)
      row.others = static_cast<const T*>(tile.in[1]) + r * tile.in_pitch[1];
    if constexpr (what == Folded::squared_differences)
      row.shift = static_cast<const Number*>(tile.in[1])[r * tile.in_pitch[1]];
    return row;
  };
  long r = 0;
  if constexpr (sizeof(Number) >= 4 && Chains<Number, few>::vectors == 1) {
    if (tile.cols < many)
      for (; r + few <= tile.rows; r += few) {
        const auto row = [&](long i) __attribute__((always_inline)) { return row_of(r + i); };
        const long first = fold_chains_of_rows<R, few, Number>(all + r, row, tile.cols, identity);
        for (long i = 0; i < few; ++i)
          for (long c = first; c < tile.cols; ++c)
            all[r + i] = static_cast<Acc>(
                folded<R, Number>(static_cast<Number>(all[r + i]), row(i).template at<Number>(c)));
      }
  }
  for (; r < tile.rows; ++r) {
    const auto row = row_of(r);
    auto acc = static_cast<Number>(all[r]);
    long c = fold_chains<R, many, widens>(acc, row, 0, tile.cols, identity);
    c = fold_chains<R, few, widens>(acc, row, c, tile.cols, identity);
    for (; c < tile.cols; ++c) acc = folded<R, Number>(acc, row.template at<Number>(c));
    all[r] = static_cast<Acc>(acc);
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
