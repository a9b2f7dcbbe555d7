// Winograd convolution: 3x3, stride 1, computed as (tile + 2)^2 matrix products over transformed tiles of the
// image.
#pragma once
#include "kernels/cpu/conv.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Tiles of all images of a batch.
[[gnu::always_inline]] inline long winograd_tiles(const ConvShape& s, long tile) {
  return s.N * ((s.out(s.h) + tile - 1) / tile) * ((s.out(s.w) + tile - 1) / tile);
}

/// Where a tile lies in the output image.
struct TilePlace {
  long image;
  long y;
  long x;

  TilePlace(const ConvShape& s, long tile, long index) {
    const long across = (s.out(s.w) + tile - 1) / tile;
    const long down = (s.out(s.h) + tile - 1) / tile;
    image = index / (across * down);
    y = index / across % down * tile;
    x = index % across * tile;
  }
};

/// A block of consecutive tiles (counted over batch, tile rows, tile columns) and where its transforms lie.
struct WinogradBlock {
  const ConvShape* shape;
  const ConvRun* run;
  long tile;  // outputs per tile and axis: 2, 4 or 6
  long first_tile;
  long tiles;
  // [(tile + 2)^2][tiles of a block][channels]: strides in floats, padded so that they are no powers of two
  float* transformed_in;
  long in_tile_stride;
  long in_point_stride;
  float* products;
  long out_tile_stride;
  long out_point_stride;
  // By tile: its patch holds what is not finite, which the transforms would spread over the whole tile. It is
  // left out of the image (SpoiledTiles).
  bool* spoiled;
};

struct WinogradRange {
  long begin;
  long end;
};

/// Transforms tiles [begin, end) of the block: image -> transformed_in.
using WinogradInput = void(const WinogradBlock& block, WinogradRange tiles);
TENON_PER_ISA(WinogradInput, winograd_input, winograd_input)

/// Products [begin, end) of the block, counted over points and column panels: transformed_in * weights ->
/// products.
using WinogradMultiply = void(const WinogradBlock& block, WinogradRange products);
TENON_PER_ISA(WinogradMultiply, winograd_multiply, winograd_multiply)

/// Transforms back: products -> image, with the epilogue.
using WinogradOutput = void(const WinogradBlock& block, WinogradRange tiles);
TENON_PER_ISA(WinogradOutput, winograd_output, winograd_output)

/// Transforms the weights that meet input channels [begin, end): packed is
/// [points][panels][Cin][panel columns].
using WinogradPack = void(const ConvShape& shape, long tile, const float* weights, float* packed,
                          WinogradRange channels);
TENON_PER_ISA(WinogradPack, winograd_pack, winograd_pack)

/// What of ConvRun::schedule counts: `split` by rows shares out whole blocks, by columns the steps of each.
inline constexpr Knobs winograd_knobs{.split = true, .pieces = true, .block = true, .outer = true};

/// Tiles that make a good block for this ISA: their transforms stay in the L2 cache.
using WinogradBlockTiles = long(const ConvShape& shape, long tile);
TENON_PER_ISA(WinogradBlockTiles, winograd_block_tiles, winograd_block_tiles)

bool winograd_supports(const ConvShape& s);
long winograd_packed_size(const ConvShape& s, long tile);
void pack_winograd(const ConvShape& s, long tile, const float* weights, float* packed, ThreadPool& pool);
long winograd_scratch_size(const ConvShape& s, long tile, int threads, const Schedule& schedule);
void conv_winograd(const ConvShape& s, long tile, const ConvRun& run, ThreadPool& pool);

}  // namespace tenon::cpu
