// Loops over register tiles: order, cache blocks, tails and the tile hook. Built once per ISA.
#include "kernels/cpu/row_gemm.h"

#include "kernels/cpu/row_block.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// Rows of A that stay in the L2 cache while all panels pass over them; floats.
constexpr long a_block = 262144;
// The same for the matrix unit, whose CPUs have an L2 of 2 MB; words.
constexpr long unit_a_block = 327680;
// B small enough to stay in L2 beside rows of A and C: then a row tile of A takes all panels in one call of
// the kernel, and C is written row by row.
constexpr long small_b = 196608;
constexpr long max_depth = RowGemm::max_depth;
constexpr long float_depth = 2048;  // of a block
constexpr long pieces_depth = 1024;
// Words of A as the tile reads it, a block of rows: on the stack, and for the matrix unit.
constexpr long max_packed = 65536;
constexpr long max_unit_packed = 7 * unit_tile_rows * (FloatPieces::count * pieces_depth / 2 + VL);
static_assert(max_unit_packed >= unit_tile_rows * (FloatPieces::count * max_depth / 2 + VL));
static_assert(max_unit_packed <= row_packing_words);
// Pairs of bfloat16 are half as many words, and the matrix unit reads them faster than partial sums.
constexpr long max_pairs = 5120;

// Tiles round themselves; a hook and what is only stored in 16 bits take the hot tile.
bool through_hot_tile(const RowGemm& g, const DepthBlock& k) {
  return !g.epilogue.rounded && !makes_codes(g) && (g.c_halves || (g.epilogue.hook && k.last));
}

bool hook_takes_tiles(const RowGemm& g, const DepthBlock& k) {
  return k.last && g.epilogue.hook && g.epilogue.hook_takes_tiles && !g.epilogue.rounded && !g.c_halves &&
         !makes_codes(g);
}

// The hook takes each tile as soon as it is there: a line of the cache of bytes wide.
void run_tiles_and_hook(const RowGemm& g, const Block& block, const RowTiles& tiles, const RowGemmPart& part,
                        long t_begin, long t_end, const DepthBlock& k) {
  constexpr long line = 64;
  const long panels = larger(line / panel_cols, panels_at_once(static_cast<int>(tiles.rows_of(0))));
  const long width = panels * panel_cols;
  alignas(64) float sums[most_rows * line];  // few rows of several panels are no more
  float* const out = g.hook_stores ? sums : nullptr;
  const auto run = [&](long t, long p, Later later) {
    const long p_end = smaller(p + panels, part.panel_end);
    block.run(t, 1, p, p_end, k, out, width, later);
    block.finish_tile(out, width, t, {p * panel_cols, smaller(g.cols, p_end * panel_cols) - p * panel_cols});
  };
  if (t_end == t_begin + 1 || k.runs * k.length * g.cols <= small_b) {
    for (long t = t_begin; t < t_end; t++)
      for (long p = part.panel_begin; p < part.panel_end; p += panels) run(t, p, {});
    return;
  }
  for (long p = part.panel_begin; p < part.panel_end; p += panels)
    for (long t = t_begin; t < t_end; t++) {
      run(t, p, block.share_of(p + panels, part.panel_end, k, t, t_begin, t_end));
    }
}

