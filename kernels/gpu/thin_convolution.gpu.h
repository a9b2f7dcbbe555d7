// Convolutions whose groups have few channels, of which matrix units would compute little: the time is that
// of reading the input. A thread computes four channels of four pixels side by side.
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"
#include "kernels/gpu/product_sides.gpu.h"

namespace tenon::gpu {

constexpr int thin_channels = 4, thin_pixels = 4;

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

/// Transposed, and Kernel taps and Stride along w, which is not dilated; Kernel 0: any. Whole: the thread has
/// all of its channels, in pieces.
template <class T, class W, class Sum, ThinGroups Groups, bool Transposed, int Kernel, int Stride, bool Whole>
struct ThinConvolution {
  using Places = Windows<T, Transposed>;
  using Value = Sum;
  static constexpr int inputs = Groups == ThinGroups::shared ? 1 : thin_channels;
  /// What is read of a row of the input at once: all that the run's windows cover there, or one of each.
  static constexpr int columns = Kernel > 0 ? (thin_pixels - 1) * Stride + Kernel : thin_pixels;
  static constexpr int taps = Kernel > 0 ? Kernel : 1;

  const T* x;
  const W* weights;
  const ThinShape& s;
  int channel;  // the thread's first
  int valid;    // how many it has
  Sum sum[thin_pixels][thin_channels] = {};

  template <class Element>
  GPU_INLINE void read_channels(const Element* from, Element (&to)[thin_channels]) const {
    if constexpr (Whole)
      read_pieces(from, to);
    else
      read(from, false, valid, to);
  }
  /// The inputs of the thread's channels at a pixel, for the depth k of their groups.
  GPU_INLINE void read_pixel(const T* pixel, int k, T (&to)[inputs]) const {
    if constexpr (Groups == ThinGroups::of_one) {
      read_channels(pixel + channel, to);
    } else {
#pragma unroll
      for (int v = 0; v < inputs; ++v) {
        const int mine = Whole || v < valid ? v : 0;
        to[v] = pixel[(channel + mine) / int(s.of_group) * int(s.depths) + k];
      }
    }
  }
  /// `at` says where the columns lie along w; -1: outside. No branch stands between the reads.
  GPU_INLINE void add_row(const T* row, const int (&at)[columns], Int tap) {
    for (int k = 0; k < int(s.depths); ++k) {
      T values[columns][inputs];
#pragma unroll
      for (int i = 0; i < columns; ++i)
        read_pixel(row + (at[i] < 0 ? 0 : at[i]) * s.w.x_stride, k, values[i]);
#pragma unroll
      for (int t = 0; t < taps; ++t) {
        W factors[thin_channels];
        read_channels(weights + ((tap + t) * s.depths + k) * s.channels + channel, factors);
#pragma unroll
        for (int p = 0; p < thin_pixels; ++p) {
          const int i = Kernel > 0 ? p * Stride + t : p;
#pragma unroll
          for (int v = 0; v < thin_channels; ++v) {
            const Sum value = at[i] < 0 ? Sum(0) : convert<Sum>(values[i][inputs > 1 ? v : 0]);
            sum[p][v] += value * convert<Sum>(factors[v]);
          }
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

/// The pixel of the result that a thread begins with, and its first channel.
struct ThinPlace {
  Int image, channel, d, h, w;

  GPU_INLINE explicit ThinPlace(const ThinShape& s) {
    unsigned block = blockIdx.x, thread = threadIdx.x;
    const auto take = [](unsigned& from, Int size) {
      const unsigned taken = from % unsigned(size);
      from /= unsigned(size);
      return Int(taken);
    };
    // The first of `each` that the thread computes of an axis.
    const auto place = [&](Int all, Int threads, int each) {
      const unsigned of_block = unsigned(threads) * unsigned(each);
      const Int in_block = take(thread, threads);
      return take(block, (unsigned(all) + of_block - 1) / of_block) * Int(of_block) + in_block * each;
    };
    channel = place(s.channels, s.across, thin_channels);
    h = place(s.h.out, s.down, 1);
    w = place(s.w.out, s.along, thin_pixels);
    d = take(block, s.d.out);
    image = Int(block);
  }
  GPU_INLINE bool exists(const ThinShape& s) const {
    return channel < s.channels && h < s.h.out && w < s.w.out && image < s.images;
  }
};

template <class Convolution, class Store>
GPU_INLINE void convolve_at(Convolution of, const ThinPlace& at, Store store) {
  using Places = typename Convolution::Places;
  const ThinShape& s = of.s;
  const int first_d = Places::first_tap(s.d, at.d), first_h = Places::first_tap(s.h, at.h);
#pragma unroll 1
  for (int d = 0; d < int(s.d.kernel); ++d) {
    const int at_d = Places::place(s.d, first_d, d * int(s.d.dilation));
    if (at_d < 0) continue;
#pragma unroll 1
    for (int h = 0; h < int(s.h.kernel); ++h) {
      const int at_h = Places::place(s.h, first_h, h * int(s.h.dilation));
      if (at_h < 0) continue;
      of.add_taps(of.x + at.image * s.image_stride + at_d * s.d.x_stride + at_h * s.h.x_stride,
                  (d * s.h.kernel + h) * s.w.kernel, at.w);
    }
  }
  using Sum = typename Convolution::Value;
  TilePieces<Sum, thin_pixels, thin_channels> pieces;
  const Int row = ((at.image * s.d.out + at.d) * s.h.out + at.h) * s.w.out + at.w;
#pragma unroll
  for (int p = 0; p < thin_pixels; ++p) {
    pieces.row[p] = row + p;
    pieces.column[p] = of.channel;
    pieces.valid[p] = at.w + p < s.w.out ? of.valid : 0;
#pragma unroll
    for (int v = 0; v < thin_channels; ++v) pieces.value[p][v] = of.sum[p][v];
  }
  store(pieces);
}

/// Calls store(pieces) for all elements of a result [pixels, channels]. A block computes its rows and runs of
/// pixels for some channels.
template <class T, class W, class Sum, ThinGroups Groups, bool Transposed, int Kernel, int Stride,
          class Store>
GPU_INLINE void convolve_thin(const T* x, const W* weights, const ThinShape& s, Store store) {
  const ThinPlace at(s);
  if (!at.exists(s)) return;
  const int channel = int(at.channel), left = int(s.channels) - channel;
  const bool x_pieces = Groups != ThinGroups::of_one || (s.x_pieces != 0 && is_aligned<thin_channels>(x));
  if (x_pieces && s.w_pieces != 0 && is_aligned<thin_channels>(weights))
    convolve_at(ThinConvolution<T, W, Sum, Groups, Transposed, Kernel, Stride, true>{x, weights, s, channel,
                                                                                     thin_channels},
                at, store);
  else
    convolve_at(
        ThinConvolution<T, W, Sum, Groups, Transposed, 0, 1, false>{
            x, weights, s, channel, left < thin_channels ? left : thin_channels},
        at, store);
}

}  // namespace tenon::gpu
