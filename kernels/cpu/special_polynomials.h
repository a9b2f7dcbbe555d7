// Orthogonal polynomials by their recurrences, vectors of pairs (x, degree) at a time. Per-ISA code.
#pragma once
#include "kernels/cpu/simd_lanes.h"
#include "kernels/cpu/special_regions.h"

namespace tenon::cpu::TENON_ISA {

/// A larger degree is left.
inline constexpr double largest_vector_degree = 5000;

static TENON_INLINE double largest_lane(Lanes<double>::V v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_pd(reinterpret_cast<__m512d>(v));
#else
  double largest = v[0];
  for (long i = 1; i < Lanes<double>::count; i++) largest = v[i] > largest ? v[i] : largest;
  return largest;
#endif
}

/// p(0) = 1, p(1) = first(x), p(k + 1) = next(k, x, p(k), p(k - 1)) up to the number's degree; 0 for a degree
/// that is negative.
template <class First, class Next>
auto polynomials(First first, Next next) {
  return [=](const SpecialBlock& block) {
    using L = Lanes<double>;
    using V = L::V;
    constexpr long vectors = 4;
    for (long at = 0; at < block.count; at += vectors * L::count) {
      V x[vectors], degree[vectors], now[vectors], before[vectors], most{};
      TENON_UNROLL
      for (long i = 0; i < vectors; i++) {
        const long from = at + i * L::count < block.count ? at + i * L::count : at;
        x[i] = L::load(block.a + from), degree[i] = L::load(block.b + from);
        before[i] = V{} + 1, now[i] = first(x[i]);
        most = degree[i] > most ? degree[i] : most;
      }
      const double largest = largest_lane(most);
      for (double k = 1; k + 1 <= largest; k += 1) {
        TENON_UNROLL
        for (long i = 0; i < vectors; i++) {
          const V after = next(k, x[i], now[i], before[i]);
          before[i] = now[i];
          now[i] = degree[i] >= k + 1 ? after : now[i];
        }
      }
      TENON_UNROLL
      for (long i = 0; i < vectors; i++) {
        const V found = degree[i] >= 1 ? now[i] : V{} + 1;
        if (at + i * L::count < block.count)
          L::store(block.out + at + i * L::count, degree[i] > -1 ? found : V{});
      }
    }
  };
}

/// Of degrees that are no number or large, and of values that are not finite, the places are what is left.
template <class First, class Next>
long by_degree(const SpecialPiece& p, First first, Next next) {
  const auto code = polynomials(first, next);
  long large = 0, left = 0;
  for (long i = 0; i < p.count; i++) large += p.b[i] < largest_vector_degree ? 0 : 1;
  if (large == 0)
    code(whole_block(p));
  else
    left = by_region(
        p, [](double, double degree) { return degree < largest_vector_degree ? 0.0 : 1.0; }, code);
  long others = 0;
  for (long i = 0; i < p.count; i++) others += p.out[i] - p.out[i] == 0 ? 0 : 1;
  if (others == 0) return left;
  for (long i = 0; i < p.count; i++)
    if (p.b[i] < largest_vector_degree && p.out[i] - p.out[i] != 0) p.left[left++] = i;
  return left;
}
/// The kinds of Chebyshev polynomials share a recurrence.
template <bool shifted, class First>
long chebyshev(const SpecialPiece& p, First first) {
  return by_degree(
      p, [=](auto x) { return first(shifted ? 2 * x - 1 : x); },
      [](double, auto x, auto now, auto before) { return 2 * (shifted ? 2 * x - 1 : x) * now - before; });
}

}  // namespace tenon::cpu::TENON_ISA