void run_tiles(const RowGemm& g, const Block& block, const RowTiles& tiles, const RowGemmPart& part,
               long t_begin, long t_end, const DepthBlock& k) {
  if (hook_takes_tiles(g, k)) return run_tiles_and_hook(g, block, tiles, part, t_begin, t_end, k);
  if (!through_hot_tile(g, k)) {
    const auto outer = g.schedule.outer;
    const bool small = k.runs * k.length * g.cols <= small_b;
    const bool rows_outside = outer == Schedule::Outer::rule ? small : outer == Schedule::Outer::rows;
    const long together = makes_codes(g) ? larger(1, 64 / panel_cols) : 1;  // a line of the cache
    const long step = rows_outside || t_end == t_begin + 1 ? part.panel_end - part.panel_begin : together;
    for (long p = part.panel_begin; p < part.panel_end; p += step) {
      for (long t = t_begin, count; t < t_end; t += count) {
        count = block.tiles_together(t, t_end);
        const Later later = block.share_of(p + step, part.panel_end, k, t, t_begin, t_end);
        block.run(t, count, p, smaller(p + step, part.panel_end), k, nullptr, 0, later);
      }
    }
    return;
  }
  alignas(64) float hot[larger(hook_rows, most_rows) * hook_cols];
  const long group = runs_on_unit(g) ? 1 : hook_rows / tile_rows;
  for (long p = part.panel_begin; p < part.panel_end; p += hook_panels) {
    const long p_end = smaller(p + hook_panels, part.panel_end);
    const Columns cols{p * panel_cols, smaller(g.cols, p_end * panel_cols) - p * panel_cols};
    for (long t = t_begin; t < t_end; t += group) {
      const long g_end = smaller(t + group, t_end);
      for (long i = t, count; i < g_end; i += count) {
        count = block.tiles_together(i, g_end);
        float* out = hot + (tiles.first(i) - tiles.first(t)) * hook_cols;
        block.run(i, count, p, p_end, k, out, hook_cols);
      }
      block.finish_hot_tile(hot, t, g_end, cols);
    }
  }
}

void run_packed_block(const RowGemm& g, const RowTiles& tiles, const RowGemmPart& part, long t_begin,
                      long t_end, const DepthBlock& k, float* packed) {
  Block block(g, tiles, t_begin, t_end);
  block.pack_rows(k, tiles.first(t_end) - tiles.first(t_begin), packed);
  run_tiles(g, block, tiles, part, t_begin, t_end, k);
}

// Apart, since it needs much of the stack.
__attribute__((noinline)) void run_packed_on_stack(const RowGemm& g, const RowTiles& tiles,
                                                   const RowGemmPart& part, long t_begin, long t_end,
                                                   const DepthBlock& k) {
  alignas(64) float packed[max_packed];
  run_packed_block(g, tiles, part, t_begin, t_end, k, packed);
}

// Not by a destructor: what cleans up after exceptions is shared between ISAs.
void run_block(const RowGemm& g, const RowTiles& tiles, const RowGemmPart& part, long t_begin, long t_end,
               const DepthBlock& k) {
  const bool packs = packs_rows(g), on_unit = runs_on_unit(g);
  float* const packing = packs_many_rows(g) ? row_packing() : nullptr;
  if (on_unit) configure_unit((packs ? packed_words(g, k) : packed_run(g, k)) % unit_words);
  if (packing) {
    run_packed_block(g, tiles, part, t_begin, t_end, k, packing);
  } else if (packs) {
    run_packed_on_stack(g, tiles, part, t_begin, t_end, k);
  } else {
    run_tiles(g, Block(g, tiles, t_begin, t_end), tiles, part, t_begin, t_end, k);
  }
  if (on_unit) release_unit();
}

// Row tiles in an M-block, of which k is the longest part of the depth.
long tiles_in_block(const RowGemm& g, const RowTiles& tiles, const DepthBlock& k) {
  const long tile_height = tiles.rows_of(0);
  const long depth = larger(1, k.runs * k.length);
  long rows = max_block_rows;
  if (runs_on_unit(g))
    rows = smaller(unit_a_block / larger(1, packed_words(g, k)), max_block_rows);
  else if (depth * g.cols > small_b)
    rows = smaller(a_block / depth, max_block_rows);
  if (packs_rows(g)) {
    const long words = runs_on_unit(g) ? max_unit_packed : rows_meet(g) ? row_packing_words : max_packed;
    rows = smaller(words / packed_pitch(g, k), rows_meet(g) ? rows : max_block_rows);
    // Behind rows of the last tile the unit reads what there is.
    if (runs_on_unit(g)) rows = rows / unit_tile_rows * unit_tile_rows;
  }
  const long most = packs_rows(g) ? rows : max_block_rows;
  rows = smaller(scaled(rows, g.schedule.block), most);
  return larger(1, rows / tile_height);
}

}  // namespace

