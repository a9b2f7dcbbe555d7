// Depthwise convolution rows: vectors over channels, several pixels at once where no tap falls outside the
// image. Built once per ISA.
#include "kernels/cpu/depthwise.h"

#include "kernels/cpu/activation.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long smaller(long a, long b) { return a < b ? a : b; }
constexpr long larger(long a, long b) { return a > b ? a : b; }

// One output row: the taps that lie inside the image vertically, and the pixels where all do horizontally.
struct Row {
  const float* in;  // of the image
  float* out;
  const float* residual;
  const float* added;
  long y;  // input row of tap row 0
  long ky_begin;
  long ky_end;
};

// First tap inside the image, and one past the last, for taps at first + k * dilation.
struct TapRange {
  long begin;
  long end;
};
TapRange taps_inside(long first, const ConvAxis& a) {
  const long begin = first >= 0 ? 0 : (-first + a.dilation - 1) / a.dilation;
  const long end = first >= a.in ? 0 : (a.in - first + a.dilation - 1) / a.dilation;
  return {smaller(begin, a.kernel), larger(smaller(begin, a.kernel), smaller(end, a.kernel))};
}

template <bool Whole>
TENON_INLINE vf get(const float* p, int lanes) {
  if constexpr (Whole) return load(p);
  return load_partial(p, lanes);
}

// Pixels x .. x + Pixels of channels c .. c + VL. `taps` holds for all of them.
template <int Pixels, bool Whole>
TENON_INLINE void pixels(const ConvShape& s, const ConvRun& run, const Row& row, TapRange taps, long x,
                         long c, int lanes) {
  const Epilogue& e = run.epilogue;
  vf sum[1][Pixels];
  const vf bias = e.bias ? get<Whole>(e.bias + c, lanes) : vf{};
  TENON_UNROLL
  for (int i = 0; i < Pixels; i++) sum[0][i] = vf{};
  const long step = s.w.stride * run.in_stride;
  for (long ky = row.ky_begin; ky < row.ky_end; ky++) {
    const float* in =
        row.in + c + ((row.y + ky * s.h.dilation) * s.w.in + x * s.w.stride - s.w.pad_before) * run.in_stride;
    const float* w = run.packed + ky * s.w.kernel * s.Cin + c;
    for (long kx = taps.begin; kx < taps.end; kx++) {
      const vf weight = get<Whole>(w + kx * s.Cin, lanes);
      const float* p = in + kx * s.w.dilation * run.in_stride;
      TENON_UNROLL
      for (int i = 0; i < Pixels; i++) sum[0][i] += get<Whole>(p + i * step, lanes) * weight;
    }
  }
  TENON_UNROLL
  for (int i = 0; i < Pixels; i++) {
    sum[0][i] += bias;
    if (row.residual) sum[0][i] += get<Whole>(row.residual + (x + i) * e.residual_stride + c, lanes);
  }
  activate_vectors(e.activation, sum);
  float* const out = row.out + x * run.out_stride + c;
  TENON_UNROLL
  for (int i = 0; i < Pixels; i++) {
    if constexpr (Whole) {
      store(out + i * run.out_stride, sum[0][i]);
    } else {
      store_partial(out + i * run.out_stride, sum[0][i], lanes);
    }
  }
  if (!leaves_rows(e.activation, row.added)) return;
  long out_pixel[Pixels], added_pixel[Pixels];
  for (int i = 0; i < Pixels; i++) {
    out_pixel[i] = i * run.out_stride;
    added_pixel[i] = i * e.added_stride;
  }
  const float* added = row.added ? row.added + x * e.added_stride + c : nullptr;
  finish_rows(e.activation, {out, out_pixel, added, added_pixel, Pixels, lanes});
}

template <bool Whole>
void row_of_channels(const ConvShape& s, const ConvRun& run, const Row& row, long c, int lanes) {
  constexpr int block = 4;
  const long out_w = s.out(s.w);
  for (long x = 0; x < out_w;) {
    const TapRange taps = taps_inside(x * s.w.stride - s.w.pad_before, s.w);
    const bool inside =
        x + block <= out_w && taps.begin == 0 &&
        ((x + block - 1) * s.w.stride - s.w.pad_before) + (s.w.kernel - 1) * s.w.dilation < s.w.in;
    if (inside) {
      pixels<block, Whole>(s, run, row, {0, s.w.kernel}, x, c, lanes);
      x += block;
    } else {
      pixels<1, Whole>(s, run, row, taps, x, c, lanes);
      x++;
    }
  }
}

}  // namespace

void depthwise_rows(const ConvShape& s, const ConvRun& run, long row_begin, long row_end) {
  const long out_h = s.out(s.h);
  const long out_w = s.out(s.w);
  const Epilogue& e = run.epilogue;
  for (long r = row_begin; r < row_end; r++) {
    const long y = r % out_h * s.h.stride - s.h.pad_before;
    const TapRange taps = taps_inside(y, s.h);
    const Row row{.in = run.in + r / out_h * s.in_pixels() * run.in_stride,
                  .out = run.out + r * out_w * run.out_stride,
                  .residual = e.residual ? e.residual + r * out_w * e.residual_stride : nullptr,
                  .added = e.added ? e.added + r * out_w * e.added_stride : nullptr,
                  .y = y,
                  .ky_begin = taps.begin,
                  .ky_end = taps.end};
    long c = 0;
    for (; c + VL <= s.Cin; c += VL) row_of_channels<true>(s, run, row, c, VL);
    if (c < s.Cin) row_of_channels<false>(s, run, row, c, static_cast<int>(s.Cin - c));
    if (e.hook) e.hook(e.context, row.out, run.out_stride, r * out_w, out_w, 0, s.Cin);
  }
}

}  // namespace tenon::cpu::TENON_ISA
