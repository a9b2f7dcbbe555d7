// How a product is shared by the blocks of a GPU: the choice of tiles.
#pragma once
#include <string>

#include "kernels/gpu/product_source.h"

namespace tenon::gpu {

/// Rows of a product that row_product.gpu.h computes at once; more are tiles.
inline constexpr std::int64_t most_rows_at_once = 8;

/// What multiplies the pieces of a tile.
enum class TileUnit : std::uint8_t { ordinary, of_wave, of_warpgroup };

/// Tiles of the result, and how blocks share them: the first `whole` tiles have a block each, `sharers`
/// blocks share the others (stream_k.gpu.h).
struct Tiling {
  int rows = 64, columns = 64, threads = 128;
  TileUnit unit = TileUnit::of_wave;
  int row_count = 0;      // not 0: a product of so many rows (row_product.gpu.h)
  int teams_sharing = 1;  // of such a product: its depth
  int team_steps = 1;     // pieces of a column that a thread reads at once
  int across = 0;         // not 0: of such a product whose columns lie side by side, threads for a piece each
  bool bulk = false;      // of warpgroups: bulk copies bring the sides (bulk_product.gpu.h)
  bool splits = false;    // of warpgroups: float32 in two parts (split_product.gpu.h)
  std::int64_t whole = 0, sharers = 0;

  std::int64_t row_tiles(const Product& p) const;
  /// Of one product of a batch.
  std::int64_t tiles(const Product& p) const;
  std::int64_t shared_tiles(const Product& p) const;
  /// Of a product of few rows.
  int columns_of_team() const { return columns * teams_sharing / (threads / 32); }
  /// Pieces in which the depth of a tile is brought to shared memory.
  std::int64_t pieces(const Product& p) const;
  /// Of a warpgroup's product: how many pieces there are in shared memory, and the bytes that this takes
  /// (wgmma_product.gpu.h). A block of others has static memory.
  int stages() const;
  std::int64_t shared_bytes() const;
  /// That run on a processor at once, about.
  std::int64_t blocks_of_processor() const;
  /// "128x64", "64x64 in 9 parts", "128x128 streamed", "128x256 wgmma", "128x256 wgmma tma", "of 2 rows";
  /// of bytes, "64x64 bytes"; of float8, "64x64 float8"; with the codes of the right side: "64x64 i4 groups
  /// of 32"
  std::string text(const Product& p) const;
};

std::int64_t batches(const Product& p);
/// What it is computed in: product_type, i8 of bytes, or the left side's float8 (of_float8).
DType type_of(const Product& p);
/// Of parts of its sums.
DType sum_type(const Product& p);
/// It is multiplied as TF32, on devices that do.
bool is_tf32(const Product& p);
/// Blocks that a device runs at once, about.
std::int64_t resident_blocks(const Tiling& t, const GpuLimits& limits);

/// How a side is brought to shared memory: which of its axes lies side by side, and in chunks of how many
/// elements.
struct Reading {
  bool depth_fast = true;
  int count = 1;
};
Reading reading_of_left(const Product& p);
Reading reading_of_right(const Product& p);

/// The sides as bulk copies read them for such tiles. Empty: they are no matrices that these read, which are
/// whole ones (no batch, no windows), in chunks of 16 bytes.
std::vector<TensorMap> tensor_maps(const Product& p, const Tiling& t);

/// The units that it may be computed on; none where ordinary ones do it.
MatrixUnits units_for(const Product& p, const GpuLimits& limits);
/// All that it may be computed by, each shared among blocks as the estimate has it.
std::vector<Tiling> possible_tilings(const Product& p, const GpuLimits& limits);
/// The one of them that takes least time, by the estimate.
Tiling choose_tiling(const Product& p, const GpuLimits& limits);
/// Tiles of this size, of which blocks share what they should by the estimate.
Tiling shared_among_blocks(const Product& p, Tiling tiles, const GpuLimits& limits);
/// Clocks of a processor that the tiling takes, by the estimate.
double estimated_clocks(const Product& p, const Tiling& t, const GpuLimits& limits);

}  // namespace tenon::gpu