bool makes_codes_of_sums(const Epilogue& e) {
  const bool can = runs_byte_dot() || runs_split_bytes();
  return can && e.codes && !e.residual && e.activation == Activation::none && !e.added;
}

bool runs_dot_of_bf16() { return runs_tile(TileForm::bf16_dot) || has_matrix_unit(); }
bool runs_dot_of_bytes() { return runs_byte_dot(); }
double speed_of_bf16() { return has_matrix_unit() ? 6 : runs_dot_of_bf16() ? 2 : 1; }
double speed_of_bytes() { return has_matrix_unit() ? 8 : runs_byte_dot() ? 4 : 1; }
// Wider vectors are spread over two groups of 8 by a shuffle for each product, which is no faster than zeros.
bool row_gemm_runs_groups(long group) { return group == 4 || (group == 8 && VL == 8); }
bool row_gemm_splits_bytes() { return runs_split_bytes(); }

long row_gemm_uncut_depth(DType b_type) {
  return b_type == DType::bf16 && has_matrix_unit() ? max_pairs : max_depth;
}

TileShape row_gemm_tile() { return {tile_rows, panel_cols}; }

RowTiles row_gemm_tiles(const RowGemm& g) {
  if (!runs_on_unit(g)) return {g.rows, tile_height(tile_rows, g.schedule.tile)};
  const long line = packs_rows(g) ? g.rows : line_of(g.a_rows, g.rows);
  return RowTiles::in_lines(g.rows, line, unit_tile_rows);
}

void row_gemm(const RowGemm& g, const RowGemmPart& part) {
  const RowTiles tiles = row_gemm_tiles(g);
  // A in pieces, of many rows, should stay in the L2 cache.
  const bool waits_in_c = !g.c_halves && !g.hook_stores;
  const bool cuts_pieces =
      g.in_pieces && waits_in_c && (g.runs == 1 || g.run_length % FloatPieces::step == 0);
  const bool cut = g.depth() > (cuts_pieces ? pieces_depth : row_gemm_uncut_depth(g.b_type));
  const long block_depth = g.in_pieces ? pieces_depth : float_depth;
  // Blocks of whole runs, or, of a single run, of block_depth floats.
  const long runs_at_once = !cut || g.runs == 1 ? g.runs : larger(1, block_depth / g.run_length);
  const long pieces = cut && g.runs == 1 ? (g.run_length + block_depth - 1) / block_depth : 1;
  const long step = runs_on_unit(g) ? 2 * unit_words : 2;  // no pair is cut, and no step of the unit
  const long length_at_once = smaller(pieces_of(g.run_length, step * pieces) * step, g.run_length);
  const long most = tiles_in_block(g, tiles, {.runs = runs_at_once, .length = length_at_once});
  // As even as can be: a last block of few tiles would pass all of B through the cache for little work.
  const long tile_count = part.tile_end - part.tile_begin;
  const long in_block = pieces_of(tile_count, larger(1, pieces_of(tile_count, most)));
  for (long t = part.tile_begin; t < part.tile_end; t += in_block) {
    const long t_end = smaller(t + in_block, part.tile_end);
    long run = 0;
    do {
      const long runs = smaller(runs_at_once, g.runs - run);
      long start = 0;
      do {
        const long length = smaller(length_at_once, g.run_length - start);
        const DepthBlock k{.run = run,
                           .runs = runs,
                           .start = start,
                           .length = length,
                           .first = run == 0 && start == 0,
                           .last = run + runs == g.runs && start + length == g.run_length};
        run_block(g, tiles, part, t, t_end, k);
        start += length;
      } while (start < g.run_length);
      run += runs;
    } while (run < g.runs);
  }
}

}  // namespace tenon::cpu::TENON_ISA
