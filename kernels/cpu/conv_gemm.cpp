// Convolution as a matrix product: row m of A is output pixel m, its depth the taps it reads, run by run, in
// place.
#include "kernels/cpu/conv_gemm.h"

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "kernels/cpu/conv_halo.h"
#include "kernels/cpu/conv_strips.h"
#include "kernels/cpu/row_gemm_parallel.h"
#include "kernels/cpu/transpose.h"

namespace tenon::cpu {
namespace {

// Are they one product, whose columns read their groups (RowGemm::group)?
bool reads_in_groups(const ConvShape& s, DType type) {
  const long in_each = s.Cin / s.groups;
  return type == DType::f32 && s.groups > 1 && in_each == s.Cout / s.groups &&
         row_gemm_runs_groups(in_each) && s.taps() * in_each <= RowGemm::max_depth;
}

// Other groups that are narrower than a vector of columns are merged. That costs nothing (the vector's lanes
// would be empty) and saves products.
struct Groups {
  bool one_product;
  long merged;  // original groups in one product
  long count;   // products
  long in;      // channels of one product
  long out;

  Groups(const ConvShape& s, Merge merge, DType type) : one_product(reads_in_groups(s, type)) {
    if (one_product) {
      merged = count = 1;
      in = s.Cin / s.groups;
      out = s.Cout;
      return;
    }
    const long out_each = s.Cout / s.groups;
    const long vector = row_gemm_tile().cols / 2;  // a panel is two vectors
    merged = merge == Merge::no ? 1 : std::clamp(vector / out_each, 1L, s.groups);
    while (s.groups % merged != 0) merged--;
    count = s.groups / merged;
    in = s.Cin / s.groups * merged;
    out = out_each * merged;
  }
};

// Does a row of taps end within a pair of bfloat16? Then it is one run, whose pixels lie one behind the
// other.
bool pads_rows(const ConvShape& s, DType type) { return type == DType::bf16 && s.Cin % 2 != 0; }

// Elements of a packed column.
long packed_depth(const ConvShape& s, long channels, DType type) {
  const long depth = s.taps() * channels;
  if (!pads_rows(s, type)) return depth;
  const long run = s.w.kernel * channels;
  return depth / run * (run + run % 2);
}

Halo halo_of(const ConvShape& s, long images, DType type) {
  const bool flat = s.d.trivial();
  return {.planes = flat ? images : s.d.in,
          .height = s.h.in,
          .width = s.w.in,
          .channels = s.Cin,
          .d = {s.d.pad_before, s.d.pad_after},
          .h = {s.h.pad_before, s.h.pad_after},
          .w = {s.w.pad_before, s.w.pad_after},
          .is_dense = pads_rows(s, type) && s.w.kernel > 1};
}

// The runs of contiguous elements that one output pixel reads, in the order of the packed weights.
struct Runs {
  long count = 0;
  long length = 0;
  long offsets[max_conv_taps];

