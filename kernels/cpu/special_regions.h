// The numbers of a piece, told apart by the region of a function's domain that they lie in: those of a region
// are computed together, without branches. Per-ISA code.
#pragma once
#include <array>

#include "kernels/cpu/simd.h"
#include "kernels/cpu/special.h"

namespace tenon::cpu::TENON_ISA {

/// A number of pairs that is whole vectors: loops leave no rest. What fills it up is one of the pairs.
inline constexpr long special_lanes = special_padding;
struct SpecialBlock {
  double* out;
  const double *a, *b;
  long count;
  double least;
};

/// All numbers of a piece.
static TENON_INLINE SpecialBlock whole_block(const SpecialPiece& p) {
  const long padded = (p.count + special_lanes - 1) / special_lanes * special_lanes;
  return {p.out, p.a, p.b, padded, p.least};
}

/// f of every number (or pair).
template <class F>
auto each(F f) {
  return [f](const SpecialBlock& block) __attribute__((flatten)) {
    const double* __restrict a = block.a;
    const double* __restrict b = block.b;
    double* __restrict out = block.out;
    const long vectors = block.count / special_lanes;
    for (long i = 0; i < vectors * special_lanes; i++) {
      if constexpr (requires { f(0.0, 0.0); })
        out[i] = f(a[i], b[i]);
      else
        out[i] = f(a[i]);
    }
  };
}
/// In a region without results.
inline constexpr auto no_number = [](double) { return __builtin_nan(""); };

/// Numbers whose region is r, one behind the other; returns how many.
static TENON_INLINE long take_region(double* to, const double* from, const double* region, double r,
                                     long count) {
  long taken = 0;
#if defined(__AVX512F__)
  for (long i = 0; i < count; i += 8) {
    const __mmask8 is_there = _mm512_cmp_pd_mask(_mm512_loadu_pd(region + i), _mm512_set1_pd(r), _CMP_EQ_OQ);
    _mm512_storeu_pd(to + taken, _mm512_maskz_compress_pd(is_there, _mm512_loadu_pd(from + i)));
    taken += __builtin_popcount(is_there);
  }
#else
  for (long i = 0; i < count; i++) {
    to[taken] = from[i];
    taken += region[i] == r ? 1 : 0;
  }
#endif
  return taken;
}
/// Puts them back where they were.
static TENON_INLINE void put_region(double* to, const double* from, const double* region, double r,
                                    long count) {
  long taken = 0;
#if defined(__AVX512F__)
  for (long i = 0; i < count; i += 8) {
    const __mmask8 is_there = _mm512_cmp_pd_mask(_mm512_loadu_pd(region + i), _mm512_set1_pd(r), _CMP_EQ_OQ);
    const __m512d next = _mm512_loadu_pd(from + taken), before = _mm512_loadu_pd(to + i);
    _mm512_storeu_pd(to + i, _mm512_mask_expand_pd(before, is_there, next));
    taken += __builtin_popcount(is_there);
  }
#else
  for (long i = 0; i < count; i++) {
    to[i] = region[i] == r ? from[taken] : to[i];
    taken += region[i] == r ? 1 : 0;
  }
#endif
}

/// region_of gives each number (or pair) the place of its code, or that behind the last code: these have
/// none, and their places are what is left. Code of one number may get any other, too, whose result does not
/// count; code of pairs, which may loop, gets those of its region alone.
template <class RegionOf, class... Code>
long by_region(const SpecialPiece& p, RegionOf region_of, const Code&... code) {
  constexpr std::size_t regions = sizeof...(Code);
  constexpr bool has_pairs = requires { region_of(0.0, 0.0); };
  using Numbers = double[special_piece_size + special_lanes];
  alignas(64) Numbers region;
  const long padded = (p.count + special_lanes - 1) / special_lanes * special_lanes;
  for (long i = 0; i < padded / special_lanes * special_lanes; i++) {
    if constexpr (has_pairs)
      region[i] = region_of(p.a[i], p.b[i]);
    else
      region[i] = region_of(p.a[i]);
  }
  for (long i = p.count; i < padded; i++) region[i] = -1;
  std::array<long, regions> sizes{};
  std::size_t largest = 0;
  long inside = 0;
  for (std::size_t r = 0; r < regions && inside < p.count; r++) {
    long size = 0;
    for (long i = 0; i < padded / special_lanes * special_lanes; i++)
      size += region[i] == static_cast<double>(r) ? 1 : 0;
    sizes[r] = size;
    inside += size;
    largest = size > sizes[largest] ? r : largest;
  }
  // What most numbers take, all of them take, but not pairs.
  const bool has_most = has_pairs ? sizes[largest] == p.count : 2 * sizes[largest] > p.count;
  const auto run_most = [&](std::size_t r, const auto& f) {
    if (has_most && r == largest) f(whole_block(p));
  };
  const auto run_others = [&](std::size_t r, const auto& f) {
    const long size = sizes[r];
    if (size == 0 || (has_most && r == largest)) return;
    alignas(64) Numbers a, b, out;
    const auto take = [&](double* to, const double* from) {
      take_region(to, from, region, static_cast<double>(r), padded);
      for (long i = 0; i < special_lanes; i++) to[size + i] = to[0];
    };
    take(a, p.a);
    if (has_pairs) take(b, p.b);
    const long whole = (size + special_lanes - 1) / special_lanes * special_lanes;
    f(SpecialBlock{out, a, b, whole, p.least});
    put_region(p.out, out, region, static_cast<double>(r), padded);
  };
  const auto run_all = [&]<std::size_t... R>(std::index_sequence<R...>) {
    (run_most(R, code), ...);
    (run_others(R, code), ...);
  };
  run_all(std::make_index_sequence<regions>{});
  long left = 0;
  if (inside < p.count)
    for (long i = 0; i < p.count; i++) {
      p.left[left] = i;
      left += region[i] == static_cast<double>(regions) ? 1 : 0;
    }
  return left;
}

}  // namespace tenon::cpu::TENON_ISA
