// The maximum of a pooling window and its place: channels side by side in plain loops, which the compiler
// turns into vector code. Built once per ISA.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/pool.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class T, long Count>
TENON_INLINE void places_of_window(const PoolWindow& w, long c) {
  using Number = std::conditional_t<std::is_same_v<T, double>, std::int64_t, std::int32_t>;
  T best[Count];
  Number taken[Count];  // the pixel's number in the window
  const auto* const in = static_cast<const T*>(w.in) + c;
  for (long i = 0; i < Count; i++) best[i] = in[i], taken[i] = 0;
  Number number = 0;
  for (long z = 0; z < w.counts[0]; z++) {
    for (long y = 0; y < w.counts[1]; y++) {
      const T* p = in + z * w.strides[0] + y * w.strides[1];
      for (long x = 0; x < w.counts[2]; x++, p += w.strides[2], number++) {
        for (long i = 0; i < Count; i++) {
          const bool wins = int(p[i] > best[i]) | int(p[i] != p[i]);
          best[i] = wins ? p[i] : best[i];
          taken[i] = wins ? number : taken[i];
        }
      }
    }
  }
  auto* const out = static_cast<T*>(w.out) + c;
  const auto rows = static_cast<Number>(w.counts[1]), columns = static_cast<Number>(w.counts[2]);
  for (long i = 0; i < Count; i++) {
    out[i] = best[i];
    const Number row = taken[i] / columns;
    w.places[c + i] = w.place + row / rows * w.place_steps[0] + row % rows * w.place_steps[1] +
                      taken[i] % columns * w.place_steps[2];
  }
}

template <class T>
void places_of_window(const PoolWindow& w, long channels) {
  if (w.counts[0] * w.counts[1] * w.counts[2] == 0) {
    std::fill_n(static_cast<T*>(w.out), channels, -std::numeric_limits<T>::infinity());
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
  w.type == DType::f64 ? places_of_window<double>(w, channels) : places_of_window<float>(w, channels);
}

}  // namespace tenon::cpu::TENON_ISA
