// Convolutions of 8-bit integers, whose sums are exact: what quantised models compute.
#pragma once
#include <cstdint>

#include "kernels/conv_shape.h"
#include "kernels/cpu/quantized_gemm.h"
#include "kernels/cpu/row_gemm.h"

namespace tenon::cpu {

/// 2-d or 1-d ones of up to 16384 taps and channels an output, whose groups have whole words of four
/// channels. Transposed ones have one group, and each output reads something.
bool byte_conv_supports(const ConvShape& shape);
/// The operations of a float32 product that takes as long; infinite where this CPU multiplies no bytes
/// faster.
double byte_conv_cost(const ConvShape& shape);
/// Is it faster than all ways in float32?
bool byte_conv_pays(const ConvShape& shape);

/// Words of four bytes that pack_byte_conv writes, at most: panels of four bytes of consecutive channels;
/// then of each output channel the sum of its codes, and its scale; then what is beyond split bytes.
long byte_conv_packed_size(const ConvShape& shape);
/// `b` is the matrix [Cin / groups * taps, Cout] of the filters, transposed ones too. A code without its zero
/// point has 8 bits.
void pack_byte_conv(const ConvShape& shape, const QuantizedB& b, float* packed, ThreadPool& pool);

/// An image of whole multiples of a scale, channels last or in planes.
struct ByteConv {
  const float* in = nullptr;  // multiples of in_scale, from `least` on, 256 at most
  // In place of in: of number n the byte n - least, in i8 128 less.
  const std::uint8_t* in_bytes = nullptr;
  bool in_is_signed = false;
  long in_stride = 0;  // elements between pixels
  long in_plane = 1;   // elements between channels: above 1, up to four channels of bytes in dense planes
  float in_scale = 1;
  int least = 0;  // at most 0, from -255 on, where there is padding or the convolution is transposed
  const float* packed = nullptr;
  float* out = nullptr;  // null: the epilogue's hook writes the result elsewhere
  long out_stride = 0;
  RowMap out_rows = {.x_stride = 1};  // output pixel m is the one that this says; linear for a hook
  Epilogue epilogue = {};  // of sums in float32: columns are output channels, rows are output pixels
  long first_row = 0;      // what out_rows are counted from, for codes
  Schedule schedule = {};  // its knobs are row_gemm_knobs
};
/// Are codes made while sums are in registers, without a hook?
bool makes_codes(const ConvShape& shape, const Epilogue& epilogue);
/// Words of scratch that a run needs.
long byte_conv_scratch_size(const ConvShape& shape);
/// `out` may overlap neither `in` nor `packed`; it may be the residual.
void byte_conv(const ConvShape& shape, const ByteConv& run, float* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
