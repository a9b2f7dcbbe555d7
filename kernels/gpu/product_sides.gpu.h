// The two sides of a product: where their elements lie, and how a block brings pieces of them to shared
// memory. A line is a row of the left side or a column of the right one; its elements are numbered by depth.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"
#include "kernels/gpu/matrix_instructions.gpu.h"

namespace tenon::gpu {

/// Elements of a line that lie side by side, as memory has them: what is unpacked at once has to be there.
template <class T, int Count>
struct RawPiece {
  unsigned words[Count * sizeof(T) / sizeof(unsigned)];

  GPU_INLINE float at(int i) const {
    constexpr int in_word = int(sizeof(unsigned) / sizeof(T));
    const unsigned bits = words[i / in_word] >> (i % in_word * 8 * int(sizeof(T)));
    T element;
    GPU_COPY(&element, &bits, sizeof element);
    return number(element);
  }
};

/// A matrix in memory.
template <class T>
struct Matrix {
  using Element = T;
  static constexpr bool has_costly_lines = false, is_computed = false;
  const T* data;
  Int lines;
  int depths;
  Int line_stride, depth_stride;

  struct Line {
    Int offset;
    int left;  // lines from this one on
  };
  struct Depth {
    Int offset;
    int left;  // depths from this one on
  };
  GPU_INLINE Line line(Int i) const {
    const Int left = lines - i;
    return {i * line_stride, left > 1024 ? 1024 : int(left)};
  }
  GPU_INLINE Depth depth(int k) const { return {k * depth_stride, depths - k}; }
  static GPU_INLINE int lines_from(const Line& line) { return line.left; }
  /// Null outside.
  GPU_INLINE const T* at(const Line& line, const Depth& depth) const {
    return line.left > 0 && depth.left > 0 ? data + line.offset + depth.offset : nullptr;
  }
  /// at(), in numbers; false outside.
  GPU_INLINE bool find(const Line& line, const Depth& depth, Int& row, Int& column) const {
    row = line.offset;
    column = depth.offset;
    return line.left > 0 && depth.left > 0;
  }
  /// A line that exists, along whose depth elements lie side by side.
  struct OneLine {
    const T* elements;

    /// `Count` elements from depth k on, which exist and begin at an aligned address.
    template <int Count>
    GPU_INLINE RawPiece<T, Count> piece(int k) const {
      RawPiece<T, Count> result;
      read_pieces(reinterpret_cast<const unsigned*>(elements + k), result.words);
      return result;
    }
    GPU_INLINE float number_at(int k) const { return number(elements[k]); }
  };
  GPU_INLINE OneLine one_line(Int i) const { return {data + i * line_stride}; }
};

/// One spatial axis of a convolution.
struct ConvAxis {
  Int in, out, kernel, stride, pad, dilation, x_stride;
};

/// The input of a convolution as a matrix: a line for each pixel of the result, a depth for each tap of the
/// window and each channel of the group, the channel moving fastest.
template <class T, bool Transposed>
struct Windows {
  using Element = T;
  static constexpr bool has_costly_lines = true, is_computed = false;
  const T* data;
  Int lines;
  int channels;
  Int image_stride, channel_stride;
  ConvAxis d, h, w;

  struct Line {
    Int image;
    int d, h, w;  // of the window's first tap, before it is divided by the stride where transposed
  };
  struct Depth {
    Int channel;
    int d, h, w;  // of the tap, from the window's first one
    int left;     // channels from this one on
  };

