// One pooling window: vectors over channels, several of them at once so that sums overlap. Built once per
// ISA.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/cpu/channel_pieces.h"
#include "kernels/cpu/pool.h"
#include "kernels/cpu/simd_half.h"
#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

using vd = Lanes<double>::V;

struct Max {
  static constexpr double first = -__builtin_inf();
  static TENON_INLINE vf step(vf a, vf b) { return max(a, b); }
  static TENON_INLINE vd step(vd a, vd b) { return (b > a) | (b != b) ? b : a; }
  template <class V, class Number>
  static TENON_INLINE V last(V v, Number) {
    return v;
  }
};
struct Mean {
  static constexpr double first = 0;
  template <class V>
  static TENON_INLINE V step(V a, V b) {
    return a + b;
  }
  template <class V, class Number>
  static TENON_INLINE V last(V v, Number scale) {
    return v * scale;
  }
};

struct Floats {
  using Element = float;
  using Number = float;
  static constexpr int count = VL;
  static TENON_INLINE vf all(float x) { return broadcast(x); }
  static TENON_INLINE vf load(const float* p, int lanes) { return load_lanes(p, lanes); }
  static TENON_INLINE void store(float* p, vf v, int lanes) { store_lanes(p, v, lanes); }
};
struct Doubles {
  using Element = double;
  using Number = double;
  static constexpr int count = Lanes<double>::count;
  static TENON_INLINE vd all(double x) { return vd{} + x; }
  static TENON_INLINE vd load(const double* p, int lanes) { return Lanes<double>::load_first(p, lanes); }
  static TENON_INLINE void store(double* p, vd v, int lanes) { Lanes<double>::store_first(p, v, lanes); }
};
struct Bfloats {
  using Element = std::uint16_t;
  using Number = float;
  static constexpr int count = VL;
  static TENON_INLINE vf all(float x) { return broadcast(x); }
  static TENON_INLINE vf load(const std::uint16_t* p, int lanes) { return BF16::widen(load_lanes(p, lanes)); }
  static TENON_INLINE void store(std::uint16_t* p, vf v, int lanes) {
    store_lanes(p, BF16::narrow(v), lanes);
  }
};

template <class Op, class Memory, int Vectors, bool Whole>
TENON_INLINE void channels_of_window(const PoolWindow& w, long c, int last_lanes) {
  constexpr int width = Memory::count;
  const int lanes = Whole ? width : last_lanes;
  decltype(Memory::all(0)) v[Vectors];
  TENON_UNROLL
  for (int i = 0; i < Vectors; i++) v[i] = Memory::all(static_cast<typename Memory::Number>(Op::first));
  for (long z = 0; z < w.counts[0]; z++) {
    for (long y = 0; y < w.counts[1]; y++) {
      const auto* p =
          static_cast<const typename Memory::Element*>(w.in) + z * w.strides[0] + y * w.strides[1] + c;
      for (long x = 0; x < w.counts[2]; x++, p += w.strides[2]) {
        TENON_UNROLL
        for (int i = 0; i < Vectors; i++) v[i] = Op::step(v[i], Memory::load(p + i * width, lanes));
      }
    }
  }
  TENON_UNROLL
  for (int i = 0; i < Vectors; i++) {
    auto* const out = static_cast<typename Memory::Element*>(w.out) + c + i * width;
    Memory::store(out, Op::last(v[i], static_cast<typename Memory::Number>(w.scale)), lanes);
  }
}

template <class F>
TENON_INLINE void each_window(PoolWindow w, F f) {
  for (long i = 0; i < w.windows; i++) {
    f(w);
    w.in = static_cast<const std::byte*>(w.in) + w.in_step;
    w.out = static_cast<std::byte*>(w.out) + w.out_step;
  }
}

template <class Op, class Memory>
TENON_INLINE void window_of(const PoolWindow& w, long channels) {
  constexpr int width = Memory::count;
  long c = 0;
  for (; c + 4 * width <= channels; c += 4 * width) channels_of_window<Op, Memory, 4, true>(w, c, width);
  for (; c + 2 * width <= channels; c += 2 * width) channels_of_window<Op, Memory, 2, true>(w, c, width);
  for (; c + width <= channels; c += width) channels_of_window<Op, Memory, 1, true>(w, c, width);
  if (c < channels) channels_of_window<Op, Memory, 1, false>(w, c, static_cast<int>(channels - c));
}

