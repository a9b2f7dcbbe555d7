// The one entry to convolutions: which algorithms fit, which is best, and the call of the chosen one.
#include "kernels/cpu/conv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "kernels/cpu/conv_gemm.h"
#include "kernels/cpu/conv_strassen.h"
#include "kernels/cpu/conv_taps.h"
#include "kernels/cpu/narrow_groups.h"
#include "kernels/cpu/row_gemm.h"
#include "kernels/cpu/strassen.h"
#include "kernels/cpu/winograd.h"

namespace tenon::cpu {
namespace {

constexpr std::array<std::string_view, 12> names = {
    "gemm",          "winograd2",  "winograd4", "winograd6", "winograd line", "depthwise",
    "narrow groups", "transposed", "gemm f16",  "gemm bf16", "taps",          "strassen"};

DType weights_of(ConvAlgorithm a) {
  return a == ConvAlgorithm::gemm_f16 ? DType::f16 : a == ConvAlgorithm::gemm_bf16 ? DType::bf16 : DType::f32;
}

std::optional<WinogradTile> winograd_tile(ConvAlgorithm a) {
  switch (a) {
    case ConvAlgorithm::winograd2: return WinogradTile::square2;
    case ConvAlgorithm::winograd4: return WinogradTile::square4;
    case ConvAlgorithm::winograd6: return WinogradTile::square6;
    case ConvAlgorithm::winograd_line: return WinogradTile::line;
    default: return std::nullopt;
  }
}

bool is_depthwise(const ConvShape& s) { return s.groups > 1 && s.groups == s.Cin && s.groups == s.Cout; }

// Do so many taps read padding that products of the others alone pay?
bool reads_much_padding(const ConvShape& s) { return conv_taps_flops(s) < 0.75 * s.flops(); }

void narrow_groups(const ConvShape& s, const ConvRun& run, ThreadPool& pool) {
  const long rows = s.N * s.out(s.d) * s.out(s.h);
  const double flops_per_chunk = 3.2e6 / static_cast<double>(scaled(16, run.schedule.pieces));
  const double flops_per_row = std::max(1.0, s.flops() / static_cast<double>(std::max(1L, rows)));
  const long step =
      pool.threads() == 1 ? std::max(1L, rows) : static_cast<long>(flops_per_chunk / flops_per_row) + 1;
  pool.parallel_for((rows + step - 1) / step, [&](long chunk, int) {
    narrow_group_rows(s, run, chunk * step, std::min(rows, (chunk + 1) * step));
  });
}

void pack_narrow_groups(const ConvShape& s, const float* weights, float* packed) {
  const long in_each = s.Cin / s.groups, taps = s.taps();
  for (long tap = 0; tap < taps; tap++)
    for (long i = 0; i < in_each; i++)
      for (long c = 0; c < s.Cout; c++) *packed++ = weights[(c * in_each + i) * taps + tap];
}

}  // namespace

std::optional<ConvAlgorithm> conv_algorithm_of(DType weights) {
  if (weights == DType::f16 || is_float8(weights)) return ConvAlgorithm::gemm_f16;
  if (weights == DType::bf16) return ConvAlgorithm::gemm_bf16;
  return std::nullopt;
}

std::string_view name(ConvAlgorithm algorithm) { return names[static_cast<std::size_t>(algorithm)]; }

std::optional<ConvAlgorithm> conv_algorithm_from_name(std::string_view wanted) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end()) return std::nullopt;
  return static_cast<ConvAlgorithm>(found - names.begin());
}

bool conv_supports(const ConvShape& s, ConvAlgorithm algorithm) {
  const bool lists_taps =
      !s.transposed && algorithm != ConvAlgorithm::depthwise && algorithm != ConvAlgorithm::narrow_groups;
  if (lists_taps && s.taps() > max_conv_taps) return false;
  if (const auto tile = winograd_tile(algorithm)) return WinogradForm::supports(s, *tile);
  switch (algorithm) {
    case ConvAlgorithm::gemm: return !s.transposed;
    case ConvAlgorithm::depthwise: return !s.transposed && is_depthwise(s);
    case ConvAlgorithm::narrow_groups: return !s.transposed && !is_depthwise(s) && runs_narrow_groups(s);
    case ConvAlgorithm::transposed: return s.transposed;
    case ConvAlgorithm::gemm_f16: return !s.transposed && s.groups == 1;
    case ConvAlgorithm::gemm_bf16:
      // Without the CPU's products of pairs, those of float32 are faster.
      if (s.transposed) return conv_transposed_pairs(s) && runs_dot_of_bf16();
      return conv_gemm_pairs(s) && (s.groups == 1 || (runs_dot_of_bf16() && !conv_gemm_reads_in_groups(s)));
    case ConvAlgorithm::strassen: return conv_strassen_supports(s);
    case ConvAlgorithm::taps:
      return !s.transposed && s.groups == 1 && reads_much_padding(s) && conv_taps_cover(s);
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd6:
    case ConvAlgorithm::winograd_line: break;  // above
  }
  return false;
}

