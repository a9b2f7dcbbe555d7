// The one matrix product behind GEMM, convolutions and transposed convolutions: rows of A and C may lie
// anywhere.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/float_pieces.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/split_bytes.h"
#include "kernels/schedule.h"

namespace tenon::cpu {

/// Where row m lies. m counts pixels: x fastest, then y, then n. A plain matrix has one endless line.
struct RowMap {
  long width = 1L << 60;
  long height = 1;
  long x_stride = 0;
  long y_stride = 0;
  long n_stride = 0;

  bool linear() const { return width == 1L << 60; }
};

/// Words of four bytes in a row of a panel of B, and rows for a run of A of so many elements. float32: a row
/// an element; float16: a row an element, of half the words; bfloat16: a row of pairs for two elements, the
/// last of which may be padded with zeros.
struct PanelRows {
  long words;
  long per_run;

  PanelRows(DType b_type, long panel_cols, long run_length)
      : words(b_type == DType::f16 ? panel_cols / 2 : panel_cols),
        per_run(b_type == DType::bf16 ? (run_length + 1) / 2 : run_length) {}
};

/// Of each column of a product of integers: the number that its sums stand for is (sum + offset) * scale.
/// Whole panels of them.
struct ColumnsOfIntegers {
  const std::int32_t* offsets;
  const float* scales;
};

/// C[m][n] = epilogue(sum over k of A[m][k] * B[k][n]), summed in float32.
struct RowGemm {
  long rows = 0;
  long cols = 0;
  // Row m of A starts at a + a_rows(m) and consists of `runs` runs of run_length contiguous floats each;
  // run s lies run_offsets[s] floats after the start of the row.
  const float* a = nullptr;
  // In place of a: bfloat16, for a B of bfloat16. Strides, offsets and lengths then count its elements. Runs
  // of more than one are no longer than max_depth.
  const std::uint16_t* a_halves = nullptr;
  RowMap a_rows;
  long runs = 1;
  const long* run_offsets = nullptr;  // null: one run at 0
  long run_length = 0;
  // Of float32 with f32 weights: column n reads words n / group * group + [0, group) of each run, whose
  // length that is. 0: all columns read all. A size that row_gemm_runs_groups takes.
  long group = 0;
  // Column panels of TileShape::cols each, in rows as PanelRows says. Packed: row stride = PanelRows::words,
  // panel stride = runs * PanelRows::per_run * that. Strides count words.
  const float* b = nullptr;
  // Of float32, where runs_float_pieces(): panels as FloatPieces says, with a row stride of TileShape::cols.
  // The depth is one run, or no larger than max_depth.
  bool in_pieces = false;
  long b_row_stride = 0;
  long b_panel_stride = 0;
  // A panel that is read next: it is brought to the cache while the last one is multiplied. Null: none.
  const float* next_b = nullptr;
  // In place of panels: column n lies at b + n * depth(), of float32. Only run_row_gemm takes it, where
  // packs_columns says so.
  bool by_columns = false;
  // f32, f16 or bf16. i8: the words of A are four unsigned bytes each, those of B four signed ones, the sums
  // are int32; no depth above 4096 words.
  DType b_type = DType::f32;
  // Of i8: makes floats of the sums, which get the epilogue. Else they are stored, in whole panels, with
  // none.
  const ColumnsOfIntegers* integers = nullptr;
  // Of i8 where row_gemm_splits_bytes(): what of B is here alone (split_bytes). Null: nothing.
  const RestOfBytes* rest = nullptr;
  // All of A are values of bfloat16: with such a B, the CPU's dot product of bfloat16 pairs may be used, for
  // which subnormal numbers are zeros, as they are where its tiles round (Epilogue::rounded).
  bool a_is_bf16 = false;
  // Sums that are there already, to which the products are added: those of row m begin at sums + m *
  // sums_stride. Null: none.
  const float* sums = nullptr;
  long sums_stride = 0;
  // Row m of C, and of the residual, is row c_rows(m) of the buffer (strides of c_rows count rows of the
  // buffer).
  float* c = nullptr;
  // In place of c: bfloat16, rounded to nearest even once the epilogue is done. No depth above
  // row_gemm_uncut_depth.
  std::uint16_t* c_halves = nullptr;
  // The hook writes the result elsewhere, not to c. No depth above max_depth.
  bool hook_stores = false;
  long c_stride = 0;
  RowMap c_rows;
  Epilogue epilogue = {};
  // What the hook is told for row 0 and column 0. A hook needs c_rows to be linear; codes that tiles make, in
  // its place, lie in the same rows as C.
  long hook_row = 0;
  long hook_col = 0;
  Schedule schedule = {};

