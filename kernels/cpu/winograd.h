// Winograd convolution, computed as one matrix product for each point of transformed tiles of the image
// (Lavin, Gray: Fast Algorithms for Convolutional Neural Networks, 2015).
#pragma once
#include "kernels/cpu/conv.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/winograd_form.h"

namespace tenon::cpu {

/// A block of consecutive tiles (counted over batch, tile rows, tile columns) and where its transforms lie.
struct WinogradBlock {
  const WinogradForm* form;
  const ConvRun* run;
  long first_tile;
  long tiles;
  // [points][tiles of a block][depth]: strides in floats, padded so that they are no powers of
  // two
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
/// [points][panels][depth][panel columns].
using WinogradPack = void(const WinogradForm& form, const float* weights, float* packed,
                          WinogradRange channels);
TENON_PER_ISA(WinogradPack, winograd_pack, winograd_pack)

/// What of ConvRun::schedule counts: `split` by rows shares out whole blocks, by columns the steps of each.
inline constexpr Knobs winograd_knobs{.split = true, .pieces = true, .block = true, .outer = true};

/// Tiles that make a good block for this ISA: their transforms stay in the L2 cache.
using WinogradBlockTiles = long(const WinogradForm& form);
TENON_PER_ISA(WinogradBlockTiles, winograd_block_tiles, winograd_block_tiles)

long winograd_packed_size(const WinogradForm& form);
void pack_winograd(const WinogradForm& form, const float* weights, float* packed, ThreadPool& pool);
long winograd_scratch_size(const WinogradForm& form, int threads, const Schedule& schedule);
void conv_winograd(const WinogradForm& form, const ConvRun& run, ThreadPool& pool);

}  // namespace tenon::cpu
