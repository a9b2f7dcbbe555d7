// The register tile: up to tile_rows x tile_cols sums kept in registers over the whole depth. Per-ISA code.
#pragma once
#include "kernels/cpu/matrix_unit.h"
#include "kernels/cpu/rounded_rows.h"
#include "kernels/cpu/simd.h"
#include "kernels/cpu/split_bytes.h"

namespace tenon::cpu::TENON_ISA {

/// Vectors in a column panel, and rows and columns of the tile: sums + one panel row + one factor fit the
/// registers.
inline constexpr int panel_vectors = 2;
inline constexpr int panel_cols = panel_vectors * VL;
#if defined(__aarch64__) && TENON_VL == 4
inline constexpr int tile_rows = 8;
#else
// Wide vectors without their registers are for tests alone, and take minutes to compile for each row more.
inline constexpr int tile_rows = vector_registers == 32 ? 14 : VL == 16 ? 9 : 6;
#endif

/// What a step of the tile multiplies. All sums are float32, but for bytes.
enum class TileForm {
  f32,          // an element of A by a row of B
  f16,          // the same, B in float16
  bf16,         // two elements of A by a row of pairs of B in bfloat16
  bf16_dot,     // the same, A in pairs of bfloat16, by the CPU's instruction for that
  bytes,        // four unsigned bytes of A by four signed ones of B; 32-bit sums
  split_bytes,  // the same, B split (split_bytes.h)
  groups4,      // float32: column n reads words n / 4 * 4 + [0, 4) of each run of A
  groups8,      // the same with 8
  pieces,       // float32 in pieces (float_pieces.h); on the matrix unit alone
};
/// Should this CPU run register tiles of this form?
bool runs_tile(TileForm form);
/// Has it an instruction for those of bytes? Its tiles make codes, too.
bool runs_byte_dot();
/// Are those of split bytes faster?
bool runs_split_bytes();

/// Rows of a tile of bf16_dot, bytes or pieces on the matrix unit, where there is one. It is run between
/// configure_unit and release_unit.
inline constexpr int unit_tile_rows = 2 * unit_rows;

/// The operands of one row tile, or of several of one height, and some consecutive column panels. Offsets and
/// strides count words of four bytes: an element in float32, a pair of 16-bit ones. partial, residual, added,
/// rounded, bias, those of integers and codes move on by panel_cols with each panel, c by c_panel_stride.
struct Tile {
  const float* a;
  const long* a_row;
  long a_stride;  // distance of the rows of A if it is always the same, else 0
  long runs;
  const long* run_offsets;
  long run_length;  // words of A
  const float* b;
  long b_row_stride;
  long b_panel_stride;
  long panels;
  float* c;
  const long* c_row;
  long c_panel_stride = panel_cols;  // 0: a tile is written over the one before, once `rounded` took that
  // Added to the sums: partial sums of earlier blocks of k, and the residual. Null: nothing.
  const float* partial;
  const long* partial_row;
  const float* residual;
  const long* residual_row;
  // Of integers: (sum + offset) * scale before all that follows. Null: they stay integers.
  const std::int32_t* integer_offsets = nullptr;
  const float* integer_scales = nullptr;
  // Of split bytes.
  const RestOfBytes* rest = nullptr;
  long panel = 0;  // that of b
  const float* bias;
  // Of integers: codes are all that follows the bias, and all that is stored, here and in c_row. Null: none.
  const CodesOfSums* codes = nullptr;
  std::uint8_t* codes_to = nullptr;
  const std::uint8_t* residual_codes = nullptr;  // of CodesOfSums::residual, in c_row, too
  Activation activation;
  const float* added;  // behind the activation; null: nothing
  const long* added_row;
  // Rounds what was written: pointers are those of the first column. Null: nothing.
  const RoundedRows* rounding;
  RoundedTile* rounded;
  // What a later tile reads, brought to the L2 cache meanwhile: so many words further with each row of B.
  const float* later = nullptr;
  long later_step = 0;
  long later_share = 0;  // words from what one row tile brings to what the next one does
  int last_lanes = VL;   // of the last vector of columns, what lies inside the result
  long row_tiles = 1;    // the offsets of their rows follow each other
  // For the matrix unit, which reads rows in sixteens at one distance. Where there are fewer, it reads those
  // before them, or what is behind them.
  long height = 0;
  bool reads_rows_before = false;
  // Of A in pieces: from one to the next, and whether a row is too small for the unit.
  long piece_distance = 0;
  const bool* small_rows = nullptr;

  /// To a row tile so many rows further on, and what it brings to the cache.
  TENON_INLINE void move(long rows, long later_words) {
    a_row += rows;
    if (c_panel_stride != 0) c_row += rows;
    if (partial) partial_row += rows;
    if (residual) residual_row += rows;
    if (added) added_row += rows;
    if (rounded) rounded->move(rows);
    if (later) later += later_words;
  }
};

/// Brings to the cache what round_tile reads and writes.
void prefetch_rounded(const Tile& t, long col, long rows);
/// Rounds the rows at c, which are those of the tile from this column on.
void round_tile(const Tile& t, long col, float* c, long rows, long cols);

/// Panels that the kernel for `rows` rows takes at once: few rows need more columns to hide the latency of
/// the FMA.
constexpr int panels_at_once(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }

/// Leaves the tile as it was.
using TileKernel = void (*)(Tile&);
struct TileCall {
  int rows;         // 1 to tile_rows
  int vectors;      // of columns: 1 to panel_vectors of one panel, or of panels_at_once(rows) panels
  bool is_uniform;  // Tile::a_stride is set
};
TileKernel tile_kernel(TileForm form, const TileCall& call);
/// The same on the matrix unit, for Tile::height rows of one panel after the other; `vectors` of its columns.
/// Runs may end with a last, shorter step.
TileKernel unit_tile(TileForm form, int vectors, bool has_last_step);

}  // namespace tenon::cpu::TENON_ISA
