// Where a vector of points looks, then the pixels there, channel by channel. Built once per ISA.
#include "kernels/cpu/grid_points.h"

#include "kernels/cpu/math_rounding.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr int corners = 4;

/// The places of VL points along an axis.
static TENON_INLINE vf places_along(const GridSample& s, vf grid, float size) {
  return s.align_corners ? (grid + 1.0f) / 2.0f * (size - 1.0f) : ((grid + 1.0f) * size - 1.0f) / 2.0f;
}

/// Mirrored at the centres of the border's pixels or at their outer edges.
static TENON_INLINE vf mirrored(const GridSample& s, vf place, float size) {
  const float low = s.align_corners ? 0.0f : -0.5f, span = s.align_corners ? size - 1.0f : size;
  if (span == 0.0f) return vf{};
  const vf from_low = vabs(place - low), flips = vfloor(from_low / span), rest = from_low - flips * span;
  const vf half = flips * 0.5f;
  return vfloor(half) == half ? rest + low : span - rest + low;
}

static TENON_INLINE vf inside(const GridSample& s, vf place, float size) {
  if (s.outside == GridOutside::zeros) return place;
  const vf p = s.outside == GridOutside::reflection ? mirrored(s, place, size) : place;
  return min(p > 0.0f ? p : vf{}, broadcast(size - 1.0f));  // of no number the first pixel, as in PyTorch
}

/// Of VL points the pixels that they are made of, and their weights; a pixel outside is -1.
struct Corners {
  std::int32_t pixel[corners][VL];
  float weight[corners][VL];
};

/// The numbers of pixels at whole places, or -1.
static TENON_INLINE vi pixels_at(vf x, vf y, float width, float height) {
  const vi is_inside = (x >= 0.0f) & (x <= width - 1.0f) & (y >= 0.0f) & (y <= height - 1.0f);
  const vi at =
      to_int(is_inside ? y : vf{}) * static_cast<std::int32_t>(width) + to_int(is_inside ? x : vf{});
  return is_inside ? at : vi{} - 1;
}

static TENON_INLINE void find_corners(const GridSample& s, vf grid_x, vf grid_y, Corners& found) {
  const auto width = static_cast<float>(s.width), height = static_cast<float>(s.height);
  const vf x = inside(s, places_along(s, grid_x, width), width);
  const vf y = inside(s, places_along(s, grid_y, height), height);
  if (s.nearest) {
    store(found.pixel[0], pixels_at(vround(x), vround(y), width, height));
    return;
  }
  const vf left = vfloor(x), top = vfloor(y);
  TENON_UNROLL
  for (int c = 0; c < corners; c++) {
    const vf column = c & 1 ? left + 1.0f : left, row = c & 2 ? top + 1.0f : top;
    store(found.pixel[c], pixels_at(column, row, width, height));
    store(found.weight[c], (c & 1 ? x - left : left + 1.0f - x) * (c & 2 ? y - top : top + 1.0f - y));
  }
}

/// Of one point, all channels.
static TENON_INLINE void sum_corners(const GridPoints& p, const Corners& at, int point, float* y) {
  const long channels = p.sample->channels;
  const auto pixel = [&](int c) __attribute__((always_inline)) {
    const std::int32_t number = at.pixel[c][point];
    return number < 0 ? p.zeros : p.image + number * channels;
  };
  if (p.sample->nearest) {
    const float* const from = pixel(0);
    for (long i = 0; i < channels; i += VL) {
      const int n = static_cast<int>(channels - i < VL ? channels - i : VL);
      store_lanes(y + i, load_lanes(from + i, n), n);
    }
    return;
  }
  const float *const a = pixel(0), *const b = pixel(1), *const c = pixel(2), *const d = pixel(3);
  const float wa = at.weight[0][point], wb = at.weight[1][point], wc = at.weight[2][point],
              wd = at.weight[3][point];
  for (long i = 0; i < channels; i += VL) {
    const int n = static_cast<int>(channels - i < VL ? channels - i : VL);
    const vf upper = load_lanes(a + i, n) * wa + load_lanes(b + i, n) * wb;
    store_lanes(y + i, upper + load_lanes(c + i, n) * wc + load_lanes(d + i, n) * wd, n);
  }
}

}  // namespace

void sample_grid_points(const GridPoints& p) {
  Corners at;
  for (long first = 0; first < p.count; first += VL) {
    const int n = static_cast<int>(p.count - first < VL ? p.count - first : VL);
    vf x{}, y{};
    for (int i = 0; i < n; i++) {
      x[i] = p.places[2 * (first + i)];
      y[i] = p.places[2 * (first + i) + 1];
    }
    find_corners(*p.sample, x, y, at);
    for (int i = 0; i < n; i++) sum_corners(p, at, i, p.y + (first + i) * p.sample->channels);
  }
}

}  // namespace tenon::cpu::TENON_ISA