  /// Depths above this are cut into blocks of k, so that A stays in the cache and long sums keep their
  /// digits; the partial sums wait in C.
  static constexpr long max_depth = 4096;
  long depth() const { return runs * run_length; }
};

/// Rows and columns of the register tile of an ISA.
struct TileShape {
  long rows;
  long cols;
};
using TileShapeOf = TileShape();
TENON_PER_ISA(TileShapeOf, row_gemm_tile, row_gemm_tile)

/// What of RowGemm::schedule counts.
inline constexpr Knobs row_gemm_knobs{
    .split = true, .pieces = true, .block = true, .outer = true, .tile = true};

/// The most rows of a register tile that could have `tile_rows`.
constexpr long tile_height(long tile_rows, Schedule::Tile tile) {
  return tile == Schedule::Tile::low ? (2 * tile_rows + 2) / 3 : tile_rows;
}

/// The row tiles of a product.
struct RowTiles {
  long count;
  long height;      // of all tiles; the first `taller` ones have one row more
  long taller = 0;  // the last one of a line may have fewer
  long line = 0;    // rows of a line; 0: all are one
  long of_line = 0;

  /// Rows are split evenly over the tiles.
  RowTiles(long rows, long tile_rows)
      : count((rows + tile_rows - 1) / tile_rows), height(rows / count), taller(rows % count) {}
  /// Each line begins a tile, and all but its last one are full.
  static RowTiles in_lines(long rows, long line, long tile_rows) {
    RowTiles tiles(rows, tile_rows);
    tiles.height = tile_rows;
    tiles.taller = 0;
    tiles.line = line;
    tiles.of_line = (line + tile_rows - 1) / tile_rows;
    tiles.count = rows / line * tiles.of_line;
    return tiles;
  }
  long first(long t) const {
    if (line > 0) return t / of_line * line + t % of_line * height;
    return t * height + (t < taller ? t : taller);
  }
  long rows_of(long t) const {
    if (line == 0) return height + (t < taller);
    const long rest = line - t % of_line * height;
    return rest < height ? rest : height;
  }
};
using RowTilesOf = RowTiles(const RowGemm&);
TENON_PER_ISA(RowTilesOf, row_gemm_tiles, row_gemm_tiles)

/// Computes row tiles [tile_begin, tile_end) x column panels [panel_begin, panel_end) on the calling thread.
/// Each element is one chain of multiply-adds over k (over each block of k where the depth is above 4096),
/// whatever the cut into tiles and panels. A dot product of pairs adds the second of a pair first, a matrix
/// unit a sum of 32 products at once.
struct RowGemmPart {
  long tile_begin;
  long tile_end;
  long panel_begin;
  long panel_end;
};
using RowGemmRun = void(const RowGemm&, const RowGemmPart&);
TENON_PER_ISA(RowGemmRun, row_gemm, row_gemm)

/// Do tiles of bytes make Epilogue::codes? There is no NaN, then, and no hook is called.
using MakesCodes = bool(const Epilogue&);
TENON_PER_ISA(MakesCodes, makes_codes_of_sums, makes_codes_of_sums)

/// Where many rows of A are packed: of this thread, allocated once.
inline constexpr long row_packing_words = 1 << 19;
float* row_packing();

/// Does it take RowGemm::group?
using RunsGroups = bool(long group);
TENON_PER_ISA(RunsGroups, row_gemm_runs_groups, row_gemm_runs_groups)

/// The deepest product by a B of this type that is summed in one go: max_depth or more.
using UncutDepth = long(DType b_type);
TENON_PER_ISA(UncutDepth, row_gemm_uncut_depth, row_gemm_uncut_depth)

/// Are products of bytes faster where B is split (split_bytes.h)?
using SplitsBytes = bool();
TENON_PER_ISA(SplitsBytes, row_gemm_splits_bytes, row_gemm_splits_bytes)

/// Has the CPU instructions for products of bfloat16 by bfloat16 (RowGemm::a_is_bf16), and of bytes?
using RunsDot = bool();
TENON_PER_ISA(RunsDot, runs_dot_of_bf16, runs_dot_of_bf16)
TENON_PER_ISA(RunsDot, runs_dot_of_bytes, runs_dot_of_bytes)
/// About how many times as fast these are as those of float32, together with what is done to their sums.
using SpeedOfDot = double();
TENON_PER_ISA(SpeedOfDot, speed_of_bf16, speed_of_bf16)
TENON_PER_ISA(SpeedOfDot, speed_of_bytes, speed_of_bytes)

}  // namespace tenon::cpu
