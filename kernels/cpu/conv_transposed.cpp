// Transposed convolution: outputs at the same position modulo the stride use the same taps, so each such
// phase is a stride-1 convolution of the input whose results are scattered over the output with the stride.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "kernels/cpu/conv_gemm.h"
#include "kernels/cpu/conv_halo.h"
#include "kernels/cpu/conv_phases.h"
#include "kernels/cpu/row_epilogue.h"
#include "kernels/cpu/row_gemm_parallel.h"
#include "kernels/cpu/transpose.h"

namespace tenon::cpu {
namespace {

// The padding that lets every phase of the axis read without bounds checks.
Padding padding_of(const ConvAxis& a, long out) {
  Padding p;
  for (long phase = 0; phase < a.stride; phase++) {
    const AxisPhase f(a, out, phase);
    for (long t = 0; t < f.taps && f.count > 0; t++) {
      const long offset = f.offset[static_cast<std::size_t>(t)];
      p.before = std::max(p.before, -offset);
      p.after = std::max(p.after, f.count - 1 + offset - (a.in - 1));
    }
  }
  return p;
}

long group_in(const ConvShape& s) { return s.Cin / s.groups; }
long group_out(const ConvShape& s) { return s.Cout / s.groups; }

// Elements of a pixel that a product reads: pairs of an odd number of channels end with a zero.
long run_of(const ConvShape& s, DType type) {
  const long in = group_in(s);
  return type == DType::bf16 ? in + in % 2 : in;
}

Halo halo_of(const ConvShape& s, long images, DType type) {
  const bool flat = s.d.trivial();
  return {.planes = flat ? images : s.d.in,
          .height = s.h.in,
          .width = s.w.in,
          .channels = s.Cin,
          .d = flat ? Padding{} : padding_of(s.d, s.out(s.d)),
          .h = padding_of(s.h, s.out(s.h)),
          .w = padding_of(s.w, s.out(s.w)),
          .zeros = s.groups * run_of(s, type) - s.Cin};
}

struct Phase {
  AxisPhase d;
  AxisPhase h;
  AxisPhase w;

