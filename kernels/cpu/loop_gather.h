// Gathers of loop programs: what an index names is copied into a tile. Internal to the loop kernels.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "kernels/cpu/loop_columns.h"
#include "kernels/cpu/loop_kernel.h"
#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {

/// What one step gathers.
struct GatherArgs {
  TransferFn transfer = nullptr;      // makes values of elements that are stored in another type
  const std::byte* memory = nullptr;  // what is gathered from
  long row_stride = 0;                // of memory, in elements
  Columns columns;
  const std::int64_t* indices = nullptr;
  long index_pitch = 0;                // from row to row
  bool index_splat = false;            // one index for each row, not for each element
  const std::byte* outside = nullptr;  // the value for indices out of range; null: they are wrong
  long known_indices = 0;  // rows whose indices can be read: those behind the tile are fetched early
  std::byte* values = nullptr;
  long value_size = 0;  // bytes
  long pitch = 0;       // of values, in values
  long rows = 0;
  long cols = 0;
};

/// A gather of elements of the size of T.
template <class T>
class TileGather {
 public:
  /// `bad` is the first wrong index, once there was one.
  TileGather(const GatherArgs& args, const Gathered& gathered, std::optional<LoopKernel::BadIndex>& bad)
      : args_(args), gathered_(gathered), stride_(args.columns.stride()), bad_(bad) {}

  void run() {
    const auto* from = reinterpret_cast<const T*>(args_.memory);
    if (args_.index_splat && !gathered_.converts && args_.columns.one_stretch()) return copy_rows(from);
    const std::int64_t* indices = args_.indices;
    std::byte* to = args_.values;
    for (long r = 0; r < args_.rows; ++r) {
      if (!args_.index_splat) {
        gather_elements(from, indices, to);
      } else if (is_outside(*indices)) {
        for (long c = 0; c < args_.cols; ++c) put_outside(to + c * args_.value_size);
      } else {
        gather_row(from + distance(*indices), to);
      }
      from += args_.row_stride;
      indices += args_.index_pitch;
      to += args_.pitch * args_.value_size;
    }
  }

 private:
  static constexpr long rows_ahead = 8;  // that are fetched
  static constexpr long line_bytes = 64;
  static constexpr long fetched_lines = 4;  // of each row
  static constexpr long converted_at_once = 256;

  /// Rows of the values' own type.
  void copy_rows(const T* from) {
    const long cols = args_.cols, stride = stride_, pitch = args_.pitch;
    const bool dense = stride == 1 && cols * static_cast<long>(sizeof(T)) >= line_bytes;
    const std::int64_t* indices = args_.indices;
    T* __restrict to = reinterpret_cast<T*>(args_.values);
    for (long r = 0; r < args_.rows; ++r, to += pitch, from += args_.row_stride) {
      if (dense && r + rows_ahead < args_.known_indices)
        prefetch(from + rows_ahead * args_.row_stride, indices[(r + rows_ahead) * args_.index_pitch]);
      const std::int64_t index = indices[r * args_.index_pitch];
      const T* __restrict source = from + distance(index);
      if (is_outside(index)) {
        std::fill_n(to, cols, *reinterpret_cast<const T*>(args_.outside));
      } else if (dense) {
        std::memcpy(to, source, static_cast<std::size_t>(cols) * sizeof(T));
      } else {
        for (long c = 0; c < cols; ++c) to[c] = source[c * stride];
      }
    }
  }

  /// The first lines of the row that an index names; nothing where it is wrong.
  void prefetch(const T* from, std::int64_t index) const {
    if (index < 0 || index >= gathered_.range) return;
    const auto* const row = reinterpret_cast<const std::byte*>(from + index * gathered_.stride);
    const long bytes = std::min(args_.cols * static_cast<long>(sizeof(T)), fetched_lines * line_bytes);
    for (long at = 0; at < bytes; at += line_bytes) __builtin_prefetch(row + at);
  }

  void gather_row(const T* from, std::byte* to) const {
    args_.columns.for_each_stretch([&](long position, long length, long offset) {
      read(from + offset, stride_, length, to + position * args_.value_size);
    });
  }

