// Convolutions as matrix products over runs of contiguous input, and transposed ones as one product per
// phase.
#pragma once
#include "kernels/cpu/conv.h"

namespace tenon::cpu {

/// Narrow groups may be merged: several of them make one product with block-diagonal weights.
enum class Merge { no, yes };

/// `type` is what the packed weights are kept in (RowGemm::b_type).
long conv_gemm_packed_size(const ConvShape& s, DType type = DType::f32, Merge merge = Merge::yes);
void pack_conv_gemm(const ConvShape& s, const float* weights, float* packed, ThreadPool& pool,
                    DType type = DType::f32, Merge merge = Merge::yes);
long conv_gemm_scratch_size(const ConvShape& s, DType type = DType::f32);
/// With merged groups, images that hold a NaN or an infinity are computed group by group: 0 times it is NaN.
void conv_gemm(const ConvShape& s, const ConvRun& run, ThreadPool& pool, DType type = DType::f32,
               Merge merge = Merge::yes);
bool conv_gemm_merges_groups(const ConvShape& s, DType type = DType::f32);
/// Are the groups one product of float32, whose columns read their own group?
bool conv_gemm_reads_in_groups(const ConvShape& s);
/// Are outputs so few that it is a product by columns (RowGemm::by_columns), which leaves no part of a tile
/// empty?
bool conv_gemm_by_columns(const ConvShape& s);
/// Can its weights be packed in pairs of bfloat16? Those of an odd number of channels have a zero behind each
/// row of taps. Groups have an even number.
bool conv_gemm_pairs(const ConvShape& s);
/// The depth of one of its products by such weights.
long conv_gemm_pairs_depth(const ConvShape& s);

/// `type`: f32 or bf16, of which conv_transposed_pairs says whether the weights can be packed so. With a
/// result of bfloat16 it takes no hook but one that rounds. Pixels of an odd number of channels are copied
/// with a zero behind them.
bool conv_transposed_pairs(const ConvShape& s);
/// The depth of its deepest product by such weights.
long conv_transposed_pairs_depth(const ConvShape& s);
long conv_transposed_packed_size(const ConvShape& s, DType type = DType::f32);
void pack_conv_transposed(const ConvShape& s, const float* weights, float* packed, ThreadPool& pool,
                          DType type = DType::f32);
/// The same from bfloat16, in pairs.
void pack_conv_transposed(const ConvShape& s, const std::uint16_t* weights, float* packed, ThreadPool& pool);
long conv_transposed_scratch_size(const ConvShape& s, DType type = DType::f32);
void conv_transposed(const ConvShape& s, const ConvRun& run, ThreadPool& pool, DType type = DType::f32);

/// Taps of one convolution at most (a limit of the fixed-size tables of a run).
inline constexpr long max_conv_taps = 4096;

/// Images of one pass: the padded copy of a whole batch would be large.
inline long images_per_pass(const ConvShape& s) {
  constexpr long floats = 1 << 20;
  if (!s.d.trivial()) return 1;
  const long image = s.in_pixels() * s.Cin;
  return image >= floats ? 1 : image == 0 ? s.N : floats / image;
}

}  // namespace tenon::cpu
