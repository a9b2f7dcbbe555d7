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

// f.operator()<points>()
template <class F>
TENON_INLINE void with_points(long points, F f) {
  switch (points) {
    case 4: return f.template operator()<4>();
    case 6: return f.template operator()<6>();
    default: return f.template operator()<8>();
  }
}

// f.operator()<points, tile>()
template <class F>
TENON_INLINE void with_form(const ConvShape& s, long tile, F f) {
  if (s.w.kernel == 5) return tile == 2 ? f.template operator()<6, 2>() : f.template operator()<8, 4>();
  switch (tile) {
    case 2: return f.template operator()<4, 2>();
    case 4: return f.template operator()<6, 4>();
    default: return f.template operator()<8, 6>();
  }
}

// Reads points^2 pixels: rows [y_begin, y_end) and columns [x_begin, x_end) of them lie inside the image.
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
template <int Points, bool Inside, bool Whole, class T>
TENON_INLINE vf transform_patch(const Patch<T>& p, long c, int lanes, float* out, long point_stride) {
  using Transform = WinogradTransform<Points>;
  constexpr int n = Points;
  vf columns[n][n];
  for (int x = 0; x < n; x++) {
    vf d[n];
    if (!Inside && (x < p.x_begin || x >= p.x_end)) {
      TENON_UNROLL
      for (int y = 0; y < n; y++) columns[y][x] = vf{};
      continue;
    }
    const T* in = p.origin + x * p.pixel_stride + c;
    TENON_UNROLL
    for (int y = 0; y < n; y++) {
      d[y] = Inside || (y >= p.y_begin && y < p.y_end) ? get<Whole>(in + y * p.row_stride, lanes) : vf{};
    }
    Transform::input(d);
    TENON_UNROLL
    for (int y = 0; y < n; y++) columns[y][x] = d[y];
  }
  vf spoiled{};
  for (int y = 0; y < n; y++) {
    vf d[n];
    TENON_UNROLL
    for (int x = 0; x < n; x++) d[x] = columns[y][x];
    Transform::input(d);
    TENON_UNROLL
    for (int x = 0; x < n; x++) store(out + (y * n + x) * point_stride + c, d[x]);
    if (y == 0 || y == n - 1) spoiled += d[0] * 0.0f + d[n - 1] * 0.0f;
  }
  return spoiled;
}

// Whether a value of the patch is not finite.
template <int Points, bool Inside, class T>
bool transform_channels(const Patch<T>& p, long channels, float* out, long point_stride) {
  vf spoiled{};
  long c = 0;
  for (; c + VL <= channels; c += VL)
    spoiled += transform_patch<Points, Inside, true>(p, c, VL, out, point_stride);
  if (c < channels) {
    spoiled +=
        transform_patch<Points, Inside, false>(p, c, static_cast<int>(channels - c), out, point_stride);
  }
  return hsum(spoiled) != 0.0f;
}

void fill_zeros(float* p, long count) {
  for (long i = 0; i < count; i += VL) store_lanes(p + i, vf{}, static_cast<int>(smaller(VL, count - i)));
}

template <int Points, class T>
void input(const WinogradBlock& b, const T* image, WinogradRange tiles) {
  constexpr long n = Points;
  const ConvShape& s = *b.shape;
  for (long t = tiles.begin; t < tiles.end; t++) {
    const TilePlace place(s, b.tile, b.first_tile + t);
    const long y = place.y - s.h.pad_before;
    const long x = place.x - s.w.pad_before;
    Patch<T> patch{.origin = nullptr,
                   .row_stride = s.w.in * b.run->in_stride,
                   .pixel_stride = b.run->in_stride,
                   .y_begin = static_cast<int>(larger(0, -y)),
                   .y_end = static_cast<int>(smaller(n, s.h.in - y)),
                   .x_begin = static_cast<int>(larger(0, -x)),
                   .x_end = static_cast<int>(smaller(n, s.w.in - x))};
    const bool inside = patch.y_begin == 0 && patch.x_begin == 0 && patch.y_end == n && patch.x_end == n;
    b.spoiled[t] = false;
    // In ascending order: the last vector of a tap ends in the part of the next one.
    for (long tap = 0; tap < s.d.kernel; tap++) {
      float* out = b.transformed_in + t * b.in_tile_stride + tap * s.Cin;
      const long z = winograd_plane(s, place.plane, tap);
      if (z < 0 || z >= s.d.in) {
        for (long point = 0; point < n * n; point++) fill_zeros(out + point * b.in_point_stride, s.Cin);
        continue;
      }
      const long pixel = ((place.plane / s.out(s.d) * s.d.in + z) * s.h.in + y) * s.w.in + x;
      patch.origin = image + pixel * b.run->in_stride;
      b.spoiled[t] |= inside ? transform_channels<Points, true>(patch, s.Cin, out, b.in_point_stride)
                             : transform_channels<Points, false>(patch, s.Cin, out, b.in_point_stride);
    }
  }
}