// How many times the work of its columns a product takes: a narrow one leaves columns of its tiles empty.
static double cost_of_columns(const ConvShape& s) {
  constexpr double tile_columns = 32;
  return std::max(1.0, tile_columns / static_cast<double>(std::max(1L, s.Cout / s.groups)));
}
double conv_product_cost(const ConvShape& s) { return s.flops() * cost_of_columns(s); }

double conv_cost(const ConvShape& s, ConvAlgorithm algorithm, bool in_is_bf16) {
  const double product = conv_product_cost(s);
  if (const auto tile = winograd_tile(algorithm)) return winograd_cost(WinogradForm(s, *tile), product);
  switch (algorithm) {
    case ConvAlgorithm::gemm:
      // Groups of 4 permute each vector that they read, those of 8 broadcast them.
      if (conv_gemm_reads_in_groups(s)) return (s.Cin / s.groups == 4 ? 3.3 : 2.4) * s.flops();
      return conv_gemm_by_columns(s) ? std::min(product, 1.5 * s.flops()) : product;
    case ConvAlgorithm::gemm_f16:
    case ConvAlgorithm::transposed: return product;
    case ConvAlgorithm::gemm_bf16: return in_is_bf16 ? product / speed_of_bf16() : product;
    case ConvAlgorithm::depthwise: return 4 * s.flops();
    case ConvAlgorithm::narrow_groups: return narrow_groups_cost(s);
    case ConvAlgorithm::strassen: return product * conv_strassen_time(s);
    case ConvAlgorithm::taps: {
      // Each product reads and writes the sums.
      constexpr double depth_of_sums = 24;
      return conv_taps_flops(s) * cost_of_columns(s) * (1 + depth_of_sums / static_cast<double>(s.Cin));
    }
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd6:
    case ConvAlgorithm::winograd_line: break;  // above
  }
  return product;
}

bool conv_streams_weights(ConvAlgorithm algorithm) { return winograd_tile(algorithm).has_value(); }

bool conv_reads_halves(const ConvShape& s, ConvAlgorithm algorithm) {
  const bool is_winograd = winograd_tile(algorithm).has_value();
  // A tile of pairs holds a tap.
  return is_winograd || (algorithm == ConvAlgorithm::gemm_bf16 && s.Cin <= RowGemm::max_depth);
}

bool conv_writes_halves(const ConvShape& s, ConvAlgorithm algorithm) {
  const bool is_winograd = winograd_tile(algorithm).has_value();
  // Where the depth is cut, partial sums wait in the result.
  if (is_winograd) return s.Cin * s.taps() <= RowGemm::max_depth;
  const long depth = s.transposed ? conv_transposed_pairs_depth(s) : conv_gemm_pairs_depth(s);
  return algorithm == ConvAlgorithm::gemm_bf16 && depth <= row_gemm_uncut_depth(DType::bf16);
}

ConvAlgorithm choose_conv(const ConvShape& s) {
  std::optional<ConvAlgorithm> best;
  for (const ConvAlgorithm a : conv_algorithms)
    if (conv_supports(s, a) && (!best || conv_cost(s, a) < conv_cost(s, *best))) best = a;
  TENON_CHECK(best.has_value());
  return *best;
}

ConvShape packing_shape(const ConvShape& s) {
  const auto erased = [](const ConvAxis& a) {
    return ConvAxis{.in = (a.kernel - 1) * a.dilation + 1,
                    .kernel = a.kernel,
                    .stride = a.stride,
                    .dilation = a.dilation};
  };
  ConvShape shape = s;
  shape.N = 1;
  for (ConvAxis* axis : {&shape.d, &shape.h, &shape.w}) *axis = erased(*axis);
  return shape;
}

bool conv_reads_weights(const ConvShape& s, ConvAlgorithm algorithm) {
  if (winograd_tile(algorithm).has_value() || algorithm == ConvAlgorithm::strassen) return true;
  const bool has_groups = algorithm == ConvAlgorithm::gemm || algorithm == ConvAlgorithm::gemm_bf16;
  return has_groups && !s.transposed && conv_gemm_merges_groups(s, weights_of(algorithm));
}

long conv_packed_size(const ConvShape& s, ConvAlgorithm algorithm) {
  if (const auto tile = winograd_tile(algorithm)) return winograd_packed_size(WinogradForm(s, *tile));
  switch (algorithm) {
    case ConvAlgorithm::gemm:
    case ConvAlgorithm::gemm_f16:
    case ConvAlgorithm::gemm_bf16:
      return s.transposed ? conv_transposed_packed_size(s, weights_of(algorithm))
                          : conv_gemm_packed_size(s, weights_of(algorithm));
    case ConvAlgorithm::depthwise:
    case ConvAlgorithm::narrow_groups: return s.taps() * s.Cin / s.groups * s.Cout;
    case ConvAlgorithm::transposed: return conv_transposed_packed_size(s);
    case ConvAlgorithm::taps: return conv_taps_packed_size(s);
    case ConvAlgorithm::strassen: return conv_strassen_packed_size(s);
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd6:
    case ConvAlgorithm::winograd_line: break;  // above
  }
  return 0;
}

