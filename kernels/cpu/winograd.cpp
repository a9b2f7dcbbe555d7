// Winograd convolution of a block of tiles: transform, multiply, transform back. Built once per ISA.
#include "kernels/cpu/winograd.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/rounded_rows.h"
#include "kernels/cpu/row_gemm.h"
#include "kernels/cpu/simd_half.h"
#include "kernels/cpu/tile_kernel.h"
#include "kernels/cpu/winograd_transform.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long smaller(long a, long b) { return a < b ? a : b; }
constexpr long larger(long a, long b) { return a > b ? a : b; }

template <bool Whole>
TENON_INLINE vf get(const float* p, int lanes) {
  if constexpr (Whole) return load(p);
  return load_partial(p, lanes);
}
/// Of bfloat16.
template <bool Whole>
TENON_INLINE vf get(const std::uint16_t* p, int lanes) {
  if constexpr (Whole) return BF16::widen(load(p));
  return BF16::widen(load_partial(p, lanes));
}
template <bool Whole>
TENON_INLINE void put(float* p, vf v, int lanes) {
  if constexpr (Whole) {
    store(p, v);
  } else {
    store_partial(p, v, lanes);
  }
}

// Points, outputs and taps of an axis.
template <int P, int Outputs>
struct AxisForm {
  static constexpr int points = P, outputs = Outputs, taps = P - Outputs + 1;
};
using NoAxis = AxisForm<1, 1>;

// f.operator()<Down, Across>(): of a line, `Across` is the axis that it runs along.
template <class F>
TENON_INLINE void with_form(const WinogradForm& form, F f) {
  const auto square = [&]<int Points, int Outputs>() __attribute__((always_inline)) {
    return f.template operator()<AxisForm<Points, Outputs>, AxisForm<Points, Outputs>>();
  };
  const auto line = [&]<int Outputs>() __attribute__((always_inline)) {
    return f.template operator()<NoAxis, AxisForm<WinogradForm::line_points, Outputs>>();
  };
  if (form.is_line()) {
    switch (form.down.outputs * form.across.outputs) {
      case 4: return line.template operator()<4>();
      case 5: return line.template operator()<5>();
      case 6: return line.template operator()<6>();
      default: return line.template operator()<7>();
    }
  }
  switch (form.across.outputs) {
    case 2:
      return form.across.points == 4 ? square.template operator()<4, 2>()
                                     : square.template operator()<6, 2>();
    case 4:
      return form.across.points == 6 ? square.template operator()<6, 4>()
                                     : square.template operator()<8, 4>();
    default: return square.template operator()<8, 6>();
  }
}

// f.operator()<points down, points across>()
template <class F>
TENON_INLINE void with_points(const WinogradForm& form, F f) {
  if (form.is_line()) return f.template operator()<1, WinogradForm::line_points>();
  switch (form.across.points) {
    case 4: return f.template operator()<4, 4>();
    case 6: return f.template operator()<6, 6>();
    default: return f.template operator()<8, 8>();
  }
}

// Reads a pixel for each point: rows [y_begin, y_end) and columns [x_begin, x_end) of them lie inside the
// image. Those of a line are columns.
template <class T>
struct Patch {
  const T* origin;  // may lie outside the image
  long row_stride;
  long pixel_stride;
  int y_begin;
  int y_end;
  int x_begin;
  int x_end;
};

// Returns 0 in each lane, and NaN where the patch holds a NaN or an infinity, or the transform overflows:
// rows 0 and n - 1 of B^T together read every pixel.
template <int Down, int Across, bool Inside, bool Whole, class T>
TENON_INLINE vf transform_patch(const Patch<T>& p, long c, int lanes, float* out, long point_stride) {
  vf columns[Down][Across];
  for (int x = 0; x < Across; x++) {
    vf d[Down];
    if (!Inside && (x < p.x_begin || x >= p.x_end)) {
      TENON_UNROLL
      for (int y = 0; y < Down; y++) columns[y][x] = vf{};
      continue;
    }
    const T* in = p.origin + x * p.pixel_stride + c;
    TENON_UNROLL
    for (int y = 0; y < Down; y++) {
      d[y] = Inside || (y >= p.y_begin && y < p.y_end) ? get<Whole>(in + y * p.row_stride, lanes) : vf{};
    }
    WinogradTransform<Down>::input(d);
    TENON_UNROLL
    for (int y = 0; y < Down; y++) columns[y][x] = d[y];
  }
  vf spoiled{};
  for (int y = 0; y < Down; y++) {
    vf d[Across];
    TENON_UNROLL
    for (int x = 0; x < Across; x++) d[x] = columns[y][x];
    WinogradTransform<Across>::input(d);
    TENON_UNROLL
    for (int x = 0; x < Across; x++) store(out + (y * Across + x) * point_stride + c, d[x]);
    if (y == 0 || y == Down - 1) spoiled += d[0] * 0.0f + d[Across - 1] * 0.0f;
  }
  return spoiled;
}

