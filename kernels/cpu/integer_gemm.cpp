// Products of bytes on the register tile, and what makes products of other integers of them:
//   a = least + sum of digit_i * 256^i,  b = code + offset[column]
//   sum a b = sum digit_0 code + (sum digit_1 code << 8) + ... + least * sum code + offset * sum a
#include "kernels/cpu/integer_gemm.h"

#include <algorithm>

#include "kernels/cpu/integer_rows.h"
#include "kernels/cpu/row_epilogue.h"
#include "kernels/cpu/row_gemm_parallel.h"

namespace tenon::cpu {
namespace {

long cut(long whole, long pieces) { return (whole + pieces - 1) / pieces; }
long words(long K) { return cut(K, 4); }
// Rows of A a power of two apart would meet in few sets of the cache.
long pitch(long K) { return words(K) + 16; }
long padded(long N) { return cut(N, row_gemm_tile().cols) * row_gemm_tile().cols; }

// Bytes of the differences from the least.
int bytes_of(const IntegerRange& range) {
  const std::uint32_t span =
      static_cast<std::uint32_t>(range.largest) - static_cast<std::uint32_t>(range.least);
  return span < 1U << 8 ? 1 : span < 1U << 16 ? 2 : span < 1U << 24 ? 3 : 4;
}

// The rows of bytes by B.
template <class Gemm>
void multiply_bytes(const Gemm& g, const float* bytes, float* products, ThreadPool& pool) {
  RowGemm r;
  r.rows = g.M;
  r.cols = padded(g.N);
  r.a = bytes;
  r.a_rows.x_stride = pitch(g.K);
  r.run_length = words(g.K);
  r.b = g.packed_b;
  r.b_type = DType::i8;
  r.b_row_stride = row_gemm_tile().cols;
  r.b_panel_stride = r.b_row_stride * words(g.K);
  r.c = products;
  r.c_stride = r.cols;
  r.c_rows.x_stride = 1;
  r.schedule = g.schedule;
  run_row_gemm(r, pool);
}

}  // namespace

long packed_integers_size(long K, long N) { return padded(N) * (words(K) + 3); }

void pack_integers(long K, long N, const QuantizedB& b, float* packed, ThreadPool& pool) {
  const long width = row_gemm_tile().cols;
  const int origin = b.type == DType::u8 ? 128 : 0;
  auto* const sums = reinterpret_cast<std::uint32_t*>(packed) + padded(N) * words(K);
  auto* const offsets = sums + padded(N);
  float* const scales = packed + padded(N) * (words(K) + 2);
  std::fill_n(scales, padded(N), 1.0F);
  if (b.scales) std::copy_n(b.scales, N, scales);
  std::fill_n(sums, 2 * padded(N), 0U);
  pool.parallel_for(padded(N) / width, [&](long panel, int) {
    auto* const to = reinterpret_cast<std::uint8_t*>(packed + panel * width * words(K));
    std::fill_n(to, 4 * width * words(K), std::uint8_t{0});
    for (long n = panel * width; n < std::min(N, (panel + 1) * width); n++) {
      std::uint32_t sum = 0;
      for (long k = 0; k < K; k++) {
        const std::int64_t place = b.k_offsets[k] + b.n_offsets[n];
        const int code = (b.type == DType::u8 ? static_cast<const std::uint8_t*>(b.codes)[place]
                                              : static_cast<const std::int8_t*>(b.codes)[place]) -
                         origin;
        to[(k / 4 * width + n % width) * 4 + k % 4] = static_cast<std::uint8_t>(code);
        sum += static_cast<std::uint32_t>(code);
      }
      sums[n] = sum;
      offsets[n] = static_cast<std::uint32_t>(origin - (b.zeros ? b.zeros[n] : 0));
    }
  });
}

long integer_scratch_size(long M, long N, long K) { return M * (pitch(K) + padded(N) + 1); }

void integer_gemm(const IntegerGemm& g, float* scratch, ThreadPool& pool) {
  IntegerRange range{g.a[0], g.a[0]};
  for (long m = 0; m < g.M; m++) range = range_of_row(g.a + m * g.a_stride, g.K, range);
  const auto least = static_cast<std::uint32_t>(range.least);
  float* const products = scratch + g.M * pitch(g.K);
  auto* const a_sums = reinterpret_cast<std::uint32_t*>(products + g.M * padded(g.N));
  const auto* const b_sums = reinterpret_cast<const std::uint32_t*>(g.packed_b) + padded(g.N) * words(g.K);
  const auto* const offsets = b_sums + padded(g.N);
  for (int byte = 0; byte < bytes_of(range); byte++) {
    pool.parallel_for(g.M, [&](long m, int) {
      auto* const to = reinterpret_cast<std::uint8_t*>(scratch + m * pitch(g.K));
      a_sums[m] = bytes_of_row(g.a + m * g.a_stride, g.K, least, 8 * byte, to);
      std::fill_n(to + g.K, 4 * words(g.K) - g.K, std::uint8_t{0});
    });
    multiply_bytes(g, scratch, products, pool);
    pool.parallel_for(g.M, [&](long m, int) {
      const auto* const product = reinterpret_cast<const std::uint32_t*>(products + m * padded(g.N));
      auto* const c = reinterpret_cast<std::uint32_t*>(g.c + m * g.c_stride);
      if (byte == 0)
        finish_row({product, b_sums, offsets, least, a_sums[m]}, g.N, c);
      else
        for (long n = 0; n < g.N; n++) c[n] += product[n] << (8 * byte);
    });
  }
}

void grid_gemm(const GridGemm& g, float* scratch, ThreadPool& pool) {
  float* const products = scratch + g.M * pitch(g.K);
  auto* const a_sums = reinterpret_cast<std::uint32_t*>(products + g.M * padded(g.N));
  const auto* const b_sums = reinterpret_cast<const std::uint32_t*>(g.packed_b) + padded(g.N) * words(g.K);
  const auto* const offsets = b_sums + padded(g.N);
  const float* const scales = g.packed_b + padded(g.N) * (words(g.K) + 2);
  pool.parallel_for(g.M, [&](long m, int) {
    auto* const to = reinterpret_cast<std::uint8_t*>(scratch + m * pitch(g.K));
    a_sums[m] = bytes_of_grid(g.a + m * g.a_stride, g.K, 1 / g.a_scale, g.least, to);
    std::fill_n(to + g.K, 4 * words(g.K) - g.K, std::uint8_t{0});
  });
  multiply_bytes(g, scratch, products, pool);
  pool.parallel_for(g.M, [&](long m, int) {
    float* const row = products + m * padded(g.N);
    finish_floats({reinterpret_cast<const std::uint32_t*>(row), b_sums, offsets,
                   static_cast<std::uint32_t>(g.least), a_sums[m]},
                  padded(g.N), g.a_scale, scales, row);
    finish_sums(g.epilogue, m, 0, g.N, row, g.c + m * g.c_stride);
  });
}

}  // namespace tenon::cpu
