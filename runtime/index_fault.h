// An index that is outside of what it indexes: how a kernel reports it, and what is said of it.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/dtype.h"
#include "base/error.h"
#include "runtime/frame.h"

namespace tenon {

inline std::int64_t index_at(const void* indices, DType dtype, std::int64_t position) {
  return dtype == DType::i64 ? static_cast<const std::int64_t*>(indices)[position]
                             : static_cast<const std::int32_t*>(indices)[position];
}

/// Indices lie in [0, range), or in [-range, range) where negative ones count from the end.
inline bool is_in_range(std::int64_t index, std::int64_t range, bool from_end) {
  return index < range && index >= (from_end ? -range : 0);
}

inline void report_index(Fault& fault, std::int64_t index, std::int64_t range, bool from_end) {
  fault.report(index, from_end ? -range : range);
}

inline Error index_error(const Fault& fault) {
  return error("index {} is outside of [{}, {})", fault.value, std::min<std::int64_t>(fault.detail, 0),
               std::abs(fault.detail));
}

}  // namespace tenon
