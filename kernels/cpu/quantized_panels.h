// Matrices of 8- or 4-bit codes in column panels, and what is computed from the codes themselves.
#pragma once
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Panels of row_gemm_tile().cols columns each, one after the other. A panel is its groups of consecutive k,
/// one after the other; a group is the scales of its columns (float32), their zero points where there are any
/// (signed bytes), and the codes. 8 bits: rows of signed bytes. 4 bits: rows of words of 32 bits for eight k
/// each, the first in the lowest bits. Columns beyond the matrix are zeros.
struct QuantizedPanels {
  long K = 0;
  long group = 1;  // consecutive k that share scale and zero point; the last group may be shorter
  int bits = 8;    // 4: K and group are multiples of 8
  bool has_zeros = false;
  float first = 0;  // 4 bits: the number that code 0 stands for

  long groups() const { return (K + group - 1) / group; }
  long header_bytes(long cols) const { return cols * (has_zeros ? 5 : 4); }
  long code_bytes(long length, long cols) const { return length * cols * bits / 8; }
  long bytes(long cols) const { return groups() * header_bytes(cols) + code_bytes(K, cols); }
};

/// Sums over k of up to quantized_rows_at_once rows of A with some panels: c[m][column] for whole panels.
struct QuantizedRows {
  QuantizedPanels form;
  const std::byte* b;  // the first panel
  long panels;
  int rows;
  const float* a;
  long a_stride;
  const float* a_sums;  // with zero points: of each row and group, the sum of A's elements
  float* c;
  long c_stride;
};
inline constexpr int quantized_rows_at_once = 4;
using QuantizedRowsRun = void(const QuantizedRows&);
TENON_PER_ISA(QuantizedRowsRun, quantized_rows, quantized_rows)

/// A panel in float32: to[k][column] = (code - zero) * scale.
using DequantizePanel = void(const QuantizedPanels&, const std::byte* panel, float* to);
TENON_PER_ISA(DequantizePanel, dequantize_panel, dequantize_panel)

}  // namespace tenon::cpu