void pack_conv(const ConvShape& s, ConvAlgorithm algorithm, const float* weights, float* packed,
               ThreadPool& pool) {
  // A packing shape has no padding.
  TENON_CHECK(algorithm == ConvAlgorithm::taps || conv_supports(s, algorithm));
  if (const auto tile = winograd_tile(algorithm))
    return pack_winograd(WinogradForm(s, *tile), weights, packed, pool);
  switch (algorithm) {
    case ConvAlgorithm::gemm:
    case ConvAlgorithm::gemm_f16:
    case ConvAlgorithm::gemm_bf16:
      return s.transposed ? pack_conv_transposed(s, weights, packed, pool, weights_of(algorithm))
                          : pack_conv_gemm(s, weights, packed, pool, weights_of(algorithm));
    case ConvAlgorithm::depthwise:
    case ConvAlgorithm::narrow_groups: return pack_narrow_groups(s, weights, packed);
    case ConvAlgorithm::transposed: return pack_conv_transposed(s, weights, packed, pool);
    case ConvAlgorithm::taps: return pack_conv_taps(s, weights, packed, pool);
    case ConvAlgorithm::strassen: return pack_conv_strassen(s, weights, packed, pool);
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd6:
    case ConvAlgorithm::winograd_line: break;  // above
  }
}

void pack_conv_halves(const ConvShape& s, const std::uint16_t* weights, float* packed, ThreadPool& pool) {
  TENON_CHECK(conv_supports(s, ConvAlgorithm::gemm_bf16));
  if (s.transposed) return pack_conv_transposed(s, weights, packed, pool);
  std::vector<float> floats(static_cast<std::size_t>(s.Cin / s.groups * s.Cout * s.taps()));
  for (std::size_t i = 0; i < floats.size(); i++) floats[i] = std::bit_cast<BFloat16>(weights[i]);
  pack_conv_gemm(s, floats.data(), packed, pool, DType::bf16);
}

Knobs conv_knobs(ConvAlgorithm algorithm) {
  if (winograd_tile(algorithm).has_value()) return winograd_knobs;
  switch (algorithm) {
    case ConvAlgorithm::gemm:
    case ConvAlgorithm::gemm_f16:
    case ConvAlgorithm::gemm_bf16:
    case ConvAlgorithm::transposed:
    case ConvAlgorithm::taps: return row_gemm_knobs;
    case ConvAlgorithm::strassen: return strassen_knobs;
    case ConvAlgorithm::depthwise:
    case ConvAlgorithm::narrow_groups: return {.pieces = true};
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd6:
    case ConvAlgorithm::winograd_line: break;  // above
  }
  return {};
}

long conv_scratch_size(const ConvShape& s, ConvAlgorithm algorithm, int threads, const Schedule& schedule) {
  if (const auto tile = winograd_tile(algorithm))
    return winograd_scratch_size(WinogradForm(s, *tile), threads, schedule);
  switch (algorithm) {
    case ConvAlgorithm::gemm:
    case ConvAlgorithm::gemm_f16:
    case ConvAlgorithm::gemm_bf16:
      return s.transposed ? conv_transposed_scratch_size(s, weights_of(algorithm))
                          : conv_gemm_scratch_size(s, weights_of(algorithm));
    case ConvAlgorithm::depthwise:
    case ConvAlgorithm::narrow_groups:
    case ConvAlgorithm::taps: return 0;
    case ConvAlgorithm::transposed: return conv_transposed_scratch_size(s);
    case ConvAlgorithm::strassen: return conv_strassen_scratch_size(s, threads);
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd6:
    case ConvAlgorithm::winograd_line: break;  // above
  }
  return 0;
}

void conv(const ConvShape& s, ConvAlgorithm algorithm, const ConvRun& run, ThreadPool& pool) {
  TENON_CHECK(conv_supports(s, algorithm));
  if (const auto tile = winograd_tile(algorithm)) return conv_winograd(WinogradForm(s, *tile), run, pool);
  switch (algorithm) {
    case ConvAlgorithm::gemm:
    case ConvAlgorithm::gemm_f16:
    case ConvAlgorithm::gemm_bf16:
      return s.transposed ? conv_transposed(s, run, pool, weights_of(algorithm))
                          : conv_gemm(s, run, pool, weights_of(algorithm));
    case ConvAlgorithm::depthwise:
    case ConvAlgorithm::narrow_groups: return narrow_groups(s, run, pool);
    case ConvAlgorithm::transposed: return conv_transposed(s, run, pool);
    case ConvAlgorithm::taps: return conv_taps(s, run, pool);
    case ConvAlgorithm::strassen: return conv_strassen(s, run, pool);
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd4:
    case ConvAlgorithm::winograd6:
    case ConvAlgorithm::winograd_line: break;  // above
  }
}

}  // namespace tenon::cpu
