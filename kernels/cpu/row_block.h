// A block of rows of a product: where its rows lie, and calls of the register tile for some of them. Part of
// row_gemm.cpp, built once per ISA.
#pragma once
#include "kernels/cpu/coded_rows.h"
#include "kernels/cpu/packed_runs.h"
#include "kernels/cpu/row_gemm.h"
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/simd_half.h"
#include "kernels/cpu/split_floats.h"
#include "kernels/cpu/tile_kernel.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long max_block_rows = 240;
// Runs of A in bfloat16 that a tile may read as they lie.
constexpr long max_runs_in_place = 64;
// The hot tile that a hook sees: this many panels by about this many rows.
constexpr long hook_panels = 4;
constexpr long hook_rows = tile_rows > 8 ? tile_rows : 4 * tile_rows;
constexpr long hook_cols = hook_panels * panel_cols;
// Rows of any tile, and those of the hot tile.
constexpr long most_rows = VL == 16 ? unit_tile_rows : tile_rows;

constexpr long smaller(long a, long b) { return a < b ? a : b; }
constexpr long larger(long a, long b) { return a > b ? a : b; }
constexpr long pieces_of(long whole, long piece) { return (whole + piece - 1) / piece; }

// A block of k: runs [run, run + runs), each cut to [start, start + length).
struct DepthBlock {
  long run;
  long runs;
  long start;
  long length;
  bool first;
  bool last;
};

// Offsets of one block of rows.
struct BlockRows {
  long a[max_block_rows];
  long c[max_block_rows];
  long residual[max_block_rows];
  long added[max_block_rows];
  long sums[max_block_rows];
};

// Words of B that a later tile reads (Tile::later).
struct Later {
  const float* begin = nullptr;
  long step = 0;
  long share = 0;  // Tile::later_share
};

struct Columns {
  long first;
  long count;
};

// A single row waits for B alone, which the register tile reads as fast.
bool rows_fit_unit(const RowGemm& g) { return g.rows > 1 && has_matrix_unit(); }

TileForm form_of(const RowGemm& g) {
  if (g.in_pieces) return TileForm::pieces;
  if (g.b_type == DType::f16) return TileForm::f16;
  if (g.b_type == DType::i8) return g.rest ? TileForm::split_bytes : TileForm::bytes;
  if (g.group != 0) return g.group == 4 ? TileForm::groups4 : TileForm::groups8;
  if (g.b_type != DType::bf16) return TileForm::f32;
  const bool pairs_fit = g.runs == 1 || g.run_length <= RowGemm::max_depth;
  const bool a_is_bf16 = g.a_is_bf16 || g.a_halves;
  const bool runs = runs_tile(TileForm::bf16_dot) || rows_fit_unit(g);
  return a_is_bf16 && pairs_fit && runs ? TileForm::bf16_dot : TileForm::bf16;
}

// Does the matrix unit multiply?
bool runs_on_unit(const RowGemm& g) {
  const TileForm form = form_of(g);
  if (form == TileForm::pieces) return true;
  return (form == TileForm::bf16_dot || form == TileForm::bytes) && rows_fit_unit(g);
}

// Rows of A at one distance.
long line_of(const RowMap& map, long rows) {
  if (map.linear() || map.width >= rows) return rows;
  if (map.y_stride != map.width * map.x_stride) return map.width;
  return map.n_stride == map.height * map.y_stride ? rows : map.width * map.height;
}

// Is A bfloat16 in memory, pair by pair as the tile of pairs reads it?
bool lies_in_pairs(const RowGemm& g) {
  if (!g.a_halves || form_of(g) != TileForm::bf16_dot || g.runs > max_runs_in_place) return false;
  if (reinterpret_cast<std::uintptr_t>(g.a_halves) % alignof(float) != 0) return false;
  long odd = g.run_length | g.a_rows.x_stride | g.a_rows.y_stride | g.a_rows.n_stride;
  for (long s = 0; g.run_offsets && s < g.runs; s++) odd |= g.run_offsets[s];
  return odd % 2 == 0;
}

