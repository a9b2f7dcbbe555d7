// Convolution of narrow groups: the weights of a kernel row and a strip of output pixels are kept in
// registers, and vectors run over channels. Where a group has several channels, a pixel's vector is permuted
// once for each of them, and meets all taps of the row so. Built once per ISA.
#include "kernels/cpu/narrow_groups.h"

#include <bit>

#include "kernels/cpu/activation.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long smaller(long a, long b) { return a < b ? a : b; }
constexpr long larger(long a, long b) { return a > b ? a : b; }

// Output pixels of a strip that takes so many taps at once: their sums, the taps and a pixel of the input fit
// the registers.
constexpr int strip_of(int taps) {
  return static_cast<int>(vector_registers == 32 ? 14 : smaller(10, vector_registers - 1 - taps));
}
// Channels that pass down a strip together: so many that the rows of input that they share stay in L1.
constexpr long block_channels = 64;
// Output rows that all channels pass before the next ones: what they share comes from L2 once.
constexpr long band_rows = 8;

// An input and its result beyond this are not in the last cache for certain: fetching them ahead wins more
// than it costs.
constexpr long far_floats = 1 << 20;

struct Range {
  long begin;
  long end;
};
// Taps at first + k * dilation that lie inside the image.
Range taps_inside(long first, const ConvAxis& a) {
  const long begin = first >= 0 ? 0 : (-first + a.dilation - 1) / a.dilation;
  const long end = first >= a.in ? 0 : (a.in - first + a.dilation - 1) / a.dilation;
  return {smaller(begin, a.kernel), larger(smaller(begin, a.kernel), smaller(end, a.kernel))};
}

// Channels of one group. Whole groups of outputs fill a vector: their number is a power of two.
struct Group {
  long in;
  int out_bits;
  vi sources;  // the first channel of its group, for each lane

  explicit Group(const ConvShape& s)
      : in(s.Cin / s.groups), out_bits(std::countr_zero(static_cast<unsigned long>(s.Cout / s.groups))) {
    for (int lane = 0; lane < VL; lane++) sources[lane] = static_cast<std::int32_t>(source(lane));
  }
  bool is_one_channel() const { return in == 1 && out_bits == 0; }
  // The first channel that output channel c reads, where that is the first of its group.
  long source(long c) const { return (c >> out_bits) * in; }
};

// Taps of a kernel row that are taken at once.
long taps_at_once(const ConvAxis& w) {
  const bool strides_fit = w.stride == 1 || (w.stride == 2 && w.dilation == 1);
  return strides_fit && w.kernel % 2 == 1 && w.kernel <= 9 ? w.kernel : 1;
}

// From a pixel of a strip to the next one: where taps are taken at once, these read the same columns.
long pixels_apart(const ConvAxis& w) { return taps_at_once(w) > 1 ? w.dilation : 1; }

// Pixels x, x + pixels_apart, ... of one output row, in channels c .. c_end.
struct Strip {
  Group group;
  const float* in;  // of the image
  long row;         // of the output, counted over the batch
  long z;           // the input plane of tap plane 0
  Range taps_z;     // that lie inside the image
  long y;           // the input row of tap row 0
  Range taps_y;
  long x;
  int pixels;
  long c;
  long c_end;
  bool fetches;  // what the next output row reads and writes
};

// Calls f(i, p + i * apart) for i < n. Few registers hold the addresses: the compiler would keep every
// multiple.
template <int n, class Pointer, class F>
TENON_INLINE void for_each_apart(Pointer p, long apart, F f) {
#pragma GCC unroll 64
  for (int i = 0; i < n; i++) {
    if (i % 4 == 0 && i > 0) {
      p += 4 * apart;
      asm("" : "+r"(p));
    }
    f(i, p + i % 4 * apart);
  }
}