// Whether a value of the patch is not finite.
template <int Down, int Across, bool Inside, class T>
bool transform_channels(const Patch<T>& p, long channels, float* out, long point_stride) {
  vf spoiled{};
  long c = 0;
  for (; c + VL <= channels; c += VL)
    spoiled += transform_patch<Down, Across, Inside, true>(p, c, VL, out, point_stride);
  if (c < channels) {
    spoiled +=
        transform_patch<Down, Across, Inside, false>(p, c, static_cast<int>(channels - c), out, point_stride);
  }
  return hsum(spoiled) != 0.0f;
}

void fill_zeros(float* p, long count) {
  for (long i = 0; i < count; i += VL) store_lanes(p + i, vf{}, static_cast<int>(smaller(VL, count - i)));
}

// Points of a transform that lie inside the image.
struct InsideAxis {
  int begin, end;
  InsideAxis(const ConvAxis& a, long first, long points)
      : begin(static_cast<int>(places_below(0, first, WinogradForm::step(a), points))),
        end(static_cast<int>(places_below(a.in, first, WinogradForm::step(a), points))) {}
};

template <int Down, int Across, class T>
void input(const WinogradBlock& b, const T* image, WinogradRange tiles) {
  const WinogradForm& f = *b.form;
  const ConvShape& s = f.shape;
  const long row_stride = s.w.in * b.run->in_stride * WinogradForm::step(s.h);
  const long pixel_stride = b.run->in_stride * WinogradForm::step(s.w);
  const bool turns = Down == 1 && f.is_upright();
  for (long t = tiles.begin; t < tiles.end; t++) {
    const TilePlace place(f, b.first_tile + t);
    b.spoiled[t] = false;
    // In ascending order: the last vector of a part of the depth ends in the next one.
    float* out = b.transformed_in + t * b.in_tile_stride;
    for (long i = 0; i < s.d.kernel * f.parts; i++, out += s.Cin) {
      const long z = f.plane(place.plane, i / f.parts);
      const long line_tap = Down == 1 ? f.first_tap(i % f.parts, f.line().stride) * f.line().dilation : 0;
      const long y = place.y * s.h.stride - s.h.pad_before + (turns ? line_tap : 0);
      const long x = place.x * s.w.stride - s.w.pad_before + (turns ? 0 : line_tap);
      const InsideAxis rows(s.h, y, f.down.points), cols(s.w, x, f.across.points);
      if (z < 0 || z >= s.d.in || rows.begin >= rows.end || cols.begin >= cols.end) {
        for (long point = 0; point < Down * Across; point++)
          fill_zeros(out + point * b.in_point_stride, s.Cin);
        continue;
      }
      const long pixel = ((place.plane / s.out(s.d) * s.d.in + z) * s.h.in + y) * s.w.in + x;
      const InsideAxis &down = turns ? cols : rows, &across = turns ? rows : cols;
      const Patch<T> patch{.origin = image + pixel * b.run->in_stride,
                           .row_stride = turns ? pixel_stride : row_stride,
                           .pixel_stride = turns ? row_stride : pixel_stride,
                           .y_begin = down.begin,
                           .y_end = down.end,
                           .x_begin = across.begin,
                           .x_end = across.end};
      const bool inside = down.begin == 0 && across.begin == 0 && down.end == Down && across.end == Across;
      b.spoiled[t] |= inside ? transform_channels<Down, Across, true>(patch, s.Cin, out, b.in_point_stride)
                             : transform_channels<Down, Across, false>(patch, s.Cin, out, b.in_point_stride);
    }
  }
}

// Where the results of one tile go: the image, or a hot tile for the hook. The outputs of a line are columns.
struct Target {
  float* out;
  std::uint16_t* halves;  // in place of out: bfloat16, by way of a hot tile
  long row_stride;
  long pixel_stride;
  long row_step;  // in pixels of the image
  long pixel_step;
  const float* residual;
  const float* added;
  int rows;
  int cols;
};

