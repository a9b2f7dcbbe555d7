// Pairs of elements, as the parts of complex numbers, taken apart and put together. Built once per ISA.
#pragma once
#include <utility>

#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

template <class T>
struct PairLanes {
  using Vector [[gnu::vector_size(VL * 4)]] = T;
  using Memory [[gnu::vector_size(VL * 4), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  static constexpr int count = VL * 4 / static_cast<int>(sizeof(T));

  static TENON_INLINE Vector load(const T* from) { return *reinterpret_cast<const Memory*>(from); }
  static TENON_INLINE void store(T* to, Vector v) { *reinterpret_cast<Memory*>(to) = v; }
};

/// first[i] = pairs[2 * i], second[i] = pairs[2 * i + 1]
template <class T>
[[gnu::noinline]] void part_pairs(const T* pairs, T* first, T* second, long count) {
  using P = PairLanes<T>;
  long i = 0;
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    for (; i + P::count <= count; i += P::count) {
      const auto low = P::load(pairs + 2 * i), high = P::load(pairs + 2 * i + P::count);
      P::store(first + i, __builtin_shufflevector(low, high, (2 * I)...));
      P::store(second + i, __builtin_shufflevector(low, high, (2 * I + 1)...));
    }
  }
  (std::make_integer_sequence<int, P::count>{});
  for (; i < count; i++) {
    first[i] = pairs[2 * i];
    second[i] = pairs[2 * i + 1];
  }
}

/// pairs[2 * i] = first[i], pairs[2 * i + 1] = second[i]
template <class T>
[[gnu::noinline]] void join_pairs(const T* first, const T* second, T* pairs, long count) {
  using P = PairLanes<T>;
  long i = 0;
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    constexpr int half = P::count / 2;
    for (; i + P::count <= count; i += P::count) {
      const auto a = P::load(first + i), b = P::load(second + i);
      P::store(pairs + 2 * i, __builtin_shufflevector(a, b, (I / 2 + I % 2 * P::count)...));
      P::store(pairs + 2 * i + P::count, __builtin_shufflevector(a, b, (half + I / 2 + I % 2 * P::count)...));
    }
  }
  (std::make_integer_sequence<int, P::count>{});
  for (; i < count; i++) {
    pairs[2 * i] = first[i];
    pairs[2 * i + 1] = second[i];
  }
}

}  // namespace tenon::cpu::TENON_ISA
