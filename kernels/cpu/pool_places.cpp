// The maximum of a pooling window and its place: channels side by side in plain loops, which the compiler
// turns into vector code. Built once per ISA.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/channel_pieces.h"
#include "kernels/cpu/pool.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class T, long Bytes>
using Vector [[gnu::vector_size(Bytes), gnu::aligned(1), gnu::may_alias]] = T;

/// Distances lie beside the elements, which are as wide: in 32 bits at least.
template <class T, long Count>
TENON_INLINE void places_of_window(const PoolWindow& w, long c) {
  using Number = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using Held = std::conditional_t<sizeof(T) < 4, std::int32_t, T>;
  constexpr long most = VL * 4 / static_cast<long>(sizeof(Held)), lanes = Count < most ? Count : most;
  constexpr long vectors = Count / lanes, bytes = lanes * static_cast<long>(sizeof(Held));
  using Elements = Vector<Held, bytes>;
  using Numbers = Vector<Number, bytes>;
  const auto load = [](const T* p) __attribute__((always_inline)) {
    return __builtin_convertvector((*reinterpret_cast<const Vector<T, lanes * sizeof(T)>*>(p)), Elements);
  };
  Elements best[vectors];
  Numbers taken[vectors] = {};  // the pixel's distance from the first one of the window
  const auto* const in = static_cast<const T*>(w.in) + c;
  TENON_UNROLL
  for (long v = 0; v < vectors; v++) best[v] = load(in + v * lanes);
  for (long z = 0; z < w.counts[0]; z++) {
    for (long y = 0; y < w.counts[1]; y++) {
      const T* p = in + z * w.strides[0] + y * w.strides[1];
      long place = z * w.place_steps[0] + y * w.place_steps[1];
      for (long x = 0; x < w.counts[2]; x++, p += w.strides[2], place += w.place_steps[2]) {
        const Numbers here = static_cast<Number>(place) - Numbers{};
        TENON_UNROLL
        for (long v = 0; v < vectors; v++) {
          const Elements next = load(p + v * lanes);
          const Numbers wins = (next > best[v]) | (next != next);
          best[v] = wins ? next : best[v];
          taken[v] = wins ? here : taken[v];
        }
      }
    }
  }
  auto* const out = static_cast<T*>(w.out) + c;
  for (long i = 0; i < Count; i++) out[i] = static_cast<T>(best[i / lanes][i % lanes]);
  for (long i = 0; i < Count; i++) w.places[c + i] = w.place + taken[i / lanes][i % lanes];
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
  in_channel_pieces<4 * VL>(
      channels, [&](auto piece, long c)
                    __attribute__((always_inline)) { places_of_window<T, piece.count>(w, c); });
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