// Where the results of one tile go: the image, or a hot tile for the hook.
struct Target {
  float* out;
  std::uint16_t* halves;  // in place of out: bfloat16, by way of a hot tile
  long row_stride;
  long pixel_stride;
  const float* residual;
  long residual_row_stride;
  const float* added;
  long added_row_stride;
  int rows;
  int cols;
};

template <int Points, int Tile, bool Whole>
TENON_INLINE void transform_back(const WinogradBlock& b, const float* products, const Target& target, long c,
                                 int lanes) {
  using Transform = WinogradTransform<Points>;
  constexpr int n = Points;
  const Epilogue& e = b.run->epilogue;
  vf columns[Tile][n];
  for (int x = 0; x < n; x++) {
    vf m[n];
    vf y[Tile];
    TENON_UNROLL
    for (int i = 0; i < n; i++) m[i] = load(products + (i * n + x) * b.out_point_stride + c);
    Transform::template output<Tile>(m, y);
    TENON_UNROLL
    for (int i = 0; i < Tile; i++) columns[i][x] = y[i];
  }
  const vf bias = e.bias ? get<Whole>(e.bias + c, lanes) : vf{};
  long out_pixel[Tile], added_pixel[Tile];
  for (int x = 0; x < Tile; x++) {
    out_pixel[x] = x * target.pixel_stride;
    added_pixel[x] = x * e.added_stride;
  }
  for (int y = 0; y < target.rows; y++) {
    vf v[1][Tile];
    Transform::template output<Tile>(columns[y], v[0]);
    float* out = target.out + y * target.row_stride;
    const float* residual = target.residual ? target.residual + y * target.residual_row_stride + c : nullptr;
    const float* added = target.added ? target.added + y * target.added_row_stride + c : nullptr;
    TENON_UNROLL
    for (int x = 0; x < Tile; x++) {
      v[0][x] += bias;
      if (residual && x < target.cols) v[0][x] += get<Whole>(residual + x * e.residual_stride, lanes);
    }
    activate_vectors(e.activation, v);
    TENON_UNROLL
    for (int x = 0; x < Tile; x++) {
      if (x < target.cols) put<Whole>(out + x * target.pixel_stride, v[0][x], lanes);
    }
    if (leaves_rows(e.activation, added))
      finish_rows(e.activation, {out, out_pixel, added, added_pixel, target.cols, Whole ? VL : lanes});
  }
}

// Channels [c, c + channels) of one tile; out of the target is that of channel c.
template <int Points, int Tile>
void output_channels(const WinogradBlock& b, const float* products, Target target, long c, long channels) {
  const long end = c + channels;
  for (; c + VL <= end; c += VL, target.out += VL)
    transform_back<Points, Tile, true>(b, products, target, c, VL);
  if (c < end) transform_back<Points, Tile, false>(b, products, target, c, static_cast<int>(end - c));
}