template <class Down, class Across, bool Whole>
TENON_INLINE void transform_back(const WinogradBlock& b, const float* products, const Target& target, long c,
                                 int lanes) {
  constexpr int outputs = Across::outputs;
  const Epilogue& e = b.run->epilogue;
  vf columns[Down::outputs][Across::points];
  for (int x = 0; x < Across::points; x++) {
    vf m[Down::points];
    vf y[Down::outputs];
    TENON_UNROLL
    for (int i = 0; i < Down::points; i++)
      m[i] = load(products + (i * Across::points + x) * b.out_point_stride + c);
    WinogradTransform<Down::points>::template output<Down::outputs>(m, y);
    TENON_UNROLL
    for (int i = 0; i < Down::outputs; i++) columns[i][x] = y[i];
  }
  const vf bias = e.bias ? get<Whole>(e.bias + c, lanes) : vf{};
  long out_pixel[outputs], added_pixel[outputs], residual_pixel[outputs];
  for (int x = 0; x < outputs; x++) {
    out_pixel[x] = x * target.pixel_stride;
    added_pixel[x] = x * target.pixel_step * e.added_stride;
    residual_pixel[x] = x * target.pixel_step * e.residual_stride;
  }
  for (int y = 0; y < target.rows; y++) {
    vf v[1][outputs];
    WinogradTransform<Across::points>::template output<outputs>(columns[y], v[0]);
    float* out = target.out + y * target.row_stride;
    const long row = y * target.row_step;
    const float* residual = target.residual ? target.residual + row * e.residual_stride + c : nullptr;
    const float* added = target.added ? target.added + row * e.added_stride + c : nullptr;
    TENON_UNROLL
    for (int x = 0; x < outputs; x++) {
      v[0][x] += bias;
      if (residual && x < target.cols) v[0][x] += get<Whole>(residual + residual_pixel[x], lanes);
    }
    activate_vectors(e.activation, v);
    TENON_UNROLL
    for (int x = 0; x < outputs; x++) {
      if (x < target.cols) put<Whole>(out + x * target.pixel_stride, v[0][x], lanes);
    }
    if (leaves_rows(e.activation, added))
      finish_rows(e.activation, {out, out_pixel, added, added_pixel, target.cols, Whole ? VL : lanes});
  }
}

// Channels [c, c + channels) of one tile; out of the target is that of channel c.
template <class Down, class Across>
void output_channels(const WinogradBlock& b, const float* products, Target target, long c, long channels) {
  const long end = c + channels;
  for (; c + VL <= end; c += VL, target.out += VL)
    transform_back<Down, Across, true>(b, products, target, c, VL);
  if (c < end) transform_back<Down, Across, false>(b, products, target, c, static_cast<int>(end - c));
}

// Rounds and stores a row of the tile.
void store_rounded(const Epilogue& e, const Target& target, float* sums, const long* sums_pixels, long at,
                   long pixel, long c, long channels) {
  constexpr long most_outputs = WinogradForm::line_points - 1;
  long pixels[most_outputs], residual[most_outputs];
  for (int x = 0; x < target.cols; x++) {
    pixels[x] = at + x * target.pixel_stride;
    residual[x] = (pixel + x * target.pixel_step) * e.rounded_residual_stride + c;
  }
  finish_rounded(*e.rounded, {.sums = sums,
                              .sums_rows = sums_pixels,
                              .residual = e.rounded_residual,
                              .residual_rows = residual,
                              .halves = target.halves,
                              .halves_rows = pixels,
                              .rows = target.cols,
                              .cols = channels});
}

