#include "kernels/cpu/winograd_form.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/pass_cost.h"

namespace tenon::cpu {
namespace {

constexpr long most_taps = 5;  // of a part of a line

long cut(long whole, long pieces) { return (whole + pieces - 1) / pieces; }

bool is_plain(const ConvAxis& a) {
  return a.kernel == 1 && a.stride == 1 && a.pad_before == 0 && a.pad_after == 0;
}

// Lines along the first axis as lines down an image.
ConvShape turned(const ConvShape& s) {
  if (s.d.kernel == 1 || !is_plain(s.h) || !is_plain(s.w)) return s;
  ConvShape t = s;
  t.d = {};
  t.h = s.d;
  t.w = {.in = s.h.in * s.w.in};
  return t;
}

// Multiplications saved along one axis.
double saved(long kernel, long parts, const WinogradForm::Axis& a) {
  return static_cast<double>(a.outputs * kernel) / static_cast<double>(a.points * parts);
}

WinogradForm::Axis axis_of(long points, long taps) {
  return {.points = points, .outputs = points - taps + 1, .taps = taps};
}

long parts_of(const ConvAxis& line, long taps) {
  return line.stride * cut(cut(line.kernel, line.stride), taps);
}

// The part that saves most; of two that save the same, the longer one.
long taps_of_part(const ConvAxis& line) {
  long best = 0;
  double most = 0;
  for (long taps = most_taps; taps >= WinogradForm::fewest_taps; taps--) {
    const double gain = saved(line.kernel, parts_of(line, taps), axis_of(WinogradForm::line_points, taps));
    if (gain > most) best = taps, most = gain;
  }
  return best;
}

long outputs_of(WinogradTile tile) {
  switch (tile) {
    case WinogradTile::square2: return 2;
    case WinogradTile::square4: return 4;
    case WinogradTile::square6: return 6;
    case WinogradTile::line: break;
  }
  return 1;
}

// Share of the tiles' outputs that lies inside the image.
double tile_use(const WinogradForm& f) {
  const auto covered = [&](const ConvAxis& a, const WinogradForm::Axis& of) {
    return static_cast<double>(f.tiles(a, of) * of.outputs);
  };
  const ConvShape& s = f.shape;
  return static_cast<double>(s.out(s.h) * s.out(s.w)) / (covered(s.h, f.down) * covered(s.w, f.across));
}

// Multiplications saved, after the outputs of the tiles that fall outside the image: of 3x3 at most 2.25, 4
// and 5.06 times, of 5x5 2.78 and 6.25, of lines 1.75 to 2.5.
double gain(const WinogradForm& f) {
  const ConvShape& s = f.shape;
  return saved(s.h.kernel, f.is_upright() ? f.parts : 1, f.down) *
         saved(s.w.kernel, f.is_upright() ? 1 : f.parts, f.across) * tile_use(f);
}

// What the transforms add to the products of squares.
double transforms_of_squares(const WinogradForm& f) { return f.across.points == 4 ? 1.2 : 1.5; }

double time_of_squares(const WinogradForm& f) {
  const double time = transforms_of_squares(f) / gain(f);
  if (f.across.points < 8) return time;
  // 8 points have 1.8 times the weights of 6: with few pixels to use them for, reading them costs more.
  const ConvShape& s = f.shape;
  const bool few_pixels = s.N * s.out_pixels() < 14 * 14 * 4 && s.Cin * s.Cout > 128 * 128;
  if (!few_pixels) return time;
  const auto smaller = f.across.outputs == 6 ? WinogradTile::square4 : WinogradTile::square2;
  return std::max(time, transforms_of_squares(f) / (0.99 * gain(WinogradForm(s, smaller))));
}

// Products, the image's transforms for each output channel and those of the results for each input channel.
double time_of_lines(const WinogradForm& f) {
  constexpr double of_image = 12, of_results = 36;
  const double outputs = static_cast<double>(f.down.outputs * f.across.outputs);
  const double image = of_image * static_cast<double>(f.parts) / static_cast<double>(f.shape.Cout);
  const double results = of_results / static_cast<double>(f.shape.Cin);
  return 1 / gain(f) + pass_cost() * 4 / (outputs * static_cast<double>(f.line().kernel)) * (image + results);
}

// As a share of a plain product's.
double time_of_size(const WinogradForm& f) {
  constexpr double of_few_channels = 1.5;  // they do not fill the vectors of the transforms
  if (f.shape.Cin < 16 || f.shape.Cout < 16) return of_few_channels;
  return f.is_line() ? time_of_lines(f) : time_of_squares(f);
}

// Of fewer tiles, products wait for their weights.
double waits(const WinogradForm& f) {
  constexpr double enough = 8;
  return std::max(1.0, enough / static_cast<double>(std::max(1L, f.tiles())));
}

}  // namespace

bool WinogradForm::supports(const ConvShape& s, WinogradTile tile) {
  if (s.groups != 1 || s.transposed) return false;
  const ConvShape t = turned(s);
  if (tile == WinogradTile::line) {
    if ((t.h.kernel == 1) == (t.w.kernel == 1)) return false;
    const bool is_down = t.h.kernel > 1;
    const ConvAxis &line = is_down ? t.h : t.w, &other = is_down ? t.w : t.h;
    return other.stride == 1 && (line.stride == 1 || line.dilation == 1);
  }
  if (t.h.stride != 1 || t.w.stride != 1) return false;
  const long kernel = t.w.kernel;
  return t.h.kernel == kernel && (kernel == 3 || (kernel == 5 && tile != WinogradTile::square6));
}

WinogradForm::WinogradForm(const ConvShape& s, WinogradTile tile) : shape(turned(s)) {
  TENON_CHECK(supports(s, tile));
  if (tile == WinogradTile::line) {
    const bool is_down = shape.h.kernel > 1;
    const ConvAxis& axis = is_down ? shape.h : shape.w;
    const long taps = taps_of_part(axis);
    parts = parts_of(axis, taps);
    (is_down ? down : across) = axis_of(WinogradForm::line_points, taps);
  } else {
    across = axis_of(outputs_of(tile) + shape.w.kernel - 1, shape.w.kernel);
    down = across;
  }
}

double winograd_cost(const WinogradForm& f, double product) { return product * time_of_size(f) * waits(f); }

}  // namespace tenon::cpu
