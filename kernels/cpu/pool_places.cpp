// The maximum of a pooling window and its place: channels side by side in plain loops, which the compiler
// turns into vector code. Built once per ISA.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/pool.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Numbers of pixels lie beside the elements, which are as wide: in 32 bits at least.
template <class T, long Count>
TENON_INLINE void places_of_window(const PoolWindow& w, long c) {
  using Number = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using Held = std::conditional_t<sizeof(T) < 4, std::int32_t, T>;
  Held best[Count];
  Number taken[Count];  // the pixel's number in the window
  const auto* const in = static_cast<const T*>(w.in) + c;
  for (long i = 0; i < Count; i++) best[i] = in[i], taken[i] = 0;
  Number number = 0;
  for (long z = 0; z < w.counts[0]; z++) {
    for (long y = 0; y < w.counts[1]; y++) {
      const T* p = in + z * w.strides[0] + y * w.strides[1];
      for (long x = 0; x < w.counts[2]; x++, p += w.strides[2], number++) {
        for (long i = 0; i < Count; i++) {
          const Held next = p[i];
          const bool wins = int(next > best[i]) | int(next != next);
          best[i] = wins ? next : best[i];
          taken[i] = wins ? number : taken[i];
        }
      }
    }
  }
  auto* const out = static_cast<T*>(w.out) + c;
  const auto rows = static_cast<Number>(w.counts[1]), columns = static_cast<Number>(w.counts[2]);
  for (long i = 0; i < Count; i++) {
    out[i] = static_cast<T>(best[i]);
    const Number row = taken[i] / columns;
    w.places[c + i] = w.place + row / rows * w.place_steps[0] + row % rows * w.place_steps[1] +
                      taken[i] % columns * w.place_steps[2];
  }
}

template <class T>
void places_of_window(const PoolWindow& w, long channels) {
  if (w.counts[0] * w.counts[1] * w.counts[2] == 0) {
    T none;
    if constexpr (std::is_integral_v<T>)
      none = no_integer<T>(w.type);
    else
      none = -std::numeric_limits<T>::infinity();
    std::fill_n(static_cast<T*>(w.out), channels, none);
    std::fill_n(w.places, channels, -1);
    return;
  }
  constexpr long count = 4 * VL;
  long c = 0;
  for (; c + count <= channels; c += count) places_of_window<T, count>(w, c);
  for (; c < channels; c++) places_of_window<T, 1>(w, c);
}

}  // namespace

void place_of_maximum(const PoolWindow& w, long channels) {
  switch (w.type) {
    case DType::boolean:
    case DType::u8: return places_of_window<std::uint8_t>(w, channels);
    case DType::i8: return places_of_window<std::int8_t>(w, channels);
    case DType::u16: return places_of_window<std::uint16_t>(w, channels);
    case DType::i16: return places_of_window<std::int16_t>(w, channels);
    case DType::u32: return places_of_window<std::uint32_t>(w, channels);
    case DType::i32: return places_of_window<std::int32_t>(w, channels);
    case DType::u64: return places_of_window<std::uint64_t>(w, channels);
    case DType::i64: return places_of_window<std::int64_t>(w, channels);
    case DType::f64: return places_of_window<double>(w, channels);
    default: return places_of_window<float>(w, channels);
  }
}

}  // namespace tenon::cpu::TENON_ISA
