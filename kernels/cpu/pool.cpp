// Pooling: finds the window of every output pixel and calls the window kernel of the ISA.
#include "kernels/cpu/pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tenon::cpu {
namespace {

// The part of a window inside the image, in input positions: first, first + step, ...
struct Span {
  long first;
  long count;
  long step;
};

// pixel(window, channels, z, y, x) for every output pixel, shared out by rows. `spans` holds a function from
// an output position to its Span for each axis. Pixels whose windows are as large and evenly apart are one
// call, with the first x; where they lie one behind the other, they are more channels of one window.
template <class Spans, class Pixel>
void each_pixel(const PoolShape& s, const long (&out)[3], const PoolRun& run, const Spans& spans, Pixel pixel,
                ThreadPool& pool) {
  const long rows = s.N * out[0] * out[1];
  constexpr long floats_per_chunk = 16384;
  const long row_floats = std::max(1L, s.w.in * std::max(1L, s.h.in / std::max(1L, out[1])) * s.C);
  const long step = std::max(1L, floats_per_chunk / row_floats);
  const auto size = static_cast<long>(size_of(run.type));
  const auto* const in = static_cast<const std::byte*>(run.in);
  auto* const result = static_cast<std::byte*>(run.out);
  const bool is_dense = run.in_stride == s.C && run.out_stride == s.C;
  pool.parallel_for((rows + step - 1) / step, [&](long chunk, int) {
    for (long r = chunk * step; r < std::min(rows, (chunk + 1) * step); r++) {
      const long y = r % out[1];
      const long z = r / out[1] % out[0];
      const long n = r / (out[0] * out[1]);
      const Span d = spans.d(z), h = spans.h(y);
      // Made once a row: to make it takes as long as a small window.
      PoolWindow window{
          .counts = {d.count, h.count, 0},
          .strides = {d.step * s.h.in * s.w.in * run.in_stride, h.step * s.w.in * run.in_stride, 0},
          .scale = 1,
          .type = run.type,
          .place_steps = {d.step * s.h.in * s.w.in, h.step * s.w.in, 0}};
      for (long x = 0, next = 0; x < out[2]; x = next) {
        const Span w = spans.w(x);
        long apart = 0;
        for (next = x + 1; !run.places && next < out[2]; next++) {
          const Span other = spans.w(next);
          if (next == x + 1) apart = other.first - w.first;
          // Of windows that begin at one place the padding may differ.
          if (apart == 0 || other.first != w.first + (next - x) * apart || other.count != w.count) break;
        }
        const bool are_channels = is_dense && apart == 1;
        window.place = (d.first * s.h.in + h.first) * s.w.in + w.first;
        window.in = in + (n * s.in_pixels() + window.place) * run.in_stride * size;
        window.counts[2] = w.count;
        window.strides[2] = w.step * run.in_stride;
        window.out = result + (r * out[2] + x) * run.out_stride * size;
        window.places = run.places + (r * out[2] + x) * run.places_stride;
        window.place_steps[2] = w.step;
        window.windows = are_channels ? 1 : next - x;
        window.in_step = apart * run.in_stride * size;
        window.out_step = run.out_stride * size;
        pixel(window, are_channels ? (next - x) * s.C : s.C, z, y, x);
      }
    }
  });
}

/// A last axis without windows whose pixels lie one behind the other is part of the channels: vectors are
/// made of those.
PoolShape with_axes_as_channels(PoolShape s, PoolRun& run) {
  for (int axis = 0; axis < 2 && !s.w.has_windows() && !run.places; ++axis) {
    if (run.in_stride != s.C || run.out_stride != s.C) break;
    run.in_stride = run.out_stride = s.C *= s.w.in;
    s.w = s.h;
    s.h = s.d;
    s.d = {};
  }
  return s;
}

// Steps of the dilation that reach this far. Most windows have none, and a division takes as long as a small
// window.
long steps(const PoolAxis& a, long reach) {
  return a.dilation == 1 ? reach : (reach + a.dilation - 1) / a.dilation;
}

struct AxisSpan {
  const PoolAxis& a;
  Span operator()(long o) const {
    long first = o * a.stride - a.pad;
    const long skipped = first < 0 ? steps(a, -first) : 0;
    first += skipped * a.dilation;
    const long inside = first < a.in ? steps(a, a.in - first) : 0;
    return {first, std::clamp(a.kernel - skipped, 0L, inside), a.dilation};
  }
};

struct AdaptiveSpan {
  long in;
  long out;
  Span operator()(long o) const {
    const long first = o * in / out;
    const long end = ((o + 1) * in + out - 1) / out;
    return {first, end - first, 1};
  }
};

// Of the three axes.
template <class Span>
struct Spans {
  Span d;
  Span h;
  Span w;
};
Spans<AxisSpan> spans_of(const PoolShape& s) { return {{s.d}, {s.h}, {s.w}}; }
Spans<AdaptiveSpan> adaptive_spans(const PoolShape& s, long out_d, long out_h, long out_w) {
  return {{s.d.in, out_d}, {s.h.in, out_h}, {s.w.in, out_w}};
}

// Positions of a window that count for the divisor if padding counts: PyTorch cuts them at the padded image.
long padded_count(const PoolAxis& a, long o) {
  const long first = o * a.stride - a.pad;
  return std::min(first + a.kernel, a.in + a.pad + a.pad_more) - first;
}

}  // namespace

