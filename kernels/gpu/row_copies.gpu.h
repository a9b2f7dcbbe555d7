// How a block brings rows of a matrix to shared memory, some at a time, one piece after another.
#pragma once
#include "kernels/gpu/product_sides.gpu.h"

namespace tenon::gpu {

/// Brings `Rows` rows at a time, filled up with zeros to `Width` elements, to a tile in which the elements of
/// each lie side by side. A thread takes chunks of `Count` elements: more than one are 16 bytes at an aligned
/// address, which are copied beside the computing where the device can.
template <class Tile, int Rows, int Width, int Count, int Threads>
class RowCopies {
  using T = typename Tile::Element;
  static constexpr int across = Width / Count, chunks = Rows * across;
  static constexpr int reads = (chunks + Threads - 1) / Threads, unrolled = reads <= 8 ? reads : 4;
  // All chunks of a thread lie below each other.
  static constexpr bool is_regular = Threads % across == 0;
  static constexpr int apart = is_regular ? Threads / across : 0;  // rows

 public:
  /// `rows` of `length` elements begin at `first`; those behind the last are zero.
  GPU_INLINE RowCopies(const T* first, int rows, int length, Int stride)
      : first_(first), left_(rows), length_(length), stride_(stride) {
    if (is_regular) first_ += row_of(0) * stride + column_of(0);
  }

  /// Begins to bring the next rows.
  GPU_INLINE void begin(const Tile& tile) {
    const bool is_whole = left_ >= Rows && (is_regular ? column_of(0) + Count : Width) <= length_;
    if (is_whole)
      for_chunks(tile, [&](T* to, const T* from, int, int) { copy(to, from); });
    else
      for_chunks(tile, [&](T* to, const T* from, int row, int column) {
        const int room = row < left_ ? length_ - column : 0;
        copy(to, from, room < 0 ? 0 : room < Count ? room : Count);
      });
    first_ += Rows * stride_;
    left_ -= Rows;
  }

 private:
  template <class Use>
  GPU_INLINE void for_chunks(const Tile& tile, Use use) const {
    const T* from = first_;
    const Int step = apart * stride_;
#pragma unroll unrolled
    for (int i = 0; i < reads; ++i) {
      const int row = row_of(i), column = column_of(i);
      if (chunks % Threads == 0 || row < Rows)
        use(Tile::depth_fast ? tile.at(row, column) : tile.at(column, row),
            is_regular ? from : first_ + row * stride_ + column, row, column);
      from += step;
    }
  }
  static GPU_INLINE int row_of(int i) {
    const int t = int(threadIdx.x);
    return is_regular ? t / across + i * apart : (t + i * Threads) / across;
  }
  static GPU_INLINE int column_of(int i) {
    const int t = int(threadIdx.x);
    return (is_regular ? t % across : (t + i * Threads) % across) * Count;
  }
  static GPU_INLINE void copy(T* to, const T* from) {
#if GPU_MMA
    if constexpr (Count > 1) return copy_async(to, from);
#endif
    T elements[Count];
    read_pieces(from, elements);
    write_pieces(to, elements);
  }
  static GPU_INLINE void copy(T* to, const T* from, int valid) {
#if GPU_MMA
    if constexpr (Count > 1) return copy_async(to, from, valid * int(sizeof(T)));
#endif
    T elements[Count];
    for (int e = 0; e < Count; ++e) elements[e] = e < valid ? from[e] : convert<T>(0.0f);
    write_pieces(to, elements);
  }

  const T* first_;
  int left_, length_;
  Int stride_;
};

}  // namespace tenon::gpu