// Is it better for the matrix unit to read rows of A, which lie as it reads them, line by line, than to pack
// them?
bool unit_reads_lines(const RowGemm& g) {
  const long line = line_of(g.a_rows, g.rows);
  if (line < unit_rows || g.rows % line != 0) return false;
  const auto whole = [](long n, long step) { return static_cast<double>((n + step - 1) / step * step); };
  const long words = form_of(g) == TileForm::bytes ? g.run_length : (g.run_length + 1) / 2;
  // In steps of the unit, for 16 rows and 16 words. Packing takes about as long as a step does.
  constexpr double packing = 3;
  const double columns = whole(g.cols, unit_words) / unit_words;
  const double lines = whole(line, unit_rows) / static_cast<double>(line);
  const double rows = whole(g.rows, unit_rows) / static_cast<double>(g.rows);
  const double runs = whole(words, unit_words) / static_cast<double>(words);
  const double depth = whole(g.runs * words, unit_words) / static_cast<double>(g.runs * words);
  return lines * runs * columns <= packing + rows * depth * columns;
}

// Do the rows of a tile meet in one set of the L1 cache, which holds fewer lines, while many panels pass over
// them? That is where they lie a multiple of 4 KiB apart.
bool rows_meet(const RowGemm& g) {
  constexpr long page_words = 1024, ways = 8, many_panels = 4;
  const long stride = g.a_halves ? g.a_rows.x_stride / 2 : g.a_rows.x_stride;
  return tile_rows > ways && g.rows > ways && stride != 0 && stride % page_words == 0 && g.runs == 1 &&
         g.group == 0 && g.cols >= many_panels * panel_cols;
}

// Must rows of A be written as the tile reads them?
bool packs_rows(const RowGemm& g) {
  if (runs_on_unit(g)) {
    if (g.in_pieces) return true;
    const bool lies_so = form_of(g) == TileForm::bytes || lies_in_pairs(g);
    return !lies_so || !unit_reads_lines(g);
  }
  if (rows_meet(g)) return true;
  if (g.a_halves) return !lies_in_pairs(g);
  return form_of(g) == TileForm::bf16_dot;
}

// Are there so many rows that they are packed in row_packing()?
bool packs_many_rows(const RowGemm& g) { return packs_rows(g) && (runs_on_unit(g) || rows_meet(g)); }

// Words of a run of packed rows: pairs, or floats, of which a last one may be zero.
long packed_run(const RowGemm& g, const DepthBlock& k) {
  const bool is_dot = form_of(g) == TileForm::bf16_dot;
  if (!is_dot && !g.a_halves) return k.length;
  const long pairs = PanelRows(g.b_type, panel_cols, k.length).per_run;
  return is_dot ? pairs : 2 * pairs;
}

// Words of a packed row, as the tile counts them.
long packed_words(const RowGemm& g, const DepthBlock& k) {
  return g.in_pieces ? FloatPieces::padded(k.runs * k.length) / 2 : k.runs * packed_run(g, k);
}

// Words between two packed rows: rows a power of two apart would meet in few sets of the cache. The matrix
// unit reads rows twice as fast that begin with a line of the cache.
long packed_pitch(const RowGemm& g, const DepthBlock& k) {
  constexpr long line = 16;
  const long words = (g.in_pieces ? FloatPieces::count : 1) * packed_words(g, k);
  return runs_on_unit(g) ? (pieces_of(words, line) | 1) * line : words + VL;
}

