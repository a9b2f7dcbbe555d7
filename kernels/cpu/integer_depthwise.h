// Depthwise convolutions of images of bytes by filters of 8-bit integers, whose sums are exact.
#pragma once
#include <cstdint>

#include "kernels/conv_shape.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/quantized_gemm.h"
#include "kernels/schedule.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// 2-d or 1-d ones with as many groups as channels of the image and of the result, on a CPU with a dot
/// product of bytes.
bool integer_depthwise_supports(const ConvShape& shape);

/// What the bytes of an image stand for: (byte - zero) * scale; of signed ones, byte is 128 more.
struct ByteScale {
  int zero = 0;  // 0 to 255
  float scale = 1;
};

/// Words of four bytes that pack_integer_depthwise writes.
long integer_depthwise_packed_size(const ConvShape& shape);
/// `b` is the matrix [taps, channels] of the filters. A code without its zero point has 8 bits.
void pack_integer_depthwise(const ConvShape& shape, const QuantizedB& b, const ByteScale& image,
                            float* packed);

/// An image of bytes, channels last.
struct IntegerDepthwise {
  const std::uint8_t* in = nullptr;
  bool in_is_signed = false;
  long in_stride = 0;  // elements between pixels
  int zero = 0;        // of ByteScale
  const float* packed = nullptr;
  float* out = nullptr;  // null: the epilogue's hook writes the result elsewhere
  long out_stride = 0;
  Epilogue epilogue = {};  // bias and hook alone; columns are channels, rows are output pixels
  Schedule schedule = {};
};
/// What of IntegerDepthwise::schedule counts.
inline constexpr Knobs integer_depthwise_knobs{.block = true};
/// Bytes of scratch that a run needs.
long integer_depthwise_scratch_size(const ConvShape& shape, int threads, const Schedule& schedule = {});
void integer_depthwise(const ConvShape& shape, const IntegerDepthwise& run, std::uint8_t* scratch,
                       ThreadPool& pool);

}  // namespace tenon::cpu
