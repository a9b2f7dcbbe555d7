// Transposed convolutions of bytes: what byte_conv.h says of them.
#pragma once
#include "kernels/cpu/byte_conv.h"

namespace tenon::cpu {

bool byte_conv_transposed_supports(const ConvShape& shape);
long byte_conv_transposed_packed_size(const ConvShape& shape);
void pack_byte_conv_transposed(const ConvShape& shape, const QuantizedB& b, float* packed, ThreadPool& pool);
long byte_conv_transposed_scratch_size(const ConvShape& shape);
void byte_conv_transposed(const ConvShape& shape, const ByteConv& run, float* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