// The hook sees a row of the tile at a time: cols pixels x a chunk of channels; or a pixel, if they do not
// lie side by side.
template <class Down, class Across>
void output_by_hot_tile(const WinogradBlock& b, const float* products, const Target& target,
                        long first_pixel) {
  constexpr int outputs = Across::outputs;
  constexpr long chunk = outputs <= 4 ? 128 : 64;
  alignas(64) float hot[Down::outputs * outputs * chunk];
  const ConvShape& s = b.form->shape;
  const Epilogue& e = b.run->epilogue;
  Target to_hot = target;
  to_hot.out = hot;
  to_hot.row_stride = outputs * chunk;
  to_hot.pixel_stride = chunk;
  long hot_pixels[outputs];
  for (int x = 0; x < outputs; x++) hot_pixels[x] = x * chunk;
  const int together = target.pixel_step == 1 ? target.cols : 1;
  for (long c = 0; c < s.Cout; c += chunk) {
    const long channels = smaller(chunk, s.Cout - c);
    output_channels<Down, Across>(b, products, to_hot, c, channels);
    for (int y = 0; y < target.rows; y++) {
      float* row = hot + y * to_hot.row_stride;
      const long pixel = first_pixel + y * target.row_step;
      if (target.halves && e.rounded) {
        store_rounded(e, target, row, hot_pixels, y * target.row_stride + c, pixel, c, channels);
        continue;
      }
      for (int x = 0; e.hook && x < target.cols; x += together)
        e.hook(e.context, row + x * chunk, chunk, pixel + x * target.pixel_step, together, c, channels);
      for (int x = 0; x < target.cols; x++) {
        const long at = y * target.row_stride + x * target.pixel_stride + c;
        if (target.halves) {
          narrow_row(row + x * chunk, channels, target.halves + at);
          continue;
        }
        float* out = target.out + at;
        long i = 0;
        for (; i + VL <= channels; i += VL) store(out + i, load(row + x * chunk + i));
        const int tail = static_cast<int>(channels - i);
        if (tail > 0) store_partial(out + i, load_partial(row + x * chunk + i, tail), tail);
      }
    }
  }
}

template <class Down, class Across>
void output(const WinogradBlock& b, WinogradRange tiles) {
  const WinogradForm& f = *b.form;
  const ConvShape& s = f.shape;
  const Epilogue& e = b.run->epilogue;
  const long height = s.out(s.h);
  const long width = s.out(s.w);
  const bool turns = Down::points == 1 && f.is_upright();
  const long y_step = width * s.h.dilation, x_step = s.w.dilation;
  const long row_step = turns ? x_step : y_step, pixel_step = turns ? y_step : x_step;
  for (long t = tiles.begin; t < tiles.end; t++) {
    if (b.spoiled[t]) continue;
    const TilePlace place(f, b.first_tile + t);
    const long pixel = (place.plane * height + place.y) * width + place.x;
    const long rows = places_below(height, place.y, s.h.dilation, f.down.outputs);
    const long cols = places_below(width, place.x, s.w.dilation, f.across.outputs);
    std::uint16_t* const halves = b.run->out_halves;
    const Target target{.out = halves ? nullptr : b.run->out + pixel * b.run->out_stride,
                        .halves = halves ? halves + pixel * b.run->out_stride : nullptr,
                        .row_stride = row_step * b.run->out_stride,
                        .pixel_stride = pixel_step * b.run->out_stride,
                        .row_step = row_step,
                        .pixel_step = pixel_step,
                        .residual = e.residual ? e.residual + pixel * e.residual_stride : nullptr,
                        .added = e.added ? e.added + pixel * e.added_stride : nullptr,
                        .rows = static_cast<int>(turns ? cols : rows),
                        .cols = static_cast<int>(turns ? rows : cols)};
    if (target.rows == 0 || target.cols == 0) continue;
    const float* products = b.products + t * b.out_tile_stride;
    if (e.hook || halves) {
      output_by_hot_tile<Down, Across>(b, products, target, pixel);
    } else {
      output_channels<Down, Across>(b, products, target, 0, s.Cout);
    }
  }
}