// Asks for what the strip below is the first to read, in channels from `source` on: `columns` columns of the
// input rows under the taps of this one. And for the pixels that it writes, in channels from c on. The strips
// of a band jump from row to row, which no hardware foresees.
template <int strip, int columns>
TENON_INLINE void fetch_next_row(const ConvShape& s, const ConvRun& run, const Strip& part, long apart,
                                 long c, long source) {
  for_each_apart<strip>(
      run.out + ((part.row + 1) * s.out(s.w) + part.x) * run.out_stride + c,
      pixels_apart(s.w) * run.out_stride,
      [](int, const float* p) __attribute__((always_inline)) { __builtin_prefetch(p, 1); });
  const long row = s.w.in * run.in_stride, plane = s.h.in * row;
  const long below = part.y + (s.h.kernel - 1) * s.h.dilation + 1;
  const long rows = smaller(s.h.in, below + s.h.stride) - below;
  const float* const in =
      part.in + below * row + (part.x * s.w.stride - s.w.pad_before) * run.in_stride + source;
  const float* const last = in + (part.z + (part.taps_z.end - 1) * s.d.dilation) * plane;
  for (long y = 0; y < rows; y++)
    for_each_apart<columns>(
        last + y * row, apart,
        [](int, const float* p) __attribute__((always_inline)) { __builtin_prefetch(p, 0, 2); });
}

// Pointers and distances of a strip, in floats: all that a vector of channels needs, so that it computes no
// address but its own.
struct Walk {
  const float* in;       // the first column under the first tap row that lies inside the image
  const float* weights;  // of that row
  long planes, rows;     // of taps inside the image
  long in_plane, in_row, in_step, apart;
  long weight_plane, weight_row, weight_tap, channels;
  long first;       // the column at `in`
  long begin, end;  // columns inside the image, where a kernel row is taken at once
  const float* bias;
  const float* residual;
  long residual_stride;
  float* out;
  long out_stride;
};

// Of columns first + i * step, those inside an image so wide.
Range columns_inside(long first, long step, long columns, long width) {
  long begin = 0, end = columns;
  while (begin < end && first + begin * step < 0) begin++;
  while (end > begin && first + (end - 1) * step >= width) end--;
  return {begin, end};
}

template <int K>
Walk walk_of(const ConvShape& s, const ConvRun& run, const Strip& part) {
  const long row = s.w.in * run.in_stride, plane = s.h.in * row;
  const long first = part.x * s.w.stride - s.w.pad_before;
  const long out_pixel = part.row * s.out(s.w) + part.x;
  const long weight_tap = part.group.in * s.Cout;
  const long weight_row = s.w.kernel * weight_tap, weight_plane = s.h.kernel * weight_row;
  const Epilogue& e = run.epilogue;
  return {.in = part.in + (part.z + part.taps_z.begin * s.d.dilation) * plane +
                (part.y + part.taps_y.begin * s.h.dilation) * row + first * run.in_stride,
          .weights = run.packed + part.taps_z.begin * weight_plane + part.taps_y.begin * weight_row,
          .planes = part.taps_z.end - part.taps_z.begin,
          .rows = part.taps_y.end - part.taps_y.begin,
          .in_plane = s.d.dilation * plane,
          .in_row = s.h.dilation * row,
          .in_step = s.w.dilation * run.in_stride,
          // A single tap reads every stride-th pixel.
          .apart = (K == 1 ? s.w.stride : s.w.dilation) * run.in_stride,
          .weight_plane = weight_plane,
          .weight_row = weight_row,
          .weight_tap = weight_tap,
          .channels = s.Cout,
          .first = first,
          .begin = 0,
          .end = 0,
          .bias = e.bias,
          .residual = e.residual ? e.residual + out_pixel * e.residual_stride : nullptr,
          .residual_stride = pixels_apart(s.w) * e.residual_stride,
          .out = run.out + out_pixel * run.out_stride,
          .out_stride = pixels_apart(s.w) * run.out_stride};
}

