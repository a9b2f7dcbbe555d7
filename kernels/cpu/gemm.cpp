// Packing of B, and matrix products on top of RowGemm.
#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/cpu/row_gemm_parallel.h"
#include "kernels/cpu/small_pairs.h"
#include "kernels/cpu/strassen.h"
#include "kernels/cpu/transpose.h"

namespace tenon::cpu {
namespace {

struct Panel {
  long K;
  long cols;   // of the matrix
  long width;  // of the panel: zeros from cols on
};

template <class T>
const T* at(const MatrixB& b, long k) {
  return static_cast<const T*>(b.data) + k * b.k_stride;
}

void pack_floats(const Panel& p, const MatrixB& b, float* packed) {
  if (b.k_stride == 1) {
    transpose_on_this_thread(p.cols, p.K, at<float>(b, 0), b.n_stride, packed, p.width);
    return;
  }
  for (long k = 0; k < p.K; k++) {
    const float* row = at<float>(b, k);
    float* out = packed + k * p.width;
    if (b.n_stride == 1) {
      std::copy_n(row, p.cols, out);
    } else {
      for (long n = 0; n < p.cols; n++) out[n] = row[n * b.n_stride];
    }
  }
}

// `Together` elements of consecutive k lie side by side.
template <long Together>
void pack_halves(const Panel& p, const MatrixB& b, std::uint16_t* packed) {
  for (long k = 0; k < p.K; k++) {
    const std::uint16_t* row = at<std::uint16_t>(b, k);
    std::uint16_t* out = packed + k / Together * Together * p.width + k % Together;
    for (long n = 0; n < p.cols; n++) out[n * Together] = row[n * b.n_stride];
  }
}

/// Pairs of consecutive k.
void pack_pairs(const Panel& p, const MatrixB& b, std::uint16_t* packed) {
  if (b.n_stride != 1) return pack_halves<2>(p, b, packed);
  const long pairs = p.K / 2;
  interleave_rows(pairs, p.cols, at<std::uint16_t>(b, 0), b.k_stride, packed, 2 * p.width);
  if (p.K % 2 != 0) pack_halves<2>({1, p.cols, p.width}, b.from(p.K - 1, 0), packed + 2 * pairs * p.width);
}

/// Pairs of consecutive k, of the upper halves of floats.
void pack_upper_halves(const Panel& p, const MatrixB& b, std::uint32_t* packed) {
  constexpr std::uint32_t upper = 0xffff0000u;
  for (long k = 0; k < p.K; k += 2, packed += p.width) {
    const std::uint32_t *even = at<std::uint32_t>(b, k), *odd = at<std::uint32_t>(b, k + 1);
    if (k + 1 == p.K) {
      for (long n = 0; n < p.cols; n++) packed[n] = even[n * b.n_stride] >> 16;
    } else if (b.n_stride == 1) {
      for (long n = 0; n < p.cols; n++) packed[n] = even[n] >> 16 | (odd[n] & upper);
    } else {
      for (long n = 0; n < p.cols; n++)
        packed[n] = even[n * b.n_stride] >> 16 | (odd[n * b.n_stride] & upper);
    }
  }
}

template <class T>
void pack_float8(const Panel& p, const MatrixB& b, std::uint16_t* packed) {
  static const auto halves = [] {
    std::array<std::uint16_t, 256> of{};
    for (std::size_t code = 0; code < of.size(); ++code)
      of[code] = Half::from_float(T::to_float(static_cast<std::uint8_t>(code)));
    return of;
  }();
  for (long k = 0; k < p.K; k++) {
    const std::uint8_t* row = at<std::uint8_t>(b, k);
    std::uint16_t* out = packed + k * p.width;
    for (long n = 0; n < p.cols; n++) out[n] = halves[row[n * b.n_stride]];
  }
}

void pack_columns(long K, long N, const MatrixB& b, float* packed) {
  for (long n = 0; n < N; n++) {
    const float* const column = at<float>(b, 0) + n * b.n_stride;
    for (long k = 0; k < K; k++) *packed++ = column[k * b.k_stride];
  }
}

// Pairs that lie together in B, too, are moved like floats.
bool has_pairs(const Panel& p, const MatrixB& b) {
  return b.k_stride == 1 && b.n_stride % 2 == 0 && p.K % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(b.data) % alignof(float) == 0;
}

void pack_pieces(const Panel& p, const MatrixB& b, float* packed) {
  std::vector<float> floats(static_cast<std::size_t>(p.K * p.width));
  pack_floats(p, b, floats.data());
  split_panel(floats.data(), p.K, packed);
}

void pack_panel(const Panel& p, const MatrixB& b, float* packed) {
  if (b.in_pieces) return pack_pieces(p, b, packed);
  if (p.cols < p.width || p.K % 2 != 0) std::fill_n(packed, panel_size(p.K, packed_type(b.type)), 0.0f);
  auto* const halves = reinterpret_cast<std::uint16_t*>(packed);
  switch (b.type) {
    case DType::f16: return pack_halves<1>(p, b, halves);
    case DType::f8e4m3fn: return pack_float8<Float8E4M3FN>(p, b, halves);
    case DType::f8e5m2: return pack_float8<Float8E5M2>(p, b, halves);
    case DType::f8e4m3fnuz: return pack_float8<Float8E4M3FNUZ>(p, b, halves);
    case DType::f8e5m2fnuz: return pack_float8<Float8E5M2FNUZ>(p, b, halves);
    case DType::bf16:
      if (b.is_widened) return pack_upper_halves(p, b, reinterpret_cast<std::uint32_t*>(packed));
      if (has_pairs(p, b))
        return pack_floats({p.K / 2, p.cols, p.width}, {b.data, 1, b.n_stride / 2}, packed);
      return pack_pairs(p, b, halves);
    default: return pack_floats(p, b, packed);
  }
}

// A run-time B is read where it lies if its panels are whole and so few rows use it that packing would not
// pay.
bool reads_b_in_place(const BatchedGemm& g) {
  constexpr long few_rows = 96;
  return g.one.b.type == DType::f32 && !g.one.b.in_pieces && g.one.b.n_stride == 1 &&
         g.one.N % row_gemm_tile().cols == 0 && g.one.M <= few_rows;
}

// Products of bfloat16 by small right sides, enough of them for all threads.
std::optional<SmallPairs> small_pairs_of(const BatchedGemm& g, int threads) {
  const Gemm& one = g.one;
  const Epilogue& e = one.epilogue;
  constexpr long much_work = 1 << 18;  // of a product that threads share
  const bool fills_threads = g.batch >= 2 * threads || one.M * one.N * one.K <= much_work;
  const bool in_halves = one.a_halves && one.c_halves && one.b.type == DType::bf16 && !one.b.is_widened;
  const bool rounds = e.rounded ? e.rounded->activation == Activation::none ||
                                      e.rounded->activation.kind == Activation::Kind::relu
                                : !e.hook;
  const bool only_rounds = rounds && !e.bias && !e.residual && e.activation == Activation::none && !e.added;
  if (!fills_threads || !in_halves || !only_rounds || !runs_small_pairs()) return std::nullopt;
  SmallPairs small{.M = one.M,
                   .N = one.N,
                   .K = one.K,
                   .a = one.a_halves,
                   .b = static_cast<const std::uint16_t*>(one.b.data),
                   .c = one.c_halves,
                   .a_row = one.a_stride,
                   .b_row = one.b.k_stride,
                   .b_column = one.b.n_stride,
                   .c_row = one.c_stride,
                   .a_batch = g.a_batch_stride,
                   .b_batch = g.b_batch_stride,
                   .c_batch = g.c_batch_stride};
  if (e.rounded) {
    small.rounding = *e.rounded;
    small.residual = e.rounded_residual;
    small.residual_row = e.rounded_residual_stride;
    small.residual_batch = one.M * e.rounded_residual_stride;
  }
  return small.is_small() ? std::optional(small) : std::nullopt;
}

bool packs_columns(long K, long N, const MatrixB& b) {
  return !b.in_pieces && cpu::packs_columns(1, K, N, packed_type(b.type));
}

// Words of a packed panel.
long panel_words(long K, const MatrixB& b) {
  return b.in_pieces ? FloatPieces::panel_words(K, row_gemm_tile().cols) : panel_size(K, packed_type(b.type));
}

RowGemm row_gemm_of(const Gemm& g) {
  const PanelRows rows(packed_type(g.b.type), row_gemm_tile().cols, g.K);
  RowGemm r;
  r.rows = g.M;
  r.cols = g.N;
  r.a = g.a;
  r.a_halves = g.a_halves;
  r.a_rows.x_stride = g.a_stride;
  r.run_length = g.K;
  r.a_is_bf16 = g.a_is_bf16;
  r.b = g.packed_b;
  r.b_type = packed_type(g.b.type);
  r.in_pieces = g.b.in_pieces;
  r.by_columns = packs_columns(g.K, g.N, g.b);
  r.b_row_stride = rows.words;
  r.b_panel_stride = panel_words(g.K, g.b);
  r.c = g.c;
  r.c_halves = g.c_halves;
  r.c_stride = g.c_stride;
  r.c_rows.x_stride = 1;
  r.epilogue = g.epilogue;
  r.hook_row = g.first_row;
  r.schedule = g.schedule;
  return r;
}

// Rows from this one on, with a B that is packed while it is used.
Gemm unpacked_from(Gemm g, long row) {
  g.M -= row;
  g.a += row * g.a_stride;
  if (g.c) g.c += row * g.c_stride;
  g.epilogue = g.epilogue.from(row, 0);
  g.first_row += row;
  g.packed_b = nullptr;
  g.b.in_sums = false;
  return g;
}

StrassenB sums_of(long K, long N, const MatrixB& b) {
  return {K, N, at<float>(b, 0), b.k_stride, b.n_stride};
}

// Panels that are packed and used together: they should stay in the L2 cache between the two.
long panels_together(const Gemm& g) {
  const long words = scaled(128 * 1024, g.schedule.block);
  return std::max(1L, words / panel_words(g.K, g.b));
}

// Columns [first, first + cols) of the product, with a B that holds just these.
RowGemm columns_of(const Gemm& g, long first, long cols, const float* packed_b) {
  RowGemm r = row_gemm_of(g);
  r.cols = cols;
  r.b = packed_b;
  if (r.c_halves)
    r.c_halves += first;
  else
    r.c += first;
  r.epilogue = g.epilogue.from(0, first);
  r.hook_col = first;
  return r;
}

}  // namespace

MatrixB MatrixB::further(long elements) const {
  MatrixB rest = *this;
  rest.data = static_cast<const std::byte*>(data) +
              elements * static_cast<std::ptrdiff_t>(is_widened ? sizeof(float) : size_of(type));
  return rest;
}

long packed_b_size(long K, long N, const MatrixB& b) {
  if (b.in_sums) return StrassenB::packed_size(K, N);
  const long cols = row_gemm_tile().cols;
  return packs_columns(K, N, b) ? K * N : (N + cols - 1) / cols * panel_words(K, b);
}
long packed_b_size(long K, long N, DType type) { return packed_b_size(K, N, MatrixB{.type = type}); }

bool fits_pieces(long K, long N, const MatrixB& b) {
  std::vector<float> largest(static_cast<std::size_t>(N));
  const bool by_columns = b.k_stride == 1;
  for (long i = 0; i < (by_columns ? N : K); i++)
    for (long j = 0; j < (by_columns ? K : N); j++) {
      const long k = by_columns ? j : i, n = by_columns ? i : j;
      float& of_column = largest[static_cast<std::size_t>(n)];
      of_column = std::max(of_column, std::abs(at<float>(b, k)[n * b.n_stride]));
    }
  return std::ranges::none_of(largest, [](float x) { return x > 0 && x < FloatPieces::least; });
}

bool gemm_runs_pieces(long M, long N, long K) {
  // Few rows wait for B, which has half as many bytes more; narrow products for A in pieces, shallow ones for
  // their sums.
  constexpr long least_rows = 64, least_columns = 64, least_depth = 128;
  return runs_float_pieces() && M >= least_rows && N >= least_columns && K >= least_depth;
}

namespace {

void pack_panels(long K, long N, const MatrixB& b, float* packed, ThreadPool& pool) {
  const long width = row_gemm_tile().cols;
  pool.parallel_for((N + width - 1) / width, [&](long p, int) {
    const long n = p * width;
    pack_panel({K, std::min(width, N - n), width}, b.from(0, n), packed + p * panel_words(K, b));
  });
}

}  // namespace

void pack_b(long K, long N, const MatrixB& b, float* packed, ThreadPool& pool) {
  if (b.in_sums) {
    if (sums_of(K, N, b).pack(packed, pool)) return;
    MatrixB plain = b;
    plain.in_sums = false;
    return pack_b(K, N, plain, packed, pool);
  }
  if (packs_columns(K, N, b)) return pack_columns(K, N, b, packed);
  pack_panels(K, N, b, packed, pool);
}

long gemm_scratch_size(const Gemm& g, int threads) {
  if (g.b.in_sums)
    return std::max(strassen_scratch_size(g.M, g.K, threads),
                    gemm_scratch_size(unpacked_from(g, 0), threads));
  if (g.packed_b) return 0;
  return packed_b_size(g.K, std::min(g.N, panels_together(g) * row_gemm_tile().cols), g.b) * threads;
}

void gemm(const Gemm& g, float* scratch, ThreadPool& pool) {
  if (g.b.in_sums && !StrassenB::is_packed(g.K, g.N, g.packed_b)) {
    Gemm plain = g;
    plain.b.in_sums = false;
    return gemm(plain, scratch, pool);
  }
  if (g.b.in_sums) {
    const long done = run_strassen(row_gemm_of(g), scratch, pool);
    if (done < g.M) gemm(unpacked_from(g, done), scratch, pool);
    return;
  }
  if (g.packed_b) return run_row_gemm(row_gemm_of(g), pool);
  if (packs_columns(g.K, g.N, g.b)) {
    pack_columns(g.K, g.N, g.b, scratch);
    return run_row_gemm(columns_of(g, 0, g.N, scratch), pool);
  }
  const long width = panels_together(g) * row_gemm_tile().cols;
  const long packed_size = packed_b_size(g.K, std::min(g.N, width), g.b);
  pool.parallel_for((g.N + width - 1) / width, [&](long i, int worker) {
    const long first = i * width, cols = std::min(width, g.N - first);
    float* packed = scratch + worker * packed_size;
    // A loop of the pool inside a loop of the pool runs on the calling thread.
    pack_panels(g.K, cols, g.b.from(0, first), packed, pool);
    run_row_gemm(columns_of(g, first, cols, packed), pool);
  });
}

long batched_gemm_scratch_size(const BatchedGemm& g, int threads) {
  if (reads_b_in_place(g)) return 0;
  return packed_b_size(g.one.K, g.one.N, g.one.b) * std::min<long>(threads, g.batch);
}

void batched_gemm(const BatchedGemm& g, float* scratch, ThreadPool& pool) {
  if (const auto small = small_pairs_of(g, pool.threads())) {
    constexpr long chunk_work = 1 << 19;  // multiplications
    const long step = std::max(1L, chunk_work / (small->M * small->N * small->K));
    pool.parallel_for((g.batch + step - 1) / step, [&](long chunk, int) {
      small_pairs(*small, chunk * step, std::min(g.batch, (chunk + 1) * step));
    });
    return;
  }
  const bool in_place = reads_b_in_place(g);
  const auto run = [&](long i, float* packed) {
    RowGemm r = row_gemm_of(g.one);
    if (r.a_halves)
      r.a_halves += i * g.a_batch_stride;
    else
      r.a += i * g.a_batch_stride;
    if (r.c_halves)
      r.c_halves += i * g.c_batch_stride;
    else
      r.c += i * g.c_batch_stride;
    r.epilogue = g.one.epilogue.from(i * g.one.M, 0);
    r.hook_row = i * g.one.M;
    const MatrixB b = g.one.b.further(i * g.b_batch_stride);
    if (in_place) {
      r.b = static_cast<const float*>(b.data);
      r.b_row_stride = b.k_stride;
      r.b_panel_stride = row_gemm_tile().cols;
    } else {
      pack_b(g.one.K, g.one.N, b, packed, pool);
      r.b = packed;
    }
    run_row_gemm(r, pool);
  };
  if (g.batch < 2 * pool.threads()) {  // too few products to share out: share out each
    for (long i = 0; i < g.batch; i++) run(i, scratch);
    return;
  }
  const long packed_size = in_place ? 0 : packed_b_size(g.one.K, g.one.N, g.one.b);
  pool.parallel_for(g.batch, [&](long i, int worker) { run(i, scratch + worker * packed_size); });
}

}  // namespace tenon::cpu
