// Packing of quantised matrices, and products with them.
#include "kernels/cpu/quantized_gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/row_epilogue.h"
#include "kernels/cpu/row_gemm.h"

namespace tenon::cpu {
namespace {

long cut(long whole, long pieces) { return (whole + pieces - 1) / pieces; }

// From here on, it pays to widen a panel for all rows.
bool has_few_rows(const QuantizedGemm& g) { return g.M <= quantized_rows_at_once; }

// Panels in a chunk of a loop. Few rows: several chunks a thread, each of whole steps of the kernel. Else:
// what stays in the L2 cache between the time that it is widened and its use.
long panels_together(const QuantizedGemm& g, bool few, int threads) {
  const long width = row_gemm_tile().cols, panels = cut(g.N, width);
  constexpr long step = 4, chunks_per_thread = 4, words = 128 * 1024;
  const long chunks = scaled(chunks_per_thread, g.schedule.pieces) * threads;
  if (few) return threads == 1 ? panels : cut(cut(panels, chunks), step) * step;
  const long together = scaled(words, g.schedule.block) / std::max(1L, g.form.K * width);
  return std::clamp(together, 1L, cut(panels, threads));
}

long sums_size(const QuantizedGemm& g) {
  return has_few_rows(g) && g.form.has_zeros ? g.M * g.form.groups() : 0;
}

long chunk_size(const QuantizedGemm& g, bool few, int threads) {
  const long cols = panels_together(g, few, threads) * row_gemm_tile().cols;
  return (few ? g.M : g.form.K) * cols;
}

// Zero points are subtracted from sums of codes, which must not become infinite where the result does not.
bool are_small(const float* sums, long count) {
  constexpr float largest = std::numeric_limits<float>::max() / 65536;
  return std::all_of(sums, sums + count, [](float sum) { return std::abs(sum) <= largest; });
}

void sum_groups(const QuantizedGemm& g, float* sums) {
  for (long m = 0; m < g.M; m++)
    for (long begin = 0; begin < g.form.K; begin += g.form.group) {
      const float* const row = g.a + m * g.a_stride;
      float sum = 0;
      for (long k = begin; k < std::min(begin + g.form.group, g.form.K); k++) sum += row[k];
      *sums++ = sum;
    }
}

// Columns [first, first + cols) of some rows, with a B in float32 panels.
RowGemm columns_of(const QuantizedGemm& g, long first, long cols, const float* b) {
  RowGemm r;
  r.rows = g.M;
  r.cols = cols;
  r.a = g.a;
  r.a_rows.x_stride = g.a_stride;
  r.run_length = g.form.K;
  r.b = b;
  r.b_row_stride = row_gemm_tile().cols;
  r.b_panel_stride = g.form.K * r.b_row_stride;
  r.c = g.c + first;
  r.c_stride = g.c_stride;
  r.c_rows.x_stride = 1;
  r.epilogue = g.epilogue.from(0, first);
  r.hook_col = first;
  r.schedule = g.schedule;
  return r;
}

void run_all(const RowGemm& r) {
  row_gemm(r, {0, row_gemm_tiles(r).count, 0, cut(r.cols, row_gemm_tile().cols)});
}

template <class T>
void pack_panel(const QuantizedForm& form, long N, const QuantizedB& b, long first, std::byte* to) {
  constexpr long block_depth = 64;  // whose rows of the matrix stay in the L1 cache
  const long width = row_gemm_tile().cols, cols = std::min(width, N - first);
  const QuantizedPanels& p = form.panels;
  std::fill_n(to, p.bytes(width), std::byte{});
  const T* const codes = static_cast<const T*>(b.codes);
  for (long g = 0; g < p.groups(); g++) {
    const long begin = g * p.group, end = std::min(begin + p.group, p.K);
    std::copy_n(b.scales + g * N + first, cols, reinterpret_cast<float*>(to));
    if (p.has_zeros)
      for (long n = 0; n < cols; n++)
        to[4 * width + n] = static_cast<std::byte>((b.zeros ? b.zeros[g * N + first + n] : 0) - form.origin);
    to += p.header_bytes(width);
    for (long block = begin; block < end; block += block_depth)
      for (long n = 0; n < cols; n++) {
        const T* const column = codes + b.n_offsets[first + n];
        for (long k = block; k < std::min(block + block_depth, end); k++) {
          const auto code = static_cast<std::uint32_t>(column[b.k_offsets[k]] - form.origin);
          if (p.bits == 8)
            to[(k - begin) * width + n] = static_cast<std::byte>(code);
          else
            reinterpret_cast<std::uint32_t*>(to)[(k - begin) / 8 * width + n] |= (code & 15U) << (k % 8 * 4);
        }
      }
    to += p.code_bytes(end - begin, width);
  }
}

}  // namespace

std::optional<QuantizedForm> QuantizedForm::of(long K, long group, const CodeRange& range) {
  QuantizedForm form{.panels = {.K = K, .group = group}};
  const auto fits = [&](std::int64_t least, std::int64_t largest) {
    return least - form.origin >= -128 && largest - form.origin <= 127;
  };
  const bool is_uniform = range.has_one_zero();
  if (range.fits_four_bits() && K % 8 == 0 && group % 8 == 0) {
    form.panels.bits = 4;
    form.origin = range.least_code;
    if (is_uniform) form.panels.first = static_cast<float>(range.least_code - range.least_zero);
  } else if (is_uniform) {
    form.origin = range.least_zero;
  }
  if (is_uniform && (form.panels.bits == 4 || fits(range.least_code, range.largest_code))) return form;
  form.panels.has_zeros = true;
  if (form.panels.bits == 8) form.origin = std::max(range.largest_code, range.largest_zero) > 127 ? 128 : 0;
  if (!fits(range.least_zero, range.largest_zero)) return std::nullopt;
  if (form.panels.bits == 8 && !fits(range.least_code, range.largest_code)) return std::nullopt;
  return form;
}

long quantized_bytes(const QuantizedPanels& form, long N) {
  const long width = row_gemm_tile().cols;
  return cut(N, width) * form.bytes(width);
}

void pack_quantized(const QuantizedForm& form, long N, const QuantizedB& b, std::byte* packed,
                    ThreadPool& pool) {
  const long width = row_gemm_tile().cols, bytes = form.panels.bytes(width);
  pool.parallel_for(cut(N, width), [&](long p, int) {
    if (b.type == DType::i8)
      pack_panel<std::int8_t>(form, N, b, p * width, packed + p * bytes);
    else
      pack_panel<std::uint8_t>(form, N, b, p * width, packed + p * bytes);
  });
}

Knobs quantized_gemm_knobs(const QuantizedGemm& g) {
  return has_few_rows(g) ? Knobs{.pieces = true} : Knobs{.block = true, .outer = true, .tile = true};
}

long quantized_gemm_scratch_size(const QuantizedGemm& g, int threads) {
  const bool few = has_few_rows(g);
  const long size = chunk_size(g, few, threads);
  return sums_size(g) + std::max(size, sums_size(g) > 0 ? chunk_size(g, false, threads) : 0) * threads;
}

void quantized_gemm(const QuantizedGemm& g, float* scratch, ThreadPool& pool) {
  const long width = row_gemm_tile().cols, panels = cut(g.N, width), panel_bytes = g.form.bytes(width);
  float* const chunks = scratch + sums_size(g);
  if (sums_size(g) > 0) sum_groups(g, scratch);
  const bool few = has_few_rows(g) && are_small(scratch, sums_size(g));
  const long together = panels_together(g, few, pool.threads()), size = chunk_size(g, few, pool.threads());
  pool.parallel_for(cut(panels, together), [&](long chunk, int worker) {
    const long panel = chunk * together, count = std::min(together, panels - panel);
    const long first = panel * width, cols = std::min(count * width, g.N - first);
    float* const floats = chunks + worker * size;
    const std::byte* const b = g.packed_b + panel * panel_bytes;
    if (!few) {
      for (long p = 0; p < count; p++)
        dequantize_panel(g.form, b + p * panel_bytes, floats + p * g.form.K * width);
      return run_all(columns_of(g, first, cols, floats));
    }
    quantized_rows({.form = g.form,
                    .b = b,
                    .panels = count,
                    .rows = static_cast<int>(g.M),
                    .a = g.a,
                    .a_stride = g.a_stride,
                    .a_sums = scratch,
                    .c = floats,
                    .c_stride = count * width});
    for (long m = 0; m < g.M; m++)
      finish_sums(g.epilogue, m, first, cols, floats + m * count * width, g.c + m * g.c_stride);
  });
}

}  // namespace tenon::cpu