// A vector of channels from c on. K taps of a kernel row are taken at once, S input pixels apart for the next
// output pixel: all of it, or one. Edge: pixels or columns of the input may lie outside. Wide: a group has
// several channels.
template <int K, int S, bool Edge, bool Wide>
TENON_INLINE void run_vector(const ConvAxis& w_axis, const Walk& walk, const Group& group,
                             const Activation& activation, int part_pixels, long c, int lanes) {
  constexpr int strip = strip_of(K);
  constexpr int columns = (strip - 1) * S + K;
  const int pixels = Edge ? part_pixels : strip;
  vf sum[1][strip];
  const vf bias = walk.bias ? load_lanes(walk.bias + c, lanes) : vf{};
  TENON_UNROLL
  for (int i = 0; i < strip; i++) sum[0][i] = bias;
  const int lanes_in = Wide ? static_cast<int>(group.source(lanes)) : lanes;
  const float* plane = walk.in + (Wide ? group.source(c) : c);
  const float* weight_plane = walk.weights + c;
  for (long z = 0; z < walk.planes; z++, plane += walk.in_plane, weight_plane += walk.weight_plane) {
    const float* row = plane;
    const float* weight_row = weight_plane;
    for (long y = 0; y < walk.rows; y++, row += walk.in_row, weight_row += walk.weight_row) {
      const float* in = row;
      const float* w = weight_row;
      for (long kx = 0; kx < (K == 1 ? w_axis.kernel : 1); kx++, in += walk.in_step, w += walk.weight_tap) {
        Range inside{walk.begin, walk.end};
        if constexpr (Edge && K == 1)
          inside = columns_inside(walk.first + kx * w_axis.dilation, w_axis.stride, pixels, w_axis.in);
        for (long channel = 0; channel < (Wide ? group.in : 1); channel++) {
          vf weight[K];
          TENON_UNROLL
          for (int k = 0; k < K; k++)
            weight[k] = load_lanes(w + k * walk.weight_tap + channel * walk.channels, lanes);
          const vi source = group.sources + static_cast<std::int32_t>(channel);
          for_each_apart<columns>(
              in, walk.apart, [&](int i, const float* p) __attribute__((always_inline)) {
                if (Edge && (i < inside.begin || i >= inside.end)) return;
                const vf read = load_lanes(p, lanes_in);
                const vf v = Wide ? permute(read, source) : read;
                TENON_UNROLL
                for (int k = 0; k < K; k++) {
                  if ((i - k) % S == 0 && i >= k && (i - k) / S < strip) sum[0][(i - k) / S] += v * weight[k];
                }
              });
        }
      }
    }
  }
  if (walk.residual) {
    for_each_apart<strip>(
        walk.residual + c, walk.residual_stride, [&](int i, const float* p) __attribute__((always_inline)) {
          if (i < pixels) sum[0][i] += load_lanes(p, lanes);
        });
  }
  activate_vectors(activation, sum);
  for_each_apart<strip>(
      walk.out + c, walk.out_stride, [&](int i, float* p) __attribute__((always_inline)) {
        if (i < pixels) store_lanes(p, sum[0][i], lanes);
      });
}

template <int K, int S, bool Edge, bool Wide>
__attribute__((noinline)) void run_strip(const ConvShape& s, const ConvRun& run, const Strip& part) {
  constexpr int strip = strip_of(K);
  constexpr int columns = (strip - 1) * S + K;
  const Epilogue& e = run.epilogue;
  const Activation activation = e.activation;
  const Group group = part.group;
  Walk walk = walk_of<K>(s, run, part);
  if constexpr (Edge && K > 1) {
    const Range inside = columns_inside(walk.first, s.w.dilation, (part.pixels - 1) * S + K, s.w.in);
    walk.begin = inside.begin;
    walk.end = inside.end;
  }
  const ConvAxis w = s.w;
  const int pixels = part.pixels;
  const long c_end = part.c_end;
  long c = part.c;
  for (; c + VL <= c_end; c += VL) {
    if (part.fetches) fetch_next_row<strip, columns>(s, run, part, walk.apart, c, group.source(c));
    run_vector<K, S, Edge, Wide>(w, walk, group, activation, pixels, c, VL);
  }
  if (c < c_end) {
    if (part.fetches) fetch_next_row<strip, columns>(s, run, part, walk.apart, c, group.source(c));
    run_vector<K, S, Edge, Wide>(w, walk, group, activation, pixels, c, static_cast<int>(c_end - c));
  }
  if (!leaves_rows(e.activation, e.added)) return;
  long out_row[strip], added_row[strip];
  for (int i = 0; i < part.pixels; i++) {
    out_row[i] = i * pixels_apart(s.w) * run.out_stride;
    added_row[i] = i * pixels_apart(s.w) * e.added_stride;
  }
  const long out_pixel = part.row * s.out(s.w) + part.x;
  float* const out = run.out + out_pixel * run.out_stride + part.c;
  const float* const added = e.added ? e.added + out_pixel * e.added_stride + part.c : nullptr;
  finish_rows(e.activation, {out, out_row, added, added_row, part.pixels, part.c_end - part.c});
}

