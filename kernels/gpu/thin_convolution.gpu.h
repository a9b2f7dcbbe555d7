// Convolutions whose groups have few channels, of which matrix units would compute little: the time is that
// of reading the input. A thread computes four channels of four pixels side by side.
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"
#include "kernels/gpu/product_sides.gpu.h"

namespace tenon::gpu {

constexpr int thin_threads = 256, thin_channels = 4, thin_pixels = 4;

struct ThinShape {
  Int images, channels;        // of the result
  Int depths, of_group;        // channels of a group: of the input, of the result
  Int image_stride, x_pieces;  // of the input; its channels lie side by side
  Int w_pieces;                // the weights are [taps, depths, channels]
  // Threads of a block: along the channels, rows and runs of pixels; powers of two.
  Int across, down, along;
  ConvAxis d, h, w;
};

/// How a thread's channels find theirs in the input.
enum class ThinGroups {
  of_one,  // a channel has one of its own: four side by side
  shared,  // the four are of one group
  any,
};

/// Transposed, and Kernel taps and Stride along w, which is not dilated; Kernel 0: any.
template <class T, class W, class Sum, ThinGroups Groups, bool Transposed, int Kernel, int Stride>
struct ThinConvolution {
  using Places = Windows<T, Transposed>;
  static constexpr int inputs = Groups == ThinGroups::shared ? 1 : thin_channels;
  /// What is read of a row of the input at once: all that the run's windows cover there, or one of each.
  static constexpr int columns = Kernel > 0 ? (thin_pixels - 1) * Stride + Kernel : thin_pixels;
  static constexpr int taps = Kernel > 0 ? Kernel : 1;

  const T* x;
  const W* weights;
  const ThinShape& s;
  bool x_pieces, w_pieces;
  int channel;  // the thread's first
  int valid;    // how many it has
  Sum sum[thin_pixels][thin_channels] = {};

  GPU_INLINE ThinConvolution(const T* x_, const W* weights_, const ThinShape& s_, int channel_)
      : x(x_),
        weights(weights_),
        s(s_),
        x_pieces(s_.x_pieces != 0 && is_aligned<thin_channels>(x_)),
        w_pieces(s_.w_pieces != 0 && is_aligned<thin_channels>(weights_)),
        channel(channel_),
        valid(s_.channels - channel_ < thin_channels ? int(s_.channels - channel_) : thin_channels) {}

