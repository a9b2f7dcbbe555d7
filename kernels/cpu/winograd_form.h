// Which convolutions Winograd's method computes, and how it cuts them into tiles.
#pragma once
#include "kernels/conv_shape.h"

namespace tenon::cpu {

/// So many outputs along both axes of a 3x3 or 5x5 kernel, or a line of outputs of a kernel of one axis.
enum class WinogradTile { square2, square4, square6, line };

/// Each phase of a dilated axis is an image of its own. Lines may have a stride, of which each phase is a
/// part of the kernel. In three dimensions the taps of the first axis are part of the products' depth; if it
/// alone has taps, lines run along it.
struct WinogradForm {
  /// Of the transform along one axis of the image: points = outputs + taps - 1.
  struct Axis {
    long points = 1, outputs = 1, taps = 1;
  };
  /// Of a line, and the fewest taps of a part of one: it has at most line_points - 1 outputs.
  static constexpr long line_points = 8, fewest_taps = 2;

  /// Lines along the first axis run down an image whose rows are planes.
  ConvShape shape;
  Axis down, across;
  /// A line of taps is cut into so many parts, each with its share of the depth: of so many taps, a stride
  /// apart, from first_tap on.
  long parts = 1;

  static bool supports(const ConvShape& s, WinogradTile tile);
  /// Of a shape that is supported.
  WinogradForm(const ConvShape& s, WinogradTile tile);

  bool is_line() const { return down.points == 1 || across.points == 1; }
  const ConvAxis& line() const { return is_upright() ? shape.h : shape.w; }
  bool is_upright() const { return across.points == 1; }
  long points() const { return down.points * across.points; }
  /// Of the products: input channels of each part of the kernel and each tap of the first axis.
  [[gnu::always_inline]] long depth() const { return shape.d.kernel * parts * shape.Cin; }
  /// Tiles along an axis of the image.
  [[gnu::always_inline]] long tiles(const ConvAxis& a, const Axis& of) const {
    const long phase = (shape.out(a) + a.dilation - 1) / a.dilation;
    return a.dilation * ((phase + of.outputs - 1) / of.outputs);
  }
  /// Of all planes of a batch.
  [[gnu::always_inline]] long tiles() const {
    return shape.N * shape.out(shape.d) * tiles(shape.h, down) * tiles(shape.w, across);
  }
  /// Between the points of a tile.
  [[gnu::always_inline]] static long step(const ConvAxis& a) { return a.stride * a.dilation; }
  /// Of a part of a line that has this stride.
  [[gnu::always_inline]] long first_tap(long part, long stride) const {
    return part % stride + part / stride * stride * down.taps * across.taps;
  }
  /// The input plane that an output plane, counted over the batch, reads by a tap of the first axis; it may
  /// lie outside.
  [[gnu::always_inline]] long plane(long plane, long tap) const {
    return plane % shape.out(shape.d) * shape.d.stride - shape.d.pad_before + tap * shape.d.dilation;
  }
};

/// Operations of a dense product that takes as long, where a product of all taps takes `product`.
double winograd_cost(const WinogradForm& form, double product);

/// Where a tile lies in the output. Its outputs are a dilation apart.
struct TilePlace {
  long plane;  // counted over the batch
  long y;
  long x;

  [[gnu::always_inline]] TilePlace(const WinogradForm& f, long index) {
    const auto first =
        [](long tile, const ConvAxis& a, const WinogradForm::Axis& of) __attribute__((always_inline)) {
      return tile / a.dilation * of.outputs * a.dilation + tile % a.dilation;
    };
    const long across = f.tiles(f.shape.w, f.across);
    const long down = f.tiles(f.shape.h, f.down);
    plane = index / (across * down);
    y = first(index / across % down, f.shape.h, f.down);
    x = first(index % across, f.shape.w, f.across);
  }
};

/// How many of so many places, a dilation apart from `first` on, lie below `end`.
[[gnu::always_inline]] inline long places_below(long end, long first, long dilation, long count) {
  const long below = end > first ? (end - first + dilation - 1) / dilation : 0;
  return below < count ? below : count;
}

}  // namespace tenon::cpu
