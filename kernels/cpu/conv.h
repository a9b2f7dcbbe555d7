// Convolutions in float32 on channels-last images: [N, (D,) H, W, C] with any stride between pixels.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "kernels/conv_shape.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/schedule.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// How a convolution is computed.
enum class ConvAlgorithm {
  gemm,       // matrix product over runs of contiguous input: 1x1 in place, others with zero-padded rows; any
              // shape
  winograd2,  // 3x3 or 5x5, also dilated: 2x2 outputs a tile (error about that of gemm; 5x5: 4 times that)
  winograd4,  // 3x3 or 5x5, also dilated: 4x4 outputs a tile (error about 4 times that of gemm; 5x5: 10 times
              // that)
  winograd6,  // 3x3, also dilated: 6x6 outputs a tile (error about 10 times that of gemm)
  winograd_line,  // a kernel of one axis: lines of 4 to 7 outputs (error 3.5 to 5 times that
                  // of gemm)
  depthwise,      // groups == Cin == Cout
  narrow_groups,  // of 2, 4, ... outputs, up to a vector, and no more inputs: as depthwise
  transposed,     // one matrix product for each of the stride x stride output phases
  gemm_f16,       // gemm with weights kept in float16: half the memory
  gemm_bf16,      // the same in bfloat16; also transposed, where the CPU multiplies such numbers
  taps,           // one product for each tap, of the outputs for which it reads no padding
  strassen,       // 1x1, stride 1: seven products of half the size (error about 1.5 times that of gemm)
};
/// Those of float32 weights. Of two that cost the same, the first is taken.
inline constexpr std::array conv_algorithms = {ConvAlgorithm::transposed,    ConvAlgorithm::depthwise,
                                               ConvAlgorithm::narrow_groups, ConvAlgorithm::winograd4,
                                               ConvAlgorithm::winograd6,     ConvAlgorithm::winograd2,
                                               ConvAlgorithm::winograd_line, ConvAlgorithm::taps,
                                               ConvAlgorithm::strassen,      ConvAlgorithm::gemm};
/// The one that keeps weights of this 16-bit type as they are.
std::optional<ConvAlgorithm> conv_algorithm_of(DType weights);
std::string_view name(ConvAlgorithm algorithm);
std::optional<ConvAlgorithm> conv_algorithm_from_name(std::string_view name);

/// Whether the algorithm can compute this shape.
bool conv_supports(const ConvShape& shape, ConvAlgorithm algorithm);
/// The operations of a product over all taps, those of the columns that its tiles leave empty too.
double conv_product_cost(const ConvShape& shape);
/// Operations of a dense matrix product that takes as long: what an estimate divides by the peak. The shape
/// must be supported.
/// `in_is_bf16`: ConvRun::in_is_bf16.
double conv_cost(const ConvShape& shape, ConvAlgorithm algorithm, bool in_is_bf16 = false);
/// Do its packed weights come from memory while it multiplies, so that little but the longer of the two
/// counts?
bool conv_streams_weights(ConvAlgorithm algorithm);
/// The supported algorithm of the least cost.
ConvAlgorithm choose_conv(const ConvShape& shape);

/// The shape as far as packed weights depend on it: batch, sizes of the image and padding are erased. Shapes
/// that are equal here share packed weights.
ConvShape packing_shape(const ConvShape& shape);
/// Words of four bytes that pack_conv writes. Packed weights are for the ISA they were packed under. Weights
/// are floats, which a 16-bit algorithm rounds.
long conv_packed_size(const ConvShape& shape, ConvAlgorithm algorithm);
void pack_conv(const ConvShape& shape, ConvAlgorithm algorithm, const float* weights, float* packed,
               ThreadPool& pool);
/// Those of gemm_bf16, from bfloat16.
void pack_conv_halves(const ConvShape& shape, const std::uint16_t* weights, float* packed, ThreadPool& pool);

/// What of ConvRun::schedule counts.
Knobs conv_knobs(ConvAlgorithm algorithm);
/// Floats of scratch that a run needs.
long conv_scratch_size(const ConvShape& shape, ConvAlgorithm algorithm, int threads,
                       const Schedule& schedule = {});

struct ConvRun {
  const float* in = nullptr;
  // In place of in and out: bfloat16, where conv_reads_halves and conv_writes_halves say so. Strides then
  // count its elements.
  const std::uint16_t* in_halves = nullptr;
  long in_stride = 0;       // floats between pixels: Cin, or more if the input is a slice of a wider buffer
  bool in_is_bf16 = false;  // RowGemm::a_is_bf16
  const float* packed = nullptr;
  const float* weights = nullptr;  // as pack_conv took them; read where conv_reads_weights says so
  float* out = nullptr;
  std::uint16_t* out_halves = nullptr;
  long out_stride = 0;
  Epilogue epilogue = {};  // columns are output channels, rows are output pixels
  long first_row = 0;      // what the epilogue's hook is told for the first pixel
  float* scratch = nullptr;
  Schedule schedule = {};
};
/// Whether a run may need ConvRun::weights: where the packed form would spread a NaN or an infinity of the
/// input over outputs that do not read it, those outputs are computed from the weights themselves.
bool conv_reads_weights(const ConvShape& shape, ConvAlgorithm algorithm);
/// Can it read bfloat16 (ConvRun::in_halves), and can it write it (ConvRun::out_halves)?
bool conv_reads_halves(const ConvShape& shape, ConvAlgorithm algorithm);
bool conv_writes_halves(const ConvShape& shape, ConvAlgorithm algorithm);
/// `out` may overlap neither `in` nor `packed`; it may be the residual.
void conv(const ConvShape& shape, ConvAlgorithm algorithm, const ConvRun& run, ThreadPool& pool);

}  // namespace tenon::cpu
