// Stable sorting by keys as the text of GPU kernels (order.gpu.h).
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace tenon::gpu {

inline constexpr int order_threads = 256;

/// Lines of keys, each to be put in order. `length` and `parts * 256` stay below 2^31.
struct OrderSize {
  std::int64_t lines = 1, length = 0;
  int key_bytes = 4;  // of an unsigned integer: 4 or 8
  int bits = 32;      // of a key that matter, from the least significant on

  /// Elements that one thread holds; a block holds tile() of a line.
  int items() const;
  std::int64_t tile() const { return std::int64_t{order_threads} * items(); }
  bool fits_block() const { return length <= tile(); }
  /// Of a line, where it does not fit a block.
  std::int64_t parts() const;
  int passes() const { return (bits + 7) / 8; }
  /// OrderShape of order.gpu.h.
  std::array<std::int64_t, 6> fields(int shift = 0) const;
};

/// `order_lines(keys, sorted keys, numbers, OrderShape)`: one block for each line, which fits it. The numbers
/// are those of the elements in order, in their line.
std::string order_lines_source(const OrderSize&);
/// What sorts by one digit (`shift`): `count_digits(keys, counts, OrderShape)`, a block for each part of each
/// line; `sum_counts(counts, OrderShape)`, a block for each line; `move_by_digit(keys, numbers, counts, keys,
/// numbers, OrderShape)`, a block for each part.
std::string order_pass_source(const OrderSize&);

}  // namespace tenon::gpu
