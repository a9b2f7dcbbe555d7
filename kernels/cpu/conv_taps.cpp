// A convolution tap by tap: each is a product of the outputs for which it reads the image, and adds to the
// result. The last one reads the image for every output, and has the epilogue.
#include "kernels/cpu/conv_taps.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "kernels/cpu/row_gemm_parallel.h"

namespace tenon::cpu {
namespace {

// Outputs of an axis for which a tap reads the image: `count` from `first` on, which reads input `from`.
struct Span {
  long first;
  long count;
  long from;
};

Span outputs_of(const ConvAxis& a, long out, long tap) {
  const long offset = tap * a.dilation - a.pad_before;
  const long first = offset < 0 ? (-offset + a.stride - 1) / a.stride : 0;
  const long end = offset < a.in ? std::min(out, (a.in - 1 - offset) / a.stride + 1) : 0;
  return {first, std::max(0L, end - first), first * a.stride + offset};
}

struct Tap {
  long index;  // in the order of the weights
  Span d, h, w;

  long outputs() const { return d.count * h.count * w.count; }
};

template <class Body>
void each_tap(const ConvShape& s, Body body) {
  long index = 0;
  for (long z = 0; z < s.d.kernel; z++)
    for (long y = 0; y < s.h.kernel; y++)
      for (long x = 0; x < s.w.kernel; x++)
        body(Tap{index++, outputs_of(s.d, s.out(s.d), z), outputs_of(s.h, s.out(s.h), y),
                 outputs_of(s.w, s.out(s.w), x)});
}

std::optional<Tap> covering_tap(const ConvShape& s) {
  std::optional<Tap> found;
  each_tap(s, [&](const Tap& tap) {
    if (!found && tap.outputs() == s.out_pixels()) found = tap;
  });
  return found;
}

// What the taps add to: the residual, or zeros.
void begin_sums(const ConvRun& run, long rows, long cols, ThreadPool& pool) {
  const Epilogue& e = run.epilogue;
  if (e.residual == run.out) return;
  constexpr long floats_per_chunk = 16384;
  const long step = std::max(1L, floats_per_chunk / cols);
  pool.parallel_for((rows + step - 1) / step, [&](long chunk, int) {
    for (long row = chunk * step; row < std::min(rows, (chunk + 1) * step); row++) {
      float* const to = run.out + row * run.out_stride;
      if (e.residual)
        std::copy_n(e.residual + row * e.residual_stride, cols, to);
      else
        std::fill_n(to, cols, 0.0f);
    }
  });
}

// The product of one tap for `planes` planes: of depth, or of the batch.
RowGemm product_of(const ConvShape& s, const ConvRun& run, const Tap& tap, long planes) {
  const bool flat = s.d.trivial();
  const long row = s.w.in * run.in_stride, plane = s.h.in * row;
  RowGemm g;
  g.schedule = run.schedule;
  g.rows = planes * tap.h.count * tap.w.count;
  g.cols = s.Cout;
  g.a = run.in + tap.d.from * plane + tap.h.from * row + tap.w.from * run.in_stride;
  g.a_rows = {.width = tap.w.count,
              .height = tap.h.count,
              .x_stride = s.w.stride * run.in_stride,
              .y_stride = s.h.stride * row,
              .n_stride = (flat ? 1 : s.d.stride) * plane};
  g.run_length = s.Cin;
  g.b = run.packed + tap.index * packed_panels_size(s.Cin, s.Cout);
  g.b_row_stride = row_gemm_tile().cols;
  g.b_panel_stride = panel_size(s.Cin);
  g.c_stride = run.out_stride;
  return g;
}

void run_planes(const ConvShape& s, const ConvRun& run, const Tap& last, long first_pixel, long planes,
                ThreadPool& pool) {
  const bool flat = s.d.trivial();
  const long out_w = s.out(s.w), out_h = s.out(s.h);
  each_tap(s, [&](const Tap& tap) {
    if (tap.index == last.index || tap.outputs() == 0) return;
    RowGemm g = product_of(s, run, tap, flat ? planes : tap.d.count);
    g.c = run.out + ((tap.d.first * out_h + tap.h.first) * out_w + tap.w.first) * run.out_stride;
    g.c_rows = {.width = tap.w.count,
                .height = tap.h.count,
                .x_stride = 1,
                .y_stride = out_w,
                .n_stride = out_h * out_w};
    g.epilogue = {.residual = g.c, .residual_stride = run.out_stride};
    run_row_gemm(g, pool);
  });
  RowGemm g = product_of(s, run, last, flat ? planes : last.d.count);
  g.c = run.out;
  g.c_rows.x_stride = 1;
  g.epilogue = run.epilogue.from(first_pixel, 0);
  g.epilogue.residual = run.out;
  g.epilogue.residual_stride = run.out_stride;
  g.hook_row = run.first_row + first_pixel;
  run_row_gemm(g, pool);
}

}  // namespace

double conv_taps_flops(const ConvShape& s) {
  double outputs = 0;
  each_tap(s, [&](const Tap& tap) { outputs += static_cast<double>(tap.outputs()); });
  return 2 * outputs * static_cast<double>(s.N * s.Cin / s.groups * s.Cout);
}

bool conv_taps_cover(const ConvShape& s) { return covering_tap(s).has_value(); }

long conv_taps_packed_size(const ConvShape& s) { return s.taps() * packed_panels_size(s.Cin, s.Cout); }

void pack_conv_taps(const ConvShape& s, const float* weights, float* packed, ThreadPool& pool) {
  const long taps = s.taps(), width = row_gemm_tile().cols;
  const long panels = (s.Cout + width - 1) / width;
  pool.parallel_for(taps * panels, [&](long i, int) {
    float* p = packed + i * panel_size(s.Cin);
    const long first = i % panels * width;
    for (long k = 0; k < s.Cin; k++) {
      const float* const w = weights + (first * s.Cin + k) * taps + i / panels;
      for (long c = 0; c < width; c++) *p++ = first + c < s.Cout ? w[c * s.Cin * taps] : 0.0f;
    }
  });
}

void conv_taps(const ConvShape& s, const ConvRun& run, ThreadPool& pool) {
  const std::optional<Tap> last = covering_tap(s);
  TENON_CHECK(last.has_value());
  begin_sums(run, s.N * s.out_pixels(), s.Cout, pool);
  if (s.d.trivial()) return run_planes(s, run, *last, 0, s.N, pool);
  for (long n = 0; n < s.N; n++) {
    ConvRun image = run;
    image.in += n * s.in_pixels() * run.in_stride;
    image.out += n * s.out_pixels() * run.out_stride;
    run_planes(s, image, *last, n * s.out_pixels(), s.out(s.d), pool);
  }
}

}  // namespace tenon::cpu