  template <class T>
  Runs(const ConvShape& s, const Groups& groups, const ImageView<T>& view) {
    const bool fits = std::is_same_v<T, float> || s.w.kernel * groups.in <= RowGemm::max_depth;
    const bool row_is_one_run = s.w.dilation == 1 && view.pixel_stride == groups.in && fits;
    const long steps_w = row_is_one_run ? 1 : s.w.kernel;
    length = row_is_one_run ? s.w.kernel * groups.in : groups.in;
    for (long z = 0; z < s.d.kernel; z++) {
      for (long y = 0; y < s.h.kernel; y++) {
        for (long x = 0; x < steps_w; x++) {
          offsets[count++] = z * s.d.dilation * view.plane_stride + y * s.h.dilation * view.row_stride +
                             x * s.w.dilation * view.pixel_stride;
        }
      }
    }
  }
};

bool reads_pixels_in_order(const ConvShape& s, const Halo& halo) {
  return s.taps() == 1 && halo.empty() && s.w.stride == 1 && s.h.stride == 1 && s.d.stride == 1;
}

// The run of A is that of a dense image, as padded copies are.
bool packs_columns(const ConvShape& s, const Groups& g, DType type) {
  if (g.one_product) return false;
  const bool row_is_one_run = s.w.dilation == 1 && g.count == 1;
  return cpu::packs_columns(s.taps() / (row_is_one_run ? s.w.kernel : 1),
                            g.in * (row_is_one_run ? s.w.kernel : 1), g.out, type);
}

long packed_group_size(const ConvShape& s, const Groups& g, DType type) {
  if (packs_columns(s, g, type)) return s.taps() * g.in * g.out;
  return packed_panels_size(packed_depth(s, g.in, type), g.out, type);
}

// Columns of one product, whose merged groups stand apart.
void pack_columns(const ConvShape& s, const Groups& g, const float* weights, float* packed) {
  const long taps = s.taps(), in_each = s.Cin / s.groups, out_each = s.Cout / s.groups;
  if (g.merged > 1) std::fill_n(packed, taps * g.in * g.out, 0.0f);
  for (long c = 0; c < g.out; c++) {
    transpose_on_this_thread(in_each, taps, weights + c * in_each * taps, taps,
                             packed + c * taps * g.in + c / out_each * in_each, g.in);
  }
}

// A panel of floats in a 16-bit type. In bfloat16 each run of an odd length ends with a zero.
void narrow_panel(const float* panel, long K, long run_length, long width, DType type, float* packed) {
  if (type == DType::f16) {
    auto* const to = reinterpret_cast<std::uint16_t*>(packed);
    for (long i = 0; i < K * width; i++) to[i] = Half(panel[i]).bits;
    return;
  }
  auto* to = reinterpret_cast<std::uint32_t*>(packed);
  for (long k = 0; k < K; to += width) {
    const float* const first = panel + k * width;
    const float* const second = first + width;
    const bool is_pair = k % run_length != run_length - 1;
    if (is_pair) {
      for (long n = 0; n < width; n++)
        to[n] = BFloat16(first[n]).bits | static_cast<std::uint32_t>(BFloat16(second[n]).bits) << 16;
    } else {
      for (long n = 0; n < width; n++) to[n] = BFloat16(first[n]).bits;
    }
    k += is_pair ? 2 : 1;
  }
}

}  // namespace

bool conv_gemm_pairs(const ConvShape& s) {
  if (s.groups > 1) return s.Cin / s.groups % 2 == 0;
  if (!pads_rows(s, DType::bf16)) return true;
  return s.w.dilation == 1 && packed_depth(s, s.Cin, DType::bf16) <= RowGemm::max_depth;
}

long conv_gemm_pairs_depth(const ConvShape& s) { return s.taps() * Groups(s, Merge::yes, DType::bf16).in; }

bool conv_gemm_by_columns(const ConvShape& s) {
  return packs_columns(s, Groups(s, Merge::yes, DType::f32), DType::f32);
}

bool conv_gemm_reads_in_groups(const ConvShape& s) { return reads_in_groups(s, DType::f32); }

bool conv_gemm_merges_groups(const ConvShape& s, DType type) {
  return Groups(s, Merge::yes, type).merged > 1;
}

long conv_gemm_packed_size(const ConvShape& s, DType type, Merge merge) {
  const Groups g(s, merge, type);
  return g.count * packed_group_size(s, g, type);
}

void pack_conv_gemm(const ConvShape& s, const float* weights, float* packed, ThreadPool& pool, DType type,
                    Merge merge) {
  const Groups groups(s, merge, type);
  const long taps = s.taps();
  const long in_each = s.Cin / s.groups;
  const long out_each = s.Cout / s.groups;
  if (packs_columns(s, groups, type)) {
    for (long i = 0; i < groups.count; i++)
      pack_columns(s, groups, weights + i * groups.out * in_each * taps,
                   packed + i * packed_group_size(s, groups, type));
    return;
  }
  const long width = row_gemm_tile().cols;
  const long panels = (groups.out + width - 1) / width;
  const long depth = taps * groups.in;
  pool.parallel_for(groups.count * panels, [&](long i, int) {
    const long first = i % panels * width;  // column of the product
    const long cols = std::min(width, groups.out - first);
    std::vector<float> floats(type == DType::f32 ? 0 : static_cast<std::size_t>(depth * width));
    float* const target = packed + i * panel_size(packed_depth(s, groups.in, type), type);
    float* const panel = type == DType::f32 ? target : floats.data();
    if (cols < width || groups.merged > 1) std::fill_n(panel, depth * width, 0.0f);
    // Columns of one original group: all there are, unless groups are merged (then there is only one panel).
    const long step = groups.merged > 1 ? out_each : cols;
    for (long c = 0; c < cols; c += step) {
      const long out_channel = i / panels * groups.out + first + c;
      const long first_in = groups.merged > 1 ? c / out_each * in_each : 0;
      for (long k = 0; k < in_each; k++) {
        transpose_on_this_thread(step, taps, weights + (out_channel * in_each + k) * taps, in_each * taps,
                                 panel + (first_in + k) * width + c, groups.in * width);
      }
    }
    if (type != DType::f32) narrow_panel(panel, depth, s.w.kernel * groups.in, width, type, target);
  });
}

long conv_gemm_scratch_size(const ConvShape& s, DType type) {
  return halo_of(s, std::min(s.N, images_per_pass(s)), type).size();
}

namespace {

// The padded copy of the images is `view`.
template <class T>
void run_images(const Strip& pass, const ConvRun& run, const Groups& groups, DType type,
                const ImageView<T>& view, ThreadPool& pool) {
  const ConvShape& s = pass.shape;
  const bool flat = s.d.trivial();
  const Runs runs(s, groups, view);
  const long first_pixel = pass.out_pixel;
  RowGemm g;
  g.schedule = run.schedule;
  g.rows = s.N * s.out_pixels();
  g.cols = groups.out;
  if (reads_pixels_in_order(s, halo_of(s, 1, type))) {
    g.a_rows.x_stride = view.pixel_stride;
  } else {
    g.a_rows = {.width = s.out(s.w),
                .height = s.out(s.h),
                .x_stride = s.w.stride * view.pixel_stride,
                .y_stride = s.h.stride * view.row_stride,
                .n_stride = (flat ? 1 : s.d.stride) * view.plane_stride};
  }
  g.runs = runs.count;
  g.run_offsets = runs.offsets;
  g.run_length = runs.length;
  g.group = groups.one_product ? groups.in : 0;
  g.b_type = type;
  g.by_columns = packs_columns(s, groups, type);
  g.b_row_stride = PanelRows(type, row_gemm_tile().cols, runs.length).words;
  g.b_panel_stride = panel_size(packed_depth(s, groups.in, type), type);
  g.a_is_bf16 = run.in_is_bf16;
  g.c_stride = run.out_stride;
  g.c_rows.x_stride = 1;
  g.hook_row = run.first_row + first_pixel;
  const auto run_group = [&](long i) {
    RowGemm one = g;
    const long channel = i * groups.out;
    if constexpr (std::is_same_v<T, float>)
      one.a = view.data + i * groups.in;
    else
      one.a_halves = view.data + i * groups.in;
    one.b = run.packed + i * packed_group_size(s, groups, type);
    const long out = first_pixel * run.out_stride + channel;
    if (run.out_halves)
      one.c_halves = run.out_halves + out;
    else
      one.c = run.out + out;
    one.epilogue = run.epilogue.from(first_pixel, channel);
    one.hook_col = channel;
    run_row_gemm(one, pool);
  };
  if (groups.count >= pool.threads()) {
    pool.parallel_for(groups.count, [&](long i, int) { run_group(i); });
  } else {
    for (long i = 0; i < groups.count; i++) run_group(i);
  }
}

template <class T>
void run_passes(const ConvShape& s, const ConvRun& run, const T* in, ThreadPool& pool, DType type,
                Merge merge) {
  TENON_CHECK(s.taps() <= max_conv_taps);
  const Groups groups(s, merge, type), alone(s, Merge::no, type);
  std::vector<float> packed_alone;
  const auto run_pass = [&](const Strip& pass) {
    std::atomic<bool> finite = true;
    const ImageView<T> view =
        with_halo(halo_of(pass.shape, pass.shape.N, type), in + pass.in_pixel * run.in_stride, run.in_stride,
                  reinterpret_cast<T*>(run.scratch), pool, groups.merged > 1 ? &finite : nullptr);
    if (finite) {
      run_images(pass, run, groups, type, view, pool);
      return;
    }
    if (packed_alone.empty()) {
      packed_alone.resize(static_cast<std::size_t>(conv_gemm_packed_size(s, type, Merge::no)));
      pack_conv_gemm(s, run.weights, packed_alone.data(), pool, type, Merge::no);
    }
    ConvRun group_by_group = run;
    group_by_group.packed = packed_alone.data();
    run_images(pass, group_by_group, alone, type, view, pool);
  };
  const Halo one = halo_of(s, 1, type);
  const long step = reads_pixels_in_order(s, one) ? s.N : std::min(s.N, images_per_pass(s));
  // Several threads have caches for more lines, and would wait for each other behind each strip.
  if (pool.threads() == 1 && step == 1 && one.size() > 0) {
    const long weights = conv_gemm_packed_size(s, type, merge) * static_cast<long>(sizeof(float));
    return each_strip(s, lines_of_strip(s, one.row_stride() * static_cast<long>(sizeof(T)), weights),
                      run_pass);
  }
  for (long n = 0; n < s.N; n += step) {
    Strip images{s, n * s.in_pixels(), n * s.out_pixels()};
    images.shape.N = std::min(step, s.N - n);
    run_pass(images);
  }
}

}  // namespace

void conv_gemm(const ConvShape& s, const ConvRun& run, ThreadPool& pool, DType type, Merge merge) {
  if (run.in_halves)
    run_passes(s, run, run.in_halves, pool, type, merge);
  else
    run_passes(s, run, run.in, pool, type, merge);
}

}  // namespace tenon::cpu
