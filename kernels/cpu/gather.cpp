// Gathers: plain copies around a bounds check.
#include "kernels/cpu/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace tenon::cpu {
namespace {

constexpr long bytes_per_chunk = 1 << 15;
constexpr long nothing_bad = std::numeric_limits<long>::max();

/// The smallest position reported by any thread.
class FirstBad {
 public:
  void report(long position) {
    long seen = position_.load(std::memory_order_relaxed);
    while (position < seen && !position_.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {}
  }
  long result() const {
    const long position = position_.load(std::memory_order_relaxed);
    return position == nothing_bad ? -1 : position;
  }

 private:
  std::atomic<long> position_{nothing_bad};
};

/// indices[at] brought into [0, extent), or -1.
long checked_index(const void* indices, DType dtype, long at, long extent, bool wrap_negative) {
  long index = dtype == DType::i32 ? static_cast<const std::int32_t*>(indices)[at]
                                   : static_cast<const std::int64_t*>(indices)[at];
  if (index < 0 && wrap_negative) index += extent;
  return index >= 0 && index < extent ? index : -1;
}

void copy_element(const std::byte* from, std::byte* to, std::size_t size) {
  switch (size) {
    case 1: *to = *from; return;
    case 2: std::memcpy(to, from, 2); return;
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default: std::memcpy(to, from, 16);
  }
}

}  // namespace

long gather_rows(const GatherRows& g, ThreadPool& pool) {
  TENON_CHECK(g.index_dtype == DType::i32 || g.index_dtype == DType::i64);
  FirstBad bad;
  const long rows = g.outer * g.count;
  const long per_chunk = std::max(1L, bytes_per_chunk / std::max(16L, g.row_bytes));
  pool.parallel_for((rows + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    for (long row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row) {
      const long outer = row / g.count;
      const long i = row % g.count;
      const long index = checked_index(g.indices, g.index_dtype, i, g.table_rows, g.wrap_negative);
      if (index < 0) {
        bad.report(i);
        continue;
      }
      const std::byte* const from =
          static_cast<const std::byte*>(g.table) + outer * g.table_outer_stride + index * g.table_stride;
      std::byte* const to = static_cast<std::byte*>(g.out) + outer * g.out_outer_stride + i * g.out_stride;
      std::memcpy(to, from, static_cast<std::size_t>(g.row_bytes));
    }
  });
  return bad.result();
}

long gather_along(const GatherAlong& g, ThreadPool& pool) {
  TENON_CHECK(g.index_dtype == DType::i32 || g.index_dtype == DType::i64);
  TENON_CHECK(g.rank > 0 && g.rank <= GatherAlong::max_rank && g.dim >= 0 && g.dim < g.rank);
  const int inner = g.rank - 1;
  const long inner_extent = g.dims[static_cast<std::size_t>(inner)];
  long rows = 1;
  for (int d = 0; d < inner; ++d) rows *= g.dims[static_cast<std::size_t>(d)];
  if (rows == 0 || inner_extent == 0) return -1;
  FirstBad bad;
  const auto size = static_cast<long>(g.element_size);
  const auto inner_at = static_cast<std::size_t>(inner);
  const auto dim_at = static_cast<std::size_t>(g.dim);
  const long per_chunk = std::max(1L, bytes_per_chunk / 16 / inner_extent);
  pool.parallel_for((rows + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    for (long row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row) {
      long table = 0;
      long indices = 0;
      long out = 0;
      long rest = row;
      for (std::size_t d = inner_at; d-- > 0; rest /= g.dims[d]) {
        const long at = rest % g.dims[d];
        if (d != dim_at) table += at * g.table_strides[d];
        indices += at * g.index_strides[d];
        out += at * g.out_strides[d];
      }
      const long table_step = g.dim == inner ? 0 : g.table_strides[inner_at];
      for (long c = 0; c < inner_extent; ++c) {
        const long at = indices + c * g.index_strides[inner_at];
        const long index = checked_index(g.indices, g.index_dtype, at, g.table_extent, g.wrap_negative);
        if (index < 0) {
          bad.report(row * inner_extent + c);
          continue;
        }
        const long from = table + c * table_step + index * g.table_strides[dim_at];
        copy_element(static_cast<const std::byte*>(g.table) + from * size,
                     static_cast<std::byte*>(g.out) + (out + c * g.out_strides[inner_at]) * size,
                     g.element_size);
      }
    }
  });
  return bad.result();
}

}  // namespace tenon::cpu