// Weights of channel c of part i of the depth and one panel of outputs: taps -> points, in doubles.
template <class Down, class Across>
void transform_weights(const WinogradForm& f, const float* weights, float* packed, long i, long c,
                       long panel) {
  constexpr int taps = Down::taps * Across::taps;
  static constexpr WinogradFilter<Down::points, Down::taps> down{};
  static constexpr WinogradFilter<Across::points, Across::taps> across{};
  const ConvShape& s = f.shape;
  const long plane_taps = s.h.kernel * s.w.kernel;
  const long stride = Down::points == 1 ? f.line().stride : 1;
  const long first_tap = f.first_tap(i % f.parts, stride);
  const long first = panel * panel_cols;
  const long cols = smaller(panel_cols, s.Cout - first);
  double w[taps][panel_cols] = {};
  for (long o = 0; o < cols; o++) {
    const float* const of_plane = weights + ((first + o) * s.Cin + c) * s.taps() + i / f.parts * plane_taps;
    for (int tap = 0; tap < taps && first_tap + tap * stride < plane_taps; tap++)
      w[tap][o] = double{of_plane[first_tap + tap * stride]};
  }
  double rows[Down::points][Across::taps][panel_cols] = {};
  for (int point = 0; point < Down::points; point++) {
    for (int y = 0; y < Down::taps; y++) {
      for (int x = 0; x < Across::taps; x++) {
        for (int o = 0; o < panel_cols; o++)
          rows[point][x][o] += down.g[point][y] * w[y * Across::taps + x][o];
      }
    }
  }
  const long panels = (s.Cout + panel_cols - 1) / panel_cols;
  for (int p = 0; p < Down::points; p++) {
    for (int q = 0; q < Across::points; q++) {
      float* out =
          packed + (((p * Across::points + q) * panels + panel) * f.depth() + i * s.Cin + c) * panel_cols;
      for (int o = 0; o < panel_cols; o++) {
        double sum = 0;
        for (int x = 0; x < Across::taps; x++) sum += across.g[q][x] * rows[p][x][o];
        out[o] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace

long winograd_block_tiles(const WinogradForm& f) {
  const long all = f.tiles();
  // Few tiles: all at once, so that the weights are read once.
  if (all <= 16) return all;
  const long of_squares = VL == 16 ? tile_rows : 3 * tile_rows;
  return f.is_line() ? 3 * of_squares : of_squares;
}

void winograd_input(const WinogradBlock& b, WinogradRange tiles) {
  with_points(*b.form, [&]<int Down, int Across>() {
    b.run->in_halves ? input<Down, Across>(b, b.run->in_halves, tiles)
                     : input<Down, Across>(b, b.run->in, tiles);
  });
}

void winograd_output(const WinogradBlock& b, WinogradRange tiles) {
  with_form(*b.form, [&]<class Down, class Across>() { output<Down, Across>(b, tiles); });
}

void winograd_multiply(const WinogradBlock& b, WinogradRange products) {
  const long depth = b.form->depth();
  const long panels = (b.form->shape.Cout + panel_cols - 1) / panel_cols;
  const RowTiles rows(b.tiles, tile_rows);
  long in_row[tile_rows];
  long out_row[tile_rows];
  for (int i = 0; i < tile_rows; i++) {
    in_row[i] = i * b.in_tile_stride;
    out_row[i] = i * b.out_tile_stride;
  }
  Tile t{};
  t.a_row = in_row;
  t.a_stride = b.in_tile_stride;
  t.runs = 1;
  t.run_length = depth;
  t.b_row_stride = panel_cols;
  t.b_panel_stride = depth * panel_cols;
  t.c_row = out_row;
  // Each row tile passes over all weights of a point, in the order in which they lie, if they stay in L2 from
  // one block to the next. Else panel by panel: each tile brings its share of the next one, which comes from
  // memory.
  constexpr long small_weights = 65536;
  const bool stay = b.tiles < b.form->tiles() && depth * panels * panel_cols <= small_weights;
  const bool by_rows = rows.count == 1 || stay;
  const auto outer = b.run->schedule.outer;
  const bool rows_outside = outer == Schedule::Outer::rule ? by_rows : outer == Schedule::Outer::rows;
  for (long i = products.begin; i < products.end; i += t.panels) {
    const long point = i / panels;
    const long panel = i % panels;
    t.panels = rows_outside ? smaller(panels - panel, products.end - i) : 1;
    t.b = b.run->packed + i * t.b_panel_stride;
    const bool has_next = t.panels == 1 && i + 1 < products.end;
    t.later_step = (panel_cols + rows.count - 1) / rows.count;
    for (long r = 0; r < rows.count; r++) {
      const long first = rows.first(r);
      t.a = b.transformed_in + point * b.in_point_stride + first * b.in_tile_stride;
      t.later = has_next ? t.b + t.b_panel_stride + r * depth * t.later_step : nullptr;
      t.c = b.products + point * b.out_point_stride + first * b.out_tile_stride + panel * panel_cols;
      tile_kernel(
          TileForm::f32,
          {.rows = static_cast<int>(rows.rows_of(r)), .vectors = panel_vectors, .is_uniform = true})(t);
    }
  }
}

void winograd_pack(const WinogradForm& f, const float* weights, float* packed, WinogradRange channels) {
  const long panels = (f.shape.Cout + panel_cols - 1) / panel_cols;
  for (long panel = 0; panel < panels; panel++) {
    for (long c = channels.begin; c < channels.end; c++)
      for (long i = 0; i < f.shape.d.kernel * f.parts; i++)
        with_form(f, [&]<class Down, class Across>() {
          transform_weights<Down, Across>(f, weights, packed, i, c, panel);
        });
  }
}

}  // namespace tenon::cpu::TENON_ISA
