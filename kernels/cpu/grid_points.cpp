// Where a vector of points looks, then the pixels there, channel by channel. Built once per ISA.
#include "kernels/cpu/grid_points.h"

#include "kernels/cpu/math_rounding.h"
#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

using cpu::TENON_ISA::vfloor;
using cpu::TENON_ISA::vround;
typedef Lanes<double>::V vd;

static TENON_INLINE vd vfloor(vd x) {
  TENON_UNROLL
  for (long i = 0; i < Lanes<double>::count; i++) x[i] = __builtin_floor(x[i]);
  return x;
}
static TENON_INLINE vd vround(vd x) {
  TENON_UNROLL
  for (long i = 0; i < Lanes<double>::count; i++) x[i] = __builtin_nearbyint(x[i]);
  return x;
}

/// Along one axis, the pixels that a vector of points is made of, and their weights.
template <class T>
struct Taps {
  using V = typename Lanes<T>::V;
  V place[4];
  V weight[4];
};

/// An axis of the image.
template <class T>
struct Axis {
  using V = typename Lanes<T>::V;
  const GridSample<T>& sample;
  T size;

  TENON_INLINE V place(V grid) const {
    return sample.align_corners ? (grid + T(1)) / T(2) * (size - T(1)) : ((grid + T(1)) * size - T(1)) / T(2);
  }

  /// Mirrored at the centres of the border's pixels or at their outer edges.
  TENON_INLINE V mirrored(V place) const {
    const T low = sample.align_corners ? T(0) : T(-0.5), span = sample.align_corners ? size - T(1) : size;
    if (span == 0) return V{};
    const V moved = place - low, from_low = moved < T(0) ? -moved : moved;
    const V flips = vfloor(from_low / span), rest = from_low - flips * span, half = flips * T(0.5);
    return vfloor(half) == half ? rest + low : span - rest + low;
  }

  TENON_INLINE V inside(V place) const {
    if (sample.outside == GridOutside::zeros) return place;
    const V p = sample.outside == GridOutside::reflection ? mirrored(place) : place;
    const V last = V{} + (size - T(1)),
            positive = p > T(0) ? p : V{};  // of no number the first pixel, as in PyTorch
    return positive < last ? positive : last;
  }

  TENON_INLINE Taps<T> taps(V grid) const {
    Taps<T> t;
    if (sample.mode == GridMode::cubic) {
      const V at = place(grid), before = vfloor(at), d = at - before;
      TENON_UNROLL
      for (int i = 0; i < 4; i++) t.place[i] = inside(before + T(i - 1));
      t.weight[0] = far(d + T(1));
      t.weight[1] = near(d);
      t.weight[2] = near(T(1) - d);
      t.weight[3] = far(T(2) - d);
      return t;
    }
    const V at = inside(place(grid));
    if (sample.mode == GridMode::nearest) {
      t.place[0] = vround(at);
      t.weight[0] = V{} + T(1);
      return t;
    }
    t.place[0] = vfloor(at);
    t.place[1] = t.place[0] + T(1);
    t.weight[0] = t.place[1] - at;
    t.weight[1] = at - t.place[0];
    return t;
  }

 private:
  /// Keys' weights, of pixels less than 1 and less than 2 away.
  static constexpr T a = T(-0.75);
  static TENON_INLINE V near(V d) { return (d * (a + T(2)) - (a + T(3))) * d * d + T(1); }
  static TENON_INLINE V far(V d) { return ((d * a - T(5) * a) * d + T(8) * a) * d - T(4) * a; }
};

/// Of a vector of points the pixels that they are made of, and their weights; a pixel outside is -1.
template <class T>
struct Pixels {
  T number[16][Lanes<T>::count];
  T weight[16][Lanes<T>::count];
};

template <class T, int Along>
TENON_INLINE void find_pixels(const GridSample<T>& s, typename Lanes<T>::V grid_x,
                              typename Lanes<T>::V grid_y, Pixels<T>& found) {
  using V = typename Lanes<T>::V;
  const Axis<T> columns{s, static_cast<T>(s.width)}, rows{s, static_cast<T>(s.height)};
  const Taps<T> x = columns.taps(grid_x), y = rows.taps(grid_y);
  TENON_UNROLL
  for (int i = 0; i < Along; i++) {
    TENON_UNROLL
    for (int j = 0; j < Along; j++) {
      const V row = y.place[i], column = x.place[j];
      const auto is_inside = (column >= T(0)) & (column < columns.size) & (row >= T(0)) & (row < rows.size);
      Lanes<T>::store(found.number[i * Along + j], is_inside ? row * columns.size + column : V{} - T(1));
      Lanes<T>::store(found.weight[i * Along + j], x.weight[j] * y.weight[i]);
    }
  }
}

/// Of one point, all channels.
template <class T, int Along>
TENON_INLINE void sum_pixels(const GridPoints<T>& p, const Pixels<T>& at, int point, T* y) {
  using L = Lanes<T>;
  constexpr int count = Along * Along;
  const long channels = p.sample->channels;
  const T* const end = p.y + p.count * channels;
  const T* pixel[count];
  TENON_UNROLL
  for (int c = 0; c < count; c++) {
    const T number = at.number[c][point];
    pixel[c] = number < 0 ? p.zeros : p.image + static_cast<long>(number) * channels;
  }
  for (long i = 0; i < channels; i += L::count) {
    const long n = channels - i < L::count ? channels - i : L::count;
    typename L::V sum = L::load_first(pixel[0] + i, n);
    if constexpr (count > 1) {
      sum *= at.weight[0][point];
      TENON_UNROLL
      for (int c = 1; c < count; c++) sum += L::load_first(pixel[c] + i, n) * at.weight[c][point];
    }
    if (y + i + L::count <= end)  // what lies behind the channels is still to be written
      L::store(y + i, sum);
    else
      L::store_first(y + i, sum, n);
  }
}

template <class T, int Along>
void sample_with(const GridPoints<T>& p) {
  using L = Lanes<T>;
  Pixels<T> at;
  for (long first = 0; first < p.count; first += L::count) {
    const long n = p.count - first < L::count ? p.count - first : L::count;
    typename L::V x{}, y{};
    for (long i = 0; i < n; i++) {
      x[i] = p.places[2 * (first + i)];
      y[i] = p.places[2 * (first + i) + 1];
    }
    find_pixels<T, Along>(*p.sample, x, y, at);
    for (int i = 0; i < n; i++) sum_pixels<T, Along>(p, at, i, p.y + (first + i) * p.sample->channels);
  }
}

template <class T>
void sample_points(const GridPoints<T>& p) {
  switch (p.sample->mode) {
    case GridMode::nearest: return sample_with<T, 1>(p);
    case GridMode::linear: return sample_with<T, 2>(p);
    case GridMode::cubic: return sample_with<T, 4>(p);
  }
}

}  // namespace

void sample_grid_points_f32(const GridPoints<float>& p) { sample_points(p); }
void sample_grid_points_f64(const GridPoints<double>& p) { sample_points(p); }

}  // namespace tenon::cpu::TENON_ISA