  static GPU_INLINE int first_tap(const ConvAxis& axis, Int out) {
    return int(Transposed ? out + axis.pad : out * axis.stride - axis.pad);
  }
  GPU_INLINE Line line(Int pixel) const {
    const Int out_w = pixel % w.out, rest = pixel / w.out;
    const Int out_h = rest % h.out, rest_of_h = rest / h.out;
    const Int out_d = rest_of_h % d.out, image = rest_of_h / d.out;
    constexpr int outside = -(1 << 30);  // whatever the tap
    return {image * image_stride, pixel < lines ? first_tap(d, out_d) : outside, first_tap(h, out_h),
            first_tap(w, out_w)};
  }
  GPU_INLINE Depth depth(int k) const {
    const unsigned channel = unsigned(k) % unsigned(channels), tap = unsigned(k) / unsigned(channels);
    const unsigned tap_w = tap % unsigned(w.kernel), rest = tap / unsigned(w.kernel);
    const unsigned tap_h = rest % unsigned(h.kernel), tap_d = rest / unsigned(h.kernel);
    return {channel * channel_stride, int(tap_d * d.dilation), int(tap_h * h.dilation),
            int(tap_w * w.dilation), tap_d < unsigned(d.kernel) ? channels - int(channel) : 0};
  }
  /// Lines do not lie side by side.
  static GPU_INLINE int lines_from(const Line&) { return 1; }
  /// The place on an axis; -1 where there is none.
  static GPU_INLINE int place(const ConvAxis& axis, int first, int tap) {
    int at = Transposed ? first - tap : first + tap;
    if (at < 0) return -1;
    if (Transposed) {
      if (at % int(axis.stride) != 0) return -1;
      at /= int(axis.stride);
    }
    return at < int(axis.in) ? at : -1;
  }
  /// use(where the pixel lies), or `outside`.
  template <class Result, class Use>
  GPU_INLINE Result at_pixel(const Line& line, const Depth& depth, Result outside, Use use) const {
    if (depth.left <= 0) return outside;
    const int at_d = place(d, line.d, depth.d), at_h = place(h, line.h, depth.h),
              at_w = place(w, line.w, depth.w);
    if (at_d < 0 || at_h < 0 || at_w < 0) return outside;
    return use(line.image + at_d * d.x_stride + at_h * h.x_stride + at_w * w.x_stride);
  }
  GPU_INLINE const T* at(const Line& line, const Depth& depth) const {
    return at_pixel(line, depth, static_cast<const T*>(nullptr),
                    [&](Int pixel) { return data + depth.channel + pixel; });
  }
  /// at(), in numbers: the pixel and the channel; false outside.
  GPU_INLINE bool find(const Line& line, const Depth& depth, Int& row, Int& column) const {
    column = depth.channel;
    return at_pixel(line, depth, false, [&](Int pixel) {
      row = pixel;
      return true;
    });
  }
};

/// A side of which nothing lies in memory: `compute(row, column)` is the element at the place that `Places`
/// (one of the above, whose strides count rows and columns) finds.
template <class Places, class Compute>
struct Computed {
  using Element = typename Places::Element;
  static constexpr bool has_costly_lines = Places::has_costly_lines, is_computed = true;
  using Line = typename Places::Line;
  using Depth = typename Places::Depth;
  Places places;
  Compute compute;

  GPU_INLINE Line line(Int i) const { return places.line(i); }
  GPU_INLINE Depth depth(int k) const { return places.depth(k); }
  static GPU_INLINE int lines_from(const Line&) { return 1; }
  /// 0 outside.
  GPU_INLINE Element value(const Line& line, const Depth& depth) const {
    Int row, column;
    return places.find(line, depth, row, column) ? compute(row, column) : convert<Element>(0.0f);
  }
};

template <class Places, class Compute>
GPU_INLINE Computed<Places, Compute> computed_at(const Places& places, const Compute& compute) {
  return {places, compute};
}

/// A side of bytes that stand for their number minus a zero point: one for all lines, or one for each.
template <class Side>
struct Centred : Side {
  const int* zeros;
  Int stride;  // 0: one for all
};

/// The zero point of a line, which may lie beyond the last.
template <class Side>
struct ZeroPoint {
  static constexpr bool is_there = false;
  static GPU_INLINE unsigned of(const Side&, Int) { return 0; }
};
template <class Side>
struct ZeroPoint<Centred<Side>> {
  static constexpr bool is_there = true;
  static GPU_INLINE unsigned of(const Centred<Side>& side, Int line) {
    return unsigned(side.zeros[line < side.lines ? line * side.stride : 0]);
  }
};

/// What a mask adds to a score, as a base-2 logarithm. The lowest numbers stay numbers: a row of them is no
/// row without keys.
GPU_INLINE float log2_weight(float added) {
  constexpr float log2_of_e = 1.4426950408889634f, bound = 2.3e38f;
  if (!isfinite(added)) return added;
  return (added < -bound ? -bound : added > bound ? bound : added) * log2_of_e;
}

/// `Count` floats of a line from depth k on; 0 beyond its ends.
template <int Count, class T>
GPU_INLINE void read_floats(const Matrix<T>& side, Int line, int k, float (&to)[Count]) {
  const auto depth = side.depth(k);
  const T* const from = side.at(side.line(line), depth);
  T elements[Count];
  if (from && depth.left >= Count)
    read_pieces(from, elements);
  else
    for (int e = 0; e < Count; ++e) elements[e] = from && e < depth.left ? from[e] : convert<T>(0.0f);
  for (int e = 0; e < Count; ++e) to[e] = number(elements[e]);
}

#if !GPU_MMA
GPU_INLINE void commit_copies() {}
template <int Pending>
GPU_INLINE void wait_for_copies() {}
#endif

/// Brings Lines x Depth elements at a time to a tile: a thread takes chunks of `Wanted` elements that lie
/// side by side, along the depth or across lines as in the tile. Chunks of more than one element are 16 bytes
/// at an aligned address; elements that are converted come one by one. What cannot be copied beside the
/// computing goes through registers: Staged, finish() writes them; else it is written at once, which takes
/// few.
template <class Side, class Tile, int Lines, int Depth, int Wanted, int Threads, bool Staged>
class Loader {
  static constexpr bool DepthFast = Tile::depth_fast;
  using From = typename Side::Element;
  using To = typename Tile::Element;
  static constexpr int Count = same<From, To> ? Wanted : 1;

