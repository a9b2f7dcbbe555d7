// A few output rows at a time: what they read is copied, with its padding, so that each tap reads consecutive
// bytes. Columns that lie a stride apart become neighbours.
#include "kernels/cpu/integer_depthwise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "kernels/cpu/byte_depthwise.h"
#include "kernels/cpu/integer_depthwise_row.h"
#include "kernels/cpu/row_gemm.h"

namespace tenon::cpu {

#if !defined(__x86_64__)
// integer_depthwise_supports says no.
namespace avx512 {
void integer_depthwise_row(const DepthwiseRow&) { TENON_CHECK(false); }
void copy_unsigned(const std::uint8_t*, long, bool, std::uint8_t*) { TENON_CHECK(false); }
}  // namespace avx512
#endif

namespace {

constexpr long line = 64;  // of the cache
constexpr long whole(long count, long of) { return (count + of - 1) / of * of; }
long reach(const ConvAxis& a) { return (a.kernel - 1) * a.dilation; }

// Bytes.
struct Layout {
  explicit Layout(const ConvShape& s)
      : pixel(whole(s.Cin, 8)),
        columns((s.out(s.w) - 1) * s.w.stride + reach(s.w) + 1),
        part(whole((s.out(s.w) + reach(s.w) / s.w.stride) * pixel + depthwise_block, line)),
        row(s.w.stride * part),
        result(whole(s.out(s.w) * pixel, line)),
        groups((s.taps() + 3) / 4),
        phases(pixel / std::gcd(pixel, depthwise_block)) {}

  // Where padded column x lies in its row.
  long at(const ConvShape& s, long x) const { return x % s.w.stride * part + x / s.w.stride * pixel; }

  long pixel;
  long columns;  // of a row that are read, with padding
  long part;     // the columns that are congruent modulo the stride
  long row;      // of the copy
  long result;   // a row of codes
  long groups;   // of four taps
  long phases;
  // Words: a number for each channel, in all phases; then where those lie behind the packed filters.
  long in_order() const { return phases * depthwise_block; }
  long offsets() const { return in_order() * groups; }
  long scales() const { return in_order() * (groups + 1); }
};

long rows_of_copy(const ConvShape& s, long rows) { return (rows - 1) * s.h.stride + reach(s.h) + 1; }
// So many output rows that the copy stays in the L2 cache, and each thread gets some.
long rows_of_band(const ConvShape& s, int threads, const Schedule& schedule) {
  const long cache = scaled(196608, schedule.block);
  const long fit = (cache / Layout(s).row - reach(s.h) - 1) / s.h.stride + 1;
  return std::clamp(fit, 1L, std::max(1L, (s.N * s.out(s.h) + threads - 1) / threads));
}

// f(number in order, its channel), in all phases; some are of no channel.
template <class F>
void each_in_order(const ConvShape& s, F f) {
  const Layout layout(s);
  for (long i = 0; i < layout.in_order(); i++) {
    const long byte = i / depthwise_block * depthwise_block + depthwise_order(i % depthwise_block);
    const long channel = byte % layout.pixel;
    if (channel < s.Cin) f(i, channel);
  }
}

class Run {
 public:
  Run(const ConvShape& s, const IntegerDepthwise& run, std::uint8_t* scratch, int threads)
      : s_(s), run_(run), layout_(s), band_rows_(rows_of_band(s, threads, run.schedule)), scratch_(scratch) {
    auto* const bias = reinterpret_cast<float*>(scratch);
    std::fill_n(bias, layout_.in_order(), 0.0F);
    bool is_finite = true;
    if (run.epilogue.bias)
      each_in_order(s, [&](long i, long channel) {
        bias[i] = run.epilogue.bias[channel];
        is_finite &= std::isfinite(bias[i]);
      });
    const CodesOfSums* const codes = run.epilogue.codes;
    row_ = {.groups = layout_.groups,
            .bytes = s.out(s.w) * layout_.pixel,
            .phases = layout_.phases,
            .weights = reinterpret_cast<const std::int8_t*>(run.packed),
            .offsets = reinterpret_cast<const std::int32_t*>(run.packed + layout_.offsets()),
            .scales = run.packed + layout_.scales(),
            .bias = bias,
            .codes = is_finite && codes && !codes->residual ? codes : nullptr};
  }

  static long shared_bytes(const Layout& layout) { return layout.in_order() * 4; }
  static long bytes_of_thread(const ConvShape& s, const Layout& layout, long rows) {
    return rows_of_copy(s, rows) * layout.row + layout.result * 4 + line;
  }

  void run(ThreadPool& pool) {
    const long height = s_.out(s_.h), bands = (height + band_rows_ - 1) / band_rows_;
    const long each = bytes_of_thread(s_, layout_, band_rows_);
    pool.parallel_for(s_.N * bands, [&](long i, int thread) {
      const long begin = i % bands * band_rows_;
      std::uint8_t* const copy = scratch_ + shared_bytes(layout_) + thread * each;
      run_band(i / bands, begin, std::min(height, begin + band_rows_), copy);
    });
  }

 private:
  void run_band(long n, long begin, long end, std::uint8_t* copy) {
    const long top = begin * s_.h.stride - s_.h.pad_before, rows = rows_of_copy(s_, end - begin);
    for (long y = 0; y < rows; y++) copy_row(n, top + y, copy + y * layout_.row);
    std::uint8_t* const result = copy + rows_of_copy(s_, band_rows_) * layout_.row;
    std::vector<const std::uint8_t*> taps;
    for (long y = begin; y < end; y++) {
      taps.clear();
      for (long ky = 0; ky < s_.h.kernel; ky++)
        for (long kx = 0; kx < s_.w.kernel; kx++)
          taps.push_back(copy + ((y - begin) * s_.h.stride + ky * s_.h.dilation) * layout_.row +
                         layout_.at(s_, kx * s_.w.dilation));
      taps.resize(static_cast<std::size_t>(4 * layout_.groups), taps.back());
      finish_row(n * s_.out(s_.h) + y, taps.data(), result);
    }
  }

