// Products of float32 on a matrix unit that multiplies bfloat16. A factor is the sum of three numbers of
// bfloat16, each of which is the upper half of what those before it leave: 24 bits in all. Of the nine
// products of two factors' pieces the three smallest are left out, 2^-24 of the product on average; sums are
// float32. Beside float64 the error of deep products is less than that of a chain of multiply-adds in float32
// (Henry, Tang, Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
// Computations, 2019). The unit takes pieces and sums below 2^-126 for zero: rows none of
// whose numbers reaches FloatPieces::least are made larger, matrices with such columns not multiplied so.
#pragma once
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// B of RowGemm::in_pieces. A panel holds, for each step of 32 rows, the pairs of rows of one piece after the
/// other.
struct FloatPieces {
  static constexpr long count = 3;
  static constexpr long step = 32;  // elements of the depth; a last one is padded with zeros
  static constexpr float least = 0x1p-48f;
  /// Elements of a depth with its padding, and words of a panel of so many columns.
  static constexpr long padded(long depth) { return (depth + step - 1) / step * step; }
  static constexpr long panel_words(long depth, long cols) { return padded(depth) / 2 * count * cols; }
};

/// Has the CPU such a unit?
using RunsPieces = bool();
TENON_PER_ISA(RunsPieces, runs_float_pieces, runs_float_pieces)

/// Writes a panel of `depth` rows of floats, as wide as a panel is, in pieces.
using SplitPanel = void(const float* rows, long depth, float* to);
TENON_PER_ISA(SplitPanel, split_panel, split_panel)

}  // namespace tenon::cpu