  long taps() const { return d.taps * h.taps * w.taps; }
  // body(tap of the weights, t_d, t_h, t_w)
  template <class Body>
  void each_tap(const ConvShape& s, Body body) const {
    for (long z = 0; z < d.taps; z++) {
      for (long y = 0; y < h.taps; y++) {
        for (long x = 0; x < w.taps; x++) {
          const auto i = static_cast<std::size_t>(z);
          const auto j = static_cast<std::size_t>(y);
          const auto k = static_cast<std::size_t>(x);
          body((d.tap[i] * s.h.kernel + h.tap[j]) * s.w.kernel + w.tap[k], d.offset[i], h.offset[j],
               w.offset[k]);
        }
      }
    }
  }
};

bool packs_columns(const ConvShape& s, const Phase& phase, DType type) {
  return cpu::packs_columns(phase.taps(), group_in(s), group_out(s), type);
}

// Words of the packed weights of a group in a phase.
long packed_size(const ConvShape& s, const Phase& phase, DType type) {
  const long depth = phase.taps() * run_of(s, type);
  return packs_columns(s, phase, type) ? depth * group_out(s) : packed_panels_size(depth, group_out(s), type);
}

// body(phase, words of packed weights before it)
template <class Body>
void each_phase(const ConvShape& s, DType type, Body body) {
  long packed = 0;
  for (long z = 0; z < s.d.stride; z++) {
    const AxisPhase d(s.d, s.out(s.d), z);
    for (long y = 0; y < s.h.stride; y++) {
      const AxisPhase h(s.h, s.out(s.h), y);
      for (long x = 0; x < s.w.stride; x++) {
        const Phase phase{d, h, AxisPhase(s.w, s.out(s.w), x)};
        body(phase, packed);
        packed += s.groups * packed_size(s, phase, type);
      }
    }
  }
}

}  // namespace

bool conv_transposed_pairs(const ConvShape& s) { return s.groups == 1 || group_in(s) % 2 == 0; }

long conv_transposed_pairs_depth(const ConvShape& s) {
  long taps = 0;
  each_phase(s, DType::bf16, [&](const Phase& phase, long) { taps = std::max(taps, phase.taps()); });
  return taps * run_of(s, DType::bf16);
}

long conv_transposed_packed_size(const ConvShape& s, DType type) {
  long size = 0;
  each_phase(s, type, [&](const Phase& phase, long before) {
    size = before + s.groups * packed_size(s, phase, type);
  });
  return size;
}

namespace {

// A tap in the packed weights of its phase, which begin `before` words behind all and take `panel` words a
// panel; it is the tap `row` of a panel.
struct PackedTap {
  long tap;
  long before;
  long panel;
  long row;
};

// The phases that are packed by columns are packed by these; gives the taps of the others.
template <class PackColumns>
std::vector<PackedTap> taps_in_panels(const ConvShape& s, DType type, PackColumns pack_columns) {
  TENON_CHECK(std::max({s.d.kernel, s.h.kernel, s.w.kernel}) <= max_axis_taps);
  std::vector<PackedTap> taps;
  each_phase(s, type, [&](const Phase& phase, long before) {
    if (packs_columns(s, phase, type)) return pack_columns(phase, before);
    const long panel = panel_size(phase.taps() * run_of(s, type), type);
    long row = 0;
    phase.each_tap(s, [&](long tap, long, long, long) { taps.push_back({tap, before, panel, row++}); });
  });
  return taps;
}

// Panels, channel by channel, or pair by pair: rows(channel, first, cols, floats) finds, for columns [first,
// first + cols) of a group, the taps of each column, and may write them to `floats`.
template <class Rows>
void pack_panels(const ConvShape& s, const std::vector<PackedTap>& taps, DType type, float* packed,
                 ThreadPool& pool, Rows rows) {
  const long width = row_gemm_tile().cols;
  const long panels = (group_out(s) + width - 1) / width;
  const long of_row = type == DType::bf16 ? 2 : 1;  // channels
  const long rows_of_tap = run_of(s, type) / of_row;
  pool.parallel_for(taps.empty() ? 0 : s.groups * panels, [&](long i, int) {
    const long first = i % panels * width;
    const long cols = std::min(width, group_out(s) - first);
    std::vector<float> floats(static_cast<std::size_t>(s.taps() * cols));
    std::vector<float> by_tap(static_cast<std::size_t>(s.taps() * width));  // zeros behind the last column
    for (long row = 0; row < rows_of_tap; row++) {
      const float* const columns = rows(i / panels * group_in(s) + row * of_row, first, cols, floats.data());
      transpose_on_this_thread(cols, s.taps(), columns, s.taps(), by_tap.data(), width);
      for (const PackedTap& t : taps)
        std::copy_n(by_tap.data() + t.tap * width, width,
                    packed + t.before + i * t.panel + (t.row * rows_of_tap + row) * width);
    }
  });
}

// Pairs of a channel and the next one, where its group has one.
template <class T, class Pair>
void pack_pairs(const ConvShape& s, const T* weights, float* packed, ThreadPool& pool, Pair pair) {
  const auto none = [](const Phase&, long) {};
  const auto taps = taps_in_panels(s, DType::bf16, none);
  const auto rows = [&](long channel, long first, long cols, float* words) {
    const T* const w = weights + (channel * group_out(s) + first) * s.taps();
    const bool is_last = channel % group_in(s) == group_in(s) - 1;
    pair(w, is_last ? nullptr : w + group_out(s) * s.taps(), cols * s.taps(),
         reinterpret_cast<std::uint16_t*>(words));
    return words;
  };
  pack_panels(s, taps, DType::bf16, packed, pool, rows);
}

}  // namespace

void pack_conv_transposed(const ConvShape& s, const float* weights, float* packed, ThreadPool& pool,
                          DType type) {
  if (type == DType::bf16) {
    return pack_pairs(s, weights, packed, pool,
                      [](const float* first, const float* second, long count, std::uint16_t* to) {
                        for (long i = 0; i < count; i++) {
                          to[2 * i] = BFloat16(first[i]).bits;
                          to[2 * i + 1] = second ? BFloat16(second[i]).bits : 0;
                        }
                      });
  }
  const long in = group_in(s), out = group_out(s), taps = s.taps();
  const auto pack_columns = [&](const Phase& phase, long before) {
    float* p = packed + before;
    for (long i = 0; i < s.groups * out; i++) {
      phase.each_tap(s, [&](long tap, long, long, long) {
        const float* w = weights + (i / out * in * out + i % out) * taps + tap;
        for (long k = 0; k < in; k++) *p++ = w[k * out * taps];
      });
    }
  };
  const auto rows = [&](long channel, long first, long, float*) {
    return weights + (channel * out + first) * taps;
  };
  pack_panels(s, taps_in_panels(s, type, pack_columns), type, packed, pool, rows);
}

void pack_conv_transposed(const ConvShape& s, const std::uint16_t* weights, float* packed, ThreadPool& pool) {
  pack_pairs(s, weights, packed, pool,
             [](const std::uint16_t* first, const std::uint16_t* second, long count, std::uint16_t* to) {
               if (second) return interleave_rows(1, count, first, second - first, to, 0);
               for (long i = 0; i < count; i++) {
                 to[2 * i] = first[i];
                 to[2 * i + 1] = 0;
               }
             });
}

long conv_transposed_scratch_size(const ConvShape& s, DType type) {
  return halo_of(s, std::min(s.N, images_per_pass(s)), type).size();
}

namespace {

template <class T>
void run_passes(const ConvShape& s, const ConvRun& run, const T* in, ThreadPool& pool, DType type) {
  TENON_CHECK(s.taps() <= max_conv_taps);
  // Tiles of pairs round themselves. A hook sees all of the result in the end: its rows lie one behind the
  // other.
  const bool tiles_round = run.epilogue.rounded && type == DType::bf16;
  TENON_CHECK(!run.out_halves || !run.epilogue.hook || tiles_round);
  const long out_h = s.out(s.h);
  const long out_w = s.out(s.w);
  const bool flat = s.d.trivial();
  const long step = std::min(s.N, images_per_pass(s));
  for (long n = 0; n < s.N; n += step) {
    const Halo halo = halo_of(s, std::min(step, s.N - n), type);
    const ImageView<T> view = with_halo(halo, in + n * s.in_pixels() * run.in_stride, run.in_stride,
                                        reinterpret_cast<T*>(run.scratch), pool);
    const T* origin = view.data + halo.d.before * view.plane_stride + halo.h.before * view.row_stride +
                      halo.w.before * view.pixel_stride;
    each_phase(s, type, [&](const Phase& phase, long packed_before) {
      const bool fits = std::is_same_v<T, float> || phase.w.taps * run_of(s, type) <= RowGemm::max_depth;
      const bool row_is_one_run = phase.w.reads_one_run() && view.pixel_stride == run_of(s, type) && fits;
      const long taps_of_run = row_is_one_run ? phase.w.taps : 1;
      long offsets[max_conv_taps];
      long count = 0, taps = 0;
      phase.each_tap(s, [&](long, long z, long y, long x) {
        if (taps++ % taps_of_run == 0)
          offsets[count++] = z * view.plane_stride + y * view.row_stride + x * view.pixel_stride;
      });
      const long first_pixel =
          n * s.out_pixels() + (phase.d.first * out_h + phase.h.first) * out_w + phase.w.first;
      RowGemm g;
      g.schedule = run.schedule;
      g.rows = (flat ? halo.planes : phase.d.count) * phase.h.count * phase.w.count;
      g.cols = group_out(s);
      g.a_rows = {phase.w.count, phase.h.count, view.pixel_stride, view.row_stride, view.plane_stride};
      g.runs = count;
      g.run_offsets = offsets;
      g.run_length = taps_of_run * run_of(s, type);
      g.b_type = type;
      g.a_is_bf16 = run.in_is_bf16;
      g.by_columns = packs_columns(s, phase, type);
      g.b_row_stride = row_gemm_tile().cols;
      g.b_panel_stride = panel_size(g.depth(), type);
      g.c_stride = run.out_stride;
      g.c_rows = {phase.w.count, phase.h.count, s.w.stride, s.h.stride * out_w,
                  flat ? s.out_pixels() : s.d.stride * out_h * out_w};
      for (long i = 0; i < s.groups; i++) {
        const long channel = i * g.cols;
        if constexpr (std::is_same_v<T, float>)
          g.a = origin + i * group_in(s);
        else
          g.a_halves = origin + i * group_in(s);
        g.b = run.packed + packed_before + i * packed_size(s, phase, type);
        const long out = first_pixel * run.out_stride + channel;
        if (run.out_halves)
          g.c_halves = run.out_halves + out;
        else
          g.c = run.out + out;
        g.epilogue = run.epilogue.from(first_pixel, channel);
        if (!tiles_round) {
          g.epilogue.hook = nullptr;
          g.epilogue.rounded = nullptr;
        }
        run_row_gemm(g, pool);
      }
    });
  }
  if (run.epilogue.hook && !tiles_round)
    run_hook(run.epilogue, run.out, run.out_stride, {.rows = s.N * s.out_pixels(), .cols = s.Cout}, pool);
}

}  // namespace

void conv_transposed(const ConvShape& s, const ConvRun& run, ThreadPool& pool, DType type) {
  if (run.in_halves)
    run_passes(s, run, run.in_halves, pool, type);
  else
    run_passes(s, run, run.in, pool, type);
}

}  // namespace tenon::cpu
