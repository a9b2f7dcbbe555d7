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

// What of a strip lies outside: of its vectors of channels only lanes, or pixels and columns of the input,
// too.
enum class Cut { none, lanes, edge };

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
};

// K taps of a kernel row are taken at once, S input pixels apart for the next output pixel: all of it, or
// one.
template <int K, int S, Cut cut>
__attribute__((noinline)) void run_strip(const ConvShape& s, const ConvRun& run, const Strip& part) {
  constexpr int columns = (strip - 1) * S + K;
  constexpr bool Edge = cut == Cut::edge;
  const Epilogue& e = run.epilogue;
  const long out_pixel = part.row * s.out(s.w) + part.x;
  const int pixels = Edge ? part.pixels : strip;
  // A single tap reads every stride-th pixel.
  const long step = K == 1 ? s.w.stride : 1;
  long out_row[strip], added_row[strip];
  for (int i = 0; i < strip; i++) {
    out_row[i] = i * run.out_stride;
    added_row[i] = i * e.added_stride;
  }
  for (long c = part.c; c < part.c_end; c += VL) {
    const int lanes = cut == Cut::none ? VL : static_cast<int>(smaller(VL, part.c_end - c));
    vf sum[1][strip];
    const vf bias = e.bias ? load_lanes(e.bias + c, lanes) : vf{};
    TENON_UNROLL
    for (int i = 0; i < strip; i++) sum[0][i] = bias;
    for (long kz = part.taps_z.begin; kz < part.taps_z.end; kz++) {
      const float* const plane = part.in + (part.z + kz * s.d.dilation) * s.h.in * s.w.in * run.in_stride + c;
      for (long ky = part.taps_y.begin; ky < part.taps_y.end; ky++) {
        const float* const in = plane + (part.y + ky * s.h.dilation) * s.w.in * run.in_stride;
        const float* w = run.packed + (kz * s.h.kernel + ky) * s.w.kernel * s.Cin + c;
        for (long kx = 0; kx < s.w.kernel; kx += K, w += K * s.Cin) {
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
          const float* const p = in + first * run.in_stride;
#pragma GCC unroll 64
          for (int i = 0; i < columns; i++) {
            if (Edge && (i < begin || i >= end)) continue;
            const vf v = load_lanes(p + i * step * run.in_stride, lanes);
            TENON_UNROLL
            for (int k = 0; k < K; k++) {
              if ((i - k) % S == 0 && i >= k && (i - k) / S < strip) sum[0][(i - k) / S] += v * weight[k];
            }
          }
        }
      }
    }
    if (e.residual) {
      const float* const residual = e.residual + out_pixel * e.residual_stride + c;
      TENON_UNROLL
      for (int i = 0; i < strip; i++) {
        if (i < pixels) sum[0][i] += load_lanes(residual + i * e.residual_stride, lanes);
      }
    }
    activate_vectors(e.activation, sum);
    float* const out = run.out + out_pixel * run.out_stride + c;
    TENON_UNROLL
    for (int i = 0; i < strip; i++) {
      if (i < pixels) store_lanes(out + i * run.out_stride, sum[0][i], lanes);
    }
    if (leaves_rows(e.activation, e.added)) {
      const float* const added = e.added ? e.added + out_pixel * e.added_stride + c : nullptr;
      finish_rows(e.activation, {out, out_row, added, added_row, pixels, lanes});
    }
  }
}

using RunStrip = void (*)(const ConvShape&, const ConvRun&, const Strip&);
template <Cut cut>
RunStrip strip_kernel(const ConvAxis& w) {
  if (w.dilation == 1 && w.stride == 1) {
    switch (w.kernel) {
      case 3: return run_strip<3, 1, cut>;
      case 5: return run_strip<5, 1, cut>;
      case 7: return run_strip<7, 1, cut>;
      case 9: return run_strip<9, 1, cut>;
      default: break;
    }
  }
  if (w.dilation == 1 && w.stride == 2) {
    switch (w.kernel) {
      case 3: return run_strip<3, 2, cut>;
      case 5: return run_strip<5, 2, cut>;
      case 7: return run_strip<7, 2, cut>;
      case 9: return run_strip<9, 2, cut>;
      default: break;
    }
  }
  return run_strip<1, 1, cut>;
}

// Output rows [begin, end) of one plane, of which there are few.
void band_of_rows(const ConvShape& s, const ConvRun& run, long begin, long end) {
  const long out_h = s.out(s.h);
  const long out_w = s.out(s.w);
  const RunStrip whole = strip_kernel<Cut::none>(s.w), lanes = strip_kernel<Cut::lanes>(s.w),
                 edge = strip_kernel<Cut::edge>(s.w);
  const long plane = begin / out_h;
  Strip part{};
  part.in = run.in + plane / s.out(s.d) * s.in_pixels() * run.in_stride;
  part.z = plane % s.out(s.d) * s.d.stride - s.d.pad_before;
  part.taps_z = taps_inside(part.z, s.d);
  for (long c = 0; c < s.Cin; c += block_channels) {
    part.c = c;
    part.c_end = smaller(s.Cin, c + block_channels);
    for (long x = 0; x < out_w; x += strip) {
      part.x = x;
      part.pixels = static_cast<int>(smaller(strip, out_w - x));
      const long first = x * s.w.stride - s.w.pad_before;
      const long last = first + (strip - 1) * s.w.stride + (s.w.kernel - 1) * s.w.dilation;
      const bool inside = part.pixels == strip && first >= 0 && last < s.w.in;
      const RunStrip run_strip = !inside ? edge : (part.c_end - c) % VL == 0 ? whole : lanes;
      for (part.row = begin; part.row < end; part.row++) {
        part.y = part.row % out_h * s.h.stride - s.h.pad_before;
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
