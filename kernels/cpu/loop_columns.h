// The columns of a tile, as they lie in memory. Internal to the loop kernels.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace tenon::cpu {

class Columns {
 public:
  /// One stretch.
  Columns(long count, long stride) : count_(count), stride_(stride) {}
  /// The points [first, first + count) of several dims.
  Columns(const std::vector<long>& extents, const std::vector<long>& strides, long first, long count)
      : count_(count), stride_(strides.back()), first_(first), extents_(&extents), strides_(&strides) {}

  /// From column to column of a stretch, in elements.
  long stride() const { return stride_; }
  bool one_stretch() const { return !extents_; }

  /// Calls f(position, length, offset) for each stretch of columns that lie along one dim.
  template <class F>
  void for_each_stretch(F f) const {
    if (one_stretch()) return f(0L, count_, 0L);
    const std::vector<long>& extents = *extents_;
    const std::vector<long>& strides = *strides_;
    std::array<long, max_dims> index{};
    long offset = 0;
    long rest = first_;
    for (std::size_t d = extents.size(); d-- > 0;) {
      index[d] = rest % extents[d];
      rest /= extents[d];
      offset += index[d] * strides[d];
    }
    const std::size_t inner = extents.size() - 1;
    for (long done = 0; done < count_;) {
      const long length = std::min(extents[inner] - index[inner], count_ - done);
      f(done, length, offset);
      done += length;
      offset += length * strides[inner];
      index[inner] += length;
      for (std::size_t d = inner; d > 0 && index[d] == extents[d]; --d) {
        index[d] = 0;
        index[d - 1] += 1;
        offset += strides[d - 1] - extents[d] * strides[d];
      }
    }
  }

 private:
  static constexpr std::size_t max_dims = 16;

  long count_;
  long stride_;
  long first_ = 0;
  const std::vector<long>* extents_ = nullptr;  // of several dims
  const std::vector<long>* strides_ = nullptr;
};

}  // namespace tenon::cpu