// Plain loops, which the compiler turns into vector code.
template <class T, long Count>
TENON_INLINE void integers_of_window(const PoolWindow& w, long c) {
  T v[Count];
  for (long i = 0; i < Count; i++) v[i] = std::numeric_limits<T>::lowest();
  for (long z = 0; z < w.counts[0]; z++) {
    for (long y = 0; y < w.counts[1]; y++) {
      const auto* p = static_cast<const T*>(w.in) + z * w.strides[0] + y * w.strides[1] + c;
      for (long x = 0; x < w.counts[2]; x++, p += w.strides[2])
        for (long i = 0; i < Count; i++) v[i] = p[i] > v[i] ? p[i] : v[i];
    }
  }
  auto* const out = static_cast<T*>(w.out) + c;
  for (long i = 0; i < Count; i++) out[i] = v[i];
}
template <class T>
TENON_INLINE void integers_of_channels(const PoolWindow& w, long channels) {
  if (w.counts[0] * w.counts[1] * w.counts[2] == 0)
    return void(std::fill_n(static_cast<T*>(w.out), channels, no_integer<T>(w.type)));
  constexpr long most = sizeof(T) == 8 ? 2 * VL : 4 * VL;
  in_channel_pieces<most>(
      channels, [&](auto piece, long c)
                    __attribute__((always_inline)) { integers_of_window<T, piece.count>(w, c); });
}

// Those that reach beyond the row one by one. Of the others vectors find the windows at every place, of which
// each stride-th one is wanted.
template <class Memory>
void row_windows(const RowWindows& w) {
  using T = typename Memory::Element;
  constexpr long width = Memory::count;
  const auto* from = static_cast<const T*>(w.in);
  auto* out = static_cast<T*>(w.out);
  const long reach = (w.kernel - 1) * w.dilation;
  const auto one_by_one = [&](long begin, long end) {
    for (long o = begin; o < end; o++) {
      auto v = static_cast<T>(Max::first);
      for (long at = o * w.stride; at <= o * w.stride + reach; at += w.dilation) {
        if (at < w.begin || at >= w.end) continue;
        const T x = from[at];
        v = int(x > v) | int(x != x) ? x : v;
      }
      out[o] = v;
    }
  };
  long begin = w.begin > 0 ? (w.begin + w.stride - 1) / w.stride : 0;
  long end = w.end > reach ? (w.end - reach - 1) / w.stride + 1 : 0;
  if (begin > w.count) begin = w.count;
  if (end > w.count) end = w.count;
  const long places = (end - begin - 1) * w.stride + 1;
  const bool in_vectors = places >= width;
  if (!in_vectors) begin = end = w.count;
  T best[most_of_row_windows];
  for (long row = 0; row < w.rows; row++, from += w.in_stride, out += w.out_stride) {
    one_by_one(0, begin);
    one_by_one(end, w.count);
    for (long next = 0; in_vectors && next < places; next += width) {
      const long i = next + width <= places ? next : places - width;
      const T* const p = from + begin * w.stride + i;
      auto v = Memory::load(p, width);
      for (long k = 1; k < w.kernel; k++) v = Max::step(v, Memory::load(p + k * w.dilation, width));
      Memory::store(best + i, v, width);
    }
    for (long o = begin; o < end; o++) out[o] = best[(o - begin) * w.stride];
  }
}

template <class T>
void max_of_integers(const PoolWindow& windows, long channels) {
  each_window(windows, [=](const PoolWindow& w) { integers_of_channels<T>(w, channels); });
}

template <class Op, class Memory>
void windows_of(const PoolWindow& windows, long channels) {
  each_window(windows, [=](const PoolWindow& w) { window_of<Op, Memory>(w, channels); });
}
template <class Op>
void window(const PoolWindow& w, long channels) {
  switch (w.type) {
    case DType::f64: return windows_of<Op, Doubles>(w, channels);
    case DType::bf16: return windows_of<Op, Bfloats>(w, channels);
    default: return windows_of<Op, Floats>(w, channels);
  }
}

}  // namespace

void max_of_window(const PoolWindow& w, long channels) {
  switch (w.type) {
    case DType::boolean:
    case DType::u8: return max_of_integers<std::uint8_t>(w, channels);
    case DType::i8: return max_of_integers<std::int8_t>(w, channels);
    case DType::u16: return max_of_integers<std::uint16_t>(w, channels);
    case DType::i16: return max_of_integers<std::int16_t>(w, channels);
    case DType::u32: return max_of_integers<std::uint32_t>(w, channels);
    case DType::i32: return max_of_integers<std::int32_t>(w, channels);
    case DType::u64: return max_of_integers<std::uint64_t>(w, channels);
    case DType::i64: return max_of_integers<std::int64_t>(w, channels);
    default: return window<Max>(w, channels);
  }
}
void mean_of_window(const PoolWindow& w, long channels) { window<Mean>(w, channels); }
void max_of_row_windows(const RowWindows& w) {
  w.type == DType::f64 ? row_windows<Doubles>(w) : row_windows<Floats>(w);
}

}  // namespace tenon::cpu::TENON_ISA