// How strips are run, and their pixels.
struct StripKernel {
  void (*run)(const ConvShape&, const ConvRun&, const Strip&);
  int pixels;
};
template <int K, int S, bool Edge, bool Wide>
constexpr StripKernel strips{run_strip<K, S, Edge, Wide>, strip_of(K)};
template <int S, bool Edge, bool Wide>
StripKernel strip_kernel(long taps) {
  switch (taps) {
    case 3: return strips<3, S, Edge, Wide>;
    case 5: return strips<5, S, Edge, Wide>;
    case 7: return strips<7, S, Edge, Wide>;
    case 9: return strips<9, S, Edge, Wide>;
    default: return strips<1, 1, Edge, Wide>;
  }
}
template <bool Edge, bool Wide>
StripKernel strip_kernel(const ConvAxis& w) {
  const long taps = taps_at_once(w);
  return w.stride == 2 ? strip_kernel<2, Edge, Wide>(taps) : strip_kernel<1, Edge, Wide>(taps);
}
template <bool Edge>
StripKernel strip_kernel(const ConvAxis& w, const Group& group) {
  return group.is_one_channel() ? strip_kernel<Edge, false>(w) : strip_kernel<Edge, true>(w);
}

// Output rows [begin, end) of one plane, of which there are few.
void band_of_rows(const ConvShape& s, const ConvRun& run, long begin, long end) {
  const long out_h = s.out(s.h);
  const long out_w = s.out(s.w);
  const Group group(s);
  const StripKernel inner = strip_kernel<false>(s.w, group), edge = strip_kernel<true>(s.w, group);
  const int strip = inner.pixels;
  const long plane = begin / out_h;
  Strip part{.group = group};
  part.in = run.in + plane / s.out(s.d) * s.in_pixels() * run.in_stride;
  part.z = plane % s.out(s.d) * s.d.stride - s.d.pad_before;
  part.taps_z = taps_inside(part.z, s.d);
  const long apart = pixels_apart(s.w);
  const long strips = (out_w + strip * apart - 1) / (strip * apart);  // of every apart-th pixel
  const bool is_far = s.in_pixels() * s.Cin + s.out_pixels() * s.Cout > far_floats;
  for (long c = 0; c < s.Cout; c += block_channels) {
    part.c = c;
    part.c_end = smaller(s.Cout, c + block_channels);
    for (long i = 0; i < apart * strips; i++) {
      const long x = part.x = i / strips + i % strips * strip * apart;
      if (x >= out_w) continue;
      part.pixels = static_cast<int>(smaller(strip, (out_w - x + apart - 1) / apart));
      const long first = x * s.w.stride - s.w.pad_before;
      const long last = first + (strip - 1) * apart * s.w.stride + (s.w.kernel - 1) * s.w.dilation;
      const bool inside = part.pixels == strip && first >= 0 && last < s.w.in;
      const auto run_strip = (inside ? inner : edge).run;
      for (part.row = begin; part.row < end; part.row++) {
        part.y = part.row % out_h * s.h.stride - s.h.pad_before;
        part.fetches = is_far && (part.row + 1) % out_h != 0;
        part.taps_y = taps_inside(part.y, s.h);
        run_strip(s, run, part);
      }
    }
  }
}

}  // namespace

bool runs_narrow_groups(const ConvShape& s) {
  const bool permutes_in_one_instruction = VL >= 8;
  const long in = s.Cin / s.groups, out = s.Cout / s.groups;
  return permutes_in_one_instruction && s.groups > 1 && in >= 1 && in <= out && out <= VL && VL % out == 0;
}

double narrow_groups_cost(const ConvShape& s) {
  const long taps = taps_at_once(s.w);
  const double permutations = taps == 1 ? 1 : static_cast<double>(s.w.stride) / static_cast<double>(taps);
  return s.flops() * (1 + 3 * permutations);
}

void narrow_group_rows(const ConvShape& s, const ConvRun& run, long row_begin, long row_end) {
  const long out_h = s.out(s.h);
  const long out_w = s.out(s.w);
  for (long begin = row_begin; begin < row_end;) {
    const long plane_end = (begin / out_h + 1) * out_h;
    const long end = smaller(smaller(row_end, plane_end), begin + band_rows);
    band_of_rows(s, run, begin, end);
    if (run.epilogue.hook) {
      run.epilogue.hook(run.epilogue.context, run.out + begin * out_w * run.out_stride, run.out_stride,
                        begin * out_w, (end - begin) * out_w, 0, s.Cout);
    }
    begin = end;
  }
}

}  // namespace tenon::cpu::TENON_ISA