// A row of floats, run by run, in pieces. Was it too small for the unit?
bool split_row(const RowGemm& g, const DepthBlock& k, const float* row, float* to) {
  const long words = packed_words(g, k);
  alignas(64) float runs[RowGemm::max_depth];
  const float* whole = runs;
  if (k.runs == 1)
    whole = row + (g.run_offsets ? g.run_offsets[k.run] : 0);
  else
    for (long s = 0; s < k.runs; s++)
      copy_words(row + g.run_offsets[k.run + s], k.length, runs + s * k.length);
  const bool is_small = split_run(whole, k.runs * k.length, 1, to, words);
  if (is_small) split_run(whole, k.runs * k.length, of_small_rows, to, words);
  return is_small;
}

// Do tiles make codes of their sums? Those of bytes are never cut.
bool makes_codes(const RowGemm& g) {
  return g.integers && (g.rest || runs_byte_dot()) && makes_codes_of_sums(g.epilogue);
}

class Block {
 public:
  Block(const RowGemm& g, const RowTiles& tiles, long tile_begin, long tile_end)
      : g_(g),
        tiles_(tiles),
        form_(form_of(g)),
        on_unit_(runs_on_unit(g)),
        first_row_(tiles.first(tile_begin)) {
    const long rows = tiles.first(tile_end) - first_row_;
    const bool in_pairs = lies_in_pairs(g) && !packs_rows(g);
    each_row(g.a_rows, rows, [&](long i, long offset) { offsets_.a[i] = in_pairs ? offset / 2 : offset; });
    if (in_pairs) {
      pairs_in_place_ = reinterpret_cast<const float*>(g.a_halves);
      for (long s = 0; s < g.runs; s++) pair_offsets_[s] = g.run_offsets ? g.run_offsets[s] / 2 : 0;
    }
    const Epilogue& e = g.epilogue;
    const long c_stride = makes_codes(g) ? e.codes->stride : g.c_stride;
    each_row(g.c_rows, rows, [&](long i, long row) { offsets_.c[i] = row * c_stride; });
    if (e.rounded)
      each_row(g.c_rows, rows,
               [&](long i, long row) { offsets_.added[i] = row * e.rounded_residual_stride; });
    if (e.residual) {
      each_row(g.c_rows, rows, [&](long i, long row) {
        offsets_.residual[i] = (e.residual_rows ? e.residual_rows[row] : row) * e.residual_stride;
      });
    }
    for (long i = 0; g.sums && i < rows; i++) offsets_.sums[i] = (first_row_ + i) * g.sums_stride;
    if (e.added)
      each_row(g.c_rows, rows, [&](long i, long row) { offsets_.added[i] = row * e.added_stride; });
  }

  // Writes the rows' part of this depth to `packed`, as the tile reads it.
  void pack_rows(const DepthBlock& k, long rows, float* packed) {
    const long pitch = packed_pitch(g_, k);
    const long words = packed_run(g_, k);
    const bool is_copy = form_ == TileForm::bytes || (g_.a_halves && form_ == TileForm::bf16_dot);
    const long size = g_.a_halves ? 2 : 4;
    if (is_copy && k.runs > 1 && ShortRun::fits(k.length * size)) {
      const ShortRun run(k.length * size, words * 4);
      const auto* const a =
          g_.a_halves ? reinterpret_cast<const char*>(g_.a_halves) : reinterpret_cast<const char*>(g_.a);
      for (long i = 0; i < rows; i++) {
        const long row = offsets_.a[i] + k.start;
        for (long s = 0; s < k.runs; s++)
          run.copy(a + (row + g_.run_offsets[k.run + s]) * size, packed + i * pitch + s * words);
        offsets_.a[i] = i * pitch;
      }
      packed_ = packed;
      return;
    }
    for (long i = 0; i < rows; i++) {
      if (g_.in_pieces) small_[i] = split_row(g_, k, g_.a + offsets_.a[i] + k.start, packed + i * pitch);
      for (long s = 0; s < k.runs && !g_.in_pieces; s++) {
        const long from = offsets_.a[i] + (g_.run_offsets ? g_.run_offsets[k.run + s] : 0) + k.start;
        float* const to = packed + i * pitch + s * words;
        const bool is_dot = form_ == TileForm::bf16_dot;
        if (g_.a_halves)
          (is_dot ? copy_pairs : widen_run)(g_.a_halves + from, k.length, to);
        else
          (is_dot ? pack_pairs : copy_words)(g_.a + from, k.length, to);
      }
      offsets_.a[i] = i * pitch;
    }
    packed_ = packed;
  }

