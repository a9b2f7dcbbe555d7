// Transposed convolutions as convolutions of stride 1: outputs at the same position modulo the stride use the
// same taps.
#pragma once
#include <array>

#include "kernels/conv_shape.h"

namespace tenon::cpu {

inline constexpr long max_axis_taps = 512;

inline long positive_mod(long a, long b) { return (a % b + b) % b; }

/// One phase of one axis: outputs first, first + stride, ... (count of them); output j reads input j +
/// offset[t] with tap[t]. Offsets rise.
struct AxisPhase {
  long first = 0;
  long count = 0;
  long taps = 0;
  std::array<long, max_axis_taps> tap;
  std::array<long, max_axis_taps> offset;

  AxisPhase(const ConvAxis& a, long out, long phase) {
    // Output o and tap k meet input i where o + pad = i * stride + k * dilation.
    first = positive_mod(phase - a.pad_before, a.stride);
    count = out > first ? (out - first + a.stride - 1) / a.stride : 0;
    for (long k = a.kernel - 1; k >= 0; k--) {
      const long reach = first + a.pad_before - k * a.dilation;
      if (positive_mod(reach, a.stride) != 0) continue;
      tap[static_cast<std::size_t>(taps)] = k;
      offset[static_cast<std::size_t>(taps)] = (reach - positive_mod(reach, a.stride)) / a.stride;
      taps++;
    }
  }

  /// Does an output read inputs that lie one behind the other?
  bool reads_one_run() const {
    return taps > 0 && offset[static_cast<std::size_t>(taps - 1)] - offset[0] == taps - 1;
  }
};

}  // namespace tenon::cpu
