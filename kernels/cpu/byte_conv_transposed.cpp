// Outputs at the same place modulo the strides are a convolution of stride 1, whose results lie apart.
#include "kernels/cpu/byte_conv_transposed.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/conv_phases.h"
#include "kernels/cpu/row_epilogue.h"

namespace tenon::cpu {
namespace {

// A phase as an axis of a convolution of its taps.
ConvAxis axis_of(const ConvAxis& a, const AxisPhase& phase) {
  const auto offset = [&](long t) { return phase.offset[static_cast<std::size_t>(t)]; };
  const long last = phase.taps - 1;
  if (phase.taps == 0) return {.in = a.in, .kernel = 0};
  return {.in = a.in,
          .kernel = phase.taps,
          .pad_before = -offset(0),
          .pad_after = phase.count + offset(last) - a.in,
          .dilation = phase.taps > 1 ? offset(1) - offset(0) : 1};
}

struct Phase {
  AxisPhase h, w;
  Phase(const ConvShape& s, long y, long x) : h(s.h, s.out(s.h), y), w(s.w, s.out(s.w), x) {}

  ConvShape shape(const ConvShape& s) const {
    return {.N = s.N, .Cin = s.Cin, .Cout = s.Cout, .h = axis_of(s.h, h), .w = axis_of(s.w, w)};
  }
  bool is_empty() const { return h.count == 0 || w.count == 0; }
};

// body(phase, its shape, words of packed filters before it); small results leave phases without outputs.
template <class Body>
void each_phase(const ConvShape& s, Body body) {
  long packed = 0;
  for (long y = 0; y < s.h.stride; y++)
    for (long x = 0; x < s.w.stride; x++) {
      const Phase phase(s, y, x);
      const ConvShape shape = phase.shape(s);
      body(phase, shape, packed);
      packed += byte_conv_packed_size(shape);
    }
}

long result_size(const ConvShape& s) { return s.N * s.out_pixels() * s.Cout; }

}  // namespace

bool byte_conv_transposed_supports(const ConvShape& s) {
  if (s.groups != 1 || std::max(s.h.kernel, s.w.kernel) > max_axis_taps) return false;
  bool all = true;
  each_phase(s, [&](const Phase& phase, const ConvShape& shape, long) {
    const auto fits = [](const ConvAxis& a) { return a.kernel > 0 && a.pad_before >= 0 && a.pad_after >= 0; };
    all &= phase.is_empty() || (fits(shape.h) && fits(shape.w) && byte_conv_supports(shape));
  });
  return all;
}

long byte_conv_transposed_packed_size(const ConvShape& s) {
  long size = 0;
  each_phase(s, [&](const Phase&, const ConvShape& shape, long before) {
    size = before + byte_conv_packed_size(shape);
  });
  return size;
}

void pack_byte_conv_transposed(const ConvShape& s, const QuantizedB& b, float* packed, ThreadPool& pool) {
  each_phase(s, [&](const Phase& phase, const ConvShape& shape, long before) {
    std::vector<std::int64_t> places;
    for (long c = 0; c < s.Cin; c++)
      for (std::size_t y = 0; y < static_cast<std::size_t>(phase.h.taps); y++)
        for (std::size_t x = 0; x < static_cast<std::size_t>(phase.w.taps); x++)
          places.push_back(b.k_offsets[c * s.taps() + phase.h.tap[y] * s.w.kernel + phase.w.tap[x]]);
    QuantizedB part = b;
    part.k_offsets = places.data();
    pack_byte_conv(shape, part, packed + before, pool);
  });
}

// Of a phase, and the result for a hook that writes it elsewhere.
long byte_conv_transposed_scratch_size(const ConvShape& s) {
  long largest = 0;
  each_phase(s, [&](const Phase& phase, const ConvShape& shape, long) {
    if (!phase.is_empty()) largest = std::max(largest, byte_conv_scratch_size(shape));
  });
  return largest + result_size(s);
}

void byte_conv_transposed(const ConvShape& s, const ByteConv& run, float* scratch, ThreadPool& pool) {
  const long out_w = s.out(s.w);
  ByteConv all = run;
  const bool codes = makes_codes(s, run.epilogue);
  if (!codes && !run.out) {
    all.out = scratch;
    all.out_stride = s.Cout;
    scratch += result_size(s);
  }
  if (!codes) {
    all.epilogue.hook = nullptr;
    all.epilogue.codes = nullptr;
  }
  each_phase(s, [&](const Phase& phase, const ConvShape& shape, long before) {
    if (phase.is_empty()) return;
    const long first = phase.h.first * out_w + phase.w.first;
    ByteConv part = all;
    part.packed += before;
    part.first_row = first;
    if (part.out) part.out += first * all.out_stride;
    part.out_rows = {.width = phase.w.count,
                     .height = phase.h.count,
                     .x_stride = s.w.stride,
                     .y_stride = s.h.stride * out_w,
                     .n_stride = s.out_pixels()};
    part.epilogue = all.epilogue.from(first, 0);
    byte_conv(shape, part, scratch, pool);
  });
  if (run.epilogue.hook && !codes)
    run_hook(run.epilogue, all.out, all.out_stride, {.rows = s.N * s.out_pixels(), .cols = s.Cout}, pool);
}

}  // namespace tenon::cpu