  // Row y of image n, which may lie outside.
  void copy_row(long n, long y, std::uint8_t* to) const {
    const auto zero = static_cast<std::uint8_t>(run_.zero);
    const bool is_inside = y >= 0 && y < s_.h.in;
    const long begin = is_inside ? std::min(s_.w.pad_before, layout_.columns) : layout_.columns,
               end = is_inside ? std::clamp(s_.w.pad_before + s_.w.in, begin, layout_.columns) : begin;
    const auto blank = [&](long x) { std::fill_n(to + layout_.at(s_, x), layout_.pixel, zero); };
    for (long x = 0; x < begin; x++) blank(x);
    for (long x = end; x < layout_.columns; x++) blank(x);
    if (begin == end) return;
    const std::uint8_t* from =
        run_.in + ((n * s_.h.in + y) * s_.w.in + begin - s_.w.pad_before) * run_.in_stride;
    const bool is_one_run = s_.w.stride == 1 && run_.in_stride == layout_.pixel && s_.Cin == layout_.pixel;
    const long pixels = is_one_run ? end - begin : 1;
    for (long x = begin; x < end; x += pixels, from += run_.in_stride)
      avx512::copy_unsigned(from, pixels * s_.Cin, run_.in_is_signed, to + layout_.at(s_, x));
  }

  // Row y of the result, counted over the batch.
  void finish_row(long y, const std::uint8_t* const* taps, std::uint8_t* result) const {
    const long width = s_.out(s_.w), pixel = y * width;
    DepthwiseRow row = row_;
    row.taps = taps;
    if (row.codes) {
      const long stride = row.codes->stride;
      std::uint8_t* const to = row.codes->to + pixel * stride;
      const bool in_place = stride == s_.Cin && s_.Cin == layout_.pixel;
      row.to_codes = in_place ? to : result;
      avx512::integer_depthwise_row(row);
      if (in_place) return;
      for (long x = 0; x < width; x++) std::copy_n(result + x * layout_.pixel, s_.Cin, to + x * stride);
      return;
    }
    auto* const numbers = reinterpret_cast<float*>(result);
    row.to_floats = numbers;
    avx512::integer_depthwise_row(row);
    const Epilogue& e = run_.epilogue;
    if (e.hook) e.hook(e.context, numbers, layout_.pixel, pixel, width, 0, s_.Cin);
    if (!run_.out) return;
    for (long x = 0; x < width; x++)
      std::copy_n(numbers + x * layout_.pixel, s_.Cin, run_.out + (pixel + x) * run_.out_stride);
  }

  const ConvShape& s_;
  const IntegerDepthwise& run_;
  const Layout layout_;
  const long band_rows_;
  std::uint8_t* const scratch_;
  DepthwiseRow row_;
};

}  // namespace

bool integer_depthwise_supports(const ConvShape& s) {
  constexpr long most_taps = 16384;  // whose sums have 32 bits
  return byte_depthwise_supports(s) && s.taps() <= most_taps && runs_dot_of_bytes();
}

long integer_depthwise_packed_size(const ConvShape& s) {
  const Layout layout(s);
  return layout.in_order() * (layout.groups + 2);
}

void pack_integer_depthwise(const ConvShape& s, const QuantizedB& b, const ByteScale& image, float* packed) {
  const Layout layout(s);
  auto* const weights = reinterpret_cast<std::int8_t*>(packed);
  auto* const offsets = reinterpret_cast<std::int32_t*>(packed + layout.offsets());
  std::fill_n(packed, integer_depthwise_packed_size(s), 0.0F);
  each_in_order(s, [&](long i, long channel) {
    const int zero = b.zeros ? b.zeros[channel] : 0;
    std::int32_t sum = 0;
    for (long tap = 0; tap < s.taps(); tap++) {
      const std::int64_t place = b.k_offsets[tap] + b.n_offsets[channel];
      const int code = (b.type == DType::u8 ? static_cast<const std::uint8_t*>(b.codes)[place]
                                            : static_cast<const std::int8_t*>(b.codes)[place]) -
                       zero;
      const long phase = i / depthwise_block, group = tap / 4;
      weights[((phase * layout.groups + group) * depthwise_block + i % depthwise_block) * 4 + tap % 4] =
          static_cast<std::int8_t>(code);
      sum += code;
    }
    offsets[i] = -image.zero * sum;
    packed[layout.scales() + i] = scale_of_sums(image.scale, b.scales[channel]);
  });
}

long integer_depthwise_scratch_size(const ConvShape& s, int threads, const Schedule& schedule) {
  const Layout layout(s);
  long most = 0;  // a pool may have fewer threads than it was to have
  for (int n = 1; n <= threads; n++)
    most = std::max(most, n * Run::bytes_of_thread(s, layout, rows_of_band(s, n, schedule)));
  return Run::shared_bytes(layout) + most;
}

void integer_depthwise(const ConvShape& s, const IntegerDepthwise& run, std::uint8_t* scratch,
                       ThreadPool& pool) {
  Run(s, run, scratch, pool.threads()).run(pool);
}

}  // namespace tenon::cpu