// Rounds and stores a row of the tile.
void store_rounded(const Epilogue& e, const Target& target, float* sums, const long* sums_pixels, long at,
                   long pixel, long c, long channels) {
  long pixels[6], residual[6];
  for (int x = 0; x < target.cols; x++) {
    pixels[x] = at + x * target.pixel_stride;
    residual[x] = (pixel + x) * e.rounded_residual_stride + c;
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

// The hook sees a row of the tile at a time: cols pixels x a chunk of channels.
template <int Points, int Tile>
void output_by_hot_tile(const WinogradBlock& b, const float* products, const Target& target,
                        long first_pixel) {
  constexpr long chunk = Tile <= 4 ? 128 : 64;
  alignas(64) float hot[Tile * Tile * chunk];
  const ConvShape& s = *b.shape;
  const Epilogue& e = b.run->epilogue;
  Target to_hot = target;
  to_hot.out = hot;
  to_hot.row_stride = Tile * chunk;
  to_hot.pixel_stride = chunk;
  long hot_pixels[Tile];
  for (int x = 0; x < Tile; x++) hot_pixels[x] = x * chunk;
  for (long c = 0; c < s.Cout; c += chunk) {
    const long channels = smaller(chunk, s.Cout - c);
    output_channels<Points, Tile>(b, products, to_hot, c, channels);
    for (int y = 0; y < target.rows; y++) {
      float* row = hot + y * Tile * chunk;
      const long pixel = first_pixel + y * s.out(s.w);
      if (target.halves && e.rounded) {
        store_rounded(e, target, row, hot_pixels, y * target.row_stride + c, pixel, c, channels);
        continue;
      }
      if (e.hook) e.hook(e.context, row, chunk, pixel, target.cols, c, channels);
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

template <int Points, int Tile>
void output(const WinogradBlock& b, WinogradRange tiles) {
  const ConvShape& s = *b.shape;
  const Epilogue& e = b.run->epilogue;
  const long height = s.out(s.h);
  const long width = s.out(s.w);
  for (long t = tiles.begin; t < tiles.end; t++) {
    if (b.spoiled[t]) continue;
    const TilePlace place(s, Tile, b.first_tile + t);
    const long pixel = (place.plane * height + place.y) * width + place.x;
    std::uint16_t* const halves = b.run->out_halves;
    const Target target{.out = halves ? nullptr : b.run->out + pixel * b.run->out_stride,
                        .halves = halves ? halves + pixel * b.run->out_stride : nullptr,
                        .row_stride = width * b.run->out_stride,
                        .pixel_stride = b.run->out_stride,
                        .residual = e.residual ? e.residual + pixel * e.residual_stride : nullptr,
                        .residual_row_stride = width * e.residual_stride,
                        .added = e.added ? e.added + pixel * e.added_stride : nullptr,
                        .added_row_stride = width * e.added_stride,
                        .rows = static_cast<int>(smaller(Tile, height - place.y)),
                        .cols = static_cast<int>(smaller(Tile, width - place.x))};
    const float* products = b.products + t * b.out_tile_stride;
    if (e.hook || halves) {
      output_by_hot_tile<Points, Tile>(b, products, target, pixel);
    } else {
      output_channels<Points, Tile>(b, products, target, 0, s.Cout);
    }
  }
}

// Weights of row k of the depth and one panel of outputs: Kernel x Kernel -> points x points, in doubles.
template <int Points, int Kernel>
void transform_weights(const ConvShape& s, const float* weights, float* packed, long k, long panel) {
  constexpr int n = Points;
  constexpr int taps = Kernel * Kernel;
  static constexpr WinogradFilter<Points, Kernel> filter{};
  const long first = panel * panel_cols;
  const long cols = smaller(panel_cols, s.Cout - first);
  double w[taps][panel_cols] = {};
  for (long o = 0; o < cols; o++) {
    const float* const filter_of = weights + ((first + o) * s.Cin + k % s.Cin) * s.taps() + k / s.Cin * taps;
    for (int tap = 0; tap < taps; tap++) w[tap][o] = double{filter_of[tap]};
  }
  double rows[n][Kernel][panel_cols] = {};
  for (int i = 0; i < n; i++) {
    for (int y = 0; y < Kernel; y++) {
      for (int x = 0; x < Kernel; x++) {
        for (int o = 0; o < panel_cols; o++) rows[i][x][o] += filter.g[i][y] * w[y * Kernel + x][o];
      }
    }
  }
  const long panels = (s.Cout + panel_cols - 1) / panel_cols;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      float* out = packed + (((i * n + j) * panels + panel) * winograd_depth(s) + k) * panel_cols;
      for (int o = 0; o < panel_cols; o++) {
        double sum = 0;
        for (int x = 0; x < Kernel; x++) sum += filter.g[j][x] * rows[i][x][o];
        out[o] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace

long winograd_block_tiles(const ConvShape& s, long tile) {
  const long all = winograd_tiles(s, tile);
  // Few tiles: all at once, so that the weights are read once.
  if (all <= 16) return all;
  return VL == 16 ? tile_rows : 3 * tile_rows;
}

void winograd_input(const WinogradBlock& b, WinogradRange tiles) {
  with_points(winograd_points(*b.shape, b.tile), [&]<int Points>() {
    b.run->in_halves ? input<Points>(b, b.run->in_halves, tiles) : input<Points>(b, b.run->in, tiles);
  });
}

void winograd_output(const WinogradBlock& b, WinogradRange tiles) {
  with_form(*b.shape, b.tile, [&]<int Points, int Tile>() { output<Points, Tile>(b, tiles); });
}

void winograd_multiply(const WinogradBlock& b, WinogradRange products) {
  const ConvShape& s = *b.shape;
  const long depth = winograd_depth(s);
  const long panels = (s.Cout + panel_cols - 1) / panel_cols;
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
  const bool stay = b.tiles < winograd_tiles(s, b.tile) && depth * panels * panel_cols <= small_weights;
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

void winograd_pack(const ConvShape& s, long tile, const float* weights, float* packed,
                   WinogradRange channels) {
  const long panels = (s.Cout + panel_cols - 1) / panel_cols;
  for (long panel = 0; panel < panels; panel++) {
    for (long k = channels.begin; k < channels.end; k++)
      for (long tap = 0; tap < s.d.kernel; tap++)
        with_form(s, tile, [&]<int Points, int Tile>() {
          transform_weights<Points, Points - Tile + 1>(s, weights, packed, tap * s.Cin + k, panel);
        });
  }
}

}  // namespace tenon::cpu::TENON_ISA
