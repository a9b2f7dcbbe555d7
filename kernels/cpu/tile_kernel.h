// The register tile: up to tile_rows x tile_cols sums kept in registers over the whole depth. Per-ISA code.
#pragma once
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

/// Vectors in a column panel, and rows and columns of the tile: sums + one panel row + one factor fit the
/// registers.
inline constexpr int panel_vectors = 2;
inline constexpr int panel_cols = panel_vectors * VL;
#if defined(__aarch64__) && TENON_VL == 4
inline constexpr int tile_rows = 8;
#else
inline constexpr int tile_rows = VL == 16 ? 14 : 6;
#endif

/// The operands of one row tile and some consecutive column panels. Row offsets count floats from the pointer
/// they belong to; c, partial, residual and bias move on by panel_cols with each panel.
struct Tile {
  const float* a;
  const long* a_row;
  long a_stride;  // distance of the rows of A if it is always the same, else 0
  long runs;
  const long* run_offsets;
  long run_length;
  const float* b;
  long b_row_stride;
  long b_panel_stride;
  long panels;
  float* c;
  const long* c_row;
  // Added to the sums: partial sums of earlier blocks of k, and the residual. Null: nothing.
  const float* partial;
  const long* partial_row;
  const float* residual;
  const long* residual_row;
  const float* bias;
  bool relu;
};

/// Panels that the kernel for `rows` rows takes at once: few rows need more columns to hide the latency of
/// the FMA.
constexpr int panels_at_once(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }

using TileKernel = void (*)(const Tile&);
/// The kernel for 1 <= rows <= tile_rows. several_panels: Tile::panels is a multiple of panels_at_once(rows).
TileKernel tile_kernel(int rows, bool several_panels, bool uniform_a_stride);

}  // namespace tenon::cpu::TENON_ISA