  // Of the rows of this depth in a panel, the share of row tile t of t_end - t_begin; behind the last panel,
  // in RowGemm::next_b.
  Later share_of(long panel, long panel_end, const DepthBlock& k, long t, long t_begin, long t_end) const {
    if (panel >= panel_end && !g_.next_b) return {};
    const float* const begin = panel < panel_end ? b_of(panel, k) : g_.next_b;
    const long rows = g_.in_pieces ? FloatPieces::panel_words(k.runs * k.length, panel_cols) / panel_cols
                                   : k.runs * PanelRows(g_.b_type, panel_cols, k.length).per_run;
    const long step = (g_.b_row_stride + t_end - t_begin - 1) / (t_end - t_begin);
    return {begin + (t - t_begin) * rows * step, step, rows * step};
  }

  // Of the row tiles from t on, before t_end, how many have its height, and rows at one distance where the
  // kernels make use of that? One call may run those.
  long tiles_together(long t, long t_end) const {
    if (on_unit_) return 1;
    const long of_height = t < tiles_.taller ? smaller(t_end, tiles_.taller) : t_end;
    if (!uses_stride) return of_height - t;
    const long height = tiles_.rows_of(t), rows = height * (of_height - t);
    const long* const row = offsets_.a + tiles_.first(t) - first_row_;
    long even = height < 2 ? 1 : 2;
    while (even < rows && even > 1 && row[even] - row[even - 1] == row[1] - row[0]) even++;
    return larger(1, even / height);
  }

