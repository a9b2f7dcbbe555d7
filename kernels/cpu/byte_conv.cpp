// A convolution of bytes as a matrix product: the image is written as bytes, with its padding, and row m of A
// is what output pixel m reads of it, run by run, in place.
//   x = byte + least,  sum x w = sum byte w + least * sum w
#include "kernels/cpu/byte_conv.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernels/cpu/byte_conv_transposed.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_gemm.h"
#include "kernels/cpu/conv_strips.h"
#include "kernels/cpu/integer_rows.h"
#include "kernels/cpu/row_gemm_parallel.h"

namespace tenon::cpu {
namespace {

constexpr long bytes_of_word = 4;

long words(long bytes) { return (bytes + bytes_of_word - 1) / bytes_of_word; }
long padded(long columns) {
  const long width = row_gemm_tile().cols;
  return (columns + width - 1) / width * width;
}

// Where the bytes of an image lie; distances in words.
struct ByteImage {
  long pixel, row, rows;
  long image() const { return rows * row; }

  // The copy with padding.
  explicit ByteImage(const ConvShape& s)
      : pixel(words(s.Cin)),
        row((s.w.pad_before + s.w.in + s.w.pad_after) * pixel),
        rows(s.h.pad_before + s.h.in + s.h.pad_after) {
    // Rows a multiple of 4 KiB apart would share the same sets of the L1 cache.
    if (row % 1024 == 0) row += 16;
  }
  // What is there.
  ByteImage(const ConvShape& s, long in_stride)
      : pixel(in_stride / bytes_of_word), row(s.w.in * pixel), rows(s.h.in) {}
};

bool is_read_in_place(const ConvShape& s, const ByteConv& run) {
  const auto pads = [](const ConvAxis& a) { return a.pad_before + a.pad_after != 0; };
  const bool in_words = (reinterpret_cast<std::uintptr_t>(run.in_bytes) | static_cast<std::uintptr_t>(s.Cin) |
                         static_cast<std::uintptr_t>(run.in_stride)) %
                            bytes_of_word ==
                        0;
  return run.in_bytes && !run.in_is_signed && run.in_plane == 1 && in_words && !pads(s.h) && !pads(s.w);
}

// One product for each group.
struct ByteGroup {
  explicit ByteGroup(const ConvShape& s)
      : in(words(s.Cin / s.groups)), out(s.Cout / s.groups), depth(s.taps() * in) {}
  long in;  // words of its channels
  long out;
  long depth;  // words of a column
  long packed() const { return depth * padded(out); }
  long rest_size() const { return row_gemm_splits_bytes() ? RestOfBytes::size(padded(out), depth) : 0; }
};

// Where the parts of packed filters lie, in words.
struct PackedFilters {
  explicit PackedFilters(const ConvShape& s)
      : group(s),
        sums(s.groups * group.packed()),
        scales(sums + s.groups * padded(group.out)),
        rest(scales + s.groups * padded(group.out)),
        size(rest + s.groups * group.rest_size()) {}
  ByteGroup group;
  long sums, scales, rest, size;

