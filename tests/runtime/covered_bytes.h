// Which bytes a tensor covers, one by one.
#pragma once
#include <algorithm>
#include <set>

#include "ir/tensor.h"
#include "kernels/function_ref.h"

namespace tenon::testing {

/// From the begin of its buffer on.
inline void for_each_byte(const Strided& t, FunctionRef<void(std::int64_t)> use) {
  const auto element = static_cast<std::int64_t>(size_of(t.dtype()));
  for_each_index(t.shape(), [&](std::span<const std::int64_t> at) {
    std::int64_t place = t.offset();
    for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * t.strides()[i];
    for (std::int64_t b = 0; b < element; ++b) use(place * element + b);
  });
}
inline std::set<std::int64_t> covered_bytes(const Strided& t) {
  std::set<std::int64_t> all;
  for_each_byte(t, [&](std::int64_t byte) { all.insert(byte); });
  return all;
}

inline bool meet(const std::set<std::int64_t>& a, const std::set<std::int64_t>& b) {
  return std::ranges::any_of(a, [&](std::int64_t byte) { return b.contains(byte); });
}

}  // namespace tenon::testing