  // Row tiles [t, t + count), which tiles_together allows, x panels [panel, panel_end), written to `out`
  // (null: to C) with row stride out_stride.
  void run(long t, long count, long panel, long panel_end, const DepthBlock& k, float* out, long out_stride,
           Later later = {}) const {
    const long row = tiles_.first(t) - first_row_;
    const int rows = static_cast<int>(tiles_.rows_of(t));
    const long col = panel * panel_cols;
    const Epilogue& e = g_.epilogue;
    const bool rounds = e.rounded && k.last;
    alignas(64) float sums[most_rows * panel_cols];  // of a tile that is written in 16 bits
    const bool tile_is_sums = rounds && g_.c_halves;
    if (tile_is_sums) {
      out = sums;
      out_stride = at_once(rows) * panel_cols;
    }
    long out_row[larger(hook_rows, most_rows)];
    if (out) {
      const long out_rows = tile_is_sums ? rows : rows * count;
      for (long i = 0; i < out_rows; i++) out_row[i] = i * out_stride;
    }
    RoundedTile rounded{};
    Tile tile{};
    if (rounds) {
      rounded.residual = e.rounded_residual ? e.rounded->further(e.rounded_residual, col) : nullptr;
      rounded.residual_rows = offsets_.added + row;
      if (g_.c_halves) {
        rounded.halves = g_.c_halves + col;
        rounded.halves_rows = offsets_.c + row;
        tile.c_panel_stride = 0;
      }
      tile.rounding = e.rounded;
      tile.rounded = &rounded;
    }
    tile.row_tiles = count;
    tile.a_row = offsets_.a + row;
    if (packed_) {
      tile.a = packed_;
      tile.runs = 1;
      tile.run_length = packed_words(g_, k);
      tile.piece_distance = tile.run_length;
      tile.small_rows = small_ + row;
    } else if (pairs_in_place_) {
      tile.a = pairs_in_place_ + k.start / 2;
      tile.runs = k.runs;
      tile.run_offsets = pair_offsets_ + k.run;
      tile.run_length = k.length / 2;
    } else {
      tile.a = g_.a + k.start;
      tile.runs = k.runs;
      tile.run_offsets = g_.run_offsets ? g_.run_offsets + k.run : nullptr;
      tile.run_length = k.length;
    }
    tile.height = rows;
    tile.a_stride = on_unit_ ? distance_of_rows(k) : common_stride(tile.a_row, rows);
    tile.reads_rows_before = on_unit_ && !packed_;
    tile.b = b_of(panel, k);
    tile.rest = g_.rest;
    tile.panel = panel;
    tile.later = later.begin;
    tile.later_step = later.step;
    tile.later_share = later.share;
    tile.b_row_stride = g_.b_row_stride;
    tile.b_panel_stride = g_.b_panel_stride;
    tile.c = out ? out : g_.c + col;
    tile.c_row = out ? out_row : offsets_.c + row;
    // The residual may be C's own memory, which the first block writes.
    if (k.first) {
      tile.residual = e.residual ? e.residual + col : nullptr;
      tile.residual_row = offsets_.residual + row;
      tile.partial = g_.sums ? g_.sums + col : nullptr;
      tile.partial_row = offsets_.sums + row;
    } else {
      tile.partial = g_.c + col;
      tile.partial_row = offsets_.c + row;
    }
    if (g_.integers) {
      tile.integer_offsets = g_.integers->offsets + col;
      tile.integer_scales = g_.integers->scales + col;
    }
    if (k.last) {
      tile.bias = e.bias ? e.bias + col : nullptr;
      tile.activation = e.activation;
      tile.added = e.added ? e.added + col : nullptr;
      tile.added_row = offsets_.added + row;
    }
    if (makes_codes(g_)) {
      tile.codes = e.codes;
      const long first = g_.hook_row * e.codes->stride + g_.hook_col + col;
      tile.codes_to = e.codes->to + first;
      if (e.codes->residual) tile.residual_codes = e.codes->residual->from + first;
    }
    // Whole panels, as many at once as the kernel takes; then those one by one; then a last narrow one.
    const long whole = smaller(panel_end, g_.cols / panel_cols) - panel;
    const long together = whole - whole % at_once(rows);
    run_whole(tile, rounded, rows, together);
    if (together < whole) run_whole(tile, rounded, rows, whole - together);
    if (whole < panel_end - panel) {
      const int cols = static_cast<int>(g_.cols % panel_cols);
      const int vectors = (cols + VL - 1) / VL;
      tile.panels = 1;
      tile.last_lanes = cols - (vectors - 1) * VL;
      kernel(rows, vectors, tile)(tile);
    }
  }

  // Runs the hook over row tile t, where it was written: to `hot`, or else to C.
  void finish_tile(float* hot, long hot_stride, long t, Columns cols) const {
    const long row = tiles_.first(t);
    float* const c = hot ? hot : g_.c + offsets_.c[row - first_row_] + cols.first;
    g_.epilogue.hook(g_.epilogue.context, c, hot ? hot_stride : g_.c_stride, g_.hook_row + row,
                     tiles_.rows_of(t), g_.hook_col + cols.first, cols.count);
  }

  // Runs the hook over the hot tile and stores it.
  void finish_hot_tile(float* hot, long t_begin, long t_end, Columns cols) const {
    const long row = tiles_.first(t_begin);
    const long rows = tiles_.first(t_end) - row;
    if (g_.epilogue.hook) {
      g_.epilogue.hook(g_.epilogue.context, hot, hook_cols, g_.hook_row + row, rows, g_.hook_col + cols.first,
                       cols.count);
    }
    if (g_.hook_stores) return;
    for (long i = 0; i < rows; i++) {
      const long at = offsets_.c[row - first_row_ + i] + cols.first;
      const float* h = hot + i * hook_cols;
      long j = 0;
      if (g_.c_halves) {
        narrow_row(h, cols.count, g_.c_halves + at);
        continue;
      }
      float* c = g_.c + at;
      for (; j + VL <= cols.count; j += VL) store(c + j, load(h + j));
      const int tail = static_cast<int>(cols.count - j);
      if (tail > 0) store_partial(c + j, load_partial(h + j, tail), tail);
    }
  }