  RestOfBytes rest_of(const float* packed, long g) const {
    const float* const at = packed + rest + g * group.rest_size();
    return RestOfBytes::at(reinterpret_cast<const std::int32_t*>(at), padded(group.out), group.depth);
  }
};

constexpr std::uint8_t sign = 128;

// `count` numbers from element `from` of the image on.
void write_numbers(const ByteConv& run, long from, long count, std::uint8_t* to) {
  if (!run.in_bytes)
    bytes_of_grid(run.in + from, count, 1 / run.in_scale, run.least, to);
  else if (run.in_is_signed)
    std::transform(run.in_bytes + from, run.in_bytes + from + count, to,
                   [](std::uint8_t b) { return static_cast<std::uint8_t>(b ^ sign); });
  else
    std::copy_n(run.in_bytes + from, count, to);
}

long first_of_image(const ConvShape& s, const ByteConv& run, long n) {
  return n * s.in_pixels() * (run.in_plane > 1 ? s.Cin : run.in_stride);
}

void write_row(const ConvShape& s, const ByteConv& run, long from, std::uint8_t* to) {
  const auto zero = static_cast<std::uint8_t>(-run.least);
  const long pixel = ByteImage(s).pixel * bytes_of_word;
  to = std::fill_n(to, s.w.pad_before * pixel, zero);
  if (run.in_bytes && pixel == bytes_of_word) {
    words_of_pixels({.from = run.in_bytes + from,
                     .plane = run.in_plane,
                     .pixel = run.in_stride,
                     .channels = s.Cin,
                     .flip = run.in_is_signed ? sign : std::uint8_t{0},
                     .blank = zero},
                    s.w.in, reinterpret_cast<std::uint32_t*>(to));
    to += s.w.in * pixel;
  } else if (run.in_stride == s.Cin && pixel == s.Cin) {
    write_numbers(run, from, s.w.in * s.Cin, to);
    to += s.w.in * pixel;
  } else {
    for (long x = 0; x < s.w.in; x++, from += run.in_stride, to += pixel) {
      write_numbers(run, from, s.Cin, to);
      std::fill_n(to + s.Cin, pixel - s.Cin, zero);
    }
  }
  std::fill_n(to, s.w.pad_after * pixel, zero);
}

void write_image(const ConvShape& s, const ByteConv& run, float* image, ThreadPool& pool) {
  const ByteImage view(s);
  constexpr long words_of_chunk = 8192;
  const long rows_of_chunk = std::max(1L, words_of_chunk / view.row);
  const long rows = s.N * view.rows;
  pool.parallel_for((rows + rows_of_chunk - 1) / rows_of_chunk, [&](long chunk, int) {
    for (long i = chunk * rows_of_chunk; i < std::min(rows, (chunk + 1) * rows_of_chunk); i++) {
      const long n = i / view.rows, y = i % view.rows - s.h.pad_before;
      auto* const to = reinterpret_cast<std::uint8_t*>(image + i * view.row);
      if (y < 0 || y >= s.h.in)
        std::fill_n(to, view.row * bytes_of_word, static_cast<std::uint8_t>(-run.least));
      else
        write_row(s, run, first_of_image(s, run, n) + y * s.w.in * run.in_stride, to);
    }
  });
}

void run_strip(const ConvShape& s, const ByteConv& run, const Strip& strip, float* scratch,
               ThreadPool& pool) {
  const long n = strip.in_pixel / s.in_pixels();
  const long in = first_of_image(s, run, n) + strip.in_pixel % s.in_pixels() * run.in_stride;
  const long row = strip.out_pixel * run.out_rows.x_stride;
  ByteConv part = run;
  if (run.in_bytes)
    part.in_bytes += in;
  else
    part.in += in;
  if (run.out) part.out += row * run.out_stride;
  part.first_row += row;
  part.epilogue = run.epilogue.from(row, 0);
  byte_conv(strip.shape, part, scratch, pool);
}

}  // namespace

bool byte_conv_supports(const ConvShape& s) {
  if (!s.d.trivial() || s.taps() > max_conv_taps) return false;
  if (s.transposed) return byte_conv_transposed_supports(s);
  return (s.groups == 1 || s.Cin / s.groups % bytes_of_word == 0) && ByteGroup(s).depth <= RowGemm::max_depth;
}

bool makes_codes(const ConvShape& s, const Epilogue& e) {
  const auto is_finite = [](float x) { return std::isfinite(x); };
  return makes_codes_of_sums(e) && (!e.bias || std::all_of(e.bias, e.bias + s.Cout, is_finite));
}

double byte_conv_cost(const ConvShape& s) {
  if (runs_dot_of_bytes()) return s.flops() / speed_of_bytes();
  if (!row_gemm_splits_bytes()) return std::numeric_limits<double>::infinity();
  constexpr double faster = 1.6;  // than float32: twice, less what is beyond split bytes
  return conv_product_cost(s) / faster;
}

bool byte_conv_pays(const ConvShape& s) {
  if (runs_dot_of_bytes() || !row_gemm_splits_bytes()) return runs_dot_of_bytes();
  const double cost = byte_conv_cost(s);
  return std::none_of(conv_algorithms.begin(), conv_algorithms.end(),
                      [&](ConvAlgorithm a) { return conv_supports(s, a) && conv_cost(s, a) <= cost; });
}

long byte_conv_packed_size(const ConvShape& s) {
  if (s.transposed) return byte_conv_transposed_packed_size(s);
  return PackedFilters(s).size;
}

void pack_byte_conv(const ConvShape& s, const QuantizedB& b, float* packed, ThreadPool& pool) {
  if (s.transposed) return pack_byte_conv_transposed(s, b, packed, pool);
  const PackedFilters parts(s);
  const ByteGroup& group = parts.group;
  const long width = row_gemm_tile().cols, taps = s.taps(), in_each = s.Cin / s.groups;
  auto* const sums = reinterpret_cast<std::int32_t*>(packed) + parts.sums;
  float* const scales = packed + parts.scales;
  std::fill_n(packed, parts.rest, 0.0F);
  pool.parallel_for(s.Cout, [&](long n, int) {
    const long g = n / group.out, column = n % group.out;
    auto* const to =
        reinterpret_cast<std::int8_t*>(packed + g * group.packed() + column / width * width * group.depth);
    const int zero = b.zeros ? b.zeros[n] : 0;
    std::int32_t sum = 0;
    for (long tap = 0; tap < taps; tap++) {
      for (long c = 0; c < in_each; c++) {
        const std::int64_t place = b.k_offsets[c * taps + tap] + b.n_offsets[n];
        const int code = (b.type == DType::u8 ? static_cast<const std::uint8_t*>(b.codes)[place]
                                              : static_cast<const std::int8_t*>(b.codes)[place]) -
                         zero;
        const long word = tap * group.in + c / bytes_of_word;
        to[(word * width + column % width) * bytes_of_word + c % bytes_of_word] =
            static_cast<std::int8_t>(code);
        sum += code;
      }
    }
    sums[g * padded(group.out) + column] = sum;
    scales[g * padded(group.out) + column] = b.scales[n];
  });
  if (!row_gemm_splits_bytes()) return;
  pool.parallel_for(s.groups, [&](long g, int) {
    split_bytes(reinterpret_cast<std::int8_t*>(packed + g * group.packed()), width, padded(group.out),
                group.depth, reinterpret_cast<std::int32_t*>(packed + parts.rest + g * group.rest_size()));
  });
}

long byte_conv_scratch_size(const ConvShape& s) {
  if (s.transposed) return byte_conv_transposed_scratch_size(s);
  return s.N * ByteImage(s).image() + 2 * s.groups * padded(s.Cout / s.groups);
}

void byte_conv(const ConvShape& s, const ByteConv& run, float* scratch, ThreadPool& pool) {
  TENON_CHECK(byte_conv_supports(s));
  if (s.transposed) return byte_conv_transposed(s, run, scratch, pool);
  const bool in_place = is_read_in_place(s, run);
  if (!in_place && pool.threads() == 1 && run.out_rows.linear()) {
    const long lines =
        lines_of_strip(s, ByteImage(s).row * bytes_of_word, PackedFilters(s).size * bytes_of_word);
    if (lines < s.out(s.h))
      return each_strip(s, lines, [&](const Strip& strip) { run_strip(s, run, strip, scratch, pool); });
  }
  const bool makes = makes_codes(s, run.epilogue);
  const ByteImage view = in_place ? ByteImage(s, run.in_stride) : ByteImage(s);
  const PackedFilters parts(s);
  const ByteGroup& group = parts.group;
  const long columns = s.groups * padded(group.out);
  auto* const offsets = reinterpret_cast<std::int32_t*>(scratch);
  float* const scales = scratch + columns;
  float* const copy = scratch + 2 * columns;
  const float* const image = in_place ? reinterpret_cast<const float*>(run.in_bytes) : copy;
  const auto* const sums = reinterpret_cast<const std::int32_t*>(run.packed) + parts.sums;
  for (long n = 0; n < columns; n++) {
    offsets[n] = run.least * sums[n];
    scales[n] = scale_of_sums(run.in_scale, run.packed[parts.scales + n]);
  }
  if (!in_place) write_image(s, run, copy, pool);

  const bool row_is_one_run = s.w.dilation == 1 && s.groups == 1 && view.pixel == group.in;
  const long steps = row_is_one_run ? 1 : s.w.kernel;
  long run_offsets[max_conv_taps];
  for (long y = 0; y < s.h.kernel; y++)
    for (long x = 0; x < steps; x++)
      run_offsets[y * steps + x] = y * s.h.dilation * view.row + x * s.w.dilation * view.pixel;
  for (long g = 0; g < s.groups; g++) {
    const ColumnsOfIntegers integers{offsets + g * padded(group.out), scales + g * padded(group.out)};
    RowGemm r;
    r.rows = s.N * s.out_pixels();
    r.cols = group.out;
    r.a = image + g * group.in;
    r.a_rows = {.width = s.out(s.w),
                .height = s.out(s.h),
                .x_stride = s.w.stride * view.pixel,
                .y_stride = s.h.stride * view.row,
                .n_stride = view.image()};
    r.runs = s.h.kernel * steps;
    r.run_offsets = run_offsets;
    r.run_length = row_is_one_run ? s.w.kernel * view.pixel : group.in;
    r.b = run.packed + g * group.packed();
    r.b_type = DType::i8;
    r.b_row_stride = row_gemm_tile().cols;
    r.b_panel_stride = r.b_row_stride * group.depth;
    r.integers = &integers;
    const RestOfBytes rest = parts.rest_of(run.packed, g);
    if (row_gemm_splits_bytes()) r.rest = &rest;
    r.hook_stores = run.out == nullptr;
    if (run.out) r.c = run.out + g * group.out;
    r.c_stride = run.out_stride;
    r.c_rows = run.out_rows;
    r.epilogue = run.epilogue.from(0, g * group.out);
    if (!makes) r.epilogue.codes = nullptr;
    r.hook_row = run.first_row;
    r.hook_col = g * group.out;
    r.schedule = run.schedule;
    run_row_gemm(r, pool);
  }
}

}  // namespace tenon::cpu
