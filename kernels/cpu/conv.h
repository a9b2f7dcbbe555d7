// Convolutions in float32 on channels-last images: [N, (D,) H, W, C] with any stride between pixels.
#pragma once
#include <optional>
#include <string_view>

#include "kernels/cpu/epilogue.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// One spatial axis. Unused axes stay as they are: a 1-d convolution has only `w`, a 2-d one `h` and `w`.
struct ConvAxis {
  long in = 1;
  long kernel = 1;
  long stride = 1;
  long pad_before = 0;  // in elements of the input; for transposed convolutions PyTorch's `padding`
  long pad_after = 0;
  long dilation = 1;
  long output_padding = 0;  // transposed only

  bool trivial() const {
    return in == 1 && kernel == 1 && pad_before == 0 && pad_after == 0 && output_padding == 0;
  }
};

/// Weights are PyTorch's: [Cout, Cin / groups, (kd,) kh, kw], transposed [Cin, Cout / groups, (kd,) kh, kw].
struct ConvShape {
  long N = 1;
  long Cin = 1;
  long Cout = 1;
  ConvAxis h = {};
  ConvAxis w = {};
  ConvAxis d = {};
  long groups = 1;
  bool transposed = false;

  long out(const ConvAxis& a) const {
    const long reach = (a.kernel - 1) * a.dilation + 1;
    if (transposed) return (a.in - 1) * a.stride + reach - a.pad_before - a.pad_after + a.output_padding;
    return (a.in + a.pad_before + a.pad_after - reach) / a.stride + 1;
  }
  long in_pixels() const { return d.in * h.in * w.in; }
  long out_pixels() const { return out(d) * out(h) * out(w); }
  long taps() const { return d.kernel * h.kernel * w.kernel; }
  /// Multiply-adds count two.
  double flops() const {
    const double pixels = static_cast<double>(N * (transposed ? in_pixels() : out_pixels()));
    return 2.0 * pixels * static_cast<double>(Cout * Cin / groups * taps());
  }
};

/// How a convolution is computed.
enum class ConvAlgorithm {
  gemm,       // matrix product over runs of contiguous input: 1x1 in place, others with zero-padded rows; any
              // shape
  winograd4,  // 3x3, stride 1: 4x4 outputs a tile (error about 4 times that of gemm)
  winograd6,  // 3x3, stride 1: 6x6 outputs a tile (error about 10 times that of gemm)
  depthwise,  // groups == Cin == Cout
  transposed,  // one matrix product for each of the stride x stride output phases
};
std::string_view name(ConvAlgorithm algorithm);
std::optional<ConvAlgorithm> conv_algorithm_from_name(std::string_view name);

/// Whether the algorithm can compute this shape.
bool conv_supports(const ConvShape& shape, ConvAlgorithm algorithm);
/// The algorithm expected to be fastest.
ConvAlgorithm choose_conv(const ConvShape& shape, int threads);

/// The shape as far as packed weights depend on it: batch, sizes of the image and padding are erased. Shapes
/// that are equal here share packed weights.
ConvShape packing_shape(const ConvShape& shape);
/// Floats that pack_conv writes. Packed weights are for the ISA they were packed under.
long conv_packed_size(const ConvShape& shape, ConvAlgorithm algorithm);
void pack_conv(const ConvShape& shape, ConvAlgorithm algorithm, const float* weights, float* packed,
               ThreadPool& pool);

/// Floats of scratch that a run needs.
long conv_scratch_size(const ConvShape& shape, ConvAlgorithm algorithm, int threads);

struct ConvRun {
  const float* in = nullptr;
  long in_stride = 0;  // floats between pixels: Cin, or more if the input is a slice of a wider buffer
  const float* packed = nullptr;
  const float* weights = nullptr;  // as pack_conv took them; read where conv_reads_weights says so
  float* out = nullptr;
  long out_stride = 0;
  Epilogue epilogue = {};  // columns are output channels, rows are output pixels
  long first_row = 0;      // what the epilogue's hook is told for the first pixel
  float* scratch = nullptr;
};
/// Whether a run may need ConvRun::weights: where the packed form would spread a NaN or an infinity of the
/// input over outputs that do not read it, those outputs are computed from the weights themselves.
bool conv_reads_weights(const ConvShape& shape, ConvAlgorithm algorithm);
/// `out` may overlap neither `in` nor `packed`; it may be the residual.
void conv(const ConvShape& shape, ConvAlgorithm algorithm, const ConvRun& run, ThreadPool& pool);

}  // namespace tenon::cpu