  /// Elements of the values' own type are written at once, others are collected and converted. The values may
  /// lie over the indices.
  void gather_elements(const T* from, const std::int64_t* indices, std::byte* to) {
    args_.columns.for_each_stretch([&](long position, long length, long offset) {
      if (!gathered_.converts)
        return copy_elements(from + offset, indices + position, length, reinterpret_cast<T*>(to) + position);
      for (long first = 0; first < length; first += converted_at_once)
        convert_elements(from + offset + first * stride_, indices + position + first,
                         std::min(converted_at_once, length - first),
                         to + (position + first) * args_.value_size);
    });
  }

  void copy_elements(const T* from, const std::int64_t* indices, long count, T* to) {
    if (!args_.outside) {
      for (long i = 0; i < count; ++i) to[i] = from[i * stride_ + distance(indices[i])];
      return;
    }
    const T outside = *reinterpret_cast<const T*>(args_.outside);
    for (long i = 0; i < count; ++i) {
      const std::int64_t index = indices[i];
      to[i] = is_outside(index) ? outside : from[i * stride_ + index * gathered_.stride];
    }
  }

  /// At most converted_at_once.
  void convert_elements(const T* from, const std::int64_t* indices, long count, std::byte* to) {
    std::array<T, converted_at_once> stored;
    std::array<bool, converted_at_once> is_filled;
    for (long i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      is_filled[at] = is_outside(indices[i]);
      stored[at] = from[i * stride_ + distance(indices[i])];
    }
    convert(stored.data(), count, to);
    for (long i = 0; args_.outside && i < count; ++i)
      if (is_filled[static_cast<std::size_t>(i)]) put_outside(to + i * args_.value_size);
  }

  bool is_outside(std::int64_t index) const {
    return args_.outside && (index < 0 || index >= gathered_.range);
  }
  void put_outside(std::byte* to) const {
    std::memcpy(to, args_.outside, static_cast<std::size_t>(args_.value_size));
  }

  /// Elements in memory as values.
  void read(const T* from, long stride, long count, std::byte* to) const {
    if (!gathered_.converts) {
      for (long i = 0; i < count; ++i) reinterpret_cast<T*>(to)[i] = from[i * stride];
      return;
    }
    if (stride == 1) return convert(from, count, to);
    std::array<T, converted_at_once> stored;
    for (long first = 0; first < count; first += converted_at_once) {
      const long n = std::min(converted_at_once, count - first);
      for (long i = 0; i < n; ++i) stored[static_cast<std::size_t>(i)] = from[(first + i) * stride];
      convert(stored.data(), n, to + first * args_.value_size);
    }
  }
  void convert(const T* from, long count, std::byte* to) const {
    Transfer t;
    t.memory = reinterpret_cast<std::byte*>(const_cast<T*>(from));
    t.values = to;
    t.rows = 1;
    t.cols = count;
    args_.transfer(t);
  }

  /// In elements, what an index stands for.
  long distance(std::int64_t index) {
    return (index >= 0 && index < gathered_.range ? index : wrapped(index)) * gathered_.stride;
  }
  /// An index below 0 or beyond the range. The first wrong one is kept, and stands for 0.
  std::int64_t wrapped(std::int64_t index) {
    if (index < 0 && gathered_.from_end && index + gathered_.range >= 0) return index + gathered_.range;
    if (!bad_ && !args_.outside)
      bad_ = {.index = index, .range = gathered_.range, .from_end = gathered_.from_end};
    return 0;
  }

  const GatherArgs& args_;
  const Gathered& gathered_;
  const long stride_;
  std::optional<LoopKernel::BadIndex>& bad_;
};

inline void gather_tile(const GatherArgs& args, const Gathered& gathered, long element_size,
                        std::optional<LoopKernel::BadIndex>& bad) {
  switch (element_size) {
    case 1: return TileGather<std::uint8_t>(args, gathered, bad).run();
    case 2: return TileGather<std::uint16_t>(args, gathered, bad).run();
    case 4: return TileGather<std::uint32_t>(args, gathered, bad).run();
    default: return TileGather<std::uint64_t>(args, gathered, bad).run();
  }
}

}  // namespace tenon::cpu