  /// The inputs of the thread's channels at a pixel, for the depth k of their groups.
  GPU_INLINE void read_pixel(const T* pixel, int k, T (&to)[inputs]) const {
    if constexpr (Groups == ThinGroups::of_one) {
      read(pixel + channel, x_pieces, valid, to);
    } else {
#pragma unroll
      for (int v = 0; v < inputs; ++v)
        to[v] = v < valid ? pixel[(channel + v) / int(s.of_group) * int(s.depths) + k] : convert<T>(0.0f);
    }
  }
  /// `at` says where the columns lie along w; -1: outside.
  GPU_INLINE void add_row(const T* row, const int (&at)[columns], Int tap) {
    for (int k = 0; k < int(s.depths); ++k) {
      T values[columns][inputs];
#pragma unroll
      for (int i = 0; i < columns; ++i) {
        if (at[i] >= 0) {
          read_pixel(row + at[i] * s.w.x_stride, k, values[i]);
        } else {
#pragma unroll
          for (int v = 0; v < inputs; ++v) values[i][v] = convert<T>(0.0f);
        }
      }
#pragma unroll
      for (int t = 0; t < taps; ++t) {
        W factors[thin_channels];
        read(weights + ((tap + t) * s.depths + k) * s.channels + channel, w_pieces, valid, factors);
#pragma unroll
        for (int p = 0; p < thin_pixels; ++p) {
          const int i = Kernel > 0 ? p * Stride + t : p;
          if (at[i] < 0) continue;
#pragma unroll
          for (int v = 0; v < thin_channels; ++v)
            sum[p][v] += convert<Sum>(values[i][inputs > 1 ? v : 0]) * convert<Sum>(factors[v]);
        }
      }
    }
  }
  /// Adds what the taps of a row of the window give.
  GPU_INLINE void add_taps(const T* row, Int first_tap, Int first_pixel) {
    int at[columns];
    if constexpr (Kernel > 0) {
      const int first = Places::first_tap(s.w, first_pixel);
#pragma unroll
      for (int i = 0; i < columns; ++i) at[i] = Places::place(s.w, first, i);
      add_row(row, at, first_tap);
    } else {
#pragma unroll 1
      for (int t = 0; t < int(s.w.kernel); ++t) {
#pragma unroll
        for (int p = 0; p < thin_pixels; ++p)
          at[p] = Places::place(s.w, Places::first_tap(s.w, first_pixel + p), t * int(s.w.dilation));
        add_row(row, at, first_tap + t);
      }
    }
  }
};

/// Calls store(pieces) for all elements of a result [pixels, channels]. A block computes its rows and runs of
/// pixels for some channels.
template <class T, class W, class Sum, ThinGroups Groups, bool Transposed, int Kernel, int Stride,
          class Store>
GPU_INLINE void convolve_thin(const T* x, const W* weights, const ThinShape& s, Store store) {
  using Convolution = ThinConvolution<T, W, Sum, Groups, Transposed, Kernel, Stride>;
  using Places = typename Convolution::Places;
  unsigned block = blockIdx.x, thread = threadIdx.x;
  const auto take = [](unsigned& from, Int size) {
    const unsigned taken = from % unsigned(size);
    from /= unsigned(size);
    return Int(taken);
  };
  // The first of `each` that the thread computes of an axis.
  const auto place = [&](Int all, Int threads, int each) {
    const unsigned blocks = (unsigned(all) + unsigned(threads) * each - 1) / (unsigned(threads) * each);
    const Int in_block = take(thread, threads);
    return (take(block, blocks) * threads + in_block) * each;
  };
  const Int channel = place(s.channels, s.across, thin_channels), out_h = place(s.h.out, s.down, 1),
            first_pixel = place(s.w.out, s.along, thin_pixels);
  const Int out_d = take(block, s.d.out), image = Int(block);
  if (channel >= s.channels || out_h >= s.h.out || first_pixel >= s.w.out || image >= s.images) return;

  Convolution of(x, weights, s, int(channel));
  const int first_d = Places::first_tap(s.d, out_d), first_h = Places::first_tap(s.h, out_h);
#pragma unroll 1
  for (int d = 0; d < int(s.d.kernel); ++d) {
    const int at_d = Places::place(s.d, first_d, d * int(s.d.dilation));
    if (at_d < 0) continue;
#pragma unroll 1
    for (int h = 0; h < int(s.h.kernel); ++h) {
      const int at_h = Places::place(s.h, first_h, h * int(s.h.dilation));
      if (at_h < 0) continue;
      of.add_taps(x + image * s.image_stride + at_d * s.d.x_stride + at_h * s.h.x_stride,
                  (d * s.h.kernel + h) * s.w.kernel, first_pixel);
    }
  }
  TilePieces<Sum, thin_pixels, thin_channels> pieces;
  const Int row = ((image * s.d.out + out_d) * s.h.out + out_h) * s.w.out + first_pixel;
#pragma unroll
  for (int p = 0; p < thin_pixels; ++p) {
    pieces.row[p] = row + p;
    pieces.column[p] = of.channel;
    pieces.valid[p] = first_pixel + p < s.w.out ? of.valid : 0;
#pragma unroll
    for (int v = 0; v < thin_channels; ++v) pieces.value[p][v] = of.sum[p][v];
  }
  store(pieces);
}

}  // namespace tenon::gpu
