// Depthwise convolutions of images of bytes, in float32.
#pragma once
#include <cstdint>

#include "kernels/conv_shape.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/schedule.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// 2-d or 1-d ones with as many groups as channels of the image and of the result.
bool byte_depthwise_supports(const ConvShape& shape);

/// Floats that pack_byte_depthwise writes of filters [channels, 1, (kh,) kw].
long byte_depthwise_packed_size(const ConvShape& shape);
void pack_byte_depthwise(const ConvShape& shape, const float* filters, float* packed);

/// An image of (byte - zero) * scale, channels last.
struct ByteDepthwise {
  const std::uint8_t* in = nullptr;
  bool in_is_signed = false;
  long in_stride = 0;  // elements between pixels
  float zero = 0, scale = 1;
  bool filters_are_finite = false;  // numbers, of which zeros in place of padding change nothing
  const float* packed = nullptr;
  float* out = nullptr;  // null: the epilogue's hook writes the result elsewhere
  long out_stride = 0;
  Epilogue epilogue = {};  // columns are channels, rows are output pixels
  Schedule schedule = {};
};
/// What of ByteDepthwise::schedule counts.
inline constexpr Knobs byte_depthwise_knobs{.block = true};
/// Floats of scratch that a run needs.
long byte_depthwise_scratch_size(const ConvShape& shape, int threads, const Schedule& schedule = {});
void byte_depthwise(const ConvShape& shape, const ByteDepthwise& run, float* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
