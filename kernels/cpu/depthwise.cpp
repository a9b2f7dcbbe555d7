// Depthwise convolution: the weights of a kernel row and a strip of output pixels are kept in registers, and
// vectors run over channels. Built once per ISA.
#include "kernels/cpu/depthwise.h"

#include "kernels/cpu/activation.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long smaller(long a, long b) { return a < b ? a : b; }
constexpr long larger(long a, long b) { return a > b ? a : b; }

// Output pixels of a strip: their sums, a kernel row and a pixel of the input fit the registers.
constexpr int strip = vector_registers == 32 ? 14 : 6;
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

// Pixels x .. x + pixels of one output row, in channels c .. c_end.
struct Strip {
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

// Asks for what the strip below is the first to read, in channels from c on: `columns` columns of the input
// rows under the taps of this one. And for the pixels that it writes. The strips of a band jump from row to
// row, which no hardware foresees.
template <int columns>
TENON_INLINE void fetch_next_row(const ConvShape& s, const ConvRun& run, const Strip& part, long apart,
                                 long c) {
  for_each_apart<strip>(
      run.out + ((part.row + 1) * s.out(s.w) + part.x) * run.out_stride + c, run.out_stride,
      [](int, const float* p) __attribute__((always_inline)) { __builtin_prefetch(p, 1); });
  const long row = s.w.in * run.in_stride, plane = s.h.in * row;
  const long below = part.y + (s.h.kernel - 1) * s.h.dilation + 1;
  const long rows = smaller(s.h.in, below + s.h.stride) - below;
  const float* const in = part.in + below * row + (part.x * s.w.stride - s.w.pad_before) * run.in_stride + c;
  const float* const last = in + (part.z + (part.taps_z.end - 1) * s.d.dilation) * plane;
  for (long y = 0; y < rows; y++)
    for_each_apart<columns>(
        last + y * row, apart,
        [](int, const float* p) __attribute__((always_inline)) { __builtin_prefetch(p, 0, 2); });
}

// A vector of channels from c on. K taps of a kernel row are taken at once, S input pixels apart for the next
// output pixel: all of it, or one. Edge: pixels or columns of the input may lie outside.
template <int K, int S, bool Edge>
TENON_INLINE void run_vector(const ConvShape& s, const ConvRun& run, const Strip& part, long c, int lanes) {
  constexpr int columns = (strip - 1) * S + K;
  const Epilogue& e = run.epilogue;
  const long out_pixel = part.row * s.out(s.w) + part.x;
  const int pixels = Edge ? part.pixels : strip;
  // A single tap reads every stride-th pixel.
  const long step = K == 1 ? s.w.stride : 1;
  const long apart = step * run.in_stride;
  const long kernel_w = K == 1 ? s.w.kernel : K;
  if (part.fetches) fetch_next_row<columns>(s, run, part, apart, c);
  vf sum[1][strip];
  const vf bias = e.bias ? load_lanes(e.bias + c, lanes) : vf{};
  TENON_UNROLL
  for (int i = 0; i < strip; i++) sum[0][i] = bias;
  for (long kz = part.taps_z.begin; kz < part.taps_z.end; kz++) {
    const float* const plane = part.in + (part.z + kz * s.d.dilation) * s.h.in * s.w.in * run.in_stride + c;
    for (long ky = part.taps_y.begin; ky < part.taps_y.end; ky++) {
      const float* const in = plane + (part.y + ky * s.h.dilation) * s.w.in * run.in_stride;
      const float* w = run.packed + (kz * s.h.kernel + ky) * kernel_w * s.Cin + c;
      for (long kx = 0; kx < kernel_w; kx += K, w += K * s.Cin) {
        const long first = part.x * s.w.stride - s.w.pad_before + kx * s.w.dilation;
        long begin = 0, end = columns;
        if constexpr (Edge) {
          end = (pixels - 1) * S + K;
          while (begin < end && first + begin * step < 0) begin++;
          while (end > begin && first + (end - 1) * step >= s.w.in) end--;
        }
        vf weight[K];
        TENON_UNROLL
        for (int k = 0; k < K; k++) weight[k] = load_lanes(w + k * s.Cin, lanes);
        for_each_apart<columns>(
            in + first * run.in_stride, apart, [&](int i, const float* p) __attribute__((always_inline)) {
              if (Edge && (i < begin || i >= end)) return;
              const vf v = load_lanes(p, lanes);
              TENON_UNROLL
              for (int k = 0; k < K; k++) {
                if ((i - k) % S == 0 && i >= k && (i - k) / S < strip) sum[0][(i - k) / S] += v * weight[k];
              }
            });
      }
    }
  }
  if (e.residual) {
    for_each_apart<strip>(
        e.residual + out_pixel * e.residual_stride + c,
        e.residual_stride, [&](int i, const float* p) __attribute__((always_inline)) {
          if (i < pixels) sum[0][i] += load_lanes(p, lanes);
        });
  }
  activate_vectors(e.activation, sum);
  for_each_apart<strip>(
      run.out + out_pixel * run.out_stride + c,
      run.out_stride, [&](int i, float* p) __attribute__((always_inline)) {
        if (i < pixels) store_lanes(p, sum[0][i], lanes);
      });
}

template <int K, int S, bool Edge>
__attribute__((noinline)) void run_strip(const ConvShape& s, const ConvRun& run, const Strip& part) {
  long c = part.c;
  for (; c + VL <= part.c_end; c += VL) run_vector<K, S, Edge>(s, run, part, c, VL);
  if (c < part.c_end) run_vector<K, S, Edge>(s, run, part, c, static_cast<int>(part.c_end - c));
  const Epilogue& e = run.epilogue;
  if (!leaves_rows(e.activation, e.added)) return;
  long out_row[strip], added_row[strip];
  for (int i = 0; i < part.pixels; i++) {
    out_row[i] = i * run.out_stride;
    added_row[i] = i * e.added_stride;
  }
  const long out_pixel = part.row * s.out(s.w) + part.x;
  float* const out = run.out + out_pixel * run.out_stride + part.c;
  const float* const added = e.added ? e.added + out_pixel * e.added_stride + part.c : nullptr;
  finish_rows(e.activation, {out, out_row, added, added_row, part.pixels, part.c_end - part.c});
}

using RunStrip = void (*)(const ConvShape&, const ConvRun&, const Strip&);
template <bool Edge>
RunStrip strip_kernel(const ConvAxis& w) {
  if (w.dilation == 1 && w.stride == 1) {
    switch (w.kernel) {
      case 3: return run_strip<3, 1, Edge>;
      case 5: return run_strip<5, 1, Edge>;
      case 7: return run_strip<7, 1, Edge>;
      case 9: return run_strip<9, 1, Edge>;
      default: break;
    }
  }
  if (w.dilation == 1 && w.stride == 2) {
    switch (w.kernel) {
      case 3: return run_strip<3, 2, Edge>;
      case 5: return run_strip<5, 2, Edge>;
      case 7: return run_strip<7, 2, Edge>;
      case 9: return run_strip<9, 2, Edge>;
      default: break;
    }
  }
  return run_strip<1, 1, Edge>;
}

// Output rows [begin, end) of one plane, of which there are few.
void band_of_rows(const ConvShape& s, const ConvRun& run, long begin, long end) {
  const long out_h = s.out(s.h);
  const long out_w = s.out(s.w);
  const RunStrip inner = strip_kernel<false>(s.w), edge = strip_kernel<true>(s.w);
  const long plane = begin / out_h;
  Strip part{};
  part.in = run.in + plane / s.out(s.d) * s.in_pixels() * run.in_stride;
  part.z = plane % s.out(s.d) * s.d.stride - s.d.pad_before;
  part.taps_z = taps_inside(part.z, s.d);
  const bool is_far = s.in_pixels() * s.Cin + s.out_pixels() * s.Cout > far_floats;
  for (long c = 0; c < s.Cin; c += block_channels) {
    part.c = c;
    part.c_end = smaller(s.Cin, c + block_channels);
    for (long x = 0; x < out_w; x += strip) {
      part.x = x;
      part.pixels = static_cast<int>(smaller(strip, out_w - x));
      const long first = x * s.w.stride - s.w.pad_before;
      const long last = first + (strip - 1) * s.w.stride + (s.w.kernel - 1) * s.w.dilation;
      const bool inside = part.pixels == strip && first >= 0 && last < s.w.in;
      const RunStrip run_strip = inside ? inner : edge;
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

void depthwise_rows(const ConvShape& s, const ConvRun& run, long row_begin, long row_end) {
  const long out_h = s.out(s.h);
  const long out_w = s.out(s.w);
  for (long begin = row_begin; begin < row_end;) {
    const long plane_end = (begin / out_h + 1) * out_h;
    const long end = smaller(smaller(row_end, plane_end), begin + band_rows);
    band_of_rows(s, run, begin, end);
    if (run.epilogue.hook) {
      run.epilogue.hook(run.epilogue.context, run.out + begin * out_w * run.out_stride, run.out_stride,
                        begin * out_w, (end - begin) * out_w, 0, s.Cin);
    }
    begin = end;
  }
}

}  // namespace tenon::cpu::TENON_ISA