 private:
  // Calls body(i, where row first_row_ + i lies).
  template <class Body>
  void each_row(const RowMap& map, long rows, Body body) const {
    if (map.linear()) {
      for (long i = 0; i < rows; i++) body(i, (first_row_ + i) * map.x_stride);
    } else {
      RowWalk walk(map, first_row_);
      for (long i = 0; i < rows; i++) body(i, walk.next());
    }
  }

  // Where a panel's rows of this depth begin.
  const float* b_of(long panel, const DepthBlock& k) const {
    if (g_.in_pieces)
      return g_.b + panel * g_.b_panel_stride +
             FloatPieces::panel_words(k.run * g_.run_length + k.start, panel_cols);
    const auto rows = [&](long length) { return PanelRows(g_.b_type, panel_cols, length).per_run; };
    return g_.b + panel * g_.b_panel_stride + (k.run * rows(g_.run_length) + rows(k.start)) * g_.b_row_stride;
  }

  static constexpr bool uses_stride = tile_rows > 8;  // do the kernels?

  // Panels that the kernel takes at once, if there are as many.
  long at_once(int rows) const { return on_unit_ ? 1 : panels_at_once(rows); }

  TileKernel kernel(int rows, int vectors, const Tile& tile) const {
    if (on_unit_) return unit_tile(form_, vectors, tile.run_length % unit_words != 0);
    return tile_kernel(form_, {rows, vectors, tile.a_stride != 0});
  }

  // Of rows that lie in one line, in words.
  long distance_of_rows(const DepthBlock& k) const {
    if (packed_) return packed_pitch(g_, k);
    return pairs_in_place_ ? g_.a_rows.x_stride / 2 : g_.a_rows.x_stride;
  }

  // The distance of the rows where it is the same for all and the kernels make use of that, else 0.
  static long common_stride(const long* row, int rows) {
    if (!uses_stride || rows == 1) return 0;
    const long stride = row[1] - row[0];
    for (int i = 2; i < rows; i++) {
      if (row[i] - row[i - 1] != stride) return 0;
    }
    return stride;
  }

  // Runs `panels` whole panels and moves the tile on past them.
  void run_whole(Tile& tile, RoundedTile& rounded, int rows, long panels) const {
    if (panels == 0) return;
    tile.panels = panels;
    const int together = panels % at_once(rows) == 0 ? static_cast<int>(at_once(rows)) : 1;
    kernel(rows, together * panel_vectors, tile)(tile);
    const long cols = panels * panel_cols;
    tile.b += panels * tile.b_panel_stride;
    tile.panel += panels;
    tile.c += panels * tile.c_panel_stride;
    if (tile.partial) tile.partial += cols;
    if (tile.bias) tile.bias += cols;
    if (tile.integer_scales) tile.integer_offsets += cols, tile.integer_scales += cols;
    if (tile.codes_to) tile.codes_to += cols;
    if (tile.residual_codes) tile.residual_codes += cols;
    if (tile.residual) tile.residual += cols;
    if (tile.added) tile.added += cols;
    if (rounded.residual) rounded.residual = tile.rounding->further(rounded.residual, cols);
    if (rounded.halves) rounded.halves += cols;
  }

  const RowGemm& g_;
  const RowTiles& tiles_;
  TileForm form_;
  bool on_unit_;
  long first_row_;
  const float* packed_ = nullptr;          // rows of A that pack_rows wrote
  const float* pairs_in_place_ = nullptr;  // A where lies_in_pairs
  long pair_offsets_[max_runs_in_place];   // of its runs, in words
  BlockRows offsets_;
  bool small_[max_block_rows];  // of rows in pieces
};

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
