// Convolutions of images of 8-bit integers times a scale by filters that are such numbers: their sums are
// sums of integers.
#pragma once
#include <optional>

#include "kernels/code_range.h"
#include "runtime/calls/conv.h"
#include "runtime/calls/number_grid.h"
#include "runtime/calls/quantized_matrix.h"

namespace tenon {

class WeightStore;

/// The numbers of a convolution of float32.
struct ByteConvNumbers {
  NumberGrid image;
  QuantizedMatrix filters;

  /// nullopt where the graph shows other numbers, or sums of 32 bits may overflow.
  static std::optional<ByteConvNumbers> of(const Node& conv, const Group&, WeightStore&);
};

struct ByteConvCall {
  ConvCall conv;  // whose x is float32, or the bytes that the group makes float32 of
  ByteConvNumbers numbers;

  /// nullopt where the group has no such anchor.
  static std::optional<ByteConvCall> match(const Planner&, const Group&);
};

}  // namespace tenon