void max_pool(const PoolShape& shape, const PoolRun& given, ThreadPool& pool) {
  PoolRun run = given;
  const PoolShape s = with_axes_as_channels(shape, run);
  const auto pixel = [&](const PoolWindow& w, long channels, long, long, long) {
    run.places ? place_of_maximum(w, channels) : max_of_window(w, channels);
  };
  each_pixel(s, {s.d.out(), s.h.out(), s.w.out()}, run, spans_of(s), pixel, pool);
}

bool pools_rows(const PoolAxis& a, DType type) {
  constexpr long most_steps = 4;
  return (type == DType::f32 || type == DType::f64) && a.stride <= most_steps &&
         (a.kernel - 1) * a.dilation <= most_of_row_windows / 4;
}

void max_pool_rows(const PoolAxis& a, const PoolRows& run, ThreadPool& pool) {
  const long out = a.out();
  const long together = (most_of_row_windows - (a.kernel - 1) * a.dilation - 1) / a.stride + 1;  // windows
  constexpr long elements_per_chunk = 16384;
  const long step = std::max(1L, elements_per_chunk / std::max(1L, a.in));
  const auto size = static_cast<long>(size_of(run.type));
  pool.parallel_for((run.rows + step - 1) / step, [&](long chunk, int) {
    const long row = chunk * step;
    for (long o = 0; o < out; o += together) {
      const long first = o * a.stride - a.pad;
      max_of_row_windows({.in = static_cast<const std::byte*>(run.in) + (row * a.in + first) * size,
                          .in_stride = a.in,
                          .begin = -first,
                          .end = a.in - first,
                          .out = static_cast<std::byte*>(run.out) + (row * out + o) * size,
                          .out_stride = out,
                          .rows = std::min(step, run.rows - row),
                          .count = std::min(together, out - o),
                          .kernel = a.kernel,
                          .stride = a.stride,
                          .dilation = a.dilation,
                          .type = run.type});
    }
  });
}

void avg_pool(const PoolShape& shape, const AvgPoolOptions& options, const PoolRun& given, ThreadPool& pool) {
  PoolRun run = given;
  const PoolShape s = with_axes_as_channels(shape, run);
  const auto pixel = [&](PoolWindow& w, long channels, long z, long y, long x) {
    long divisor = w.counts[0] * w.counts[1] * w.counts[2];
    if (options.count_include_pad)
      divisor = padded_count(s.d, z) * padded_count(s.h, y) * padded_count(s.w, x);
    if (options.divisor_override != 0) divisor = options.divisor_override;
    w.scale = 1.0 / static_cast<double>(divisor);
    mean_of_window(w, channels);
  };
  each_pixel(s, {s.d.out(), s.h.out(), s.w.out()}, run, spans_of(s), pixel, pool);
}

void adaptive_avg_pool(const PoolShape& s, long out_d, long out_h, long out_w, const PoolRun& run,
                       ThreadPool& pool) {
  const auto pixel = [&](PoolWindow& w, long channels, long, long, long) {
    w.scale = 1.0 / static_cast<double>(w.counts[0] * w.counts[1] * w.counts[2]);
    mean_of_window(w, channels);
  };
  each_pixel(s, {out_d, out_h, out_w}, run, adaptive_spans(s, out_d, out_h, out_w), pixel, pool);
}

void adaptive_max_pool(const PoolShape& s, long out_d, long out_h, long out_w, const PoolRun& run,
                       ThreadPool& pool) {
  const auto pixel = [&](const PoolWindow& w, long channels, long, long, long) {
    run.places ? place_of_maximum(w, channels) : max_of_window(w, channels);
  };
  each_pixel(s, {out_d, out_h, out_w}, run, adaptive_spans(s, out_d, out_h, out_w), pixel, pool);
}

}  // namespace tenon::cpu