 public:
#if GPU_MMA
  static constexpr bool is_async = Count > 1;
#else
  static constexpr bool is_async = false;
#endif

 private:
  static constexpr int across = (DepthFast ? Depth : Lines) / Count;  // chunks side by side
  static constexpr int chunks = Lines * Depth / Count, reads = (chunks + Threads - 1) / Threads;
  // Where all chunks of a thread lie below each other, its lines (or its line) are looked up once.
  static constexpr bool is_regular = Threads % across == 0;
  static constexpr int apart = is_regular ? Threads / across : 0;  // lines or depths
  static constexpr bool keeps_lines = Side::has_costly_lines && is_regular;
  static constexpr int line_count = !keeps_lines ? 0 : DepthFast ? reads : 1;
  static constexpr bool is_staged = Staged && !is_async;
  static constexpr int unrolled = is_staged || keeps_lines || reads <= 4 ? reads : 4;

  /// Where a chunk begins in a tile.
  struct Place {
    int line, depth;
  };

 public:
  GPU_INLINE Loader(const Side& side, Int first_line) : side_(side) { move_to(first_line); }

  GPU_INLINE void move_to(Int first_line) {
    first_line_ = first_line;
#pragma unroll
    for (int i = 0; i < line_count; ++i) lines_[i] = side_.line(first_line + place(i).line);
  }

  /// Begins to read the piece whose first depth is k.
  GPU_INLINE void begin(int k, const Tile& tile) {
    auto depth = side_.depth(k + place(0).depth);
#pragma unroll unrolled
    for (int i = 0; i < reads; ++i) {
      if (!is_mine(i)) return;
      if (i > 0 && !(is_regular && DepthFast)) depth = side_.depth(k + place(i).depth);
      const typename Side::Line line = line_of(i);
      if constexpr (Side::is_computed) {
        To element[1] = {convert<To>(side_.value(line, depth))};
        if constexpr (is_staged)
          staged_[i][0] = element[0];
        else
          write_pieces(target(tile, i), element);
      } else {
        const From* const from = side_.at(line, depth);
        const int left = DepthFast ? depth.left : Side::lines_from(line), valid = left < Count ? left : Count;
#if GPU_MMA
        if constexpr (is_async) {
          copy_async(target(tile, i), from ? from : side_.data, from ? valid * int(sizeof(From)) : 0);
          continue;
        }
#endif
        if constexpr (is_staged) {
          read(from, valid, staged_[i]);
        } else {
          To elements[Count];
          read(from, valid, elements);
          write_pieces(target(tile, i), elements);
        }
      }
    }
  }
  /// What begin() read is in the tile when this was called and wait_for_copies.
  GPU_INLINE void finish(const Tile& tile) {
    if (!is_staged) return;
#pragma unroll
    for (int i = 0; i < reads; ++i)
      if (is_mine(i)) write_pieces(target(tile, i), staged_[i]);
  }

 private:
  static GPU_INLINE bool is_mine(int i) {
    return chunks % Threads == 0 || int(threadIdx.x) + i * Threads < chunks;
  }
  static GPU_INLINE Place place(int i) {
    const int t = int(threadIdx.x);
    const int fast = is_regular ? t % across * Count : (t + i * Threads) % across * Count;
    const int slow = is_regular ? t / across + i * apart : (t + i * Threads) / across;
    return DepthFast ? Place{slow, fast} : Place{fast, slow};
  }
  GPU_INLINE typename Side::Line line_of(int i) const {
    if constexpr (keeps_lines)
      return lines_[DepthFast ? i : 0];
    else
      return side_.line(first_line_ + place(i).line);
  }
  static GPU_INLINE To* target(const Tile& tile, int i) { return tile.at(place(i).line, place(i).depth); }
  static GPU_INLINE void read(const From* from, int valid, To (&to)[Count]) {
    if constexpr (Count > 1) {
      if (from && valid == Count) return read_pieces(from, to);
      for (int e = 0; e < Count; ++e) to[e] = from && e < valid ? from[e] : convert<To>(0.0f);
    } else {
      to[0] = from ? convert<To>(*from) : convert<To>(0.0f);
    }
  }

  const Side& side_;
  Int first_line_;
  typename Side::Line lines_[line_count > 0 ? line_count : 1];
  To staged_[is_staged ? reads : 1][Count];
};

}  // namespace tenon::gpu
