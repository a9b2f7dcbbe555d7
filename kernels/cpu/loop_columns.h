// The columns of a tile, as they lie in memory. Internal to the loop kernels.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tenon::cpu {

/// A dim of a tile: from one of its points to the next, how many elements in memory and how many values.
struct TileDim {
  long extent, memory, values;
};
inline constexpr TileDim one_row = {1, 0, 0};

class Columns {
 public:
  /// One stretch.
  Columns(long count, long stride) : count_(count), stride_(stride) {}
  /// The points [first, first + count) of several dims.
  Columns(const std::vector<long>& extents, const std::vector<long>& strides, long first, long count)
      : count_(count), stride_(strides.back()), first_(first), extents_(&extents), strides_(&strides) {}

  long count() const { return count_; }
  /// From column to column of a stretch, in elements.
  long stride() const { return stride_; }
  bool one_stretch() const { return !extents_; }

  /// Calls f(position, length, offset) for each stretch of columns that lie along one dim.
  template <class F>
  void for_each_stretch(const F& f) const {
    for_each_part(0, one_row, [&](long position, long offset, std::span<const TileDim> dims) {
      f(position, dims.back().extent, offset);
    });
  }

  /// Calls f(position, offset, dims) for boxes of columns that lie along some dims, outermost first, behind
  /// the dim of the rows where there are several. Dims are not copied: to read both halves of what was just
  /// written as two waits for all that was written before.
  template <class F>
  void for_each_box(const TileDim& rows, const F& f) const {
    for_each_part(max_dims, rows, f);
  }

 private:
  static constexpr std::size_t max_dims = 16;

  /// Boxes of at most 1 + `more` dims of columns.
  template <class F>
  void for_each_part(std::size_t more, const TileDim& rows, const F& f) const {
    std::array<TileDim, 1 + max_dims> behind_rows;
    TileDim* const dims = behind_rows.data() + 1;
    const std::size_t row_dims = rows.extent != 1 ? 1 : 0;
    const auto box = [&](std::size_t first, std::size_t last) {
      if (row_dims != 0) dims[first - 1] = {rows.extent, rows.memory, rows.values};
      return std::span<TileDim>(dims + first - row_dims, dims + last);
    };
    if (one_stretch()) {
      dims[0] = {count_, stride_, 1};
      return f(0L, 0L, box(0, 1));
    }
    const std::vector<long>& extents = *extents_;
    const std::vector<long>& strides = *strides_;
    const std::size_t inner = extents.size() - 1;
    std::array<long, max_dims> index;
    long offset = 0;
    long rest = first_;
    for (std::size_t d = extents.size(); d-- > 0;) {
      const long outside = d == 0 ? 0 : rest / extents[d];
      index[d] = rest - outside * extents[d];
      rest = outside;
      offset += index[d] * strides[d];
    }
    for (long done = 0; done < count_;) {
      // Along the outermost dim whose inner ones begin here and end in time.
      std::size_t d = inner;
      long columns = 1;
      for (; d > 0 && inner - d < more && index[d] == 0 && columns * extents[d] <= count_ - done; --d) {
        dims[d] = {extents[d], strides[d], columns};
        columns *= extents[d];
      }
      const long length = std::min(extents[d] - index[d], (count_ - done) / columns);
      dims[d] = {length, strides[d], columns};
      f(done, offset, box(d, inner + 1));
      done += length * columns;
      offset += length * strides[d];
      index[d] += length;
      for (; d > 0 && index[d] == extents[d]; --d) {
        index[d] = 0;
        index[d - 1] += 1;
        offset += strides[d - 1] - extents[d] * strides[d];
      }
    }
  }

  long count_;
  long stride_;
  long first_ = 0;
  const std::vector<long>* extents_ = nullptr;  // of several dims
  const std::vector<long>* strides_ = nullptr;
};

/// Calls f(memory, value, row, column) for patches, two dims each, that cover these dims (one at least).
template <class F>
void for_each_patch(std::span<const TileDim> dims, const F& f) {
  constexpr std::size_t max_dims = 18;
  constexpr long few = 8;
  const std::size_t outside = dims.size() - 1;
  const TileDim& column = dims.back();
  // Rows run along what is dense in memory, or along the longest dim.
  std::size_t chosen = 0;
  const bool is_dense = column.memory == 0 || column.memory == 1;
  const auto worth = [&](const TileDim& dim) {
    return std::pair(!is_dense && dim.memory == 1 && dim.extent >= few, dim.extent);
  };
  for (std::size_t d = 1; d < outside; ++d)
    if (worth(dims[d]) >= worth(dims[chosen])) chosen = d;
  const TileDim& row = outside > 0 ? dims[chosen] : one_row;
  std::array<long, max_dims> index;
  std::fill_n(index.begin(), outside, 0L);
  long memory = 0, value = 0;
  for (bool more = true; more;) {
    f(memory, value, row, column);
    more = false;
    for (std::size_t d = 0; d < outside && !more; ++d) {
      if (d == chosen) continue;
      memory += dims[d].memory;
      value += dims[d].values;
      if (++index[d] < dims[d].extent) {
        more = true;
      } else {
        memory -= dims[d].memory * dims[d].extent;
        value -= dims[d].values * dims[d].extent;
        index[d] = 0;
      }
    }
  }
}

/// The same for `rows` rows of these columns.
template <class F>
void for_each_patch(const TileDim& rows, const Columns& columns, long values_of_column, const F& f) {
  if (columns.one_stretch())
    return f(0L, 0L, rows, TileDim{columns.count(), columns.stride(), values_of_column});
  columns.for_each_box(rows, [&](long position, long offset, std::span<TileDim> box) {
    for (TileDim& dim : box.subspan(rows.extent != 1 ? 1 : 0)) dim.values *= values_of_column;
    for_each_patch(box, [&](long memory, long value, const TileDim& row, const TileDim& column) {
      f(offset + memory, position * values_of_column + value, row, column);
    });
  });
}

}  // namespace tenon::cpu
